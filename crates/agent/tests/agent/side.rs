//! What the path tells of files and things to do follows the leaf.

use osier_agent::Command;
use osier_model::scripted::Turn;
use osier_tools::Mode;
use serde_json::json;

use crate::desk::Desk;

fn edit(id: &str) -> Turn {
    Turn::new().call(id, "write", &json!({ "path": "a.txt", "content": "new\n" }))
}

fn read(turn: Turn, id: &str) -> Turn {
    turn.call(id, "read", &json!({ "path": "a.txt" }))
}

async fn desk(turns: impl IntoIterator<Item = Turn>) -> Desk {
    let desk = Desk::with(turns, |parts| parts.approval = Some(Mode::Yolo)).await;
    desk.write("a.txt", "old\n");
    desk
}

#[tokio::test]
async fn a_file_that_was_not_read_on_this_path_is_not_overwritten() {
    let desk = desk([edit("c1"), read(Turn::new(), "c2"), edit("c3"), Turn::reply("done")]).await;
    desk.say("write it").await;
    let told = desk.last_request();
    assert!(told[2].contains("read it first"), "{}", told[2]);
    assert!(!told[6].contains("read it first"), "{}", told[6]);
}

#[tokio::test]
async fn what_a_call_of_the_same_reply_read_counts() {
    let both = read(Turn::new(), "c1").call("c2", "write", &json!({ "path": "a.txt", "content": "new\n" }));
    let desk = desk([both, Turn::reply("done")]).await;
    desk.say("write it").await;
    assert!(!desk.last_results()[1].contains("read it first"), "{:?}", desk.last_results());
}

#[tokio::test]
async fn after_a_move_only_what_is_on_the_new_path_counts() {
    let todo =
        Turn::new().call("t", "todo", &json!({ "items": [{ "content": "rest", "status": "pending" }] }));
    let desk = desk([
        Turn::reply("one"),
        read(Turn::new(), "c1"),
        todo,
        Turn::reply("two"),
        edit("c2"),
        Turn::reply("three"),
    ])
    .await;
    desk.say("a").await;
    let before = desk.worker.cursor().place();
    desk.say("b").await;
    let side = desk.worker.side_state().await.unwrap();
    assert_eq!((side.files.len(), side.todos.len()), (1, 1));
    desk.worker.cursor().move_to(before).await.unwrap();
    let side = desk.worker.side_state().await.unwrap();
    assert_eq!((side.files.len(), side.todos.len()), (0, 0));
    desk.say("c").await;
    assert!(desk.last_results()[0].contains("read it first"), "{:?}", desk.last_results());
    desk.worker.cursor().undo().await.unwrap();
    assert_eq!(desk.worker.side_state().await.unwrap().todos.len(), 1);
}

#[tokio::test]
async fn it_is_the_same_after_reopening() {
    let desk = desk([read(Turn::new(), "c1"), Turn::reply("one")]).await;
    desk.say("a").await;
    let again = desk.reopen([edit("c2"), Turn::reply("two")]).await;
    again.send(Command::SetApproval(Mode::Yolo)).await;
    again.say("b").await;
    assert!(!again.last_results()[0].contains("read it first"), "{:?}", again.last_results());
}

#[tokio::test]
async fn records_of_other_programs_name_the_file_in_the_call() {
    let desk = desk([]).await;
    for entry in [
        json!({ "role": "assistant", "content": [{ "type": "toolCall", "id": "x", "name": "read", "arguments": { "path": "a.txt" } }], "stopReason": "toolUse" }),
        json!({ "role": "toolResult", "toolCallId": "x", "toolName": "read", "content": [], "isError": false }),
    ] {
        let entry = json!({ "type": "message", "message": entry }).to_string();
        desk.session().append_entry(entry.as_bytes()).await.unwrap();
    }
    assert_eq!(desk.worker.side_state().await.unwrap().files.len(), 1);
}
