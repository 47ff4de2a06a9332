//! Lost connections, restarts and refreshes.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::{LivePage, REPLIES, WATCH_SOCKET};
use crate::run_support::ModelServer;
use crate::server::TestGateway;
use crate::tunnel::Tunnel;

/// Requests for rendered entries wait until `window.release()`, or fail if the connection is lost before.
pub(super) const HOLD_FETCHES: &str = "const fetch = window.fetch; window.held = 0;
    const gate = new Promise((resolve) => (window.release = resolve));
    window.fetch = async (path, options) => {
      if (String(path).includes('/rendered')) {
        window.held++;
        await Promise.race([gate, new Promise((_, reject) => options.signal.addEventListener('abort', () => reject(options.signal.reason)))]);
      }
      return fetch(path, options);
    };";

#[tokio::test]
async fn a_killed_gateway_is_found_again_and_nothing_is_lost_or_doubled() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let session = gateway.create().await;
    page.show(&session).await;
    page.prompt("one").await;
    model.next_request().reply("answer one");
    page.wait(&format!("{REPLIES} === 1")).await;
    page.prompt("two").await;
    let mut request = model.next_request();
    request.send_text("begun");
    page.sees("begun").await;
    let port = gateway.port();
    let env = gateway.kill();
    page.wait("document.body.dataset.connection === 'lost'").await;
    let gateway = TestGateway::start_on(env, port);
    page.wait("document.body.dataset.connection === 'connected'").await;
    page.wait("!document.querySelector('.draft')").await;
    page.sees("The last turn did not finish").await;
    page.browser.click(".unfinished button").await;
    model.next_request().reply("answer two");
    page.sees("answer two").await;
    page.wait(&format!("{REPLIES} === 2")).await;
    page.is_consistent().await;
    drop(gateway);
}

#[tokio::test]
async fn a_refresh_shows_the_same_place() {
    let gateway = TestGateway::start();
    let texts: Vec<String> =
        (0..60).map(|number| format!("message number {number}\n\n{}", "text ".repeat(80))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (session, ids) = gateway.create_with(&texts).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.sees("message number 59").await;
    page.wait("document.querySelectorAll('.row').length > 5").await;
    let id = session.rsplit('/').next().unwrap();
    page.evaluate(&format!("location.hash = '#session={id}&entry={}'", ids[20])).await;
    let top = format!("document.getElementById('entry-{}').getBoundingClientRect().top", ids[20]);
    page.wait(&format!("{top} > 0 && {top} < 300 && !document.querySelector('.body.loading')")).await;
    page.evaluate("history.replaceState(null, '', location.hash.replace(/&entry=.*/, ''))").await;
    // The page may still move when the test looks; what counts is where it was when it was left.
    page.evaluate(&format!("addEventListener('pagehide', () => sessionStorage.setItem('before', {top}))"))
        .await;
    page.browser.refresh().await;
    let before = "Number(sessionStorage.getItem('before') ?? NaN)";
    page.wait(&format!("Math.abs({top} - {before}) < 3")).await;
}

/// An entry whose row was not fetched yet is not forgotten when the connection is lost in between.
#[tokio::test]
async fn an_entry_that_was_only_announced_is_shown_after_a_lost_connection() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["first"]).await;
    let tunnel = Tunnel::to(gateway.port());
    let Some(page) = LivePage::open_on(&gateway, tunnel.port, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 1").await;
    page.evaluate(HOLD_FETCHES).await;
    let say = |text: &str| json!({ "message": { "role": "user", "content": text } });
    gateway.post(&format!("{session}/messages"), say("second")).await;
    page.wait("window.held === 1").await;
    tunnel.cut();
    page.wait("document.body.dataset.connection === 'lost'").await;
    gateway.post(&format!("{session}/messages"), say("third")).await;
    page.evaluate("window.release()").await;
    tunnel.open();
    page.sees("third").await;
    page.sees("second").await;
    page.wait("document.querySelectorAll('.row').length === 3").await;
    page.is_consistent().await;
}

#[tokio::test]
async fn entries_that_cannot_be_fetched_are_tried_again() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["first"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 1").await;
    let fail_once = "const fetch = window.fetch; window.failed = 0;
        window.fetch = async (path, options) => {
          if (String(path).includes('/rendered') && window.failed++ === 0) throw new TypeError('failed');
          return fetch(path, options);
        };";
    page.evaluate(fail_once).await;
    gateway
        .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": "second" } }))
        .await;
    page.sees("second").await;
    page.wait("window.failed >= 2").await;
}

/// While the connection was lost, somebody moved: the page is where the session is, and can continue there.
#[tokio::test]
async fn a_move_during_a_lost_connection_is_followed() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let (session, ids) = gateway.create_with(&["first", "second", "third"]).await;
    let tunnel = Tunnel::to(gateway.port());
    let Some(page) = LivePage::open_on(&gateway, tunnel.port, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.sees("third").await;
    tunnel.cut();
    page.wait("document.body.dataset.connection === 'lost'").await;
    gateway.post(&format!("{session}/move"), json!({ "targetId": ids[0], "exact": true })).await;
    tunnel.open();
    page.wait("document.querySelector('.row.leaf')?.textContent.includes('first')").await;
    page.wait("document.querySelectorAll('.entry[data-id]').length === 1").await;
    page.prompt("other").await;
    let request = model.next_request();
    assert!(!request.messages().iter().any(|message| message.contains("second")), "{:?}", request.messages());
    request.reply("done");
    page.sees("done").await;
}

#[tokio::test]
async fn a_page_that_lagged_attaches_once() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["first"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.evaluate(WATCH_SOCKET).await;
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 1").await;
    let attach = page.evaluate("return window.sent.find((frame) => frame.type === 'attach').id").await;
    let lagged = json!({ "type": "event", "sessionId": "x", "stream": attach, "generation": "0", "revision": 1, "event": { "type": "lagged", "missed": 3 } });
    page.deliver(&json!([lagged, { "type": "ended", "stream": attach }])).await;
    gateway
        .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": "second" } }))
        .await;
    page.sees("second").await;
    let frames = page
        .evaluate("return window.sent.map((frame) => frame.type).filter((type) => /tach/.test(type))")
        .await;
    assert_eq!(frames, json!(["attach", "detach", "attach"]));
}

/// An entry event that skips a number shows that one is missing.
#[tokio::test]
async fn a_gap_in_the_revisions_makes_the_page_read_again() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["first"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 1").await;
    let lose_one = "const parse = JSON.parse; window.lost = 0;
        JSON.parse = (text) => {
          const frame = parse(text);
          if (frame?.event?.type === 'entry' && window.lost++ === 0) return { type: 'pong' };
          return frame;
        };";
    page.evaluate(lose_one).await;
    for text in ["second", "third"] {
        gateway
            .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": text } }))
            .await;
    }
    page.sees("third").await;
    page.sees("second").await;
    page.wait("window.lost >= 2 && document.querySelectorAll('.row').length === 3").await;
    page.is_consistent().await;
}

/// The network vanishes, and no packet says so.
#[tokio::test]
async fn a_silent_connection_is_given_up() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["first"]).await;
    let tunnel = Tunnel::to(gateway.port());
    let Some(page) = LivePage::open_on(&gateway, tunnel.port, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 1").await;
    page.watch_socket().await;
    // While an answer is on its way, no other is asked for.
    page.evaluate("window.answers = 0; window.socket.addEventListener('message', () => window.answers++); document.dispatchEvent(new Event('visibilitychange'))").await;
    page.wait("window.answers > 0").await;
    let clock = "const now = performance.now.bind(performance); window.later = 0; performance.now = () => now() + window.later;";
    page.evaluate(clock).await;
    tunnel.silence();
    page.evaluate("window.sent = []; window.later = 60000").await;
    page.wait("window.sent.some((frame) => frame.type === 'ping')").await;
    gateway
        .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": "second" } }))
        .await;
    page.evaluate("window.later = 600000").await;
    page.wait("document.body.dataset.connection === 'lost'").await;
    tunnel.open();
    page.sees("second").await;
    page.is_consistent().await;
}

/// The banner about a lost connection takes its own room.
#[tokio::test]
async fn the_banner_covers_nothing() {
    let gateway = TestGateway::start();
    let texts = vec!["a message of some length ".repeat(20); 20];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (session, _) = gateway.create_with(&texts).await;
    let tunnel = Tunnel::to(gateway.port());
    let Some(page) = LivePage::open_on(&gateway, tunnel.port, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 20").await;
    let is_free = |part: &str| {
        format!("(() => {{ const box = document.querySelector('{part}').getBoundingClientRect();
        return document.elementFromPoint(box.left + box.width / 2, box.top + 2)?.closest('{part}') && box.top >= document.querySelector('#connection').getBoundingClientRect().bottom - 0.5; }})()")
    };
    tunnel.cut();
    page.wait("document.querySelector('#connection').checkVisibility()").await;
    page.scroll_up("scrollTo(0, 500)").await;
    page.wait(&is_free("#search")).await;
    let phone = json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true });
    page.browser.devtools("Emulation.setDeviceMetricsOverride", phone).await;
    page.wait("document.querySelector('#toggle-tree').ariaExpanded === 'true' || (document.querySelector('#toggle-tree').click(), false)").await;
    page.wait(&is_free("#search")).await;
    tunnel.open();
    page.wait("document.body.dataset.connection === 'connected' && !document.querySelector('#connection').checkVisibility()").await;
    page.wait("getComputedStyle(document.documentElement).getPropertyValue('--banner') === '0px'").await;
}

/// What was said during the cut is there, and what follows streams on.
#[tokio::test]
async fn a_reply_streams_on_after_a_lost_connection() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let tunnel = Tunnel::to(gateway.port());
    let Some(page) = LivePage::open_on(&gateway, tunnel.port, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("one").await;
    let mut request = model.next_request();
    request.send_text("begin");
    let draft = "document.querySelector('.draft .markdown')?.textContent.trim()";
    page.wait(&format!("{draft} === 'begin'")).await;
    for (during, after) in [("ning", ", middle"), (", more", " and end")] {
        tunnel.cut();
        page.wait("document.body.dataset.connection === 'lost'").await;
        request.send_text(during);
        tunnel.open();
        page.wait(&format!("{draft}?.endsWith('{during}')")).await;
        request.send_text(after);
        page.wait(&format!("{draft}?.endsWith('{during}{after}')")).await;
    }
    request.finish("stop");
    page.turn_ended(1).await;
    page.sees("beginning, middle, more and end").await;
    page.is_consistent().await;
}

/// A gateway that was started again asks another question under the same number. What is allowed is what is shown.
#[tokio::test]
async fn a_question_is_never_shown_in_place_of_another() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let tunnel = Tunnel::to(gateway.port());
    let Some(page) = LivePage::open_on(&gateway, tunnel.port, BrowserWindow::default()).await else { return };
    let session = gateway.create().await;
    page.show(&session).await;
    page.prompt("write").await;
    let write = |path: &str| json!({ "path": path, "content": "made\n" });
    model.next_request().reply_with_call("write", &write("a.txt"));
    page.wait("document.querySelector('.question .diff') && document.querySelector('.question h2').textContent.includes('a.txt')").await;
    let number = "document.querySelector('.question').dataset.question";
    let first = page.evaluate(&format!("return {number}")).await;
    tunnel.cut();
    page.wait("document.body.dataset.connection === 'lost'").await;
    // Nothing can be answered now, and the card stays.
    page.browser.click(".question button.primary").await;
    page.wait("document.querySelector('#message').textContent.includes('The connection was lost')").await;
    let port = gateway.port();
    let gateway = TestGateway::start_on(gateway.kill(), port);
    gateway.post(&format!("{session}/prompt"), json!({ "text": "another" })).await;
    model.next_request().reply_with_call("write", &write("b.txt"));
    tunnel.open();
    page.wait("document.querySelector('.question h2')?.textContent.includes('b.txt') && document.querySelector('.question .diff')").await;
    page.wait("document.querySelectorAll('.question').length === 1").await;
    assert_eq!(page.evaluate(&format!("return {number}")).await, first, "the case of this test");
    page.browser.click(".question button.primary").await;
    model.next_request().reply("Done.");
    page.sees("Done.").await;
    assert!(gateway.env.path("b.txt").exists() && !gateway.env.path("a.txt").exists());
}

/// An answer is sent once.
#[tokio::test]
async fn a_question_that_is_answered_cannot_be_answered_again() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.watch_socket().await;
    page.prompt("write").await;
    model.next_request().reply_with_call("write", &json!({ "path": "a.txt", "content": "x" }));
    page.wait("document.querySelector('.question .diff')").await;
    page.evaluate("const buttons = document.querySelectorAll('.question button'); buttons.forEach((button) => button.click())").await;
    model.next_request().reply("Done.");
    page.turn_ended(2).await;
    let answers = page.evaluate("return window.sent.filter((frame) => frame.command?.type === 'answer').map((frame) => frame.command.answer.type)").await;
    assert_eq!(answers, json!(["once"]));
}

/// Scrolling while the connection is lost shows empty entries, and they are filled when it is back.
#[tokio::test]
async fn bodies_that_could_not_be_fetched_are_tried_again() {
    let gateway = TestGateway::start();
    let texts: Vec<String> =
        (0..120).map(|number| format!("message number {number}\n\n{}", "text ".repeat(60))).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (session, _) = gateway.create_with(&texts).await;
    let tunnel = Tunnel::to(gateway.port());
    let Some(page) = LivePage::open_on(&gateway, tunnel.port, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.sees("message number 119").await;
    tunnel.cut();
    page.wait("document.body.dataset.connection === 'lost'").await;
    page.scroll_up("scrollTo(0, 0)").await;
    page.wait("document.querySelector('.group .body.loading')").await;
    tunnel.open();
    page.sees("message number 0").await;
    page.wait("!document.querySelector('.body.loading')").await;
    page.is_consistent().await;
}

/// Nothing runs that nobody has allowed.
#[tokio::test]
async fn a_question_that_a_gateway_left_is_gone_with_it() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("write").await;
    model.next_request().reply_with_call("write", &json!({ "path": "a.txt", "content": "x" }));
    page.wait("document.querySelector('.question .diff')").await;
    let port = gateway.port();
    let gateway = TestGateway::start_on(gateway.kill(), port);
    page.wait("document.body.dataset.connection === 'connected' && !document.querySelector('.question')")
        .await;
    // The call counts as interrupted, and the model decides again.
    page.browser.click(".unfinished button").await;
    model.next_request().reply("I did not write it.");
    page.sees("I did not write it.").await;
    assert!(!gateway.env.path("a.txt").exists());
}

/// Somebody else deletes the session that the page shows.
#[tokio::test]
async fn a_session_that_was_deleted_elsewhere_is_left() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["first"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.sees("first").await;
    let other = LivePage::open(&gateway, BrowserWindow::default()).await.unwrap();
    other.wait("document.querySelectorAll('.session-link').length === 1").await;
    other.browser.click("#sessions button").await;
    other.choose_open("Delete").await;
    other.confirm().await;
    other.wait("document.querySelector('#message').textContent !== ''").await;
    let said = other.evaluate("return document.querySelector('#message').textContent").await;
    assert_ne!(said, json!("Deleted"), "a session that a page has open is not deleted");
    page.sees("first").await;
}

/// A rendering that fails is tried again after a pause, and not without a connection.
#[tokio::test]
async fn failed_renderings_are_not_repeated_at_once() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let tunnel = Tunnel::to(gateway.port());
    let Some(page) = LivePage::open_on(&gateway, tunnel.port, BrowserWindow::default()).await else { return };
    page.show(&gateway.create().await).await;
    page.prompt("one").await;
    let mut request = model.next_request();
    request.send_text("begin");
    page.sees("begin").await;
    let fail = "const fetch = window.fetch; window.renders = []; window.attempts = 0;
        window.fetch = (path, options) => {
          if (String(path).includes('/api/engine')) window.attempts++;
          if (!String(path).includes('/api/render')) return fetch(path, options);
          window.renders.push({ at: performance.now(), connection: document.body.dataset.connection });
          return Promise.reject(new TypeError('failed'));
        };";
    page.evaluate(fail).await;
    request.send_text(", and more");
    page.wait("window.renders.length >= 4").await;
    let pauses =
        page.evaluate("return window.renders.slice(1).map(({ at }, index) => at - window.renders[index].at)");
    let pauses = pauses.await;
    assert!(pauses.as_array().unwrap().iter().all(|pause| pause.as_f64().unwrap() > 400.0), "{pauses}");
    tunnel.cut();
    page.wait("document.body.dataset.connection === 'lost'").await;
    page.wait("window.attempts >= 3").await;
    let connections =
        page.evaluate("return [...new Set(window.renders.map(({ connection }) => connection))]");
    assert_eq!(connections.await, json!(["connected"]));
    tunnel.open();
    page.wait("document.body.dataset.connection === 'connected'").await;
    request.finish("stop");
    page.turn_ended(1).await;
}

/// What a process left in its queue returns to the editor once, also if the page is loaded again.
#[tokio::test]
async fn returned_prompts_are_in_the_editor_once() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    let session = gateway.create().await;
    page.show(&session).await;
    page.prompt("one").await;
    let _request = model.next_request();
    gateway.post(&format!("{session}/prompt"), json!({ "text": "later", "when": "follow_up" })).await;
    page.wait("document.querySelectorAll('.queued').length === 1").await;
    let port = gateway.port();
    let gateway = TestGateway::start_on(gateway.kill(), port);
    page.wait("document.querySelector('#prompt').value === 'later'").await;
    for _ in 0..2 {
        page.refresh().await;
        page.wait("document.querySelector('#prompt').value.startsWith('later')").await;
        assert_eq!(page.evaluate("return document.querySelector('#prompt').value").await, json!("later"));
    }
    // Nor if the session is left and opened again.
    page.evaluate("location.hash = '#'").await;
    page.wait("document.querySelector('.session-link')").await;
    page.show(&session).await;
    page.wait("document.body.dataset.session").await;
    assert_eq!(page.evaluate("return document.querySelector('#prompt').value").await, json!("later"));
    drop(gateway);
}

/// The editor is empty while a prompt is on its way.
#[tokio::test]
async fn a_prompt_that_is_being_sent_survives_a_refresh() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["first"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 1").await;
    let hold = "const fetch = window.fetch; window.held = 0;
        window.fetch = (path, options) => String(path).includes('/prompt') ? (window.held++, new Promise(() => {})) : fetch(path, options);";
    page.evaluate(hold).await;
    page.prompt("on its way").await;
    page.wait("window.held === 1 && document.querySelector('#prompt').value === ''").await;
    page.browser.type_into("#prompt", "and the next").await;
    page.refresh().await;
    page.wait("document.querySelector('#prompt').value === 'on its way\\n\\nand the next'").await;
}

/// The connection breaks after the prompt was stored and before the page knows.
#[tokio::test]
async fn a_prompt_that_was_accepted_does_not_stay_in_the_editor() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let tunnel = Tunnel::to(gateway.port());
    let Some(page) = LivePage::open_on(&gateway, tunnel.port, BrowserWindow::default()).await else { return };
    let session = gateway.create().await;
    page.show(&session).await;
    let lose_reply = "const fetch = window.fetch, parse = JSON.parse; window.isLost = false;
        JSON.parse = (text) => { const frame = parse(text); return window.isLost && frame?.event ? { type: 'pong' } : frame; };
        window.fetch = async (path, options) => {
          if (!String(path).includes('/prompt')) return fetch(path, options);
          window.isLost = true;
          await fetch(path, options);
          throw new TypeError('lost');
        };";
    page.evaluate(lose_reply).await;
    page.prompt("do it").await;
    let request = model.next_request();
    page.wait("document.querySelector('#prompt').value === 'do it'").await;
    tunnel.cut();
    page.wait("document.body.dataset.connection === 'lost'").await;
    page.evaluate("window.isLost = false").await;
    tunnel.open();
    page.sees("do it").await;
    page.wait("document.querySelector('#prompt').value === ''").await;
    request.reply("Done.");
    page.turn_ended(1).await;
    assert_eq!(page.evaluate("return document.querySelectorAll('.entry.role-user').length").await, json!(1));
}

/// The store may be away for a moment when the connection is back.
#[tokio::test]
async fn opening_a_session_again_is_tried_until_it_works() {
    let gateway = TestGateway::start();
    let (session, _) = gateway.create_with(&["first"]).await;
    let tunnel = Tunnel::to(gateway.port());
    let Some(page) = LivePage::open_on(&gateway, tunnel.port, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.sees("first").await;
    let fail_once = "const parse = JSON.parse; window.failed = 0;
        JSON.parse = (text) => {
          const frame = parse(text);
          if (frame?.type !== 'opened' || window.failed++ > 0) return frame;
          return { type: 'error', id: frame.id, error: { code: 'store_unavailable', message: 'the database is away' } };
        };";
    page.evaluate(fail_once).await;
    tunnel.cut();
    page.wait("document.body.dataset.connection === 'lost'").await;
    tunnel.open();
    page.wait("document.querySelector('#message').textContent.includes('the database is away')").await;
    gateway
        .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": "second" } }))
        .await;
    page.sees("second").await;
    page.is_consistent().await;
}
