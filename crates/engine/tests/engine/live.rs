//! The registry of live sessions: one writer per session, whatever name it is opened by.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::StreamExt;
use osier_engine::{AgentSpec, ConfiguredStore, Engine, EngineConfig, KeepWhen, NewSession, SummaryModel};
use osier_model::scripted::ScriptedTurn;
use osier_protocol::{
    Client, ClientCommand, ClientEvent, CommandReply, EventStream, MoveCommand, QueryAnswer, SessionQuery,
};
use osier_store::StoreError;
use osier_store::intercepted::{InterceptedStore, StoreInterceptor};

use crate::support::TestEngine;

/// The events up to the end of a turn.
async fn turn_end(events: &mut EventStream) {
    while !matches!(events.next().await, Some(ClientEvent::TurnEnded { .. })) {}
}

/// Waits until the agent has ended: then its events end.
async fn agent_end(events: EventStream) {
    events.for_each(async |_| {}).await;
}

async fn path_length(client: &impl Client) -> usize {
    match client.query(SessionQuery::Path { limit: None }).await.unwrap() {
        QueryAnswer::Path(path) => path.entries.len(),
        other => panic!("{other:?}"),
    }
}

/// Deletes a session as soon as it is closed.
async fn delete_when_closed(engine: &TestEngine, id: &str) {
    let card = engine.find(id).await.card().await.unwrap();
    let plan = engine.engine.plan_delete(vec![card]).await.unwrap();
    while engine.engine.delete(&plan, false).await.unwrap().deleted.is_empty() {
        tokio::task::yield_now().await;
    }
}

const MESSAGE: &[u8] = br#"{"type":"message","message":{"role":"user","content":"hello"}}"#;

#[tokio::test]
async fn id_and_path_open_the_same_session_until_it_is_closed() {
    let engine = TestEngine::new();
    let created = engine.create(KeepWhen::Always).await;
    let (id, file) = (created.session().id().to_owned(), created.session().file().unwrap().to_owned());
    let (by_id, by_path) = (engine.open(&id).await, engine.open(file.to_str().unwrap()).await);
    assert!(Arc::ptr_eq(&created, &by_id) && Arc::ptr_eq(&by_id, &by_path));
    let closed = Arc::downgrade(&created);
    drop((created, by_id, by_path));
    assert!(closed.upgrade().is_none(), "the registry keeps no session open");
    engine.open(&id).await.session().append_entry(MESSAGE).await.unwrap();
}

#[tokio::test]
async fn concurrent_callers_share_one_writer() {
    let engine = TestEngine::new();
    let created = engine.create(KeepWhen::Always).await;
    let id = created.session().id().to_owned();
    drop(created);
    let (one, other) = tokio::join!(engine.open(&id), engine.open(&id));
    assert!(Arc::ptr_eq(&one, &other));
}

#[tokio::test]
async fn a_short_operation_uses_the_live_session() {
    let engine = TestEngine::new();
    let live = engine.create(KeepWhen::Always).await;
    let stored = engine.find(live.session().id()).await;
    let brief = engine.engine.open_briefly(&stored).await.unwrap();
    assert!(Arc::ptr_eq(&live, &brief));
    brief.session().append_entry(MESSAGE).await.unwrap();
    assert_eq!(live.session().version().entries, 1, "both are the same writer");
}

#[tokio::test]
async fn a_session_that_an_operation_opened_is_watched_when_it_is_opened() {
    let engine = TestEngine::new();
    let id = engine.create(KeepWhen::Always).await.session().id().to_owned();
    let brief = engine.engine.open_briefly(&engine.find(&id).await).await.unwrap();
    let live = engine.open(&id).await;
    assert!(Arc::ptr_eq(&live, &brief));
    drop(brief);
    let card = engine.find(&id).await.card().await.unwrap();
    let plan = engine.engine.plan_delete(vec![card]).await.unwrap();
    assert!(engine.engine.delete(&plan, false).await.unwrap().deleted.is_empty(), "it is in use");
    drop(live);
    delete_when_closed(&engine, &id).await;
}

#[tokio::test]
async fn an_unused_session_leaves_no_file() {
    let engine = TestEngine::new();
    let live = engine.create(KeepWhen::Used).await;
    let file = live.session().file().unwrap().to_owned();
    live.session().rename("plans").await.unwrap();
    assert!(!file.exists(), "a name alone is not kept");
    live.session().append_entry(MESSAGE).await.unwrap();
    assert!(file.exists());
}

#[tokio::test]
async fn a_new_session_behind_a_link_is_the_same_once_it_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("real")).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("real", &link).unwrap();
    let engine = TestEngine::with_sessions_in(link.join("sessions"), folder, EngineConfig::default());
    let created = engine.create(KeepWhen::Used).await;
    created.session().append_entry(MESSAGE).await.unwrap();
    let found = engine.open(created.session().id()).await;
    assert!(Arc::ptr_eq(&created, &found));
}

#[tokio::test]
async fn clients_share_the_agent_and_the_first_spec_counts() {
    let engine = TestEngine::new();
    let live = engine.create(KeepWhen::Always).await;
    let one = engine.engine.connect(&live, &engine.agent()).await.unwrap();
    let unattended = AgentSpec { has_user: false, ..engine.agent() };
    let other = engine.engine.connect(&live, &unattended).await.unwrap();
    let mut events = other.attach(None).await.unwrap().events;
    let touch = serde_json::json!({ "path": "new.txt", "content": "x" });
    engine.push_turn(ScriptedTurn::new().call("c", "write", &touch));
    one.send(ClientCommand::prompt("write")).await.unwrap();
    // The agent of the first client has a user, so it asks.
    while !matches!(events.next().await, Some(ClientEvent::Asked { .. })) {}
    other.send(ClientCommand::Cancel).await.unwrap();
}

#[tokio::test]
async fn a_session_closes_when_its_last_client_leaves() {
    let engine = TestEngine::new();
    let live = engine.create(KeepWhen::Always).await;
    let id = live.session().id().to_owned();
    let (one, other) = (
        engine.engine.connect(&live, &engine.agent()).await.unwrap(),
        engine.engine.connect(&live, &engine.agent()).await.unwrap(),
    );
    let events = one.attach(None).await.unwrap().events;
    let session = Arc::downgrade(&live);
    drop((live, one));
    assert_eq!(path_length(&other).await, 0, "the other client is still connected");
    drop(other);
    agent_end(events).await;
    assert!(session.upgrade().is_none());
    delete_when_closed(&engine, &id).await;
}

#[tokio::test]
async fn work_goes_on_without_clients_and_the_session_closes_after_it() {
    let engine = TestEngine::new();
    let live = engine.create(KeepWhen::Always).await;
    let id = live.session().id().to_owned();
    let client = engine.engine.connect(&live, &engine.agent()).await.unwrap();
    let events = client.attach(None).await.unwrap().events;
    engine.push_turn(ScriptedTurn::reply("Done without you."));
    // The client does not even wait for the reply to its command.
    let mut sent = Box::pin(client.send(ClientCommand::prompt("go")));
    assert!(futures_util::poll!(&mut sent).is_pending());
    drop(sent);
    drop((client, live));
    agent_end(events).await;
    let live = engine.open(&id).await;
    let client = engine.engine.connect(&live, &engine.agent()).await.unwrap();
    assert_eq!(path_length(&client).await, 2);
}

#[tokio::test]
async fn an_agent_works_on_its_own_cursor() {
    let engine = TestEngine::new();
    let live = engine.create(KeepWhen::Always).await;
    let main = engine.engine.connect(&live, &engine.agent()).await.unwrap();
    let mut events = main.attach(None).await.unwrap().events;
    engine.push_turn(ScriptedTurn::reply("Hello."));
    main.send(ClientCommand::prompt("Hi")).await.unwrap();
    turn_end(&mut events).await;
    let cursor = live.session().new_cursor(None).await.unwrap();
    let own = engine.engine.start_agent(&live, cursor, &engine.agent()).await.unwrap();
    let mut own_events = own.attach(None).await.unwrap().events;
    engine.push_turn(ScriptedTurn::reply("From the start."));
    own.send(ClientCommand::prompt("Again")).await.unwrap();
    turn_end(&mut own_events).await;
    assert_eq!((path_length(&main).await, path_length(&own).await), (2, 2));
    let leaf = |client| async move { Client::attach(client, None).await.unwrap().state.leaf_id };
    assert_ne!(leaf(&main).await, leaf(&own).await);
}

#[tokio::test]
async fn a_conversation_waits_for_an_agent_that_runs_one_command() {
    let engine = TestEngine::new();
    let live = engine.create(KeepWhen::Always).await;
    live.session().append_entry(MESSAGE).await.unwrap();
    let workspace = engine.agent().workspace;
    let spec = AgentSpec::one_shot(workspace, live.session(), &SummaryModel::Unused).await.unwrap();
    let one_shot = engine.engine.connect(&live, &spec).await.unwrap();
    let agent = engine.agent();
    let mut connecting = Box::pin(engine.engine.connect(&live, &agent));
    assert!(futures_util::poll!(&mut connecting).is_pending());
    let moved = one_shot.send(ClientCommand::Move(MoveCommand::default())).await.unwrap();
    assert!(matches!(moved, CommandReply::Moved(_)));
    drop(one_shot);
    assert_eq!(path_length(&connecting.await.unwrap()).await, 0);
}

#[tokio::test]
async fn closing_the_engine_stops_what_runs() {
    let engine = TestEngine::new();
    let live = engine.create(KeepWhen::Always).await;
    let client = engine.engine.connect(&live, &engine.agent()).await.unwrap();
    let mut events = client.attach(None).await.unwrap().events;
    engine.push_turn(ScriptedTurn::reply("I am thin").hang());
    client.send(ClientCommand::prompt("go")).await.unwrap();
    engine.engine.close(Duration::from_secs(60)).await;
    turn_end(&mut events).await;
    assert!(!client.attach(None).await.unwrap().state.turn_running);
}

/// A store that stops answering.
#[derive(Debug, Default)]
struct SilentStore(AtomicBool);

#[async_trait]
impl StoreInterceptor for SilentStore {
    fn name(&self) -> &'static str {
        "silent"
    }

    async fn before_log_call(&self) -> Result<(), StoreError> {
        if self.0.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn closing_the_engine_does_not_wait_for_a_session_that_cannot_be_opened() {
    let store = Arc::new(InterceptedStore::new(SilentStore::default()));
    let stores = vec![ConfiguredStore::Shared(store.clone())];
    let engine = Engine::new(EngineConfig { stores, ..EngineConfig::default() });
    let new = NewSession { store: "silent".to_owned(), ..NewSession::default() };
    let stored = engine.create_with(&new, &[]).await.unwrap();
    store.0.store(true, Ordering::Relaxed);
    let mut opening = Box::pin(engine.open_briefly(&stored));
    assert!(futures_util::poll!(&mut opening).is_pending());
    let closed = tokio::time::timeout(Duration::from_secs(60), engine.close(Duration::from_secs(1))).await;
    assert!(closed.is_ok(), "the limit counts");
}
