//! The registry of live sessions: one writer per session, whatever name it is opened by.

use std::sync::Arc;

use osier_engine::{ConfiguredStore, Engine, EngineConfig, FindOptions, KeepWhen, LiveSession, NewSession};
use osier_store::FileStore;
use tempfile::TempDir;

/// An engine with one file store.
fn engine(folder: &TempDir) -> Engine {
    let (sessions, caches) = (folder.path().join("sessions"), folder.path().join("cache"));
    let files = Arc::new(FileStore::new(&sessions, Some(caches.clone())));
    let store = ConfiguredStore::Files { name: "file".to_owned(), folder: sessions, caches, is_own: true };
    Engine::new(EngineConfig { stores: vec![store], files, ..EngineConfig::default() })
}

fn new_session(keep: KeepWhen) -> NewSession {
    NewSession { store: "file".to_owned(), cwd: "/here".to_owned(), agent: "main".to_owned(), keep }
}

async fn open(engine: &Engine, name: &str) -> Arc<LiveSession> {
    let found = engine.find(name, FindOptions::default()).await.unwrap();
    engine.open(&found.read().await.unwrap()).await.unwrap()
}

const MESSAGE: &[u8] = br#"{"type":"message","message":{"role":"user","content":"hello"}}"#;

#[tokio::test]
async fn id_and_path_open_the_same_session_until_it_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder);
    let created = engine.create(&new_session(KeepWhen::Always)).await.unwrap();
    let (id, file) = (created.session().id().to_owned(), created.session().file().unwrap().to_owned());
    let (by_id, by_path) = (open(&engine, &id).await, open(&engine, file.to_str().unwrap()).await);
    assert!(Arc::ptr_eq(&created, &by_id) && Arc::ptr_eq(&by_id, &by_path));
    let closed = Arc::downgrade(&created);
    drop((created, by_id, by_path));
    assert!(closed.upgrade().is_none(), "the registry keeps no session open");
    open(&engine, &id).await.session().append_entry(MESSAGE).await.unwrap();
}

#[tokio::test]
async fn concurrent_callers_share_one_writer() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder);
    let created = engine.create(&new_session(KeepWhen::Always)).await.unwrap();
    let id = created.session().id().to_owned();
    drop(created);
    let (one, other) = tokio::join!(open(&engine, &id), open(&engine, &id));
    assert!(Arc::ptr_eq(&one, &other));
}

#[tokio::test]
async fn a_short_operation_uses_the_live_session() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder);
    let live = engine.create(&new_session(KeepWhen::Always)).await.unwrap();
    let found = engine.find(live.session().id(), FindOptions::default()).await.unwrap();
    let brief = engine.open_briefly(&found.read().await.unwrap()).await.unwrap();
    brief.append_entry(MESSAGE).await.unwrap();
    assert_eq!(live.session().version().entries, 1, "both are the same writer");
}

#[tokio::test]
async fn an_unused_session_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine(&folder);
    let live = engine.create(&new_session(KeepWhen::Used)).await.unwrap();
    let file = live.session().file().unwrap().to_owned();
    live.session().rename("plans").await.unwrap();
    assert!(!file.exists(), "a name alone is not kept");
    live.session().append_entry(MESSAGE).await.unwrap();
    assert!(file.exists());
}
