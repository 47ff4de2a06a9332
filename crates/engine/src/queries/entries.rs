//! Entries: the end of the path, single entries, and the user's messages.

use osier_agent::tail::{Tail, tail_entries};
use osier_protocol::query::{EntriesAnswer, EntryAnswer, ForkPoint, Landmark, LandmarkKind, PathAnswer};
use osier_protocol::{EntryLine, LogPosition};
use osier_session::{ContextReader, Cursor};
use osier_tree::entry::parse_entry;
use osier_tree::kind::flag;
use osier_tree::projection::preview::{editor_text, full_text, one_line, shown_text};
use osier_tree::projection::transcript::is_in_transcript;
use osier_tree::{EntryKind, MessageRole, Place, Seq, SessionTree, time};
use serde_json::Value;

use crate::error::EngineError;
use crate::reading::read_lines;

/// The longest line of a landmark and of a fork point, in characters.
const MAX_LANDMARK: usize = 200;
const MAX_PREVIEW: usize = 200;

/// The size of a page of entries, in bytes, and how many entries are read at a time.
const PAGE_BYTES: usize = 16 << 20;
const PAGE_STEP: usize = 1024;
/// The size of the largest path or context that is one answer, in bytes.
const MAX_ANSWER: usize = 64 << 20;

/// Counts the bytes of an answer, and refuses those beyond the limit.
fn count_bytes(total: &mut usize, piece: &[u8], what: &'static str) -> Result<(), EngineError> {
    *total += piece.len();
    if *total > MAX_ANSWER { Err(EngineError::AnswerTooLarge { what }) } else { Ok(()) }
}

pub(super) async fn path(cursor: &Cursor, limit: Option<usize>) -> Result<PathAnswer, EngineError> {
    let (state, at) = cursor.state_and_place();
    let tree = &state.tree;
    let (seqs, hidden_entries) = end_of_path(tree, at, limit);
    let (mut entries, mut bytes) = (Vec::with_capacity(seqs.len()), 0);
    let take = |_: Seq, line: &[u8]| -> Result<(), EngineError> {
        count_bytes(&mut bytes, line, "path")?;
        entries.push(EntryLine::from(line));
        Ok(())
    };
    cursor.session().for_each_current_line(&state, &seqs, take).await?;
    let position = LogPosition { generation: state.version.generation, entries: state.version.entries };
    let leaf_id = at.map(|seq| tree.id(seq).to_entry_id());
    let tail = read_lines(cursor.session(), &tail_entries(tree, at)).await?;
    let unfinished_turn = Tail::from_path(tree, at, &tail).is_open();
    Ok(PathAnswer { entries, hidden_entries, leaf_id, position, unfinished_turn })
}

/// The last entries of the path that people read, oldest first, and the number of entries above them; 0 if people read none
/// of those. A tool result does not come first: people read it with its call. The cost follows the limit, not the path.
pub(crate) fn end_of_path(tree: &SessionTree, at: Place, limit: Option<usize>) -> (Vec<Seq>, usize) {
    let mut above = tree.heads().ancestors(at).filter(|seq| is_in_transcript(tree.head(*seq)));
    let mut entries: Vec<Seq> = above.by_ref().take(limit.unwrap_or(usize::MAX)).collect();
    let mut first_hidden = above.next();
    while let Some(result) = entries.pop_if(|seq| tree.head(*seq).role == MessageRole::ToolResult) {
        first_hidden = Some(result);
    }
    entries.reverse();
    (entries, first_hidden.map_or(0, |seq| tree.head(seq).depth as usize + 1))
}

pub(super) async fn entry(cursor: &Cursor, id: &str) -> Result<EntryAnswer, EngineError> {
    let state = cursor.session().state();
    let seq = state.tree.require(id)?;
    let mut answer = None;
    let take = |_: Seq, line: &[u8]| -> Result<(), EngineError> {
        let text = parse_entry(line).map(|entry| full_text(&entry)).unwrap_or_default();
        answer = Some(EntryAnswer { entry: line.into(), text });
        Ok(())
    };
    cursor.session().for_each_current_line(&state, &[seq], take).await?;
    answer.ok_or_else(|| EngineError::EntryNotFound { name: id.to_owned(), similar: Vec::new() })
}

/// A page of all entries, or of those after `after`, in the order of the log.
pub(super) async fn entries(cursor: &Cursor, after: Option<&str>) -> Result<EntriesAnswer, EngineError> {
    let (state, at) = cursor.state_and_place();
    let first = match after {
        Some(id) => state.tree.require(id)?.index() + 1,
        None => 0,
    };
    let all: Vec<Seq> = (first..state.version.entries).map(Seq::new).collect();
    let (mut entries, mut bytes) = (Vec::new(), 0);
    // The next page is asked for by an id, which names the last entry with it.
    let mut can_end = false;
    for seqs in all.chunks(PAGE_STEP) {
        let take = |seq: Seq, line: &[u8]| -> Result<(), EngineError> {
            bytes += line.len();
            // A page has at least one entry, however large.
            if bytes <= PAGE_BYTES || !can_end {
                entries.push(EntryLine::from(line));
                can_end = state.tree.require(state.tree.id(seq).to_entry_id().as_str())? == seq;
            }
            Ok(())
        };
        cursor.session().for_each_current_line(&state, seqs, take).await?;
        if bytes > PAGE_BYTES && can_end {
            break;
        }
    }
    let id = |seq: Seq| state.tree.id(seq).to_entry_id();
    let last = all.get(entries.len().saturating_sub(1)).filter(|_| entries.len() < all.len());
    Ok(EntriesAnswer { entries, leaf_id: at.map(id), next: last.copied().map(id) })
}

/// The messages at the cursor.
pub(super) async fn context(cursor: &Cursor) -> Result<Vec<Value>, EngineError> {
    let (mut messages, mut bytes) = (Vec::new(), 0);
    let take = |message: &[u8]| -> Result<(), EngineError> {
        count_bytes(&mut bytes, message, "context")?;
        messages.extend(serde_json::from_str::<Value>(&String::from_utf8_lossy(message)));
        Ok(())
    };
    for_each_message(cursor, take).await?;
    Ok(messages)
}

/// The number of messages at the cursor, however large they are.
pub(super) async fn message_count(cursor: &Cursor) -> Result<usize, EngineError> {
    let mut count = 0;
    let add = |_: &[u8]| -> Result<(), EngineError> {
        count += 1;
        Ok(())
    };
    for_each_message(cursor, add).await?;
    Ok(count)
}

async fn for_each_message(
    cursor: &Cursor,
    each: impl FnMut(&[u8]) -> Result<(), EngineError>,
) -> Result<(), EngineError> {
    let ((state, at), session) = (cursor.state_and_place(), cursor.session());
    let plan = state.tree.context_entries(at);
    let (store, generation) = (&**session.store(), state.version.generation);
    let reader = ContextReader { store, key: session.key(), generation, plan: &plan };
    reader.for_each_message(each).await
}

pub(super) async fn last_reply(cursor: &Cursor) -> Result<Option<EntryAnswer>, EngineError> {
    let (state, at) = cursor.state_and_place();
    let tree = &state.tree;
    let has_text = |seq: &Seq| {
        tree.head(*seq).role == MessageRole::Assistant && tree.head(*seq).has_flag(flag::HAS_TEXT)
    };
    match tree.heads().ancestors(at).find(has_text) {
        Some(seq) => entry(cursor, tree.id(seq).as_str()).await.map(Some),
        None => Ok(None),
    }
}

pub(super) async fn landmark(cursor: &Cursor, id: Option<&str>) -> Result<Landmark, EngineError> {
    let tree = cursor.session().tree();
    for seq in tree.heads().ancestors(id.and_then(|id| tree.find(id))) {
        let kind = match (tree.head(seq).kind, tree.head(seq).role) {
            (EntryKind::Message, MessageRole::User) => LandmarkKind::UserMessage,
            (EntryKind::Message, MessageRole::Assistant) => LandmarkKind::Reply,
            (EntryKind::BranchSummary, _) => LandmarkKind::BranchSummary,
            (EntryKind::Compaction, _) => LandmarkKind::Compaction,
            (EntryKind::Backtrack, _) => LandmarkKind::Note,
            _ => continue,
        };
        let lines = read_lines(cursor.session(), &[seq]).await?;
        let entry = lines.get(&seq).and_then(|line| parse_entry(line).ok());
        let text =
            entry.as_ref().map(|entry| one_line(shown_text(entry).trim(), MAX_LANDMARK)).unwrap_or_default();
        // A reply with only tool calls has no text to recognize it by.
        if !text.is_empty() {
            return Ok(Landmark { kind, text });
        }
    }
    Ok(Landmark { kind: LandmarkKind::Start, text: String::new() })
}

pub(super) async fn fork_points(cursor: &Cursor, all_branches: bool) -> Result<Vec<ForkPoint>, EngineError> {
    let (state, at) = cursor.state_and_place();
    let tree = &state.tree;
    let is_prompt = |seq: &Seq| tree.head(*seq).is_user();
    let seqs: Vec<Seq> = match all_branches {
        false => tree.heads().ancestors(at).filter(is_prompt).collect(),
        true => {
            let hidden = tree.hidden_entries();
            let shown = tree.heads().iter().rev().map(|(seq, _)| seq).filter(|seq| !hidden.contains(seq));
            shown.filter(is_prompt).collect()
        }
    };
    let lines = read_lines(cursor.session(), &seqs).await?;
    let entries = seqs.iter().filter_map(|seq| parse_entry(lines.get(seq)?).ok());
    let point = |entry: osier_tree::Entry<'_>| ForkPoint {
        id: (&*entry.id).into(),
        timestamp: entry.time.map(time::format),
        text: editor_text(&entry).unwrap_or_default(),
        preview: one_line(&shown_text(&entry), MAX_PREVIEW),
    };
    Ok(entries.map(point).collect())
}
