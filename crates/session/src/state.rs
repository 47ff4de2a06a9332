//! An immutable state of a session, as readers see it.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_store::LogVersion;
use osier_tree::{Place, SessionTree};

use crate::cursor_state::{CursorId, CursorState, Cursors};

/// An immutable state of a session.
#[derive(Debug, Clone)]
pub struct SessionState {
    pub tree: Arc<SessionTree>,
    pub version: LogVersion,
    pub(crate) cursors: BTreeMap<CursorId, Arc<CursorState>>,
}

impl SessionState {
    pub(crate) fn new(tree: &SessionTree, version: LogVersion, cursors: &Cursors) -> SessionState {
        SessionState { tree: Arc::new(tree.clone()), version, cursors: cursors.all().clone() }
    }

    /// The state of a cursor; `None` if it was dropped.
    pub fn cursor_state(&self, cursor: CursorId) -> Option<&CursorState> {
        self.cursors.get(&cursor).map(|cursor_state| &**cursor_state)
    }

    /// The position of the main cursor.
    pub fn main_place(&self) -> Place {
        self.cursor_state(CursorId::MAIN).and_then(|cursor_state| cursor_state.position)
    }
}
