//! Lines: separators, junk, limits, and ends of the pipes.

use osier_model::scripted::ScriptedTurn;
use serde_json::{Value, json};

use crate::support::{TestProgram, types};

#[tokio::test]
async fn junk_is_answered_and_changes_nothing() {
    let mut program = TestProgram::start().await;
    for junk in ["{not json", "", "[1]", "null", "\"x\"", "\u{feff}{}"] {
        program.write(format!("{junk}\n").as_bytes()).await;
        let answer = program.next().await.unwrap();
        assert_eq!((&answer["command"], &answer["success"]), (&json!("parse"), &json!(false)), "{junk}");
        assert!(answer["error"].is_string() && answer.get("id").is_none(), "{answer}");
    }
    program.write(b"\xff\xfe\n").await;
    assert_eq!(program.next().await.unwrap()["command"], "parse");
    program.send(&json!({ "id": 7, "type": "bogus" })).await;
    let answer = program.next().await.unwrap();
    assert_eq!((&answer["id"], &answer["command"]), (&json!(7), &json!("bogus")));
    assert_eq!(answer["error"], "Unknown command: bogus");
    let answer = program.call("prompt", json!({})).await;
    assert_eq!(answer["error"], "missing field `message`");
    assert_eq!(program.data("get_state", json!({})).await["messageCount"], 0);
}

#[tokio::test]
async fn a_line_that_is_too_long_is_refused_and_the_next_one_is_read() {
    let mut program = TestProgram::start().await;
    let piece = "x".repeat(1 << 20);
    program.write(b"{\"type\":\"prompt\",\"message\":\"").await;
    for _ in 0..=osier_rpc::MAX_LINE >> 20 {
        program.write(piece.as_bytes()).await;
    }
    program.write(b"\"}\n").await;
    let refused = program.next().await.unwrap();
    assert_eq!((&refused["command"], &refused["success"]), (&json!("parse"), &json!(false)), "{refused}");
    assert!(refused["error"].as_str().unwrap().contains("is longer than 67108864 bytes"), "{refused}");
    assert_eq!(program.data("get_state", json!({})).await["messageCount"], 0);
}

#[tokio::test]
async fn unicode_separators_are_data_and_cr_before_lf_is_tolerated() {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::reply("a\u{2028}b"));
    program.write("{\"type\":\"prompt\",\"message\":\"x\u{2028}y\u{2029}z\"}\r\n".as_bytes()).await;
    let events = program.until("agent_settled").await;
    let is_prompt = |event: &&Value| event["type"] == "message_end" && event["message"]["role"] == "user";
    let text = &events.iter().find(is_prompt).unwrap()["message"]["content"][0]["text"];
    assert_eq!(text, "x\u{2028}y\u{2029}z");
}

#[tokio::test]
async fn the_last_line_needs_no_lf_and_the_end_of_the_input_ends_the_server() {
    let mut program = TestProgram::start().await;
    program.write(b"{\"type\":\"get_state\"}").await;
    program.close_input();
    assert_eq!(program.next().await.unwrap()["command"], "get_state");
    assert_eq!(program.next().await, None);
    program.ended().await;
}

#[tokio::test]
async fn commands_that_run_when_the_input_ends_are_answered() {
    let mut program = TestProgram::start().await;
    program.send(&json!({ "id": 1, "type": "bash", "command": "sleep 0.3; echo done" })).await;
    program.send(&json!({ "id": 2, "type": "list_sessions" })).await;
    program.close_input();
    let mut answered = Vec::new();
    while let Some(line) = program.next().await {
        if line["type"] == "response" {
            answered.push((line["id"].clone(), line["command"].clone()));
        }
    }
    answered.sort_by_key(|(id, _)| id.as_u64());
    assert_eq!(answered, [(json!(1), json!("bash")), (json!(2), json!("list_sessions"))]);
    program.ended().await;
}

/// The commands that wait for a slow one do not each get the time that one of them may take.
#[tokio::test(start_paused = true)]
async fn all_commands_together_have_one_deadline_after_the_end_of_the_input() {
    let mut program = TestProgram::start().await;
    let waits = program.engine.may_open.clone();
    let _held = waits.lock().await;
    let start = tokio::time::Instant::now();
    let commands = 20;
    for id in 0..commands {
        program.send(&json!({ "id": id, "type": "new_session" })).await;
    }
    program.close_input();
    let mut answers = Vec::new();
    while let Some(line) = program.next().await {
        if line["type"] == "response" {
            answers.push((line["id"].clone(), line["code"].clone()));
        }
    }
    let late: Vec<_> = (1..commands).map(|id| (json!(id), json!("cancelled"))).collect();
    assert_eq!(answers, late, "the first one cannot be canceled, and the others did not start");
    program.ended().await;
    assert!(start.elapsed().as_secs() < 20, "{:?}", start.elapsed());
}

#[tokio::test]
async fn a_turn_is_canceled_and_stored_when_the_input_ends() {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::new().text("Hel").hang());
    program.data("prompt", json!({ "message": "Hi" })).await;
    program.until("message_update").await;
    let client = program.client.clone();
    let engine = program.engine.clone();
    program.close_input();
    assert_eq!(last_types(&mut program).await, ["message_end", "turn_end", "agent_end", "agent_settled"]);
    program.ended().await;
    engine.close().await;
    let reply = client.last_reply().await.unwrap().expect("what arrived of the reply is stored");
    assert_eq!(reply.text, "Hel");
    assert!(!client.attach(None).await.unwrap().state.turn_running);
}

/// What arrives until the output ends.
async fn last_types(program: &mut TestProgram) -> Vec<String> {
    let mut last = Vec::new();
    while let Some(line) = program.next().await {
        last.push(line);
    }
    types(&last).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_signal_ends_a_tool_that_runs_with_the_events_of_its_end() {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::new().call("c1", "bash", &json!({ "command": "sleep 600" })));
    program.data("set_approval_mode", json!({ "mode": "yolo" })).await;
    program.data("prompt", json!({ "message": "Hi" })).await;
    program.until("tool_execution_start").await;
    program.stop.cancel();
    let last = last_types(&mut program).await;
    assert_eq!(last[0], "tool_execution_end", "{last:?}");
    assert_eq!(last[last.len() - 3..], ["turn_end", "agent_end", "agent_settled"], "{last:?}");
    program.ended().await;
}

#[tokio::test]
async fn a_client_that_closes_the_output_ends_the_server() {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::new().text("Hel").hang());
    program.data("prompt", json!({ "message": "Hi" })).await;
    program.close_output();
    program.send(&json!({ "type": "get_state" })).await;
    program.ended().await;
}
