//! What clients receive, and in which order.

use expect_test::expect;
use futures_util::StreamExt;
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{ClientCommand, ClientEvent, EntryEvent, ReplyDelta};
use osier_store::StoreError;
use osier_tree::Seq;
use serde_json::{Value, json};

use crate::harness::Harness;

/// One word for each event, without drafts.
fn words(events: &[ClientEvent]) -> Vec<String> {
    let word = |event: &ClientEvent| {
        let json: Value = serde_json::from_str(&event.to_json()).unwrap();
        let kind = json["type"].as_str().unwrap().to_owned();
        match kind.as_str() {
            "draft" => None,
            "entry" => {
                let entry = &json["entry"];
                let role = entry["message"]["role"].as_str().or(entry["type"].as_str()).unwrap();
                Some(format!("entry {role}"))
            }
            _ => Some(kind),
        }
    };
    events.iter().filter_map(word).collect()
}

#[tokio::test]
async fn live_events_are_ordered_between_entries() {
    let harness = Harness::with(
        [
            ScriptedTurn::new().text("I look.").call("c1", "bash", &json!({ "command": "true" })),
            ScriptedTurn::reply("Done."),
        ],
        |config| config.approval_mode = Some(osier_tools::ApprovalMode::Yolo),
    )
    .await;
    // A client that reads only after the turn still gets all events in order.
    let mut late = harness.listen().await;
    harness.say("go").await;
    late.end().await;
    expect![[r#"
        turn_started
        entry model_change
        entry system
        entry user
        draft_begun
        entry assistant
        tool_started
        tool_ended
        entry toolResult
        draft_begun
        entry assistant
        turn_ended"#]]
    .assert_eq(&words(&late.received).join("\n"));
}

#[tokio::test]
async fn each_event_is_one_json_line_with_the_stored_entry() {
    let harness = Harness::new([ScriptedTurn::reply("Hi.")]).await;
    let mut listener = harness.begin(ClientCommand::prompt("line\nfeed")).await;
    listener.end().await;
    for event in &listener.received {
        let json = event.to_json();
        assert!(!json.contains('\n') && serde_json::from_str::<Value>(&json).is_ok(), "{json}");
        if let ClientEvent::Entry(EntryEvent { entry, .. }) = event {
            assert!(
                json.ends_with(&format!("\"entry\":{}}}", String::from_utf8_lossy(entry.bytes()))),
                "{json}"
            );
        }
    }
    let drafts: Vec<String> = listener
        .received
        .iter()
        .map(ClientEvent::to_json)
        .filter(|json| json.contains("text_delta"))
        .collect();
    assert!(
        drafts[0].ends_with(r#""index":2,"delta":{"type":"text_delta","block":0,"delta":"Hi."}}"#),
        "{drafts:?}"
    );
}

#[tokio::test]
async fn attaching_during_a_turn_has_no_gaps_or_duplicates() {
    let harness = Harness::new([ScriptedTurn::reply("I am thin").hang()]).await;
    let mut listener = harness.begin(ClientCommand::prompt("go")).await;
    listener.until_draft("thin").await;
    let joined = harness.worker.attach(None).await.unwrap();
    assert!(
        joined.state.turn_running && joined.state.position.entries == harness.session().version().entries
    );
    let said: String = joined.state.drafts[0].deltas.iter().map(ReplyDelta::text).collect();
    assert!(said.contains("thin"), "{said}");
    let mut events = joined.events;
    harness.send(ClientCommand::Cancel).await;
    let mut received = Vec::new();
    while !matches!(received.last(), Some(ClientEvent::TurnEnded { .. })) {
        received.push(events.next().await.unwrap());
    }
    assert_eq!(words(&received), ["entry assistant", "turn_ended"]);
}

#[tokio::test]
async fn slow_receiver_gets_lagged_and_must_attach_again() {
    let long = "word ".repeat(3000);
    let harness = Harness::new([ScriptedTurn::reply(long)]).await;
    let mut slow = harness.worker.attach(None).await.unwrap().events;
    harness.begin(ClientCommand::prompt("go")).await;
    // Only the end of the turn is awaited; no client reads events until then.
    while harness.session().tree().head(harness.session().tree().leaf().unwrap()).role
        != osier_tree::MessageRole::Assistant
    {
        tokio::task::yield_now().await;
    }
    let mut received = Vec::new();
    while let Some(event) = slow.next().await {
        received.push(event);
    }
    assert!(matches!(received.last(), Some(ClientEvent::Lagged { .. })));
}

#[tokio::test]
async fn events_from_before_the_log_was_replaced_arrive_even_if_the_new_log_is_shorter() {
    let harness = Harness::new([ScriptedTurn::reply("Hi.")]).await;
    let mut late = harness.listen().await;
    harness.say("go").await;
    // Another process keeps only the first line.
    let session = harness.session();
    let mut lines = Vec::new();
    let read = |_, line: &[u8]| -> Result<(), StoreError> {
        lines.push(line.to_vec());
        Ok(())
    };
    session.for_each_line(session.version(), &[Seq::new(0)], read).await.unwrap();
    harness.store.rewrite_in_use("s", session.version(), &lines).await.unwrap();
    session.refresh().await.unwrap();
    late.end().await;
    assert_eq!(words(&late.received).last().unwrap(), "turn_ended");
    late.until(|event| matches!(event, ClientEvent::Reset(_)).then_some(())).await;
    // Events of the new log are in order too.
    harness.send(ClientCommand::Rename { name: "new".to_owned() }).await;
    late.until(|event| matches!(event, ClientEvent::Entry(_)).then_some(())).await;
}
