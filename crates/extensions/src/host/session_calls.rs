//! What extensions read and change in their session, and what they ask of its agent.

use std::sync::Arc;

use osier_agent::hooks::HookCommand;
use osier_agent::{CompactionConfig, Worker};
use osier_protocol::query::{CommandSource, PromptCommand};
use osier_protocol::{
    ClientCommand, CommandReply, CustomMessage, Image, MessageContent, MoveCommand, MoveReply, Prompt,
    PromptTiming, QueryAnswer, ReadyMessage, SessionQuery, ThinkingLevel,
};
use osier_session::{CommitOutcome, Session};
use osier_store::StoreError;
use osier_tree::compaction_cut::ContextLimits;
use osier_tree::{EntryId, Seq};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::calls::ExtensionCall;
use super::extension::{Extension, RegisteredTool};
use super::hook::remove_nulls;
use super::process::RequestResult;
use super::session::SessionExtensions;
use crate::frame::{Failure, null, to_raw};
use crate::source::ExtensionOrigin;

/// Answers a request by its method.
pub(super) async fn answer(method: &str, call: &ExtensionCall) -> RequestResult {
    let session = &call.session.session;
    match method {
        "session.sync" => sync(session, &call.params()?).await.map(|news| to_raw(&news)),
        "session.append" => append(session, &call.params()?).await,
        "session.label" => {
            let LabelParams { id, label } = call.params()?;
            done(session.label(&id, label.as_deref()).await)
        }
        "session.branch" => super::branching::branch(call).await.map(|id| to_raw(&id)),
        "session.createBranched" => {
            super::branching::create_branched_session(call).await.map(|location| to_raw(&location))
        }
        "session.context" => session_context(call).await.map(|context| to_raw(&context)),
        "session.name" => Ok(to_raw(&session.tree().marks().name())),
        "session.rename" => {
            let RenameParams { name } = call.params()?;
            done(session.rename(&name).await)
        }
        "agent.state" => agent_state(call).await.map(|state| to_raw(&state)),
        "agent.contextUsage" => context_usage(call).await.map(|usage| to_raw(&usage)),
        "agent.systemPrompt" => {
            worker(call)?.system_prompt().await.map(|text| to_raw(&text)).map_err(failure)
        }
        "agent.systemPromptOptions" => {
            let sections = worker(call)?.system_prompt_sections().await.map_err(failure)?;
            Ok(to_raw(&call.session.system_prompt_options(sections).await))
        }
        "tools.active" => Ok(to_raw(&active_tools(&call.session))),
        "tools.all" => Ok(to_raw(&all_tools(&call.session))),
        "tools.setActive" => {
            let ActiveToolsParams { names } = call.params()?;
            call.session.set_active_tools(names);
            Ok(null())
        }
        "commands" => commands(call).await,
        "agent.sendMessage" => send_message(call).await,
        "agent.postMessage" => post_message(call).await,
        "agent.sendUserMessage" => send_user_message(call).await,
        "agent.navigateTree" => navigate(call).await,
        "agent.compact" => compact(call).await,
        "agent.setModel" => set_model(call).await,
        "agent.setThinkingLevel" => set_thinking(call).await,
        "agent.waitForIdle" => {
            worker(call)?.wait_until_idle().await;
            Ok(null())
        }
        "agent.newSession" | "agent.switchSession" | "agent.fork" => {
            super::replacement::replace(call, method).await.map(|answer| to_raw(&answer))
        }
        "agent.reload" => {
            // It ends the process that asks, so nothing waits for it.
            tokio::spawn({
                let session = call.session.clone();
                async move { session.reload().await }
            });
            call.cancel.cancelled().await;
            Ok(null())
        }
        "flag" => super::flags::value(call).map(|value| to_raw(&value)),
        _ => Err(Failure::new(format!("{method} is not available in this version of Osier"))),
    }
}

/// Cancels the turn. As in pi, queued prompts stay queued.
pub(super) fn abort(session: &SessionExtensions) {
    if let Some(worker) = session.worker() {
        tokio::spawn(async move { worker.send_from_hook(ClientCommand::Stop).await.map(drop) });
    }
}

/// Ends the client as soon as nothing runs.
pub(super) fn shutdown(session: &SessionExtensions) {
    if let Some(worker) = session.worker() {
        tokio::spawn(async move {
            worker.wait_until_idle().await;
            worker.request_quit();
        });
    }
}

fn worker(call: &ExtensionCall) -> Result<Worker, Failure> {
    call.session.worker().ok_or_else(|| Failure::new("no agent works in this session"))
}

pub(super) fn failure(error: impl std::error::Error) -> Failure {
    Failure::new(osier_engine::error_chain(&error))
}

fn done(outcome: Result<CommitOutcome, osier_session::SessionError>) -> RequestResult {
    outcome.map(|_| null()).map_err(failure)
}

pub(super) async fn send(call: &ExtensionCall, command: ClientCommand) -> Result<CommandReply, Failure> {
    worker(call)?.send_from_hook(command).await.map_err(failure)
}

/// What the mirror of an extension knows.
#[derive(Debug, Deserialize)]
struct SyncParams {
    generation: Option<String>,
    known: usize,
}

/// The most bytes of lines in one answer, which must fit into a frame. The extension asks for the rest.
const MAX_NEWS: usize = 4 << 20;

/// How many lines are read at once.
const NEWS_CHUNK: usize = 200;

/// The entries that the extension does not know yet, as lines, and the position.
async fn sync(session: &Session, params: &SyncParams) -> Result<Value, Failure> {
    let (state, at) = session.main_cursor().state_and_place();
    let generation = format!("{:016x}", state.version.generation);
    let is_same = params.generation.as_ref() == Some(&generation) && params.known <= state.version.entries;
    let first = if is_same { params.known } else { 0 };
    let wanted: Vec<Seq> = (first..state.version.entries).map(Seq::new).collect();
    let (mut lines, mut size): (Vec<String>, usize) = (Vec::new(), 0);
    for chunk in wanted.chunks(NEWS_CHUNK) {
        let take = |_, line: &[u8]| {
            if lines.is_empty() || size + line.len() <= MAX_NEWS {
                lines.push(String::from_utf8_lossy(line).trim_end().to_owned());
            }
            size += line.len();
            Ok::<_, StoreError>(())
        };
        session.for_each_line(state.version, chunk, take).await.map_err(failure)?;
        if size > MAX_NEWS {
            break;
        }
    }
    let header = session.header();
    let file = session.file().map(|file| file.to_string_lossy().into_owned());
    let folder =
        session.file().and_then(|file| file.parent()).map(|folder| folder.to_string_lossy().into_owned());
    let mut news = json!({
        "generation": generation,
        "isComplete": lines.len() == wanted.len(),
        "entries": lines,
        "leafId": at.map(|seq| state.tree.id(seq).to_string()),
        "facts": {
            "id": session.id(),
            "file": file,
            "folder": folder,
            "name": state.tree.marks().name(),
            "cwd": header.cwd,
        },
    });
    if params.generation.is_none() {
        news["header"] = serde_json::from_slice(&header.to_line()).unwrap_or_default();
    }
    Ok(news)
}

/// What an extension gets that knows nothing yet.
#[cfg(test)]
pub(super) async fn news_of(session: &Session) -> Value {
    sync(session, &SyncParams { generation: None, known: 0 }).await.expect("the session can be read")
}

/// The kinds of entries that extensions may append.
const APPENDABLE: &[&str] = &[
    "custom",
    "custom_message",
    "message",
    "compaction",
    "context_edit",
    "thinking_level_change",
    "model_change",
];

/// Stores an entry at the position of the session.
async fn append(session: &Session, entry: &Value) -> RequestResult {
    let kind = entry["type"].as_str().unwrap_or_default();
    if !APPENDABLE.contains(&kind) {
        return Err(Failure::new(format!("an extension cannot append an entry of type {kind}")));
    }
    let stored = session.append_entry(entry.to_string().as_bytes()).await.map_err(failure)?;
    Ok(to_raw(&stored.stored().map(|entry| entry.id)))
}

#[derive(Debug, Deserialize)]
struct LabelParams {
    id: String,
    label: Option<String>,
}

#[derive(Debug, Deserialize)]
struct RenameParams {
    name: String,
}

/// The state of the agent that `ctx` shows.
async fn agent_state(call: &ExtensionCall) -> Result<Value, Failure> {
    let Some(worker) = call.session.worker() else {
        return Ok(json!({ "isIdle": true, "hasPendingMessages": false, "thinkingLevel": "off" }));
    };
    let choice = worker.model_choice().await.map_err(failure)?;
    Ok(json!({
        "model": super::model_calls::describe_at(&*worker.config().model_lookup, &choice.model),
        "thinkingLevel": choice.thinking.name(),
        "isIdle": worker.is_idle(),
        "hasPendingMessages": worker.has_queued_prompts(),
    }))
}

/// The messages of the path as the model gets them, with its model and thinking level.
async fn session_context(call: &ExtensionCall) -> Result<Value, Failure> {
    let worker = worker(call)?;
    let choice = worker.model_choice().await.map_err(failure)?;
    let answer = osier_engine::answer_query(&worker, SessionQuery::Context).await.map_err(failure)?;
    let QueryAnswer::Context { messages } = answer else { return Ok(Value::Null) };
    Ok(json!({
        "messages": messages,
        "thinkingLevel": choice.thinking.name(),
        "model": { "provider": choice.model.provider, "modelId": choice.model.id },
    }))
}

/// The tokens of the context. Unknown right after a compaction.
async fn context_usage(call: &ExtensionCall) -> Result<Value, Failure> {
    let Some(worker) = call.session.worker() else { return Ok(Value::Null) };
    let QueryAnswer::Status(status) =
        osier_engine::answer_query(&worker, SessionQuery::Status).await.map_err(failure)?
    else {
        return Ok(Value::Null);
    };
    let (tokens, window) = (status.context.tokens, status.context_window);
    let percent = (window > 0).then(|| tokens as f64 * 100.0 / window as f64);
    Ok(json!({ "tokens": tokens, "contextWindow": window, "percent": percent }))
}

#[derive(Debug, Deserialize)]
struct ActiveToolsParams {
    names: Vec<String>,
}

pub(super) fn active_tools(session: &SessionExtensions) -> Vec<String> {
    let names = session.all_tools().into_iter().map(|spec| spec.name);
    names.filter(|name| session.is_active(name)).collect()
}

fn all_tools(session: &SessionExtensions) -> Value {
    let owner = |name: &str| {
        session.running().find_map(|extension| {
            let tools = &extension.registrations().tools;
            Some((extension.clone(), tools.iter().find(|tool| tool.name == name)?.clone()))
        })
    };
    let describe = |spec: &osier_tools::ToolSpec| {
        let mut tool = json!({
            "name": spec.name,
            "description": spec.description,
            "parameters": spec.parameters,
            "exposure": "direct",
            "sourceInfo": {
                "path": format!("<builtin:{}>", spec.name),
                "source": "builtin",
                "scope": "temporary",
                "origin": "top-level",
            },
        });
        if let Some((extension, registered)) = owner(&spec.name) {
            tool["sourceInfo"] = source_info(&extension);
            tool["exposure"] = json!(registered.exposure());
            for (name, value) in
                [("namespace", registered.namespace), ("annotations", registered.annotations)]
            {
                if let Some(value) = value {
                    tool[name] = value;
                }
            }
            if let Some(guidelines) = registered.prompt_guidelines {
                tool["promptGuidelines"] = json!(guidelines);
            }
        }
        tool
    };
    session.all_tools().iter().map(describe).collect()
}

impl SessionExtensions {
    /// What the tools of extensions say about themselves in the system prompt, by their names.
    pub(super) fn tool_snippets(&self) -> Value {
        self.describe_tools(|tool| tool.prompt_snippet.map(Value::from))
    }

    pub(super) fn tool_guidelines(&self) -> Value {
        self.describe_tools(|tool| tool.prompt_guidelines.map(Value::from))
    }

    fn describe_tools(&self, part: impl Fn(RegisteredTool) -> Option<Value>) -> Value {
        let tools = self.running().flat_map(|extension| extension.registrations().tools.clone());
        let described = tools.filter_map(|tool| Some((tool.name.clone(), part(tool)?)));
        Value::Object(described.collect())
    }

    /// The settings of compaction in the words of pi.
    pub(super) async fn compaction_settings(&self) -> Value {
        let Some(worker) = self.worker() else { return Value::Null };
        let Ok(choice) = worker.model_choice().await else { return Value::Null };
        let CompactionConfig { automatic, reserve, keep_recent } = worker.config().compaction;
        let usual = ContextLimits::new(choice.model.context_window, Some(choice.model.max_output));
        let limits = ContextLimits { reserve, keep_recent, ..usual };
        json!({
            "enabled": automatic,
            "reserveTokens": limits.window.saturating_sub(limits.threshold()),
            "keepRecentTokens": limits.keep_recent(),
        })
    }
}

/// Extensions do not see what is built in, as in pi.
const BUILT_IN_PROMPT: &str = "init";

/// The commands of extensions, and the prompts and skills of the user.
async fn commands(call: &ExtensionCall) -> RequestResult {
    let describe = |(command, extension, _): &(HookCommand, Arc<Extension>, String)| json!({ "name": command.name, "description": command.description, "source": "extension", "sourceInfo": source_info(extension) });
    let mut commands: Vec<Value> = call.session.named_commands().iter().map(describe).collect();
    if let Some(worker) = call.session.worker()
        && let QueryAnswer::Commands { commands: known } =
            osier_engine::answer_query(&worker, SessionQuery::Commands).await.map_err(failure)?
    {
        let is_of_user = |command: &&PromptCommand| {
            command.source != CommandSource::Extension && command.name != BUILT_IN_PROMPT
        };
        let of_user = known.iter().filter(is_of_user);
        commands.extend(of_user.map(|command| json!({ "name": command.name, "description": command.description, "source": command.source, "sourceInfo": {} })));
    }
    Ok(to_raw(&commands))
}

/// Where an extension comes from, in the words of pi.
fn source_info(extension: &Extension) -> Value {
    let (source, scope) = match extension.source.origin {
        ExtensionOrigin::CommandLine => ("cli", "temporary"),
        ExtensionOrigin::User => ("auto", "user"),
        ExtensionOrigin::Project => ("auto", "project"),
    };
    json!({ "path": extension.path, "source": source, "scope": scope, "origin": "top-level" })
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SendMessageParams {
    message: CustomMessage,
    #[serde(default)]
    trigger_turn: Option<bool>,
    #[serde(default)]
    deliver_as: Option<String>,
}

impl SendMessageParams {
    /// Whether the message is for the next turn if one is running.
    fn is_for_next_turn(&self) -> bool {
        self.deliver_as.as_deref() == Some("nextTurn") || self.trigger_turn == Some(false)
    }

    /// Without `triggerTurn`, an idle agent only stores the message.
    fn timing(&self, worker: &Worker) -> PromptTiming {
        match (self.deliver_as.as_deref(), self.trigger_turn) {
            (Some("followUp"), Some(true)) => PromptTiming::FollowUp,
            (_, Some(true)) => PromptTiming::Steer,
            (Some("followUp"), _) if !worker.is_idle() => PromptTiming::FollowUp,
            _ => PromptTiming::NoTurn,
        }
    }
}

/// Sends a message and waits until it is stored or queued.
async fn send_message(call: &ExtensionCall) -> RequestResult {
    let params: SendMessageParams = call.params()?;
    let worker = worker(call)?;
    if params.is_for_next_turn() && !worker.is_idle() {
        return Ok(store_when_idle(call, worker, params.message));
    }
    let when = params.timing(&worker);
    send(call, ClientCommand::timed_prompt(Prompt::custom(params.message), when)).await.map(|_| null())
}

/// Sends a message without waiting for the agent, which may wait for the extension. What is only stored is stored when this returns.
async fn post_message(call: &ExtensionCall) -> RequestResult {
    let params: SendMessageParams = call.params()?;
    let worker = worker(call)?;
    if params.is_for_next_turn() && !worker.is_idle() {
        return Ok(store_when_idle(call, worker, params.message));
    }
    match params.timing(&worker) {
        PromptTiming::NoTurn => {
            worker.store_from_hook(params.message).await.map(|()| null()).map_err(failure)
        }
        when => {
            let command = ClientCommand::timed_prompt(Prompt::custom(params.message), when);
            let (session, extension) = (call.session.clone(), call.extension.clone());
            call.extension.actions.run(async move {
                if let Err(error) = worker.send_from_hook(command).await {
                    session.report(&extension.path.display().to_string(), "sendMessage", &failure(error));
                }
            });
            Ok(null())
        }
    }
}

/// The next turn takes the message along. Nothing waits for this: the extension may run a tool of the turn.
fn store_when_idle(
    call: &ExtensionCall,
    worker: Worker,
    message: CustomMessage,
) -> Box<serde_json::value::RawValue> {
    let session = call.session.clone();
    session.next_turn.add(message);
    tokio::spawn(async move {
        worker.wait_until_idle().await;
        session.next_turn.store(&worker).await;
    });
    null()
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SendUserMessageParams {
    content: UserContent,
    #[serde(default)]
    deliver_as: Option<String>,
    /// Run the command or expand the template that the text names.
    #[serde(default)]
    expand_prompt_templates: bool,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum UserContent {
    Text(String),
    Blocks(Vec<Value>),
}

async fn send_user_message(call: &ExtensionCall) -> RequestResult {
    let SendUserMessageParams { content, deliver_as, expand_prompt_templates } = call.params()?;
    let prompt = match content {
        UserContent::Text(text) => Prompt::text(text),
        UserContent::Blocks(blocks) => blocks_prompt(&blocks),
    };
    let when = match deliver_as.as_deref() {
        Some("steer") => PromptTiming::Steer,
        Some("followUp") => PromptTiming::FollowUp,
        _ => PromptTiming::Now,
    };
    if expand_prompt_templates {
        return worker(call)?.run_from_hook(prompt, when).await.map(|_| null()).map_err(failure);
    }
    send(call, ClientCommand::timed_prompt(literal(prompt), when)).await.map(|_| null())
}

/// A prompt that is sent as it is, although it begins with a slash.
fn literal(prompt: Prompt) -> Prompt {
    if !prompt.text.trim_start().starts_with('/') || !prompt.images.is_empty() {
        return prompt;
    }
    let content = MessageContent::Text(prompt.text);
    Prompt { message: Some(Box::new(ReadyMessage::User { content, extra: Map::new() })), ..Prompt::default() }
}

fn blocks_prompt(blocks: &[Value]) -> Prompt {
    let texts: Vec<&str> = blocks.iter().filter_map(|block| block["text"].as_str()).collect();
    let images = blocks.iter().filter(|block| block["type"] == "image");
    let images = images.filter_map(|block| Image::deserialize(block).ok()).collect();
    Prompt { images, ..Prompt::text(texts.join("\n")) }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct NavigateParams {
    target_id: Option<EntryId>,
    #[serde(default)]
    summarize: bool,
    #[serde(default)]
    custom_instructions: Option<String>,
    #[serde(default)]
    replace_instructions: bool,
    #[serde(default)]
    label: Option<String>,
    /// Move to exactly this entry, even if it is a user message.
    #[serde(default)]
    exact: bool,
}

async fn navigate(call: &ExtensionCall) -> RequestResult {
    let NavigateParams { target_id, summarize, custom_instructions, replace_instructions, label, exact } =
        call.params()?;
    let command = MoveCommand {
        target_id,
        exact,
        summarize,
        custom_instructions,
        replace_instructions,
        label,
        ..MoveCommand::default()
    };
    match send(call, ClientCommand::Move(command)).await? {
        CommandReply::Moved(MoveReply { cancelled, editor_text, .. }) => {
            let mut result = json!({ "cancelled": cancelled, "editorText": editor_text });
            remove_nulls(&mut result, &["editorText"]);
            Ok(to_raw(&result))
        }
        _ => Ok(to_raw(&json!({ "cancelled": true }))),
    }
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct CompactParams {
    #[serde(default)]
    custom_instructions: Option<String>,
}

async fn compact(call: &ExtensionCall) -> RequestResult {
    let CompactParams { custom_instructions } = call.params()?;
    send(call, ClientCommand::Compact { focus: custom_instructions }).await.map(|reply| to_raw(&reply))
}

#[derive(Debug, Deserialize)]
struct SetModelParams {
    model: String,
}

/// False if the model cannot be used.
async fn set_model(call: &ExtensionCall) -> RequestResult {
    let SetModelParams { model } = call.params()?;
    Ok(to_raw(&send(call, ClientCommand::SetModel { model }).await.is_ok()))
}

#[derive(Debug, Deserialize)]
struct SetThinkingParams {
    level: String,
}

async fn set_thinking(call: &ExtensionCall) -> RequestResult {
    let SetThinkingParams { level } = call.params()?;
    let level = ThinkingLevel::parse(&level)
        .ok_or_else(|| Failure::new(format!("there is no thinking level {level}")))?;
    worker(call)?.choose_thinking_from_hook(level).await.map(|()| null()).map_err(failure)
}
