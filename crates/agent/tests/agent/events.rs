//! What clients hear, and in which order.

use expect_test::expect;
use osier_agent::{Client, Command, Event, Live};
use osier_model::scripted::Turn;
use osier_session::Event as SessionEvent;
use serde_json::{Value, json};

use crate::desk::Desk;

/// One word for each event, drafts apart.
fn words(events: &[Event]) -> Vec<String> {
    let word = |event: &Event| {
        let json: Value = serde_json::from_str(&event.json()).unwrap();
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
async fn news_comes_between_the_entries_where_it_happened() {
    let desk = Desk::with(
        [Turn::new().text("I look.").call("c1", "bash", &json!({ "command": "true" })), Turn::reply("Done.")],
        |parts| parts.approval = Some(osier_tools::Mode::Yolo),
    )
    .await;
    // Whoever listens only when everything is over still hears it in order.
    let mut late = desk.listen().await;
    desk.say("go").await;
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
    .assert_eq(&words(&late.heard).join("\n"));
}

#[tokio::test]
async fn each_event_is_one_line_of_json_and_entries_are_copied() {
    let desk = Desk::new([Turn::reply("Hi.")]).await;
    let mut ear = desk.begin(Command::prompt("line\nfeed")).await;
    ear.end().await;
    for event in &ear.heard {
        let json = event.json();
        assert!(!json.contains('\n') && serde_json::from_str::<Value>(&json).is_ok(), "{json}");
        if let Event::Session(SessionEvent::Committed { line, .. }) = event {
            assert!(json.ends_with(&format!("\"entry\":{}}}", String::from_utf8_lossy(line))), "{json}");
        }
    }
    let drafts: Vec<String> =
        ear.heard.iter().map(Event::json).filter(|json| json.contains("text_delta")).collect();
    assert!(
        drafts[0].ends_with(r#""index":2,"delta":{"type":"text_delta","block":0,"delta":"Hi."}}"#),
        "{drafts:?}"
    );
}

#[tokio::test]
async fn whoever_joins_in_the_middle_misses_nothing_and_hears_nothing_twice() {
    let desk = Desk::new([Turn::reply("I am thin").hang()]).await;
    let mut ear = desk.begin(Command::prompt("go")).await;
    ear.until_draft("thin").await;
    let joined = desk.worker.attach(None).await.unwrap();
    assert!(joined.running && joined.state.version == desk.session().version());
    let said: String = joined.drafts[0].deltas.concat();
    assert!(said.contains("thin"), "{said}");
    let mut events = joined.events;
    desk.send(Command::Cancel).await;
    let mut heard = Vec::new();
    while !matches!(heard.last(), Some(Event::Live(Live::TurnEnded { .. }))) {
        heard.push(events.next().await.unwrap());
    }
    assert_eq!(words(&heard), ["entry assistant", "turn_ended"]);
}

#[tokio::test]
async fn a_listener_that_is_too_slow_is_told_so_and_has_to_join_again() {
    let long = "word ".repeat(3000);
    let desk = Desk::new([Turn::reply(long)]).await;
    let mut slow = desk.worker.attach(None).await.unwrap().events;
    desk.begin(Command::prompt("go")).await;
    // Only the end of the turn is waited for; nobody listens meanwhile.
    while desk.session().tree().head(desk.session().tree().leaf().unwrap()).role
        != osier_tree::Role::Assistant
    {
        tokio::task::yield_now().await;
    }
    let mut heard = Vec::new();
    while let Some(event) = slow.next().await {
        heard.push(event);
    }
    assert!(matches!(heard.last(), Some(Event::Session(SessionEvent::Lagged { .. }))));
}
