//! One thing done each: a change of a file, a command run, a call.

use crate::projection::preview::{Call, one_line};
use crate::scan::Raw;

use super::section::cut;

/// How much of a command is told.
const COMMAND: usize = 160;

/// What was done to a file.
#[derive(Debug, Default)]
pub(super) struct Changes {
    pub(super) created: bool,
    pub(super) written: usize,
    pub(super) edited: usize,
    /// What others tell of it.
    pub(super) hearsay: Option<&'static str>,
    pub(super) interrupted: bool,
}

#[derive(Debug)]
pub(super) struct Ran {
    pub(super) command: String,
    pub(super) end: String,
    pub(super) times: usize,
}

/// What a call asked for.
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
            self.interrupted.then(|| "interrupted in a change".to_owned()),
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

/// Notes a command; of the same one only the last end counts.
pub(super) fn run(list: &mut Vec<Ran>, command: &str, end: String) {
    let at = list.iter().position(|ran| ran.command == command);
    let before = at.map_or(0, |at| list.remove(at).times);
    list.push(Ran { command: command.to_owned(), end, times: before + 1 });
}

/// How a command ended, from the fields that tell it.
pub(super) fn end_of(fields: Option<Raw<'_>>, failed: bool) -> String {
    let get = |key: &str| fields.and_then(|fields| fields.get(key)).filter(|value| !value.is_null());
    let number = |key| get(key).and_then(Raw::number);
    let is = |key| get(key).is_some_and(Raw::is_true);
    let end = match (number("exitCode"), number("signal")) {
        _ if is("cancelled") => "cancelled".to_owned(),
        _ if is("timedOut") => "stopped when its time was over".to_owned(),
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) if failed => "failed".to_owned(),
        (None, None) => "exit code 0".to_owned(),
    };
    match number("processGroup") {
        Some(group) => format!("{end}, and process group {group} went on in the background"),
        None => end,
    }
}
