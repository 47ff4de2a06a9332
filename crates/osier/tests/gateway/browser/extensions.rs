//! What extensions and sub-agents show while they run. The frames are written by the test, as the protocol describes them.

use osier_testkit::browser::BrowserWindow;
use serde_json::{Value, json};

use super::{ENTER, LivePage, WATCH_SOCKET};
use crate::server::TestGateway;

/// A page in a session, whose frames are watched.
async fn watched(gateway: &TestGateway) -> Option<LivePage> {
    let (session, _) = gateway.create_with(&["first"]).await;
    let page = LivePage::open(gateway, BrowserWindow::default()).await?;
    page.evaluate(WATCH_SOCKET).await;
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 1").await;
    Some(page)
}

impl LivePage {
    /// Delivers an event of the session that is open.
    async fn deliver_event(&self, event: &Value) {
        let stream =
            self.evaluate("return window.sent.findLast((frame) => frame.type === 'attach').id").await;
        let frame = json!({ "type": "event", "sessionId": "x", "stream": stream, "generation": "0", "revision": 1, "event": event });
        self.deliver(&json!([frame])).await;
    }

    /// The answer to a question that the page sent.
    async fn answer(&self, question: u64) -> Value {
        let find = format!(
            "window.sent.find((frame) => frame.command?.type === 'answer' && frame.command.question === {question})"
        );
        self.wait(&find).await;
        self.evaluate(&format!("return {find}.command.answer")).await
    }
}

#[tokio::test]
async fn dialogs_of_extensions_are_answered() {
    let gateway = TestGateway::start();
    let Some(page) = watched(&gateway).await else { return };
    let asked = |id: u64, question: Value| json!({ "type": "asked", "id": id, "question": question });
    page.deliver_event(&asked(
        1,
        json!({ "title": "Which?", "dialog": "select", "options": ["red", "<b>blue"] }),
    ))
    .await;
    page.wait("document.querySelector('.question h2')?.textContent === 'Which?'").await;
    page.browser.click(".answers > button:nth-child(2)").await;
    assert_eq!(page.answer(1).await, json!({ "type": "text", "text": "<b>blue" }));
    page.deliver_event(&json!({ "type": "answered", "id": 1, "allowed": true })).await;
    page.wait("!document.querySelector('.question')").await;
    page.deliver_event(&asked(
        2,
        json!({ "title": "Sure?", "dialog": "confirm", "message": "It is final." }),
    ))
    .await;
    page.wait("document.querySelector('.question')?.textContent.includes('It is final.')").await;
    page.browser.click(".answers > button.primary").await;
    assert_eq!(page.answer(2).await, json!({ "type": "once" }));
    page.deliver_event(&json!({ "type": "answered", "id": 2, "allowed": true })).await;
    page.deliver_event(&asked(3, json!({ "title": "Name?", "dialog": "input", "placeholder": "a name" })))
        .await;
    page.wait("document.querySelector('.dialog-answer')?.placeholder === 'a name'").await;
    page.browser.type_into(".dialog-answer", &format!("Ada{ENTER}")).await;
    assert_eq!(page.answer(3).await, json!({ "type": "text", "text": "Ada" }));
    page.deliver_event(&json!({ "type": "answered", "id": 3, "allowed": true })).await;
    page.deliver_event(&asked(4, json!({ "title": "Edit", "dialog": "editor", "prefill": "old" }))).await;
    page.wait("document.querySelector('textarea.dialog-answer')?.value === 'old'").await;
    page.browser.click(".refusal button").await;
    assert_eq!(page.answer(4).await["type"], "no");
}

#[tokio::test]
async fn extensions_show_texts_beside_the_editor() {
    let gateway = TestGateway::start();
    let Some(page) = watched(&gateway).await else { return };
    let extension = |fields: Value| {
        let mut event = fields;
        event["type"] = json!("extension");
        event
    };
    page.deliver_event(&extension(json!({ "method": "notify", "message": "Saved <b>" }))).await;
    page.wait("document.querySelector('#message').textContent === 'Saved <b>'").await;
    page.deliver_event(&extension(
        json!({ "method": "setStatus", "statusKey": "a", "statusText": "3 tests" }),
    ))
    .await;
    page.deliver_event(&extension(
        json!({ "method": "setWidget", "widgetKey": "w", "widgetLines": ["one", "two"] }),
    ))
    .await;
    page.wait("document.querySelector('#extensions').innerText.includes('one\\ntwo') && document.querySelector('#extensions').innerText.includes('3 tests')").await;
    page.deliver_event(&extension(json!({ "method": "setStatus", "statusKey": "a" }))).await;
    page.deliver_event(&extension(json!({ "method": "setWidget", "widgetKey": "w" }))).await;
    page.wait("document.querySelector('#extensions').innerText === ''").await;
    page.deliver_event(&extension(json!({ "method": "set_editor_text", "text": "try this" }))).await;
    page.wait("document.querySelector('#prompt').value === 'try this'").await;
}

#[tokio::test]
async fn tasks_of_subagents_are_shown_while_they_run() {
    let gateway = TestGateway::start();
    let Some(page) = watched(&gateway).await else { return };
    let task = |status: &str| {
        let panel = json!({ "key": "b1/t1", "taskId": "t1", "agent": "scout", "title": "Find callers", "goal": "", "status": status, "summary": "two so far" });
        json!({ "type": "subagent_task", "batchId": "b1", "call": "c1", "panel": panel })
    };
    page.deliver_event(&json!({ "type": "turn_started" })).await;
    page.deliver_event(&task("running")).await;
    page.wait("document.querySelector('#running .task')?.textContent.includes('scout · Find callers')").await;
    page.wait("document.querySelector('#running .task').textContent.includes('two so far')").await;
    page.deliver_event(&task("completed")).await;
    page.wait("!document.querySelector('#running .task')").await;
}
