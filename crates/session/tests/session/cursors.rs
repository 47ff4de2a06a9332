//! Cursors: following, turns, and cursors of one process.

use expect_test::expect;
use osier_session::{Commit, SessionError, SessionEvent};

use crate::support::{
    drain, draw, empty, env, exchange, id, memory, message, open, say, stale, stored, text_at,
};

#[tokio::test]
async fn an_idle_cursor_follows_a_complete_continuation() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    exchange(&one.main_cursor(), "hello").await;
    let two = open(&store, stale("b")).await;
    let mut events = two.attach(None).await.unwrap().events;
    for (role, text) in [("user", "more"), ("calls", "grep"), ("toolResult", "found")] {
        say(&one.main_cursor(), role, text).await;
        two.refresh().await.unwrap();
        assert_eq!(text_at(&two.main_cursor()).await, "assistant: HELLO", "{text}");
    }
    let received = drain(&mut events)
        .into_iter()
        .filter(|event| matches!(event, SessionEvent::ContinuedElsewhere { .. }))
        .count();
    assert_eq!(received, 1);
    say(&one.main_cursor(), "assistant", "here it is").await;
    two.refresh().await.unwrap();
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: here it is");
    assert!(matches!(
        &drain(&mut events)[..],
        [SessionEvent::Committed { .. }, SessionEvent::CursorMoved { .. }]
    ));
    assert_eq!(two.main_cursor().state().continuation, None);
}

#[tokio::test]
async fn a_continuation_that_is_already_complete_is_followed_directly() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let two = open(&store, stale("b")).await;
    exchange(&one.main_cursor(), "hello").await;
    let mut events = two.attach(None).await.unwrap().events;
    two.refresh().await.unwrap();
    let received = drain(&mut events);
    assert!(
        matches!(
            received[..],
            [
                SessionEvent::Committed { .. },
                SessionEvent::Committed { .. },
                SessionEvent::CursorMoved { .. }
            ]
        ),
        "{received:?}"
    );
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: HELLO");
}

#[tokio::test]
async fn a_busy_cursor_follows_after_its_turn() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let two = open(&store, stale("b")).await;
    let turn = two.main_cursor().begin_turn().await.unwrap();
    exchange(&one.main_cursor(), "hello").await;
    two.refresh().await.unwrap();
    assert_eq!(two.main_cursor().position(), None);
    assert!(two.main_cursor().state().continuation.is_some());
    turn.end().await.unwrap();
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: HELLO");
}

#[tokio::test]
async fn a_cursor_with_its_own_branch_stays_there_and_can_follow() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    exchange(&one.main_cursor(), "hello").await;
    let two = open(&store, stale("b")).await;
    say(&one.main_cursor(), "user", "from one").await;
    two.refresh().await.unwrap();
    exchange(&two.main_cursor(), "from two").await;
    one.refresh().await.unwrap();
    say(&one.main_cursor(), "assistant", "to one").await;
    two.refresh().await.unwrap();
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: FROM TWO");
    let entries = two.version().entries;
    let position = two.main_cursor().follow().await.unwrap();
    assert_eq!(
        (position, two.version().entries),
        (two.tree().leaf(), entries),
        "the leaf of the log is already there"
    );
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: to one");
    two.main_cursor().undo().await.unwrap();
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: FROM TWO");
}

#[tokio::test]
async fn following_away_from_the_leaf_writes_a_move() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    exchange(&one.main_cursor(), "hello").await;
    let two = open(&store, stale("b")).await;
    say(&one.main_cursor(), "user", "unanswered").await;
    one.main_cursor().move_to(one.tree().find("a0000001")).await.unwrap();
    two.refresh().await.unwrap();
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: HELLO");
    two.main_cursor().follow().await.unwrap();
    assert_eq!(text_at(&two.main_cursor()).await, "user: unanswered");
    assert_eq!(text_at(&open(&store, env("c")).await.main_cursor()).await, "user: unanswered");
    assert_eq!(
        two.main_cursor().follow().await.unwrap(),
        two.main_cursor().position(),
        "nothing more to follow"
    );
}

#[tokio::test]
async fn a_foreign_mark_moves_the_cursor_along_even_in_a_turn() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (_, reply) = exchange(&one.main_cursor(), "hello").await;
    let two = open(&store, stale("b")).await;
    let _turn = one.main_cursor().begin_turn().await.unwrap();
    let mark = stored(two.label(&reply.id, Some("x")).await);
    one.refresh().await.unwrap();
    assert_eq!(id(&one, one.main_cursor().position()), *mark.id);
    assert_eq!(one.main_cursor().state().continuation, None);
}

#[tokio::test]
async fn a_foreign_move_does_not_move_other_cursors() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    exchange(&one.main_cursor(), "hello").await;
    let two = open(&store, stale("b")).await;
    one.main_cursor().move_to(None).await.unwrap();
    two.refresh().await.unwrap();
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: HELLO");
    exchange(&one.main_cursor(), "new root").await;
    two.refresh().await.unwrap();
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: HELLO", "the entry is on another branch");
}

#[tokio::test]
async fn cursors_of_one_process_are_independent() {
    let session = empty(&memory(), env("a")).await;
    exchange(&session.main_cursor(), "hello").await;
    let side = session.new_cursor(session.main_cursor().position()).await.unwrap();
    exchange(&side, "aside").await;
    assert_eq!(text_at(&session.main_cursor()).await, "assistant: HELLO");
    exchange(&session.main_cursor(), "straight on").await;
    expect![[r#"
        user: hello
        assistant: HELLO
          user: aside
          assistant: ASIDE
          user: straight on
          assistant: STRAIGHT ON  ← main
    "#]]
    .assert_eq(&draw(&session).await);
    let number = side.id();
    drop(side);
    session.sync().await.unwrap();
    assert!(session.state().cursor_state(number).is_none(), "removed with its last clone");
}

#[tokio::test]
async fn one_turn_at_a_time_runs_at_a_cursor() {
    let session = empty(&memory(), env("a")).await;
    let turn = session.main_cursor().begin_turn().await.unwrap();
    assert!(matches!(session.main_cursor().begin_turn().await, Err(SessionError::Busy { at: None })));
    drop(turn);
    session.main_cursor().begin_turn().await.unwrap();
}

#[tokio::test]
async fn a_busy_cursor_cannot_be_moved() {
    let session = empty(&memory(), env("a")).await;
    exchange(&session.main_cursor(), "hello").await;
    let _turn = session.main_cursor().begin_turn().await.unwrap();
    assert!(matches!(session.main_cursor().move_to(None).await, Err(SessionError::Busy { .. })));
    assert_eq!(session.version().entries, 2);
    let side = session.new_cursor(session.main_cursor().position()).await.unwrap();
    side.move_to(None).await.unwrap();
}

#[tokio::test]
async fn an_entry_without_a_cursor_moves_the_main_one_unless_it_is_busy() {
    let session = empty(&memory(), env("a")).await;
    stored(session.commit(message("user", "hello")).await);
    assert_eq!(text_at(&session.main_cursor()).await, "user: hello");
    let turn = session.main_cursor().begin_turn().await.unwrap();
    stored(session.commit(message("user", "other")).await);
    assert_eq!(text_at(&session.main_cursor()).await, "user: hello", "a busy cursor stays");
    say(&session.main_cursor(), "assistant", "reply").await;
    drop(turn);
    expect![[r#"
        user: hello
          user: other
          assistant: reply  ← main
    "#]]
    .assert_eq(&draw(&session).await);
}

#[tokio::test]
async fn a_mark_is_appended_at_the_leaf_of_the_log() {
    let session = empty(&memory(), env("a")).await;
    let (prompt, reply) = exchange(&session.main_cursor(), "hello").await;
    let side = session.new_cursor(Some(prompt.seq)).await.unwrap();
    let label = |text: &'static str| Commit::new(move |tree, _| tree.plan_label("a0000001", Some(text)));
    let mark = stored(side.commit(label("from the side")).await);
    assert_eq!(session.tree().head(mark.seq).parent, Some(reply.seq));
    assert_eq!((side.position(), session.main_cursor().position()), (Some(prompt.seq), Some(mark.seq)));
    let mark = stored(session.main_cursor().commit(label("from the main one")).await);
    assert_eq!(session.main_cursor().position(), Some(mark.seq));
}

/// Two separate calls could return a tree and a position of a later state.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_position_and_its_tree_are_consistent_during_writes() {
    let session = empty(&memory(), stale("a")).await;
    let cursor = session.main_cursor();
    let writer = tokio::spawn({
        let cursor = cursor.clone();
        async move {
            for _ in 0..300 {
                exchange(&cursor, "hello").await;
            }
        }
    });
    let mut checks = 0;
    while !writer.is_finished() || checks == 0 {
        let (state, at) = cursor.state_and_place();
        assert_eq!(at, state.tree.leaf());
        checks += 1;
        tokio::task::yield_now().await;
    }
    writer.await.unwrap();
}
