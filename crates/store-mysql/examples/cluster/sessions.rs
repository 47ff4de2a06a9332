//! Test sessions and lines.

use osier_store::{LogVersion, Store, StoreError};
use osier_tree::{Header, Seq};

use crate::Result;

/// 2026-01-01.
const DAY_ONE: i64 = 1_767_225_600_000;

pub(crate) fn header(id: &str) -> Header {
    Header::new(id, DAY_ONE, "/here")
}

pub(crate) fn message(id: &str) -> Vec<u8> {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"said"}}}}"#
    )
    .into_bytes()
}

pub(crate) async fn create(store: &dyn Store, id: &str) -> Result<LogVersion> {
    Ok(store.create(&header(id), &[message("first")]).await?.version)
}

/// All lines of a session.
pub(crate) async fn lines(store: &dyn Store, id: &str) -> Result<Vec<Vec<u8>>> {
    let version = store.open(id).await?.version;
    let seqs: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
    let mut lines = Vec::new();
    let take = |_, line: &[u8]| {
        lines.push(line.to_vec());
        Ok::<_, StoreError>(())
    };
    osier_store::for_each_line(store, id, version.generation, &seqs, take).await?;
    Ok(lines)
}
