//! What showing the end of a long session reads.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use osier_engine::EngineConfig;
use osier_protocol::Client;
use osier_store::{FileStore, Store};
use osier_tree::Header;

use crate::support::TestEngine;

const ENTRIES: usize = 20_000;
/// The size of a block of an index.
const BLOCK: usize = 4096;

/// Writes a session with a long path and its index. Returns the path of the index.
async fn write_long_session(folder: &Path) -> std::path::PathBuf {
    let store = FileStore::new(folder.join("sessions"), Some(folder.join("cache")));
    let line = |number: usize| {
        let parent =
            number.checked_sub(1).map_or_else(|| "null".to_owned(), |parent| format!("\"{parent:08}\""));
        format!(
            r#"{{"type":"message","id":"{number:08}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"{}","content":[{{"type":"text","text":"message {number}"}}]}}}}"#,
            ["user", "assistant"][number % 2]
        )
        .into_bytes()
    };
    let lines: Vec<_> = (0..ENTRIES).map(line).collect();
    store.create(&Header::new("long", 0, "/here"), &lines).await.unwrap();
    let mut indexes = fs::read_dir(folder.join("cache/index")).unwrap();
    indexes.next().unwrap().unwrap().path()
}

/// Everything in the index but its end is damaged, so reading any of it would be noticed.
#[tokio::test]
async fn the_end_of_a_path_is_shown_without_reading_the_rest_of_the_index() {
    let folder = tempfile::tempdir().unwrap();
    let index = write_long_session(folder.path()).await;
    let mut damaged = fs::read(&index).unwrap();
    let blocks = damaged.len() / BLOCK;
    for block in 1..blocks - 10 {
        damaged[block * BLOCK + 50] ^= 1;
    }
    fs::write(&index, &damaged).unwrap();

    let engine = TestEngine::in_folder(folder.path(), EngineConfig::default());
    let stored = engine.engine.session_at("file", "long").await.unwrap();
    let reader: Arc<dyn Client> = Arc::new(engine.engine.follow(&stored).await.unwrap());
    let attached = reader.attach(None).await.unwrap();
    assert_eq!(attached.state.position.entries, ENTRIES);
    let end = reader.path(Some(40)).await.unwrap();
    assert_eq!((end.entries.len(), end.hidden_entries), (40, ENTRIES - 40));
    assert_eq!(end.leaf_id.as_ref().map(osier_tree::EntryId::as_str), Some("00019999"));
    assert!(fs::read(&index).unwrap() == damaged, "the damaged part was not read");

    // What is damaged is read from the log.
    let all = reader.path(None).await.unwrap();
    assert_eq!((all.entries.len(), all.hidden_entries), (ENTRIES, 0));
    let texts =
        |at: usize| String::from_utf8_lossy(all.entries[at].bytes()).contains(&format!("message {at}\""));
    assert!((0..ENTRIES).all(texts));
    assert!(fs::read(&index).unwrap() != damaged, "the index is written again");
}
