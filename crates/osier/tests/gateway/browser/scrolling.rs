//! What stays in view while the conversation grows.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::LivePage;
use crate::run_support::ModelServer;
use crate::server::TestGateway;

/// How far the end of the conversation is below the view, in pixels.
const BELOW: &str = "document.documentElement.scrollHeight - scrollY - innerHeight";

/// A page that shows the end of a long session.
async fn long_session(gateway: &TestGateway) -> Option<LivePage> {
    let texts: Vec<String> =
        (0..40).map(|number| format!("message number {number}\n\n{}", "text ".repeat(80))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (session, _) = gateway.create_with(&texts).await;
    let page = LivePage::open(gateway, BrowserWindow::default()).await?;
    page.show(&session).await;
    page.sees("message number 39").await;
    page.wait(&format!("scrollY > 1000 && {BELOW} < 3")).await;
    Some(page)
}

#[tokio::test]
async fn sending_while_scrolled_up_shows_the_end() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = long_session(&gateway).await else { return };
    page.scroll_up("scrollTo(0, 300)").await;
    page.prompt("one more").await;
    let request = model.next_request();
    page.wait(&format!("{BELOW} < 3 && document.querySelector('#jump-down').hidden")).await;
    request.reply("answer");
    page.turn_ended(1).await;
    page.wait(&format!("{BELOW} < 3")).await;
}

/// Questions and queued prompts take room above the editor.
#[tokio::test]
async fn the_end_stays_in_view_through_a_whole_turn() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = long_session(&gateway).await else { return };
    page.prompt("write a file").await;
    let mut request = model.next_request();
    request.send_text("I will write it.");
    page.sees("I will write it.").await;
    for number in 0..3 {
        page.prompt(&format!("also {number}")).await;
        page.wait(&format!("document.querySelectorAll('.queued').length === {}", number + 1)).await;
        page.wait(&format!("{BELOW} < 3")).await;
    }
    page.click_part("document.querySelector('#queue > button')").await;
    page.wait(
        "!document.querySelector('.queued') && document.querySelector('#prompt').value.includes('also 2')",
    )
    .await;
    page.evaluate("document.querySelector('#prompt').value = ''").await;
    let content = "line\n".repeat(60);
    request.send_call("call_1", "write", &json!({ "path": "a.txt", "content": content }));
    request.finish("tool_calls");
    page.wait("document.querySelector('.question .diff')").await;
    page.wait(&format!("{BELOW} < 3")).await;
    page.browser.click(".question button.primary").await;
    model.next_request().reply("It is written.");
    page.sees("It is written.").await;
    page.turn_ended(2).await;
    page.wait(&format!("{BELOW} < 3 && document.querySelector('#jump-down').hidden")).await;
}

/// A reader who scrolls up is left alone.
#[tokio::test]
async fn a_reader_further_up_is_not_moved_by_new_messages() {
    let gateway = TestGateway::start();
    let Some(page) = long_session(&gateway).await else { return };
    let shown = "[...document.querySelectorAll('.entry')].find((entry) => entry.textContent.includes('message number 32'))";
    page.wait(shown).await;
    page.scroll_up(&format!("{shown}.scrollIntoView()")).await;
    page.wait("!document.querySelector('.body.loading')").await;
    let top = format!("{shown}.getBoundingClientRect().top");
    let before = page.stable(&top).await;
    let session = page.evaluate("return location.hash.slice('#session='.length)").await;
    let path = format!("/api/sessions/{}/messages", session.as_str().unwrap());
    gateway.post(&path, json!({ "message": { "role": "user", "content": "news" } })).await;
    page.wait("document.querySelector('#jump-down').textContent.includes('New messages')").await;
    page.wait(&format!("Math.abs({top} - {before}) < 3")).await;
    page.browser.click("#jump-down").await;
    page.wait(&format!("{BELOW} < 3")).await;
}

/// The end of a long output is in view. What is there stays while more arrives, and so does the focus of a button.
#[tokio::test]
async fn growing_output_shows_its_end_and_disturbs_nothing() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.choose_value("#approval", "yolo").await;
    page.prompt("run").await;
    let wait = "seq -f 'line %g' 100; until [ -e on ]; do sleep 0.05; done; seq -f 'more %g' 100; until [ -e go ]; do sleep 0.05; done";
    model.next_request().reply_with_call("bash", &json!({ "command": wait }));
    let output = "document.querySelector('.result.running pre')";
    let shows_end = format!(
        "{output}.scrollHeight > {output}.clientHeight && {output}.firstChild.getBoundingClientRect().bottom <= {output}.getBoundingClientRect().bottom + 1"
    );
    page.wait(&format!("{output}?.textContent.endsWith('line 100\\n') && {shows_end}")).await;
    page.prompt("later").await;
    page.wait("document.querySelector('#queue > button')").await;
    page.evaluate(&format!(
        "window.kept = {output}; window.text = kept.firstChild.firstChild; document.querySelector('#queue > button').focus()"
    ))
    .await;
    std::fs::write(gateway.env.path("on"), "").unwrap();
    page.wait(&format!("{output}.textContent.endsWith('more 100\\n') && {shows_end}")).await;
    page.wait(&format!("window.kept === {output} && window.text === {output}.firstChild.firstChild && document.activeElement.matches('#queue > button')")).await;
    std::fs::write(gateway.env.path("go"), "").unwrap();
    let request = model.next_request();
    assert!(request.messages().iter().any(|message| message.contains("later")), "{:?}", request.messages());
    request.reply("It ran.");
    page.sees("It ran.").await;
}
