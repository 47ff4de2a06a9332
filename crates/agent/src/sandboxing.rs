//! Running commands in the sandbox, and asking to run a blocked command outside of it.

use osier_protocol::{Question, ToolQuestion, UserAnswer};
use osier_tools::approvals::{Allowance, Approvals, AskReason, denied_outcome};
use osier_tools::sandbox::sandbox_denial;
use osier_tools::{ProposedChange, ToolCall, ToolContext, ToolOutcome};
use serde_json::json;

use crate::error::AgentError;
use crate::turn::Turn;

impl Turn {
    /// Asks whether a command that the sandbox may have blocked can run outside of it. `None` if the sandbox
    /// did not block it or no user is present.
    pub(crate) fn sandbox_escape_question(
        &self,
        call: &ToolCall,
        ctx: &ToolContext,
        outcome: &ToolOutcome,
    ) -> Option<Question> {
        let may_ask = ctx.sandbox.is_some() && self.agent.config.has_user && !self.agent.is_confined();
        let denial = sandbox_denial(outcome).filter(|_| may_ask)?;
        let command = call.arguments.get("command")?.as_str()?.to_owned();
        Some(Question::Tool(ToolQuestion {
            call: call.clone(),
            change: ProposedChange::Command { command: command.clone() },
            reason: AskReason::Sandbox,
            sandbox_denial: Some(denial.to_owned()),
            allowances: vec![Allowance::Outside(command)],
        }))
    }

    /// Returns `None` to run the command outside the sandbox, or the outcome that the model gets instead.
    pub(crate) async fn ask_to_leave_sandbox(
        &self,
        question: Question,
        outcome: &ToolOutcome,
    ) -> Result<Option<ToolOutcome>, AgentError> {
        match self.agent.ask_user(question, &self.cancel).await {
            None => Ok(Some(outcome.clone())),
            Some(UserAnswer::Once) => Ok(None),
            Some(UserAnswer::Always { allowance }) => self.store_allowance(allowance).await.map(|()| None),
            Some(UserAnswer::No { reason } | UserAnswer::Text { text: reason }) => {
                let refusal = denied_outcome(&reason).with_detail("why", json!(AskReason::Sandbox.name()));
                let mut outcome = outcome.clone();
                outcome.content.extend(refusal.content);
                Ok(Some(outcome.with_detail("denied", json!(true))))
            }
        }
    }

    /// Stores what the user allowed for the rest of the session.
    pub(crate) async fn store_allowance(&self, allowance: Allowance) -> Result<(), AgentError> {
        if !self.agent.config.trust_session_approvals {
            self.agent.state().run_approvals.allow(allowance);
            return Ok(());
        }
        let mut approvals: Approvals = self.agent.own_approvals();
        approvals.allow(allowance);
        let mut set = approvals.to_settings();
        set.retain(|key, _| key == "approvalTools");
        self.agent.session.set_config(set, Vec::new()).await?;
        Ok(())
    }
}
