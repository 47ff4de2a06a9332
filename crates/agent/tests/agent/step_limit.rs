//! The limit of model calls for one prompt.

use osier_agent::AgentConfig;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, Prompt, PromptTiming, Question, TurnOutcome, UserAnswer};
use serde_json::json;

use crate::harness::Harness;

/// A model that calls a tool in every reply.
fn endless(calls: usize) -> impl Iterator<Item = ScriptedTurn> {
    (0..calls).map(|number| ScriptedTurn::new().call(format!("c{number}"), "ls", &json!({})))
}

fn limited(limit: u32, attended: bool) -> impl FnOnce(&mut AgentConfig) {
    move |config: &mut AgentConfig| {
        config.max_steps = limit;
        config.has_user = attended;
    }
}

#[tokio::test]
async fn turn_ends_at_the_limit_without_a_user() {
    let harness = Harness::with(endless(9), limited(3, false)).await;
    let (finished, error) = harness.begin(ClientCommand::prompt("go")).await.end().await;
    assert_eq!(finished, Some(TurnOutcome::StepLimit));
    assert_eq!(
        error.as_deref(),
        Some("stopped after 3 model calls, the limit for one prompt (the setting max_steps)")
    );
    assert_eq!(harness.model.requests().len(), 3);
    // Every call has its result, so the path can be resumed or continued.
    assert_eq!(harness.run(ClientCommand::Resume).await, TurnOutcome::StepLimit);
    assert_eq!(harness.model.requests().len(), 6);
    assert_eq!(harness.say("go on").await, TurnOutcome::StepLimit);
    assert_eq!(harness.model.requests().len(), 9);
}

#[tokio::test]
async fn user_decides_whether_to_continue() {
    let harness = Harness::with(endless(9), limited(3, true)).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    for calls in [3, 6] {
        let (question, asked_question) = listener.until_asked().await;
        assert_eq!(asked_question, Question::Continue { model_calls: 3 });
        assert_eq!(harness.model.requests().len(), calls);
        let answer = if calls == 3 { UserAnswer::Once } else { UserAnswer::No { reason: String::new() } };
        harness.send(ClientCommand::Answer { question, answer }).await;
    }
    assert_eq!(listener.end().await.0, Some(TurnOutcome::StepLimit));
    assert_eq!(harness.model.requests().len(), 6);
}

#[tokio::test]
async fn cancel_at_the_question_cancels_the_turn() {
    let harness = Harness::with(endless(9), limited(3, true)).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    listener.until_asked().await;
    harness.send(ClientCommand::Cancel).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Cancelled));
    assert_eq!(harness.model.requests().len(), 3);
}

#[tokio::test]
async fn steering_resets_the_call_count() {
    let mut turns: Vec<ScriptedTurn> = endless(2).collect();
    turns.push(ScriptedTurn::new().call("ask", "bash", &json!({ "command": "true" })));
    turns.extend([ScriptedTurn::new().call("x", "ls", &json!({})), ScriptedTurn::reply("done")]);
    let harness = Harness::with(turns, limited(3, true)).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    let (question, _) = listener.until_asked().await;
    let text = "this way".to_owned();
    harness
        .send(ClientCommand::timed_prompt(Prompt { text, ..Prompt::default() }, PromptTiming::Steer))
        .await;
    harness.send(ClientCommand::Answer { question, answer: UserAnswer::Once }).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Done));
    assert_eq!(harness.model.requests().len(), 5);
}
