//! Single actions in an addendum: file changes, commands, tool calls.

use crate::projection::preview::{Call, one_line};
use crate::scan::Raw;

use super::section::cut;

/// The maximum length of a command in the addendum.
const COMMAND: usize = 160;

/// The changes to one file.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) created: bool,
    pub(super) written: usize,
    pub(super) edited: usize,
    /// A change reported by another tool or a summary.
    pub(super) hearsay: Option<&'static str>,
    pub(super) interrupted: bool,
}

#[derive(Debug)]
pub(super) struct Ran {
    pub(super) command: String,
    pub(super) end: String,
    pub(super) times: usize,
}

/// The arguments of a tool call that the addendum uses.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) name: String,
    pub(super) path: Option<String>,
    pub(super) command: String,
    pub(super) line: String,
}

impl Asked {
    pub(super) fn of(call: &Call<'_>) -> Asked {
        let argument = |key| call.arguments.get(key).and_then(Raw::text).map(String::from);
        Asked {
            name: call.name.to_string(),
            path: argument("path").or_else(|| argument("file_path")),
            command: argument("command").unwrap_or_default(),
            line: call.line(None),
        }
    }
}

impl Changes {
    pub(super) fn told(&self) -> String {
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
            self.hearsay.map(str::to_owned),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

impl Ran {
    pub(super) fn told(&self) -> String {
        let times = if self.times > 1 { format!(" ({} times)", self.times) } else { String::new() };
        format!("`{}`: {}{times}", cut(&one_line(&self.command, COMMAND + 1), COMMAND), self.end)
    }
}

/// Adds a command. For a repeated command only the last exit status is kept.
pub(super) fn run(list: &mut Vec<Ran>, command: &str, end: String) {
    let at = list.iter().position(|ran| ran.command == command);
    let before = at.map_or(0, |at| list.remove(at).times);
    list.push(Ran { command: command.to_owned(), end, times: before + 1 });
}

/// Describes how a command ended.
pub(super) fn end_of(fields: Option<Raw<'_>>, failed: bool) -> String {
    let get = |key: &str| fields.and_then(|fields| fields.get(key)).filter(|value| !value.is_null());
    let number = |key| get(key).and_then(Raw::number);
    let is = |key| get(key).is_some_and(Raw::is_true);
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
