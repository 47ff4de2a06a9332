//! Entries that are still being written.

use osier_session::Event;

use crate::support::{drain, empty, env, memory, open, says, stored};

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

#[tokio::test]
async fn no_entry_takes_the_id_of_an_open_draft() {
    let session = empty(&memory(), env("a")).await;
    let draft = session.main().begin_draft().await.unwrap();
    let said = stored(session.main().commit(says("user", "x")).await);
    assert_ne!(&*said.id, draft.id());
}
