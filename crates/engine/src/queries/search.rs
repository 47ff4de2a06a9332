//! Finds entries by their texts.

use std::sync::Arc;

use osier_session::Cursor;
use osier_tree::entry::parse_entry;
use osier_tree::projection::entry_view::EntryView;
use osier_tree::search_query::SearchQuery;
use osier_tree::{EntryId, Seq, SessionTree};

use crate::error::EngineError;
use crate::reading::{EntryLines, read_lines};

/// How many lines are in memory at a time.
const CHUNK: usize = 256;

pub(super) async fn search(cursor: &Cursor, query: &str) -> Result<Vec<EntryId>, EngineError> {
    let query = Arc::new(SearchQuery::parse(query)?);
    let state = cursor.session().state();
    let hidden = state.tree.hidden_entries();
    let seqs: Vec<Seq> =
        (0..state.version.entries).map(Seq::new).filter(|seq| !hidden.contains(seq)).collect();
    let mut found = Vec::new();
    for chunk in seqs.chunks(CHUNK) {
        let lines = read_lines(cursor.session(), chunk).await?;
        let (query, tree, chunk) = (query.clone(), state.tree.clone(), chunk.to_vec());
        // Parsing and matching would block the thread that sends events.
        let matches = tokio::task::spawn_blocking(move || matching(&query, &tree, chunk, &lines)).await;
        found.extend(matches.unwrap_or_default());
    }
    Ok(found)
}

fn matching(query: &SearchQuery, tree: &SessionTree, chunk: Vec<Seq>, lines: &EntryLines) -> Vec<EntryId> {
    let matches = |seq: &Seq| {
        let label = tree.label(*seq).map(|label| label.text.as_str());
        let entry = lines.get(seq).and_then(|line| parse_entry(line).ok());
        entry.is_some_and(|entry| query.matches_entry(&EntryView::read(&entry), label))
    };
    chunk.into_iter().filter(matches).map(|seq| tree.id(seq).to_entry_id()).collect()
}
