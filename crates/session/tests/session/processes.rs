//! Several processes on one session.

use expect_test::expect;
use osier_session::SessionEvent;

use crate::support::{draw, empty, env, exchange, memory, message, open, say, stale, stored, text_at};

#[tokio::test]
async fn prompts_of_two_processes_make_two_branches() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    exchange(&one.main_cursor(), "hello").await;
    let two = open(&store, stale("b")).await;
    say(&one.main_cursor(), "user", "from one").await;
    say(&two.main_cursor(), "user", "from two").await;
    say(&one.main_cursor(), "assistant", "to one").await;
    say(&two.main_cursor(), "assistant", "to two").await;
    one.refresh().await.unwrap();
    expect![[r#"
        user: hello
        assistant: HELLO
          user: from two
          assistant: to two
          user: from one
          assistant: to one  ← main
    "#]]
    .assert_eq(&draw(&one).await);
    assert_eq!(text_at(&two.main_cursor()).await, "assistant: to two");
}

#[tokio::test]
async fn a_label_from_a_stale_process_moves_no_cursor() {
    let store = memory();
    let busy = empty(&store, stale("a")).await;
    exchange(&busy.main_cursor(), "hello").await;
    let late = open(&store, stale("b")).await;
    say(&busy.main_cursor(), "user", "more").await;
    late.label("a0000001", Some("start")).await.unwrap();
    late.rename("a name").await.unwrap();
    let before = busy.main_cursor().position();
    busy.refresh().await.unwrap();
    assert!(busy.tree().same_place(before, busy.main_cursor().position()));
    say(&busy.main_cursor(), "assistant", "done").await;
    assert_eq!(busy.tree().marks().name(), Some("a name"));
    let reopened = open(&store, env("c")).await;
    expect![[r#"
        user: hello
        assistant: HELLO
        user: more
        label
        session_info
        assistant: done  ← main
    "#]]
    .assert_eq(&draw(&reopened).await);
}

#[tokio::test]
async fn entries_of_other_processes_are_announced_as_foreign() {
    let store = memory();
    let one = empty(&store, env("a")).await;
    let two = open(&store, stale("b")).await;
    let mut events = one.attach(None).await.unwrap().events;
    let entry = say(&two.main_cursor(), "user", "from two").await;
    let Some(SessionEvent::Committed { seq, id, foreign, line, cursor, .. }) = events.next().await else {
        panic!()
    };
    assert_eq!((seq, &*id, foreign, line, cursor), (entry.seq, "b0000001", true, entry.line, None));
    assert_eq!(one.tree().find("b0000001"), Some(seq));
}

#[tokio::test]
async fn marks_of_concurrent_processes_are_all_written() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    say(&one.main_cursor(), "user", "hello").await;
    let mut writers = tokio::task::JoinSet::new();
    for letter in ["b", "c", "d", "e", "f"] {
        let other = open(&store, stale(letter)).await;
        writers.spawn(async move {
            for at in 0..100 {
                other.label("a0000001", Some(&format!("{at}"))).await.unwrap();
                other.rename(&format!("{at}")).await.unwrap();
            }
        });
    }
    writers.join_all().await;
    let all = open(&store, env("g")).await;
    assert_eq!(all.version().entries, 1 + 5 * 200);
    assert_eq!(
        all.tree().path(all.main_cursor().position()).len(),
        1 + 5 * 200,
        "each mark is below the previous one"
    );
    assert_eq!(text_at(&all.main_cursor()).await, "user: hello");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_turns_of_processes_lose_nothing() {
    let store = memory();
    let first = empty(&store, stale("a")).await;
    exchange(&first.main_cursor(), "hello").await;
    let mut sessions = Vec::new();
    for letter in ["b", "c", "d", "e"] {
        sessions.push((letter, open(&store, env(letter)).await));
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
            for _ in 0..50 {
                exchange(&session.main_cursor(), letter).await;
            }
            drop(turn);
            let tree = session.tree();
            tree.path(session.main_cursor().position()).len()
        });
    }
    for length in writers.join_all().await {
        assert_eq!(length, 2 + 101, "a running turn stays on its own path");
    }
    assert_eq!(open(&store, env("f")).await.version().entries, 2 + 4 * 101);
}

#[tokio::test]
async fn a_draft_whose_id_another_process_used_gets_a_new_one() {
    let store = memory();
    let one = empty(&store, stale("a")).await;
    let other = open(&store, stale("a")).await;
    let mut events = one.attach(None).await.unwrap().events;
    let draft = one.main_cursor().begin_draft().await.unwrap();
    assert_eq!(draft.id(), "a0000001");
    assert_eq!(&*say(&other.main_cursor(), "user", "other words").await.id, "a0000001");
    let entry = stored(one.main_cursor().commit(message("assistant", "reply").finish_draft(&draft)).await);
    assert_eq!(&*entry.id, "a0000002");
    drop(draft);
    one.sync().await.unwrap();
    let received: Vec<SessionEvent> = std::iter::from_fn(|| events.try_next()).collect();
    assert!(
        matches!(&received[..], [
        SessionEvent::DraftStarted { .. },
        SessionEvent::Committed { foreign: true, .. },
        SessionEvent::Committed { id, draft_id: Some(draft), foreign: false, .. },
    ] | [
        SessionEvent::DraftStarted { .. },
        SessionEvent::Committed { foreign: true, .. },
        SessionEvent::ContinuedElsewhere { .. },
        SessionEvent::Committed { id, draft_id: Some(draft), foreign: false, .. },
    ] if (&**id, &**draft) == ("a0000002", "a0000001")),
        "{received:?}"
    );
}

#[tokio::test]
async fn a_replaced_log_is_reloaded() {
    let store = memory();
    let one = empty(&store, env("a")).await;
    let (entry, _) = exchange(&one.main_cursor(), "hello").await;
    let side = one.new_cursor(one.tree().find("a0000001")).await.unwrap();
    let mut attached = one.attach(None).await.unwrap();
    let old = one.version();
    let kept = [&b"{\"type\":\"custom\",\"id\":\"new\"}"[..], entry.line.bytes()].map(<[u8]>::to_vec);
    let new = store.rewrite_in_use("s", one.version(), &kept).await.unwrap();
    loop {
        match attached.events.next().await.unwrap() {
            SessionEvent::Reset { version } => break assert_eq!(version, new),
            SessionEvent::Committed { .. } | SessionEvent::CursorMoved { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(one.version(), new);
    assert_eq!(text_at(&side).await, "user: hello", "the entry is found by its id");
    assert_eq!(
        text_at(&one.main_cursor()).await,
        "user: hello",
        "the entry was removed, so the cursor moves to the nearest kept ancestor"
    );
    let repeated = one.attach(Some(old)).await.unwrap();
    assert!(repeated.reset);
    assert_eq!(repeated.entries().count(), 2);
    say(&one.main_cursor(), "assistant", "continued").await;
}
