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
