//! What is said while the agent works.

use osier_agent::{Client, Command, Finished, Reply, Said, When};
use osier_model::scripted::Turn;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::counting::Counting;
use crate::desk::{Desk, Ear};

fn say(when: When, text: &str) -> Command {
    Command::Prompt { text: text.to_owned(), images: Vec::new(), files: Vec::new(), when }
}

/// A turn that stands still with a question about its second call of two.
async fn standing_still(rest: impl IntoIterator<Item = Turn>) -> (Desk, Ear, u64) {
    let calls = Turn::new()
        .call("c1", "ls", &json!({}))
        .call("c2", "bash", &json!({ "command": "true" }))
        .call("c3", "bash", &json!({ "command": "echo third" }));
    let desk = Desk::new(std::iter::once(calls).chain(rest)).await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    let (question, _) = ear.until_asked().await;
    (desk, ear, question)
}

async fn allow(desk: &Desk, question: u64) {
    let bash = osier_tools::Allowance::Tool("bash".into());
    desk.send(Command::Answer { question, answer: osier_agent::Answer::Always(bash) }).await;
}

fn users(told: &[String]) -> Vec<&str> {
    told.iter().filter_map(|told| told.strip_prefix("user: ")).collect()
}

#[tokio::test]
async fn steering_is_heard_after_the_batch_one_at_a_time_and_no_call_is_skipped() {
    let (desk, mut ear, question) = standing_still([Turn::reply("left"), Turn::reply("and right")]).await;
    assert_eq!(desk.send(say(When::Steer, "go left")).await, Reply::Queued);
    assert_eq!(desk.send(say(When::Steer, "then right")).await, Reply::Queued);
    allow(&desk, question).await;
    assert_eq!(ear.end().await.0, Some(Finished::Done));
    let sent = desk.model.requests();
    assert_eq!(sent.len(), 3);
    let told = desk.last_request();
    assert!(told[4].contains("third"), "{told:#?}");
    assert_eq!(
        told[5..],
        ["user: go left".to_owned(), "assistant: left".to_owned(), "user: then right".to_owned()]
    );
}

#[tokio::test]
async fn a_follow_up_is_heard_when_the_turn_would_end() {
    let more = Turn::new().call("c4", "ls", &json!({}));
    let (desk, mut ear, question) = standing_still([more, Turn::reply("first"), Turn::reply("second")]).await;
    desk.send(say(When::FollowUp, "and then?")).await;
    allow(&desk, question).await;
    assert_eq!(ear.end().await.0, Some(Finished::Done));
    assert_eq!(users(&desk.last_request()), ["go", "and then?"]);
    assert_eq!(desk.last_request().iter().rposition(|told| told == "assistant: first"), Some(7));
}

#[tokio::test]
async fn without_a_turn_steering_and_follow_ups_are_said_now() {
    let desk = Desk::new([Turn::reply("one"), Turn::reply("two")]).await;
    for when in [When::Steer, When::FollowUp] {
        assert_eq!(desk.run(say(when, "hi")).await, Finished::Done);
    }
}

#[tokio::test]
async fn what_waits_is_kept_in_the_settings_until_it_is_said() {
    let (desk, mut ear, question) = standing_still([Turn::reply("left")]).await;
    desk.send(say(When::Steer, "go left")).await;
    desk.send(say(When::FollowUp, "later")).await;
    let kept = |desk: &Desk| desk.session().tree().marks().settings().get("queue").cloned();
    assert_eq!(
        kept(&desk),
        Some(json!({ "steering": [{ "text": "go left" }], "followUp": [{ "text": "later" }] }))
    );
    let attached = desk.worker.attach(None).await.unwrap();
    assert_eq!((attached.queue.steering.len(), attached.running), (1, true));
    assert_eq!(
        desk.send(Command::Unqueue).await,
        Reply::Returned(vec![Said::text("go left"), Said::text("later")])
    );
    assert_eq!(kept(&desk), None);
    desk.send(say(When::Steer, "go right")).await;
    allow(&desk, question).await;
    ear.end().await;
    assert_eq!((kept(&desk), users(&desk.last_request())), (None, vec!["go", "go right"]));
}

#[tokio::test]
async fn after_a_crash_what_waited_returns_to_the_editor_and_is_not_said_by_itself() {
    let (desk, _ear, _) = standing_still([]).await;
    desk.send(say(When::Steer, "go left")).await;
    desk.send(say(When::FollowUp, "later")).await;
    let again = desk.reopen([Turn::reply("fine"), Turn::reply("good")]).await;
    let returned = || async { again.worker.attach(None).await.unwrap().returned };
    assert_eq!(returned().await, [Said::text("go left"), Said::text("later")]);
    again.say("never mind").await;
    assert_eq!(users(&again.last_request()), ["go", "never mind"]);
    assert_eq!(returned().await, []);
    assert!(!again.session().tree().marks().settings().contains_key("queue"));
}

#[tokio::test]
async fn what_was_said_just_before_a_crash_does_not_return() {
    let (desk, _ear, _) = standing_still([]).await;
    for text in ["go left", "go left", "later"] {
        desk.send(say(When::Steer, text)).await;
    }
    // The first was stored, and the process died before it took it out of the queue.
    let said =
        br#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"go left"}]}}"#;
    desk.session().append_entry(said).await.unwrap();
    let again = desk.reopen([]).await;
    let returned = again.worker.attach(None).await.unwrap().returned;
    assert_eq!(returned, [Said::text("go left"), Said::text("later")]);
}

#[tokio::test]
async fn opening_a_session_with_something_waiting_writes_nothing() {
    let (desk, _ear, _) = standing_still([]).await;
    desk.send(say(When::Steer, "go left")).await;
    let before = desk.session().version();
    let again = desk.reopen([]).await;
    again.worker.attach(None).await.unwrap();
    assert_eq!(again.session().version(), before);
}

#[tokio::test]
async fn what_comes_in_the_last_moment_of_a_turn_is_said_in_another_one() {
    let store = Counting::new();
    let desk = Desk::on(store.clone(), [Turn::reply("one"), Turn::reply("two")], |_| {}).await;
    store.syncs.forget_permits(Semaphore::MAX_PERMITS);
    store.syncs.add_permits(1);
    let mut ear = desk.begin(Command::prompt("go")).await;
    // The reply is stored and the turn ends, but the store is slow to make it safe.
    ear.until(|event| event.json().contains("\"stopReason\"").then_some(())).await;
    let go_on = async {
        ear.until(|event| event.json().contains("\"queue\"").then_some(())).await;
        store.syncs.add_permits(100);
    };
    tokio::join!(desk.send(say(When::FollowUp, "and then?")), go_on);
    ear.end().await;
    ear.end().await;
    assert_eq!(users(&desk.last_request()), ["go", "and then?"]);
}
