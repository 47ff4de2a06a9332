//! What a screen reader finds: the accessibility tree of the browser.

use std::time::{Duration, Instant};

use osier_testkit::browser::BrowserWindow;
use serde_json::{Value, json};

use super::LivePage;
use crate::run_support::ModelServer;
use crate::server::TestGateway;

/// How long the page may take until everything is there.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Roles of things that people operate, and that must have a name.
const OPERATED: &[&str] = &[
    "button",
    "checkbox",
    "combobox",
    "dialog",
    "link",
    "listbox",
    "menu",
    "menuitem",
    "meter",
    "option",
    "searchbox",
    "slider",
    "splitter",
    "textbox",
    "tree",
    "treeitem",
];

/// The roles and names that a screen reader finds.
async fn nodes(page: &LivePage) -> Vec<(String, String)> {
    let all = page.browser.devtools("Accessibility.getFullAXTree", json!({})).await;
    let text = |value: &Value| value["value"].as_str().unwrap_or_default().trim().to_owned();
    let found = all["nodes"].as_array().unwrap().iter().filter(|node| node["ignored"] == json!(false));
    found.map(|node| (text(&node["role"]), text(&node["name"]))).collect()
}

/// Waits until the expected nodes are there. Nothing that people operate is without a name then.
async fn finds(page: &LivePage, expected: &[(&str, &str)]) {
    let started = Instant::now();
    loop {
        let nodes = nodes(page).await;
        let is_there = |wanted: &(&str, &str)| {
            nodes.iter().any(|(role, name)| role == wanted.0 && name.contains(wanted.1))
        };
        let missing: Vec<_> = expected.iter().filter(|wanted| !is_there(wanted)).collect();
        if missing.is_empty() {
            let has_no_name = |role: &str, name: &str| OPERATED.contains(&role) && name.is_empty();
            let unnamed: Vec<_> = nodes.iter().filter(|(role, name)| has_no_name(role, name)).collect();
            assert!(unnamed.is_empty(), "{unnamed:?}");
            return;
        }
        assert!(started.elapsed() < TIMEOUT, "{missing:?} is not among {nodes:?}");
        page.evaluate_frame().await;
    }
}

#[tokio::test]
async fn a_screen_reader_finds_everything_by_role_and_name() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let texts: Vec<String> = (0..60).map(|number| format!("message {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (session, _) = gateway.create_with(&texts).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.wait("document.querySelector('.session-link')").await;
    let list = [
        ("searchbox", "Search sessions"),
        ("button", "New session"),
        ("list", "Sessions"),
        ("link", "message 0"),
    ];
    finds(&page, &list).await;
    page.show(&session).await;
    page.wait("document.querySelector('#tree-status').textContent.startsWith('60') && document.querySelector('.row.selected')").await;
    page.prompt("write").await;
    model.next_request().reply_with_call("write", &json!({ "path": "a.txt", "content": "made\n" }));
    page.wait("document.querySelector('.question .diff')").await;
    let expected = [
        ("navigation", "Tree"),
        ("searchbox", "Search entries"),
        ("combobox", "Filter"),
        ("tree", "Entries"),
        ("treeitem", "message 59"),
        ("separator", "Width of the tree"),
        ("log", "Conversation"),
        ("article", "You"),
        ("region", "Questions"),
        ("group", "Allow write to create a.txt?"),
        ("button", "Allow once"),
        ("textbox", "Reason for the model"),
        ("textbox", "Prompt"),
        ("combobox", "Model"),
        ("combobox", "Approval mode"),
        ("meter", "Context in use"),
        ("button", "Stop"),
        ("button", "Queue"),
        ("button", "Steer"),
        ("button", "Actions of this entry"),
    ];
    finds(&page, &expected).await;
    // Most rows are not in the document, so each one says where it is.
    let places =
        "[...document.querySelectorAll('.row')].map((row) => [row.ariaPosInSet, row.ariaSetSize]).at(-1)";
    page.becomes(places, json!(["62", "62"])).await;
    page.browser.click(".question button.primary").await;
    model.next_request().reply("Done.");
    page.sees("Done.").await;
    page.choose("Label").await;
    page.wait("document.querySelector('dialog').open").await;
    let dialog = [
        ("dialog", "Label"),
        ("textbox", "Label; empty removes it"),
        ("button", "Save"),
        ("button", "Cancel"),
    ];
    finds(&page, &dialog).await;
    page.browser.click("dialog .cancel").await;
    page.browser.click("#session-actions").await;
    page.wait("document.querySelector('#menu').matches(':popover-open')").await;
    finds(&page, &[("menuitem", "Undo the last move"), ("menuitem", "Rename")]).await;
}

/// The number of entries is read while somebody searches, and not with each message.
#[tokio::test]
async fn the_number_of_entries_is_read_only_while_searching() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["first", "second"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    let status = "document.querySelector('#tree-status')";
    page.wait(&format!("{status}.textContent === '2 of 2 entries' && {status}.ariaLive === 'off'")).await;
    page.search("second").await;
    page.wait(&format!("{status}.textContent === '1 of 2 entries' && {status}.ariaLive === 'polite'")).await;
    page.search("").await;
    page.wait(&format!("{status}.textContent === '2 of 2 entries' && {status}.ariaLive === 'off'")).await;
}
