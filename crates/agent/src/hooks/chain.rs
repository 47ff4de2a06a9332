//! Asking all hooks, one after another. Each gate says here how answers are combined.

use osier_model::{Message, Request};
use osier_tools::{ToolCall, ToolOutcome};

use super::event::HookEvent;
use super::preparation::{
    CompactionDecision, CompactionPreparation, ForkPreparation, MoveDecision, MovePreparation, Permission,
    PromptDecision, PromptPreparation, RequestPurpose, StoredPrompt, SwitchPreparation, ToolCallDecision,
    TurnChange,
};
use super::registry::{Hooks, RegisteredHook};
use super::{HookContext, HookResult};

/// The decision of all hooks about a prompt.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum PromptOutcome {
    /// Send this, which is the original prompt or a changed one.
    Send(PromptPreparation),
    Handled,
    /// A hook failed whose failure refuses. The prompt goes back to its sender.
    Refused,
}

/// The decision of all hooks about a tool call.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ToolCallOutcome {
    /// Run this call, which has the original arguments or changed ones.
    Run(ToolCall),
    Blocked(String),
}

impl Hooks {
    /// The last summary, instructions and label win.
    pub async fn before_move(&self, preparation: &MovePreparation, ctx: &HookContext<'_>) -> MoveDecision {
        let (mut preparation, mut decision) = (preparation.clone(), MoveDecision::default());
        for hook in self.iter() {
            let answer = hook.ask("session_before_tree", ctx, hook.hook.before_move(&preparation, ctx)).await;
            let answer = answer.unwrap_or_else(|_| MoveDecision {
                cancel: hook.refuses_on_failure(),
                ..MoveDecision::default()
            });
            if answer.cancel {
                return answer;
            }
            decision = MoveDecision {
                cancel: false,
                summary: answer.summary.or(decision.summary),
                custom_instructions: answer.custom_instructions.or(decision.custom_instructions),
                replace_instructions: answer.replace_instructions.or(decision.replace_instructions),
                label: answer.label.or(decision.label),
            };
            preparation.apply(&decision);
        }
        decision
    }

    /// The last compaction wins.
    pub async fn before_compaction(
        &self,
        preparation: &CompactionPreparation,
        ctx: &HookContext<'_>,
    ) -> CompactionDecision {
        let mut decision = CompactionDecision::default();
        for hook in self.iter() {
            let answer =
                hook.ask("session_before_compact", ctx, hook.hook.before_compaction(preparation, ctx)).await;
            let answer = answer.unwrap_or_else(|_| CompactionDecision {
                cancel: hook.refuses_on_failure(),
                compaction: None,
            });
            if answer.cancel {
                return answer;
            }
            decision.compaction = answer.compaction.or(decision.compaction);
        }
        decision
    }

    pub async fn before_fork(&self, preparation: &ForkPreparation, ctx: &HookContext<'_>) -> Permission {
        for hook in self.iter() {
            let answer = hook.hook.before_fork(preparation, ctx);
            if refuses(hook, "session_before_fork", ctx, answer).await {
                return Permission::Refuse;
            }
        }
        Permission::Allow
    }

    pub async fn before_switch(&self, preparation: &SwitchPreparation, ctx: &HookContext<'_>) -> Permission {
        for hook in self.iter() {
            let answer = hook.hook.before_switch(preparation, ctx);
            if refuses(hook, "session_before_switch", ctx, answer).await {
                return Permission::Refuse;
            }
        }
        Permission::Allow
    }

    pub(crate) async fn before_prompt(
        &self,
        mut preparation: PromptPreparation,
        ctx: &HookContext<'_>,
    ) -> PromptOutcome {
        for hook in self.iter() {
            let answer = hook.ask("input", ctx, hook.hook.before_prompt(&preparation, ctx)).await;
            match answer {
                Ok(PromptDecision::Continue) => {}
                Ok(PromptDecision::Transform { text, images }) => {
                    (preparation.text, preparation.images) = (text, images);
                }
                Ok(PromptDecision::Handled) => return PromptOutcome::Handled,
                Err(_) if hook.refuses_on_failure() => return PromptOutcome::Refused,
                Err(_) => {}
            }
        }
        PromptOutcome::Send(preparation)
    }

    /// The messages of all hooks, and the last system prompt.
    pub(crate) async fn before_turn(&self, prompt: &StoredPrompt, ctx: &HookContext<'_>) -> TurnChange {
        let (mut prompt, mut change) = (prompt.clone(), TurnChange::default());
        for hook in self.iter() {
            let answer = hook.ask("before_agent_start", ctx, hook.hook.before_turn(&prompt, ctx)).await;
            let Ok(TurnChange { messages, system_prompt }) = answer else { continue };
            change.messages.extend(messages);
            if let Some(text) = system_prompt {
                prompt.system_prompt.clone_from(&text);
                change.system_prompt = Some(text);
            }
        }
        change
    }

    pub(crate) async fn edit_context(
        &self,
        mut messages: Vec<Message>,
        ctx: &HookContext<'_>,
    ) -> Vec<Message> {
        for hook in self.iter() {
            let answer = hook.ask("context", ctx, hook.hook.edit_context(&messages, ctx)).await;
            messages = answer.ok().flatten().unwrap_or(messages);
        }
        messages
    }

    pub(crate) async fn before_request(
        &self,
        mut request: Request,
        purpose: RequestPurpose,
        ctx: &HookContext<'_>,
    ) -> Request {
        for hook in self.iter() {
            let answer = hook.hook.before_request(&request, purpose, ctx);
            let answer = hook.ask("before_provider_request", ctx, answer).await;
            request = answer.ok().flatten().unwrap_or(request);
        }
        request
    }

    /// A failed hook blocks the call, because it might have refused it.
    pub(crate) async fn before_tool_call(
        &self,
        mut call: ToolCall,
        ctx: &HookContext<'_>,
    ) -> ToolCallOutcome {
        for hook in self.iter() {
            match hook.ask("tool_call", ctx, hook.hook.before_tool_call(&call, ctx)).await {
                Ok(ToolCallDecision::Continue) => {}
                Ok(ToolCallDecision::Alter { arguments }) => call.arguments = arguments,
                Ok(ToolCallDecision::Block { reason }) | Err(reason) => {
                    return ToolCallOutcome::Blocked(reason);
                }
            }
        }
        ToolCallOutcome::Run(call)
    }

    pub(crate) async fn edit_tool_result(
        &self,
        call: &ToolCall,
        mut outcome: ToolOutcome,
        ctx: &HookContext<'_>,
    ) -> ToolOutcome {
        for hook in self.iter() {
            let answer = hook.hook.edit_tool_result(call, &outcome, ctx);
            let Ok(change) = hook.ask("tool_result", ctx, answer).await else { continue };
            outcome.content = change.content.unwrap_or(outcome.content);
            outcome.details = change.details.unwrap_or(outcome.details);
            outcome.is_error = change.is_error.unwrap_or(outcome.is_error);
        }
        outcome
    }

    /// Sends an event to all hooks.
    pub async fn observe(&self, event: &HookEvent, ctx: &HookContext<'_>) {
        for hook in self.iter() {
            // The failure is reported, and an observer has nothing to decide.
            let _ = hook.ask(event.name(), ctx, hook.hook.observe(event, ctx)).await;
        }
    }
}

impl MovePreparation {
    /// Changes a move as the hooks so far decided.
    fn apply(&mut self, decision: &MoveDecision) {
        let MoveDecision { custom_instructions, replace_instructions, label, .. } = decision.clone();
        self.custom_instructions = custom_instructions.or(self.custom_instructions.take());
        self.replace_instructions = replace_instructions.unwrap_or(self.replace_instructions);
        self.label = label.or(self.label.take());
    }
}

async fn refuses(
    hook: &RegisteredHook,
    event: &'static str,
    ctx: &HookContext<'_>,
    answer: impl Future<Output = HookResult<Permission>> + Send,
) -> bool {
    match hook.ask(event, ctx, answer).await {
        Ok(permission) => permission == Permission::Refuse,
        Err(_) => hook.refuses_on_failure(),
    }
}
