//! The cost of work in a long session, counted in store calls and lines read.

use std::sync::Arc;

use osier_model::scripted::ScriptedTurn;
use osier_store::Store;
use osier_tools::ApprovalMode;
use osier_tree::Header;
use serde_json::{Value, json};

use crate::counting_store::{CountingStore, counting_store};
use crate::harness::Harness;

/// A path with this many messages: prompts, replies that read a file, results, answers.
fn long_path(messages: usize) -> Vec<Vec<u8>> {
    let usage = json!({ "input": 10, "output": 1, "cacheRead": 0, "cacheWrite": 0, "totalTokens": 11 });
    let message = |at: usize| match at % 4 {
        0 => json!({ "role": "user", "content": format!("question {at}") }),
        1 => {
            json!({ "role": "assistant", "provider": "scripted", "model": "scripted", "stopReason": "toolUse", "usage": usage, "content": [
                { "type": "toolCall", "id": format!("c{at}"), "name": "read", "arguments": { "path": "a.txt" } },
            ]})
        }
        2 => {
            json!({ "role": "toolResult", "toolCallId": format!("c{}", at - 1), "toolName": "read", "isError": false,
            "content": [{ "type": "text", "text": "text" }], "details": { "path": format!("file {at}") } })
        }
        _ => {
            json!({ "role": "assistant", "provider": "scripted", "model": "scripted", "stopReason": "stop", "usage": usage, "content": [{ "type": "text", "text": "answer" }] })
        }
    };
    let id = |at: usize| format!("{:08x}", at + 1);
    let line = |at: usize| {
        let parent = at.checked_sub(1).map_or(Value::Null, |above| json!(id(above)));
        let entry = json!({ "type": "message", "id": id(at), "parentId": parent, "timestamp": "2026-01-01T00:00:00.000Z", "message": message(at) });
        entry.to_string().into_bytes()
    };
    (0..messages).map(line).collect()
}

async fn harness(
    messages: usize,
    turns: impl IntoIterator<Item = ScriptedTurn>,
) -> (Harness, Arc<CountingStore>) {
    let store = counting_store();
    store.create(&Header::new("s", 0, "/x"), &long_path(messages)).await.unwrap();
    let folder = Arc::new(tempfile::tempdir().unwrap());
    let yolo = |config: &mut osier_agent::AgentConfig| config.approval_mode = Some(ApprovalMode::Yolo);
    (Harness::open(store.clone(), folder, turns, yolo).await, store)
}

#[tokio::test]
async fn store_calls_do_not_grow_with_the_number_of_deltas() {
    let turns =
        [ScriptedTurn::reply("word"), ScriptedTurn::reply("word"), ScriptedTurn::reply("word ".repeat(1000))];
    let (harness, store) = harness(4_000, turns).await;
    harness.say("the first writes the prompt").await;
    store.counted();
    harness.say("short").await;
    let short = store.counted().0;
    harness.say("long").await;
    let long = store.counted().0;
    // The path has grown, so reading it may take one more batch.
    assert!(long <= short + 1 && short < 30, "{short} calls for one piece, {long} for a thousand");
}

#[tokio::test]
async fn side_state_of_a_long_path_is_read_once() {
    let call = |id: &str| ScriptedTurn::new().call(id, "bash", &json!({ "command": "true" }));
    let (harness, store) = harness(50_000, [call("x"), ScriptedTurn::reply("done")]).await;
    store.counted();
    let side = harness.worker.side_state().await.unwrap();
    assert_eq!(side.files.len(), 12_500);
    assert_eq!(store.counted().1, 25_000, "replies with calls, and results");
    harness.worker.side_state().await.unwrap();
    assert_eq!(store.counted().1, 0);
    harness.say("go").await;
    store.counted();
    harness.worker.side_state().await.unwrap();
    assert!(store.counted().1 <= 2, "only new entries");
}

#[tokio::test]
async fn deciding_the_next_step_does_not_read_the_path() {
    let (harness, store) =
        harness(4_000, [ScriptedTurn::new().call("x", "ls", &json!({})), ScriptedTurn::reply("done")]).await;
    harness.worker.side_state().await.unwrap();
    store.counted();
    harness.say("go").await;
    let (_, lines) = store.counted();
    // Two requests read the whole path; everything else reads only its end.
    assert!(lines < 2 * 4_010 + 200, "{lines} lines were read");
}
