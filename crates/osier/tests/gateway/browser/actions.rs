//! What the menus and the editor do, beside the tree.

use std::time::{Duration, Instant};

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::{LivePage, REPLIES, answered};
use crate::run_support::ModelServer;
use crate::server::TestGateway;

/// The clipboard and downloads of the page, kept where a test can see them.
const WATCH_RESULTS: &str = "window.copied = []; window.downloads = [];
    navigator.clipboard.writeText = async (text) => { window.copied.push(text); };
    HTMLAnchorElement.prototype.click = function () { window.downloads.push(this.href); };";

/// A gateway whose settings begin and end with these lines.
fn configured(model: &ModelServer, first: &str, last: &str) -> TestGateway {
    let env = model.env();
    let file = env.home().join("config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    std::fs::write(file, format!("{first}\n{settings}\n{last}\n")).unwrap();
    TestGateway::start_in(env, &[])
}

#[tokio::test]
async fn the_context_is_compacted_and_that_is_undone() {
    let model = ModelServer::new();
    let gateway = configured(&model, "compaction.keep_recent_tokens = 4", "");
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.choose_in_session("Compact the context").await;
    page.wait("document.querySelector('dialog').open").await;
    page.browser.type_into("dialog textarea", "the numbers").await;
    page.confirm().await;
    let mut request = model.next_request();
    assert!(request.text.contains("the numbers"), "{}", request.text);
    request.send_text("A summary of");
    page.wait("document.querySelector('#running')?.textContent.includes('A summary of')").await;
    page.browser.refresh().await;
    page.wait("document.querySelector('#running')?.textContent.includes('A summary of')").await;
    request.send_text(" both answers");
    request.finish("stop");
    page.wait(
        "document.querySelector('.entry.kind-compaction')?.textContent.includes('A summary of both answers')",
    )
    .await;
    page.wait("document.querySelector('.row.leaf')?.classList.contains('kind-compaction')").await;
    page.wait("!document.querySelector('.result.running')").await;
    page.choose_in_session("Undo the compaction").await;
    page.wait(&format!("{REPLIES} === 2 && !document.querySelector('.entry.kind-compaction')")).await;
}

#[tokio::test]
async fn a_move_with_a_summary_takes_it_along() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.select("answer one").await;
    page.choose("Move here and summarize").await;
    page.wait("document.querySelector('dialog').open").await;
    page.browser.type_into("dialog textarea", "be brief").await;
    page.confirm().await;
    let mut request = model.next_request();
    assert!(request.text.contains("be brief"));
    request.send_text("What the second answer said");
    page.wait("document.querySelector('#running').textContent.includes('What the second answer said')").await;
    request.finish("stop");
    page.wait("document.querySelector('.row.leaf')?.classList.contains('kind-branch_summary')").await;
    page.wait(&format!("{REPLIES} === 1")).await;
    page.sees("Summary of the branch that was left").await;
    page.wait("document.querySelector('#message').textContent === 'Moved'").await;
    // And without one.
    page.select("answer two").await;
    page.choose("Move here").await;
    page.wait("document.querySelector('.row.leaf')?.textContent.includes('answer two')").await;
    page.is_consistent().await;
}

#[tokio::test]
async fn a_summary_that_is_stopped_changes_nothing() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.select("answer one").await;
    page.choose("Move here and summarize").await;
    page.confirm().await;
    let mut request = model.next_request();
    request.send_text("half of a summary");
    page.wait("document.querySelector('#running').textContent.includes('half of')").await;
    request.disconnect();
    page.wait("!document.querySelector('#running').textContent.includes('half of')").await;
    page.wait("document.querySelector('.row.leaf')?.textContent.includes('answer two')").await;
}

#[tokio::test]
async fn text_and_links_are_copied_and_a_link_leads_back() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, session)) = answered(&model, &gateway).await else { return };
    page.evaluate(WATCH_RESULTS).await;
    page.select("answer one").await;
    page.choose("Copy the text").await;
    page.wait("window.copied.at(-1) === 'answer one'").await;
    page.choose("Copy a link").await;
    page.wait("window.copied.length === 2").await;
    let link = page.evaluate("return window.copied.at(-1)").await;
    let link = link.as_str().unwrap();
    let id = session.rsplit('/').next().unwrap();
    assert!(link.starts_with(&format!("{}/#session={id}&entry=", gateway.url)), "{link}");
    page.browser.goto("about:blank").await;
    page.browser.goto(link).await;
    page.wait("document.querySelector('.entry.selected')?.textContent.includes('answer one')").await;
}

#[tokio::test]
async fn sessions_are_downloaded_in_three_formats() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.evaluate(WATCH_RESULTS).await;
    for (name, begin) in [
        ("Download as HTML", "<!DOCTYPE html>"),
        ("Download as Markdown", "# one"),
        ("Download as JSONL", "{\"type\":\"session\""),
    ] {
        page.choose_in_session(name).await;
        page.wait("window.downloads.length === 1").await;
        let link = page.evaluate("return window.downloads.pop()").await;
        let path = link.as_str().unwrap().strip_prefix(&gateway.url).unwrap();
        let response = gateway.request(reqwest::Method::GET, path).send().await.unwrap();
        assert!(response.headers()["content-disposition"].to_str().unwrap().starts_with("attachment"));
        let text = response.text().await.unwrap();
        assert!(
            text.starts_with(begin) && text.contains("answer two"),
            "{name}: {}",
            &text[..200.min(text.len())]
        );
    }
}

#[tokio::test]
async fn images_are_pasted_removed_and_sent() {
    let model = ModelServer::new();
    let gateway = configured(&model, "", "images = true");
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    let paste = "const png = Uint8Array.from(atob('iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='), (ch) => ch.charCodeAt(0));
        const data = new DataTransfer(); data.items.add(new File([png], 'dot.png', { type: 'image/png' }));
        document.querySelector('#prompt').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data }));";
    page.evaluate(paste).await;
    page.wait("document.querySelectorAll('#attachments img').length === 1").await;
    page.browser.click("#attachments button").await;
    page.wait("document.querySelector('#attachments').hidden").await;
    page.evaluate(paste).await;
    page.wait("document.querySelectorAll('#attachments img').length === 1").await;
    page.prompt("what is this?").await;
    let request = model.next_request();
    assert!(request.text.contains("data:image/png;base64,iVBOR"), "{}", request.text);
    request.reply("A dot.");
    page.wait("document.querySelector('.entry.role-user img')").await;
    page.wait("document.querySelector('#attachments').hidden").await;
    // Editing the message brings the image back as well.
    page.turn_ended(1).await;
    page.select("what is this?").await;
    page.choose("Edit and continue").await;
    page.wait("document.querySelector('#prompt').value === 'what is this?' && document.querySelectorAll('#attachments img').length === 1").await;
}

#[tokio::test]
async fn commands_run_for_the_model_or_only_for_the_user() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("!echo seen-by-all").await;
    page.wait("document.querySelector('.entry.role-bashExecution')?.textContent.includes('seen-by-all')")
        .await;
    page.prompt("!!echo seen-by-me").await;
    page.wait("document.querySelectorAll('.entry.role-bashExecution').length === 2").await;
    page.prompt("and now?").await;
    let request = model.next_request();
    assert!(request.text.contains("seen-by-all") && !request.text.contains("seen-by-me"), "{}", request.text);
    request.reply("Done.");
    page.sees("Done.").await;
}

#[tokio::test]
async fn a_model_and_a_thinking_level_are_chosen() {
    let model = ModelServer::new();
    let gateway = configured(&model, "", "[[providers.local.models]]\nid = \"thinker\"\nthinking = true\n");
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let session = gateway.create().await;
    page.show(&session).await;
    page.choose_value("#model", "local/thinker").await;
    page.wait("!document.querySelector('#thinking').hidden && document.querySelector('#model').title === 'local/thinker'").await;
    page.choose_value("#thinking", "high").await;
    page.wait("document.querySelector('#thinking').value === 'high'").await;
    page.prompt("hello").await;
    let request = model.next_request();
    assert_eq!(request.body["model"], json!("thinker"));
    request.reply("Hello.");
    page.sees("Hello.").await;
    assert_eq!(gateway.get(&format!("{session}/status")).await["thinking"], json!("high"));
}

#[tokio::test]
async fn a_session_starts_only_in_an_allowed_directory() {
    let gateway = TestGateway::start();
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let start_in = async |directory: &str| {
        page.browser.click("#new-session").await;
        page.wait("document.querySelector('dialog').open").await;
        let fill = format!(
            "document.querySelector('[name=cwd]').value = {directory:?}; document.querySelector('[name=name]').value = 'Fresh'"
        );
        page.evaluate(&fill).await;
        page.confirm().await;
    };
    start_in("/").await;
    page.wait("document.querySelector('#message').textContent.includes('served only for')").await;
    assert_eq!(gateway.get("/api/sessions").await["sessions"], json!([]));
    let inside = gateway.env.path("inside");
    std::fs::create_dir_all(&inside).unwrap();
    let inside = inside.canonicalize().unwrap();
    start_in(inside.to_str().unwrap()).await;
    page.wait("document.querySelector('#title').textContent === 'Fresh'").await;
    let sessions = gateway.get("/api/sessions").await;
    assert_eq!(sessions["sessions"][0]["cwd"], json!(inside));
    // The next time, it is suggested.
    page.evaluate("location.hash = '#'").await;
    page.wait("document.querySelector('.session-link')").await;
    page.browser.click("#new-session").await;
    let suggested = "[...document.querySelector('[name=cwd]').list.options].map((option) => option.value)";
    page.becomes(suggested, json!([gateway.env.cwd().canonicalize().unwrap(), inside])).await;
}

#[tokio::test]
async fn a_session_is_renamed_and_deleted_from_its_own_menu() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.choose_in_session("Rename").await;
    page.wait("document.querySelector('dialog').open").await;
    page.browser.type_into("dialog input", "Two answers").await;
    page.confirm().await;
    page.wait("document.querySelector('#title').textContent === 'Two answers' && document.title.includes('Two answers')").await;
    page.choose_in_session("Delete the session").await;
    page.wait("document.querySelector('dialog').open").await;
    page.browser.click("dialog .cancel").await;
    assert_eq!(gateway.get("/api/sessions").await["sessions"].as_array().unwrap().len(), 1);
    page.choose_in_session("Delete the session").await;
    // Canceled and chosen again at once: the end of the first dialog is not taken for that of the second.
    page.wait("document.querySelector('dialog').open").await;
    let again = "document.querySelector('dialog .cancel').click(); document.querySelector('#session-actions').click();
        [...document.querySelectorAll('#menu button')].find((item) => item.textContent.startsWith('Delete the session')).click()";
    page.evaluate(again).await;
    page.confirm().await;
    page.wait(
        "document.querySelector('#message').textContent === 'Deleted' && document.body.matches('.at-home')",
    )
    .await;
    page.wait("document.querySelectorAll('.session-link').length === 0").await;
    assert_eq!(gateway.get("/api/sessions").await["sessions"], json!([]));
}

#[tokio::test]
async fn two_chosen_entries_are_compared_with_what_they_cost() {
    let model = ModelServer::new();
    let gateway = with_price(&model);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    for (from, text) in [("two", "left"), ("two", "right")] {
        page.select(from).await;
        page.prompt(text).await;
        let mut request = model.next_request();
        request.send_text(&format!("answer {text}"));
        request.send_usage(1000, 500);
        request.finish("stop");
        page.sees(&format!("answer {text}")).await;
        page.turn_ended(2).await;
    }
    page.select("answer left").await;
    page.choose("Choose for a comparison").await;
    page.select("answer two").await;
    page.choose("Compare with the chosen entry").await;
    page.wait("document.querySelector('dialog.compare').open").await;
    let columns = page
        .evaluate("return [...document.querySelectorAll('.column')].map((column) => column.innerText)")
        .await;
    let (left, right) = (columns[0].as_str().unwrap(), columns[1].as_str().unwrap());
    assert!(left.contains("answer left") && !left.contains("answer two"), "{left}");
    assert!(left.contains("2k tokens") && left.contains("$0.007"), "{left}");
    assert!(right.contains("answer two") && !right.contains("answer left"), "{right}");
    page.browser.click(".column [data-open]").await;
    page.wait("document.querySelector('.entry.selected')?.textContent.includes('answer left')").await;
}

#[tokio::test]
async fn a_summary_of_another_branch_is_brought_over() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.select("two").await;
    page.prompt("other").await;
    model.next_request().reply("answer other");
    page.sees("answer other").await;
    page.turn_ended(2).await;
    page.select("answer two").await;
    page.choose("Bring a summary of it here").await;
    page.wait("document.querySelector('dialog').open").await;
    page.browser.type_into("dialog textarea", "one sentence").await;
    page.confirm().await;
    let mut request = model.next_request();
    assert!(request.text.contains("one sentence") && request.text.contains("answer two"), "{}", request.text);
    request.send_text("Two was answered");
    page.wait("document.querySelector('#running').textContent.includes('Two was answered')").await;
    request.finish("stop");
    page.wait("document.querySelector('.row.leaf')?.textContent.includes('Graft from')").await;
    page.wait("!document.querySelector('.result.running')").await;
    page.wait("document.querySelector('#transcript').textContent.includes('Two was answered') && document.querySelector('#transcript').textContent.includes('answer other')").await;
    page.wait("document.querySelector('#jump-down').hidden").await;
}

#[tokio::test]
async fn code_is_copied_and_a_turn_is_stopped_with_a_button() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.evaluate(WATCH_RESULTS).await;
    page.prompt("code").await;
    model.next_request().reply("```rust\nfn main() {}\n```");
    page.wait("document.querySelector('.entry.role-assistant:not(.draft) figure.code .copy')").await;
    page.click_part("document.querySelector('.entry.role-assistant:not(.draft) figure.code .copy')").await;
    page.wait("window.copied.at(-1)?.trim() === 'fn main() {}'").await;
    page.turn_ended(1).await;
    page.prompt("more").await;
    let mut request = model.next_request();
    request.send_text("half");
    page.sees("half").await;
    page.browser.click("#cancel").await;
    request.wait_for_disconnect();
    page.turn_ended(2).await;
}

#[tokio::test]
async fn context_and_cost_are_shown_and_grow() {
    let model = ModelServer::new();
    let gateway = with_price(&model);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    assert_eq!(page.evaluate("return document.querySelector('#cost').textContent").await, json!(""));
    for (turn, (tokens, percent, cost)) in
        [(4_500, 25, "$0.014"), (8_500, 45, "$0.036")].into_iter().enumerate()
    {
        page.prompt("go on").await;
        let mut request = model.next_request();
        request.send_text("Done.");
        request.send_usage(tokens, 500);
        request.finish("stop");
        page.wait(&format!("document.querySelector('#context-text').textContent === '{percent}% of 20k'"))
            .await;
        page.wait(&format!("document.querySelector('#context-meter').ariaValueNow === '{percent}'")).await;
        page.wait(&format!("document.querySelector('#cost').textContent === '{cost}'")).await;
        page.turn_ended(turn + 1).await;
    }
    // The list shows what a session cost.
    page.evaluate("location.hash = '#'").await;
    page.wait("document.querySelector('.session-facts')?.textContent.includes('$0.04')").await;
}

/// A small context window, and a price: two dollars per million tokens that go in, ten for those that come out.
fn with_price(model: &ModelServer) -> TestGateway {
    configured(model, "", "context_window = 20000\nprice = { input = 2, output = 10 }")
}

/// A fork that a hook refuses leaves everything as it is.
#[tokio::test]
async fn a_fork_that_is_refused_stays_in_the_session() {
    let model = ModelServer::new();
    let env = model.env();
    let file = env.path("refuse.ts");
    let extension = r#"
import type { ExtensionAPI } from "@mariozechner/pi-coding-agent";
export default function (pi: ExtensionAPI) {
	pi.on("session_before_fork", async () => ({ cancel: true }));
}
"#;
    std::fs::write(&file, extension).unwrap();
    let gateway = TestGateway::start_in(env, &["-e", file.to_str().unwrap()]);
    let Some((page, session)) = answered(&model, &gateway).await else { return };
    let address = page.evaluate("return location.href").await;
    page.evaluate("window.said = []; new MutationObserver(() => window.said.push(document.querySelector('#message').textContent)).observe(document.querySelector('#message'), { childList: true })").await;
    page.choose_in_session("Fork").await;
    page.wait("window.said.some((text) => text.includes('refused'))").await;
    page.wait(&format!(
        "document.body.dataset.session && {REPLIES} === 2 && document.querySelectorAll('.row').length === 4"
    ))
    .await;
    assert_eq!(
        page.evaluate("return [location.href, window.said.some((text) => text.includes('Forked'))]").await,
        json!([address, false])
    );
    page.prompt("three").await;
    model.next_request().reply("answer three");
    page.turn_ended(3).await;
    assert_eq!(gateway.get("/api/sessions").await["sessions"].as_array().unwrap().len(), 1);
    assert!(gateway.active_path(&session).await.as_array().unwrap().len() >= 6);
}

/// A prompt that cannot be sent comes back before what was typed since, also if another session is shown meanwhile.
#[tokio::test]
async fn a_prompt_that_fails_replaces_nothing_that_was_typed_since() {
    let gateway = TestGateway::start();
    let (first, _) = gateway.create_with(&["about apples"]).await;
    let (second, _) = gateway.create_with(&["about pears"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&first).await;
    let hold = "const fetch = window.fetch, gate = new Promise((resolve) => (window.release = resolve));
        window.fetch = async (path, options) => { if (String(path).includes('/prompt')) { await gate; throw new TypeError('failed'); } return fetch(path, options); };";
    page.evaluate(hold).await;
    page.prompt("one").await;
    page.wait("document.querySelector('#prompt').value === ''").await;
    page.browser.type_into("#prompt", "two").await;
    page.show(&second).await;
    page.browser.type_into("#prompt", "three").await;
    page.evaluate("window.release()").await;
    page.wait("document.querySelector('#message').textContent.includes('cannot be reached')").await;
    page.show(&first).await;
    page.wait("document.querySelector('#prompt').value === 'one\\n\\ntwo'").await;
    page.show(&second).await;
    page.wait("document.querySelector('#prompt').value === 'three'").await;
}

/// Images that are dropped, and one that is too large.
#[tokio::test]
async fn images_are_dropped_and_large_ones_refused() {
    let gateway = TestGateway::start();
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    let drop = |name: &str, size: usize| {
        format!(
            "const data = new DataTransfer(); data.items.add(new File([new Uint8Array({size})], '{name}', {{ type: 'image/png' }}));
            const composer = document.querySelector('#composer'), over = new DragEvent('dragover', {{ dataTransfer: data, bubbles: true, cancelable: true }});
            composer.dispatchEvent(over);
            composer.dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, bubbles: true, cancelable: true }}));
            return over.defaultPrevented;"
        )
    };
    assert_eq!(page.evaluate(&drop("small.png", 100)).await, json!(true));
    page.wait("document.querySelectorAll('#attachments img').length === 1").await;
    page.evaluate(&drop("large.png", (8 << 20) + 1)).await;
    page.wait("document.querySelector('#message').textContent === 'large.png is larger than 8 MB'").await;
    page.wait("document.querySelectorAll('#attachments img').length === 1").await;
}

/// The file of a download, and the clipboard, for real.
#[tokio::test]
async fn a_download_is_a_file_and_a_copy_is_in_the_clipboard() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    let folder = gateway.env.path("downloads");
    std::fs::create_dir_all(&folder).unwrap();
    page.browser
        .devtools("Browser.setDownloadBehavior", json!({ "behavior": "allow", "downloadPath": folder }))
        .await;
    page.choose_in_session("Download as Markdown").await;
    let started = Instant::now();
    let file = loop {
        let files = std::fs::read_dir(&folder).unwrap().flatten().map(|file| file.path());
        if let Some(file) =
            files.into_iter().find(|file| file.extension().is_some_and(|extension| extension == "md"))
        {
            break file;
        }
        assert!(started.elapsed() < Duration::from_secs(60), "nothing was downloaded");
        page.evaluate_frame().await;
    };
    let text = std::fs::read_to_string(file).unwrap();
    assert!(text.contains("answer one") && text.contains("answer two"), "{text}");
    let permission = json!({ "permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"] });
    page.browser.devtools("Browser.grantPermissions", permission).await;
    page.select("answer one").await;
    page.choose("Copy the text").await;
    page.wait("document.querySelector('#message').textContent === 'Copied'").await;
    let pasted = page.browser.evaluate_async("const done = arguments[0]; navigator.clipboard.readText().then(done, (error) => done(String(error)))").await;
    assert_eq!(pasted, json!("answer one"));
    // Without HTTPS, pages of another machine have no clipboard.
    page.evaluate("document.querySelector('#message').textContent = ''; Object.defineProperty(navigator, 'clipboard', { value: undefined })").await;
    page.choose("Copy a link").await;
    page.wait("/^(Copied the link|Cannot copy: )/.test(document.querySelector('#message').textContent)")
        .await;
}
