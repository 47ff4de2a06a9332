//! Attaching to a session.

use osier_session::{Session, SessionEvent};
use osier_store::LogVersion;
use osier_tree::Seq;

use crate::support::{empty, env, exchange, memory, message, open, say, stored};

/// The first `until` sequence numbers that a client receives. It attaches again when it lagged.
async fn follow(session: Session, mut after: Option<LogVersion>, until: usize) -> Vec<Seq> {
    let mut seen = Vec::new();
    loop {
        let mut attached = session.attach(after).await.unwrap();
        assert!(!attached.reset);
        seen.extend(attached.entries().map(|(seq, ..)| seq));
        let mut version = attached.state.version;
        while seen.len() < until {
            match attached.events.next().await.expect("the session is open") {
                SessionEvent::Committed { seq, .. } => {
                    seen.push(seq);
                    version.entries = seq.index() + 1;
                }
                SessionEvent::Lagged { .. } => break,
                _ => {}
            }
        }
        if seen.len() >= until {
            return seen;
        }
        after = Some(version);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attach_has_no_gap_and_no_duplicate() {
    const ENTRIES: usize = 4 * 300;
    let store = memory();
    let session = empty(&store, env("a")).await;
    let other = open(&store, env("b")).await;
    let mut writers = tokio::task::JoinSet::new();
    for cursor in [
        session.main_cursor(),
        session.new_cursor(None).await.unwrap(),
        other.main_cursor(),
        other.new_cursor(None).await.unwrap(),
    ] {
        writers.spawn(async move {
            for _ in 0..300 {
                say(&cursor, "user", "x").await;
            }
        });
    }
    let mut clients = tokio::task::JoinSet::new();
    for at in 0..30 {
        let session = if at % 2 == 0 { session.clone() } else { other.clone() };
        clients.spawn(follow(session, None, ENTRIES));
        tokio::task::yield_now().await;
    }
    writers.join_all().await;
    let expected: Vec<Seq> = (0..ENTRIES).map(Seq::new).collect();
    for seen in clients.join_all().await {
        assert!(seen == expected, "{} of {ENTRIES}", seen.len());
    }
}

#[tokio::test]
async fn a_client_receives_only_new_entries() {
    let session = empty(&memory(), env("a")).await;
    exchange(&session.main_cursor(), "one").await;
    let seen = session.version();
    exchange(&session.main_cursor(), "two").await;
    let attached = session.attach(Some(seen)).await.unwrap();
    let ids: Vec<String> = attached.entries().map(|(_, id, _)| id.to_string()).collect();
    assert_eq!(ids, ["a0000003", "a0000004"]);
    assert!(!attached.reset);
    assert_eq!(session.attach(Some(session.version())).await.unwrap().entries().count(), 0);
}

#[tokio::test]
async fn a_client_of_another_log_is_reset() {
    let session = empty(&memory(), env("a")).await;
    exchange(&session.main_cursor(), "one").await;
    let now = session.version();
    for foreign in [LogVersion { generation: now.generation + 1, ..now }, LogVersion { entries: 9, ..now }] {
        let attached = session.attach(Some(foreign)).await.unwrap();
        assert!(attached.reset);
        assert_eq!(attached.entries().count(), 2);
    }
}

#[tokio::test]
async fn a_lagging_client_is_notified_and_receives_nothing_more() {
    let session = empty(&memory(), env("a")).await;
    let mut slow = session.attach(None).await.unwrap().events;
    for _ in 0..3000 {
        stored(session.main_cursor().commit(message("user", "x")).await);
    }
    assert!(matches!(slow.next().await, Some(SessionEvent::Lagged { missed }) if missed > 0));
    assert_eq!(slow.next().await, None);
    assert_eq!(follow(session, None, 3000).await.len(), 3000);
}

#[tokio::test]
async fn every_new_entry_has_a_preview() {
    let session = empty(&memory(), env("a")).await;
    say(&session.main_cursor(), "user", "look").await;
    let call = r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"t1","name":"bash","arguments":{"command":"ls"}}]}}"#;
    session.append_entry(call.as_bytes()).await.unwrap();
    let seen = session.version();
    let result = r#"{"type":"message","message":{"role":"toolResult","toolCallId":"t1","toolName":"bash","content":[]}}"#;
    session.append_entry(result.as_bytes()).await.unwrap();
    let whole = session.attach(None).await.unwrap().previews(&session, None).await.unwrap();
    let new = session.attach(Some(seen)).await.unwrap().previews(&session, None).await.unwrap();
    assert_eq!(whole.len(), 3);
    assert!(whole[0].contains("look"), "{whole:?}");
    assert!(whole[2].contains("ls"), "a result is shown as its call: {whole:?}");
    assert_eq!(new, whole[2..]);
}
