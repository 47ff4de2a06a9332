//! Prompts that arrive during a turn.

use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, CommandReply, Prompt, PromptTiming, TurnOutcome};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::counting_store::counting_store;
use crate::harness::{EventListener, Harness};

fn say(when: PromptTiming, text: &str) -> ClientCommand {
    ClientCommand::timed_prompt(Prompt { text: text.to_owned(), ..Prompt::default() }, when)
}

/// A turn that waits for approval of the second of its two calls.
async fn waiting_for_approval(rest: impl IntoIterator<Item = ScriptedTurn>) -> (Harness, EventListener, u64) {
    let calls = ScriptedTurn::new()
        .call("c1", "ls", &json!({}))
        .call("c2", "bash", &json!({ "command": "true" }))
        .call("c3", "bash", &json!({ "command": "echo third" }));
    let harness = Harness::new(std::iter::once(calls).chain(rest)).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    let (question, _) = listener.until_asked().await;
    (harness, listener, question)
}

async fn allow(harness: &Harness, question: u64) {
    harness.send(ClientCommand::SetApproval { mode: osier_tools::ApprovalMode::Yolo }).await;
    harness.send(ClientCommand::Answer { question, answer: osier_protocol::UserAnswer::Once }).await;
}

fn users(lines: &[String]) -> Vec<&str> {
    lines.iter().filter_map(|lines| lines.strip_prefix("user: ")).collect()
}

#[tokio::test]
async fn steering_is_delivered_after_the_batch_one_at_a_time() {
    let (harness, mut listener, question) =
        waiting_for_approval([ScriptedTurn::reply("left"), ScriptedTurn::reply("and right")]).await;
    assert_eq!(harness.send(say(PromptTiming::Steer, "go left")).await, CommandReply::Queued);
    assert_eq!(harness.send(say(PromptTiming::Steer, "then right")).await, CommandReply::Queued);
    allow(&harness, question).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Done));
    let sent = harness.model.requests();
    assert_eq!(sent.len(), 3);
    let lines = harness.last_request();
    assert!(lines[4].contains("third"), "{lines:#?}");
    assert_eq!(
        lines[5..],
        ["user: go left".to_owned(), "assistant: left".to_owned(), "user: then right".to_owned()]
    );
}

#[tokio::test]
async fn follow_up_is_delivered_when_the_turn_would_end() {
    let more = ScriptedTurn::new().call("c4", "ls", &json!({}));
    let (harness, mut listener, question) =
        waiting_for_approval([more, ScriptedTurn::reply("first"), ScriptedTurn::reply("second")]).await;
    harness.send(say(PromptTiming::FollowUp, "and then?")).await;
    allow(&harness, question).await;
    assert_eq!(listener.end().await.0, Some(TurnOutcome::Done));
    assert_eq!(users(&harness.last_request()), ["go", "and then?"]);
    assert_eq!(harness.last_request().iter().rposition(|lines| lines == "assistant: first"), Some(7));
}

#[tokio::test]
async fn steering_and_follow_ups_are_sent_at_once_when_idle() {
    let harness = Harness::new([ScriptedTurn::reply("one"), ScriptedTurn::reply("two")]).await;
    for when in [PromptTiming::Steer, PromptTiming::FollowUp] {
        assert_eq!(harness.run(say(when, "hi")).await, TurnOutcome::Done);
    }
}

#[tokio::test]
async fn queue_is_stored_until_delivery() {
    let (harness, mut listener, question) = waiting_for_approval([ScriptedTurn::reply("left")]).await;
    harness.send(say(PromptTiming::Steer, "go left")).await;
    harness.send(say(PromptTiming::FollowUp, "later")).await;
    let kept = |harness: &Harness| harness.session().tree().marks().settings().get("queue").cloned();
    assert_eq!(
        kept(&harness),
        Some(json!({ "steering": [{ "text": "go left" }], "followUp": [{ "text": "later" }] }))
    );
    let attached = harness.worker.attach(None).await.unwrap();
    assert_eq!((attached.state.queue.steering.len(), attached.state.turn_running), (1, true));
    assert_eq!(
        harness.send(ClientCommand::ClearQueue).await,
        CommandReply::Returned {
            prompts: vec![Prompt::text("go left"), Prompt::text("later")],
            follow_ups: 1
        }
    );
    assert_eq!(kept(&harness), None);
    harness.send(say(PromptTiming::Steer, "go right")).await;
    allow(&harness, question).await;
    listener.end().await;
    assert_eq!((kept(&harness), users(&harness.last_request())), (None, vec!["go", "go right"]));
}

#[tokio::test]
async fn queued_prompts_return_to_the_editor_after_a_crash() {
    let (harness, _listener, _) = waiting_for_approval([]).await;
    harness.send(say(PromptTiming::Steer, "go left")).await;
    harness.send(say(PromptTiming::FollowUp, "later")).await;
    let reopened = harness.reopen([ScriptedTurn::reply("fine"), ScriptedTurn::reply("good")]).await;
    let returned = || async { reopened.worker.attach(None).await.unwrap().state.returned_prompts };
    assert_eq!(returned().await, [Prompt::text("go left"), Prompt::text("later")]);
    reopened.say("never mind").await;
    assert_eq!(users(&reopened.last_request()), ["go", "never mind"]);
    assert_eq!(returned().await, []);
    assert!(!reopened.session().tree().marks().settings().contains_key("queue"));
}

#[tokio::test]
async fn the_queue_of_a_process_that_died_next_to_this_one_stays_for_the_next_client() {
    let (dead, _listener, _) = waiting_for_approval([]).await;
    dead.send(say(PromptTiming::Steer, "go left")).await;
    dead.send(say(PromptTiming::FollowUp, "later")).await;
    let call = ScriptedTurn::new().call("c9", "bash", &json!({ "command": "true" }));
    let harness = dead.open_next_to([call]).await;
    let returned = |harness: &Harness| {
        let worker = harness.worker.clone();
        async move { worker.attach(None).await.unwrap().state.returned_prompts }
    };
    assert_eq!(returned(&harness).await, [], "the other process will deliver them");
    let mut listener = harness.listen().await;
    dead.release_leases().await;
    harness.send(ClientCommand::prompt("go on")).await;
    listener.until_asked().await;
    harness.send(say(PromptTiming::Steer, "mine")).await;
    let left = ["go left", "later", "mine"].map(Prompt::text);
    assert_eq!(returned(&harness.reopen([]).await).await, left, "also after another crash");
    assert_eq!(returned(&harness).await, left[..2]);
}

#[tokio::test]
async fn the_queue_survives_a_clean_end_of_the_process() {
    let (harness, _listener, _) = waiting_for_approval([]).await;
    harness.send(say(PromptTiming::FollowUp, "later")).await;
    harness.worker.finish().await.unwrap();
    let reopened = harness.reopen([]).await;
    let returned = reopened.worker.attach(None).await.unwrap().state.returned_prompts;
    assert_eq!(returned, [Prompt::text("later")]);
}

#[tokio::test]
async fn prompt_delivered_just_before_a_crash_does_not_return() {
    let (harness, _listener, _) = waiting_for_approval([]).await;
    for text in ["go left", "go left", "later"] {
        harness.send(say(PromptTiming::Steer, text)).await;
    }
    // The first prompt was stored, and the process died before it removed it from the queue.
    let said =
        br#"{"type":"message","message":{"role":"user","content":[{"type":"text","text":"go left"}]}}"#;
    harness.session().append_entry(said).await.unwrap();
    let reopened = harness.reopen([]).await;
    let returned = reopened.worker.attach(None).await.unwrap().state.returned_prompts;
    assert_eq!(returned, [Prompt::text("go left"), Prompt::text("later")]);
}

#[tokio::test]
async fn opening_a_session_with_a_queue_writes_nothing() {
    let (harness, _listener, _) = waiting_for_approval([]).await;
    harness.send(say(PromptTiming::Steer, "go left")).await;
    let before = harness.session().version();
    let reopened = harness.reopen([]).await;
    reopened.worker.attach(None).await.unwrap();
    assert_eq!(reopened.session().version(), before);
}

#[tokio::test]
async fn prompt_queued_at_the_end_of_a_turn_starts_another() {
    let store = counting_store();
    let harness =
        Harness::on(store.clone(), [ScriptedTurn::reply("one"), ScriptedTurn::reply("two")], |_| {}).await;
    store.syncs.forget_permits(Semaphore::MAX_PERMITS);
    store.syncs.add_permits(1);
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    // The reply is stored and the turn ends, but `sync` is slow.
    listener.until(|event| event.to_json().contains("\"stopReason\"").then_some(())).await;
    let go_on = async {
        listener.until(|event| event.to_json().contains("\"queue\"").then_some(())).await;
        store.syncs.add_permits(100);
    };
    tokio::join!(harness.send(say(PromptTiming::FollowUp, "and then?")), go_on);
    listener.end().await;
    listener.end().await;
    assert_eq!(users(&harness.last_request()), ["go", "and then?"]);
}
