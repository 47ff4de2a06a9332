//! Commands that write a mark: labels, the name and settings of the session, and deleted branches. They change no position,
//! so they run next to a turn.

use osier_protocol::{ClientCommand, CommandReply};
use osier_session::CommitOutcome;
use osier_tree::PlanError;

use crate::context::AgentContext;
use crate::error::AgentError;

pub(crate) fn is_mark(command: &ClientCommand) -> bool {
    matches!(
        command,
        ClientCommand::Label { .. }
            | ClientCommand::Rename { .. }
            | ClientCommand::SetConfig { .. }
            | ClientCommand::DeleteBranch { .. }
            | ClientCommand::RestoreBranch { .. }
    )
}

impl AgentContext {
    pub(crate) async fn write_mark(&self, command: ClientCommand) -> Result<CommandReply, AgentError> {
        let session = &self.session;
        let outcome = match command {
            ClientCommand::Label { entry, label } => {
                let entry = match entry {
                    Some(entry) => entry.to_string(),
                    None => self.current_entry()?,
                };
                session.label(&entry, label.as_deref()).await?
            }
            ClientCommand::Rename { name } => session.rename(&name).await?,
            ClientCommand::SetConfig { set, unset } => session.set_config(set, unset).await?,
            ClientCommand::DeleteBranch { entry } => session.delete_branch(&entry).await?,
            ClientCommand::RestoreBranch { entry } => session.restore_branch(&entry).await?,
            _ => return Ok(CommandReply::Done),
        };
        match outcome {
            CommitOutcome::Stored(stored) => Ok(CommandReply::Stored { entry: stored.id }),
            CommitOutcome::Nothing => Ok(CommandReply::Done),
            CommitOutcome::Cancelled => Err(AgentError::RefusedByGate),
        }
    }

    /// The entry at the current position.
    fn current_entry(&self) -> Result<String, AgentError> {
        let (state, at) = self.position();
        let entry = state.tree.heads().anchor(at);
        let root = || PlanError::NotFound { id: "root".to_owned() };
        Ok(entry.map(|seq| state.tree.id(seq).to_string()).ok_or_else(root)?)
    }
}
