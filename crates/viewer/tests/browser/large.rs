//! Long sessions.

use osier_testkit::ScriptedSession;
use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use crate::support::{OpenPage, page};

/// A chain of messages, with a side branch at every hundredth entry.
fn long_session(entries: usize) -> ScriptedSession {
    let line = |number: usize| {
        let parent = match number % 100 {
            1 if number > 1 => number.checked_sub(2),
            _ => number.checked_sub(1),
        };
        let role = if number.is_multiple_of(2) { "user" } else { "assistant" };
        json!({
            "type": "message", "id": format!("{number:08x}"), "parentId": parent.map(|parent| format!("{parent:08x}")),
            "timestamp": "2026-01-01T00:00:00.000Z",
            "message": { "role": role, "content": [{ "type": "text", "text": format!("message {number} with some text") }], "timestamp": 1 },
        })
        .to_string()
    };
    ScriptedSession::from_lines((0..entries).map(line))
}

#[tokio::test]
async fn a_hundred_thousand_entries_open_and_scroll() {
    let file = page(&long_session(100_000), "A long talk");
    let Some(page) = OpenPage::open(&file, BrowserWindow::default()).await else { return };
    let drawn = |selector: &str| format!("document.querySelectorAll('{selector}').length");
    page.browser.wait_until(&format!("{} > 0 && {} > 0", drawn(".entry"), drawn("#rows .row"))).await;
    page.browser.wait_until(&format!("{} < 3000 && {} < 200", drawn(".entry"), drawn("#rows .row"))).await;
    page.go("#entry=0000c351").await;
    let top = "document.getElementById('entry-0000c351').getBoundingClientRect().top";
    page.browser.wait_until(&format!("{top} >= 0 && {top} < 400")).await;
    page.browser
        .wait_until("document.querySelector('#rows .row.selected').textContent.includes('message 50001 ')")
        .await;
    page.browser.evaluate("scrollTo(0, document.body.scrollHeight)").await;
    page.browser
        .wait_until(
            "document.querySelector('.entry:last-child') && document.getElementById('entry-0001869f')",
        )
        .await;
}

/// In a name, a label, thinking, arguments, a path, the output of a tool and the text of a command: the page opens, nothing is wider than the
/// window, and the tree can be searched.
#[tokio::test]
async fn long_lines_open_wherever_they_are() {
    let long = "y".repeat(1_000_000);
    let time = "2026-01-01T00:00:00.000Z";
    let call = |name: &str, arguments: serde_json::Value| json!({ "type": "toolCall", "id": "c1", "name": name, "arguments": arguments });
    let messages = [
        json!({ "role": "user", "content": "first" }),
        json!({ "role": "assistant", "content": [{ "type": "thinking", "thinking": long }, { "type": "text", "text": "thought" }] }),
        json!({ "role": "assistant", "content": [{ "type": "text", "text": "read" }, call("read", json!({ "path": long }))] }),
        json!({ "role": "assistant", "content": [{ "type": "text", "text": "run" }, call("bash", json!({ "command": long }))] }),
        json!({ "role": "assistant", "content": [{ "type": "text", "text": "call" }, call(&long, json!({ "a": long }))] }),
        json!({ "role": "toolResult", "toolCallId": "c1", "toolName": "bash", "content": [{ "type": "text", "text": long }], "isError": false }),
        json!({ "role": "bashExecution", "command": "cat", "output": long, "exitCode": 0 }),
    ];
    let mut lines: Vec<serde_json::Value> = Vec::new();
    let mut add = |mut entry: serde_json::Value| {
        let number = lines.len() + 1;
        entry["id"] = json!(format!("{number:08x}"));
        entry["parentId"] = if number == 1 { json!(null) } else { json!(format!("{:08x}", number - 1)) };
        entry["timestamp"] = json!(time);
        lines.push(entry);
    };
    for message in messages {
        add(json!({ "type": "message", "message": message }));
    }
    add(json!({ "type": "session_info", "name": long }));
    add(json!({ "type": "label", "targetId": "00000001", "label": long }));
    add(json!({ "type": "custom_message", "customType": long, "content": "the end", "display": true }));
    let file = page(&ScriptedSession::from_lines(lines.iter().map(ToString::to_string)), &long);
    let Some(page) = OpenPage::open(&file, BrowserWindow::default()).await else { return };
    page.shows("1 2 3 4 5 6 7 a").await;
    let narrow = "document.documentElement.scrollWidth <= innerWidth";
    page.becomes(narrow, "true").await;
    page.browser.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))").await;
    page.settle().await;
    page.becomes(narrow, "true").await;
    page.browser.type_into("#search", "thought").await;
    page.has_tree("thought").await;
    let label = "document.querySelector('#entry-00000001 .label').offsetWidth < 400";
    page.becomes(label, "true").await;
}

#[tokio::test]
async fn a_line_of_ten_megabytes_opens() {
    let text = "x".repeat(10_000_000);
    let line = json!({ "type": "message", "id": "00000001", "parentId": null, "timestamp": "2026-01-01T00:00:00.000Z",
        "message": { "role": "user", "content": [{ "type": "text", "text": text }], "timestamp": 1 } });
    let file = page(&ScriptedSession::from_lines([line.to_string()]), "A long line");
    let Some(page) = OpenPage::open(&file, BrowserWindow::default()).await else { return };
    page.shows("1").await;
    assert_eq!(
        page.text("document.querySelector('.entry .markdown').textContent.match(/x/g).length").await,
        "10000000"
    );
    assert_eq!(page.text("document.documentElement.scrollWidth <= innerWidth").await, "true");
}
