//! Undo and redo of moves.

use osier_model::CancellationToken;
use osier_protocol::CommandReply;
use osier_tree::Place;

use crate::context::AgentContext;
use crate::error::AgentError;

/// Undo or redo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HistoryDirection {
    Back,
    Forward,
}

impl AgentContext {
    pub(crate) async fn undo_or_redo(
        &self,
        direction: HistoryDirection,
        cancel: &CancellationToken,
    ) -> Result<CommandReply, AgentError> {
        let state = self.session.state();
        let cursor_state = state.cursor_state(self.cursor.id()).cloned().unwrap_or_default();
        let history = cursor_state.history(&state.tree);
        let places = match direction {
            HistoryDirection::Back => &history.back,
            HistoryDirection::Forward => &history.forward,
        };
        let is_elsewhere = |position: &&Place| !state.tree.same_place(**position, cursor_state.position);
        let to = places.iter().rev().find(is_elsewhere).copied().unwrap_or(cursor_state.position);
        match direction {
            HistoryDirection::Back => {
                self.move_through_gate((&state, cursor_state.position), to, cancel, || self.cursor.undo())
                    .await
            }
            HistoryDirection::Forward => {
                self.move_through_gate((&state, cursor_state.position), to, cancel, || self.cursor.redo())
                    .await
            }
        }
    }
}
