//! The files read and the to-do list follow the leaf.

use osier_model::scripted::ScriptedTurn;
use osier_protocol::ClientCommand;
use osier_tools::ApprovalMode;
use serde_json::json;

use crate::harness::Harness;

fn edit(id: &str) -> ScriptedTurn {
    ScriptedTurn::new().call(id, "write", &json!({ "path": "a.txt", "content": "new\n" }))
}

fn read(turn: ScriptedTurn, id: &str) -> ScriptedTurn {
    turn.call(id, "read", &json!({ "path": "a.txt" }))
}

async fn harness(turns: impl IntoIterator<Item = ScriptedTurn>) -> Harness {
    let harness = Harness::with(turns, |config| config.approval_mode = Some(ApprovalMode::Yolo)).await;
    harness.write("a.txt", "old\n");
    harness
}

#[tokio::test]
async fn file_not_read_on_this_path_is_not_overwritten() {
    let harness =
        harness([edit("c1"), read(ScriptedTurn::new(), "c2"), edit("c3"), ScriptedTurn::reply("done")]).await;
    harness.say("write it").await;
    let lines = harness.last_request();
    assert!(lines[2].contains("read it first"), "{}", lines[2]);
    assert!(!lines[6].contains("read it first"), "{}", lines[6]);
}

#[tokio::test]
async fn file_read_in_the_same_reply_counts() {
    let both =
        read(ScriptedTurn::new(), "c1").call("c2", "write", &json!({ "path": "a.txt", "content": "new\n" }));
    let harness = harness([both, ScriptedTurn::reply("done")]).await;
    harness.say("write it").await;
    assert!(!harness.last_results()[1].contains("read it first"), "{:?}", harness.last_results());
}

#[tokio::test]
async fn after_a_move_only_the_new_path_counts() {
    let todo = ScriptedTurn::new().call(
        "t",
        "todo",
        &json!({ "items": [{ "content": "rest", "status": "pending" }] }),
    );
    let harness = harness([
        ScriptedTurn::reply("one"),
        read(ScriptedTurn::new(), "c1"),
        todo,
        ScriptedTurn::reply("two"),
        edit("c2"),
        ScriptedTurn::reply("three"),
    ])
    .await;
    harness.say("a").await;
    let before = harness.worker.cursor().position();
    harness.say("b").await;
    let side = harness.worker.side_state().await.unwrap();
    assert_eq!((side.files.len(), side.todos.len()), (1, 1));
    harness.worker.cursor().move_to(before).await.unwrap();
    let side = harness.worker.side_state().await.unwrap();
    assert_eq!((side.files.len(), side.todos.len()), (0, 0));
    harness.say("c").await;
    assert!(harness.last_results()[0].contains("read it first"), "{:?}", harness.last_results());
    harness.worker.cursor().undo().await.unwrap();
    assert_eq!(harness.worker.side_state().await.unwrap().todos.len(), 1);
}

#[tokio::test]
async fn files_read_survive_reopening() {
    let harness = harness([read(ScriptedTurn::new(), "c1"), ScriptedTurn::reply("one")]).await;
    harness.say("a").await;
    let reopened = harness.reopen([edit("c2"), ScriptedTurn::reply("two")]).await;
    reopened.send(ClientCommand::SetApproval { mode: ApprovalMode::Yolo }).await;
    reopened.say("b").await;
    assert!(!reopened.last_results()[0].contains("read it first"), "{:?}", reopened.last_results());
}

#[tokio::test]
async fn file_name_is_taken_from_the_call_if_the_result_has_none() {
    let harness = harness([]).await;
    for entry in [
        json!({ "role": "assistant", "content": [{ "type": "toolCall", "id": "x", "name": "read", "arguments": { "path": "a.txt" } }], "stopReason": "toolUse" }),
        json!({ "role": "toolResult", "toolCallId": "x", "toolName": "read", "content": [], "isError": false }),
    ] {
        let entry = json!({ "type": "message", "message": entry }).to_string();
        harness.session().append_entry(entry.as_bytes()).await.unwrap();
    }
    assert_eq!(harness.worker.side_state().await.unwrap().files.len(), 1);
}
