//! A turn belongs to one process, no matter what others do.

use osier_session::{Commit, Session, SessionError, TurnGuard};
use osier_store::{Lease, StoreError};
use osier_tree::{PlanError, Seq};

use crate::support::{empty, env, exchange, memory, open, say, stale, stored, text_at};

/// The conflicting lease.
fn holder<T: std::fmt::Debug>(refused: Result<T, SessionError>) -> Lease {
    match refused {
        Err(SessionError::Store(error @ StoreError::Leased { .. })) => {
            assert_eq!(error.code().name(), "session_busy");
            let StoreError::Leased { lease } = error else { unreachable!() };
            *lease
        }
        other => panic!("{other:?}"),
    }
}

async fn turn(session: &Session) -> TurnGuard {
    session.main_cursor().begin_turn().await.unwrap()
}

#[tokio::test]
async fn a_second_process_can_start_a_turn_only_at_another_position() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (_, reply) = exchange(&one.main_cursor(), "hello").await;
    let two = open(&store, stale("b")).await;
    let running = turn(&one).await;
    let lease = holder(two.main_cursor().begin_turn().await);
    assert_eq!((lease.process, &*lease.host), (std::process::id(), "here"));
    assert_eq!(lease.entry.as_deref(), Some(&*reply.id));
    assert!(!two.main_cursor().state().busy);
    two.main_cursor().move_to(Some(Seq::new(0))).await.unwrap();
    turn(&two).await.end().await.unwrap();
    two.main_cursor().move_to_entry(Some(reply.id.to_string())).await.unwrap_err();
    running.end().await.unwrap();
    two.main_cursor().move_to_entry(Some(reply.id.to_string())).await.unwrap();
    turn(&two).await;
}

#[tokio::test]
async fn the_entries_of_a_turn_belong_to_it_until_it_ends() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    exchange(&one.main_cursor(), "hello").await;
    let running = turn(&one).await;
    let appended = say(&one.main_cursor(), "user", "more").await;
    let calls = say(&one.main_cursor(), "calls", "bash").await;
    let two = open(&store, stale("b")).await;
    assert_eq!(text_at(&two.main_cursor()).await, "calls: bash");
    let lease = holder(two.main_cursor().begin_turn().await);
    assert_eq!(lease.branch.as_deref(), Some(&*appended.id));
    two.main_cursor().move_to(None).await.expect("moving elsewhere is allowed");
    assert_eq!(holder(two.main_cursor().move_to(Some(appended.seq)).await), lease);
    assert_eq!(holder(two.main_cursor().undo().await), lease);
    let refused = two.main_cursor().check_no_foreign_turn(&two.tree(), Some(appended.seq)).await;
    assert_eq!(holder(refused), lease);
    assert_eq!(holder(two.delete_branch(&appended.id).await), lease);
    assert_eq!(holder(two.delete_branch(&calls.id).await), lease, "also a part of the branch");
    assert_eq!(holder(two.delete_branch("a0000001").await), lease);
    two.label(&appended.id, Some("later")).await.expect("marks are allowed");
    running.end().await.unwrap();
    two.main_cursor().move_to(Some(appended.seq)).await.unwrap();
    two.delete_branch(&appended.id).await.unwrap();
}

#[tokio::test]
async fn a_sibling_branch_of_a_running_turn_can_be_deleted() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (_, reply) = exchange(&one.main_cursor(), "hello").await;
    let (sibling, _) = exchange(&one.main_cursor(), "sibling").await;
    one.main_cursor().move_to(Some(reply.seq)).await.unwrap();
    let _running = turn(&one).await;
    say(&one.main_cursor(), "user", "more").await;
    let two = open(&store, stale("b")).await;
    two.delete_branch(&sibling.id).await.unwrap();
    assert!(store.leases("s").await.unwrap().len() == 1, "the deletion did not release its lease");
}

#[tokio::test]
async fn a_lease_follows_a_turn_to_another_branch() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (first, _) = exchange(&one.main_cursor(), "hello").await;
    let _running = turn(&one).await;
    let appended = say(&one.main_cursor(), "user", "more").await;
    let to = first.id.clone();
    let message =
        osier_tree::scan::RawJson::parse(br#"{"role":"user","content":"back"}"#).unwrap().bytes().to_vec();
    let jump = Commit::new(move |tree, _| {
        tree.plan_message(Some(tree.require(&to)?), osier_tree::scan::RawJson::parse(&message).unwrap())
    });
    let jumped = stored(one.main_cursor().commit(jump).await);
    let two = open(&store, stale("b")).await;
    let lease = holder(two.delete_branch(&jumped.id).await);
    assert_eq!((lease.entry.as_deref(), lease.branch.as_deref()), (Some(&*first.id), Some(&*jumped.id)));
    two.delete_branch(&appended.id).await.expect("the turn has left that branch");
}

#[tokio::test]
async fn cursors_of_one_process_can_start_turns_at_one_position() {
    let session = empty(&memory(), env("a")).await;
    exchange(&session.main_cursor(), "hello").await;
    let side = session.new_cursor(session.main_cursor().position()).await.unwrap();
    let turns = (turn(&session).await, side.begin_turn().await.unwrap());
    assert_eq!(session.store().leases("s").await.unwrap().len(), 2);
    drop(turns.0);
    turns.1.end().await.unwrap();
    assert!(session.store().leases("s").await.unwrap().is_empty());
}

#[tokio::test]
async fn no_turn_starts_in_a_branch_that_another_process_deleted() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (first, _) = exchange(&one.main_cursor(), "hello").await;
    let two = open(&store, stale("b")).await;
    two.delete_branch(&first.id).await.unwrap();
    let refused = one.main_cursor().begin_turn().await;
    assert!(matches!(refused, Err(SessionError::Plan(PlanError::Hidden { .. }))), "{refused:?}");
    assert_eq!(text_at(&one.main_cursor()).await, "root");
    assert!(store.leases("s").await.unwrap().is_empty());
    turn(&one).await;
}

#[tokio::test]
async fn a_turn_that_nobody_waits_for_any_more_does_not_begin() {
    let session = empty(&memory(), env("a")).await;
    let main = session.main_cursor();
    tokio::select! {
        biased;
        _ = main.begin_turn() => panic!("it does not wait"),
        () = std::future::ready(()) => {}
    }
    main.begin_turn().await.expect("the place is free").end().await.unwrap();
    assert!(session.store().leases("s").await.unwrap().is_empty());
}

#[tokio::test]
async fn a_turn_ends_with_its_cursor_and_with_its_session() {
    let store = memory();
    let session = empty(&store, env("a")).await;
    let side = session.new_cursor(None).await.unwrap();
    let turns = (turn(&session).await, side.begin_turn().await.unwrap());
    assert_eq!(store.leases("s").await.unwrap().len(), 2);
    drop((turns.1, side));
    // Whatever is asked next comes after it.
    session.refresh().await.unwrap();
    assert_eq!(store.leases("s").await.unwrap().len(), 1);
    drop((turns.0, session));
    let ended = async {
        while !store.leases("s").await.unwrap().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(60), ended).await.expect("the lease is kept");
}
