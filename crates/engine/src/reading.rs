//! Reads from an open session what projections need: lines, tokens, the model of a path, and places by their names.

use osier_protocol::MoveCommand;
use osier_session::Session;
use osier_store::StoreError;
use osier_tree::entry::parse_entry;
use osier_tree::line_consumer::LineConsumer;
use osier_tree::projection::context::thinking_level;
use osier_tree::tokens::TokenCount;
use osier_tree::{MoveTarget, Place, PlanError, Seq, SessionTree};
use rustc_hash::FxHashMap;

use crate::error::{EngineError, similar_ids};

/// The name of the position before the first entry.
pub const ROOT: &str = "root";

/// The lines of some entries, in memory.
pub type EntryLines = FxHashMap<Seq, Vec<u8>>;

pub async fn read_lines(session: &Session, seqs: &[Seq]) -> Result<EntryLines, StoreError> {
    let mut lines = EntryLines::default();
    session
        .for_each_line(session.version(), seqs, |seq, line| {
            lines.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(lines)
}

/// Feeds a consumer the lines it asks for until it needs no more.
pub async fn feed_lines(
    session: &Session,
    consumer: &mut (dyn LineConsumer + Send),
) -> Result<(), StoreError> {
    loop {
        let seqs = consumer.needed_lines();
        if seqs.is_empty() {
            return Ok(());
        }
        consumer.feed(&read_lines(session, &seqs).await?);
    }
}

/// The tokens of the context at a place: reported by the last reply, or estimated.
pub async fn context_tokens(session: &Session, at: Place) -> Result<TokenCount, StoreError> {
    let mut counter = session.tree().token_counter(at);
    feed_lines(session, &mut counter).await?;
    Ok(counter.count())
}

/// The `provider/id` of the model last used on the path of a session.
pub async fn model_on_path(session: &Session) -> Result<Option<String>, StoreError> {
    let (state, at) = session.main_cursor().state_and_place();
    let mut search = state.tree.active_model_search(at);
    feed_lines(session, &mut search).await?;
    Ok(search.finish().map(|(provider, id)| format!("{provider}/{id}")))
}

/// The thinking level that the path of a session names.
pub async fn thinking_on_path(session: &Session) -> Result<Option<String>, StoreError> {
    let (state, at) = session.main_cursor().state_and_place();
    let Some(seq) = at.and_then(|seq| state.tree.head(seq).thinking) else { return Ok(None) };
    let lines = read_lines(session, &[seq]).await?;
    let entry = lines.get(&seq).and_then(|line| parse_entry(line).ok());
    Ok(entry.as_ref().and_then(thinking_level).and_then(|level| level.text().map(String::from)))
}

/// Resolves an entry id, or a unique prefix of one.
pub fn resolve_entry(tree: &SessionTree, name: &str) -> Result<Seq, EngineError> {
    match tree.resolve(name) {
        Err(PlanError::NotFound { .. }) => {
            let ids: Vec<_> = tree.heads().iter().map(|(seq, _)| tree.id(seq)).collect();
            let similar = similar_ids(ids.iter().map(osier_tree::EntryIdRef::as_str), name);
            Err(EngineError::EntryNotFound { name: name.to_owned(), similar })
        }
        resolved => Ok(resolved?),
    }
}

/// The full id of an entry named by a prefix; `root` is returned unchanged.
pub fn resolve_id(tree: &SessionTree, name: &str) -> Result<String, EngineError> {
    let position = resolve_place(tree, Some(name))?;
    Ok(position.map_or_else(|| name.to_owned(), |seq| tree.id(seq).to_string()))
}

/// A named place; without a name, where the session opens.
pub fn resolve_place(tree: &SessionTree, name: Option<&str>) -> Result<Place, EngineError> {
    match name {
        None => Ok(tree.opening_place()),
        Some(ROOT) => Ok(None),
        Some(name) => resolve_entry(tree, name).map(Some),
    }
}

/// Where a move would end, starting from `at`.
pub fn move_target(tree: &SessionTree, at: Place, command: &MoveCommand) -> Result<MoveTarget, EngineError> {
    Ok(osier_agent::resolve_move(command, tree, at)?)
}

/// The entry of a position. A mark, such as a label, is not a position: the entry above it is.
pub fn position_id(tree: &SessionTree, at: Place) -> Option<String> {
    let position = tree.heads().ancestors(at).find(|seq| !tree.head(*seq).kind.is_mark());
    position.map(|seq| tree.id(seq).to_string())
}
