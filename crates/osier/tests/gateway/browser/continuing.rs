//! Where a prompt continues: rules K1 to K10.

use osier_testkit::browser::BrowserWindow;
use serde_json::json;

use super::connection::HOLD_FETCHES;
use super::{LivePage, REPLIES, answered};
use crate::run_support::ModelServer;
use crate::server::TestGateway;

/// Holds the answers to moves back until `window.release()`.
const HOLD_MOVES: &str = "window.held = [];
    const add = WebSocket.prototype.send, moves = new Set();
    WebSocket.prototype.send = function (text) { const frame = JSON.parse(text); if (frame.command?.type === 'move') moves.add(frame.id); return add.call(this, text); };
    const parse = JSON.parse; let isHolding = true;
    JSON.parse = (text) => {
      const frame = parse(text);
      const isHeld = isHolding && frame?.type !== 'send' && (moves.has(frame?.id) || frame?.event?.type === 'moved' || frame?.event?.type === 'entry');
      if (!isHeld) return frame;
      window.held.push(text);
      return { type: 'pong' };
    };
    window.release = () => { isHolding = false; for (const text of window.held) window.socket.dispatchEvent(new MessageEvent('message', { data: text })); };";

/// A message and its answer, a reply that calls a tool, and the result.
async fn with_a_call(gateway: &TestGateway, is_complete: bool) -> String {
    let (session, _) = gateway.create_with(&["first"]).await;
    let call = json!({ "type": "toolCall", "id": "c1", "name": "read", "arguments": { "path": "a.txt" } });
    let content = json!([{ "type": "text", "text": "I will read it" }, call]);
    let reply = json!({ "role": "assistant", "content": content, "provider": "local", "model": "test", "stopReason": "toolUse" });
    gateway.post(&format!("{session}/messages"), json!({ "message": reply })).await;
    if is_complete {
        let text = json!([{ "type": "text", "text": "the file" }]);
        let result = json!({ "role": "toolResult", "toolCallId": "c1", "toolName": "read", "content": text, "isError": false });
        gateway.post(&format!("{session}/messages"), json!({ "message": result })).await;
    }
    for text in ["second", "third"] {
        gateway
            .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": text } }))
            .await;
    }
    session
}

/// K2.
#[tokio::test]
async fn at_the_leaf_a_prompt_moves_nothing() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.watch_socket().await;
    page.select("answer two").await;
    page.wait("document.querySelector('#continue-from').hidden").await;
    page.prompt("three").await;
    let request = model.next_request();
    assert!(request.messages().iter().any(|message| message.contains("answer two")));
    request.reply("answer three");
    page.wait(&format!("{REPLIES} === 3")).await;
    let moves = page.evaluate("return window.sent.filter((frame) => frame.command?.type === 'move').length");
    assert_eq!(moves.await, 0);
}

/// K3: the first message has no parent, so the new one is another root. The old one stays.
#[tokio::test]
async fn the_first_message_can_be_edited_and_replaced() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, session)) = answered(&model, &gateway).await else { return };
    page.select("one").await;
    page.sees("Replaces on a new branch").await;
    page.click_part("[...document.querySelectorAll('#continue-from button')].find((button) => button.textContent === 'Edit it')").await;
    page.wait("document.querySelector('#prompt').value === 'one'").await;
    page.prompt(", but better").await;
    let request = model.next_request();
    let messages = request.messages();
    assert!(!messages.iter().any(|message| message.contains("answer one")), "{messages:?}");
    assert!(messages.iter().any(|message| message.contains("one, but better")), "{messages:?}");
    request.reply("better answer");
    page.sees("better answer").await;
    page.wait("document.querySelector('.switch')?.textContent.includes('2/2')").await;
    let entries = gateway.get(&format!("{session}/entries")).await;
    let roots: Vec<_> = entries["entries"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entry| entry["message"]["role"] == "user" && entry["message"].to_string().contains("one"))
        .collect();
    assert_eq!(roots.len(), 2, "the old message stays: {entries}");
}

/// K4.
#[tokio::test]
async fn after_a_summary_the_page_moves_first() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let (session, ids) = gateway.create_with(&["first", "second"]).await;
    let summary = json!({ "summary": "The branch about pears", "fromId": ids[1] });
    gateway.post(&format!("{session}/branch-summaries"), summary).await;
    gateway
        .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": "third" } }))
        .await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.sees("third").await;
    page.select("pears").await;
    page.sees("Continues on a new branch").await;
    page.prompt("fourth").await;
    let request = model.next_request();
    let messages = request.messages();
    assert!(messages.iter().any(|message| message.contains("pears")), "{messages:?}");
    assert!(!messages.iter().any(|message| message.contains("third")), "{messages:?}");
    request.reply("done");
    page.sees("done").await;
}

/// K5: a reply with calls stands for the last result of its batch.
#[tokio::test]
async fn a_reply_with_calls_is_continued_after_its_results() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let session = with_a_call(&gateway, true).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.select("I will read it").await;
    page.prompt("and then?").await;
    let request = model.next_request();
    let messages = request.messages();
    assert!(messages.iter().any(|message| message.contains("the file")), "{messages:?}");
    assert!(!messages.iter().any(|message| message.contains("second")), "{messages:?}");
    request.reply("done");
    page.sees("done").await;
}

/// K5: without a result there is no such place. The prompt stays in the editor.
#[tokio::test]
async fn an_incomplete_batch_is_not_continued() {
    let gateway = TestGateway::start();
    let session = with_a_call(&gateway, false).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    let before = gateway.active_path(&session).await;
    page.select("I will read it").await;
    page.prompt("and then?").await;
    page.wait("document.querySelector('#message').textContent.includes('no result')").await;
    page.wait("document.querySelector('#prompt').value === 'and then?'").await;
    page.wait("document.querySelector('.row.selected')?.textContent.includes('I will read it')").await;
    assert_eq!(gateway.active_path(&session).await, before);
}

/// K6: a mark stands for the entry above it.
#[tokio::test]
async fn a_mark_is_continued_like_the_entry_above_it() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let (session, ids) = gateway.create_with(&["first", "second"]).await;
    let label = json!({ "label": "good" });
    let label =
        gateway.request(reqwest::Method::PUT, &format!("{session}/entries/{}/label", ids[0])).json(&label);
    assert!(label.send().await.unwrap().status().is_success());
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.choose_value("#filter", "all").await;
    // The label hangs below the second message, which is the leaf.
    page.click_part("document.querySelector('.row.kind-label')").await;
    page.wait("document.querySelector('.row.kind-label.selected')").await;
    page.wait("document.querySelector('#continue-from').hidden").await;
    page.prompt("third").await;
    let request = model.next_request();
    assert!(request.messages().iter().any(|message| message.contains("second")), "{:?}", request.messages());
    request.reply("done");
    page.sees("done").await;
}

/// K7: nothing is sent until the move is confirmed.
#[tokio::test]
async fn while_a_move_is_not_confirmed_nothing_is_sent() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.watch_socket().await;
    page.evaluate(HOLD_MOVES).await;
    page.select("answer one").await;
    page.prompt("other").await;
    page.wait("window.held.length > 0 && document.querySelector('#send').disabled").await;
    page.sees("Moving…").await;
    page.prompt("too early").await;
    page.wait("document.querySelector('#prompt').value.includes('too early')").await;
    page.evaluate("window.release()").await;
    let request = model.next_request();
    let messages = request.messages();
    assert!(messages.iter().any(|message| message.contains("other")), "{messages:?}");
    assert!(!messages.iter().any(|message| message.contains("too early")), "{messages:?}");
    request.reply("answer other");
    page.sees("answer other").await;
    page.wait("!document.querySelector('#send').disabled").await;
}

/// K7: a move that is never confirmed gives the prompt back, and the selection stays.
#[tokio::test]
async fn a_move_that_is_not_confirmed_in_time_is_given_up() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, _)) = answered(&model, &gateway).await else { return };
    page.watch_socket().await;
    page.evaluate(HOLD_MOVES).await;
    // The longest time limits pass at once.
    page.evaluate("const set = window.setTimeout; window.setTimeout = (run, time, ...rest) => set(run, time === 30000 ? 50 : time, ...rest)").await;
    page.select("answer one").await;
    page.prompt("other").await;
    page.wait("document.querySelector('#message').textContent.includes('did not confirm')").await;
    page.wait(
        "document.querySelector('#prompt').value === 'other' && !document.querySelector('#send').disabled",
    )
    .await;
    page.wait("document.querySelector('.row.selected')?.textContent.includes('answer one')").await;
    // The late answer moves the leaf, and sends nothing.
    page.evaluate("window.release()").await;
    page.wait("document.querySelector('.row.leaf')?.textContent.includes('answer one')").await;
    page.wait("document.querySelector('#prompt').value === 'other'").await;
    page.prompt("").await;
    let request = model.next_request();
    assert!(
        !request.messages().iter().any(|message| message.contains("answer two")),
        "{:?}",
        request.messages()
    );
    request.reply("answer other");
    page.sees("answer other").await;
}

/// Holds frames that the page sends or gets until `window.release()`: moves on their way, or the replies to them.
fn hold(what: &str) -> String {
    format!(
        "window.held = []; const what = '{what}', send = WebSocket.prototype.send, parse = JSON.parse, moves = new Set(); let isHolding = true;
        WebSocket.prototype.send = function (text) {{
          const frame = parse(text);
          if (frame.command?.type !== 'move') return send.call(this, text);
          moves.add(frame.id);
          if (!isHolding || what !== 'moves') return send.call(this, text);
          window.held.push(() => send.call(this, text));
        }};
        JSON.parse = (text) => {{
          const frame = parse(text);
          if (!isHolding || what !== 'replies' || frame?.type !== 'sent' || !moves.has(frame.id)) return frame;
          window.held.push(() => window.socket.dispatchEvent(new MessageEvent('message', {{ data: text }})));
          return {{ type: 'pong' }};
        }};
        window.release = () => {{ isHolding = false; window.held.forEach((run) => run()); }};"
    )
}

/// K7: what others add while a move is on its way is not its confirmation. The move is refused, and the selection stays.
#[tokio::test]
async fn an_entry_of_somebody_else_does_not_confirm_a_move() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, session)) = answered(&model, &gateway).await else { return };
    page.watch_socket().await;
    page.evaluate(&hold("moves")).await;
    page.select("answer one").await;
    page.prompt("other").await;
    page.wait("window.held.length === 1 && document.querySelector('#send').disabled").await;
    let say = json!({ "message": { "role": "user", "content": "elsewhere" } });
    gateway.post(&format!("{session}/messages"), say).await;
    page.wait("document.querySelector('.row.leaf')?.textContent.includes('elsewhere')").await;
    page.wait("document.querySelector('#send').disabled && document.querySelector('#continue-from').textContent === 'Moving…'").await;
    page.evaluate("window.release()").await;
    page.wait("document.querySelector('#message').textContent.includes('moved on')").await;
    page.wait(
        "document.querySelector('#prompt').value === 'other' && !document.querySelector('#send').disabled",
    )
    .await;
    page.wait("document.querySelector('.row.selected')?.textContent.includes('answer one')").await;
    page.prompt("").await;
    let request = model.next_request();
    let messages = request.messages();
    assert!(
        !messages.iter().any(|message| message.contains("elsewhere") || message.contains("two")),
        "{messages:?}"
    );
    request.reply("answer other");
    page.sees("answer other").await;
}

/// K7: somebody else goes on after the move, and before the page knows of it. The prompt is not sent there.
#[tokio::test]
async fn a_prompt_does_not_follow_what_came_after_its_move() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, session)) = answered(&model, &gateway).await else { return };
    page.watch_socket().await;
    page.evaluate(&hold("replies")).await;
    page.select("answer one").await;
    page.prompt("other").await;
    page.wait(
        "window.held.length === 1 && document.querySelector('.row.leaf')?.textContent.includes('answer one')",
    )
    .await;
    let say = json!({ "message": { "role": "user", "content": "elsewhere" } });
    gateway.post(&format!("{session}/messages"), say).await;
    page.wait("document.querySelector('.row.leaf')?.textContent.includes('elsewhere')").await;
    page.wait("document.querySelector('#send').disabled").await;
    page.evaluate("window.release()").await;
    page.wait("document.querySelector('#message').textContent.includes('moved on')").await;
    page.wait(
        "document.querySelector('#prompt').value === 'other' && !document.querySelector('#send').disabled",
    )
    .await;
    page.wait("document.querySelector('.row.selected')?.textContent.includes('answer one')").await;
    let path = gateway.active_path(&session).await;
    assert!(!path.to_string().contains("other"), "{path}");
}

/// K4 for a compaction: the prompt follows it, and the older part is its summary.
#[tokio::test]
async fn a_compaction_is_continued_like_any_entry() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let (session, ids) = gateway.create_with(&["first", "second"]).await;
    let compaction = json!({ "summary": "All about pears", "firstKeptEntryId": ids[1], "tokensBefore": 100 });
    gateway.post(&format!("{session}/compactions"), compaction).await;
    gateway
        .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": "third" } }))
        .await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.sees("third").await;
    page.click_part("document.querySelector('.row.kind-compaction')").await;
    page.sees("Continues on a new branch").await;
    page.prompt("fourth").await;
    let request = model.next_request();
    let messages = request.messages();
    assert!(messages.iter().any(|message| message.contains("pears")), "{messages:?}");
    assert!(
        !messages.iter().any(|message| message.contains("first") || message.contains("third")),
        "{messages:?}"
    );
    request.reply("done");
    page.sees("done").await;
}

/// K6 for a name and for the data of an extension.
#[tokio::test]
async fn names_and_data_are_continued_like_the_entry_above_them() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let (session, _) = gateway.create_with(&["zero"]).await;
    let reply = json!({ "role": "assistant", "content": [{ "type": "text", "text": "first" }], "provider": "local", "model": "test", "stopReason": "stop" });
    gateway.post(&format!("{session}/messages"), json!({ "message": reply })).await;
    let rename = gateway.request(reqwest::Method::PATCH, &session).json(&json!({ "title": "Named" }));
    assert!(rename.send().await.unwrap().status().is_success());
    let data = json!({ "type": "custom", "customType": "notes", "data": { "a": 1 } });
    gateway.post(&format!("{session}/entries"), data).await;
    gateway
        .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": "second" } }))
        .await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.choose_value("#filter", "all").await;
    for (number, kind) in ["session_info", "custom"].into_iter().enumerate() {
        page.click_part(&format!("document.querySelector('.row.kind-{kind}')")).await;
        page.wait(&format!("document.querySelector('.row.kind-{kind}.selected')")).await;
        page.prompt("another").await;
        let request = model.next_request();
        let messages = request.messages();
        assert!(messages.iter().any(|message| message.contains("first")), "{messages:?}");
        assert!(!messages.iter().any(|message| message.contains("second")), "{messages:?}");
        request.reply("done");
        page.wait(&format!("{REPLIES} === 2 && document.querySelector('#cancel').hidden && document.querySelectorAll('.row.role-assistant').length === {}", number + 2)).await;
    }
}

/// K8: what a browser remembers or shows decides nothing; the leaf of the session does.
#[tokio::test]
async fn only_the_session_decides_where_a_prompt_goes() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, session)) = answered(&model, &gateway).await else { return };
    let id = session.rsplit('/').next().unwrap();
    let first = page.evaluate("return document.querySelector('.entry.role-user').dataset.id").await;
    // This browser was at the first message. Meanwhile the leaf moved there, and back to the end of another branch.
    let pointer = format!(
        "localStorage.setItem('osier.views', JSON.stringify([['{id}', 'at={0}:0&entry={0}']])); localStorage.setItem('osier.session', 'none')",
        first.as_str().unwrap()
    );
    page.evaluate(&pointer).await;
    page.evaluate("location.hash = '#'").await;
    page.wait("document.querySelector('.session-link')").await;
    page.evaluate(&pointer).await;
    gateway.post(&format!("{session}/move"), json!({ "targetId": first, "exact": true })).await;
    let message = json!({ "message": { "role": "user", "content": "elsewhere" } });
    gateway.post(&format!("{session}/messages"), message).await;
    page.show(&session).await;
    page.sees("elsewhere").await;
    page.wait("document.querySelector('.row.leaf')?.textContent.includes('elsewhere')").await;
    page.wait("document.querySelector('#continue-from').hidden").await;
    page.prompt("three").await;
    let request = model.next_request();
    let messages = request.messages();
    assert!(messages.iter().any(|message| message.contains("elsewhere")), "{messages:?}");
    assert!(!messages.iter().any(|message| message.contains("answer")), "{messages:?}");
    request.reply("done");
    page.sees("done").await;
}

/// K9: a prompt for a leaf that is no longer the leaf stays in the editor.
#[tokio::test]
async fn a_prompt_for_an_old_leaf_is_kept() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let (session, _) = gateway.create_with(&["first"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 1").await;
    page.evaluate(HOLD_FETCHES).await;
    gateway
        .post(&format!("{session}/messages"), json!({ "message": { "role": "user", "content": "second" } }))
        .await;
    page.wait("window.held === 1").await;
    page.prompt("mine").await;
    page.wait("document.querySelector('#message').textContent.includes('moved on')").await;
    page.wait("document.querySelector('#prompt').value === 'mine'").await;
    page.evaluate("window.release()").await;
    page.sees("second").await;
    page.prompt("").await;
    let request = model.next_request();
    assert!(request.messages().iter().any(|message| message.contains("second")), "{:?}", request.messages());
    request.reply("done");
    page.sees("done").await;
}

/// K9: somebody moved to an entry that the page knows, and the events of that have not arrived. The prompt goes to no branch that
/// the user does not see.
#[tokio::test]
async fn a_prompt_does_not_follow_a_move_that_the_page_has_not_seen() {
    let gateway = TestGateway::start();
    let (session, ids) = gateway.create_with(&["first", "second", "third"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 3").await;
    let lose_events = "const parse = JSON.parse; JSON.parse = (text) => { const frame = parse(text); return frame?.event ? { type: 'pong' } : frame; };";
    page.evaluate(lose_events).await;
    gateway.post(&format!("{session}/move"), json!({ "targetId": ids[0], "exact": true })).await;
    let before = gateway.active_path(&session).await;
    page.prompt("mine").await;
    page.wait("document.querySelector('#message').textContent.includes('moved on')").await;
    page.wait("document.querySelector('#prompt').value === 'mine'").await;
    assert_eq!(gateway.active_path(&session).await, before);
}

/// K9: a model or a thinking level that changed is no other place.
#[tokio::test]
async fn a_setting_that_the_page_has_not_seen_does_not_keep_a_prompt() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let (session, _) = gateway.create_with(&["first"]).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 1").await;
    page.evaluate(HOLD_FETCHES).await;
    gateway.post(&format!("{session}/thinking-level-changes"), json!({ "thinkingLevel": "high" })).await;
    page.wait("window.held === 1").await;
    page.prompt("mine").await;
    page.evaluate("window.release()").await;
    model.next_request().reply("done");
    page.sees("done").await;
}

/// K10: while a turn runs, nothing moves.
#[tokio::test]
async fn while_a_turn_runs_moves_are_refused() {
    let model = ModelServer::new();
    let gateway = TestGateway::start_in(model.env(), &[]);
    let Some((page, session)) = answered(&model, &gateway).await else { return };
    page.prompt("three").await;
    let mut request = model.next_request();
    request.send_text("working");
    page.sees("working").await;
    let before = gateway.active_path(&session).await;
    page.select("answer one").await;
    page.prompt("other").await;
    page.wait("document.querySelector('#message').textContent.includes('A turn is running')").await;
    page.wait("document.querySelector('#prompt').value === 'other'").await;
    page.evaluate("document.querySelector('#message').textContent = ''").await;
    page.choose("Move here").await;
    page.wait("document.querySelector('#message').textContent.includes('A turn is running')").await;
    assert_eq!(gateway.active_path(&session).await, before);
    request.finish("stop");
    page.turn_ended(3).await;
}

/// F1 and H8: one store with these fields, and only pointers in the storage of the browser.
#[tokio::test]
async fn the_store_has_its_fields_and_the_browser_keeps_only_pointers() {
    let gateway = TestGateway::start();
    let texts = vec!["text ".repeat(300); 20];
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (session, _) = gateway.create_with(&texts).await;
    let Some(page) = LivePage::open(&gateway, BrowserWindow::default()).await else { return };
    page.show(&session).await;
    page.wait("document.querySelectorAll('.row').length === 20 && document.querySelectorAll('.entry').length === 20").await;
    let missing = "const done = arguments[0]; const url = new URL('state.js', document.querySelector('script[src$=\"live.js\"]').src);
        import(url.href).then(({ SessionStore }) => {
          const store = new SessionStore({ sessionId: '', title: '', leafEntryId: null });
          const fields = ['sessionMeta', 'entries', 'entryById', 'childrenByParentId', 'activePathIds', 'visibleEntries', 'subagentRuntimeByBatchId',
            'toolRuntimeRoutesByBatchId', 'selectedEntryId', 'switchingLeafEntryId', 'pendingLeafConfirmation'];
          done(fields.filter((field) => !(field in store)));
        });";
    assert_eq!(page.browser.evaluate_async(missing).await, json!([]));
    page.browser.click("#toggle-theme").await;
    page.scroll_up("document.querySelector('.entry').scrollIntoView()").await;
    page.wait("localStorage.getItem('osier.views')?.includes('at=')").await;
    page.search("text").await;
    page.wait("location.hash.includes('find=text')").await;
    let kept = page.evaluate("return Object.keys(localStorage).sort()").await;
    assert_eq!(kept, json!(["osier.session", "osier.theme", "osier.views"]));
    let id = session.rsplit('/').next().unwrap();
    let views = page.evaluate("return JSON.parse(localStorage.getItem('osier.views'))").await;
    let (of, pointers) = (&views[0][0], views[0][1].as_str().unwrap());
    assert_eq!(of, id);
    assert!(pointers.starts_with("at=") && pointers.len() < 80, "{pointers}");
}
