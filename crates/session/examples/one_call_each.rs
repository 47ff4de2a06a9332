//! The façade: one call for each operation, by the id of a session, over any store.

use std::sync::Arc;

use osier_session::{Env, NewSession, Put, Sessions, SnapshotAsk};
use osier_store::MemoryStore;

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    println!("{}", run().await?);
    Ok(())
}

/// Says the same thing twice, and tells what came of it.
pub(crate) async fn run() -> Result<String, Failure> {
    let store = Arc::new(MemoryStore::default());
    let sessions = Sessions::new(store, Env::default());
    let session = sessions.create(NewSession { cwd: "/work".to_owned(), ..NewSession::default() }).await?;
    let id = session["id"].as_str().ok_or("no id")?;

    // Whoever names an entry can repeat the call: it is written once.
    let put = Put { id: Some("first".to_owned()), ..Put::default() };
    sessions.append_message(id, &put, br#"{"role":"user","content":"How do I begin?"}"#).await?;
    sessions.append_message(id, &put, br#"{"role":"user","content":"How do I begin?"}"#).await?;

    let other = sessions.append_message(id, &put, br#"{"role":"user","content":"Anew."}"#).await;
    let refused = other.err().map(|error| error.code().name()).unwrap_or_default();
    let entries = sessions.list_entries(id, 0, None).await?.len();
    let snapshot =
        sessions.snapshot(id, SnapshotAsk { without_context: true, ..SnapshotAsk::default() }).await?;
    let snapshot: serde_json::Value = serde_json::from_slice(&snapshot)?;
    Ok(format!(
        "{entries} entry, leaf {}; another one of that id: {refused}",
        snapshot["session"]["leafEntryId"]
    ))
}
