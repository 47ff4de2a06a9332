//! Tool calls and hooks: hooks are asked before a call is approved and run, and may change its result before it is stored.

use osier_tools::{ToolCall, ToolOutcome};
use osier_tree::backtrack::INVALID_ARGUMENTS;

use crate::hooks::ToolCallOutcome;
use crate::tail::RecordedCall;
use crate::turn::Turn;

/// A tool call that is ready for approval.
pub(crate) struct CheckedCall {
    pub(crate) call: ToolCall,
    /// The outcome of a call that does not run.
    pub(crate) refusal: Option<ToolOutcome>,
    /// A hook changed the arguments.
    altered: bool,
}

impl CheckedCall {
    pub(crate) fn new(call: RecordedCall) -> CheckedCall {
        let RecordedCall { id, name, arguments, invalid } = call;
        let refusal = invalid.map(|error| ToolOutcome::failed(format!("{INVALID_ARGUMENTS}{error}")));
        CheckedCall { call: ToolCall { id, name, arguments }, refusal, altered: false }
    }
}

impl Turn {
    /// Asks the hooks about calls, in order. Calls with invalid arguments never run, so nobody is asked.
    pub(crate) async fn ask_before_calls(&self, calls: &mut [CheckedCall]) {
        let Some(hooks) = self.agent.hooks() else { return };
        for checked in calls {
            self.observe_call_start(&checked.call).await;
            if checked.refusal.is_some() {
                continue;
            }
            let leaf = self.agent.leaf_id();
            let ctx = self.agent.hook_context(leaf.as_ref(), &self.cancel);
            let decision = hooks.before_tool_call(checked.call.clone(), &ctx);
            match self.agent.wait_for_gate(decision, &self.cancel).await {
                Some(ToolCallOutcome::Run(call)) => {
                    checked.altered = call.arguments != checked.call.arguments;
                    checked.call.arguments = call.arguments;
                }
                Some(ToolCallOutcome::Blocked { reason, ends_turn }) => {
                    tracing::debug!(tool = %checked.call.name, "a hook blocked a call");
                    checked.refusal = Some(ToolOutcome { ends_turn, ..blocked_outcome(&reason) });
                }
                None => checked.refusal = Some(ToolOutcome::cancelled()),
            }
        }
    }

    /// The result as the hooks change it. It names the arguments that were used, if they are not those of the reply.
    pub(crate) async fn edit_result(&self, checked: &CheckedCall, outcome: ToolOutcome) -> ToolOutcome {
        let Some(hooks) = self.agent.hooks() else { return outcome };
        let leaf = self.agent.leaf_id();
        let ctx = self.agent.hook_context(leaf.as_ref(), &self.cancel);
        let decision = hooks.edit_tool_result(&checked.call, outcome.clone(), &ctx);
        let mut outcome = self.agent.wait_for_gate(decision, &self.cancel).await.unwrap_or(outcome);
        if checked.altered {
            outcome = outcome.with_detail("alteredArguments", checked.call.arguments.clone());
        }
        self.agent.config.tool_context.secrets.redact_outcome(outcome)
    }
}

fn blocked_outcome(reason: &str) -> ToolOutcome {
    let reason = Some(reason.trim()).filter(|reason| !reason.is_empty());
    ToolOutcome::failed(reason.unwrap_or("An extension blocked this call."))
        .with_detail("blocked", true.into())
}
