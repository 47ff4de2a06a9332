//! `!command` and `!!command`: shell commands that the user runs. Output streams to clients and is stored
//! when the command ends.

use std::time::Duration;

use osier_model::CancellationToken;
use osier_protocol::ClientEvent;
use osier_tools::user_bash::{self, BashExecution, UserCommand};
use osier_tools::{Progress, ToolContext};
use osier_tree::EntryId;

use crate::context::AgentContext;
use crate::error::AgentError;
use crate::hooks::UserCommandDecision;

/// How long hooks that run a command may take after it was canceled.
const CANCEL_GRACE: Duration = Duration::from_secs(2);

/// What hooks decide; `None` if they go on after the command was canceled.
async fn stop_asking<T>(asked: impl Future<Output = T>, cancel: &CancellationToken) -> Option<T> {
    tokio::pin!(asked);
    tokio::select! {
        decision = &mut asked => Some(decision),
        () = cancel.cancelled() => tokio::time::timeout(CANCEL_GRACE, asked).await.ok(),
    }
}

fn canceled(command: &UserCommand) -> UserCommandDecision {
    UserCommandDecision::Ran(Box::new(BashExecution {
        command: command.command.clone(),
        output: String::new(),
        exit_code: None,
        cancelled: true,
        truncated: false,
        full_output_path: None,
        exclude_from_context: command.exclude_from_context,
    }))
}

impl AgentContext {
    /// Runs the command and returns the id of the entry that records it.
    pub(crate) async fn run_user_command(
        &self,
        command: UserCommand,
        cancel: CancellationToken,
    ) -> Result<EntryId, AgentError> {
        let decision = match self.hooks() {
            Some(hooks) => {
                let leaf = self.leaf_id();
                let ctx = self.hook_context(leaf.as_ref(), &cancel);
                let asked = hooks.before_user_command(&command, &ctx);
                stop_asking(asked, &cancel).await.unwrap_or_else(|| canceled(&command))
            }
            None => UserCommandDecision::Run,
        };
        let ran = match decision {
            UserCommandDecision::Run => self.run_in_shell(command, &cancel).await?,
            UserCommandDecision::Ran(ran) => *ran,
            UserCommandDecision::Refuse { reason } => return Err(AgentError::CommandRefused { reason }),
        };
        let message = ran.message(self.timestamp()).to_string().into_bytes();
        Ok(self.store_or_keep(message, &self.session.new_entry_id(), &cancel).await?.id)
    }

    async fn run_in_shell(
        &self,
        command: UserCommand,
        cancel: &CancellationToken,
    ) -> Result<BashExecution, AgentError> {
        let (progress, mut output) = Progress::channel(64);
        let mut ctx = ToolContext { cancel: cancel.clone(), progress, ..self.config.tool_context.clone() };
        ctx.sandbox = ctx.sandbox.filter(|sandbox| sandbox.rules.user_commands);
        let _command = self.live.end_command_on_drop();
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
        Ok(ran)
    }
}
