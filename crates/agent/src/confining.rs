//! Running commands in the sandbox, and asking to run a blocked command outside of it.

use osier_tools::approvals::{Allowance, Approvals, Why, denied};
use osier_tools::sandbox::denied_to;
use osier_tools::{Change, Mode, ToolCall, ToolContext, ToolOutcome};
use serde_json::json;

use crate::asking::{Answer, Question, ToolQuestion};
use crate::error::Error;
use crate::turn::Turn;

impl Turn {
    /// Whether commands run in the sandbox in this mode. An unavailable sandbox confines nothing.
    pub(crate) fn confines(&self, mode: Mode) -> bool {
        let sandbox = self.work.parts.context.sandbox.as_ref();
        sandbox.is_some_and(|sandbox| match mode {
            Mode::Yolo => false,
            Mode::Sandbox => sandbox.state().is_ok(),
            Mode::Default | Mode::AutoEdit => !sandbox.rules.only_in_mode && sandbox.state().is_ok(),
        })
    }

    /// Asks whether a command that the sandbox may have blocked can run outside of it. `None` if the sandbox
    /// did not block it or no user is present.
    pub(crate) fn leave_sandbox(
        &self,
        call: &ToolCall,
        ctx: &ToolContext,
        outcome: &ToolOutcome,
    ) -> Option<Question> {
        let denial = denied_to(outcome).filter(|_| ctx.sandbox.is_some() && self.work.parts.attended)?;
        let command = call.arguments.get("command")?.as_str()?.to_owned();
        Some(Question::Tool(ToolQuestion {
            call: call.clone(),
            what: Change::Command { command: command.clone() },
            why: Why::Sandbox,
            because: Some(denial.to_owned()),
            offers: vec![Allowance::Outside(command)],
        }))
    }

    /// Returns `None` to run the command outside the sandbox, or the outcome that the model gets instead.
    pub(crate) async fn ask_to_leave(
        &self,
        question: Question,
        outcome: &ToolOutcome,
    ) -> Result<Option<ToolOutcome>, Error> {
        match self.work.ask(question, &self.cancel).await {
            None => Ok(Some(outcome.clone())),
            Some(Answer::Once) => Ok(None),
            Some(Answer::Always(allowance)) => self.remember(allowance).await.map(|()| None),
            Some(Answer::No(reason)) => {
                let refusal = denied(&reason).with("why", json!(Why::Sandbox.name()));
                let mut outcome = outcome.clone();
                outcome.content.extend(refusal.content);
                Ok(Some(outcome.with("denied", json!(true))))
            }
        }
    }

    /// Stores what the user allowed for the rest of the session.
    pub(crate) async fn remember(&self, allowance: Allowance) -> Result<(), Error> {
        if !self.work.parts.own_approvals {
            self.work.now().allowed.allow(allowance);
            return Ok(());
        }
        let mut approvals: Approvals = self.approvals();
        approvals.allow(allowance);
        let mut set = approvals.to_settings();
        set.retain(|key, _| key == "approvalTools");
        self.work.session.config(set, Vec::new()).await?;
        Ok(())
    }
}
