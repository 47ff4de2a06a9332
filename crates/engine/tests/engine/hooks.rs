//! Hooks are asked exactly once by an operation, and can refuse it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use osier_agent::Gates;
use osier_engine::{
    ConfiguredStore, Engine, EngineConfig, EngineError, ForkRequest, Hook, Hooks, KeepWhen, NewSession,
    OnTimeout,
};
use osier_store::{MemoryStore, Store};

/// Counts the forks it is asked about, and allows only the first ones.
#[derive(Debug)]
struct ForkHook {
    asked: AtomicUsize,
    allowed: usize,
}

#[async_trait]
impl Gates for ForkHook {
    async fn before_fork(&self, _entry: Option<&str>) -> bool {
        self.asked.fetch_add(1, Ordering::Relaxed) < self.allowed
    }
}

#[tokio::test]
async fn a_fork_asks_once_and_can_be_refused() {
    let store = Arc::new(MemoryStore::default());
    let gates = Arc::new(ForkHook { asked: AtomicUsize::new(0), allowed: 1 });
    let hook = Hook { gates: gates.clone(), timeout: Duration::from_secs(5), on_timeout: OnTimeout::Refuse };
    let engine = Engine::new(EngineConfig {
        stores: vec![ConfiguredStore::Shared(store.clone())],
        hooks: Arc::new(Hooks::new(vec![hook])),
        ..EngineConfig::default()
    });
    let new = NewSession { store: "memory".to_owned(), keep: KeepWhen::Always, ..NewSession::default() };
    let source = engine.create(&new).await.unwrap();
    let message = br#"{"type":"message","message":{"role":"user","content":"hello"}}"#;
    source.session().append_entry(message).await.unwrap();
    engine.fork(source.session(), &ForkRequest::default()).await.unwrap();
    assert_eq!(gates.asked.load(Ordering::Relaxed), 1);
    let refused = engine.fork(source.session(), &ForkRequest::default()).await;
    assert!(matches!(refused, Err(EngineError::Refused)));
    assert_eq!(store.find_ids("").await.unwrap().len(), 2, "a refused fork creates nothing");
}
