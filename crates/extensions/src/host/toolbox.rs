//! The tools of an agent with those of extensions. A tool of an extension replaces the built-in one with its name.

use std::sync::{Arc, PoisonError};

use async_trait::async_trait;
use osier_model::TokenUsage;
use osier_tools::{
    Preview, ProposedChange, ProtectedPaths, ResultBlock, ToolCall, ToolContext, ToolKind, ToolOutcome,
    ToolSpec, Toolbox,
};
use serde::Deserialize;
use serde_json::{Value, json};

use super::LoadingSession;
use super::calls::ExtensionCall;
use super::extension::{Extension, Registered, RegisteredTool, TimeLimit};
use super::session::SessionExtensions;
use crate::file_rules::FileRules;
use crate::frame::Failure;
use crate::grants::Grant;

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct ExtendedTools {
    tools: Arc<dyn Toolbox>,
    session: LoadingSession,
}

/// What `execute` returns.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct ToolResult {
    content: Vec<ResultBlock>,
    details: Value,
    is_error: bool,
    terminate: bool,
    /// What the tool used of models outside Osier.
    usage: Option<TokenUsage>,
}

impl ExtendedTools {
    pub(crate) fn new(tools: Arc<dyn Toolbox>, session: LoadingSession) -> ExtendedTools {
        ExtendedTools { tools, session }
    }

    /// The extension that has the tool. The first one that registered a name has it.
    fn find(&self, name: &str) -> Option<(Arc<SessionExtensions>, Arc<Extension>)> {
        let session = self.session.get()?;
        let has = |extension: &&Arc<Extension>| extension.with_tool(name, |_| ()).is_some();
        Some((session.clone(), session.present().find(has)?.clone()))
    }
}

#[async_trait]
impl Toolbox for ExtendedTools {
    fn specs(&self) -> Vec<ToolSpec> {
        let Some(session) = self.session.get() else { return self.tools.specs() };
        let mut specs = add_tools(self.tools.specs(), session.present());
        specs.retain(|spec| session.is_active(&spec.name));
        specs
    }

    fn prompt_section(&self, tools: &[ToolSpec]) -> Option<String> {
        let session = self.session.get()?;
        let names: Vec<String> = tools.iter().map(|spec| spec.name.clone()).collect();
        describe_tools(session.present(), &names)
    }

    /// Calls of extensions run in parallel, as in pi, unless a tool asks to run alone or takes the place of a built-in one.
    fn runs_in_parallel(&self, name: &str) -> bool {
        match self.find(name) {
            Some((_, extension)) => {
                let is_parallel = |tool: &RegisteredTool| tool.name == name && !tool.sequential;
                let replaces = self.tools.specs().iter().any(|spec| spec.name == name);
                !replaces && extension.tools().iter().any(is_parallel)
            }
            None => self.tools.runs_in_parallel(name),
        }
    }

    async fn preview(&self, call: &ToolCall, ctx: &ToolContext) -> Result<Preview, ToolOutcome> {
        match self.find(&call.name) {
            Some(_) => Ok(Preview::from_change(ProposedChange::Call { arguments: call.arguments.clone() })),
            None => self.tools.preview(call, ctx).await,
        }
    }

    async fn resume(&self, call: &ToolCall, ctx: &ToolContext) -> Option<ToolOutcome> {
        match self.find(&call.name) {
            // An extension does not know calls of an earlier process.
            Some(_) => None,
            None => self.tools.resume(call, ctx).await,
        }
    }

    async fn abandon(&self, call: &ToolCall, ctx: &ToolContext) {
        if self.find(&call.name).is_none() {
            self.tools.abandon(call, ctx).await;
        }
    }

    async fn run(&self, call: ToolCall, ctx: &ToolContext) -> ToolOutcome {
        if let Some(session) = self.session.get() {
            session.wait_for_restarts(&ctx.cancel).await;
        }
        let Some((session, extension)) = self.find(&call.name) else {
            return self.tools.run(call, ctx).await;
        };
        let token = session.next_token();
        let updates = || session.running_tools.lock().unwrap_or_else(PoisonError::into_inner);
        updates().insert(token, (extension.place(), ctx.clone()));
        let params =
            json!({ "name": call.name, "callId": call.id, "params": call.arguments, "token": token });
        let work = extension.begin_work(&Registered::Tool(call.name.clone()));
        let result = extension.request("tool", &params, TimeLimit::None, &ctx.cancel).await;
        drop(work);
        updates().remove(&token);
        let outcome = match result.map(|raw| serde_json::from_str::<ToolResult>(raw.get())) {
            Ok(Ok(ToolResult { content, details, is_error, terminate, usage })) => {
                if let Some(usage) = usage {
                    super::model_calls::store_tool_usage(&session, &extension, usage).await;
                }
                ToolOutcome { content, details, is_error, ends_turn: terminate }
            }
            Ok(Err(error)) => {
                ToolOutcome::failed(format!("the tool {} returned an unexpected value: {error}", call.name))
            }
            Err(failure) => ToolOutcome::failed(failure.message),
        };
        ctx.secrets.redact_outcome(outcome)
    }
}

impl SessionExtensions {
    /// The context of a call that runs a tool of this extension.
    pub(super) fn running_tool(&self, extension: &Extension, token: u64) -> Option<ToolContext> {
        let running = self.running_tools.lock().unwrap_or_else(PoisonError::into_inner);
        let (owner, ctx) = running.get(&token)?;
        (*owner == extension.place()).then(|| ctx.clone())
    }
}

#[derive(Debug, Deserialize)]
struct BuiltInParams {
    token: u64,
    name: String,
    params: Value,
}

/// Runs a built-in tool inside a call of an extension's tool, with the rights that the extension was granted.
pub(super) async fn run_built_in(call: &ExtensionCall) -> Result<Value, Failure> {
    let BuiltInParams { token, name, params } = call.params()?;
    call.require(match name.as_str() {
        "bash" => Grant::RunPrograms,
        "write" | "edit" => Grant::WriteFiles,
        "read" | "grep" | "find" | "ls" => Grant::ReadFiles,
        _ => return Err(Failure::new(format!("extensions cannot run the built-in tool {name}"))),
    })?;
    let ctx = call.session.running_tool(&call.extension, token);
    let tools = call.session.built_in_tools();
    let (Some(ctx), Some(tools)) = (ctx, tools) else { return Err(Failure::new("no tool runs now")) };
    if !tools.specs().iter().any(|spec| spec.name == name) {
        return Err(Failure::new(format!("there is no built-in tool {name}")));
    }
    let inner = ToolCall { id: format!("extension-{token}"), name, arguments: params };
    let ToolOutcome { content, details, is_error, .. } = tools.run(inner, &closed_context(call, ctx)).await;
    Ok(json!({ "content": content, "details": details, "isError": is_error }))
}

/// Closes Osier's files to a tool that runs for an extension, as they are to the extension itself.
fn closed_context(call: &ExtensionCall, ctx: ToolContext) -> ToolContext {
    let ExtensionCall { session, extension, .. } = call;
    let directory = session.session.header().cwd.as_ref();
    let FileRules { protected, mut roots, data_folder, .. } =
        session.options.file_rules(directory, &extension.path, &extension.grants);
    roots.push(data_folder);
    let protected = ProtectedPaths::clone(&ctx.protected).with_closed_paths(protected, roots);
    ToolContext { protected: Arc::new(protected), ..ctx }
}

/// Adds the tools of extensions. They replace built-in tools; among extensions, the first one that registered a name has it.
pub(super) fn add_tools<'a>(
    mut specs: Vec<ToolSpec>,
    extensions: impl Iterator<Item = &'a Arc<Extension>>,
) -> Vec<ToolSpec> {
    let built_in = specs.len();
    let mut replaced = Vec::new();
    for extension in extensions {
        for tool in &extension.tools() {
            match specs.iter().position(|spec| spec.name == tool.name) {
                Some(at) if at < built_in && !replaced.contains(&at) => {
                    replaced.push(at);
                    specs[at] = to_spec(tool, Some(specs[at].kind));
                }
                Some(_) => {}
                None => specs.push(to_spec(tool, None)),
            }
        }
    }
    specs
}

/// What tools of extensions want to have said in the system prompt: one line for each, and rules.
fn describe_tools<'a>(
    extensions: impl Iterator<Item = &'a Arc<Extension>>,
    active: &[String],
) -> Option<String> {
    let (mut tools, mut rules) = (Vec::new(), Vec::new());
    for extension in extensions {
        for tool in extension.tools().iter().filter(|tool| active.contains(&tool.name)) {
            tools.extend(tool.prompt_snippet.iter().map(|text| format!("- {}: {text}", tool.name)));
            rules.extend(tool.prompt_guidelines.iter().flatten().cloned());
        }
    }
    describe_parts(tools.into_iter(), rules.into_iter())
}

/// The section of the system prompt with these lines about tools, and these rules.
pub(super) fn describe_parts(
    tools: impl Iterator<Item = String>,
    guidelines: impl Iterator<Item = String>,
) -> Option<String> {
    let mut rules = Vec::new();
    for rule in guidelines.map(|rule| format!("- {}", rule.trim())) {
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    let part = |title: &str, lines: Vec<String>| {
        (!lines.is_empty()).then(|| format!("# {title}\n\n{}", lines.join("\n")))
    };
    let parts: Vec<String> =
        part("More tools", tools.collect()).into_iter().chain(part("Rules for tools", rules)).collect();
    (!parts.is_empty()).then(|| parts.join("\n\n"))
}

/// What the user granted the extension is the approval of its tools. One that takes the place of a built-in tool needs the approval
/// that the built-in one needs.
fn to_spec(tool: &RegisteredTool, replaced: Option<ToolKind>) -> ToolSpec {
    ToolSpec {
        name: tool.name.clone(),
        description: tool.description.clone(),
        parameters: tool.parameters.clone(),
        kind: replaced.unwrap_or(ToolKind::Neutral),
    }
}
