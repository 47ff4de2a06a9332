//! Where undo and redo lead from a cursor.

use std::sync::OnceLock;

use osier_tree::move_history::MoveHistory;
use osier_tree::{EntryReason, Place, Seq, SessionTree};
use rustc_hash::FxHashSet;

/// The jumps of a cursor; right after opening, those of the log. Replaying a log reads all its heads, so that happens when its
/// jumps are first needed.
#[derive(Debug, Clone, Default)]
pub(crate) struct CursorHistory {
    /// The number of entries to replay.
    replayed: usize,
    places: OnceLock<MoveHistory>,
}

impl CursorHistory {
    /// Starts with the jumps of the log.
    pub(crate) fn of_log(tree: &SessionTree) -> CursorHistory {
        CursorHistory { replayed: tree.len(), places: OnceLock::new() }
    }

    /// The places that undo and redo return to. `tree` is the tree of the cursor.
    pub(crate) fn places(&self, tree: &SessionTree) -> &MoveHistory {
        self.places.get_or_init(|| {
            let mut places = tree.move_history_of(self.replayed);
            drop_hidden(&mut places, &tree.hidden_entries());
            places
        })
    }

    fn places_mut(&mut self, tree: &SessionTree) -> &mut MoveHistory {
        self.places(tree);
        self.places.get_mut().expect("the places were just read")
    }

    pub(crate) fn record_append(&mut self, tree: &SessionTree) {
        self.places_mut(tree).record_append();
    }

    /// Records a jump. Removes places equal to the current one, which an undo or redo skips.
    pub(crate) fn record_jump(&mut self, tree: &SessionTree, reason: EntryReason, from: Place) {
        let places = self.places_mut(tree);
        let passed = match reason {
            EntryReason::Undo => &mut places.back,
            EntryReason::Redo => &mut places.forward,
            _ => &mut Vec::new(),
        };
        while passed.pop_if(|position| tree.same_place(*position, from)).is_some() {}
        places.record_jump(reason, from);
    }

    /// Removes deleted branches, so that undo never leads into them.
    pub(crate) fn drop_hidden(&mut self, hidden: &FxHashSet<Seq>) {
        // Replaying drops them too.
        if let Some(places) = self.places.get_mut() {
            drop_hidden(places, hidden);
        }
    }

    /// The same history in a log that replaced the old one.
    pub(crate) fn map(&self, old: &SessionTree, map: impl Fn(Place) -> Place) -> CursorHistory {
        let MoveHistory { back, forward } = self.places(old);
        let all = |places: &[Place]| places.iter().map(|place| map(*place)).collect();
        let places = MoveHistory { back: all(back), forward: all(forward) };
        CursorHistory { replayed: 0, places: OnceLock::from(places) }
    }
}

fn drop_hidden(places: &mut MoveHistory, hidden: &FxHashSet<Seq>) {
    let stays = |position: &Place| position.is_none_or(|seq| !hidden.contains(&seq));
    places.back.retain(stays);
    places.forward.retain(stays);
}
