//! Rules for appending, watching, rewriting and deleting.

use std::time::Duration;

use async_trait::async_trait;
use osier_tree::Seq;

use super::{Fixture, all_lines, chain, created, message, one_line};
use crate::{DeletedCounts, LineBatch, LineSource, LogVersion, StoreError};

/// Returns two lines at a time, and optionally fails at the end.
struct TwoAtATime {
    lines: Vec<Vec<u8>>,
    fails: bool,
}

#[async_trait]
impl LineSource for TwoAtATime {
    async fn next_lines(&mut self) -> Result<Vec<Vec<u8>>, StoreError> {
        match self.lines.is_empty() && self.fails {
            true => Err(StoreError::Replaced),
            false => Ok(self.lines.drain(..self.lines.len().min(2)).collect()),
        }
    }
}

pub async fn creating_a_session_from_a_line_source_is_atomic(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let (lines, header) = (chain(7), super::header("one"));
    let failed = store.create_from(&header, &mut TwoAtATime { lines: lines.clone(), fails: true }).await;
    assert!(matches!(failed, Err(StoreError::Replaced)), "{failed:?}");
    assert!(matches!(fixture.reopened().await.open("one").await, Err(StoreError::NotFound { .. })));
    let source = || TwoAtATime { lines: lines.clone(), fails: false };
    let created = store.create_from(&header, &mut source()).await.expect("a session");
    assert_eq!(created.version.entries, 7);
    assert_eq!(all_lines(&*fixture.reopened().await, "one").await, lines);
    let again = store.create_from(&header, &mut source()).await;
    assert!(matches!(again, Err(StoreError::AlreadyExists { .. })), "{again:?}");
}

pub async fn an_append_is_visible_to_every_instance(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    let lines = chain(5);
    let created = created(&*store, "one", &lines[..1]).await.version;
    assert_eq!(other.open("one").await.expect("opens").version, created);
    let version = store.append("one", created, &lines[1..3]).await.expect("an append");
    assert_eq!(version, LogVersion { entries: 3, ..created });
    let version = other.open("one").await.map(|opened| opened.version).expect("opens");
    assert_eq!(version.entries, 3);
    other.append("one", version, &lines[3..]).await.expect("an append by the other");
    for store in [store, other, fixture.reopened().await] {
        assert_eq!(all_lines(&*store, "one").await, lines);
    }
}

pub async fn an_append_to_a_stale_version_returns_the_current_version(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    let lines = chain(3);
    let created = created(&*store, "one", &lines[..1]).await.version;
    other.open("one").await.expect("opens");
    let now = store.append("one", created, &lines[1..2]).await.expect("an append");
    for store in [&store, &other] {
        let late_append = store.append("one", created, &lines[2..]).await;
        assert!(
            matches!(late_append, Err(StoreError::Conflict { now: current }) if current == now),
            "{late_append:?}"
        );
        assert_eq!(all_lines(&**store, "one").await, lines[..2]);
    }
    other.append("one", now, &lines[2..]).await.expect("an append to the returned version");
    assert_eq!(all_lines(&*store, "one").await, lines);
}

pub async fn an_append_is_all_or_nothing(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let lines = chain(20);
    let created = created(&*store, "one", &lines[..2]).await.version;
    let wrong = LogVersion { entries: 1, ..created };
    assert!(store.append("one", wrong, &lines[2..]).await.is_err());
    assert_eq!(all_lines(&*fixture.reopened().await, "one").await, lines[..2]);
    let version = store.append("one", created, &lines[2..]).await.expect("an append of many");
    assert_eq!(version.entries, 20);
    assert_eq!(all_lines(&*fixture.reopened().await, "one").await, lines);
}

pub async fn many_writers_lose_nothing(fixture: &dyn Fixture) {
    const WRITERS: usize = 8;
    const EACH: usize = 100;
    let created = created(&*fixture.store().await, "one", &[]).await.version;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        let store = fixture.reopened().await;
        writers.spawn(async move {
            let mut expected = created;
            for at in 0..EACH {
                let line = message(&format!("{writer:04}{at:04}"), None, at, "text");
                loop {
                    match store.append("one", expected, std::slice::from_ref(&line)).await {
                        Ok(version) => break expected = version,
                        Err(StoreError::Conflict { now }) => expected = now,
                        Err(error) => panic!("{error}"),
                    }
                    tokio::task::yield_now().await;
                }
            }
        });
    }
    writers.join_all().await;
    let lines = all_lines(&*fixture.reopened().await, "one").await;
    assert_eq!(lines.len(), WRITERS * EACH);
    for writer in 0..WRITERS {
        let own = format!("\"id\":\"{writer:04}");
        let own: Vec<&Vec<u8>> =
            lines.iter().filter(|line| String::from_utf8_lossy(line).contains(&own)).collect();
        let expected: Vec<Vec<u8>> =
            (0..EACH).map(|at| message(&format!("{writer:04}{at:04}"), None, at, "text")).collect();
        assert!(own.into_iter().eq(&expected), "the lines of writer {writer} changed or their order did");
    }
}

pub async fn a_watch_reports_appends_of_other_instances(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    let lines = chain(4);
    let mut version = created(&*store, "one", &lines[..1]).await.version;
    let mut watch = store.watch("one").await.expect("a watch");
    other.open("one").await.expect("opens");
    for line in &lines[1..] {
        version = other.append("one", version, std::slice::from_ref(line)).await.expect("an append");
        let seen = async {
            while store.open("one").await.expect("opens").version.entries < version.entries {
                watch.changed().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), seen).await.expect("a notification within 30 s");
    }
}

pub async fn synced_lines_are_still_there(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let lines = chain(2);
    let created = created(&*store, "one", &lines[..1]).await.version;
    store.append("one", created, &lines[1..]).await.expect("an append");
    store.sync("one").await.expect("syncs");
    store.sync("one").await.expect("syncs again");
    assert_eq!(all_lines(&*fixture.reopened().await, "one").await, lines);
}

pub async fn a_rewrite_starts_a_new_generation(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    let lines = chain(6);
    let old = created(&*store, "one", &lines).await.version;
    other.open("one").await.expect("opens");
    let new = store.rewrite("one", old, &lines[..3]).await.expect("a rewrite");
    assert_eq!(
        store.open("one").await.expect("opens").header.rewrite_count,
        1,
        "the header counts the rewrite"
    );
    assert_ne!(new.generation, old.generation);
    assert_eq!(new.entries, 3);
    for store in [&store, &other] {
        let appended = store.append("one", old, &lines[3..]).await;
        assert!(matches!(appended, Err(StoreError::Replaced)), "{appended:?}");
        assert_eq!(store.open("one").await.expect("opens").version, new);
        let heads = store.heads("one", old.generation, 0, 10).await;
        assert!(matches!(heads, Err(StoreError::Replaced)), "{heads:?}");
        assert!(matches!(one_line(&**store, "one", old, 0).await, Err(StoreError::Replaced)));
        assert_eq!(all_lines(&**store, "one").await, lines[..3]);
    }
    other.append("one", new, &lines[3..]).await.expect("an append to the new generation");
    assert_eq!(all_lines(&*store, "one").await, lines);
}

pub async fn a_rewrite_of_a_stale_version_changes_nothing(fixture: &dyn Fixture) {
    let store = fixture.store().await;
    let lines = chain(3);
    let created = created(&*store, "one", &lines[..1]).await.version;
    let now = store.append("one", created, &lines[1..]).await.expect("an append");
    let late_append = store.rewrite("one", created, &lines[..1]).await;
    assert!(
        matches!(late_append, Err(StoreError::Conflict { now: current }) if current == now),
        "{late_append:?}"
    );
    assert_eq!(all_lines(&*fixture.reopened().await, "one").await, lines);
}

pub async fn a_deletion_returns_counts_and_can_be_repeated(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    created(&*store, "one", &chain(3)).await;
    let version = created(&*store, "two", &chain(1)).await.version;
    other.open("one").await.expect("opens");
    let deleted = store.delete("one").await.expect("deletes");
    assert_eq!(
        (deleted.deleted, &*deleted.store, deleted.counts),
        (true, store.name(), DeletedCounts { sessions: 1, entries: 3 })
    );
    let again = store.delete("one").await.expect("deletes nothing");
    assert_eq!((again.deleted, again.counts), (false, DeletedCounts::default()));
    let opened = store.open("one").await;
    assert!(matches!(opened, Err(StoreError::NotFound { .. })), "{opened:?}");
    let appended = other.append("one", version, &chain(1)).await;
    assert!(appended.is_err(), "an append created a deleted session");
    let mut batch = LineBatch::default();
    store
        .lines("two", version.generation, &[Seq::new(0)], &mut batch)
        .await
        .expect("the other session stays");
    assert_eq!(fixture.reopened().await.find_ids("").await.expect("finds"), ["two"]);
}

pub async fn an_open_session_is_deleted_only_after_it_is_closed(fixture: &dyn Fixture) {
    let (store, other) = (fixture.store().await, fixture.reopened().await);
    let version = created(&*store, "one", &chain(2)).await.version;
    let watches = [store.watch("one").await.expect("a watch"), other.watch("one").await.expect("a watch")];
    if !fixture.tracks_open_sessions() {
        assert!(store.delete("one").await.expect("deletes").deleted);
        return;
    }
    for watch in watches {
        for store in [&store, &other] {
            assert!(store.is_in_use("one").await.expect("answers"));
            let refused = store.delete("one").await;
            assert!(matches!(&refused, Err(StoreError::Busy { id }) if id == "one"), "{refused:?}");
        }
        drop(watch);
    }
    assert!(!store.is_in_use("two").await.expect("answers"), "it does not exist");
    assert_eq!(other.open("one").await.expect("opens").version, version);
    // A server may learn about the closed session a moment later.
    let deleted = async {
        loop {
            match store.delete("one").await {
                Err(StoreError::Busy { .. }) => tokio::task::yield_now().await,
                deleted => break deleted.expect("deletes").deleted,
            }
        }
    };
    let deleted = tokio::time::timeout(Duration::from_secs(30), deleted)
        .await
        .expect("the session is still open after 30 s");
    assert!(deleted);
}
