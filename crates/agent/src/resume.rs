//! Continues a path whose turn did not finish, after a crash, a failure or a move: `/retry` in the terminal.

use osier_tree::EntryReason;

use crate::error::AgentError;
use crate::hooks::entry_id;
use crate::tail::{Tail, last_reply};
use crate::turn::Turn;

impl Turn {
    /// Prepares a path for resuming: a failed or stopped reply stays on its own branch, and the model is
    /// called again.
    pub(crate) async fn prepare_resume(&self) -> Result<(), AgentError> {
        let (state, at) = self.agent.position();
        match self.read_tail().await? {
            Tail::Prompted | Tail::Answered | Tail::Backtracked | Tail::Calling(_) => Ok(()),
            Tail::Replied(EntryReason::Error | EntryReason::Aborted) | Tail::BrokenOff(..) => {
                let above = last_reply(&state.tree, at).and_then(|seq| state.tree.head(seq).parent);
                self.agent.cursor.move_to_entry(above.map(|seq| state.tree.id(seq).to_string())).await?;
                self.agent.observe_move(entry_id(&state.tree, at), None, false).await;
                Ok(())
            }
            Tail::Replied(_) | Tail::Empty => Err(AgentError::NothingToResume),
        }
    }
}
