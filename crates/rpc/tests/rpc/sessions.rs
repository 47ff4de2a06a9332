//! Other sessions in the place of one, and next to it.

use std::sync::atomic::Ordering;

use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, ExtensionEvent, NotifyType, OpenTarget, RequestedSession, UserCommand};
use serde_json::json;

use crate::support::{TestProgram, of_type};

#[tokio::test]
async fn a_new_session_takes_the_place_of_one_whose_turn_is_canceled() {
    let mut program = TestProgram::start().await;
    let first = program.data("get_state", json!({})).await["sessionId"].clone();
    program.push(ScriptedTurn::new().text("Hel").hang());
    program.data("prompt", json!({ "message": "Hi" })).await;
    program.until("message_update").await;
    assert_eq!(program.data("new_session", json!({})).await, json!({ "cancelled": false }));
    assert_eq!(program.events.last().unwrap(), &json!({ "type": "agent_settled", "aborted": true }));
    let state = program.data("get_state", json!({})).await;
    assert_ne!(state["sessionId"], first);
    assert_eq!(state["messageCount"], 0);
    program.data("switch_session", json!({ "sessionPath": first })).await;
    assert_eq!(program.data("get_last_assistant_text", json!({})).await["text"], "Hel");
    assert_eq!(program.call("switch_session", json!({ "sessionPath": "nowhere" })).await["success"], false);
    assert_eq!(program.data("get_state", json!({})).await["sessionId"], first, "nothing changed");
}

#[tokio::test]
async fn a_fork_starts_before_a_message_and_a_clone_at_the_position() {
    let mut program = TestProgram::start().await;
    for text in ["first", "second"] {
        program.push(ScriptedTurn::reply(text));
        program.run_prompt(text).await;
    }
    let id = program.data("get_state", json!({})).await["sessionId"].clone();
    assert_eq!(program.data("clone", json!({})).await, json!({ "cancelled": false }));
    let clone = program.data("get_state", json!({})).await;
    assert_eq!((&clone["messageCount"], clone["sessionId"] == id), (&json!(5), false));
    let second = program.data("get_fork_messages", json!({})).await["messages"][1]["entryId"].clone();
    let forked = program.data("fork", json!({ "entryId": second })).await;
    assert_eq!(forked, json!({ "text": "second", "cancelled": false }));
    assert_eq!(program.data("get_state", json!({})).await["messageCount"], 3);
    assert_eq!(program.call("fork", json!({ "entryId": "nope" })).await["success"], false);
}

#[tokio::test]
async fn a_session_that_cannot_be_opened_leaves_the_old_one_and_its_events() {
    let mut program = TestProgram::start().await;
    let first = program.data("get_state", json!({})).await["sessionId"].clone();
    program.engine.opens_broken_session.store(true, std::sync::atomic::Ordering::Relaxed);
    let failed = program.call("new_session", json!({})).await;
    assert_eq!(failed["error"], "the session is broken");
    assert_eq!(program.data("get_state", json!({})).await["sessionId"], first);
    program.push(ScriptedTurn::reply("Still here."));
    let events = program.run_prompt("Hi").await;
    assert_eq!(of_type(&events, "agent_end").len(), 1);
}

#[tokio::test]
async fn a_page_is_exported_to_a_file() {
    let mut program = TestProgram::start().await;
    let exported = program.data("export_html", json!({ "outputPath": "page.html" })).await;
    assert_eq!(exported, json!({ "path": program.engine.folder().join("page.html") }));
    let id = program.data("get_state", json!({})).await["sessionId"].as_str().unwrap().to_owned();
    let named = program.data("export_html", json!({})).await["path"].as_str().unwrap().to_owned();
    assert!(named.ends_with(&format!("osier-{}.html", &id[..8])), "{named}");
    assert_eq!(program.call("export_html", json!({ "outputPath": "page.txt" })).await["success"], false);
}

#[tokio::test]
async fn several_sessions_run_in_one_process() {
    let mut program = TestProgram::start().await;
    let other = program.data("open_session", json!({})).await["sessionId"].clone();
    program.push(ScriptedTurn::new().text("Hel").hang());
    program.data("prompt", json!({ "message": "main" })).await;
    program.until("message_update").await;
    program.push(ScriptedTurn::reply("Other."));
    program.data("prompt", json!({ "message": "other", "sessionId": other })).await;
    let events = program.until("agent_settled").await;
    let named = events.iter().filter(|event| event["sessionId"] == other).count();
    assert_eq!(events.last().unwrap()["sessionId"], other);
    assert!(named > 5, "{events:#?}");
    assert!(of_type(&events, "message_end").iter().all(|event| event["sessionId"] == other));
    assert_eq!(program.data("get_state", json!({})).await["isStreaming"], true);
    assert_eq!(program.data("get_state", json!({ "sessionId": other })).await["messageCount"], 3);
    program.data("close_session", json!({ "sessionId": other })).await;
    let closed = program.call("get_state", json!({ "sessionId": other })).await;
    assert_eq!(closed["code"], "session_not_found");
    assert_eq!(program.call("close_session", json!({})).await["success"], false, "the main session stays");
}

/// A session that takes the place of another one may be open already: its events are written once.
#[tokio::test]
async fn events_are_written_once_however_a_session_was_opened() {
    let mut program = TestProgram::start().await;
    let main = program.data("get_state", json!({})).await["sessionId"].clone();
    let first = program.data("open_session", json!({})).await["sessionId"].clone();
    let second = program.data("open_session", json!({})).await["sessionId"].clone();
    let switched = program.data("switch_session", json!({ "sessionId": first, "sessionPath": second })).await;
    assert_eq!(switched["sessionId"], second);
    program.push(ScriptedTurn::reply("Once."));
    program.data("prompt", json!({ "message": "Hi", "sessionId": second })).await;
    let events = program.until("agent_settled").await;
    assert_eq!(of_type(&events, "agent_start").len(), 1, "{events:#?}");
    let switched = program.data("switch_session", json!({ "sessionId": second, "sessionPath": main })).await;
    assert_eq!(switched["sessionId"], main);
    program.push(ScriptedTurn::reply("Once."));
    program.data("prompt", json!({ "message": "Hi", "sessionId": main })).await;
    let mut events = program.until("agent_settled").await;
    // All events of the turn come before the response.
    program.data("get_state", json!({})).await;
    events.append(&mut program.events);
    assert_eq!(of_type(&events, "agent_settled"), [&json!({ "type": "agent_settled", "aborted": false })]);
}

#[tokio::test]
async fn an_extension_and_the_client_do_not_replace_a_session_at_the_same_time() {
    let mut program = TestProgram::start().await;
    let (engine, may_open) = (program.engine.clone(), program.engine.may_open.clone());
    let waits = may_open.lock().await;
    program.send(&json!({ "id": 1, "type": "new_session" })).await;
    while engine.requested.load(Ordering::Relaxed) == 0 {
        tokio::task::yield_now().await;
    }
    engine.main_client().worker().request_session(RequestedSession::New);
    let shown = ExtensionEvent::Notify { message: "asked".to_owned(), notify_type: NotifyType::Info };
    engine.main_client().worker().show(shown);
    assert_eq!(program.until("extension_ui_request").await[0]["message"], "asked");
    drop(waits);
    let events = program.until("extension_ui_request").await;
    assert!(events.last().unwrap()["message"].as_str().unwrap().contains("is not open"), "{events:#?}");
    assert_eq!(of_type(&events, "response")[0]["success"], true, "{events:#?}");
    assert_eq!(engine.requested.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn an_extension_that_ends_the_program_leaves_no_command_unanswered() {
    let mut program = TestProgram::start().await;
    program.send(&json!({ "id": 1, "type": "bash", "command": "echo started; sleep 0.3" })).await;
    program.until("bash_execution_update").await;
    program.engine.main_client().worker().request_quit();
    let mut answered = Vec::new();
    while let Some(line) = program.next().await {
        answered.extend((line["type"] == "response" && line["id"] == 1).then_some(line));
    }
    assert_eq!(answered.len(), 1, "{answered:?}");
    program.ended().await;
}

#[tokio::test]
async fn a_session_that_is_opened_shows_what_runs_in_it() {
    let mut program = TestProgram::start().await;
    let other = program.engine.open_target(OpenTarget::default()).await.unwrap();
    let client = other.client.clone();
    let command =
        UserCommand { command: "echo started; exec sleep 60".to_owned(), exclude_from_context: false };
    let running = tokio::spawn(async move { client.send(ClientCommand::RunShell(command)).await });
    while other.client.attach(None).await.unwrap().state.running.is_empty() {
        tokio::task::yield_now().await;
    }
    program.data("open_session", json!({ "session": other.info.id })).await;
    let update = of_type(&program.events, "bash_execution_update")[0];
    assert_eq!((&update["delta"], &update["sessionId"]), (&json!("started\n"), &json!(other.info.id)));
    other.client.send(ClientCommand::StopShell).await.unwrap();
    running.await.unwrap().unwrap();
}
