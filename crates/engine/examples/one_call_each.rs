//! `Sessions`: one call per operation, over any store.

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
    let created = sessions.create(SessionInit { cwd: "/work".to_owned(), ..SessionInit::default() }).await?;
    let session = sessions.session(created["id"].as_str().ok_or("no id")?).await?;

    // With an id, a call can be repeated: the entry is written once.
    let placement = EntryPlacement { id: Some("first".to_owned()), ..EntryPlacement::default() };
    session.append_message(&placement, br#"{"role":"user","content":"How do I begin?"}"#).await?;
    session.append_message(&placement, br#"{"role":"user","content":"How do I begin?"}"#).await?;

    let other = session.append_message(&placement, br#"{"role":"user","content":"Something else."}"#).await;
    let refused = other.err().map(|error| error.code().name()).unwrap_or_default();
    let entries = session.list_entries(0, None).await?.revision;
    let snapshot =
        session.snapshot(SnapshotOptions { without_context: true, ..SnapshotOptions::default() }).await?;
    let snapshot: serde_json::Value = serde_json::from_slice(&snapshot)?;
    Ok(format!(
        "{entries} entry, leaf {}; different content with that id: {refused}",
        snapshot["session"]["leafEntryId"]
    ))
}
