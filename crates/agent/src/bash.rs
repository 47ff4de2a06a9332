//! `!command` and `!!command`: shell commands that the user runs. Output streams to clients and is stored
//! when the command ends.

use std::sync::Arc;

use osier_model::CancellationToken;
use osier_tools::user_bash::{self, UserCommand};
use osier_tools::{Progress, ToolContext};

use crate::error::Error;
use crate::live::Live;
use crate::workplace::Workplace;

impl Workplace {
    /// Runs the command and returns the id of the entry that records it.
    pub(crate) async fn bash(
        &self,
        command: UserCommand,
        cancel: CancellationToken,
    ) -> Result<Arc<str>, Error> {
        let (progress, mut output) = Progress::channel(64);
        let mut ctx = ToolContext { cancel, progress, ..self.parts.context.clone() };
        ctx.sandbox = ctx.sandbox.filter(|sandbox| sandbox.rules.user_commands);
        let run = user_bash::run(command, &ctx);
        tokio::pin!(run);
        let ran = loop {
            tokio::select! {
                ran = &mut run => break ran.map_err(Error::Command)?,
                Some(live) = output.recv() => {
                    self.teller.tell(Live::BashOutput { text: live.text, skipped: live.skipped });
                }
            }
        };
        Ok(self.say(&ran.message(self.clock())).await?.id)
    }
}
