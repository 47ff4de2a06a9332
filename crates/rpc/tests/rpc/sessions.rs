//! Other sessions in the place of one, and next to it.

use osier_model::scripted::ScriptedTurn;
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
