//! The whole tree: with previews, or with all entries as JSON.

use std::collections::BTreeSet;
use std::sync::Arc;

use osier_protocol::TreeSnapshot;
use osier_session::{Session, SessionState};
use osier_tree::projection::outline::{Outline, OutlineFilter, OutlineOptions};
use osier_tree::{Place, Seq, SessionTree};
use serde_json::json;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::operations::reading::ReadError;
use crate::operations::rows::SomePreviews;
use crate::operations::tree_json::{self, JsonLayout};
use crate::reading::resolve_place;
use crate::stored::StoredSession;

/// A tree with at most this many entries is read as a whole before it is shown.
const MAX_SMALL_TREE: usize = 2_000;

/// How many rows have previews on each side of an entry: more than a screen shows.
const FIRST_ROWS: usize = 120;

/// The size of the pieces in which rows are written, in bytes.
const ROWS_PIECE: usize = 64 * 1024;

/// What the JSON of a tree contains.
#[derive(Debug, Clone, Copy, Default)]
pub struct TreeJsonOptions<'a> {
    /// The position to mark: an entry or `root`; the leaf by default.
    pub at: Option<&'a str>,
    /// Also the entries of deleted branches.
    pub deleted: bool,
    pub layout: JsonLayout,
}

impl Engine {
    /// The tree with one line of text for each entry. `at` is the position to mark: an entry or `root`; the leaf by
    /// default.
    pub async fn tree(&self, stored: &StoredSession, at: Option<&str>) -> Result<TreeSnapshot, EngineError> {
        let live = self.open_briefly(stored).await?;
        let state = live.session().state();
        let at = resolve_place(&state.tree, at)?;
        tree_snapshot(live.session(), &state, at).await
    }

    /// Writes the tree without the content of its entries as lines of JSON: first the number of rows and the leaf, then a row for
    /// each entry, in the order of the log.
    pub async fn write_tree_rows<E: ReadError>(
        &self,
        stored: &StoredSession,
        mut write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let live = self.open_to_read::<E>(stored).await?;
        let session = live.session();
        let (state, leaf) = session.main_cursor().state_and_place();
        let snapshot = tree_snapshot(session, &state, leaf).await?;
        let leaf_id = leaf.map(|seq| snapshot.id(seq));
        let mut lines = json!({ "rows": state.tree.len(), "leafId": leaf_id }).to_string();
        for (seq, _) in state.tree.heads().iter() {
            lines.push('\n');
            lines.push_str(&json!(snapshot.row(seq)).to_string());
            if lines.len() > ROWS_PIECE {
                write(std::mem::take(&mut lines).as_bytes())?;
                // The reader gets what is written.
                tokio::task::yield_now().await;
            }
        }
        lines.push('\n');
        write(lines.as_bytes())
    }

    /// Writes all entries of the tree as a JSON array, nested or flat.
    pub async fn write_tree_json<E: ReadError>(
        &self,
        stored: &StoredSession,
        options: TreeJsonOptions<'_>,
        write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let live = self.open_to_read::<E>(stored).await?;
        let state = live.session().state();
        let at = resolve_place(&state.tree, options.at)?;
        tree_json::write_tree(live.session(), &state, at, &options, write).await
    }
}

/// The tree of a state, with `at` as its position.
pub(crate) async fn tree_snapshot(
    session: &Session,
    state: &SessionState,
    at: Place,
) -> Result<TreeSnapshot, EngineError> {
    let previews = session.previews(state).await?;
    Ok(TreeSnapshot::new(state.tree.clone(), at, Arc::new(previews)))
}

/// The tree with the previews of the rows around an entry, or around `at`. A short session has all of them.
pub(crate) async fn first_rows(
    session: &Session,
    state: &SessionState,
    at: Place,
    filter: OutlineFilter,
    around: Option<&str>,
) -> Result<TreeSnapshot, EngineError> {
    if state.tree.len() <= MAX_SMALL_TREE {
        return tree_snapshot(session, state, at).await;
    }
    let around = around.and_then(|id| state.tree.find(id)).or(at);
    let tree = state.tree.clone();
    // The rows of a very long session take a moment.
    let seqs = tokio::task::spawn_blocking(move || rows_around(&tree, at, filter, around)).await;
    let seqs = seqs.unwrap_or_default();
    let previews = Arc::new(SomePreviews(session.previews_of(state, &seqs).await?));
    Ok(TreeSnapshot::new(state.tree.clone(), at, previews).partial(true))
}

/// The entries of the rows around a place. With another order of branches, the rows above it are those of its path.
fn rows_around(tree: &SessionTree, leaf: Place, filter: OutlineFilter, around: Place) -> Vec<Seq> {
    let options = OutlineOptions { filter, ..OutlineOptions::default() };
    let outline = Outline::new(tree, leaf, &options, &|_| "".into());
    let row = outline.cursor(around).unwrap_or(0);
    let shown = row.saturating_sub(FIRST_ROWS)..(row + FIRST_ROWS).min(outline.rows.len());
    let path = std::iter::successors(Some(row), |row| outline.rows.get(*row)?.parent()).take(FIRST_ROWS);
    let rows: BTreeSet<usize> = shown.chain(path.filter(|row| *row < outline.rows.len())).collect();
    rows.into_iter().map(|row| outline.rows[row].seq).collect()
}
