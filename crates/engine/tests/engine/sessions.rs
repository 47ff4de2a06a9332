//! The operations by id over the memory store and the file store.

use std::sync::Arc;

use async_trait::async_trait;
use osier_engine::{ConfiguredStore, Engine, EngineConfig, EngineError};
use osier_session::{Session, SessionEnv};
use osier_store::contract::Fixture;
use osier_store::{DeleteResult, FileStore, MemoryStore, Store};
use osier_tree::Header;

#[derive(Default)]
struct InMemory(Arc<MemoryStore>);

#[async_trait]
impl Fixture for InMemory {
    async fn store(&self) -> Arc<dyn Store> {
        self.0.clone()
    }
}

struct InFiles(tempfile::TempDir);

impl Default for InFiles {
    fn default() -> InFiles {
        InFiles(tempfile::tempdir().unwrap())
    }
}

#[async_trait]
impl Fixture for InFiles {
    async fn store(&self) -> Arc<dyn Store> {
        let folder = self.0.path();
        Arc::new(FileStore::new(folder.join("sessions"), Some(folder.join("cache"))))
    }
}

mod in_memory {
    osier_engine::sessions_tests!(super::InMemory::default());
}

mod in_files {
    osier_engine::sessions_tests!(super::InFiles::default());
}

fn subagent_header(parent: &str, id: &str) -> Header {
    let mut header = Header::new(id, 0, "/here");
    header.parent_session_id = Some(parent.to_owned());
    header.agent_id = Some(format!("agent-{id}"));
    header.parent_tool_call_id = Some("call_1".to_owned());
    header
}

/// Deletes the first of four sessions while one of them is open. Returns the result and the remaining sessions.
async fn deleted_while_open(open: &str) -> (Result<DeleteResult, EngineError>, Vec<String>) {
    let files = InFiles::default();
    let stores = vec![ConfiguredStore::Shared(files.store().await)];
    let engine = Engine::new(EngineConfig { stores, ..EngineConfig::default() });
    let sessions = engine.sessions("file").unwrap();
    for header in [
        Header::new("one", 0, "/here"),
        subagent_header("one", "two"),
        subagent_header("two", "three"),
        subagent_header("one", "four"),
    ] {
        sessions.store().create(&header, &[]).await.unwrap();
    }
    let open = Session::open(files.store().await, open, SessionEnv::default()).await.unwrap();
    let deleted = sessions.delete("one").await;
    drop(open);
    (deleted, sessions.store().find_ids("").await.unwrap())
}

#[tokio::test]
async fn a_session_in_use_is_kept_with_the_sessions_below_it() {
    let (deleted, left) = deleted_while_open("one").await;
    assert_eq!((deleted.unwrap_err().code().name(), left.len()), ("session_busy", 4));
    let (deleted, left) = deleted_while_open("two").await;
    let deleted = deleted.unwrap();
    assert_eq!((deleted.deleted, deleted.counts.sessions), (true, 2));
    assert_eq!(left, ["three", "two"]);
}

#[tokio::test]
async fn a_report_distinguishes_the_named_session_from_those_of_sub_agents() {
    for (open, is_named_kept) in [("one", true), ("two", false)] {
        let files = InFiles::default();
        let store = files.store().await;
        let stores = vec![ConfiguredStore::Shared(store.clone())];
        let engine = Engine::new(EngineConfig { stores, ..EngineConfig::default() });
        store.create(&Header::new("one", 0, "/here"), &[]).await.unwrap();
        store.create(&subagent_header("one", "two"), &[]).await.unwrap();
        let _open = Session::open(files.store().await, open, SessionEnv::default()).await.unwrap();
        let plan = engine.plan_delete(vec![store.card("one").await.unwrap()]).await.unwrap();
        let mut report = engine.delete(&plan, false).await.unwrap();
        assert!(!report.kept.is_empty());
        assert_eq!(report.take_named_kept().is_some(), is_named_kept, "{open} is open");
    }
}
