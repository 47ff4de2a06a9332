//! The five beats.

use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use expect_test::expect;
use osier_session::{Change, Commit, Env, Error, Event, Gate, Outcome, Session, Verdict};
use osier_tree::PlanError;

use crate::support::{drain, draw, empty, env, exchange, id, memory, open, say, says, stored};

#[tokio::test]
async fn an_entry_hangs_below_the_cursor_and_moves_it() {
    let session = empty(&memory(), env("a")).await;
    let (said, reply) = exchange(&session.main(), "hello").await;
    assert_eq!((&*said.id, said.seq.index(), said.version.entries), ("a0000001", 0, 1));
    assert_eq!(
        String::from_utf8_lossy(&reply.line),
        r#"{"type":"message","id":"a0000002","parentId":"a0000001","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":"HELLO"}}"#
    );
    expect![[r#"
        user: hello
        assistant: HELLO  ← main
    "#]]
    .assert_eq(&draw(&session).await);
}

#[tokio::test]
async fn what_is_announced_is_stored_and_published() {
    let store = memory();
    let session = empty(&store, env("a")).await;
    let mut events = session.attach(None).await.unwrap().events;
    let said = say(&session.main(), "user", "hello").await;
    let Some(Event::Committed { seq, id, draft_id, foreign, line, .. }) = events.next().await else {
        panic!()
    };
    assert_eq!((seq, &*id, draft_id, foreign, line), (said.seq, "a0000001", None, false, said.line));
    assert_eq!(session.tree().find("a0000001"), Some(seq));
    assert_eq!(store.open("s").await.unwrap().version, session.version());
}

#[tokio::test]
async fn a_plan_that_fails_changes_nothing() {
    let session = empty(&memory(), env("a")).await;
    let failed = session.label("nobody", Some("x")).await;
    assert!(matches!(failed, Err(Error::Plan(PlanError::NotFound { id })) if id == "nobody"));
    assert_eq!(session.version().entries, 0);
}

#[tokio::test]
async fn an_expected_leaf_is_compared_by_place() {
    let session = empty(&memory(), env("a")).await;
    let (said, reply) = exchange(&session.main(), "hello").await;
    session.label("a0000001", Some("start")).await.unwrap();
    let late = session.main().commit(says("user", "late").expecting(&session.tree(), Some(said.seq))).await;
    assert!(
        matches!(late, Err(Error::LeafChanged { now: Some(now) }) if now == "a0000003"),
        "the label is where it stands"
    );
    assert_eq!(session.version().entries, 3);
    // The label stands for the same place as the reply below which it hangs.
    stored(session.main().commit(says("user", "in time").expecting(&session.tree(), Some(reply.seq))).await);
}

#[tokio::test]
async fn tasks_that_commit_at_one_cursor_make_one_path() {
    let session = empty(&memory(), env("a")).await;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..8 {
        let main = session.main();
        tasks.spawn(async move {
            for at in 0..50 {
                say(&main, "user", &format!("{task}/{at}")).await;
            }
        });
    }
    tasks.join_all().await;
    let tree = session.tree();
    assert_eq!(tree.path(session.main().place()).len(), 400);
}

#[tokio::test]
async fn the_future_of_a_commit_can_run_in_any_task() {
    fn send<T: Send>(value: T) -> T {
        value
    }
    let session = empty(&memory(), env("a")).await;
    let outcome = send(session.commit(says("user", "x")));
    stored(outcome.await);
    fn shared<T: Clone + Send + Sync>(_: &T) {}
    shared(&session);
    shared(&session.main());
}

/// Says what its script says, and remembers what it was asked.
#[derive(Debug, Default)]
struct Scripted {
    verdicts: Mutex<Vec<Verdict>>,
    asked: Mutex<Vec<String>>,
    /// Says this in the session before it answers, as if somebody was faster.
    meanwhile: Mutex<Vec<(Session, &'static str)>>,
}

#[async_trait]
impl Gate for Scripted {
    async fn ask(&self, change: Change<'_>) -> Verdict {
        let at = change.at.map_or_else(|| "root".to_owned(), |seq| change.tree.id(seq).to_string());
        self.asked.lock().unwrap().push(format!("{} at {at}", change.draft.kind.name()));
        let next = self.meanwhile.lock().unwrap().pop();
        if let Some((session, text)) = next {
            say(&session.main(), "assistant", text).await;
        }
        self.verdicts.lock().unwrap().pop().unwrap_or(Verdict::Pass)
    }
}

fn gated(letter: &'static str, gate: &Arc<Scripted>) -> Env {
    Env { gate: Some(gate.clone()), ..env(letter) }
}

#[tokio::test]
async fn a_gate_that_refuses_does_so_silently() {
    let gate = Arc::new(Scripted { verdicts: vec![Verdict::Refuse].into(), ..Scripted::default() });
    let session = empty(&memory(), gated("a", &gate)).await;
    assert_eq!(session.main().commit(says("user", "x")).await.unwrap(), Outcome::Cancelled);
    assert_eq!((session.version().entries, session.main().place()), (0, None));
    say(&session.main(), "user", "y").await;
}

#[tokio::test]
async fn a_gate_may_put_another_entry_in_place() {
    let gate = Arc::new(Scripted::default());
    let session = empty(&memory(), gated("a", &gate)).await;
    let other = session.tree().plan_name("instead");
    gate.verdicts.lock().unwrap().push(Verdict::Alter(other));
    stored(session.main().commit(says("user", "x")).await);
    assert_eq!(session.tree().marks().name(), Some("instead"));
}

#[tokio::test]
async fn a_plan_that_changed_while_the_gate_thought_is_gated_again() {
    let store = memory();
    let gate = Arc::new(Scripted::default());
    let session = empty(&store, gated("a", &gate)).await;
    let other = open(&store, env("b")).await;
    gate.meanwhile.lock().unwrap().push((other, "an answer that asks for nothing"));
    stored(session.main().commit(says("user", "x")).await);
    assert_eq!(*gate.asked.lock().unwrap(), ["message at root", "message at b0000001"]);
    expect![[r#"
        assistant: an answer that asks for nothing
        user: x  ← main
    "#]]
    .assert_eq(&draw(&session).await);
}

#[tokio::test]
async fn a_plan_that_still_holds_is_not_gated_again() {
    let store = memory();
    let gate = Arc::new(Scripted::default());
    let session = empty(&store, gated("a", &gate)).await;
    let other = open(&store, env("b")).await;
    gate.meanwhile.lock().unwrap().push((other, "x"));
    session.rename("name").await.unwrap();
    assert_eq!(*gate.asked.lock().unwrap(), ["session_info at root"]);
    assert_eq!(id(&session, session.tree().leaf()), "a0000001", "the name hangs below what came meanwhile");
}

#[tokio::test]
async fn a_conversation_that_never_rests_ends_in_an_error() {
    let store = memory();
    let gate = Arc::new(Scripted::default());
    let session = empty(&store, gated("a", &gate)).await;
    let other = open(&store, env("b")).await;
    *gate.meanwhile.lock().unwrap() = vec![(other, "once more"); 100];
    let outcome = session.main().commit(says("user", "x")).await;
    assert!(matches!(outcome, Err(Error::Contended)), "{outcome:?}");
}

#[tokio::test]
async fn a_plan_may_find_that_there_is_nothing_to_do() {
    let session = empty(&memory(), env("a")).await;
    assert_eq!(session.commit(Commit::of(|_| Ok(None))).await.unwrap(), Outcome::Nothing);
    let mut events = session.attach(None).await.unwrap().events;
    assert_eq!(drain(&mut events), []);
}
