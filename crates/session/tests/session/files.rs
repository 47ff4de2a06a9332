//! Sessions in the file store, with several store instances as processes.

use std::sync::Arc;

use osier_session::{Session, SessionEvent};
use osier_store::{FileStore, Store};
use osier_tree::Header;

use crate::support::{drain, empty, env, exchange, open, say, stale, text_at};

/// A new store instance, as another process would have it.
fn files(folder: &tempfile::TempDir) -> Arc<dyn Store> {
    Arc::new(FileStore::new(folder.path().join("sessions"), Some(folder.path().join("cache"))))
}

#[tokio::test]
async fn a_process_sees_what_another_appends_to_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let one = empty(&files(&folder), env("a")).await;
    let two = open(&files(&folder), env("b")).await;
    let mut events = two.attach(None).await.unwrap().events;
    exchange(&one.main_cursor(), "hello").await;
    loop {
        match events.next().await.unwrap() {
            SessionEvent::CursorMoved { .. } => break,
            SessionEvent::Committed { foreign, .. } => assert!(foreign),
            SessionEvent::ContinuedElsewhere { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: HELLO");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processes_on_one_file_make_branches_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let first = empty(&files(&folder), stale("a")).await;
    exchange(&first.main_cursor(), "hello").await;
    let mut sessions = Vec::new();
    for letter in ["b", "c", "d"] {
        sessions.push((letter, open(&files(&folder), env(letter)).await));
    }
    let mut turns = Vec::new();
    for (letter, session) in &sessions {
        // Each session asks in its own branch.
        say(&session.main_cursor(), "user", letter).await;
        turns.push(session.main_cursor().begin_turn().await.unwrap());
    }
    let mut writers = tokio::task::JoinSet::new();
    for ((letter, session), turn) in sessions.into_iter().zip(turns) {
        writers.spawn(async move {
            for _ in 0..20 {
                exchange(&session.main_cursor(), letter).await;
                session.rename(letter).await.unwrap();
            }
            drop(turn);
            let path = session.tree().path(session.main_cursor().position());
            path.iter().filter(|seq| session.tree().head(**seq).kind.reaches_context()).count()
        });
    }
    for length in writers.join_all().await {
        assert_eq!(length, 2 + 41, "a running turn stays on its own path");
    }
    let all = open(&files(&folder), env("e")).await;
    assert_eq!(all.version().entries, 2 + 3 * 61);
    assert!(all.tree().heads().is_regular());
}

#[tokio::test]
async fn a_session_in_an_old_file_continues_after_its_migration() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("old.jsonl");
    let old = concat!(
        r#"{"type":"session","id":"old","timestamp":"2025-01-01T00:00:00.000Z","cwd":"/here"}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-01-01T00:00:00.000Z","message":{"role":"user","content":"hello"}}"#,
        "\n",
        r#"{"type":"message","timestamp":"2025-01-01T00:00:01.000Z","message":{"role":"assistant","content":"HELLO"}}"#,
        "\n",
    );
    std::fs::write(&path, old).unwrap();
    let key = FileStore::path_to_id(&path).unwrap();
    let session = Session::open(files(&folder), &key, env("a")).await.unwrap();
    assert_eq!((session.id(), session.key()), ("old", &*key));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), old, "opening wrote nothing");
    let mut events = session.attach(None).await.unwrap().events;
    exchange(&session.main_cursor(), "more").await;
    exchange(&session.main_cursor(), "and more").await;
    session.refresh().await.unwrap();
    let received = drain(&mut events);
    assert!(received.iter().all(|event| matches!(event, SessionEvent::Committed { .. })), "{received:?}");
    assert_eq!(received.len(), 4);
    assert_eq!(session.tree().path(session.main_cursor().position()).len(), 6);
    let reopened = Session::open(files(&folder), &key, env("b")).await.unwrap();
    assert_eq!(text_at(&reopened.main_cursor()).await, "assistant: AND MORE");
    assert_eq!(reopened.tree().path(reopened.main_cursor().position()).len(), 6);
}

#[tokio::test]
async fn committing_to_a_deleted_file_fails_and_does_not_create_it() {
    let folder = tempfile::tempdir().unwrap();
    let store = files(&folder);
    let session = Session::create(store, &Header::new("s", 0, "/here"), &[], stale("a")).await.unwrap();
    say(&session.main_cursor(), "user", "hello").await;
    let path = session.file().unwrap().to_owned();
    std::fs::remove_file(&path).unwrap();
    let failed = session.rename("x").await;
    assert!(failed.is_err());
    assert!(!path.exists());
    assert_eq!(session.version().entries, 1);
}

/// Entries of two sessions must never be mixed.
#[tokio::test]
async fn a_file_that_now_contains_another_session_is_not_appended_to() {
    for in_place in [false, true] {
        let folder = tempfile::tempdir().unwrap();
        let session = empty(&files(&folder), env("a")).await;
        exchange(&session.main_cursor(), "hello").await;
        let path = session.file().unwrap().to_owned();
        let id = session.id().to_owned();
        let other = "z".repeat(id.len());
        let (old, new) = (format!("\"id\":\"{id}\""), format!("\"id\":\"{other}\""));
        let text = std::fs::read_to_string(&path).unwrap().replacen(&old, &new, 1);
        if in_place {
            std::fs::write(&path, &text).unwrap();
        } else {
            std::fs::write(folder.path().join("new"), &text).unwrap();
            std::fs::rename(folder.path().join("new"), &path).unwrap();
        }
        for _ in 0..2 {
            let error = session.rename("mine").await.unwrap_err();
            assert!(error.to_string().contains(&format!("its file now contains session {other}")), "{error}");
        }
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text, "nothing is written");
        assert_eq!(session.tree().len(), 2, "the entries in memory stay");
    }
}
