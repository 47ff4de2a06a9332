//! Use without a mouse.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::{ENTER, ESCAPE, LivePage, answered};
use crate::run_support::ModelServer;
use crate::server::TestGateway;

const TAB: &str = "\u{e004}";
const SHIFT: &str = "\u{e008}";
const UP: &str = "\u{e013}";
const DOWN: &str = "\u{e015}";
const LEFT: &str = "\u{e012}";
const RIGHT: &str = "\u{e014}";

const MENU_IS_OPEN: &str = "document.querySelector('#menu').matches(':popover-open')";
const IS_RUNNING: &str = "!document.querySelector('#cancel').hidden";

/// Escape closes what is open, and letters stay in it. The turn goes on.
#[tokio::test]
async fn keys_in_a_menu_or_a_dialog_do_nothing_behind_it() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.prompt("three").await;
    let mut request = model.next_request();
    request.send_text("working");
    page.sees("working").await;
    page.click_part("document.querySelector('.entry.selected .entry-menu')").await;
    page.wait(&format!("{MENU_IS_OPEN} && document.activeElement.closest('#menu')")).await;
    page.browser.press("s").await;
    page.browser.press(ESCAPE).await;
    page.wait(&format!("!{MENU_IS_OPEN}")).await;
    page.choose_in_session("Rename").await;
    page.wait("document.querySelector('dialog').open").await;
    page.evaluate("document.querySelector('dialog .cancel').focus()").await;
    for key in ["s", "p", "l", "m", "b", "t", "o", "/", ESCAPE] {
        page.browser.press(key).await;
    }
    page.wait("!document.querySelector('dialog').open").await;
    let untouched = format!(
        "{IS_RUNNING} && document.body.dataset.session && !document.body.matches('.at-home, .tree-closed') && !{MENU_IS_OPEN} \
         && document.querySelector('#toggle-thinking').ariaPressed === 'false' && document.querySelector('#prompt').value === ''"
    );
    page.wait(&untouched).await;
    request.send_text(", and done");
    request.finish("stop");
    page.turn_ended(3).await;
    page.sees("working, and done").await;
    // With nothing open, Escape stops a turn.
    page.prompt("four").await;
    let mut request = model.next_request();
    request.send_text("half");
    page.sees("half").await;
    page.evaluate("document.querySelector('#tree').focus()").await;
    page.browser.press(ESCAPE).await;
    request.wait_for_disconnect();
    page.turn_ended(4).await;
}

/// From the list to a message, a question, a branch and a comparison: only with keys.
#[tokio::test]
async fn a_session_is_worked_in_with_keys_alone() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let press = async |keys: &str| page.browser.press(keys).await;
    let focus = async |id: &str| {
        page.wait(&format!("document.activeElement.id === '{id}'")).await;
    };
    page.wait("document.activeElement.id === 'session-search'").await;
    page.press_until_focused(TAB, "new-session").await;
    press(ENTER).await;
    page.wait("document.querySelector('dialog').open").await;
    press(ENTER).await;
    focus("prompt").await;
    press(&format!("write{ENTER}")).await;
    // The buttons of a question are right before the prompt.
    let mut request = model.next_request();
    request.send_text("First I write a.txt");
    request.send_call("call_1", "write", &json!({ "path": "a.txt", "content": "x" }));
    request.finish("tool_calls");
    page.wait("document.querySelector('.question .diff')").await;
    focus("prompt").await;
    for _ in 0..20 {
        press(&format!("{SHIFT}{TAB}{SHIFT}")).await;
        if page.evaluate("return document.activeElement.matches('.question button.primary')").await
            == json!(true)
        {
            break;
        }
    }
    press(ENTER).await;
    model.next_request().reply("It is written.");
    page.turn_ended(2).await;
    assert!(gateway.env.path("a.txt").exists());
    focus("prompt").await;
    // A second branch, from the first entry in the tree.
    press(&format!("go on{ENTER}")).await;
    model.next_request().reply("I went on.");
    page.turn_ended(3).await;
    page.evaluate("document.activeElement.blur()").await;
    press("/").await;
    focus("search").await;
    press(&format!("It is written{DOWN}")).await;
    focus("tree").await;
    page.wait("document.querySelectorAll('.row').length === 1").await;
    press(&format!("{DOWN}{ENTER}")).await;
    page.wait("document.querySelector('.entry.selected')?.textContent.includes('It is written.')").await;
    press("/").await;
    press(ESCAPE).await;
    page.wait(
        "document.querySelector('#search').value === '' && document.querySelectorAll('.row').length > 3",
    )
    .await;
    press(DOWN).await;
    press("p").await;
    focus("prompt").await;
    press(&format!("elsewhere{ENTER}")).await;
    model.next_request().reply("I am elsewhere.");
    page.wait("document.querySelector('.row.leaf')?.textContent.includes('I am elsewhere')").await;
    page.wait("document.querySelector('#cancel').hidden").await;
    // The old branch folds and unfolds, and is compared from the menu.
    page.evaluate("document.querySelector('#tree').focus()").await;
    let rows = page.evaluate("return document.querySelectorAll('.row').length").await.as_u64().unwrap();
    let cursor = "document.querySelector('.row.selected')?.textContent";
    for _ in 0..rows {
        if page.evaluate(&format!("return {cursor}?.includes('go on')")).await == json!(true) {
            break;
        }
        press(UP).await;
        page.evaluate_frame().await;
    }
    page.wait(&format!("{cursor}.includes('go on')")).await;
    press(LEFT).await;
    page.wait("document.querySelector('.row.selected').ariaExpanded === 'false'").await;
    press(RIGHT).await;
    page.wait("document.querySelector('.row.selected').ariaExpanded === 'true'").await;
    press("m").await;
    page.wait(&format!("{MENU_IS_OPEN} && document.activeElement.closest('#menu')")).await;
    for _ in 0..20 {
        if page
            .evaluate("return document.activeElement.textContent.startsWith('Compare with the current')")
            .await
            == json!(true)
        {
            break;
        }
        press(DOWN).await;
    }
    press(ENTER).await;
    page.wait("document.querySelector('dialog.compare')?.open && document.querySelector('dialog').textContent.includes('I went on.')").await;
    press(ESCAPE).await;
    page.wait("!document.querySelector('dialog').open").await;
    // The filter is a list, and the first tab skips to the conversation.
    page.evaluate("document.querySelector('#filter').focus()").await;
    press("u").await;
    page.wait("document.querySelector('#filter').value === 'user-only' && [...document.querySelectorAll('.row')].every((row) => row.matches('.role-user'))").await;
    page.evaluate("document.activeElement.blur(); document.querySelector('.skip').focus()").await;
    press(ENTER).await;
    page.wait("document.activeElement.id === 'transcript' && document.body.dataset.session").await;
    press("?").await;
    page.wait("document.querySelector('dialog.keys')?.open && document.querySelector('dialog').textContent.includes('Stop the turn')").await;
    press(ESCAPE).await;
    page.wait("!document.querySelector('dialog').open").await;
    // The width of the tree, and back to the list, where the same key searches sessions.
    let width =
        page.evaluate("return document.querySelector('#sidebar').offsetWidth").await.as_u64().unwrap();
    page.evaluate("document.querySelector('#resize-tree').focus()").await;
    press(RIGHT).await;
    page.wait(&format!("document.querySelector('#sidebar').offsetWidth === {}", width + 24)).await;
    press("s").await;
    page.wait("document.body.matches('.at-home') && document.querySelector('.session-link')").await;
    page.evaluate("document.activeElement.blur()").await;
    press("/").await;
    focus("session-search").await;
}

/// The tree is not drawn while it is closed, so the label is edited in a dialog, and the tree goes on.
#[tokio::test]
async fn a_label_is_edited_while_the_tree_is_closed() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["first", "second"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.has_rows(&["first", "second"]).await;
    page.evaluate("document.querySelector('#tree').focus()").await;
    page.browser.press("b").await;
    page.wait("!document.querySelector('#sidebar').checkVisibility()").await;
    page.evaluate("document.activeElement.blur()").await;
    page.browser.press("l").await;
    page.wait("document.querySelector('dialog').open").await;
    page.browser.type_into("dialog input", &format!("good{ENTER}")).await;
    page.wait("document.querySelector('.entry .label')?.textContent === 'good'").await;
    page.browser.press("b").await;
    page.wait("document.querySelector('.row .label')?.textContent === 'good'").await;
    gateway
        .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": "third" } }))
        .await;
    page.has_rows(&["first", "second", "third"]).await;
}

/// Screen readers hear the reply, the question and messages of the page.
#[tokio::test]
async fn replies_questions_and_messages_are_announced() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    // What is added to a live region, with how urgent it is.
    let listen = "window.spoken = [];
        for (const place of document.querySelectorAll('[aria-live]:not([aria-live=off]), [role=alert], [role=status]')) {
          const how = place.ariaLive ?? (place.matches('[role=alert]') ? 'assertive' : 'polite');
          new MutationObserver(() => place.textContent.trim() && window.spoken.push(`${how}: ${place.textContent.trim()}`)).observe(place, { childList: true, characterData: true, subtree: true });
        }";
    page.evaluate(listen).await;
    let hears = async |how: &str, text: &str| {
        page.wait(&format!(
            "window.spoken.some((text) => text.startsWith('{how}: ') && text.includes({text:?}))"
        ))
        .await;
    };
    page.prompt("write").await;
    model.next_request().reply_with_call("write", &json!({ "path": "a.txt", "content": "x" }));
    hears("assertive", "Allow write to create a.txt?").await;
    page.browser.click(".question button.primary").await;
    model.next_request().reply("It is **written**.");
    hears("polite", "It is written.").await;
    page.turn_ended(2).await;
    page.choose("Move here").await;
    hears("polite", "Moved").await;
    // The reply was read once, as a whole.
    let replies =
        page.evaluate("return window.spoken.filter((text) => text.includes('It is written.')).length").await;
    assert_eq!(replies, json!(1));
}
