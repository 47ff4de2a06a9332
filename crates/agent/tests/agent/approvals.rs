//! Approvals: questions, answers, and what the model gets.

use osier_agent::{Answer, Client, Command, Error, Finished, Question};
use osier_model::scripted::Turn;
use osier_tools::{Allowance, Change, Mode};
use serde_json::json;

use crate::harness::{EventListener, Harness};

fn write(id: &str, path: &str) -> Turn {
    Turn::new().call(id, "write", &json!({ "path": path, "content": "x" }))
}

fn bash(id: &str, command: &str) -> Turn {
    Turn::new().call(id, "bash", &json!({ "command": command }))
}

/// Answers the next question, and returns the change that it was about.
async fn answer(
    harness: &Harness,
    listener: &mut EventListener,
    answer: impl FnOnce(Vec<Allowance>) -> Answer,
) -> Change {
    let (question, asked) = listener.until_asked().await;
    let Question::Tool(asked) = asked else { panic!("{asked:?}") };
    harness.send(Command::Answer { question, answer: answer(asked.offers) }).await;
    asked.what
}

#[tokio::test]
async fn answering_once_allows_only_this_call() {
    let harness = Harness::new([write("c1", "a"), write("c2", "b"), Turn::reply("done")]).await;
    let mut listener = harness.begin(Command::prompt("go")).await;
    answer(&harness, &mut listener, |_| Answer::Once).await;
    answer(&harness, &mut listener, |_| Answer::No("enough".into())).await;
    assert_eq!(listener.end().await.0, Some(Finished::Done));
    assert!(harness.has("a") && !harness.has("b"));
    assert!(harness.last_results()[0].starts_with("not allowed: enough\n"), "the model gets the reason");
    assert_eq!(harness.session().tree().marks().settings().get("approvalTools"), None);
}

#[tokio::test]
async fn answering_always_allows_the_tool_for_the_session() {
    let harness =
        Harness::new([write("c1", "a"), write("c2", "b"), bash("c3", "true"), Turn::reply("done")]).await;
    let mut listener = harness.begin(Command::prompt("go")).await;
    answer(&harness, &mut listener, |mut offers| Answer::Always(offers.remove(0))).await;
    let next = answer(&harness, &mut listener, |_| Answer::Once).await;
    assert!(matches!(next, Change::Command { .. }), "other tools still need approval: {next:?}");
    assert_eq!(listener.end().await.0, Some(Finished::Done));
    assert_eq!(harness.session().tree().marks().settings()["approvalTools"], json!(["write"]));
    let again = harness.reopen([write("c4", "c"), Turn::reply("done")]).await;
    assert_eq!(again.say("more").await, Finished::Done);
    assert!(again.has("c"), "the approval is stored in the session");
    let other = Harness::new([write("c1", "d"), Turn::reply("done")]).await;
    other.begin(Command::prompt("go")).await.until_asked().await;
}

#[tokio::test]
async fn answering_always_allows_only_the_same_command_family() {
    let harness =
        Harness::new([bash("c1", "ls"), bash("c2", "ls -l"), bash("c3", "git push"), Turn::reply("done")])
            .await;
    let mut listener = harness.begin(Command::prompt("go")).await;
    answer(&harness, &mut listener, |mut offers| Answer::Always(offers.remove(0))).await;
    let asked = answer(&harness, &mut listener, |_| Answer::No(String::new())).await;
    assert_eq!(asked, Change::Command { command: "git push".into() });
    listener.end().await;
    assert_eq!(harness.session().tree().marks().settings()["approvalTools"], json!(["bash:ls"]));
}

#[tokio::test]
async fn calls_are_refused_without_a_user_and_the_reason_names_the_flags() {
    let harness =
        Harness::with([write("c1", "a"), bash("c2", "touch b"), Turn::reply("Then not.")], |parts| {
            parts.attended = false;
        })
        .await;
    assert_eq!(harness.say("go").await, Finished::Done);
    assert!(!harness.has("a") && !harness.has("b"));
    let lines = harness.last_request();
    assert!(
        lines[2].contains("no user is present to approve it; `--approval autoEdit` allows"),
        "{}",
        lines[2]
    );
    assert!(
        lines[4].contains("no user is present to approve it; `--approval yolo` allows it"),
        "{}",
        lines[4]
    );
}

#[tokio::test]
async fn mode_of_a_run_is_not_stored_but_a_set_mode_is() {
    let harness = Harness::with([write("c1", "a"), Turn::reply("done")], |parts| {
        parts.attended = false;
        parts.approval = Some(Mode::AutoEdit);
    })
    .await;
    harness.say("go").await;
    assert!(harness.has("a"));
    assert_eq!(harness.session().tree().marks().settings().get("approvalMode"), None);
    let again = harness.reopen([write("c2", "b"), bash("c3", "true"), Turn::reply("done")]).await;
    again.send(Command::SetApproval(Mode::Yolo)).await;
    assert_eq!(again.say("go").await, Finished::Done);
    assert!(again.has("b"));
    assert_eq!(again.session().tree().marks().settings()["approvalMode"], json!("yolo"));
}

#[tokio::test]
async fn attaching_shows_open_questions_and_only_those_can_be_answered() {
    let harness = Harness::new([write("c1", "a"), Turn::reply("done")]).await;
    let mut listener = harness.begin(Command::prompt("go")).await;
    let (question, asked) = listener.until_asked().await;
    assert_eq!(harness.worker.attach(None).await.unwrap().asked, [(question, asked)]);
    harness.send(Command::Answer { question, answer: Answer::Once }).await;
    listener.end().await;
    let late = harness.worker.send(Command::Answer { question, answer: Answer::Once }).await;
    assert!(matches!(late, Err(Error::NoQuestion { id }) if id == question));
}

#[tokio::test]
async fn file_that_changes_during_the_question_is_not_overwritten() {
    let harness = Harness::new([write("c1", "a"), Turn::reply("done")]).await;
    let mut listener = harness.begin(Command::prompt("go")).await;
    let (question, _) = listener.until_asked().await;
    harness.write("a", "mine");
    harness.send(Command::Answer { question, answer: Answer::Once }).await;
    assert_eq!(listener.end().await.0, Some(Finished::Done));
    let lines = &harness.last_results()[0];
    assert!(lines.starts_with("nothing was changed: a has different content than when"), "{lines}");
}
