//! Approvals: questions, answers, and what the model gets.

use osier_agent::{AgentError, UnattendedHints};
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, OpenQuestion, Question, TurnOutcome, UserAnswer};
use osier_tools::{Allowance, ApprovalMode, ProposedChange};
use serde_json::json;

use crate::harness::{EventListener, Harness};

fn write(id: &str, path: &str) -> ScriptedTurn {
    ScriptedTurn::new().call(id, "write", &json!({ "path": path, "content": "x" }))
}

fn bash(id: &str, command: &str) -> ScriptedTurn {
    ScriptedTurn::new().call(id, "bash", &json!({ "command": command }))
}

/// Answers the next question, and returns the change that it was about.
async fn answer(
    harness: &Harness,
    listener: &mut EventListener,
    answer: impl FnOnce(Vec<Allowance>) -> UserAnswer,
) -> ProposedChange {
    let (question, asked_question) = listener.until_asked().await;
    let Question::Tool(asked_question) = asked_question else { panic!("{asked_question:?}") };
    harness.send(ClientCommand::Answer { question, answer: answer(asked_question.allowances) }).await;
    asked_question.change
}

#[tokio::test]
async fn answering_once_allows_only_this_call() {
    let harness = Harness::new([write("c1", "a"), write("c2", "b"), ScriptedTurn::reply("done")]).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    answer(&harness, &mut listener, |_| UserAnswer::Once).await;
    answer(&harness, &mut listener, |_| UserAnswer::No { reason: "enough".into() }).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Done));
    assert!(harness.has("a") && !harness.has("b"));
    assert!(harness.last_results()[0].starts_with("not allowed: enough\n"), "the model gets the reason");
    assert_eq!(harness.session().tree().marks().settings().get("approvalTools"), None);
}

#[tokio::test]
async fn answering_always_allows_the_tool_for_the_session() {
    let harness =
        Harness::new([write("c1", "a"), write("c2", "b"), bash("c3", "true"), ScriptedTurn::reply("done")])
            .await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    answer(&harness, &mut listener, |mut offers| UserAnswer::Always { allowance: offers.remove(0) }).await;
    let next = answer(&harness, &mut listener, |_| UserAnswer::Once).await;
    assert!(matches!(next, ProposedChange::Command { .. }), "other tools still need approval: {next:?}");
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Done));
    assert_eq!(harness.session().tree().marks().settings()["approvalTools"], json!(["write"]));
    let reopened = harness.reopen([write("c4", "c"), ScriptedTurn::reply("done")]).await;
    assert_eq!(reopened.say("more").await, TurnOutcome::Done);
    assert!(reopened.has("c"), "the approval is stored in the session");
    let other = Harness::new([write("c1", "d"), ScriptedTurn::reply("done")]).await;
    other.begin(ClientCommand::prompt("go")).await.until_asked().await;
}

#[tokio::test]
async fn answering_always_allows_only_the_same_command_family() {
    let harness = Harness::new([
        bash("c1", "ls"),
        bash("c2", "ls -l"),
        bash("c3", "git push"),
        ScriptedTurn::reply("done"),
    ])
    .await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    answer(&harness, &mut listener, |mut offers| UserAnswer::Always { allowance: offers.remove(0) }).await;
    let asked_question = answer(&harness, &mut listener, |_| UserAnswer::No { reason: String::new() }).await;
    assert_eq!(asked_question, ProposedChange::Command { command: "git push".into() });
    listener.end().await;
    assert_eq!(harness.session().tree().marks().settings()["approvalTools"], json!(["bash:ls"]));
}

#[tokio::test]
async fn calls_are_refused_without_a_user_and_the_reason_has_the_configured_hint() {
    let harness = Harness::with(
        [write("c1", "a"), bash("c2", "touch b"), ScriptedTurn::reply("Then not.")],
        |config| {
            config.has_user = false;
            let [writes, runs, other] = ["try A", "try B", "try C"].map(str::to_owned);
            config.unattended_hints = UnattendedHints { writes, runs, other };
        },
    )
    .await;
    assert_eq!(harness.say("go").await, TurnOutcome::Done);
    assert!(!harness.has("a") && !harness.has("b"));
    let lines = harness.last_request();
    assert!(lines[2].contains("no user is present to approve it; try A"), "{}", lines[2]);
    assert!(lines[4].contains("no user is present to approve it; try C"), "{}", lines[4]);
}

#[tokio::test]
async fn mode_of_a_run_is_not_stored_but_a_set_mode_is() {
    let harness = Harness::with([write("c1", "a"), ScriptedTurn::reply("done")], |config| {
        config.has_user = false;
        config.approval_mode = Some(ApprovalMode::AutoEdit);
    })
    .await;
    harness.say("go").await;
    assert!(harness.has("a"));
    assert_eq!(harness.session().tree().marks().settings().get("approvalMode"), None);
    let reopened = harness.reopen([write("c2", "b"), bash("c3", "true"), ScriptedTurn::reply("done")]).await;
    reopened.send(ClientCommand::SetApproval { mode: ApprovalMode::Yolo }).await;
    assert_eq!(reopened.say("go").await, TurnOutcome::Done);
    assert!(reopened.has("b"));
    assert_eq!(reopened.session().tree().marks().settings()["approvalMode"], json!("yolo"));
}

#[tokio::test]
async fn attaching_shows_open_questions_and_only_those_can_be_answered() {
    let harness = Harness::new([write("c1", "a"), ScriptedTurn::reply("done")]).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    let (question, asked_question) = listener.until_asked().await;
    assert_eq!(
        harness.worker.attach(None).await.unwrap().state.open_questions,
        [OpenQuestion { id: question, question: asked_question, agent: None }]
    );
    harness.send(ClientCommand::Answer { question, answer: UserAnswer::Once }).await;
    listener.end().await;
    let late = harness.worker.send(ClientCommand::Answer { question, answer: UserAnswer::Once }).await;
    assert!(matches!(late, Err(AgentError::QuestionNotOpen { id }) if id == question));
}

#[tokio::test]
async fn file_that_changes_during_the_question_is_not_overwritten() {
    let harness = Harness::new([write("c1", "a"), ScriptedTurn::reply("done")]).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    let (question, _) = listener.until_asked().await;
    harness.write("a", "mine");
    harness.send(ClientCommand::Answer { question, answer: UserAnswer::Once }).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Done));
    let lines = &harness.last_results()[0];
    assert!(lines.starts_with("nothing was changed: a has different content than when"), "{lines}");
}
