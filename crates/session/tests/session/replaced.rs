//! A log that is replaced under open sessions, as `gc` does it.

use std::sync::Arc;

use expect_test::expect;
use osier_session::{Error, Session, TurnGuard};
use osier_store::{Store, StoreError};
use osier_tree::Seq;
use rustc_hash::FxHashMap;

use crate::support::{draw, empty, exchange, memory, open, say, stale, stands};

/// Removes deleted branches although the session is open.
async fn collect(store: &Arc<dyn Store>) {
    let session = open(store, stale("g")).await;
    let (tree, version) = (session.tree(), session.version());
    let plan = tree.plan_gc();
    let wanted: Vec<Seq> = plan.lines().collect();
    let mut lines: FxHashMap<Seq, Vec<u8>> = FxHashMap::default();
    let read = session.each_line(version, &wanted, |seq, line| {
        lines.insert(seq, line.to_vec());
        Ok::<_, StoreError>(())
    });
    read.await.unwrap();
    let new = tree.gc(&plan, &lines, 0, || session.env().ids.entry()).unwrap();
    assert!(plan.removed() > 0);
    store.rewrite_in_use("s", version, &new).await.unwrap();
}

/// A turn at work, and a branch beside it that another process deletes and collects after a move.
async fn swept_beside(session: &Session, store: &Arc<dyn Store>) -> TurnGuard {
    let (_, reply) = exchange(&session.main(), "hello").await;
    let (beside, _) = exchange(&session.main(), "beside").await;
    session.main().move_to(Some(reply.seq)).await.unwrap();
    let turn = session.main().begin_turn().await.unwrap();
    say(&session.main(), "user", "more").await;
    say(&session.main(), "calls", "bash").await;
    let other = open(store, stale("o")).await;
    other.delete_branch(&beside.id).await.unwrap();
    session.refresh().await.unwrap();
    other.main().move_to(None).await.unwrap();
    collect(store).await;
    turn
}

#[tokio::test]
async fn a_turn_goes_on_where_it_was() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let turn = swept_beside(&one, &store).await;
    say(&one.main(), "toolResult", "done").await;
    turn.end().await.unwrap();
    expect![[r#"
        user: hello
        assistant: HELLO
          leaf
          user: more
          calls: bash
          toolResult: done  ← main
        leaf
    "#]]
    .assert_eq(&draw(&one).await);
}

#[tokio::test]
async fn an_idle_window_stays_and_remembers_where_it_was() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    swept_beside(&one, &store).await.end().await.unwrap();
    one.refresh().await.unwrap();
    assert_eq!(stands(&one.main()).await, "calls: bash");
    let (_, from) = one.main().here();
    one.main().move_to(Some(Seq::new(0))).await.unwrap();
    one.main().undo().await.unwrap();
    assert_eq!(stands(&one.main()).await, "calls: bash");
    assert!(one.tree().same_place(from, one.main().place()));
}

#[tokio::test]
async fn answers_to_two_questions_stay_apart() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (_, reply) = exchange(&one.main(), "hello").await;
    let (beside, _) = exchange(&one.main(), "beside").await;
    one.main().move_to(Some(reply.seq)).await.unwrap();
    let two = open(&store, stale("b")).await;
    say(&one.main(), "user", "first question").await;
    say(&two.main(), "user", "second question").await;
    let turns = (one.main().begin_turn().await.unwrap(), two.main().begin_turn().await.unwrap());
    let other = open(&store, stale("o")).await;
    other.delete_branch(&beside.id).await.unwrap();
    for session in [&one, &two] {
        session.refresh().await.unwrap();
    }
    collect(&store).await;
    say(&one.main(), "assistant", "first answer").await;
    say(&two.main(), "assistant", "second answer").await;
    drop(turns);
    one.refresh().await.unwrap();
    expect![[r#"
        user: hello
        assistant: HELLO
          user: second question
          assistant: second answer
          leaf
          user: first question
          assistant: first answer  ← main
    "#]]
    .assert_eq(&draw(&one).await);
    assert_eq!(stands(&two.main()).await, "assistant: second answer");
}

#[tokio::test]
async fn what_others_say_is_still_followed_once_it_is_complete() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (_, reply) = exchange(&one.main(), "hello").await;
    let (beside, _) = exchange(&one.main(), "beside").await;
    one.main().move_to(Some(reply.seq)).await.unwrap();
    let (seen, unseen) = (open(&store, stale("b")).await, open(&store, stale("c")).await);
    say(&one.main(), "user", "more").await;
    seen.refresh().await.unwrap();
    one.delete_branch(&beside.id).await.unwrap();
    collect(&store).await;
    for window in [&seen, &unseen] {
        window.refresh().await.unwrap();
        assert_eq!(stands(&window.main()).await, "assistant: HELLO", "the question is not answered yet");
    }
    say(&one.main(), "assistant", "MORE").await;
    for window in [&seen, &unseen] {
        window.refresh().await.unwrap();
        assert_eq!(stands(&window.main()).await, "assistant: MORE");
    }
}

#[tokio::test]
async fn a_cursor_in_a_collected_branch_stands_above_it() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (_, reply) = exchange(&one.main(), "hello").await;
    let two = open(&store, stale("b")).await;
    let (beside, _) = exchange(&one.main(), "beside").await;
    one.delete_branch(&beside.id).await.unwrap();
    let side = two.cursor(Some(reply.seq)).await.unwrap();
    say(&two.main(), "user", "from two").await;
    collect(&store).await;
    let late = side.commit(osier_session::Commit::new({
        let id = reply.id.to_string();
        move |tree, _| tree.plan_label(&id, Some("kept"))
    }));
    late.await.unwrap();
    assert_eq!(stands(&side).await, "assistant: HELLO");
    assert_eq!(stands(&two.main()).await, "user: from two");
    let gone = two.main().move_to_entry(Some(beside.id.to_string())).await;
    assert!(matches!(gone, Err(Error::Plan(_))), "{gone:?}");
}

#[tokio::test]
async fn an_expected_place_is_found_again_by_its_id() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let _turn = swept_beside(&one, &store).await;
    let (state, at) = one.main().here();
    let commit = crate::support::says("toolResult", "done").expecting(&state.tree, at);
    one.main().commit(commit).await.unwrap();
    assert_eq!(stands(&one.main()).await, "toolResult: done");
}
