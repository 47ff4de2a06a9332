//! A log that is replaced while sessions are open, as `gc` does.

use std::sync::Arc;

use expect_test::expect;
use osier_session::{Session, SessionError, TurnGuard};
use osier_store::{Store, StoreError};
use osier_tree::Seq;
use rustc_hash::FxHashMap;

use crate::support::{draw, empty, exchange, memory, open, say, stale, text_at};

/// Removes deleted branches while the session is open.
async fn collect(store: &Arc<dyn Store>) {
    let session = open(store, stale("g")).await;
    let (tree, version) = (session.tree(), session.version());
    let plan = tree.plan_gc();
    let seqs: Vec<Seq> = plan.needed_lines().collect();
    let mut lines: FxHashMap<Seq, Vec<u8>> = FxHashMap::default();
    let read = session.for_each_line(version, &seqs, |seq, line| {
        lines.insert(seq, line.to_vec());
        Ok::<_, StoreError>(())
    });
    read.await.unwrap();
    let new = tree.gc(&plan, &lines, 0, || session.env().ids.entry()).unwrap();
    assert!(plan.removed_count() > 0);
    store.rewrite_in_use("s", version, &new).await.unwrap();
}

/// Starts a turn. Another process then deletes a sibling branch, moves, and collects garbage.
async fn turn_with_collected_sibling(session: &Session, store: &Arc<dyn Store>) -> TurnGuard {
    let (_, reply) = exchange(&session.main_cursor(), "hello").await;
    let (sibling, _) = exchange(&session.main_cursor(), "sibling").await;
    session.main_cursor().move_to(Some(reply.seq)).await.unwrap();
    let turn = session.main_cursor().begin_turn().await.unwrap();
    say(&session.main_cursor(), "user", "more").await;
    say(&session.main_cursor(), "calls", "bash").await;
    let other = open(store, stale("o")).await;
    other.delete_branch(&sibling.id).await.unwrap();
    session.refresh().await.unwrap();
    other.main_cursor().move_to(None).await.unwrap();
    collect(store).await;
    turn
}

#[tokio::test]
async fn a_turn_continues_at_its_position() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let turn = turn_with_collected_sibling(&one, &store).await;
    say(&one.main_cursor(), "toolResult", "done").await;
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
async fn an_idle_cursor_keeps_its_position_and_history() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    turn_with_collected_sibling(&one, &store).await.end().await.unwrap();
    one.refresh().await.unwrap();
    assert_eq!(text_at(&one.main_cursor()).await, "calls: bash");
    let (_, from) = one.main_cursor().state_and_place();
    one.main_cursor().move_to(Some(Seq::new(0))).await.unwrap();
    one.main_cursor().undo().await.unwrap();
    assert_eq!(text_at(&one.main_cursor()).await, "calls: bash");
    assert!(one.tree().same_place(from, one.main_cursor().position()));
}

#[tokio::test]
async fn answers_of_two_turns_stay_on_their_branches() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (_, reply) = exchange(&one.main_cursor(), "hello").await;
    let (sibling, _) = exchange(&one.main_cursor(), "sibling").await;
    one.main_cursor().move_to(Some(reply.seq)).await.unwrap();
    let two = open(&store, stale("b")).await;
    say(&one.main_cursor(), "user", "first question").await;
    say(&two.main_cursor(), "user", "second question").await;
    let turns =
        (one.main_cursor().begin_turn().await.unwrap(), two.main_cursor().begin_turn().await.unwrap());
    let other = open(&store, stale("o")).await;
    other.delete_branch(&sibling.id).await.unwrap();
    for session in [&one, &two] {
        session.refresh().await.unwrap();
    }
    collect(&store).await;
    say(&one.main_cursor(), "assistant", "first answer").await;
    say(&two.main_cursor(), "assistant", "second answer").await;
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
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: second answer");
}

#[tokio::test]
async fn a_continuation_is_still_followed_once_it_is_complete() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (_, reply) = exchange(&one.main_cursor(), "hello").await;
    let (sibling, _) = exchange(&one.main_cursor(), "sibling").await;
    one.main_cursor().move_to(Some(reply.seq)).await.unwrap();
    let (seen, unseen) = (open(&store, stale("b")).await, open(&store, stale("c")).await);
    say(&one.main_cursor(), "user", "more").await;
    seen.refresh().await.unwrap();
    one.delete_branch(&sibling.id).await.unwrap();
    collect(&store).await;
    for window in [&seen, &unseen] {
        window.refresh().await.unwrap();
        assert_eq!(
            text_at(&window.main_cursor()).await,
            "assistant: HELLO",
            "the question is not answered yet"
        );
    }
    say(&one.main_cursor(), "assistant", "MORE").await;
    for window in [&seen, &unseen] {
        window.refresh().await.unwrap();
        assert_eq!(text_at(&window.main_cursor()).await, "assistant: MORE");
    }
}

#[tokio::test]
async fn a_cursor_in_a_collected_branch_moves_above_it() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (_, reply) = exchange(&one.main_cursor(), "hello").await;
    let two = open(&store, stale("b")).await;
    let (sibling, _) = exchange(&one.main_cursor(), "sibling").await;
    one.delete_branch(&sibling.id).await.unwrap();
    let side = two.new_cursor(Some(reply.seq)).await.unwrap();
    say(&two.main_cursor(), "user", "from two").await;
    collect(&store).await;
    let late = side.commit(osier_session::Commit::new({
        let id = reply.id.to_string();
        move |tree, _| tree.plan_label(&id, Some("kept"))
    }));
    late.await.unwrap();
    assert_eq!(text_at(&side).await, "assistant: HELLO");
    assert_eq!(text_at(&two.main_cursor()).await, "user: from two");
    let gone = two.main_cursor().move_to_entry(Some(sibling.id.to_string())).await;
    assert!(matches!(gone, Err(SessionError::Plan(_))), "{gone:?}");
}

#[tokio::test]
async fn an_expected_place_is_found_again_by_its_id() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let _turn = turn_with_collected_sibling(&one, &store).await;
    let (state, at) = one.main_cursor().state_and_place();
    let commit = crate::support::message("toolResult", "done").expect_at(&state.tree, at);
    one.main_cursor().commit(commit).await.unwrap();
    assert_eq!(text_at(&one.main_cursor()).await, "toolResult: done");
}
