//! `Sessions`: one call per operation, by session id, over any store.

use std::sync::Arc;

use osier_engine::{ConfiguredStore, Engine, EngineConfig, EntryPlacement, SessionInit};
use osier_session::SnapshotOptions;
use osier_store::MemoryStore;

type BoxError = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), BoxError> {
    println!("{}", run().await?);
    Ok(())
}

/// Appends the same message twice and reports the result.
pub(crate) async fn run() -> Result<String, BoxError> {
    let store = Arc::new(MemoryStore::default());
    let stores = vec![ConfiguredStore::Shared(store)];
    let engine = Engine::new(EngineConfig { stores, ..EngineConfig::default() });
    let sessions = engine.sessions("memory").ok_or("no such store")?;
    let session = sessions.create(SessionInit { cwd: "/work".to_owned(), ..SessionInit::default() }).await?;
    let id = session["id"].as_str().ok_or("no id")?;

    // With an id, a call can be repeated: the entry is written once.
    let placement = EntryPlacement { id: Some("first".to_owned()), ..EntryPlacement::default() };
    sessions.append_message(id, &placement, br#"{"role":"user","content":"How do I begin?"}"#).await?;
    sessions.append_message(id, &placement, br#"{"role":"user","content":"How do I begin?"}"#).await?;

    let other =
        sessions.append_message(id, &placement, br#"{"role":"user","content":"Something else."}"#).await;
    let refused = other.err().map(|error| error.code().name()).unwrap_or_default();
    let entries = sessions.list_entries(id, 0, None).await?.len();
    let snapshot = sessions
        .snapshot(id, SnapshotOptions { without_context: true, ..SnapshotOptions::default() })
        .await?;
    let snapshot: serde_json::Value = serde_json::from_slice(&snapshot)?;
    Ok(format!(
        "{entries} entry, leaf {}; different content with that id: {refused}",
        snapshot["session"]["leafEntryId"]
    ))
}
