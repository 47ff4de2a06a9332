//! `bash`: runs a command line in the project folder.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::tool_spec;
use crate::approvals;
use crate::arguments::parse;
use crate::blocking::{self, Result};
use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::paths::{escape_name, io_error_text};
use crate::sandbox::{self, DENIAL};
use crate::shell::{self, CommandEnd, CommandResult};
use crate::size;
use crate::tool::{Preview, ProposedChange, Tool, ToolKind, ToolSpec};

pub(crate) const NAME: &str = "bash";
const DESCRIPTION: &str = "Runs a command line with bash in the project folder and returns its output, stdout and stderr \
    combined. Each call starts a new shell, so cd and variables do not persist. There is no terminal and no input: use \
    flags that avoid prompts. Long output is cut to the last 2000 lines or 50 KB, with the name of a file that contains \
    all of it. Commands are stopped after 300 seconds unless timeout is set. Start anything that must keep running, such \
    as a server, in the background with &; it continues after the call.";

#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// The command line.
    command: String,
    /// Seconds after which the command is stopped; 300 by default, at most 3600.
    #[schemars(range(min = 1))]
    timeout: Option<u32>,
}

/// The `bash` tool.
#[derive(Debug)]
pub(crate) struct Bash;

#[async_trait]
impl Tool for Bash {
    fn spec(&self) -> ToolSpec {
        tool_spec::<Arguments>(NAME, ToolKind::Runs, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, ctx: &ToolContext) -> Result<Preview> {
        let command = parse_checked(arguments)?.command;
        blocking::run_read(ctx, move |ctx| {
            let families = approvals::families(&command, ctx);
            Ok(Preview { families, ..Preview::from_change(ProposedChange::Command { command }) })
        })
        .await
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        let arguments = match parse_checked(&arguments) {
            Ok(arguments) => arguments,
            Err(failure) => return failure,
        };
        if ctx.cancel.is_cancelled() {
            return ToolOutcome::cancelled();
        }
        let requested = arguments.timeout.map(|seconds| Duration::from_secs(seconds.into()));
        let time = requested.unwrap_or(ctx.limits.default_timeout).min(ctx.limits.max_timeout);
        let guarded = ctx.sandbox.as_ref().map(|sandbox| sandbox.guarded_paths()).unwrap_or_default();
        match shell::run(&arguments.command, time, ctx).await {
            Ok(result) => with_sandbox_notes(outcome(&result, time), &result, ctx, &guarded),
            Err(_) if !ctx.cwd.is_dir() => {
                ToolOutcome::failed("cannot run the command: the project folder no longer exists")
            }
            Err(error) => ToolOutcome::failed(format!("cannot start the shell: {}", io_error_text(&error))),
        }
    }
}

fn parse_checked(arguments: &Value) -> Result<Arguments> {
    let arguments = parse::<Arguments>(NAME, arguments)?;
    let fault = match &arguments {
        Arguments { command, .. } if command.trim().is_empty() => "`command` is empty",
        Arguments { command, .. } if command.contains('\0') => "`command` contains a NUL character",
        Arguments { timeout: Some(0), .. } => "`timeout` must be 1 second or more",
        _ => return Ok(arguments),
    };
    Err(ToolOutcome::failed(format!("bash: {fault}")))
}

fn outcome(result: &CommandResult, time: Duration) -> ToolOutcome {
    let mut parts: Vec<String> = cut_note(result).into_iter().collect();
    match result.text.trim_end_matches('\n') {
        "" => parts.push("[no output]".to_owned()),
        text => parts.push(text.to_owned()),
    }
    let notes: Vec<String> =
        [end_note(result.end, time), background_note(result)].into_iter().flatten().collect();
    if !notes.is_empty() {
        parts.push(format!("\n{}", notes.join("\n")));
    }
    let text = parts.join("\n");
    let good = result.end == CommandEnd::Exited(0);
    let outcome = if good { ToolOutcome::text(text) } else { ToolOutcome::failed(text) };
    outcome.with_details(details(result))
}

/// Adds what the sandbox denied, and which guarded files the command created.
fn with_sandbox_notes(
    outcome: ToolOutcome,
    result: &CommandResult,
    ctx: &ToolContext,
    guarded: &[PathBuf],
) -> ToolOutcome {
    let Some(sandbox) = &ctx.sandbox else { return outcome };
    let failed = outcome.is_error && !matches!(result.end, CommandEnd::Cancelled | CommandEnd::TimedOut);
    let denial = failed.then(|| sandbox::detect_denial(&result.text)).flatten();
    let created = sandbox.guarded_paths().into_iter().filter(|path| !guarded.contains(path));
    let created: Vec<String> =
        created.map(|path| escape_name(path.strip_prefix(&ctx.cwd).unwrap_or(&path))).collect();
    let mut outcome = outcome.with_detail("sandbox", json!(true));
    if let Some(denial) = denial {
        outcome = outcome
            .with_note("[the sandbox may have blocked this command]")
            .with_detail(DENIAL, json!(denial));
    }
    if !created.is_empty() {
        let names = created.join(", ");
        let note = format!("[created {names}: programs outside the sandbox may run it; tell the user]");
        outcome = outcome.with_note(&note).with_detail("created", json!(created));
    }
    outcome
}

fn details(result: &CommandResult) -> Map<String, Value> {
    let mut details = Map::new();
    let mut insert = |key: &str, value: Value| drop(details.insert(key.to_owned(), value));
    match result.end {
        CommandEnd::Exited(code) => insert("exitCode", json!(code)),
        CommandEnd::Killed { signal } => insert("signal", json!(signal)),
        CommandEnd::TimedOut => insert("timedOut", json!(true)),
        CommandEnd::Cancelled => insert("cancelled", json!(true)),
    }
    insert("durationMs", json!(result.duration.as_millis() as u64));
    insert("truncated", json!(result.truncated));
    if let Some(path) = &result.full_output {
        insert("fullOutputPath", json!(path.to_string_lossy()));
        insert("totalLines", json!(result.total_lines));
        insert("totalBytes", json!(result.total_bytes));
    }
    if let Some(group) = result.background {
        insert("processGroup", json!(group));
    }
    details
}

fn cut_note(result: &CommandResult) -> Option<String> {
    if !result.truncated {
        return None;
    }
    let all =
        format!("{}, {}", size::count(result.total_lines, "line", "lines"), size::bytes(result.total_bytes));
    let full = match (&result.full_output, &result.save_error) {
        (Some(path), None) => format!("the full output is in {}", path.display()),
        (Some(path), Some(reason)) => {
            format!("its first part is in {}; the rest was not saved: {reason}", path.display())
        }
        (None, reason) => format!("the rest was not saved: {}", reason.as_deref().unwrap_or("unknown error")),
    };
    Some(format!("[only the end of the output is shown ({all}); {full}]"))
}

fn end_note(end: CommandEnd, time: Duration) -> Option<String> {
    match end {
        CommandEnd::Exited(0) => None,
        CommandEnd::Exited(code) => Some(format!("[exit code {code}]")),
        CommandEnd::Killed { signal } => Some(format!("[killed by signal {signal}]")),
        CommandEnd::TimedOut => Some(format!(
            "[timed out after {} s: stopped with all its child processes except daemons; set timeout if it needs longer]",
            time.as_secs_f64()
        )),
        CommandEnd::Cancelled => {
            Some("[canceled: stopped with all its child processes except daemons]".to_owned())
        }
    }
}

fn background_note(result: &CommandResult) -> Option<String> {
    let (group, path) = (result.background?, result.full_output.as_ref());
    let output = path.map(|path| format!("; its output goes to {}", path.display())).unwrap_or_default();
    Some(format!("[a process is still running in the background{output}; stop it with `kill -- -{group}`]"))
}
