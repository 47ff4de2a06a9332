//! Live drafts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier_session::{IdSource, SessionEnv, SessionEvent};
use osier_tree::ReplyDelta;

use crate::support::{Counted, drain, empty, env, memory, message, open, stored};

fn text(delta: &str) -> ReplyDelta {
    ReplyDelta::TextDelta { block: 0, delta: delta.to_owned() }
}

#[tokio::test]
async fn a_draft_streams_deltas_and_ends_with_its_entry() {
    let session = empty(&memory(), env("a")).await;
    let mut events = session.attach(None).await.unwrap().events;
    let draft = session.main_cursor().begin_draft().await.unwrap();
    draft.push(text("hel"));
    draft.push(text("lo"));
    let entry =
        stored(session.main_cursor().commit(message("assistant", "hello").finish_draft(&draft)).await);
    assert_eq!(&*entry.id, draft.id());
    drop(draft);
    session.sync().await.unwrap();
    let received = drain(&mut events);
    let [
        SessionEvent::DraftStarted { id: begun, .. },
        SessionEvent::DraftDelta { index: 0, delta, .. },
        SessionEvent::DraftDelta { index: 1, .. },
        SessionEvent::Committed { id, draft_id, .. },
    ] = &received[..]
    else {
        panic!("{received:?}")
    };
    assert_eq!((delta.text(), begun, draft_id.as_ref()), ("hel", id, Some(id)));
}

#[tokio::test]
async fn attaching_returns_the_open_drafts() {
    let session = empty(&memory(), env("a")).await;
    let draft = session.main_cursor().begin_draft().await.unwrap();
    draft.push(text("hel"));
    let mut attached = session.attach(None).await.unwrap();
    assert_eq!(attached.drafts.len(), 1);
    assert_eq!(attached.drafts[0].deltas, [Arc::new(text("hel"))]);
    draft.push(text("lo"));
    let Some(SessionEvent::DraftDelta { index: 1, delta, .. }) = attached.events.next().await else {
        panic!()
    };
    assert_eq!(delta.text(), "lo");
    stored(session.main_cursor().commit(message("assistant", "hello").finish_draft(&draft)).await);
    assert!(session.attach(None).await.unwrap().drafts.is_empty());
}

#[tokio::test]
async fn a_dropped_draft_is_discarded() {
    let store = memory();
    let session = empty(&store, env("a")).await;
    let draft = session.main_cursor().begin_draft().await.unwrap();
    let mut events = session.attach(None).await.unwrap().events;
    let id = draft.id().to_owned();
    drop(draft);
    assert!(
        matches!(events.next().await, Some(SessionEvent::DraftDropped { id: dropped }) if dropped == *id)
    );
    assert_eq!(open(&store, env("b")).await.version().entries, 0, "the draft is never stored");
}

/// Returns every id twice.
#[derive(Debug)]
struct DuplicateIds(Counted, AtomicUsize);

impl IdSource for DuplicateIds {
    fn entry(&self) -> String {
        format!("{:08}", self.1.fetch_add(1, Ordering::Relaxed) / 2)
    }

    fn session(&self) -> String {
        self.0.session()
    }
}

#[tokio::test]
async fn entries_and_drafts_never_share_an_id() {
    let ids = Arc::new(DuplicateIds(Counted::new("a"), AtomicUsize::new(0)));
    let session = empty(&memory(), SessionEnv { ids, ..env("a") }).await;
    let draft = session.main_cursor().begin_draft().await.unwrap();
    let entry = stored(session.main_cursor().commit(message("user", "x")).await);
    let other = session.main_cursor().begin_draft().await.unwrap();
    assert_eq!([draft.id(), &entry.id, other.id()], ["00000000", "00000001", "00000002"]);
}

/// Always returns the same id.
#[derive(Debug)]
struct ConstantId;

impl IdSource for ConstantId {
    fn entry(&self) -> String {
        "aaaaaaaa".to_owned()
    }

    fn session(&self) -> String {
        "a longer one".to_owned()
    }
}

#[tokio::test]
async fn an_entry_gets_a_longer_id_when_short_ids_run_out() {
    let session = empty(&memory(), SessionEnv { ids: Arc::new(ConstantId), ..env("a") }).await;
    assert_eq!(&*stored(session.main_cursor().commit(message("user", "x")).await).id, "aaaaaaaa");
    assert_eq!(&*stored(session.main_cursor().commit(message("user", "y")).await).id, "a longer one");
}
