//! Results of tools, replies and shell commands while the store is unavailable: they are kept in memory, and stored when it is back.

use std::sync::Arc;

use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, ClientEvent, TurnOutcome};
use osier_tools::user_bash::UserCommand;
use serde_json::json;

use crate::counting_store::{CountingStore, counting_store};
use crate::harness::{EventListener, Harness};

/// Two calls; each run adds a line to `ran`.
fn two_calls() -> ScriptedTurn {
    let command = json!({ "command": "echo once >> ran; echo output" });
    ScriptedTurn::new().call("c1", "bash", &command).call("c2", "bash", &command)
}

async fn harness(turns: impl IntoIterator<Item = ScriptedTurn>) -> (Arc<CountingStore>, Harness) {
    let store = counting_store();
    let harness = Harness::on(store.clone(), turns, |config| {
        config.approval_mode = Some(osier_tools::ApprovalMode::Yolo);
    })
    .await;
    (store, harness)
}

async fn until_retrying(listener: &mut EventListener) {
    let retrying = |event: &ClientEvent| {
        matches!(event, ClientEvent::Retrying { kind, .. } if kind == "store").then_some(())
    };
    listener.until(retrying).await;
}

/// Waits until an entry with this text is stored.
async fn until_stored(listener: &mut EventListener, text: &str) {
    listener
        .until(|event| match event {
            ClientEvent::Entry(event) => {
                String::from_utf8_lossy(event.entry.bytes()).contains(text).then_some(())
            }
            _ => None,
        })
        .await;
}

fn runs(harness: &Harness) -> usize {
    std::fs::read_to_string(harness.folder.path().join("ran")).unwrap().lines().count()
}

#[tokio::test]
async fn tool_result_is_stored_when_the_store_is_back_and_the_turn_continues() {
    let (store, harness) = harness([two_calls(), ScriptedTurn::reply("fine")]).await;
    store.fail_at("toolResult");
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    until_retrying(&mut listener).await;
    store.recover();
    assert_eq!(listener.end().await, (Some(TurnOutcome::Done), None));
    assert_eq!(runs(&harness), 2, "no call runs twice");
    assert_eq!(harness.last_results(), ["output", "output"]);
}

#[tokio::test]
async fn tool_result_of_a_stopped_turn_is_stored_when_the_store_is_back() {
    let (store, harness) = harness([two_calls(), ScriptedTurn::reply("fine")]).await;
    store.fail_at("toolResult");
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    until_retrying(&mut listener).await;
    // The queue cannot be stored either.
    let _ = harness.worker.send(ClientCommand::Cancel).await;
    let (finished, error) = listener.end().await;
    assert!(finished.is_none() && error.unwrap().contains("switched off"));
    assert_eq!(
        listener.notices(),
        ["A result is not stored yet. It is kept in memory and stored when the store is back."]
    );
    store.recover();
    until_stored(&mut listener, "toolResult").await;
    assert_eq!(harness.say("go on").await, TurnOutcome::Done);
    assert_eq!(runs(&harness), 1, "the second call was stopped");
    let request = harness.last_request();
    assert_eq!(request[2], "result: output", "{request:#?}");
    assert_eq!(request.last().unwrap(), "user: go on");
}

#[tokio::test]
async fn prompts_and_moves_come_after_the_results_that_wait() {
    let (store, harness) = harness([two_calls(), ScriptedTurn::reply("fine")]).await;
    store.fail_at("toolResult");
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    until_retrying(&mut listener).await;
    let _ = harness.worker.send(ClientCommand::Cancel).await;
    listener.end().await;
    for command in [ClientCommand::prompt("too early"), ClientCommand::Undo] {
        let refused = harness.worker.send(command).await.unwrap_err();
        assert_eq!(refused.code().name(), "store_unavailable");
    }
    store.recover();
    assert_eq!(harness.say("go on").await, TurnOutcome::Done);
    let request = harness.last_request();
    let positions =
        ["result: output", "user: go on"].map(|wanted| request.iter().position(|line| line == wanted));
    assert!(positions[0].is_some() && positions[0] < positions[1], "{request:#?}");
    assert!(!request.iter().any(|line| line.contains("too early")), "{request:#?}");
}

#[tokio::test]
async fn reply_is_stored_when_the_store_is_back() {
    let (store, harness) = harness([ScriptedTurn::reply("hard to repeat")]).await;
    store.fail_at("hard to repeat");
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    until_retrying(&mut listener).await;
    let _ = harness.worker.send(ClientCommand::Cancel).await;
    listener.end().await;
    store.recover();
    until_stored(&mut listener, "hard to repeat").await;
    assert_eq!(harness.path().await.last().unwrap(), "assistant: \"hard to repeat\"");
}

#[tokio::test]
async fn output_of_a_shell_command_is_stored_when_the_store_is_back() {
    let (store, harness) = harness([]).await;
    store.fail_at("bashExecution");
    let mut listener = harness.listen().await;
    let run = harness.send(ClientCommand::RunShell(UserCommand::parse("!echo hello").unwrap()));
    let restore = async {
        until_retrying(&mut listener).await;
        store.recover();
    };
    tokio::join!(run, restore);
    assert_eq!(harness.messages().await.pop().unwrap()["output"], json!("hello"));
}

/// As when the user opens another session.
#[tokio::test]
async fn result_is_stored_even_if_the_worker_is_dropped() {
    let (store, harness) = harness([two_calls()]).await;
    store.fail_at("toolResult");
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    until_retrying(&mut listener).await;
    let _ = harness.worker.send(ClientCommand::Cancel).await;
    listener.end().await;
    assert!(harness.worker.has_unstored_results());
    drop(harness.worker);
    store.recover();
    until_stored(&mut listener, "toolResult").await;
}
