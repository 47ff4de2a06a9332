//! `!command` and `!!command`: shell commands that the user runs. Output streams to clients and is stored
//! when the command ends.

use osier_model::CancellationToken;
use osier_protocol::ClientEvent;
use osier_tools::user_bash::{self, UserCommand};
use osier_tools::{Progress, ToolContext};
use osier_tree::EntryId;

use crate::context::AgentContext;
use crate::error::AgentError;

impl AgentContext {
    /// Runs the command and returns the id of the entry that records it.
    pub(crate) async fn run_user_command(
        &self,
        command: UserCommand,
        cancel: CancellationToken,
    ) -> Result<EntryId, AgentError> {
        let (progress, mut output) = Progress::channel(64);
        let mut ctx = ToolContext { cancel: cancel.clone(), progress, ..self.config.tool_context.clone() };
        ctx.sandbox = ctx.sandbox.filter(|sandbox| sandbox.rules.user_commands);
        let run = user_bash::run(command, &ctx);
        tokio::pin!(run);
        let ran = loop {
            tokio::select! {
                ran = &mut run => break ran.map_err(AgentError::Command)?,
                Some(live) = output.recv() => {
                    self.live.send(ClientEvent::BashOutput { text: live.text, skipped: live.skipped });
                }
            }
        };
        while let Ok(live) = output.try_recv() {
            self.live.send(ClientEvent::BashOutput { text: live.text, skipped: live.skipped });
        }
        let message = ran.message(self.timestamp()).to_string().into_bytes();
        Ok(self.store_or_keep(message, &self.session.new_entry_id(), &cancel).await?.id)
    }
}
