//! The extensions in `examples/extensions`, each with what it is for.

use std::path::Path;

use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, CommandReply, MoveCommand};
use serde_json::json;

use super::TestSession;

async fn example(name: &str, turns: impl IntoIterator<Item = ScriptedTurn>) -> TestSession {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/extensions");
    TestSession::with_files(&[folder.join(name)], turns).await
}

fn tool_turn(name: &str, arguments: serde_json::Value) -> ScriptedTurn {
    ScriptedTurn::new().call("call-1", name, &arguments)
}

#[tokio::test]
async fn a_branch_is_summarized_by_the_extension() {
    let mut session =
        example("summarizer.ts", [ScriptedTurn::reply("one"), ScriptedTurn::reply("two")]).await;
    session.turn("first question").await;
    session.turn("second question").await;
    let entries = session.entries().await;
    let first = entries.iter().find(|entry| entry["message"]["role"] == "assistant").unwrap();
    let target_id = Some(first["id"].as_str().unwrap().into());
    let command = MoveCommand { target_id, summarize: true, ..MoveCommand::default() };
    let reply = session.client_send(ClientCommand::Move(command)).await;
    assert!(matches!(reply, CommandReply::Moved(_)), "{reply:?}");
    let entries = session.entries().await;
    let summary = entries.iter().find(|entry| entry["type"] == "branch_summary").expect("a summary");
    assert!(summary["summary"].as_str().unwrap().contains("- second question"), "{summary}");
    assert_eq!(summary["details"]["custom"], true);
}

#[tokio::test]
async fn pruned_results_are_not_sent_again() {
    let turns =
        [tool_turn("ls", json!({ "path": "." })), ScriptedTurn::reply("seen"), ScriptedTurn::reply("again")];
    let mut session = example("prune.ts", turns).await;
    session.turn("look").await;
    session.send("/prune").await;
    assert_eq!(session.notified().await, "Pruned 1 results");
    session.turn("go on").await;
    let texts = session.request_texts();
    assert!(texts.iter().any(|text| text == "[pruned]"), "{texts:?}");
    let entries = session.entries().await;
    let result = entries.iter().find(|entry| entry["message"]["role"] == "toolResult").unwrap();
    assert!(!result.to_string().contains("[pruned]"), "the session keeps the result");
}

#[tokio::test]
async fn a_list_follows_the_branch() {
    let mut session = example("command.ts", []).await;
    session.send("/todo").await;
    assert_eq!(session.notified().await, "The list is empty");
    session.send("/todo buy milk").await;
    assert_eq!(session.notified().await, "buy milk");
    session.send("/todo call home").await;
    assert_eq!(session.notified().await, "buy milk, call home");
}

#[tokio::test]
async fn a_message_starts_a_turn() {
    let mut session = example("send-message.ts", [ScriptedTurn::reply("looks good")]).await;
    std::fs::write(session.folder().join("a.txt"), "the text").unwrap();
    session.send("/review a.txt").await;
    let texts = session.request_texts_when_done().await;
    assert!(texts.last().is_some_and(|text| text.contains("Review this file:\n\nthe text")), "{texts:?}");
}

#[tokio::test]
async fn the_model_calls_the_tool() {
    let turns = [tool_turn("count_words", json!({ "text": "a b c" })), ScriptedTurn::reply("three")];
    let mut session = example("tool.ts", turns).await;
    session.turn("count").await;
    assert_eq!(session.request_texts().last().map(String::as_str), Some("3 words"));
}

#[tokio::test]
async fn a_dangerous_command_is_blocked() {
    let turns = [tool_turn("bash", json!({ "command": "rm -rf x" })), ScriptedTurn::reply("sorry")];
    let mut session = example("guard.ts", turns).await;
    session.turn("clean up").await;
    assert_eq!(session.request_texts().last().map(String::as_str), Some("Deleting folders is not allowed"));
}

#[tokio::test]
async fn without_a_terminal_the_picker_only_counts() {
    let mut session = example("picker.ts", [ScriptedTurn::reply("hi")]).await;
    session.turn("hello").await;
    session.send("/jump").await;
    assert_eq!(session.notified().await, "1 messages");
}

#[tokio::test]
async fn a_session_is_compacted_by_the_extension() {
    let long = "word ".repeat(30_000);
    let mut session = example(
        "compaction.ts",
        [ScriptedTurn::reply(&long), ScriptedTurn::reply(&long), ScriptedTurn::reply("c")],
    )
    .await;
    for prompt in ["first question", "second question", "third question"] {
        session.turn(prompt).await;
    }
    session.client_send(ClientCommand::Compact { focus: None }).await;
    let entries = session.entries().await;
    let compaction = entries.iter().find(|entry| entry["type"] == "compaction").expect("a compaction");
    assert!(
        compaction["summary"].as_str().unwrap().starts_with("You asked:\n- first question"),
        "{}",
        compaction["summary"]
    );
}
