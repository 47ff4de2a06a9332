//! The model and thinking level are part of the path.

use std::sync::Arc;

use osier_agent::{AgentConfig, AgentError};
use osier_model::scripted::{ScriptedModel, ScriptedTurn};
use osier_model::{ModelInfo, ThinkingLevel};
use osier_protocol::{ClientCommand, TurnOutcome};
use serde_json::json;

use crate::harness::Harness;

fn model(id: &str) -> Arc<ModelInfo> {
    Arc::new(ModelInfo { id: id.to_owned(), ..ScriptedModel::info() })
}

fn with_models(ids: &[&str]) -> impl FnOnce(&mut AgentConfig) {
    let known: Vec<Arc<ModelInfo>> = ids.iter().map(|id| model(id)).collect();
    |config: &mut AgentConfig| config.model_lookup = Arc::new(known)
}

fn asked(harness: &Harness) -> Vec<String> {
    harness.model.requests().iter().map(|request| request.model.id.clone()).collect()
}

#[tokio::test]
async fn choice_between_turns_is_stored_at_once() {
    let harness = Harness::with([ScriptedTurn::reply("one")], with_models(&["other"])).await;
    harness.send(ClientCommand::SetModel { model: "scripted/other".into() }).await;
    harness.send(ClientCommand::SetThinking { level: ThinkingLevel::High }).await;
    assert_eq!(harness.path().await, ["[model: other]", "[thinking: high]"]);
    harness.send(ClientCommand::SetThinking { level: ThinkingLevel::High }).await;
    assert_eq!(harness.path().await.len(), 2, "no change, no entry");
    harness.say("a").await;
    let request = &harness.model.requests()[0];
    assert_eq!((request.model.id.as_str(), request.thinking), ("other", ThinkingLevel::High));
    let unknown = harness.worker.send(ClientCommand::SetModel { model: "scripted/none".into() }).await;
    assert!(matches!(unknown, Err(AgentError::Model(_))), "{unknown:?}");
}

#[tokio::test]
async fn choice_during_a_turn_applies_to_the_next_model_call() {
    let harness = Harness::with(
        [ScriptedTurn::new().call("c1", "bash", &json!({ "command": "true" })), ScriptedTurn::reply("done")],
        with_models(&["other"]),
    )
    .await;
    let mut listener = harness.begin(ClientCommand::prompt("a")).await;
    let (question, _) = listener.until_asked().await;
    let before = harness.path().await.len();
    harness.send(ClientCommand::SetModel { model: "scripted/other".into() }).await;
    assert_eq!(harness.path().await.len(), before);
    harness.send(ClientCommand::Answer { question, answer: osier_protocol::UserAnswer::Once }).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Done));
    assert_eq!(asked(&harness), ["scripted", "other"]);
    assert_eq!(harness.path().await[before..], ["[bash: true]", "[model: other]", "assistant: \"done\""]);
}

#[tokio::test]
async fn path_decides_the_model_unless_a_flag_overrides_it() {
    let harness =
        Harness::with([ScriptedTurn::reply("one"), ScriptedTurn::reply("two")], with_models(&["other"]))
            .await;
    harness.say("a").await;
    let first = harness.worker.cursor().position();
    harness.send(ClientCommand::SetModel { model: "scripted/other".into() }).await;
    harness.say("b").await;
    let open = |change: fn(&mut AgentConfig)| {
        let turns = [ScriptedTurn::reply("x"), ScriptedTurn::reply("y")];
        Harness::open(harness.store.clone(), harness.folder.clone(), turns, move |config| {
            with_models(&["other", "third"])(config);
            change(config);
        })
    };
    let reopened = open(|_| {}).await;
    assert_eq!(reopened.worker.model_choice().await.unwrap().model.id, "other");
    reopened.worker.cursor().move_to(first).await.unwrap();
    assert_eq!(reopened.worker.model_choice().await.unwrap().model.id, "scripted");
    reopened.say("c").await;
    let flagged = open(|config| config.chosen_model = Some(model("third"))).await;
    let before = flagged.session().version();
    assert_eq!(flagged.worker.model_choice().await.unwrap().model.id, "third");
    assert_eq!(flagged.session().version(), before, "reading the choice writes nothing");
    flagged.say("d").await;
    flagged.worker.cursor().move_to(first).await.unwrap();
    flagged.say("e").await;
    assert_eq!(
        (asked(&reopened), asked(&flagged)),
        (vec!["scripted".into()], vec!["third".into(), "scripted".into()])
    );
}

#[tokio::test]
async fn unknown_model_is_replaced_with_a_notice() {
    let harness = Harness::with([ScriptedTurn::reply("one")], with_models(&["gone"])).await;
    harness.send(ClientCommand::SetModel { model: "scripted/gone".into() }).await;
    harness.say("a").await;
    let reopened = harness.reopen([ScriptedTurn::reply("two"), ScriptedTurn::reply("three")]).await;
    let mut listener = reopened.begin(ClientCommand::prompt("b")).await;
    listener.end().await;
    assert_eq!(
        listener.notices(),
        ["scripted/gone is no longer configured; using scripted/scripted instead"]
    );
    reopened.say("c").await;
    assert_eq!(asked(&reopened), ["scripted", "scripted"]);
    let changes = reopened.path().await.into_iter().filter(|line| line == "[model: scripted]").count();
    assert_eq!(changes, 1, "the replacement is recorded once");
}
