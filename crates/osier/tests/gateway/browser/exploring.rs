//! Tries of a prompt, on the page.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::LivePage;
use crate::run_support::{ModelRequest, ModelServer};
use crate::server::TestGateway;

/// The status of each try in the table.
const STATUS: &str = "[...document.querySelectorAll('dialog.explore td[data-name=Status]')].map((cell) => cell.textContent).join()";

/// A page whose session is in a project with one file.
async fn open(model: &ModelServer) -> Option<(TestGateway, LivePage)> {
    open_with(model, &["first"]).await
}

/// The same with these messages.
async fn open_with(model: &ModelServer, texts: &[&str]) -> Option<(TestGateway, LivePage)> {
    let env = model.env();
    std::fs::write(env.path("list.txt"), "one\n").unwrap();
    let gateway = TestGateway::start_in(env, &[]);
    let (session, _) = gateway.create_with(texts).await;
    let page = LivePage::open(&gateway, BrowserWindow::default()).await?;
    page.show(&session).await;
    page.wait(&format!("document.querySelectorAll('.row').length === {}", texts.len())).await;
    Some((gateway, page))
}

/// Starts two tries from the menu, and returns their requests.
async fn start(model: &ModelServer, page: &LivePage) -> [ModelRequest; 2] {
    page.choose_in_session("Explore a prompt").await;
    page.wait("document.querySelector('dialog').open").await;
    page.browser.type_into("#field-prompt", "Add <b>a line</b>").await;
    page.evaluate("document.querySelector('#field-count').value = '2'").await;
    page.confirm().await;
    let requests = [model.next_request(), model.next_request()];
    page.wait(&format!("{STATUS} === 'running,running'")).await;
    page.wait("document.querySelector('dialog.explore h2').textContent === 'Add <b>a line</b>'").await;
    requests
}

/// Each try appends another line to the file.
fn work(model: &ModelServer, requests: [ModelRequest; 2]) {
    for (request, line) in requests.into_iter().zip(["left", "right"]) {
        let edits = json!([{ "oldText": "one\n", "newText": format!("one\n{line}\n") }]);
        request.reply_with_call("edit", &json!({ "path": "list.txt", "edits": edits }));
        model.next_request().reply(&format!("I added {line}"));
    }
}

fn button(name: &str) -> String {
    format!(
        "[...document.querySelectorAll('dialog button')].find((button) => button.textContent === {name:?} && !button.disabled)"
    )
}

#[tokio::test]
async fn tries_are_started_compared_shown_and_kept() {
    let model = ModelServer::new();
    let Some((gateway, page)) = open(&model).await else { return };
    let file = gateway.env.path("list.txt");
    let requests = start(&model, &page).await;
    page.wait(&format!("!{}", button("Compare"))).await;
    work(&model, requests);
    page.wait(&format!("{STATUS} === 'completed,completed'")).await;
    page.wait("[...document.querySelectorAll('dialog.explore td[data-name=Files]')].every((cell) => cell.textContent === '1')").await;
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n", "nothing changes until a try is kept");
    for number in [1, 2] {
        page.browser.click(&format!("[data-focus=box-{number}]")).await;
    }
    page.click_part(&button("Compare")).await;
    // Two columns, and the difference of the files. Either try may be the first.
    page.wait("document.querySelectorAll('dialog .column').length === 2").await;
    let changed = "['added', 'removed'].map((kind) => document.querySelector(`dialog .file-difference .${kind} code`)?.textContent.slice(1)).sort().join()";
    page.wait(&format!("{changed} === 'left,right'")).await;
    let said = "document.querySelector('dialog .columns').textContent";
    page.wait(&format!("{said}.includes('I added left') && {said}.includes('I added right')")).await;
    // Closing leads back to the table.
    page.browser.click("dialog button.cancel").await;
    page.wait(&format!("{STATUS} === 'completed,completed'")).await;
    page.browser.click("[data-focus=keep-2]").await;
    page.wait("document.querySelector('.explore-result').textContent.includes('list.txt')").await;
    page.wait(&format!("{STATUS} === 'completed,kept'")).await;
    let kept = std::fs::read_to_string(&file).unwrap();
    assert!(kept == "one\nleft\n" || kept == "one\nright\n", "{kept}");
    // The other one instead, and back.
    for (number, earlier, states) in [(1, 2, "kept,completed"), (2, 1, "completed,kept")] {
        page.browser.click(&format!("[data-focus=keep-{number}]")).await;
        page.wait(&format!("{STATUS} === '{states}'")).await;
        let text = format!("Kept try {number} instead of try {earlier}");
        page.wait(&format!("document.querySelector('.explore-result').textContent.includes('{text}')")).await;
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap(), kept);
    page.browser.click("dialog button.cancel").await;
    // The leaf is at the end of the try, and the other try is a branch.
    let line = kept.lines().nth(1).unwrap().to_owned();
    page.wait(&format!("document.querySelector('.row.leaf')?.textContent.includes('I added {line}')")).await;
    page.wait("document.querySelectorAll('.row.role-user').length === 3").await;
    // The table is there after a refresh.
    page.refresh().await;
    page.choose_in_session("Show the tries").await;
    page.wait(&format!("{STATUS} === 'completed,kept'")).await;
    page.browser.click("[data-focus=show-1]").await;
    page.wait("!document.querySelector('dialog').open && !document.querySelector('#back-to-leaf').hidden")
        .await;
    page.is_consistent().await;
}

/// Tries that did the same: the comparison says so. The table shows at once which try was kept, also if its numbers are counted later.
#[tokio::test]
async fn equal_tries_are_called_equal_and_the_kept_one_is_marked_at_once() {
    let model = ModelServer::new();
    let Some((_gateway, page)) = open(&model).await else { return };
    for request in start(&model, &page).await {
        let edits = json!([{ "oldText": "one\n", "newText": "one\ntwo\n" }]);
        request.reply_with_call("edit", &json!({ "path": "list.txt", "edits": edits }));
        model.next_request().reply("I added two");
    }
    page.wait(&format!("{STATUS} === 'completed,completed'")).await;
    for number in [1, 2] {
        page.browser.click(&format!("[data-focus=box-{number}]")).await;
    }
    page.click_part(&button("Compare")).await;
    page.wait("document.querySelector('dialog .difference-note')?.textContent === 'The files of both tries are equal.'").await;
    page.browser.click("dialog button.cancel").await;
    page.wait(&format!("{STATUS} === 'completed,completed'")).await;
    let hold_back = "const send = WebSocket.prototype.send;
        WebSocket.prototype.send = function (text) { if (!text.includes('\"explores\"')) send.call(this, text); }";
    page.evaluate(hold_back).await;
    page.browser.click("[data-focus=keep-2]").await;
    page.wait("document.querySelector('.explore-result').textContent.includes('Kept')").await;
    page.becomes(STATUS, json!("completed,kept")).await;
    page.wait("document.querySelector('[data-focus=keep-2]').disabled && !document.querySelector('[data-focus=keep-1]').disabled").await;
}

/// A selected entry is where the tries start, as it is for a prompt. After that, nothing is selected: neither here nor after a refresh.
#[tokio::test]
async fn tries_start_at_the_selected_entry() {
    let model = ModelServer::new();
    let Some((_gateway, page)) = open_with(&model, &["about apples", "about pears", "about plums"]).await
    else {
        return;
    };
    page.select("about pears").await;
    page.wait("location.hash.includes('&entry=')").await;
    page.choose_in_session("Explore a prompt").await;
    page.wait("document.querySelector('dialog').textContent.includes('The tries replace the selected entry: “about pears”')").await;
    page.browser.click("dialog button.cancel").await;
    let requests = start(&model, &page).await;
    for request in &requests {
        let messages = request.messages();
        assert!(messages.iter().any(|message| message.contains("about apples")), "{messages:?}");
        assert!(
            !messages.iter().any(|message| message.contains("pears") || message.contains("plums")),
            "{messages:?}"
        );
    }
    page.wait("!location.hash.includes('&entry=') && document.querySelector('#continue-from').hidden").await;
    for request in requests {
        request.reply("nothing to do");
    }
    page.wait(&format!("{STATUS} === 'completed,completed'")).await;
    page.refresh().await;
    page.wait("document.querySelector('#continue-from').hidden && document.querySelector('#back-to-leaf').hidden && document.querySelector('.row.leaf')?.textContent.includes('about apples')").await;
}

/// A model reads the tries and ranks them.
#[tokio::test]
async fn tries_are_ranked() {
    let model = ModelServer::new();
    let Some((_gateway, page)) = open(&model).await else { return };
    let requests = start(&model, &page).await;
    page.wait(&format!("!{}", button("Rank"))).await;
    work(&model, requests);
    page.wait(&format!("{STATUS} === 'completed,completed'")).await;
    page.click_part(&button("Rank")).await;
    let request = model.next_request();
    assert!(
        request.text.contains("I added left") && request.text.contains("I added right"),
        "{}",
        request.text
    );
    page.wait("document.querySelector('.explore-result').textContent.includes('A model ranks the tries')")
        .await;
    request.reply("1. Try 2: its <b>line</b> is better.");
    page.wait(
        "document.querySelector('.explore-result').textContent.includes('Try 2: its <b>line</b> is better.')",
    )
    .await;
}

/// Keeping a try shows its end, also to a reader who was further up.
#[tokio::test]
async fn a_kept_try_is_shown() {
    let model = ModelServer::new();
    let long = ["about apples", &"text ".repeat(3_000), &"text ".repeat(3_000)];
    let Some((_gateway, page)) = open_with(&model, &long).await else { return };
    let requests = start(&model, &page).await;
    work(&model, requests);
    page.wait(&format!("{STATUS} === 'completed,completed'")).await;
    page.scroll_up("scrollTo(0, 100)").await;
    page.browser.click("[data-focus=keep-1]").await;
    page.wait("document.querySelector('.explore-result').textContent.includes('Kept')").await;
    page.browser.click("dialog button.cancel").await;
    page.wait("document.querySelector('#jump-down').hidden && document.documentElement.scrollHeight - scrollY - innerHeight < 3").await;
    page.wait("/I added (left|right)/.test([...document.querySelectorAll('.entry')].at(-1).textContent)")
        .await;
}

#[tokio::test]
async fn tries_are_stopped_and_their_copies_removed() {
    let model = ModelServer::new();
    let Some((_gateway, page)) = open(&model).await else { return };
    let requests = start(&model, &page).await;
    page.click_part(&button("Stop")).await;
    for request in requests {
        request.wait_for_disconnect();
    }
    page.wait(&format!("{STATUS} === 'canceled,canceled'")).await;
    page.click_part(&button("Remove the copies")).await;
    page.browser.click("dialog.ask button.cancel").await;
    page.wait(&format!("{STATUS} === 'canceled,canceled'")).await;
    page.click_part(&button("Remove the copies")).await;
    page.browser.click("dialog.ask button.dangerous").await;
    page.wait("document.querySelector('.explore-result').textContent.includes('Removed')").await;
    page.wait(&format!("!{}", button("Remove the copies"))).await;
}

/// A table with eight columns fits a phone.
#[tokio::test]
async fn the_table_fits_a_phone() {
    let model = ModelServer::new();
    let Some((_gateway, page)) = open(&model).await else { return };
    page.browser
        .devtools(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true }),
        )
        .await;
    let requests = start(&model, &page).await;
    work(&model, requests);
    page.wait(&format!("{STATUS} === 'completed,completed'")).await;
    page.wait("document.querySelector('[data-focus=keep-1]').getBoundingClientRect().right <= innerWidth")
        .await;
    page.wait("document.querySelector('dialog .table').scrollWidth <= document.querySelector('dialog .table').clientWidth").await;
    page.browser.click("[data-focus=keep-1]").await;
    page.wait("document.querySelector('.explore-result').textContent.includes('Kept')").await;
}

/// Each try gets the prompt, and one of the lines after it.
#[tokio::test]
async fn tries_get_different_instructions() {
    let model = ModelServer::new();
    let Some((_gateway, page)) = open(&model).await else { return };
    page.choose_in_session("Explore a prompt").await;
    page.wait("document.querySelector('dialog').open").await;
    page.browser.type_into("#field-prompt", "Speed up the lookup").await;
    page.evaluate("document.querySelector('#field-count').value = '2'").await;
    page.evaluate("document.querySelector('#field-instructions').value = 'Use a map\\n\\nUse a sorted list'")
        .await;
    page.confirm().await;
    let mut prompts = Vec::new();
    for _ in 0..2 {
        let request = model.next_request();
        prompts.push(request.messages().pop().unwrap());
        request.reply("nothing to do");
    }
    prompts.sort();
    assert_eq!(
        prompts,
        ["user: Speed up the lookup\n\nUse a map", "user: Speed up the lookup\n\nUse a sorted list"]
    );
    page.wait(&format!("{STATUS} === 'completed,completed'")).await;
}
