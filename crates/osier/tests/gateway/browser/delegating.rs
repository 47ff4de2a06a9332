//! Sub-agents that really work: their tasks, questions and results.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::LivePage;
use crate::run_support::{ModelRequest, ModelServer};
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

/// The next two requests: the one with this text first.
fn requests_of_tasks(model: &ModelServer, first: &str) -> [ModelRequest; 2] {
    let [one, other] = [model.next_request(), model.next_request()];
    if one.text.contains(first) { [one, other] } else { [other, one] }
}

/// The button of a task that runs.
fn task_button(label: &str) -> String {
    format!("document.querySelector('.task-actions button[aria-label=\"{label}\"]')")
}

const STATES: &str =
    "[...document.querySelectorAll('.entry:not(.merged) .task')].map((task) => task.dataset.status).join()";

#[tokio::test]
async fn one_task_is_steered_another_one_stopped_and_the_turn_goes_on() {
    let model = ModelServer::new();
    let gateway = with_scout(&model);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("delegate").await;
    let task =
        |name: &str| json!({ "prompt": format!("Work on {name}"), "description": name, "agent": "scout" });
    model.next_request().reply_with_call("task", &json!({ "tasks": [task("Apples"), task("Pears")] }));
    let [apples, pears] = requests_of_tasks(&model, "Work on Apples");
    page.becomes(STATES, json!("running,running")).await;
    page.click_part(&task_button("Steer the task Apples")).await;
    page.wait("document.querySelector('dialog h2')?.textContent === 'Steer the task Apples'").await;
    page.browser.type_into("#field-text", "Only the red ones").await;
    page.confirm().await;
    page.wait("!document.querySelector('dialog').open").await;
    page.click_part(&task_button("Stop the task Pears")).await;
    pears.wait_for_disconnect();
    page.becomes(STATES, json!("running,cancelled")).await;
    page.wait(&format!("!{} && {}", task_button("Stop the task Pears"), task_button("Stop the task Apples")))
        .await;
    apples.reply("All apples");
    let steered = model.next_request();
    assert!(
        steered.messages().iter().any(|message| message.contains("Only the red ones")),
        "{:?}",
        steered.messages()
    );
    steered.reply("Red apples");
    let end = model.next_request();
    assert!(end.messages().iter().any(|message| message.contains("Red apples")), "{:?}", end.messages());
    end.reply("Done.");
    page.sees("Done.").await;
    page.becomes(STATES, json!("completed,cancelled")).await;
    page.wait("!document.querySelector('.task-actions')").await;
}

#[tokio::test]
async fn all_tasks_are_stopped_and_one_in_its_own_session() {
    let model = ModelServer::new();
    let gateway = with_scout(&model);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("delegate").await;
    let task =
        |name: &str| json!({ "prompt": format!("Work on {name}"), "description": name, "agent": "scout" });
    let tasks = ["Apples", "Pears", "Plums"].map(task);
    model.next_request().reply_with_call("task", &json!({ "tasks": tasks }));
    let requests = [model.next_request(), model.next_request(), model.next_request()];
    page.becomes(STATES, json!("running,running,running")).await;
    // All of them can be steered with one message.
    let button = |text: &str| {
        format!(
            "[...document.querySelectorAll('.subagents > .task-actions button')].find((button) => button.textContent === '{text}')"
        )
    };
    page.click_part(&button("Steer all tasks")).await;
    page.wait("document.querySelector('dialog h2')?.textContent === 'Steer all tasks'").await;
    page.browser.type_into("#field-text", "Hurry").await;
    page.confirm().await;
    page.wait("!document.querySelector('dialog').open").await;
    // The session of a task is a session like others: what is done there counts for the task.
    page.click_part("document.querySelector('.entry:not(.merged) .task-session a')").await;
    page.sees("Work on Apples").await;
    page.wait("!document.querySelector('#cancel').hidden").await;
    page.browser.click("#cancel").await;
    page.wait("document.querySelector('#cancel').hidden").await;
    page.evaluate("history.back()").await;
    page.becomes(STATES, json!("cancelled,running,running")).await;
    page.click_part(&button("Stop all tasks")).await;
    for request in requests {
        request.wait_for_disconnect();
    }
    page.becomes(STATES, json!("cancelled,cancelled,cancelled")).await;
    model.next_request().reply("Nothing was done.");
    page.sees("Nothing was done.").await;
    page.wait("!document.querySelector('.task-actions')").await;
}

#[tokio::test]
async fn of_two_batches_the_one_that_ends_first_keeps_its_own_results() {
    let model = ModelServer::new();
    let gateway = with_scout(&model);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("delegate").await;
    let call = |id: &'static str, name: &str| {
        let task = json!({ "prompt": format!("Work on {name}"), "description": name, "agent": "scout" });
        (id, "task", json!({ "tasks": [task] }))
    };
    model.next_request().reply_with_calls(&[call("call_1", "Apples"), call("call_2", "Pears")]);
    let [apples, pears] = requests_of_tasks(&model, "Work on Apples");
    page.becomes(STATES, json!("running,running")).await;
    pears.reply("Pears are ready");
    let cards = "[...document.querySelectorAll('.entry:is(.kind-subagent_batch, .kind-subagent_result):not(.merged)')].map((card) => [card.querySelector('.task-title').textContent, card.querySelector('.task').dataset.status, card.querySelector('.answer')?.innerText.includes('Pears are ready') ?? false].join()).sort()";
    page.becomes(cards, json!(["Apples,running,false", "Pears,completed,true"])).await;
    page.refresh().await;
    page.becomes(cards, json!(["Apples,running,false", "Pears,completed,true"])).await;
    apples.reply("Apples too");
    model.next_request().reply("Both are ready.");
    page.sees("Both are ready.").await;
    page.becomes(cards, json!(["Apples,completed,false", "Pears,completed,true"])).await;
    page.is_consistent().await;
    page.refresh().await;
    page.becomes(cards, json!(["Apples,completed,false", "Pears,completed,true"])).await;
}
