//! The five steps of a commit.

use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use expect_test::expect;
use osier_session::{
    Commit, CommitOutcome, Gate, GateVerdict, PlannedChange, Session, SessionEnv, SessionError, SessionEvent,
};
use osier_tree::PlanError;

use crate::support::{drain, draw, empty, env, exchange, id, memory, message, open, say, stored};

#[tokio::test]
async fn an_entry_is_appended_at_the_cursor_and_moves_it() {
    let session = empty(&memory(), env("a")).await;
    let (prompt, reply) = exchange(&session.main_cursor(), "hello").await;
    assert_eq!((&*prompt.id, prompt.seq.index(), prompt.version.entries), ("a0000001", 0, 1));
    assert_eq!(
        String::from_utf8_lossy(reply.line.bytes()),
        r#"{"type":"message","id":"a0000002","parentId":"a0000001","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":"HELLO"}}"#
    );
    expect![[r#"
        user: hello
        assistant: HELLO  ← main
    "#]]
    .assert_eq(&draw(&session).await);
}

#[tokio::test]
async fn an_announced_entry_is_stored_and_published() {
    let store = memory();
    let session = empty(&store, env("a")).await;
    let mut events = session.attach(None).await.unwrap().events;
    let prompt = say(&session.main_cursor(), "user", "hello").await;
    let Some(SessionEvent::Committed { seq, id, draft_id, foreign, line, .. }) = events.next().await else {
        panic!()
    };
    assert_eq!((seq, &*id, draft_id, foreign, line), (prompt.seq, "a0000001", None, false, prompt.line));
    assert_eq!(session.tree().find("a0000001"), Some(seq));
    assert_eq!(store.open("s").await.unwrap().version, session.version());
}

#[tokio::test]
async fn a_failed_plan_changes_nothing() {
    let session = empty(&memory(), env("a")).await;
    let failed = session.label("missing", Some("x")).await;
    assert!(matches!(failed, Err(SessionError::Plan(PlanError::NotFound { id })) if id == "missing"));
    assert_eq!(session.version().entries, 0);
}

#[tokio::test]
async fn an_expected_leaf_is_compared_by_place() {
    let session = empty(&memory(), env("a")).await;
    let (prompt, reply) = exchange(&session.main_cursor(), "hello").await;
    session.label("a0000001", Some("start")).await.unwrap();
    let late = session
        .main_cursor()
        .commit(message("user", "late").expect_at(&session.tree(), Some(prompt.seq)))
        .await;
    assert!(
        matches!(late, Err(SessionError::LeafChanged { now: Some(now) }) if now == "a0000003"),
        "the cursor is at the label"
    );
    assert_eq!(session.version().entries, 3);
    // The label is at the same position as its parent, the reply.
    stored(
        session
            .main_cursor()
            .commit(message("user", "in time").expect_at(&session.tree(), Some(reply.seq)))
            .await,
    );
}

#[tokio::test]
async fn tasks_that_commit_at_one_cursor_make_one_path() {
    let session = empty(&memory(), env("a")).await;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..8 {
        let main = session.main_cursor();
        tasks.spawn(async move {
            for at in 0..50 {
                say(&main, "user", &format!("{task}/{at}")).await;
            }
        });
    }
    tasks.join_all().await;
    let tree = session.tree();
    assert_eq!(tree.path(session.main_cursor().position()).len(), 400);
}

#[tokio::test]
async fn commits_and_sessions_can_be_sent_between_tasks() {
    fn send<T: Send>(value: T) -> T {
        value
    }
    let session = empty(&memory(), env("a")).await;
    let outcome = send(session.commit(message("user", "x")));
    stored(outcome.await);
    fn shared<T: Clone + Send + Sync>(_: &T) {}
    shared(&session);
    shared(&session.main_cursor());
}

/// A gate that returns scripted verdicts and records its calls.
#[derive(Debug, Default)]
struct ScriptedGate {
    verdicts: Mutex<Vec<GateVerdict>>,
    calls: Mutex<Vec<String>>,
    /// Appends this message before the verdict, to simulate another writer.
    other_writer: Mutex<Vec<(Session, &'static str)>>,
}

#[async_trait]
impl Gate for ScriptedGate {
    async fn review(&self, change: PlannedChange<'_>) -> GateVerdict {
        let at = change.at.map_or_else(|| "root".to_owned(), |seq| change.tree.id(seq).to_string());
        self.calls.lock().unwrap().push(format!("{} at {at}", change.draft.kind.name()));
        let next = self.other_writer.lock().unwrap().pop();
        if let Some((session, text)) = next {
            say(&session.main_cursor(), "assistant", text).await;
        }
        self.verdicts.lock().unwrap().pop().unwrap_or(GateVerdict::Pass)
    }
}

fn gated(letter: &'static str, gate: &Arc<ScriptedGate>) -> SessionEnv {
    SessionEnv { gate: Some(gate.clone()), ..env(letter) }
}

#[tokio::test]
async fn a_refusal_by_a_gate_is_not_an_error() {
    let gate =
        Arc::new(ScriptedGate { verdicts: vec![GateVerdict::Refuse].into(), ..ScriptedGate::default() });
    let session = empty(&memory(), gated("a", &gate)).await;
    assert_eq!(session.main_cursor().commit(message("user", "x")).await.unwrap(), CommitOutcome::Cancelled);
    assert_eq!((session.version().entries, session.main_cursor().position()), (0, None));
    say(&session.main_cursor(), "user", "y").await;
}

#[tokio::test]
async fn a_gate_can_replace_the_entry() {
    let gate = Arc::new(ScriptedGate::default());
    let session = empty(&memory(), gated("a", &gate)).await;
    let other = session.tree().plan_name("instead");
    gate.verdicts.lock().unwrap().push(GateVerdict::Alter(other));
    stored(session.main_cursor().commit(message("user", "x")).await);
    assert_eq!(session.tree().marks().name(), Some("instead"));
}

#[tokio::test]
async fn a_plan_that_changes_during_the_gate_is_gated_again() {
    let store = memory();
    let gate = Arc::new(ScriptedGate::default());
    let session = empty(&store, gated("a", &gate)).await;
    let other = open(&store, env("b")).await;
    gate.other_writer.lock().unwrap().push((other, "a final answer"));
    stored(session.main_cursor().commit(message("user", "x")).await);
    assert_eq!(*gate.calls.lock().unwrap(), ["message at root", "message at b0000001"]);
    expect![[r#"
        assistant: a final answer
        user: x  ← main
    "#]]
    .assert_eq(&draw(&session).await);
}

#[tokio::test]
async fn a_plan_that_is_still_valid_is_not_gated_again() {
    let store = memory();
    let gate = Arc::new(ScriptedGate::default());
    let session = empty(&store, gated("a", &gate)).await;
    let other = open(&store, env("b")).await;
    gate.other_writer.lock().unwrap().push((other, "x"));
    session.rename("name").await.unwrap();
    assert_eq!(*gate.calls.lock().unwrap(), ["session_info at root"]);
    assert_eq!(id(&session, session.tree().leaf()), "a0000001", "the name is below the other writer's entry");
}

#[tokio::test]
async fn endless_contention_ends_in_an_error() {
    let store = memory();
    let gate = Arc::new(ScriptedGate::default());
    let session = empty(&store, gated("a", &gate)).await;
    let other = open(&store, env("b")).await;
    *gate.other_writer.lock().unwrap() = vec![(other, "once more"); 100];
    let outcome = session.main_cursor().commit(message("user", "x")).await;
    assert!(matches!(outcome, Err(SessionError::Contended)), "{outcome:?}");
}

#[tokio::test]
async fn a_plan_can_have_nothing_to_do() {
    let session = empty(&memory(), env("a")).await;
    assert_eq!(session.commit(Commit::with_plan(|_| Ok(None))).await.unwrap(), CommitOutcome::Nothing);
    let mut events = session.attach(None).await.unwrap().events;
    assert_eq!(drain(&mut events), []);
}
