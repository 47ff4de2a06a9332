//! Model and thinking level belong to the path.

use std::sync::Arc;

use osier_agent::{Client, Command, Error, Finished, Parts};
use osier_model::scripted::{Scripted, Turn};
use osier_model::{ModelInfo, ThinkingLevel};
use serde_json::json;

use crate::desk::Desk;

fn model(id: &str) -> Arc<ModelInfo> {
    Arc::new(ModelInfo { id: id.to_owned(), ..Scripted::info() })
}

fn knowing(ids: &[&str]) -> impl FnOnce(&mut Parts) {
    let known: Vec<Arc<ModelInfo>> = ids.iter().map(|id| model(id)).collect();
    |parts: &mut Parts| parts.lookup = Arc::new(known)
}

fn asked(desk: &Desk) -> Vec<String> {
    desk.model.requests().iter().map(|request| request.model.id.clone()).collect()
}

#[tokio::test]
async fn a_choice_made_between_turns_is_an_entry_at_once() {
    let desk = Desk::with([Turn::reply("one")], knowing(&["other"])).await;
    desk.send(Command::SetModel("scripted/other".into())).await;
    desk.send(Command::SetThinking(ThinkingLevel::High)).await;
    assert_eq!(desk.path().await, ["[model: other]", "[thinking: high]"]);
    desk.send(Command::SetThinking(ThinkingLevel::High)).await;
    assert_eq!(desk.path().await.len(), 2, "nothing changed, so nothing is written");
    desk.say("a").await;
    let request = &desk.model.requests()[0];
    assert_eq!((request.model.id.as_str(), request.thinking), ("other", ThinkingLevel::High));
    let unknown = desk.worker.send(Command::SetModel("scripted/none".into())).await;
    assert!(matches!(unknown, Err(Error::Model(_))), "{unknown:?}");
}

#[tokio::test]
async fn a_choice_made_during_a_turn_counts_from_the_next_call_of_the_model() {
    let desk = Desk::with(
        [Turn::new().call("c1", "bash", &json!({ "command": "true" })), Turn::reply("done")],
        knowing(&["other"]),
    )
    .await;
    let mut ear = desk.begin(Command::prompt("a")).await;
    let (question, _) = ear.until_asked().await;
    let before = desk.path().await.len();
    desk.send(Command::SetModel("scripted/other".into())).await;
    assert_eq!(desk.path().await.len(), before);
    desk.send(Command::Answer { question, answer: osier_agent::Answer::Once }).await;
    assert_eq!(ear.end().await.0, Some(Finished::Done));
    assert_eq!(asked(&desk), ["scripted", "other"]);
    assert_eq!(desk.path().await[before..], ["[bash: true]", "[model: other]", "assistant: \"done\""]);
}

#[tokio::test]
async fn the_path_decides_on_opening_and_after_moves_unless_a_flag_says_otherwise() {
    let desk = Desk::with([Turn::reply("one"), Turn::reply("two")], knowing(&["other"])).await;
    desk.say("a").await;
    let first = desk.worker.cursor().place();
    desk.send(Command::SetModel("scripted/other".into())).await;
    desk.say("b").await;
    let open = |change: fn(&mut Parts)| {
        let turns = [Turn::reply("x"), Turn::reply("y")];
        Desk::open(desk.store.clone(), desk.folder.clone(), turns, move |parts| {
            knowing(&["other", "third"])(parts);
            change(parts);
        })
    };
    let again = open(|_| {}).await;
    assert_eq!(again.worker.choice().await.unwrap().model.id, "other");
    again.worker.cursor().move_to(first).await.unwrap();
    assert_eq!(again.worker.choice().await.unwrap().model.id, "scripted");
    again.say("c").await;
    let flagged = open(|parts| parts.chosen_model = Some(model("third"))).await;
    let before = flagged.session().version();
    assert_eq!(flagged.worker.choice().await.unwrap().model.id, "third");
    assert_eq!(flagged.session().version(), before, "looking writes nothing");
    flagged.say("d").await;
    flagged.worker.cursor().move_to(first).await.unwrap();
    flagged.say("e").await;
    assert_eq!(
        (asked(&again), asked(&flagged)),
        (vec!["scripted".into()], vec!["third".into(), "scripted".into()])
    );
}

#[tokio::test]
async fn a_model_that_is_not_known_any_more_is_replaced_with_a_word_about_it() {
    let desk = Desk::with([Turn::reply("one")], knowing(&["gone"])).await;
    desk.send(Command::SetModel("scripted/gone".into())).await;
    desk.say("a").await;
    let again = desk.reopen([Turn::reply("two"), Turn::reply("three")]).await;
    let mut ear = again.begin(Command::prompt("b")).await;
    ear.end().await;
    assert_eq!(
        ear.notices(),
        ["scripted/gone is not known here any more; scripted/scripted answers instead"]
    );
    again.say("c").await;
    assert_eq!(asked(&again), ["scripted", "scripted"]);
    let changes = again.path().await.into_iter().filter(|line| line == "[model: scripted]").count();
    assert_eq!(changes, 1, "the path says so from then on");
}
