//! An immutable state of a session, as readers see it.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_store::LogVersion;
use osier_tree::{Place, SessionTree};

use crate::cursor_state::{CursorId, CursorState, Cursors};

/// Orders the states of an open session: by the log, then by its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct StateAge {
    pub replacements: usize,
    pub entries: usize,
}

/// An immutable state of a session.
#[derive(Debug, Clone)]
pub struct SessionState {
    pub tree: Arc<SessionTree>,
    pub version: LogVersion,
    /// How often the log was replaced since this process opened it.
    pub(crate) replacements: usize,
    pub(crate) cursors: BTreeMap<CursorId, Arc<CursorState>>,
}

impl SessionState {
    pub(crate) fn new(
        tree: &SessionTree,
        version: LogVersion,
        replacements: usize,
        cursors: &Cursors,
    ) -> SessionState {
        SessionState { tree: Arc::new(tree.clone()), version, replacements, cursors: cursors.all().clone() }
    }

    /// The age of this state. Later states of the same open session have greater ages, even if the log became shorter.
    pub fn age(&self) -> StateAge {
        StateAge { replacements: self.replacements, entries: self.version.entries }
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
