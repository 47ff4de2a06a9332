//! Prompts and the events of their turns.

use osier_model::scripted::ScriptedTurn;
use serde_json::{Value, json};

use crate::support::{TestProgram, of_type, types};

#[tokio::test]
async fn a_prompt_runs_a_turn_with_pis_events() {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::new().thinking("Hm.", "s").text("Hello there."));
    let response = program.call("prompt", json!({ "message": "Hi" })).await;
    let answer = json!({ "id": "r1", "type": "response", "command": "prompt", "success": true,
        "data": { "disposition": "started" } });
    assert_eq!(response, answer);
    assert_eq!(program.events, Vec::<Value>::new(), "the response comes before the turn");
    let events = program.until("agent_settled").await;
    // The system prompt, the prompt and the reply.
    let message = ["message_start", "message_end"];
    let expected =
        [&["agent_start", "turn_start"], &message[..], &message, &message, &["turn_end", "agent_end"]];
    let expected = [&expected.concat()[..], &["agent_settled"]].concat();
    assert_eq!(types(&events), expected, "{events:#?}");
    let updates: Vec<&Value> =
        of_type(&events, "message_update").into_iter().map(|event| &event["assistantMessageEvent"]).collect();
    assert_eq!(updates.first().unwrap(), &&json!({ "type": "thinking_start", "contentIndex": 0 }));
    assert_eq!(
        updates.last().unwrap(),
        &&json!({ "type": "text_end", "contentIndex": 1, "content": "Hello there." })
    );
    let messages = of_type(&events, "message_end");
    let roles = ["system", "user", "assistant"];
    assert_eq!([0, 1, 2].map(|index| messages[index]["message"]["role"].as_str().unwrap()), roles);
    assert_eq!(messages[2]["message"]["stopReason"], "stop");
    let ends = of_type(&events, "agent_end");
    assert_eq!(
        ends[0]["messages"],
        json!([messages[0]["message"], messages[1]["message"], messages[2]["message"]])
    );
    assert_eq!(events.last().unwrap(), &json!({ "type": "agent_settled", "aborted": false }));
}

#[tokio::test]
async fn state_and_messages_describe_the_session() {
    let mut program = TestProgram::start().await;
    let state = program.data("get_state", json!({})).await;
    assert_eq!((&state["messageCount"], &state["isStreaming"]), (&json!(0), &json!(false)), "{state}");
    program.push(ScriptedTurn::reply("Hello."));
    program.run_prompt("Hi").await;
    let state = program.data("get_state", json!({})).await;
    assert_eq!(state["messageCount"], 3, "{state}");
    assert_eq!(state["model"]["provider"], "scripted", "{state}");
    let messages = program.data("get_messages", json!({})).await;
    assert_eq!(messages["messages"][2]["content"][0]["text"], "Hello.");
    let text = program.data("get_last_assistant_text", json!({})).await;
    assert_eq!(text, json!({ "text": "Hello." }));
}

#[tokio::test]
async fn abort_ends_the_run_before_it_answers() {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::new().text("Hel").hang());
    program.data("prompt", json!({ "message": "Hi" })).await;
    program.until("message_update").await;
    assert_eq!(program.data("get_state", json!({})).await["isStreaming"], true);
    let response = program.call("abort", json!({})).await;
    assert_eq!(response, json!({ "id": "r3", "type": "response", "command": "abort", "success": true }));
    let events = std::mem::take(&mut program.events);
    assert_eq!(events.last().unwrap(), &json!({ "type": "agent_settled", "aborted": true }), "{events:#?}");
    assert_eq!(of_type(&events, "turn_end")[0]["message"]["stopReason"], "aborted");
    let ends = of_type(&events, "message_update");
    let end = json!({ "type": "text_end", "contentIndex": 0, "content": "Hel" });
    assert_eq!(ends.last().unwrap()["assistantMessageEvent"], end, "an open block ends");
    assert_eq!(program.data("get_state", json!({})).await["isStreaming"], false);
}
