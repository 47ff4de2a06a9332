//! Exclusive commands: moves, compactions and grafts. Only one runs at a time, never during a turn or a shell
//! command, because each depends on the position it started from.

use osier_model::CancellationToken;
use osier_protocol::{ClientCommand, CommandReply};
use osier_session::{CommitOutcome, SessionState};
use osier_tree::Place;

use crate::compaction::{CompactionReason, before_compaction};
use crate::context::AgentContext;
use crate::error::AgentError;
use crate::hooks::{MovePreparation, entry_id};
use crate::moves::resolve_move;
use crate::undo::HistoryDirection;

/// Whether the command must run exclusively.
pub(crate) fn is_exclusive(command: &ClientCommand) -> bool {
    let jumps = matches!(command, ClientCommand::Move(_) | ClientCommand::Undo | ClientCommand::Redo);
    let changes = matches!(
        command,
        ClientCommand::Compact { .. } | ClientCommand::UndoCompaction { .. } | ClientCommand::Graft { .. }
    );
    jumps || changes
}

/// Whether the command is an undo or a redo.
pub(crate) fn is_undo_or_redo(command: &ClientCommand) -> bool {
    matches!(command, ClientCommand::Undo | ClientCommand::Redo)
}

/// Whether the command stops a running turn. Other exclusive commands are refused during a turn.
pub(crate) fn stops_turn(command: &ClientCommand) -> bool {
    match command {
        ClientCommand::Move(command) => command.stop_turn,
        command => matches!(command, ClientCommand::Compact { .. }),
    }
}

impl AgentContext {
    /// Rejects a command that cannot succeed, before a turn is stopped for it.
    pub(crate) fn check_exclusive(&self, command: &ClientCommand) -> Result<(), AgentError> {
        let ClientCommand::Move(command) = command else { return Ok(()) };
        let (state, at) = self.position();
        resolve_move(command, &state.tree, at).map(drop)
    }

    pub(crate) async fn run_exclusive(
        &self,
        command: ClientCommand,
        cancel: &CancellationToken,
    ) -> Result<CommandReply, AgentError> {
        self.store_unstored().await?;
        let before = self.session.version();
        let reply = self.dispatch_exclusive(command, cancel).await;
        if self.session.version() != before || self.config.one_shot {
            self.store_unrecorded_usage().await?;
        }
        reply
    }

    async fn dispatch_exclusive(
        &self,
        command: ClientCommand,
        cancel: &CancellationToken,
    ) -> Result<CommandReply, AgentError> {
        match command {
            ClientCommand::Move(command) => self.move_leaf(&command, cancel).await.map(CommandReply::Moved),
            ClientCommand::Undo => self.undo_or_redo(HistoryDirection::Back, cancel).await,
            ClientCommand::Redo => self.undo_or_redo(HistoryDirection::Forward, cancel).await,
            ClientCommand::Compact { focus } => {
                let (state, at) = self.compaction_position();
                self.cursor.check_no_foreign_turn(&state.tree, at).await?;
                self.compact(&state, at, CompactionReason::Manual, focus.as_deref(), cancel)
                    .await
                    .map(CommandReply::Compacted)
            }
            ClientCommand::UndoCompaction { entry } => {
                let (state, at) = self.position();
                let to = before_compaction(&state.tree, at, entry.as_deref())?;
                let id = to.map(|seq| state.tree.id(seq).to_string());
                self.move_through_gate((&state, at), to, cancel, || self.cursor.move_to_entry(id)).await
            }
            ClientCommand::Graft { tip, summarize, instructions } => {
                let entry = self.graft(&tip, summarize, instructions.as_deref(), cancel).await?;
                Ok(CommandReply::Stored { entry })
            }
            _ => Ok(CommandReply::Done),
        }
    }

    /// Asks the hooks and moves between two places of one state. Replies `Moved`, or `Done` if there is nothing to move.
    pub(crate) async fn move_through_gate<F>(
        &self,
        (state, at): (&SessionState, Place),
        to: Place,
        cancel: &CancellationToken,
        go: impl FnOnce() -> F,
    ) -> Result<CommandReply, AgentError>
    where
        F: Future<Output = Result<CommitOutcome, osier_session::SessionError>>,
    {
        if !state.tree.same_place(at, to) {
            let branch = state.tree.abandoned_branch(at, to);
            let target_id = to.map(|seq| state.tree.id(seq).to_string());
            let preparation = MovePreparation::new(&state.tree, target_id, &branch);
            let answer = self.ask_before_move(&preparation, cancel).await;
            if answer.is_none_or(|answer| answer.cancel) {
                return Ok(CommandReply::Cancelled);
            }
        }
        let choice = self.model_choice().await?;
        let outcome = go().await?;
        self.after_move(choice);
        match outcome {
            CommitOutcome::Stored(_) => {
                self.observe_move(entry_id(&state.tree, at), None, false).await;
                Ok(CommandReply::Moved(self.unmoved()))
            }
            CommitOutcome::Nothing => Ok(CommandReply::Done),
            CommitOutcome::Cancelled => Ok(CommandReply::Cancelled),
        }
    }

    /// Waits for hooks. Returns `None` if the user cancels.
    pub(crate) async fn wait_for_gate<T>(
        &self,
        answer: impl Future<Output = T>,
        cancel: &CancellationToken,
    ) -> Option<T> {
        tokio::select! {
            answer = answer => Some(answer).filter(|_| !cancel.is_cancelled()),
            () = cancel.cancelled() => None,
        }
    }
}
