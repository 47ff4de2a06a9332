//! Questions of the agent as dialogs.

use osier_model::scripted::ScriptedTurn;
use serde_json::{Value, json};

use crate::support::{TestProgram, of_type};

/// A program whose turn asks whether it may write a file, and the dialog.
async fn program_that_asks() -> (TestProgram, Value) {
    let mut program = TestProgram::start().await;
    let write = json!({ "path": "new.txt", "content": "hello\n" });
    program.push(ScriptedTurn::new().call("c1", "write", &write));
    program.push(ScriptedTurn::reply("Done."));
    program.data("prompt", json!({ "message": "write" })).await;
    let events = program.until("extension_ui_request").await;
    assert_eq!(of_type(&events, "tool_execution_start").len(), 1, "the tool starts before the question");
    let dialog = events.last().unwrap().clone();
    (program, dialog)
}

#[tokio::test]
async fn a_question_shows_the_diff_and_waits_for_the_answer() {
    let (mut program, dialog) = program_that_asks().await;
    assert_eq!(dialog["method"], "confirm");
    assert!(dialog["title"].as_str().unwrap().contains("write"), "{dialog}");
    let message = dialog["message"].as_str().unwrap();
    assert!(message.contains("new.txt") && message.contains("+hello"), "{message}");
    assert_eq!(program.data("get_state", json!({})).await["isStreaming"], true, "the turn waits");
    program.send(&json!({ "type": "extension_ui_response", "id": "unknown", "confirmed": true })).await;
    program.send(&json!({ "type": "extension_ui_response", "id": dialog["id"], "confirmed": true })).await;
    let events = program.until("agent_settled").await;
    assert_eq!(of_type(&events, "tool_execution_end")[0]["isError"], false);
    assert_eq!(std::fs::read_to_string(program.engine.folder().join("new.txt")).unwrap(), "hello\n");
}

#[tokio::test]
async fn a_refusal_or_a_dismissed_dialog_denies_the_call() {
    for answer in [
        json!({ "confirmed": false, "reason": "not there" }),
        json!({ "cancelled": true }),
        json!({ "value": "junk" }),
    ] {
        let (mut program, dialog) = program_that_asks().await;
        let mut response = json!({ "type": "extension_ui_response", "id": dialog["id"] });
        response.as_object_mut().unwrap().extend(answer.as_object().unwrap().clone());
        program.send(&response).await;
        let events = program.until("agent_settled").await;
        let end = of_type(&events, "tool_execution_end")[0];
        assert_eq!(end["isError"], true, "{answer}");
        if let Some(reason) = answer["reason"].as_str() {
            assert!(end["result"].to_string().contains(reason), "{end}");
        }
        assert!(!program.engine.folder().join("new.txt").exists());
    }
}

#[tokio::test]
async fn an_option_allows_more_than_this_call() {
    let (mut program, dialog) = program_that_asks().await;
    let always = dialog["options"]
        .as_array()
        .unwrap()
        .iter()
        .find(|option| option.as_str().unwrap().contains("always"));
    program
        .send(&json!({ "type": "extension_ui_response", "id": dialog["id"], "value": always.unwrap() }))
        .await;
    program.until("agent_settled").await;
    let write = json!({ "path": "other.txt", "content": "x\n" });
    program.push(ScriptedTurn::new().call("c2", "write", &write));
    program.push(ScriptedTurn::reply("Done."));
    let events = program.run_prompt("again").await;
    assert!(of_type(&events, "extension_ui_request").is_empty(), "{events:#?}");
    assert!(program.engine.folder().join("other.txt").exists());
}

#[tokio::test]
async fn an_abort_withdraws_the_question() {
    let (mut program, dialog) = program_that_asks().await;
    program.data("abort", json!({})).await;
    program.send(&json!({ "type": "extension_ui_response", "id": dialog["id"], "confirmed": true })).await;
    assert_eq!(program.data("get_state", json!({})).await["isStreaming"], false);
    assert!(!program.engine.folder().join("new.txt").exists());
}
