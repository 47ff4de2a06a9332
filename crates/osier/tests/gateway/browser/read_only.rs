//! A link that only shows one session.

use osier_testkit::browser::{Browser, BrowserWindow};
use serde_json::json;

use super::LivePage;
use crate::run_support::ModelServer;
use crate::server::TestGateway;

/// A browser that opened a read-only link.
async fn open_link(gateway: &TestGateway, session: &str) -> Option<LivePage> {
    let browser = Browser::start(BrowserWindow::default()).await?;
    let id = session.rsplit('/').next().unwrap();
    let port = gateway.port().to_string();
    let link = gateway.env.args(&["token", "create", id, "--expires", "2h", "--link", "--port", &port]);
    browser.goto(link.out.trim()).await;
    let page = LivePage { browser };
    page.wait("document.body.dataset.connection === 'connected'").await;
    Some(page)
}

const VISIBLE: &str =
    "(selector) => [...document.querySelectorAll(selector)].some((part) => part.checkVisibility())";

#[tokio::test]
async fn a_read_only_link_shows_one_session_and_follows_it() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let (session, _) = gateway.create_with(&["first"]).await;
    let (other, _) = gateway.create_with(&["secret"]).await;
    let Some(page) = open_link(&gateway, &session).await else { return };
    page.sees("first").await;
    page.wait("!document.querySelector('#read-only').hidden && document.querySelector('#read-only').textContent.startsWith('Read-only')").await;
    for hidden in ["#composer", "#show-sessions", "#home", "#continue-from"] {
        assert_eq!(page.evaluate(&format!("return ({VISIBLE})({hidden:?})")).await, json!(false), "{hidden}");
    }
    // It follows a turn, with its question, and cannot answer.
    let writer = LivePage::open(&gateway, BrowserWindow::default()).await.unwrap();
    writer.show(&session).await;
    writer.prompt("write").await;
    let mut request = model.next_request();
    request.send_text("**working**");
    page.wait("document.querySelector('.draft strong')?.textContent === 'working'").await;
    request.send_call("call_1", "write", &json!({ "path": "a.txt", "content": "made\n" }));
    request.finish("tool_calls");
    page.wait("document.querySelector('.question .diff')").await;
    assert_eq!(page.evaluate(&format!("return ({VISIBLE})('.answers')")).await, json!(false));
    writer.wait("document.querySelector('.question')").await;
    writer.browser.click(".question button.primary").await;
    model.next_request().reply("Done.");
    page.sees("Done.").await;
    // What it offers changes nothing.
    page.select("first").await;
    page.click_part("document.querySelector('.entry.selected .entry-menu')").await;
    page.wait("document.querySelector('#menu').matches(':popover-open')").await;
    let names = page
        .evaluate("return [...document.querySelectorAll('#menu button')].map((item) => item.textContent)")
        .await;
    let expected =
        ["Copy the text", "Copy a link", "Compare with the current branch", "Choose for a comparison"];
    assert_eq!(names, json!(expected));
    page.evaluate("document.querySelector('#menu').hidePopover()").await;
    page.browser.click("#session-actions").await;
    let names = page
        .evaluate("return [...document.querySelectorAll('#menu button')].map((item) => item.firstChild.textContent)")
        .await;
    let expected = [
        "Open all thinking",
        "Open all tool output",
        "Show hidden messages",
        "Print…",
        "Download as HTML",
        "Download as Markdown",
        "Download as JSONL",
    ];
    assert_eq!(names, json!(expected));
    page.evaluate("document.querySelector('#menu').hidePopover()").await;
    page.evaluate("document.querySelector('#tree').focus()").await;
    page.browser.type_into("#tree", "l").await;
    assert_eq!(page.evaluate("return document.querySelectorAll('.label-input').length").await, json!(0));
    // Another session stays closed, and so does the list.
    let id = other.rsplit('/').next().unwrap();
    for address in [format!("#session={id}"), "#".to_owned()] {
        page.evaluate(&format!("location.hash = '{address}'")).await;
        let own = session.rsplit('/').next().unwrap();
        page.wait(&format!("location.hash.includes('{own}')")).await;
        page.sees("Done.").await;
    }
    assert_eq!(page.evaluate("return document.body.innerText.includes('secret')").await, json!(false));
    page.refresh().await;
    page.sees("Done.").await;
}
