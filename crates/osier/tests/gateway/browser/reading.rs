//! What a session shows: all kinds of entries, the tree's filters, colors, and the place where the reader is.

use osier_testkit::browser::{BrowserWindow, LOW_CONTRAST};
use serde_json::json;

use super::{LivePage, REPLIES};
use crate::run_support::ModelServer;
use crate::server::TestGateway;

/// A session with entries of all kinds, and several branches.
const SAMPLE: &str = include_str!("../../../../viewer/tests/browser/sample.jsonl");
const SAMPLE_ID: &str = "4f89da11-0000-4000-8000-000000000001";

/// Stores a session with the id of the sample.
fn store_session(gateway: &TestGateway, text: &str) {
    let env = &gateway.env;
    let folder =
        env.home().join("sessions").join(env.args(&["bench-dir", env.cwd().to_str().unwrap()]).out.trim());
    std::fs::create_dir_all(&folder).unwrap();
    let text = text.replace("/home/dev/list", env.cwd().to_str().unwrap());
    std::fs::write(folder.join(format!("2026-01-12T09-00-00-000Z_{SAMPLE_ID}.jsonl")), text).unwrap();
}

async fn open_sample(gateway: &TestGateway, window: BrowserWindow) -> Option<LivePage> {
    store_session(gateway, SAMPLE);
    let page = LivePage::open(gateway, window).await?;
    page.show(SAMPLE_ID).await;
    // All entries, and not only the end of the path.
    let entries = SAMPLE.lines().count() - 1;
    page.wait(&format!(
        "document.querySelector('#tree-status').textContent.endsWith(' {entries} entries') && document.querySelector('.row.selected')"
    ))
    .await;
    Some(page)
}

#[tokio::test]
async fn the_tree_is_filtered_searched_and_folded() {
    let gateway = TestGateway::start();
    let Some(page) = open_sample(&gateway, BrowserWindow::default()).await else { return };
    let all = page.evaluate("return document.querySelectorAll('.row').length").await;
    page.choose_value("#filter", "user-only").await;
    page.wait("document.querySelectorAll('.row').length > 2 && [...document.querySelectorAll('.row')].every((row) => row.matches('.role-user'))").await;
    page.choose_value("#filter", "labeled-only").await;
    page.wait("document.querySelector('.row') && [...document.querySelectorAll('.row')].every((row) => row.querySelector('.label'))").await;
    page.choose_value("#filter", "default").await;
    page.wait(&format!("document.querySelectorAll('.row').length === {all}")).await;
    page.browser.type_into("#search", "xml").await;
    page.wait("document.querySelectorAll('.row').length === 1 && document.querySelector('.row').textContent.includes('XML')").await;
    // A text beyond the preview of its entry, a phrase of the whole text, and a pattern.
    for (query, found) in
        [("e0412", 1), ("\"reads from right to left\"", 1), ("re:right to (left|nowhere)", 1)]
    {
        page.search(query).await;
        page.wait(&format!("document.querySelectorAll('.row').length === {found}")).await;
    }
    page.search("re:(").await;
    page.wait("document.querySelector('#tree-status').textContent.includes('invalid regular expression')")
        .await;
    page.search("").await;
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
        ".entry.role-toolResult .todos .completed + .in-progress + .pending",
        ".entry.kind-compaction",
        ".entry.kind-branch_summary",
        ".entry.kind-custom_message",
        ".entry.kind-backtrack .backtrack-title",
        ".entry.kind-subagent_batch.merged",
        ".entry.kind-subagent_result .task .task-title",
        ".entry.kind-subagent_result .timeline",
        ".entry.kind-thinking_level_change .change",
    ] {
        page.wait(&format!("document.querySelector('{part}')")).await;
    }
}

/// An image fills the window while it is enlarged.
#[tokio::test]
async fn an_image_is_enlarged() {
    let gateway = TestGateway::start();
    let Some(page) = open_sample(&gateway, BrowserWindow::default()).await else { return };
    page.evaluate("dispatchEvent(new Event('beforeprint'))").await;
    page.wait("document.querySelector('.entry button.zoom img')").await;
    page.browser.click(".entry button.zoom").await;
    let is_large =
        "document.querySelector('.entry button.zoom').getBoundingClientRect().width === innerWidth";
    page.wait(is_large).await;
    page.browser.press(super::ESCAPE).await;
    page.wait(&format!("!({is_large})")).await;
}

/// B7: what was said, which files each branch touched, and what it cost.
#[tokio::test]
async fn a_comparison_shows_the_files_of_each_branch() {
    let gateway = TestGateway::start();
    let Some(page) = open_sample(&gateway, BrowserWindow::default()).await else { return };
    page.select("Then page the array").await;
    page.choose("Compare with the current branch").await;
    let column =
        |at: usize| format!("document.querySelectorAll('dialog.compare[open] .column')[{at}]?.innerText");
    page.wait(&format!(
        "{}?.includes('every caller now needs a loop') && {}.includes('$0.028')",
        column(0),
        column(0)
    ))
    .await;
    page.wait(&format!(
        "!{}.includes('changed') && {}.includes('changed tests/test_list.py')",
        column(0),
        column(1)
    ))
    .await;
    // A batch of sub-agents is one card here as well.
    page.becomes(&format!("{}.split('Find every caller').length - 1", column(1)), json!(1)).await;
    // Images are enlarged here, too, and Escape closes only them.
    page.browser.click("dialog.compare button.zoom").await;
    let is_large =
        "document.querySelector('dialog.compare button.zoom').getBoundingClientRect().width === innerWidth";
    page.wait(is_large).await;
    page.browser.press(super::ESCAPE).await;
    page.wait(&format!("!({is_large}) && document.querySelector('dialog.compare').open")).await;
}

/// Text is readable in both themes: at least 4.5:1, as WCAG asks.
#[tokio::test]
async fn colors_of_the_live_page_have_enough_contrast() {
    let gateway = TestGateway::start();
    let Some(page) = open_sample(&gateway, BrowserWindow::default()).await else { return };
    page.evaluate("dispatchEvent(new Event('beforeprint'))").await;
    page.wait("!document.querySelector('.body.loading')").await;
    page.evaluate("document.querySelectorAll('details').forEach((part) => (part.open = true))").await;
    page.click_part("document.querySelector('.entry:not(.merged) .entry-menu')").await;
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
    let status = "document.querySelector('.entry:not(.merged) .batch-status')?.textContent";
    // Another program stored it, and works on it.
    page.wait(&format!("{status} === 'running'")).await;
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
    // One card: the title comes from the batch, and the answer from the results. The batch itself is out of the way.
    let is_merged = "document.querySelector('.kind-subagent_result .task')?.innerText.includes('Read main.rs') && document.querySelector('.kind-subagent_result .task').innerText.includes('It cannot be read.')
        && document.querySelector('.kind-subagent_result .routes')?.textContent.includes('no sandbox') && document.querySelector('.kind-subagent_batch.merged').offsetHeight === 0";
    page.wait(is_merged).await;
    page.wait(&format!("{status} === 'failed'")).await;
    page.refresh().await;
    page.wait(is_merged).await;
    page.wait(&format!("{status} === 'failed'")).await;
    // From the list, too.
    page.evaluate("location.hash = '#'").await;
    page.click_part("document.querySelector('.session-link')").await;
    page.wait(is_merged).await;
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
    page.scroll_up(&format!("document.getElementById('entry-{}').scrollIntoView()", ids[30])).await;
    page.wait("!document.querySelector('.body.loading')").await;
    // The page may still move when the test looks; what counts is where it was when it was left.
    page.evaluate(&format!("addEventListener('pagehide', () => sessionStorage.setItem('before', {top}))"))
        .await;
    page.browser.refresh().await;
    let before = "Number(sessionStorage.getItem('before') ?? NaN)";
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
    let drawn = "((canvas) => canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.some((value) => value !== 0))(document.querySelector('#overview'))";
    page.wait(drawn).await;
    let press = "const canvas = document.querySelector('#overview'), box = canvas.getBoundingClientRect();
        canvas.setPointerCapture = () => {};
        canvas.dispatchEvent(new PointerEvent('pointerdown', { clientX: box.left + 5, clientY: box.top + 1, pointerId: 1 }))";
    page.evaluate(press).await;
    page.wait("document.querySelector('#tree').scrollTop === 0 && document.querySelector('.row')?.textContent.includes('message 0')").await;
}

/// Only the rows and groups near the view are in the document.
#[tokio::test]
async fn a_long_session_draws_only_what_is_near_the_view() {
    let gateway = TestGateway::start();
    let texts: Vec<String> =
        (0..400).map(|number| format!("message {number}\n\n{}", "text ".repeat(60))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (session, _) = gateway.create_with(&texts).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    // The tree has moved the leaf into view, so it does not scroll by itself any more.
    page.wait("document.querySelector('#tree-status').textContent.startsWith('400') && document.querySelector('.row.selected')").await;
    page.sees("message 399").await;
    let drawn = page
        .evaluate(
            "return [document.querySelectorAll('.row').length, document.querySelectorAll('.entry').length]",
        )
        .await;
    assert!(drawn[0].as_u64().unwrap() < 80 && drawn[1].as_u64().unwrap() < 200, "{drawn}");
    // Rows that stay in view while the tree is scrolled are the same elements, in the order of the tree.
    page.evaluate("window.tree = document.querySelector('#tree'); window.tree.scrollTop = 2800").await;
    page.wait("document.querySelector('#row-110')").await;
    page.evaluate("window.kept = document.querySelector('#row-110'); window.tree.scrollTop = 2900").await;
    page.wait("!document.querySelector('#row-87')").await;
    let order = "[...document.querySelectorAll('.row')].map((row) => Number(row.dataset.row))";
    assert_eq!(page.evaluate("return window.kept === document.querySelector('#row-110')").await, json!(true));
    for top in [2_900, 2_600, 9_000, 0] {
        page.evaluate(&format!("window.tree.scrollTop = {top}")).await;
        let first = (top / 28_i32 - 12).max(0);
        page.wait(&format!("{order}[0] === {first} && {order}.every((row, at, all) => row === all[0] + at)"))
            .await;
        page.wait("[...document.querySelectorAll('.row')].every((row) => row.querySelector('.preview').textContent.startsWith(`message ${row.dataset.row} `))").await;
        page.wait("[...document.querySelectorAll('.row')].every((row) => row.style.transform === `translateY(${28 * row.dataset.row}px)`)").await;
    }
}

#[tokio::test]
async fn thinking_and_output_open_together_and_the_theme_stays() {
    let gateway = TestGateway::start();
    let Some(page) = open_sample(&gateway, BrowserWindow::default()).await else { return };
    page.evaluate("dispatchEvent(new Event('beforeprint'))").await;
    page.wait("!document.querySelector('.body.loading') && document.querySelector('details.thinking')").await;
    for (key, part) in [("t", "details.thinking"), ("o", "details.output")] {
        let all = |is_open: bool| {
            format!("[...document.querySelectorAll('{part}')].every((part) => part.open === {is_open})")
        };
        page.evaluate("document.querySelector('#tree').focus()").await;
        page.browser.press(key).await;
        page.wait(&all(true)).await;
        page.browser.press(key).await;
        page.wait(&all(false)).await;
    }
    page.browser.click("#toggle-theme").await;
    page.wait("document.documentElement.dataset.theme === 'dark'").await;
    page.browser.refresh().await;
    page.wait("document.documentElement.dataset.theme === 'dark' && document.querySelector('.row')").await;
    // That of the system is no choice: the page follows it again.
    page.browser.click("#toggle-theme").await;
    page.wait(
        "document.documentElement.dataset.theme === undefined && localStorage.getItem('osier.theme') === ''",
    )
    .await;
}

/// Groups of entries far from the view are removed, and drawn again when they come back, also those that were drawn while the
/// session grew.
#[tokio::test]
async fn entries_that_left_the_view_come_back() {
    let gateway = TestGateway::start();
    let mut text = SAMPLE.lines().next().unwrap().to_owned();
    for number in 0..900_u32 {
        let parent = number.checked_sub(1).map(|parent| format!("{parent:08x}"));
        let message = json!({ "role": "user", "content": format!("message {number}") });
        let entry = json!({ "type": "message", "id": format!("{number:08x}"), "parentId": parent, "timestamp": "2026-01-12T09:00:00.000Z", "message": message });
        text.push_str(&format!("\n{entry}"));
    }
    store_session(&gateway, &format!("{text}\n"));
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(SAMPLE_ID).await;
    page.wait("document.querySelector('#tree-status').textContent.startsWith('900')").await;
    let say = json!({ "message": { "role": "user", "content": "the last one" } });
    gateway.post(&format!("/api/sessions/{SAMPLE_ID}/messages"), say).await;
    page.sees("the last one").await;
    let read_up = "const done = arguments[0], groups = [...document.querySelectorAll('.group')].reverse();
        (async () => {
          for (const group of groups) {
            do {
              // As a user scrolls: the page follows its end until then.
              window.dispatchEvent(new WheelEvent('wheel'));
              group.scrollIntoView();
              await new Promise((next) => setTimeout(next, 5));
            } while (!group.querySelector('.entry'));
          }
          done(groups.length);
        })();";
    assert_eq!(page.browser.evaluate_async(read_up).await, json!(31));
    page.wait("document.querySelectorAll('.group').length - document.querySelectorAll('.group:has(.entry)').length > 3").await;
    page.wait("!document.querySelector('#transcript').textContent.includes('the last one')").await;
    page.browser.click("#jump-down").await;
    page.sees("the last one").await;
    page.is_consistent().await;
}

/// The browser does not wait for what is not there yet, so the page fetches it before it prints.
#[tokio::test]
async fn a_print_has_all_entries() {
    let gateway = TestGateway::start();
    let texts: Vec<String> =
        (0..200).map(|number| format!("message {number}\n\n{}", "text ".repeat(60))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (session, _) = gateway.create_with(&texts).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.sees("message 199").await;
    let watch = "window.print = () => { dispatchEvent(new Event('beforeprint'));
        window.printed = ['.entry', '.body.loading', '.print-note'].map((part) => document.querySelectorAll(part).length);
        dispatchEvent(new Event('afterprint')); };";
    page.evaluate(watch).await;
    page.choose_in_session("Print").await;
    page.becomes("window.printed", json!([200, 0, 0])).await;
    page.evaluate("window.printed = null").await;
    let keys = "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'p', ctrlKey: true, bubbles: true, cancelable: true }))";
    assert_eq!(
        page.evaluate(&format!("return {keys}")).await,
        json!(false),
        "the browser does not print by itself"
    );
    page.becomes("window.printed", json!([200, 0, 0])).await;
}

/// The chosen theme is there in the first frame.
#[tokio::test]
async fn the_page_does_not_begin_in_the_other_theme() {
    let gateway = TestGateway::start();
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.evaluate("localStorage.setItem('osier.theme', 'dark')").await;
    page.browser.evaluate_on_load("requestAnimationFrame(() => (window.firstTheme = document.documentElement.dataset.theme ?? 'none'))").await;
    page.browser.refresh().await;
    page.wait("window.firstTheme").await;
    assert_eq!(page.evaluate("return window.firstTheme").await, json!("dark"));
}
