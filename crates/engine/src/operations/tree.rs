//! The whole tree: with previews, or with all entries as JSON.

use std::sync::Arc;

use osier_protocol::TreeSnapshot;
use osier_session::{Session, SessionState};
use osier_tree::Place;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::operations::reading::ReadError;
use crate::operations::tree_json::{self, JsonLayout};
use crate::reading::resolve_place;
use crate::stored::StoredSession;

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
    Ok(TreeSnapshot { tree: state.tree.clone(), leaf: at, previews: Arc::new(previews) })
}
