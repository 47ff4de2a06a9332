//! Sub-agents that really work: their tasks, questions and results.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::LivePage;
use crate::run_support::ModelServer;
use crate::server::TestGateway;

/// The card of the batch: the entry of its results, or the batch itself until there are results.
const CARD: &str =
    "document.querySelector('.entry:is(.kind-subagent_batch, .kind-subagent_result):not(.merged)')";
/// The state of the batch, and of its first task.
const STATUS: &str = "[document.querySelector('.entry:is(.kind-subagent_batch, .kind-subagent_result):not(.merged) .batch-status')?.textContent, document.querySelector('.entry:not(.merged) .task')?.dataset.status]";

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
    let session = gateway.create().await;
    page.show(&session).await;
    page.prompt("delegate").await;
    let task = json!({ "prompt": "Count the files", "description": "Count files", "agent": "scout" });
    model.next_request().reply_with_call("task", &json!({ "tasks": [task] }));
    // The task asks the same model server.
    let work = model.next_request();
    assert!(work.text.contains("You are the scout"), "{}", work.text);
    page.becomes(STATUS, json!(["running", "running"])).await;
    page.wait(&format!("{CARD}.innerText.includes('scout') && {CARD}.innerText.includes('Count files')"))
        .await;
    work.reply_with_call("bash", &json!({ "command": "touch made.txt; echo counted" }));
    // Its question reaches the page of its parent.
    page.wait("document.querySelector('.question')?.textContent.includes('Asked by the sub-agent scout: Count files')").await;
    page.browser.click(".question button.primary").await;
    // A refresh in the middle shows the same.
    let report = model.next_request();
    assert!(report.messages().iter().any(|message| message.contains("counted")), "{:?}", report.messages());
    page.refresh().await;
    page.becomes(STATUS, json!(["running", "running"])).await;
    page.wait(&format!("{CARD}.innerText.includes('1 call')")).await;
    report.reply("There are **seven** files");
    let end = model.next_request();
    assert!(end.messages().iter().any(|message| message.contains("seven")), "{:?}", end.messages());
    end.reply("Seven.");
    page.sees("Seven.").await;
    page.becomes(STATUS, json!(["completed", "completed"])).await;
    // One card: the answer is on the page once, and the task has one title.
    page.wait(&format!("{CARD}.querySelector('.answer strong')?.textContent === 'seven' && {CARD}.querySelector('.timeline').textContent.includes('bash')")).await;
    page.becomes("document.querySelector('#transcript').innerText.split('seven').length - 1", json!(1)).await;
    page.becomes("document.querySelector('#transcript').innerText.split('Count files').length - 1", json!(1))
        .await;
    page.is_consistent().await;
    // It leads to the session of the task, and the browser leads back.
    page.click_part(&format!("{CARD}?.querySelector('.task-session a')")).await;
    page.sees("There are seven files").await;
    page.sees("Count the files").await;
    page.evaluate("history.back()").await;
    page.sees("Seven.").await;
    page.becomes(STATUS, json!(["completed", "completed"])).await;
    // The list has no sessions of tasks.
    page.evaluate("location.hash = '#'").await;
    page.wait("document.querySelectorAll('#sessions > li').length === 1").await;
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
    page.becomes(STATUS, json!(["running", "running"])).await;
    page.browser.click("#cancel").await;
    work.wait_for_disconnect();
    page.wait("document.querySelector('#cancel').hidden").await;
    page.becomes(STATUS, json!(["cancelled", "cancelled"])).await;
    page.wait(&format!("{CARD}.innerText.includes('canceled')")).await;
}
