//! Asking all hooks, one after another. Each gate says here how answers are combined.

use osier_model::{Message, Request};
use osier_session::Session;
use osier_tools::user_bash::UserCommand;
use osier_tools::{ToolCall, ToolOutcome};
use serde_json::Value;

use super::event::HookEvent;
use super::preparation::{
    CompactionDecision, CompactionPreparation, ForkPreparation, MoveDecision, MovePreparation, Permission,
    PromptDecision, PromptPreparation, RequestPurpose, StepChange, StepEnd, StoredPrompt, SwitchPreparation,
    ToolCallDecision, TurnChange, TurnSettle, UserCommandDecision,
};
use super::registry::{Hooks, RegisteredHook};
use super::{HookContext, HookError, HookResult};
use crate::prompt_library::PromptLibrary;

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
    Blocked {
        reason: String,
        ends_turn: bool,
    },
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
            let Ok(TurnChange { messages, system_prompt, tools_changed }) = answer else { continue };
            change.messages.extend(messages);
            change.tools_changed |= tools_changed;
            if let Some(text) = system_prompt {
                prompt.system_prompt.clone_from(&text);
                change.system_prompt = Some(text);
            }
        }
        change
    }

    /// The messages of the last hook that changed them.
    pub(crate) async fn edit_context(
        &self,
        messages: Vec<Value>,
        ctx: &HookContext<'_>,
    ) -> Option<Vec<Value>> {
        let mut changed: Option<Vec<Value>> = None;
        for hook in self.iter() {
            let current = changed.as_ref().unwrap_or(&messages);
            let answer = hook.ask("context", ctx, hook.hook.edit_context(current, ctx)).await;
            changed = answer.ok().flatten().or(changed);
        }
        changed
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
                Ok(ToolCallDecision::Block { reason, ends_turn }) => {
                    return ToolCallOutcome::Blocked { reason, ends_turn };
                }
                Err(reason) => return ToolCallOutcome::Blocked { reason, ends_turn: false },
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

    /// A message that has another role or other tool calls, or that is not a message, is reported and ignored.
    pub(crate) async fn edit_message(&self, mut message: Value, ctx: &HookContext<'_>) -> Value {
        for hook in self.iter() {
            let edit = async {
                let new = hook.hook.edit_message(&message, ctx).await?;
                new.map(|new| check_edit(&message, new)).transpose()
            };
            let new = hook.ask("message_end", ctx, edit).await.ok().flatten();
            message = new.unwrap_or(message);
        }
        message
    }

    /// What to store after a step, and whether to go on.
    pub(crate) async fn after_step(&self, mut step: StepEnd, ctx: &HookContext<'_>) -> StepEnd {
        for hook in self.iter() {
            let answer = hook.ask("turn_end", ctx, hook.hook.after_step(&step, ctx)).await;
            let StepChange { entries, go_on } = answer.unwrap_or_default();
            step.entries = entries.unwrap_or(step.entries);
            step.go_on = go_on.unwrap_or(step.go_on);
        }
        step
    }

    /// What to store before a turn ends, and whether to go on instead.
    pub(crate) async fn before_settle(&self, mut settle: TurnSettle, ctx: &HookContext<'_>) -> TurnSettle {
        for hook in self.iter() {
            let answer = hook.ask("agent_before_settle", ctx, hook.hook.before_settle(&settle, ctx)).await;
            let StepChange { entries, go_on } = answer.unwrap_or_default();
            settle.entries = entries.unwrap_or(settle.entries);
            settle.go_on = go_on.unwrap_or(settle.go_on);
        }
        settle
    }

    /// The first hook that does not want the command to run decides.
    pub(crate) async fn before_user_command(
        &self,
        command: &UserCommand,
        ctx: &HookContext<'_>,
    ) -> UserCommandDecision {
        for hook in self.iter() {
            match hook.ask("user_bash", ctx, hook.hook.before_user_command(command, ctx)).await {
                Ok(UserCommandDecision::Run) => {}
                Ok(decision) => return decision,
                Err(reason) => return UserCommandDecision::Refuse { reason },
            }
        }
        UserCommandDecision::Run
    }

    pub(crate) async fn edit_headers(
        &self,
        mut headers: Vec<(String, String)>,
        ctx: &HookContext<'_>,
    ) -> Vec<(String, String)> {
        for hook in self.iter() {
            let answer = hook.hook.edit_headers(&headers, ctx);
            let answer = hook.ask("before_provider_headers", ctx, answer).await;
            headers = answer.ok().flatten().unwrap_or(headers);
        }
        headers
    }

    /// The folders of a library, with those of all hooks.
    pub(crate) fn add_prompt_folders(&self, session: &Session, library: &mut PromptLibrary) {
        for hook in self.iter() {
            let PromptLibrary { template_folders, skill_folders } = hook.hook.prompt_folders(session);
            library.template_folders.extend(template_folders);
            library.skill_folders.extend(skill_folders);
        }
    }

    /// Whether a hook wants an event that happens often.
    pub(crate) fn wants(&self, session: &Session, event: &str) -> bool {
        self.iter().any(|hook| hook.hook.wants(session, event))
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

/// The edited message, if it can stand for the old one. A result stays the result of its call: without it, the call would be open, and
/// would run again.
fn check_edit(old: &Value, mut new: Value) -> HookResult<Value> {
    if new["role"] != old["role"] {
        return Err(HookError::new("the message that it returned has another role"));
    }
    for field in ["toolCallId", "toolName"] {
        if let Some(value) = old.get(field) {
            new[field] = value.clone();
        }
    }
    if let Err(error) = Message::from_json(new.clone()) {
        return Err(HookError::new(format!("it returned an unexpected value: {error}")));
    }
    if call_ids(old) != call_ids(&new) {
        return Err(HookError::new("the message that it returned has other tool calls"));
    }
    Ok(new)
}

fn call_ids(message: &Value) -> Vec<&Value> {
    let blocks = message["content"].as_array().into_iter().flatten();
    blocks.filter(|block| block["type"] == "toolCall").map(|block| &block["id"]).collect()
}
