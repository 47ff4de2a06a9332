//! `bash`: runs a command line in the project folder.

use std::path::PathBuf;
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::spec;
use crate::approvals;
use crate::arguments::parse;
use crate::blocking::{self, Result};
use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::paths::{cause, shown};
use crate::port::{Change, Kind, Preview, Tool, ToolSpec};
use crate::sandbox::{self, DENIAL};
use crate::shell::{self, End, Ran};
use crate::size;

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
        spec::<Arguments>(NAME, Kind::Runs, DESCRIPTION)
    }

    async fn preview(&self, arguments: &Value, ctx: &ToolContext) -> Result<Preview> {
        let command = checked(arguments)?.command;
        blocking::look(ctx, move |ctx| {
            let families = approvals::families(&command, ctx);
            Ok(Preview { families, ..Preview::of(Change::Command { command }) })
        })
        .await
    }

    async fn run(&self, arguments: Value, ctx: &ToolContext) -> ToolOutcome {
        let arguments = match checked(&arguments) {
            Ok(arguments) => arguments,
            Err(failure) => return failure,
        };
        if ctx.cancel.is_cancelled() {
            return ToolOutcome::cancelled();
        }
        let requested = arguments.timeout.map(|seconds| Duration::from_secs(seconds.into()));
        let time = requested.unwrap_or(ctx.limits.command_time).min(ctx.limits.longest_command);
        let guarded = ctx.sandbox.as_ref().map(|sandbox| sandbox.guarded()).unwrap_or_default();
        match shell::run(&arguments.command, time, ctx).await {
            Ok(ran) => confined(outcome(&ran, time), &ran, ctx, &guarded),
            Err(_) if !ctx.cwd.is_dir() => {
                ToolOutcome::failed("cannot run the command: the project folder no longer exists")
            }
            Err(error) => ToolOutcome::failed(format!("cannot start the shell: {}", cause(&error))),
        }
    }
}

fn checked(arguments: &Value) -> Result<Arguments> {
    let arguments = parse::<Arguments>(NAME, arguments)?;
    let fault = match &arguments {
        Arguments { command, .. } if command.trim().is_empty() => "`command` is empty",
        Arguments { command, .. } if command.contains('\0') => "`command` contains a NUL character",
        Arguments { timeout: Some(0), .. } => "`timeout` must be 1 second or more",
        _ => return Ok(arguments),
    };
    Err(ToolOutcome::failed(format!("bash: {fault}")))
}

fn outcome(ran: &Ran, time: Duration) -> ToolOutcome {
    let mut parts: Vec<String> = cut_note(ran).into_iter().collect();
    match ran.text.trim_end_matches('\n') {
        "" => parts.push("[no output]".to_owned()),
        text => parts.push(text.to_owned()),
    }
    let notes: Vec<String> = [end_note(ran.end, time), background_note(ran)].into_iter().flatten().collect();
    if !notes.is_empty() {
        parts.push(format!("\n{}", notes.join("\n")));
    }
    let text = parts.join("\n");
    let good = ran.end == End::Exited(0);
    let outcome = if good { ToolOutcome::text(text) } else { ToolOutcome::failed(text) };
    outcome.with_all(details(ran))
}

/// Adds what the sandbox denied, and which guarded files the command created.
fn confined(outcome: ToolOutcome, ran: &Ran, ctx: &ToolContext, guarded: &[PathBuf]) -> ToolOutcome {
    let Some(sandbox) = &ctx.sandbox else { return outcome };
    let failed = outcome.is_error && !matches!(ran.end, End::Cancelled | End::TimedOut);
    let denial = failed.then(|| sandbox::denial(&ran.text)).flatten();
    let created = sandbox.guarded().into_iter().filter(|path| !guarded.contains(path));
    let created: Vec<String> =
        created.map(|path| shown(path.strip_prefix(&ctx.cwd).unwrap_or(&path))).collect();
    let mut outcome = outcome.with("sandbox", json!(true));
    if let Some(denial) = denial {
        outcome = outcome.note("[the sandbox may have blocked this command]").with(DENIAL, json!(denial));
    }
    if !created.is_empty() {
        let names = created.join(", ");
        let note = format!("[created {names}: programs outside the sandbox may run it; tell the user]");
        outcome = outcome.note(&note).with("created", json!(created));
    }
    outcome
}

fn details(ran: &Ran) -> Map<String, Value> {
    let mut details = Map::new();
    let mut put = |key: &str, value: Value| drop(details.insert(key.to_owned(), value));
    match ran.end {
        End::Exited(code) => put("exitCode", json!(code)),
        End::Killed { signal } => put("signal", json!(signal)),
        End::TimedOut => put("timedOut", json!(true)),
        End::Cancelled => put("cancelled", json!(true)),
    }
    put("durationMs", json!(ran.took.as_millis() as u64));
    put("truncated", json!(ran.truncated));
    if let Some(path) = &ran.full_output {
        put("fullOutputPath", json!(path.to_string_lossy()));
        put("totalLines", json!(ran.total_lines));
        put("totalBytes", json!(ran.total_bytes));
    }
    if let Some(group) = ran.background {
        put("processGroup", json!(group));
    }
    details
}

fn cut_note(ran: &Ran) -> Option<String> {
    if !ran.truncated {
        return None;
    }
    let all = format!("{}, {}", size::count(ran.total_lines, "line", "lines"), size::bytes(ran.total_bytes));
    let full = match (&ran.full_output, &ran.not_kept) {
        (Some(path), None) => format!("the full output is in {}", path.display()),
        (Some(path), Some(why)) => {
            format!("its first part is in {}; the rest was not saved: {why}", path.display())
        }
        (None, why) => format!("the rest was not saved: {}", why.as_deref().unwrap_or("unknown error")),
    };
    Some(format!("[only the end of the output is shown ({all}); {full}]"))
}

fn end_note(end: End, time: Duration) -> Option<String> {
    match end {
        End::Exited(0) => None,
        End::Exited(code) => Some(format!("[exit code {code}]")),
        End::Killed { signal } => Some(format!("[killed by signal {signal}]")),
        End::TimedOut => Some(format!(
            "[timed out after {} s: stopped with all its child processes except daemons; set timeout if it needs longer]",
            time.as_secs_f64()
        )),
        End::Cancelled => Some("[canceled: stopped with all its child processes except daemons]".to_owned()),
    }
}

fn background_note(ran: &Ran) -> Option<String> {
    let (group, path) = (ran.background?, ran.full_output.as_ref());
    let output = path.map(|path| format!("; its output goes to {}", path.display())).unwrap_or_default();
    Some(format!("[a process is still running in the background{output}; stop it with `kill -- -{group}`]"))
}
