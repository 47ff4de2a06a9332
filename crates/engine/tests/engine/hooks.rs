//! Hooks of operations on whole sessions: forks and switches.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock, Weak};
use std::time::Duration;

use async_trait::async_trait;
use osier_engine::hooks::{Hook, HookContext, HookEvent, HookResult, Hooks, RegisteredHook, SwitchReason};
use osier_engine::recording_hook::RecordingHook;
use osier_engine::{
    AgentSpec, ConfiguredStore, Engine, EngineConfig, ForkRequest, KeepWhen, LiveSession, NewSession,
};
use osier_store::{MemoryStore, Store};
use tokio::sync::Barrier;

/// An engine with one session that has one message.
async fn engine() -> (Engine, Arc<RecordingHook>, Arc<MemoryStore>, Arc<LiveSession>) {
    let (store, hook) = (Arc::new(MemoryStore::default()), Arc::new(RecordingHook::default()));
    let engine = Engine::new(EngineConfig {
        stores: vec![ConfiguredStore::Shared(store.clone())],
        hooks: hook.registered(),
        ..EngineConfig::default()
    });
    let new = NewSession { store: "memory".to_owned(), keep: KeepWhen::Always, ..NewSession::default() };
    let source = engine.create(&new).await.unwrap();
    let message = br#"{"type":"message","message":{"role":"user","content":"hello"}}"#;
    source.session().append_entry(message).await.unwrap();
    hook.take_calls();
    (engine, hook, store, source)
}

#[tokio::test]
async fn a_fork_is_asked_once_and_can_be_refused() {
    let (engine, hook, store, source) = engine().await;
    assert!(engine.fork(source.session(), &ForkRequest::default()).await.unwrap().is_some());
    assert_eq!(hook.take_calls(), ["session_before_fork", "session_fork"]);
    hook.refuse(&["session_before_fork"]);
    assert!(engine.fork(source.session(), &ForkRequest::default()).await.unwrap().is_none());
    assert_eq!(hook.take_calls(), ["session_before_fork"]);
    assert_eq!(store.find_ids("").await.unwrap().len(), 2, "a refused fork creates nothing");
}

#[tokio::test]
async fn a_switch_is_asked_once_and_can_be_refused() {
    let (engine, hook, _, source) = engine().await;
    hook.refuse(&["session_before_switch"]);
    assert!(!engine.may_switch(source.session(), None).await);
    hook.refuse(&[]);
    assert!(engine.may_switch(source.session(), Some("other".to_owned())).await);
    engine.announce_switch(source.session(), source.session(), SwitchReason::New).await;
    assert_eq!(hook.take_calls(), ["session_before_switch", "session_before_switch", "session_switch"]);
}

#[tokio::test]
async fn the_life_of_a_session_and_its_agent_is_observed_once() {
    let hook = Arc::new(RecordingHook::default());
    let config = EngineConfig { hooks: hook.registered(), ..EngineConfig::default() };
    let engine = crate::support::TestEngine::with_config(config);
    let live = engine.create(KeepWhen::Always).await;
    let (_one, _other) = (
        engine.engine.connect(&live, &engine.agent()).await.unwrap(),
        engine.engine.connect(&live, &engine.agent()).await.unwrap(),
    );
    assert_eq!(hook.take_calls(), ["session_opened", "session_start"]);
    engine.engine.close(Duration::from_secs(60)).await;
    engine.engine.close(Duration::from_secs(60)).await;
    assert_eq!(hook.take_calls(), ["session_shutdown", "session_closed"]);
}

/// Connects to the session of every agent that starts.
#[derive(Debug, Default)]
struct ConnectingHook {
    engine: OnceLock<(Engine, AgentSpec)>,
    live: OnceLock<Weak<LiveSession>>,
    connected: AtomicBool,
}

#[async_trait]
impl Hook for ConnectingHook {
    async fn observe(&self, event: &HookEvent, _: &HookContext<'_>) -> HookResult<()> {
        if matches!(event, HookEvent::AgentStarted { .. }) {
            let (engine, spec) = self.engine.get().unwrap();
            let live = self.live.get().and_then(Weak::upgrade).unwrap();
            engine.connect(&live, spec).await.unwrap();
            self.connected.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn a_hook_can_connect_to_the_agent_that_starts() {
    let hook = Arc::new(ConnectingHook::default());
    let hooks = Arc::new(Hooks::new(vec![RegisteredHook::new("connecting", hook.clone())]));
    let engine = crate::support::TestEngine::with_config(EngineConfig { hooks, ..EngineConfig::default() });
    let live = engine.create(KeepWhen::Always).await;
    hook.engine.set((engine.engine.clone(), engine.agent())).unwrap();
    hook.live.set(Arc::downgrade(&live)).unwrap();
    engine.engine.connect(&live, &engine.agent()).await.unwrap();
    assert!(hook.connected.load(Ordering::Relaxed), "it did not have to wait for its time-out");
}

/// Waits at the end of an agent until two agents end.
#[derive(Debug)]
struct MeetingHook {
    ending: Barrier,
    met: AtomicUsize,
}

#[async_trait]
impl Hook for MeetingHook {
    async fn observe(&self, event: &HookEvent, _: &HookContext<'_>) -> HookResult<()> {
        if matches!(event, HookEvent::AgentEnded { .. }) {
            self.ending.wait().await;
            self.met.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[tokio::test(start_paused = true)]
async fn closing_the_engine_ends_all_agents_at_the_same_time() {
    let hook = Arc::new(MeetingHook { ending: Barrier::new(2), met: AtomicUsize::new(0) });
    let hooks = Arc::new(Hooks::new(vec![RegisteredHook::new("meeting", hook.clone())]));
    let engine = crate::support::TestEngine::with_config(EngineConfig { hooks, ..EngineConfig::default() });
    let (one, other) = (engine.create(KeepWhen::Always).await, engine.create(KeepWhen::Always).await);
    let _one = engine.engine.connect(&one, &engine.agent()).await.unwrap();
    let _other = engine.engine.connect(&other, &engine.agent()).await.unwrap();
    engine.engine.close(Duration::from_secs(60)).await;
    assert_eq!(hook.met.load(Ordering::Relaxed), 2);
}
