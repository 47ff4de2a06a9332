//! Entries that are still being written.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use osier_session::{Env, Event, Ids};

use crate::support::{Counted, drain, empty, env, memory, open, says, stored};

#[tokio::test]
async fn a_draft_is_shown_piece_by_piece_and_ends_with_its_entry() {
    let session = empty(&memory(), env("a")).await;
    let mut events = session.attach(None).await.unwrap().events;
    let draft = session.main().begin_draft().await.unwrap();
    draft.push("hel");
    draft.push("lo");
    let said = stored(session.main().commit(says("assistant", "hello").finishing(&draft)).await);
    assert_eq!(&*said.id, draft.id());
    drop(draft);
    session.sync().await.unwrap();
    let told = drain(&mut events);
    let [
        Event::DraftBegun { id: begun, .. },
        Event::Draft { index: 0, delta, .. },
        Event::Draft { index: 1, .. },
        Event::Committed { id, draft_id, .. },
    ] = &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!((&**delta, begun, draft_id.as_ref()), ("hel", id, Some(id)));
}

#[tokio::test]
async fn who_attaches_finds_the_open_drafts() {
    let session = empty(&memory(), env("a")).await;
    let draft = session.main().begin_draft().await.unwrap();
    draft.push("hel");
    let mut attached = session.attach(None).await.unwrap();
    assert_eq!(attached.drafts.len(), 1);
    assert_eq!(attached.drafts[0].deltas, ["hel".into()]);
    draft.push("lo");
    let Some(Event::Draft { index: 1, delta, .. }) = attached.events.next().await else { panic!() };
    assert_eq!(&*delta, "lo");
    stored(session.main().commit(says("assistant", "hello").finishing(&draft)).await);
    assert!(session.attach(None).await.unwrap().drafts.is_empty());
}

#[tokio::test]
async fn a_draft_that_comes_to_nothing_is_taken_back() {
    let store = memory();
    let session = empty(&store, env("a")).await;
    let draft = session.main().begin_draft().await.unwrap();
    let mut events = session.attach(None).await.unwrap().events;
    let id = draft.id().to_owned();
    drop(draft);
    assert!(matches!(events.next().await, Some(Event::DraftDropped { id: told }) if *told == *id));
    assert_eq!(open(&store, env("b")).await.version().entries, 0, "never stored");
}

/// Gives every id twice.
#[derive(Debug)]
struct Twice(Counted, AtomicUsize);

impl Ids for Twice {
    fn entry(&self) -> String {
        format!("{:08}", self.1.fetch_add(1, Ordering::Relaxed) / 2)
    }

    fn session(&self) -> String {
        self.0.session()
    }
}

#[tokio::test]
async fn no_entry_or_draft_takes_an_id_that_is_in_use() {
    let ids = Arc::new(Twice(Counted::new("a"), AtomicUsize::new(0)));
    let session = empty(&memory(), Env { ids, ..env("a") }).await;
    let draft = session.main().begin_draft().await.unwrap();
    let said = stored(session.main().commit(says("user", "x")).await);
    let other = session.main().begin_draft().await.unwrap();
    assert_eq!([draft.id(), &said.id, other.id()], ["00000000", "00000001", "00000002"]);
}

/// Knows one id only.
#[derive(Debug)]
struct Stuck;

impl Ids for Stuck {
    fn entry(&self) -> String {
        "aaaaaaaa".to_owned()
    }

    fn session(&self) -> String {
        "a longer one".to_owned()
    }
}

#[tokio::test]
async fn when_short_ids_run_out_an_entry_gets_a_longer_one() {
    let session = empty(&memory(), Env { ids: Arc::new(Stuck), ..env("a") }).await;
    assert_eq!(&*stored(session.main().commit(says("user", "x")).await).id, "aaaaaaaa");
    assert_eq!(&*stored(session.main().commit(says("user", "y")).await).id, "a longer one");
}
