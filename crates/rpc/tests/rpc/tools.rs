//! Tools, retries, moves and backtracks as events.

use osier_model::ModelError;
use osier_model::scripted::ScriptedTurn;
use serde_json::{Value, json};

use crate::support::{TestProgram, of_type, types};

#[tokio::test]
async fn a_tool_call_starts_ends_and_belongs_to_its_turn() {
    let mut program = TestProgram::start().await;
    std::fs::write(program.engine.folder().join("a.txt"), "One line.\n").unwrap();
    program.push(ScriptedTurn::new().text("Reading.").call("c1", "read", &json!({ "path": "a.txt" })));
    program.push(ScriptedTurn::reply("It has one line."));
    let events = program.run_prompt("read a.txt").await;
    let start = json!({ "type": "tool_execution_start", "toolCallId": "c1", "toolName": "read", "args": { "path": "a.txt" } });
    assert_eq!(of_type(&events, "tool_execution_start"), [&start]);
    let end = of_type(&events, "tool_execution_end")[0];
    assert_eq!((&end["isError"], &end["result"]["content"][0]["text"]), (&json!(false), &json!("One line.")));
    assert!(end["durationMs"].is_u64(), "{end}");
    let turns = of_type(&events, "turn_end");
    assert_eq!(turns.len(), 2);
    assert_eq!(turns[0]["toolResults"][0]["toolCallId"], "c1");
    assert_eq!(turns[1]["toolResults"], json!([]));
    let after_reply = events.iter().position(|event| *event == start).unwrap();
    let expected = ["tool_execution_end", "message_start", "message_end", "turn_end", "turn_start"];
    assert_eq!(types(&events[after_reply + 1..after_reply + 6]), expected);
}

#[tokio::test]
async fn a_retry_looks_like_pis() {
    let mut program = TestProgram::start().await;
    let overloaded = ModelError::Overloaded {
        provider: "scripted".to_owned(),
        detail: "try later".to_owned(),
        retry_after: None,
    };
    program.push(ScriptedTurn::new().retrying(overloaded).text("Hello."));
    let events = program.run_prompt("Hi").await;
    let names: Vec<&str> = types(&events).into_iter().filter(|name| !name.starts_with("message")).collect();
    let expected = [
        "agent_start",
        "turn_start",
        "turn_end",
        "agent_end",
        "auto_retry_start",
        "agent_start",
        "turn_start",
        "auto_retry_end",
        "turn_end",
        "agent_end",
        "agent_settled",
    ];
    assert_eq!(names, expected, "{events:#?}");
    assert_eq!(of_type(&events, "agent_end")[0]["willRetry"], true);
    assert_eq!(of_type(&events, "turn_end")[0]["message"]["stopReason"], "error");
    // The setting counts all attempts, pi those after the first.
    assert_eq!(of_type(&events, "auto_retry_start")[0]["maxAttempts"], 3);
    assert_eq!(
        of_type(&events, "auto_retry_end")[0],
        &json!({ "type": "auto_retry_end", "success": true, "attempt": 1 })
    );
}

#[tokio::test]
async fn a_failed_reply_ends_the_run() {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::new().fail(ModelError::Overloaded {
        provider: "scripted".to_owned(),
        detail: "no".to_owned(),
        retry_after: None,
    }));
    let events = program.run_prompt("Hi").await;
    let turn = of_type(&events, "turn_end")[0];
    assert_eq!(turn["message"]["stopReason"], "error", "{turn}");
    let text = program.data("get_last_assistant_text", json!({})).await;
    assert_eq!(text, json!({ "text": null }), "the failed reply is the last one, and has no text");
    assert_eq!(events.last().unwrap(), &json!({ "type": "agent_settled", "aborted": false }));
}

#[tokio::test]
async fn a_backtrack_is_one_event_with_all_its_fields() {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::new().call(
        "c1",
        "backtrack",
        &json!({ "checkpoint_id": 0, "note": "it was a dead end" }),
    ));
    program.push(ScriptedTurn::reply("Done."));
    let events = program.run_prompt("try it").await;
    let start = of_type(&events, "tool_execution_start")[0];
    assert_eq!(start["args"]["note"], "it was a dead end", "{start}");
    let backtrack = of_type(&events, "backtrack")[0].as_object().unwrap();
    let fields =
        ["type", "entryId", "checkpointId", "note", "addendum", "fromId", "originalUserMessage", "discarded"];
    assert_eq!(backtrack.keys().collect::<Vec<_>>(), fields);
    assert_eq!(
        (&backtrack["note"], &backtrack["originalUserMessage"]),
        (&json!("it was a dead end"), &json!("try it"))
    );
}

#[tokio::test]
async fn a_move_returns_the_message_and_is_announced_and_undone() {
    let mut program = TestProgram::start().await;
    for text in ["first", "second"] {
        program.push(ScriptedTurn::reply(text));
        program.run_prompt(text).await;
    }
    let second = program.data("get_fork_messages", json!({})).await["messages"][1]["entryId"].clone();
    let moved = program.data("navigate_tree", json!({ "targetId": second})).await;
    assert_eq!((&moved["editorText"], &moved["cancelled"]), (&json!("second"), &json!(false)), "{moved}");
    let event = of_type(&program.events, "session_tree")[0].clone();
    assert_eq!((&event["newLeafId"], &event["reason"]), (&moved["leafId"], &json!("move")), "{event}");
    assert_eq!(program.data("get_messages", json!({})).await["messages"].as_array().unwrap().len(), 3);
    let undone = program.data("undo", json!({})).await;
    assert_eq!((&undone["cancelled"], undone["leafId"].is_string()), (&json!(false), true), "{undone}");
    assert_eq!(program.data("get_messages", json!({})).await["messages"].as_array().unwrap().len(), 5);
    program.data("redo", json!({})).await;
    let nothing = program.call("redo", json!({})).await;
    assert_eq!(nothing["code"], "nothing_to_redo");
    let missing = program.call("navigate_tree", json!({})).await;
    assert_eq!(missing["success"], false);
}

#[tokio::test]
async fn branches_are_compared_grafted_deleted_and_restored() {
    let mut program = TestProgram::start().await;
    program.push(ScriptedTurn::reply("one"));
    program.run_prompt("first").await;
    let tip = program.data("get_entries", json!({})).await["leafId"].clone();
    program.data("navigate_tree", json!({ "targetId": "root" })).await;
    program.push(ScriptedTurn::reply("two"));
    program.run_prompt("second").await;
    let here = program.data("get_entries", json!({})).await["leafId"].clone();
    let compared = program.data("compare", json!({ "left": tip, "right": here })).await;
    assert_eq!(compared["left"]["messages"], 2, "{compared}");
    let grafted = program.data("graft", json!({ "tipId": tip })).await;
    assert!(grafted["entryId"].is_string(), "{grafted}");
    let first = program.data("get_tree", json!({})).await["tree"][0]["entry"]["id"].clone();
    program.data("delete_branch", json!({ "entryId": first })).await;
    assert!(!roots(&mut program).await.contains(&first));
    program.data("restore_branch", json!({ "entryId": first })).await;
    assert!(roots(&mut program).await.contains(&first));
}

async fn roots(program: &mut TestProgram) -> Vec<Value> {
    let tree = program.data("get_tree", json!({})).await["tree"].clone();
    tree.as_array().unwrap().iter().map(|node| node["entry"]["id"].clone()).collect()
}
