//! An immutable state of a session, as readers see it.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_store::Version;
use osier_tree::{Place, SessionTree};

use crate::standing::{CursorId, Cursors, Standing};

/// An immutable state of a session.
#[derive(Debug, Clone)]
pub struct State {
    pub tree: Arc<SessionTree>,
    pub version: Version,
    pub(crate) cursors: BTreeMap<CursorId, Arc<Standing>>,
}

impl State {
    pub(crate) fn of(tree: &SessionTree, version: Version, cursors: &Cursors) -> State {
        State { tree: Arc::new(tree.clone()), version, cursors: cursors.all().clone() }
    }

    /// The state of a cursor; `None` if it was dropped.
    pub fn standing(&self, cursor: CursorId) -> Option<&Standing> {
        self.cursors.get(&cursor).map(|standing| &**standing)
    }

    /// The position of the main cursor.
    pub fn main(&self) -> Place {
        self.standing(CursorId::MAIN).and_then(|standing| standing.place)
    }
}
