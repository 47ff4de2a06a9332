//! All extensions as one hook of the engine. Each gate asks its handlers here, with the fields and the return values of pi's
//! events.

use std::sync::Arc;

use async_trait::async_trait;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use osier_agent::hooks::{
    CommandDecision, CommandLine, CompactionDecision, CompactionPreparation, ForkPreparation, Hook,
    HookCommand, HookContext, HookEvent, HookResult, MoveDecision, MovePreparation, Permission,
    PromptDecision, PromptPreparation, RequestPurpose, StepChange, StepEnd, StoredPrompt, SwitchPreparation,
    ToolCallDecision, ToolResultChange, TurnChange, TurnSettle, UserCommandDecision,
};
use osier_agent::{AgentModels, PromptLibrary};
use osier_model::{Message, Request};
use osier_protocol::{ExtensionInput, Image, PromptTiming};
use osier_session::Session;
use osier_tools::user_bash::UserCommand;
use osier_tools::{ToolCall, ToolOutcome, Toolbox};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::ExtensionHost;
use super::extension::TimeLimit;
use super::providers::ExtendedModels;
use super::session::SessionExtensions;
use super::toolbox::ExtendedTools;
use crate::frame::Failure;

/// The command that loads extensions again.
const RELOAD: &str = "reload";

/// The answer of a gate that can only cancel.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CancelAnswer {
    cancel: bool,
}

/// The answer to `input`.
#[derive(Debug, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase")]
enum InputAnswer {
    Continue,
    Transform {
        text: String,
        #[serde(default)]
        images: Option<Vec<Image>>,
    },
    Handled,
}

/// The answer to `tool_call`, with the arguments as the handler left them.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct ToolCallAnswer {
    block: bool,
    reason: Option<String>,
    terminate: bool,
    input: Value,
}

/// The answer to `context`: all messages.
#[derive(Debug, Deserialize)]
struct ContextAnswer {
    messages: Vec<ContextMessage>,
}

/// A message of any role.
#[derive(Debug, Deserialize)]
#[serde(try_from = "Value")]
struct ContextMessage(Value);

impl TryFrom<Value> for ContextMessage {
    type Error = &'static str;

    fn try_from(message: Value) -> Result<ContextMessage, &'static str> {
        match message["role"].is_string() {
            true => Ok(ContextMessage(message)),
            false => Err("a message is an object with a role"),
        }
    }
}

impl ExtensionHost {
    /// The extensions of the session that a hook is asked about, connected to its agent.
    async fn extensions(&self, ctx: &HookContext<'_>) -> Arc<SessionExtensions> {
        let extensions = self.load(ctx.session).await;
        extensions.connect(ctx.agent);
        extensions.wait_for_restarts(ctx.cancel).await;
        extensions
    }
}

#[async_trait]
impl Hook for ExtensionHost {
    fn extend_tools(&self, session: &Session, tools: Arc<dyn Toolbox>) -> Arc<dyn Toolbox> {
        let slot = self.slot(session);
        // An agent that starts later in the same session has the same tools.
        let _ = slot.built_in_tools.set(tools.clone());
        Arc::new(ExtendedTools::new(tools, slot))
    }

    fn extend_models(&self, session: &Session, models: AgentModels) -> AgentModels {
        ExtendedModels::extend(models, self.slot(session))
    }

    fn commands(&self, session: &Session) -> Vec<HookCommand> {
        let Some(extensions) = self.loaded(session) else { return Vec::new() };
        let description = "Load extensions again".to_owned();
        let mut commands = vec![HookCommand { name: RELOAD.to_owned(), description }];
        commands.extend(extensions.command_list());
        commands
    }

    async fn run_command(&self, command: &CommandLine, ctx: &HookContext<'_>) -> CommandDecision {
        let extensions = self.load(ctx.session).await;
        extensions.connect(ctx.agent);
        if command.name == RELOAD {
            self.reload(ctx.session, ctx.agent).await;
            return CommandDecision::Done;
        }
        extensions.wait_for_restarts(ctx.cancel).await;
        extensions.run_command(command, ctx).await
    }

    fn receive_input(&self, session: &Session, input: &ExtensionInput) {
        if let Some(extensions) = self.loaded(session) {
            extensions.receive_input(input);
        }
    }

    async fn before_move(
        &self,
        preparation: &MovePreparation,
        ctx: &HookContext<'_>,
    ) -> HookResult<MoveDecision> {
        let name = "session_before_tree";
        let target = preparation.target_id.clone();
        let mut preparation = json!(preparation);
        remove_nulls(&mut preparation, &["customInstructions", "label"]);
        let event = json!({ "type": name, "preparation": preparation });
        let extensions = self.extensions(ctx).await;
        let mut decision: MoveDecision =
            extensions.ask_before(name, &event, ctx.cancel).await.unwrap_or_default();
        let given = extensions.take_given_summary(target.as_deref());
        decision.summary = decision.summary.or(given);
        Ok(decision)
    }

    async fn before_compaction(
        &self,
        preparation: &CompactionPreparation,
        ctx: &HookContext<'_>,
    ) -> HookResult<CompactionDecision> {
        let name = "session_before_compact";
        let extensions = self.extensions(ctx).await;
        let event = compaction_event(name, preparation, extensions.compaction_settings().await);
        Ok(extensions.ask_before(name, &event, ctx.cancel).await.unwrap_or_default())
    }

    async fn before_fork(
        &self,
        preparation: &ForkPreparation,
        ctx: &HookContext<'_>,
    ) -> HookResult<Permission> {
        self.ask_permission("session_before_fork", json!(preparation), ctx).await
    }

    async fn before_switch(
        &self,
        preparation: &SwitchPreparation,
        ctx: &HookContext<'_>,
    ) -> HookResult<Permission> {
        self.ask_permission("session_before_switch", json!(preparation), ctx).await
    }

    async fn before_prompt(
        &self,
        preparation: &PromptPreparation,
        ctx: &HookContext<'_>,
    ) -> HookResult<PromptDecision> {
        let (extensions, name) = (self.extensions(ctx).await, "input");
        let source = match self.options.mode {
            _ if preparation.from_hook => "extension",
            super::ExtensionMode::Rpc => "rpc",
            _ => "interactive",
        };
        let mut prompt = preparation.clone();
        let handlers = extensions.handlers(name);
        let _shown = if handlers.is_empty() { None } else { ctx.show_work(None) };
        for handler in handlers {
            let mut event = json!({ "type": name, "text": prompt.text, "source": source });
            if !prompt.images.is_empty() {
                event["images"] = image_blocks(&prompt.images);
            }
            if let Some(behavior) = streaming_behavior(prompt.when) {
                event["streamingBehavior"] = json!(behavior);
            }
            let answer = handler.call(&extensions, &event, name, TimeLimit::Gate, ctx.cancel).await;
            let Ok(Some(answer)) = answer else { continue };
            match extensions.read_answer(&handler, name, answer) {
                Some(InputAnswer::Transform { text, images }) => {
                    prompt.text = text;
                    prompt.images = images.unwrap_or(prompt.images);
                }
                Some(InputAnswer::Handled) => return Ok(PromptDecision::Handled),
                Some(InputAnswer::Continue) | None => {}
            }
        }
        Ok(match prompt == *preparation {
            true => PromptDecision::Continue,
            false => PromptDecision::Transform { text: prompt.text, images: prompt.images },
        })
    }

    async fn before_turn(&self, prompt: &StoredPrompt, ctx: &HookContext<'_>) -> HookResult<TurnChange> {
        Ok(self.extensions(ctx).await.prepare_turn(prompt, ctx).await)
    }

    async fn edit_context(
        &self,
        messages: &[Value],
        ctx: &HookContext<'_>,
    ) -> HookResult<Option<Vec<Value>>> {
        let (extensions, name) = (self.extensions(ctx).await, "context");
        let mut changed: Option<Vec<Value>> = None;
        for handler in extensions.handlers(name) {
            let event = json!({ "type": name, "messages": changed.as_deref().unwrap_or(messages) });
            let answer = handler.call(&extensions, &event, name, TimeLimit::Gate, ctx.cancel).await;
            let Ok(Some(answer)) = answer else { continue };
            let answer = extensions.read_answer::<ContextAnswer>(&handler, name, answer);
            let messages =
                |answer: ContextAnswer| answer.messages.into_iter().map(|message| message.0).collect();
            changed = answer.map(messages).or(changed);
        }
        Ok(changed)
    }

    async fn before_request(
        &self,
        request: &Request,
        purpose: RequestPurpose,
        ctx: &HookContext<'_>,
    ) -> HookResult<Option<Request>> {
        let (extensions, name) = (self.extensions(ctx).await, "before_provider_request");
        let edited = match purpose {
            RequestPurpose::Reply => extensions.edit_transcript(request, ctx).await,
            RequestPurpose::Summary => None,
        };
        let request = edited.as_ref().unwrap_or(request);
        let mut changed: Option<Value> = None;
        for handler in extensions.handlers(name) {
            let payload = changed.clone().unwrap_or_else(|| request_payload(request));
            let event = json!({ "type": name, "payload": payload });
            let answer = handler.call(&extensions, &event, name, TimeLimit::Gate, ctx.cancel).await;
            let Ok(Some(answer)) = answer else { continue };
            if let Err(reason) = read_payload(request, &answer["payload"]) {
                let failure = Failure::new(format!("it returned an unexpected value: {reason}"));
                extensions.report(&handler.extension.path.display().to_string(), name, &failure);
                continue;
            }
            changed = Some(answer["payload"].clone());
        }
        // It was read before without an error.
        let changed = changed.and_then(|payload| read_payload(request, &payload).ok());
        Ok(changed.or(edited))
    }

    async fn before_tool_call(&self, call: &ToolCall, ctx: &HookContext<'_>) -> HookResult<ToolCallDecision> {
        let (extensions, name) = (self.extensions(ctx).await, "tool_call");
        let mut input = call.arguments.clone();
        for handler in extensions.handlers(name) {
            let event = json!({ "type": name, "toolName": call.name, "toolCallId": call.id, "input": input });
            let answer = match handler.call(&extensions, &event, name, TimeLimit::Gate, ctx.cancel).await {
                Ok(answer) => answer.unwrap_or_default(),
                Err(Failure { message: reason, .. }) => {
                    return Ok(ToolCallDecision::Block { reason, ends_turn: false });
                }
            };
            let Some(answer) = extensions.read_answer::<ToolCallAnswer>(&handler, name, answer) else {
                return Ok(ToolCallDecision::Block { reason: String::new(), ends_turn: false });
            };
            if answer.block {
                let reason = answer.reason.unwrap_or_default();
                return Ok(ToolCallDecision::Block { reason, ends_turn: answer.terminate });
            }
            input = answer.input;
        }
        Ok(match input == call.arguments {
            true => ToolCallDecision::Continue,
            false => ToolCallDecision::Alter { arguments: input },
        })
    }

    async fn edit_tool_result(
        &self,
        call: &ToolCall,
        outcome: &ToolOutcome,
        ctx: &HookContext<'_>,
    ) -> HookResult<ToolResultChange> {
        let (extensions, name) = (self.extensions(ctx).await, "tool_result");
        let mut change = ToolResultChange::default();
        for handler in extensions.handlers(name) {
            let event = json!({
                "type": name,
                "toolName": call.name,
                "toolCallId": call.id,
                "input": call.arguments,
                "content": change.content.as_ref().unwrap_or(&outcome.content),
                "details": change.details.as_ref().unwrap_or(&outcome.details),
                "isError": change.is_error.unwrap_or(outcome.is_error),
            });
            let answer = handler.call(&extensions, &event, name, TimeLimit::Gate, ctx.cancel).await;
            let Ok(Some(answer)) = answer else { continue };
            let Some(answer) = extensions.read_answer::<ToolResultChange>(&handler, name, answer) else {
                continue;
            };
            change.content = answer.content.or(change.content);
            change.details = answer.details.or(change.details);
            change.is_error = answer.is_error.or(change.is_error);
        }
        Ok(change)
    }

    async fn edit_message(&self, message: &Value, ctx: &HookContext<'_>) -> HookResult<Option<Value>> {
        Ok(self.extensions(ctx).await.edit_message(message, ctx).await)
    }

    async fn after_step(&self, step: &StepEnd, ctx: &HookContext<'_>) -> HookResult<StepChange> {
        Ok(self.extensions(ctx).await.ask_at_boundary("turn_end", json!(step), ctx).await)
    }

    async fn before_settle(&self, settle: &TurnSettle, ctx: &HookContext<'_>) -> HookResult<StepChange> {
        Ok(self.extensions(ctx).await.ask_at_boundary("agent_before_settle", json!(settle), ctx).await)
    }

    async fn before_user_command(
        &self,
        command: &UserCommand,
        ctx: &HookContext<'_>,
    ) -> HookResult<UserCommandDecision> {
        self.extensions(ctx).await.before_user_command(command, ctx).await
    }

    async fn edit_headers(
        &self,
        headers: &[(String, String)],
        ctx: &HookContext<'_>,
    ) -> HookResult<Option<Vec<(String, String)>>> {
        Ok(self.extensions(ctx).await.edit_headers(headers, ctx).await)
    }

    fn wants(&self, session: &Session, event: &str) -> bool {
        let may_handle = |extensions: Arc<SessionExtensions>| {
            let is_awaited = || extensions.all().iter().any(|extension| extension.is_awaited());
            !extensions.handlers(event).is_empty() || is_awaited()
        };
        self.loaded(session).is_none_or(may_handle)
    }

    fn prompt_folders(&self, session: &Session) -> PromptLibrary {
        self.loaded(session).map(|extensions| extensions.prompt_folders()).unwrap_or_default()
    }

    async fn observe(&self, event: &HookEvent, ctx: &HookContext<'_>) -> HookResult<()> {
        if matches!(event, HookEvent::SessionClosed) {
            self.unload(ctx.session);
            return Ok(());
        }
        // `after_step` asks the handlers of `turn_end`.
        if matches!(event, HookEvent::SessionOpened | HookEvent::StepEnded { .. }) {
            return Ok(());
        }
        // Other agents of the session share its extensions, which learn about the first start and the last end.
        let is_shared = match event {
            HookEvent::AgentStarted { .. } => !self.agent_started(ctx.session),
            HookEvent::AgentEnded { .. } => !self.agent_ended(ctx.session),
            _ => false,
        };
        let extensions = self.load(ctx.session).await;
        let is_connected = extensions.connect(ctx.agent);
        // The main agent may start while others work.
        if matches!(event, HookEvent::AgentStarted { .. }) && (is_connected || !is_shared) {
            extensions.follow_if_wanted();
        }
        if is_shared {
            return Ok(());
        }
        if matches!(event, HookEvent::TurnEnded { .. }) {
            extensions.set_tools_of_turn(None);
        }
        let describe = |name: &str| super::model_calls::describe_named(&extensions, name);
        match event {
            HookEvent::AgentStarted { previous_session_file, .. } => {
                start(&extensions, super::observed::to_event(event, describe)).await;
                if let Some(previous) = previous_session_file {
                    self.connect_successor(previous, &extensions);
                }
            }
            HookEvent::AgentEnded { .. } => {
                if let Some(worker) = ctx.agent.and_then(osier_agent::WeakWorker::upgrade) {
                    extensions.next_turn.store(&worker).await;
                }
                // Nobody may be left to answer a dialog.
                let over = CancellationToken::new();
                over.cancel();
                let event_of = || super::observed::to_event(event, describe);
                extensions.observe_until(event.name(), event_of, &over).await;
                self.unload(ctx.session);
            }
            _ => {
                let event_of = || super::observed::to_event(event, describe);
                extensions.observe_until(event.name(), event_of, ctx.cancel).await;
            }
        }
        Ok(())
    }
}

/// Tells handlers about the start, until one opens a dialog: clients, which show it, attach only afterwards.
async fn start(extensions: &Arc<SessionExtensions>, event: Value) {
    let session = extensions.clone();
    let started = tokio::spawn(async move {
        session.observe("session_start", || event).await;
        session.discover_resources("startup").await;
    });
    let mut dialogs: FuturesUnordered<_> =
        extensions.all().iter().map(|extension| extension.dialog_opened()).collect();
    tokio::select! {
        // A panic is logged.
        _ = started => {}
        Some(()) = dialogs.next() => {}
    }
}

impl ExtensionHost {
    async fn ask_permission(
        &self,
        name: &str,
        mut event: Value,
        ctx: &HookContext<'_>,
    ) -> HookResult<Permission> {
        event["type"] = json!(name);
        remove_nulls(&mut event, &["targetSessionFile"]);
        let extensions = self.extensions(ctx).await;
        let answer: CancelAnswer = extensions.ask_before(name, &event, ctx.cancel).await.unwrap_or_default();
        if answer.cancel {
            extensions.refuse_replacement();
        }
        Ok(if answer.cancel { Permission::Refuse } else { Permission::Allow })
    }
}

/// In JavaScript, a missing field is `undefined`.
pub(crate) fn remove_nulls(value: &mut Value, fields: &[&str]) {
    let Some(object) = value.as_object_mut() else { return };
    for field in fields {
        if object.get(*field).is_some_and(Value::is_null) {
            object.remove(*field);
        }
    }
}

fn image_blocks(images: &[Image]) -> Value {
    let block = |image: &Image| json!({ "type": "image", "data": image.data, "mimeType": image.mime_type });
    images.iter().map(block).collect()
}

fn streaming_behavior(when: PromptTiming) -> Option<&'static str> {
    match when {
        PromptTiming::Steer | PromptTiming::SteerLater => Some("steer"),
        PromptTiming::FollowUp | PromptTiming::FollowUpLater => Some("followUp"),
        PromptTiming::Now | PromptTiming::NoTurn => None,
    }
}

/// A request as handlers see it: the body that is sent, or the parts of the request if nothing is sent over HTTP.
fn request_payload(request: &Request) -> Value {
    osier_model::body_json(request).unwrap_or_else(|| plain_payload(request))
}

fn plain_payload(request: &Request) -> Value {
    json!({
        "model": request.model.id,
        "system": request.system,
        "messages": request.messages,
        "tools": request.tools,
        "max_tokens": request.max_tokens,
    })
}

/// The request with what a handler returned: the whole body, or the parts that it changed.
fn read_payload(request: &Request, payload: &Value) -> Result<Request, String> {
    let mut request = request.clone();
    if osier_model::body_json(&request).is_some() {
        if !payload.is_object() {
            return Err("the body of a request is an object".to_owned());
        }
        request.body = Some(Arc::new(payload.clone()));
        return Ok(request);
    }
    if let Some(system) = payload["system"].as_str() {
        system.clone_into(&mut request.system);
    }
    if let Some(messages) = payload["messages"].as_array() {
        let read = messages.iter().map(|message| Message::from_json(message.clone()));
        request.messages = read.collect::<Result<_, _>>().map_err(|error| error.to_string())?;
    }
    if !payload["tools"].is_null() {
        request.tools = Deserialize::deserialize(&payload["tools"]).map_err(|error| error.to_string())?;
    }
    request.max_tokens = payload["max_tokens"].as_u64().or(request.max_tokens);
    Ok(request)
}

fn compaction_event(name: &str, preparation: &CompactionPreparation, settings: Value) -> Value {
    let prefix = &preparation.turn_prefix;
    let before_prefix: Vec<&String> =
        preparation.entries_to_summarize.iter().filter(|id| !prefix.contains(id)).collect();
    let mut inner = json!({
        "firstKeptEntryId": preparation.first_kept_entry_id,
        "messagesToSummarize": before_prefix,
        "turnPrefixMessages": prefix,
        "isSplitTurn": !prefix.is_empty(),
        "tokensBefore": preparation.tokens_before,
        "previousSummary": preparation.previous_summary,
    });
    remove_nulls(&mut inner, &["previousSummary"]);
    inner["settings"] = settings;
    let mut event = json!({
        "type": name,
        "preparation": inner,
        "branchEntries": preparation.branch_entries,
        "previousCompactions": preparation.previous_compactions,
        "customInstructions": preparation.custom_instructions,
        "reason": preparation.reason,
        "willRetry": preparation.will_retry,
        "model": preparation.model,
    });
    remove_nulls(&mut event, &["customInstructions"]);
    event
}
