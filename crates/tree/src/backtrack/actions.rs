//! Single actions in an addendum: file changes, commands, tool calls.

use crate::projection::preview::{RawToolCall, one_line};
use crate::scan::RawJson;

use super::section::truncate;

/// The maximum length of a command in the addendum.
const MAX_COMMAND_CHARS: usize = 160;

/// The changes to one file.
#[derive(Debug, Default)]
pub(super) struct FileChanges {
    pub(super) created: bool,
    pub(super) written: usize,
    pub(super) edited: usize,
    /// A change reported by another tool or a summary.
    pub(super) reported_as: Option<&'static str>,
    pub(super) interrupted: bool,
}

#[derive(Debug)]
pub(super) struct CommandRun {
    pub(super) command: String,
    pub(super) exit_status: String,
    pub(super) times: usize,
}

/// The arguments of a tool call that the addendum uses.
#[derive(Debug)]
pub(super) struct CallArguments {
    pub(super) name: String,
    pub(super) path: Option<String>,
    pub(super) command: String,
    pub(super) line: String,
}

impl CallArguments {
    pub(super) fn new(call: &RawToolCall<'_>) -> CallArguments {
        let argument = |key| call.arguments.get(key).and_then(RawJson::text).map(String::from);
        CallArguments {
            name: call.name.to_string(),
            path: argument("path").or_else(|| argument("file_path")),
            command: argument("command").unwrap_or_default(),
            line: call.line(None),
        }
    }
}

impl FileChanges {
    pub(super) fn describe(&self) -> String {
        let times = |what: &str, count: usize| match count {
            0 => None,
            1 => Some(format!("{what} once")),
            2 => Some(format!("{what} twice")),
            count => Some(format!("{what} {count} times")),
        };
        let parts = [
            self.created.then(|| "created".to_owned()),
            times("written", self.written - usize::from(self.created && self.written > 0)),
            times("edited", self.edited),
            self.interrupted.then(|| "interrupted while changing it".to_owned()),
            self.reported_as.map(str::to_owned),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl CommandRun {
    pub(super) fn describe(&self) -> String {
        let times = if self.times > 1 { format!(" ({} times)", self.times) } else { String::new() };
        format!(
            "`{}`: {}{times}",
            truncate(&one_line(&self.command, MAX_COMMAND_CHARS + 1), MAX_COMMAND_CHARS),
            self.exit_status
        )
    }
}

/// Adds a command. For a repeated command only the last exit status is kept.
pub(super) fn add_command_run(list: &mut Vec<CommandRun>, command: &str, end: String) {
    let at = list.iter().position(|ran| ran.command == command);
    let before = at.map_or(0, |at| list.remove(at).times);
    list.push(CommandRun { command: command.to_owned(), exit_status: end, times: before + 1 });
}

/// Describes how a command ended.
pub(super) fn describe_exit(fields: Option<RawJson<'_>>, failed: bool) -> String {
    let get = |key: &str| fields.and_then(|fields| fields.get(key)).filter(|value| !value.is_null());
    let number = |key| get(key).and_then(RawJson::number);
    let is = |key| get(key).is_some_and(RawJson::is_true);
    let end = match (number("exitCode"), number("signal")) {
        _ if is("cancelled") => "canceled".to_owned(),
        _ if is("timedOut") => "timed out".to_owned(),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) if failed => "failed".to_owned(),
        (None, None) => "exit code 0".to_owned(),
    };
    match number("processGroup") {
        Some(group) => format!("{end}, process group {group} kept running in the background"),
        None => end,
    }
}
