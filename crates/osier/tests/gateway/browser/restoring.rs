//! A refresh, another browser and another day: the page is where the reader was.

use std::time::{Duration, Instant};

use osier_testkit::browser::BrowserWindow;
use serde_json::{Value, json};

use super::LivePage;
use crate::run_support::ModelServer;
use crate::server::TestGateway;

/// How long the page may take until it shows what it showed.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A reply with thinking and a tool result every few entries, and a branch that starts at the third message. The ids are those of the
/// messages of the user.
async fn long_session(gateway: &TestGateway, name: &str) -> (String, Vec<String>) {
    let session = gateway.create().await;
    let mut ids = Vec::new();
    let add = async |message: Value| {
        let stored = gateway.post(&format!("{session}/messages"), json!({ "message": message })).await;
        stored["id"].as_str().unwrap().to_owned()
    };
    for number in 0..30 {
        ids.push(add(json!({ "role": "user", "content": format!("{name} message {number}\n\n{}", "text ".repeat(60)) })).await);
        let content = json!([{ "type": "thinking", "thinking": format!("thought {number}") }, { "type": "text", "text": format!("reply {number}") }]);
        add(json!({ "role": "assistant", "content": content, "provider": "p", "model": "m", "stopReason": "stop" })).await;
        if number == 5 {
            gateway.post(&format!("{session}/move"), json!({ "targetId": ids[2], "exact": true })).await;
        }
    }
    (session, ids)
}

/// What the page shows, as one value: the entry at the top and where, the selection, the tree, and what is open.
const SHOWN: &str = "(() => {
    const line = document.querySelector('.top').getBoundingClientRect().bottom;
    const top = [...document.querySelectorAll('.entry')].find((entry) => entry.getBoundingClientRect().bottom > line);
    const tree = document.querySelector('#tree').getBoundingClientRect().top;
    const isTree = document.querySelector('#sidebar').checkVisibility();
    return {
      place: [top?.dataset.id, Math.round((top?.getBoundingClientRect().top ?? 0) / 4)],
      selected: document.querySelector('.row.selected')?.textContent,
      isTree,
      row: isTree && [...document.querySelectorAll('.row')].find((row) => row.getBoundingClientRect().top >= tree - 1)?.textContent,
      folded: [...document.querySelectorAll('.row[aria-expanded=false]')].map((row) => row.textContent),
      filter: document.querySelector('#filter').value,
      find: document.querySelector('#search').value,
      open: [...document.querySelectorAll('.entry details[open]')].map((part) => part.closest('.entry').dataset.id),
      thinking: document.querySelector('#toggle-thinking').ariaPressed,
    };
  })()";

async fn settled(page: &LivePage) -> Value {
    page.wait("!document.querySelector('.body.loading')").await;
    page.evaluate_frame().await;
    page.evaluate(&format!("return {SHOWN}")).await
}

/// Waits until the page shows the same, with or without the selection.
async fn shows_again(page: &LivePage, before: &Value, with_selection: bool) {
    let without = |mut shown: Value| {
        if !with_selection {
            shown["selected"] = Value::Null;
        }
        shown
    };
    let started = Instant::now();
    loop {
        let shown = without(settled(page).await);
        if shown == without(before.clone()) {
            return;
        }
        assert!(started.elapsed() < TIMEOUT, "the page shows\n{shown}\nand showed\n{before}");
    }
}

/// Reads in the middle, with a selection, a folded branch, an open part, and a tree that is scrolled.
async fn read_in_the_middle(page: &LivePage, ids: &[String]) -> Value {
    page.wait("document.querySelector('#tree-status').textContent.includes(' of ')").await;
    page.wait("document.querySelector('.row.selected')").await;
    page.evaluate("document.querySelector('#tree').scrollTop = 0").await;
    page.wait("document.querySelector('#row-0')").await;
    page.click_part("document.querySelector('.row[aria-expanded=true] .fold')").await;
    page.wait("document.querySelector('.row[aria-expanded=false]')").await;
    page.select("message 12").await;
    page.wait("!document.querySelector('.body.loading')").await;
    page.click_part("document.querySelector('.entry.selected + .entry details.thinking summary')").await;
    page.wait("document.querySelector('.entry.selected + .entry details.thinking[open]')").await;
    page.scroll_up(&format!(
        "(document.getElementById('entry-{}').scrollIntoView(), scrollBy(0, 57))",
        ids[10]
    ))
    .await;
    page.evaluate("const tree = document.querySelector('#tree'); tree.dispatchEvent(new WheelEvent('wheel', { bubbles: true })); tree.scrollTop = 140").await;
    page.wait("document.querySelector('.row[data-row=\"5\"]')").await;
    // The address follows after a moment.
    page.wait(&format!("location.hash.includes('at={}') && location.hash.includes('row=') && location.hash.includes('fold=') && location.hash.includes('open=')", ids[10])).await;
    settled(page).await
}

#[tokio::test]
async fn a_refresh_and_another_browser_show_the_same() {
    let gateway = TestGateway::start();
    let (session, ids) = long_session(&gateway, "old").await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    let before = read_in_the_middle(&page, &ids).await;
    assert_eq!(before["place"][0], json!(ids[10]), "{before}");
    page.refresh().await;
    shows_again(&page, &before, true).await;
    // Another browser, with the address of this one.
    let other = LivePage::open(&gateway, BrowserWindow::default()).await.unwrap();
    let address = page.evaluate("return location.href").await;
    other.browser.goto(address.as_str().unwrap()).await;
    shows_again(&other, &before, true).await;
    // A filter, a search, all thinking, and no tree.
    page.choose_value("#filter", "user-only").await;
    page.search("message 2").await;
    page.browser.click("#toggle-thinking").await;
    page.browser.click("#toggle-tree").await;
    page.wait("['filter=user-only', 'find=message', 'open=thinking', 'tree=closed'].every((part) => location.hash.includes(part))").await;
    let before = settled(&page).await;
    page.refresh().await;
    shows_again(&page, &before, true).await;
}

/// Every session has its own place, and opening it from the list returns there. What is selected is not kept: it decides where a prompt
/// goes. A link to an entry leads to the entry.
#[tokio::test]
async fn each_session_is_opened_where_it_was_left() {
    let gateway = TestGateway::start();
    let (first, ids) = long_session(&gateway, "first").await;
    let (second, _) = long_session(&gateway, "second").await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&first).await;
    let before = read_in_the_middle(&page, &ids).await;
    page.show(&second).await;
    // Nothing of the first one is left: no folds, and the end is shown.
    page.sees("second message 29").await;
    page.wait("!document.querySelector('.row[aria-expanded=false]') && document.querySelector('#jump-down').hidden && document.querySelector('.row.selected.leaf')").await;
    page.choose_value("#filter", "user-only").await;
    page.wait("location.hash.includes('filter=user-only')").await;
    page.evaluate("location.hash = '#'").await;
    page.click_part(
        "[...document.querySelectorAll('.session-link')].find((link) => link.textContent.includes('first'))",
    )
    .await;
    shows_again(&page, &before, false).await;
    page.wait("document.querySelector('#continue-from').hidden").await;
    page.evaluate("location.hash = '#'").await;
    page.click_part(
        "[...document.querySelectorAll('.session-link')].find((link) => link.textContent.includes('second'))",
    )
    .await;
    page.wait("document.querySelector('#filter').value === 'user-only' && document.querySelector('#jump-down').hidden").await;
    let id = first.rsplit('/').next().unwrap();
    page.evaluate(&format!("location.hash = '#session={id}&entry={}'", ids[25])).await;
    page.wait(&format!("document.querySelector('.entry.selected')?.dataset.id === '{}' && document.querySelector('#filter').value === 'default'", ids[25])).await;
    // An entry that does not exist is named, and the end is shown.
    page.evaluate(&format!("location.hash = '#session={id}&entry=nothing'")).await;
    page.wait("document.querySelector('#message').textContent === 'This session has no entry nothing'").await;
    page.wait("document.querySelector('#jump-down').hidden && !location.hash.includes('nothing')").await;
}

/// A page may have any address.
#[tokio::test]
async fn an_address_with_nonsense_does_no_harm() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["first", "second"]).await;
    let id = session.rsplit('/').next().unwrap();
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let long = "x".repeat(100_000);
    for view in [
        "at=:",
        "at=x:9e99&row=y&fold=z&fold=all&open=:&open=constructor&close=1&filter=__proto__&tree=x&entry=",
        &format!("find={long}&at={long}:1&entry={long}"),
    ] {
        page.evaluate("location.hash = '#'").await;
        page.wait("document.querySelector('.session-link')").await;
        page.evaluate(&format!("location.hash = '#session={id}&{view}'")).await;
        page.wait(&format!("document.body.dataset.session === '{id}'")).await;
        page.sees("second").await;
        page.wait("document.querySelector('#filter').value === 'default'").await;
    }
    for kept in ["{", "{}", "[1]", "[[1, 2]]"] {
        page.evaluate(&format!("localStorage.setItem('osier.views', '{kept}'); location.hash = '#'")).await;
        page.wait("document.querySelector('.session-link')").await;
        page.evaluate(&format!(
            "localStorage.setItem('osier.views', '{kept}'); location.hash = '#session={id}'"
        ))
        .await;
        page.wait(&format!("document.body.dataset.session === '{id}'")).await;
        page.sees("second").await;
    }
}

/// Why the last turn failed is shown after a refresh as well, until the next one.
#[tokio::test]
async fn a_turn_that_failed_says_so_after_a_refresh() {
    let model = ModelServer::new();
    let env = model.env();
    let file = env.home().join("config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("max_steps = 1\n{settings}")).unwrap();
    let gateway = TestGateway::start_in(env, &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("list").await;
    model.next_request().reply_with_call("ls", &json!({}));
    // Whether it shall go on.
    page.browser.click(".question .refusal button").await;
    let error = "document.querySelector('.turn-error')?.textContent";
    page.wait(&format!("{error}?.includes('limit of model calls')")).await;
    page.refresh().await;
    page.wait(&format!("{error}?.includes('limit of model calls')")).await;
    page.prompt("go on").await;
    page.wait("!document.querySelector('.turn-error')").await;
    model.next_request().reply("Done.");
    page.turn_ended(2).await;
    page.refresh().await;
    page.sees("Done.").await;
    page.wait("!document.querySelector('.turn-error')").await;
}

/// What was typed and not sent is there after a refresh, also what was typed for another session, and the image beside it.
#[tokio::test]
async fn a_refresh_loses_nothing_that_was_typed() {
    let gateway = TestGateway::start();
    let (first, _) = gateway.create_with(&["about apples"]).await;
    let (second, _) = gateway.create_with(&["about pears"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&first).await;
    page.browser.type_into("#prompt", "cut the apples").await;
    page.show(&second).await;
    page.browser.type_into("#prompt", "peel the pears").await;
    let dot = gateway.env.path("dot.png");
    std::fs::write(&dot, b"\x89PNG").unwrap();
    page.browser.choose_file("#image-files", &dot).await;
    page.wait("document.querySelectorAll('#attachments img').length === 1").await;
    page.refresh().await;
    page.wait("document.querySelector('#prompt').value === 'peel the pears' && document.querySelectorAll('#attachments img').length === 1").await;
    page.show(&first).await;
    page.wait("document.querySelector('#prompt').value === 'cut the apples' && document.querySelector('#attachments').hidden").await;
    // What is deleted stays deleted, and the storage of the browser that outlives the tab has nothing of it.
    page.evaluate("const prompt = document.querySelector('#prompt'); prompt.value = ''; prompt.dispatchEvent(new Event('input'))").await;
    page.refresh().await;
    page.wait("document.querySelector('#prompt').value === ''").await;
    assert_eq!(
        page.evaluate("return Object.values({ ...localStorage }).join().includes('pears')").await,
        json!(false)
    );
}

/// The prompt is there before the session is, and keeps what is typed into it meanwhile.
#[tokio::test]
async fn what_is_typed_while_the_page_loads_is_kept() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["about apples"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    // The socket opens only when the test says so.
    let slow = "const Socket = WebSocket; window.gate = new Promise((resolve) => (window.release = resolve));
        const listen = Socket.prototype.addEventListener;
        Socket.prototype.addEventListener = function (kind, run) { return listen.call(this, kind, kind === 'open' ? async (event) => { await window.gate; run(event); } : run); };";
    page.browser.evaluate_on_load(slow).await;
    page.browser.refresh().await;
    page.sees("about apples").await;
    page.browser.type_into("#prompt", "cut them").await;
    page.evaluate("window.release()").await;
    page.wait("document.body.dataset.session && document.querySelector('#prompt').value === 'cut them'")
        .await;
}
