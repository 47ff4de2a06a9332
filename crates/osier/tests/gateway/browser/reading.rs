//! What a session shows: all kinds of entries, the tree's filters, colors, and the place where the reader is.

use osier_testkit::browser::{BrowserWindow, LOW_CONTRAST};
use serde_json::json;

use super::{LivePage, REPLIES};
use crate::run_support::ModelServer;
use crate::server::TestGateway;

/// A session with entries of all kinds, and several branches.
const SAMPLE: &str = include_str!("../../../../viewer/tests/browser/sample.jsonl");
const SAMPLE_ID: &str = "4f89da11-0000-4000-8000-000000000001";

async fn open_sample(gateway: &TestGateway, window: BrowserWindow) -> Option<LivePage> {
    let env = &gateway.env;
    let folder =
        env.home().join("sessions").join(env.args(&["bench-dir", env.cwd().to_str().unwrap()]).out.trim());
    std::fs::create_dir_all(&folder).unwrap();
    let text = SAMPLE.replace("/home/dev/list", env.cwd().to_str().unwrap());
    std::fs::write(folder.join(format!("2026-01-12T09-00-00-000Z_{SAMPLE_ID}.jsonl")), text).unwrap();
    let page = LivePage::open(gateway, window).await?;
    page.show(SAMPLE_ID).await;
    page.wait("document.querySelectorAll('.row').length > 9").await;
    Some(page)
}

const SET_FILTER: &str = "const filter = document.querySelector('#filter'); filter.value = 'VALUE'; filter.dispatchEvent(new Event('change'))";

#[tokio::test]
async fn the_tree_is_filtered_searched_and_folded() {
    let gateway = TestGateway::start();
    let Some(page) = open_sample(&gateway, BrowserWindow::default()).await else { return };
    let all = page.rows().await.as_array().unwrap().len();
    page.evaluate(&SET_FILTER.replace("VALUE", "user-only")).await;
    page.wait("document.querySelectorAll('.row').length > 2 && [...document.querySelectorAll('.row')].every((row) => row.matches('.role-user'))").await;
    page.evaluate(&SET_FILTER.replace("VALUE", "labeled-only")).await;
    page.wait("[...document.querySelectorAll('.row')].every((row) => row.querySelector('.label'))").await;
    page.evaluate(&SET_FILTER.replace("VALUE", "default")).await;
    page.wait(&format!("document.querySelectorAll('.row').length === {all}")).await;
    page.browser.type_into("#search", "xml").await;
    page.wait("document.querySelectorAll('.row').length === 1 && document.querySelector('.row').textContent.includes('XML')").await;
    page.browser.type_into("#search", "\u{e003}\u{e003}\u{e003}").await;
    page.wait(&format!("document.querySelectorAll('.row').length === {all}")).await;
    page.browser.click("#fold-branches").await;
    page.wait(&format!("document.querySelectorAll('.row').length < {all} && document.querySelector('.row[aria-expanded=false]')")).await;
    page.browser.click("#fold-branches").await;
    page.wait(&format!("document.querySelectorAll('.row').length === {all}")).await;
}

#[tokio::test]
async fn every_kind_of_entry_is_shown() {
    let gateway = TestGateway::start();
    let Some(page) = open_sample(&gateway, BrowserWindow::default()).await else { return };
    page.evaluate("dispatchEvent(new Event('beforeprint'))").await;
    for part in [
        ".entry.role-user .markdown",
        ".entry.role-user img",
        ".entry.role-assistant figure.code .t-keyword",
        ".entry.role-assistant .call .diff .added",
        "details.thinking",
        ".entry.role-toolResult .output, .entry.role-toolResult .result",
        ".entry.role-bashExecution",
        ".entry.kind-compaction",
        ".entry.kind-branch_summary",
        ".entry.kind-custom_message",
        ".entry.kind-subagent_batch .task",
        ".entry.kind-subagent_result .timeline",
        ".entry.kind-thinking_level_change .change",
    ] {
        page.wait(&format!("document.querySelector('{part}')")).await;
    }
}

/// Text is readable in both themes: at least 4.5:1, as WCAG asks.
#[tokio::test]
async fn colors_of_the_live_page_have_enough_contrast() {
    let gateway = TestGateway::start();
    let Some(page) = open_sample(&gateway, BrowserWindow::default()).await else { return };
    page.evaluate("dispatchEvent(new Event('beforeprint'))").await;
    page.wait("!document.querySelector('.body.loading')").await;
    page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))").await;
    page.evaluate("document.querySelector('.entry .entry-menu').click()").await;
    page.wait("document.querySelector('#menu').matches(':popover-open')").await;
    for theme in ["light", "dark"] {
        page.evaluate(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
        assert_eq!(page.evaluate(&format!("return {LOW_CONTRAST}")).await, json!(""), "{theme}");
    }
    page.evaluate("location.hash = '#'").await;
    page.wait("document.querySelector('.session-link')").await;
    for theme in ["light", "dark"] {
        page.evaluate(&format!("document.documentElement.dataset.theme = '{theme}'")).await;
        assert_eq!(page.evaluate(&format!("return {LOW_CONTRAST}")).await, json!(""), "the list, {theme}");
    }
}

#[tokio::test]
async fn a_batch_of_subagents_shows_how_it_ended() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["delegate"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    let entries = format!("{session}/entries");
    let tasks = json!([{ "id": "t1", "prompt": "Read main.rs" }]);
    let batch = json!({ "type": "subagent_batch", "id": "abcd0001", "content": { "batchId": "b1", "mode": "parallel", "tasks": tasks, "status": "running" } });
    gateway.post(&entries, batch).await;
    let status = "document.querySelector('.kind-subagent_batch .batch-status')?.textContent";
    // No turn works on it.
    page.wait(&format!("{status} === 'interrupted'")).await;
    let update = gateway
        .request(reqwest::Method::PATCH, &format!("{entries}/abcd0001"))
        .json(&json!({ "status": "completed", "payload": {} }));
    assert!(update.send().await.unwrap().status().is_success());
    page.wait(&format!("{status} === 'completed'")).await;
    page.wait("document.querySelector('.row.kind-subagent_batch')?.textContent.includes('completed')").await;
    let results = json!([{ "id": "t1", "status": "failed", "summary": "It cannot be read." }]);
    let routes = json!([{ "toolName": "read", "requestedRuntime": "sandbox", "chosenRuntime": "host", "reason": "no sandbox", "allowed": true }]);
    let result = json!({ "type": "subagent_result", "id": "abcd0002", "content": { "batchId": "b1", "status": "failed", "results": results }, "metadata": { "toolRuntimeRoutes": routes } });
    gateway.post(&entries, result).await;
    page.wait("document.querySelector('.kind-subagent_result .routes')?.textContent.includes('no sandbox')")
        .await;
    page.wait(&format!("{status} === 'failed'")).await;
    page.browser.client.refresh().await.unwrap();
    page.wait(&format!("{status} === 'failed'")).await;
}

#[tokio::test]
async fn a_refresh_in_the_middle_of_a_reply_keeps_the_place() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let texts: Vec<String> =
        (0..40).map(|number| format!("message {number}\n\n{}", "text ".repeat(80))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (session, ids) = gateway.create_with(&texts).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.sees("message 39").await;
    page.prompt("go on").await;
    let mut request = model.next_request();
    request.send_text("half of it");
    page.sees("half of it").await;
    let top = format!("document.getElementById('entry-{}').getBoundingClientRect().top", ids[30]);
    page.evaluate(&format!("document.getElementById('entry-{}').scrollIntoView()", ids[30])).await;
    page.wait("localStorage.getItem('osier.scroll')?.split(' ')[1]").await;
    let before = page.evaluate(&format!("return {top}")).await;
    page.browser.client.refresh().await.unwrap();
    page.wait(&format!("Math.abs({top} - {before}) < 3")).await;
    request.send_text(", and the rest");
    page.wait("document.querySelector('.draft')?.textContent.includes('and the rest')").await;
    request.finish("stop");
    page.wait(&format!("{REPLIES} === 1 && !document.querySelector('.draft')")).await;
    page.wait(&format!("Math.abs({top} - {before}) < 3")).await;
}

/// A tree that is much higher than its view has an overview, which scrolls it.
#[tokio::test]
async fn a_large_tree_has_an_overview() {
    let gateway = TestGateway::start();
    let texts: Vec<String> = (0..150).map(|number| format!("message {number}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (session, _) = gateway.create_with(&texts).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelector('.row')?.textContent && document.querySelector('#tree-status').textContent.startsWith('150')").await;
    page.wait("!document.querySelector('#overview').hidden").await;
    let drawn = "const canvas = document.querySelector('#overview'); return canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value !== 0)";
    assert_eq!(page.evaluate(drawn).await, json!(true));
    let press = "const canvas = document.querySelector('#overview'), box = canvas.getBoundingClientRect();
        canvas.setPointerCapture = () => {};
        canvas.dispatchEvent(new PointerEvent('pointerdown', { clientX: box.left + 5, clientY: box.top + 1, pointerId: 1 }))";
    page.evaluate(press).await;
    page.wait("document.querySelector('#tree').scrollTop === 0 && document.querySelector('.row')?.textContent.includes('message 0')").await;
}
