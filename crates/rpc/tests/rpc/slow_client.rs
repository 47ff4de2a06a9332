//! A client that does not read.

use osier_model::scripted::ScriptedTurn;
use serde_json::json;

use crate::support::{TestProgram, types};

/// The turn ends although nobody reads. Later the client gets the entries that it missed.
#[tokio::test]
async fn a_client_that_does_not_read_delays_no_turn_and_misses_no_message() {
    let mut program = TestProgram::with_pipes(256).await;
    let long = ScriptedTurn::new();
    program.push((0..3000).fold(long, |turn, number| turn.text(format!("word {number} "))));
    program.send(&json!({ "type": "prompt", "message": "Hi" })).await;
    let client = program.client.clone();
    // Nothing is read from here until the turn has ended.
    while client.last_reply().await.unwrap().is_none() {
        tokio::task::yield_now().await;
    }
    let events = program.until("agent_settled").await;
    let ends: Vec<&str> = types(&events).into_iter().filter(|name| *name == "message_end").collect();
    assert_eq!(ends.len(), 3, "the system prompt, the prompt and the reply");
    let text: String = (0..3000).map(|number| format!("word {number} ")).collect();
    assert_eq!(program.data("get_last_assistant_text", json!({})).await["text"], text.trim());
}
