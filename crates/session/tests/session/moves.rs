//! Moves, undo and redo, deleted branches.

use expect_test::expect;
use osier_session::{CommitOutcome, SessionError, SessionEvent};
use osier_tree::{PlanError, Seq};

use crate::support::{drain, draw, empty, env, exchange, memory, open, say, stale, text_at};

#[tokio::test]
async fn a_bare_move_survives_reopening() {
    let store = memory();
    let session = empty(&store, env("a")).await;
    let (_, reply) = exchange(&session.main_cursor(), "a").await;
    say(&session.main_cursor(), "user", "c").await;
    session.main_cursor().move_to(Some(reply.seq)).await.unwrap();
    expect![[r#"
        user: a
        assistant: A  ← main
          user: c
          leaf
    "#]]
    .assert_eq(&draw(&open(&store, env("b")).await).await);
}

#[tokio::test]
async fn a_move_to_the_current_position_writes_nothing() {
    let session = empty(&memory(), env("a")).await;
    let (prompt, reply) = exchange(&session.main_cursor(), "a").await;
    session.label(&prompt.id, Some("x")).await.unwrap();
    assert_eq!(session.main_cursor().move_to(Some(reply.seq)).await.unwrap(), CommitOutcome::Nothing);
    assert_eq!(session.version().entries, 3);
}

#[tokio::test]
async fn undo_and_redo_walk_the_moves_of_their_cursor() {
    let session = empty(&memory(), env("a")).await;
    let main = session.main_cursor();
    let (first, reply) = exchange(&main, "a").await;
    exchange(&main, "b").await;
    main.move_to(Some(reply.seq)).await.unwrap();
    main.move_to(Some(first.seq)).await.unwrap();
    main.undo().await.unwrap();
    assert_eq!(text_at(&main).await, "assistant: A");
    main.undo().await.unwrap();
    assert_eq!(text_at(&main).await, "assistant: B");
    assert!(matches!(main.undo().await, Err(SessionError::Plan(PlanError::NothingToUndo))));
    main.redo().await.unwrap();
    main.redo().await.unwrap();
    assert_eq!(text_at(&main).await, "user: a");
    assert!(matches!(main.redo().await, Err(SessionError::Plan(PlanError::NothingToRedo))));
    main.undo().await.unwrap();
    say(&main, "user", "another way").await;
    assert!(
        matches!(main.redo().await, Err(SessionError::Plan(PlanError::NothingToRedo))),
        "a new entry clears the redo history"
    );
}

#[tokio::test]
async fn after_reopening_undo_uses_the_moves_of_the_log() {
    let store = memory();
    let session = empty(&store, env("a")).await;
    let (_, reply) = exchange(&session.main_cursor(), "a").await;
    exchange(&session.main_cursor(), "b").await;
    session.main_cursor().move_to(Some(reply.seq)).await.unwrap();
    let reopened = open(&store, env("b")).await;
    reopened.main_cursor().undo().await.unwrap();
    assert_eq!(text_at(&reopened.main_cursor()).await, "assistant: B");
    reopened.main_cursor().redo().await.unwrap();
    assert_eq!(text_at(&reopened.main_cursor()).await, "assistant: A");
}

#[tokio::test]
async fn a_process_does_not_undo_the_moves_of_another() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    exchange(&one.main_cursor(), "a").await;
    let two = open(&store, stale("b")).await;
    one.main_cursor().move_to(None).await.unwrap();
    two.refresh().await.unwrap();
    assert!(matches!(two.main_cursor().undo().await, Err(SessionError::Plan(PlanError::NothingToUndo))));
    two.main_cursor().move_to(Some(Seq::new(0))).await.unwrap();
    two.main_cursor().undo().await.unwrap();
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: A");
}

#[tokio::test]
async fn a_move_with_a_label_is_two_entries_at_one_position() {
    let session = empty(&memory(), env("a")).await;
    let (prompt, _) = exchange(&session.main_cursor(), "a").await;
    exchange(&session.main_cursor(), "b").await;
    session.main_cursor().move_and_label(Some(prompt.seq), &prompt.id, "here").await.unwrap();
    assert_eq!(session.version().entries, 6);
    assert_eq!(text_at(&session.main_cursor()).await, "user: a");
    assert_eq!(session.tree().label(prompt.seq).map(|label| label.text.as_str()), Some("here"));
    session.main_cursor().undo().await.unwrap();
    assert_eq!(text_at(&session.main_cursor()).await, "assistant: B");
    let failed = session.main_cursor().move_and_label(None, "missing", "x").await;
    assert!(matches!(failed, Err(SessionError::Plan(PlanError::NotFound { .. }))));
    assert_eq!((session.version().entries, &*text_at(&session.main_cursor()).await), (7, "assistant: B"));
}

#[tokio::test]
async fn deleting_the_current_branch_moves_cursors_out_with_one_entry() {
    let store = memory();
    let session = empty(&store, env("a")).await;
    exchange(&session.main_cursor(), "a").await;
    let (first, _) = exchange(&session.main_cursor(), "b").await;
    let side = session.new_cursor(session.main_cursor().position()).await.unwrap();
    let mut events = session.attach(None).await.unwrap().events;
    session.delete_branch(&first.id).await.unwrap();
    assert_eq!(session.version().entries, 5);
    assert_eq!(text_at(&side).await, "assistant: A");
    let moved = drain(&mut events)
        .into_iter()
        .filter(|event| matches!(event, SessionEvent::CursorMoved { .. }))
        .count();
    assert_eq!(moved, 2);
    expect![[r#"
        user: a
        assistant: A
          user: b (deleted)
          assistant: B (deleted)
          delete_branch  ← main
    "#]]
    .assert_eq(&draw(&session).await);
    assert_eq!(text_at(&open(&store, env("b")).await.main_cursor()).await, "assistant: A");
    session.restore_branch(&first.id).await.unwrap();
    assert_eq!(text_at(&session.main_cursor()).await, "assistant: A", "restoring moves no cursor");
    assert!(!session.tree().is_hidden(first.seq));
}

#[tokio::test]
async fn a_branch_with_a_running_turn_cannot_be_deleted() {
    let session = empty(&memory(), env("a")).await;
    let (first, _) = exchange(&session.main_cursor(), "a").await;
    let turn = session.main_cursor().begin_turn().await.unwrap();
    let refused = session.delete_branch(&first.id).await;
    assert!(matches!(refused, Err(SessionError::Busy { at: Some(at) }) if at == "a0000002"));
    assert_eq!(session.version().entries, 2);
    turn.end().await.unwrap();
    session.delete_branch(&first.id).await.unwrap();
    assert_eq!(text_at(&session.main_cursor()).await, "root");
}

/// A program that does not support leases can still do that.
#[tokio::test]
async fn a_turn_in_a_deleted_branch_continues_and_leaves_it_at_its_end() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let (first, _) = exchange(&one.main_cursor(), "a").await;
    let turn = one.main_cursor().begin_turn().await.unwrap();
    let id = &first.id;
    let deletion = format!(
        r#"{{"type":"custom","id":"d","parentId":null,"customType":"osier.delete_branch","data":{{"targetId":"{id}"}}}}"#
    );
    store.append("s", one.version(), &[deletion.into_bytes()]).await.unwrap();
    one.refresh().await.unwrap();
    say(&one.main_cursor(), "assistant", "still here").await;
    assert_eq!(text_at(&one.main_cursor()).await, "assistant: still here");
    turn.end().await.unwrap();
    assert_eq!(text_at(&one.main_cursor()).await, "root");
}

#[tokio::test]
async fn undo_never_leads_into_a_deleted_branch() {
    let session = empty(&memory(), env("a")).await;
    let (_, reply) = exchange(&session.main_cursor(), "a").await;
    let (second, _) = exchange(&session.main_cursor(), "b").await;
    session.main_cursor().move_to(Some(reply.seq)).await.unwrap();
    session.delete_branch(&second.id).await.unwrap();
    assert!(matches!(session.main_cursor().undo().await, Err(SessionError::Plan(PlanError::NothingToUndo))));
}

#[tokio::test]
async fn an_undo_skips_positions_equal_to_the_current_one() {
    let session = empty(&memory(), env("a")).await;
    let main = session.main_cursor();
    let (_, a) = exchange(&main, "a").await;
    main.move_to(None).await.unwrap();
    main.move_to(Some(a.seq)).await.unwrap();
    let (first, b) = exchange(&main, "b").await;
    main.move_to(Some(a.seq)).await.unwrap();
    main.move_to(Some(b.seq)).await.unwrap();
    // The last position in the history is A, and the deletion moves the cursor there.
    session.delete_branch(&first.id).await.unwrap();
    assert_eq!(text_at(&main).await, "assistant: A");
    main.undo().await.unwrap();
    assert_eq!(text_at(&main).await, "root");
    main.undo().await.unwrap();
    assert_eq!(text_at(&main).await, "assistant: A");
    assert!(matches!(main.undo().await, Err(SessionError::Plan(PlanError::NothingToUndo))));
    main.redo().await.unwrap();
    main.redo().await.unwrap();
    assert_eq!(text_at(&main).await, "assistant: A");
}
