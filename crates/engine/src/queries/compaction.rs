//! A compaction, and what the model no longer gets because of it.

use osier_agent::AgentError;
use osier_protocol::query::{CompactionDetails, DroppedEntry};
use osier_session::{Cursor, Session};
use osier_tree::entry::{Entry, parse_entry};
use osier_tree::projection::preview::{Previews, full_text, one_line};
use osier_tree::scan::RawJson;
use osier_tree::tokens::TokenCount;
use osier_tree::{EntryKind, MessageRole, Place, Seq, SessionTree, time};
use rustc_hash::FxHashSet;

use crate::error::EngineError;
use crate::reading::{context_tokens, read_lines, resolve_entry};

/// The longest path of a file, in characters.
const MAX_FILE: usize = 300;

pub(super) async fn details(cursor: &Cursor, entry: Option<&str>) -> Result<CompactionDetails, EngineError> {
    let session = cursor.session();
    let (state, at) = cursor.state_and_place();
    let tree = &state.tree;
    let compaction = find(tree, at, entry)?;
    let lines = read_lines(session, &[compaction]).await?;
    let no_entry = || AgentError::NotACompaction { id: tree.id(compaction).to_string() };
    let line = lines.get(&compaction).and_then(|line| parse_entry(line).ok());
    let entry = line.ok_or_else(no_entry)?;
    let text = |key: &str| entry.get(key).and_then(RawJson::text).map(String::from);
    let stored = entry.get("tokensBefore").and_then(RawJson::number).map(|tokens| tokens as u64);
    Ok(CompactionDetails {
        entry: (&*entry.id).into(),
        timestamp: entry.time.map(time::format),
        model: text("provider").zip(text("model")).map(|(provider, id)| format!("{provider}/{id}")),
        first_kept_entry_id: text("firstKeptEntryId").map(Into::into),
        tokens_before: tokens_before(session, tree.head(compaction).parent, stored).await?,
        tokens_after: context_tokens(session, Some(compaction)).await?,
        dropped: dropped(session, &dropped_entries(tree, compaction)).await?,
        read_files: files(&entry, "readFiles"),
        modified_files: files(&entry, "modifiedFiles"),
        summary: full_text(&entry),
    })
}

/// The named compaction, or the last one on the path.
fn find(tree: &SessionTree, at: Place, entry: Option<&str>) -> Result<Seq, EngineError> {
    let Some(name) = entry else {
        return Ok(at.and_then(|seq| tree.head(seq).compaction).ok_or(AgentError::NoCompaction)?);
    };
    let seq = resolve_entry(tree, name)?;
    match tree.head(seq).kind {
        EntryKind::Compaction => Ok(seq),
        _ => Err(AgentError::NotACompaction { id: tree.id(seq).to_string() }.into()),
    }
}

/// The entry stores only the number of tokens, not whether it was estimated: compute that again.
async fn tokens_before(session: &Session, at: Place, stored: Option<u64>) -> Result<TokenCount, EngineError> {
    let count = context_tokens(session, at).await?;
    let tokens = stored.unwrap_or(count.tokens);
    Ok(TokenCount { tokens, estimated: count.estimated || tokens != count.tokens })
}

/// The entries of the context before a compaction that are missing after it. The system prompt is sent again, so it does
/// not count.
fn dropped_entries(tree: &SessionTree, compaction: Seq) -> Vec<Seq> {
    let kept: FxHashSet<Seq> =
        tree.context_entries(Some(compaction)).items.iter().map(|item| item.seq).collect();
    let before = tree.context_entries(tree.head(compaction).parent).items;
    let before = before.iter().map(|item| item.seq).filter(|seq| tree.head(*seq).role != MessageRole::System);
    before.filter(|seq| !kept.contains(seq)).collect()
}

async fn dropped(session: &Session, seqs: &[Seq]) -> Result<Vec<DroppedEntry>, EngineError> {
    let lines = read_lines(session, seqs).await?;
    let mut previews = Previews::new(None);
    let entries = seqs.iter().filter_map(|seq| parse_entry(lines.get(seq)?).ok());
    let dropped = entries.map(|entry| DroppedEntry {
        id: (&*entry.id).into(),
        kind: entry.kind.name().to_owned(),
        role: entry.role.name().to_owned(),
        text: previews.preview(&entry),
    });
    Ok(dropped.collect())
}

fn files(entry: &Entry<'_>, key: &str) -> Vec<String> {
    let mut files = Vec::new();
    if let Some(list) = entry.get("details").and_then(|details| details.get(key)) {
        list.each_item(|file| files.extend(file.text().map(|path| one_line(&path, MAX_FILE))));
    }
    files
}
