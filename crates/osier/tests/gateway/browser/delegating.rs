//! Sub-agents that really work: their tasks, questions and results.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::LivePage;
use crate::run_support::ModelServer;
use crate::server::TestGateway;

const TASK: &str = "document.querySelector('#running .task')";

/// A gateway with an agent `scout`, which only has the tool `bash`.
fn with_scout(model: &ModelServer) -> TestGateway {
    let env = model.env();
    let agents = env.home().join("agents");
    std::fs::create_dir_all(&agents).unwrap();
    let file = "---\nname: scout\ndescription: Looks around\ntools: bash\n---\nYou are the scout.\n";
    std::fs::write(agents.join("scout.md"), file).unwrap();
    TestGateway::start_in(env, &[])
}

#[tokio::test]
async fn a_task_is_shown_while_it_works_asks_and_ends() {
    let model = ModelServer::new();
    let gateway = with_scout(&model);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("delegate").await;
    let task = json!({ "prompt": "Count the files", "description": "Count files", "agent": "scout" });
    model.next_request().reply_with_call("task", &json!({ "tasks": [task] }));
    // The task asks the same model server.
    let work = model.next_request();
    assert!(work.text.contains("You are the scout"), "{}", work.text);
    page.wait(&format!(
        "{TASK}?.textContent.includes('scout') && {TASK}.textContent.includes('Count files')"
    ))
    .await;
    page.wait(
        "document.querySelector('.entry.kind-subagent_batch .batch-status')?.textContent === 'running'",
    )
    .await;
    work.reply_with_call("bash", &json!({ "command": "touch made.txt; echo counted" }));
    // Its question reaches the page of its parent.
    page.wait("document.querySelector('.question')?.textContent.includes('Asked by the sub-agent scout: Count files')").await;
    page.browser.click(".question button.primary").await;
    // A refresh in the middle shows the same.
    let report = model.next_request();
    assert!(report.messages().iter().any(|message| message.contains("counted")), "{:?}", report.messages());
    page.browser.refresh().await;
    page.wait(&format!("{TASK}?.textContent.includes('Count files')")).await;
    page.wait(
        "document.querySelector('.entry.kind-subagent_batch .batch-status')?.textContent === 'running'",
    )
    .await;
    report.reply("There are **seven** files");
    let end = model.next_request();
    assert!(end.messages().iter().any(|message| message.contains("seven")), "{:?}", end.messages());
    end.reply("Seven.");
    page.sees("Seven.").await;
    page.wait(&format!("!{TASK}")).await;
    page.wait(
        "document.querySelector('.entry.kind-subagent_batch .batch-status')?.textContent === 'completed'",
    )
    .await;
    page.wait("document.querySelector('.entry.kind-subagent_result')?.textContent.includes('seven')").await;
    page.wait(
        "document.querySelector('.entry.kind-subagent_result .timeline')?.textContent.includes('bash')",
    )
    .await;
    // The list has no sessions of tasks.
    page.evaluate("location.hash = '#'").await;
    page.wait("document.querySelectorAll('#sessions li').length === 1").await;
    page.is_consistent().await;
}

#[tokio::test]
async fn stopping_the_turn_stops_its_tasks() {
    let model = ModelServer::new();
    let gateway = with_scout(&model);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("delegate").await;
    let task = json!({ "prompt": "Count the files", "agent": "scout" });
    model.next_request().reply_with_call("task", &json!({ "tasks": [task] }));
    let work = model.next_request();
    page.wait(TASK).await;
    page.browser.click("#cancel").await;
    work.wait_for_disconnect();
    page.wait(&format!("document.querySelector('#cancel').hidden && !{TASK}")).await;
    page.wait(
        "/cancel/.test(document.querySelector('.entry.kind-subagent_batch .batch-status')?.textContent)",
    )
    .await;
}
