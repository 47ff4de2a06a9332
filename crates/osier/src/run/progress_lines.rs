//! The progress lines of a turn: tool calls, retries, summaries and errors, one line each.

use osier_protocol::{ClientEvent, SummarySubject};
use osier_tree::projection::preview::{RawToolCall, one_line};
use osier_tree::scan::RawJson;
use serde_json::Value;

use super::{answer, entry_title};

/// Maximum length of the text of a line.
const MAX_TEXT: usize = 200;

/// A tool call as `[read: notes.txt]`; `home` is displayed as `~`.
pub(crate) fn format_call(name: &str, arguments: &Value, home: Option<&str>) -> String {
    let arguments = arguments.to_string();
    let arguments = RawJson::parse(arguments.as_bytes());
    arguments.map_or_else(
        |_| format!("[{name}]"),
        |arguments| RawToolCall { name: name.into(), arguments }.line(home),
    )
}

/// The progress line for an event, if it has one.
pub(crate) fn progress_line(event: &ClientEvent, home: Option<&str>) -> Option<String> {
    match event {
        ClientEvent::ToolStarted { name, arguments, .. } => Some(format_call(name, arguments, home)),
        ClientEvent::Retrying { attempt, seconds, message, .. } => {
            let message = one_line(message, MAX_TEXT);
            Some(format!("{message} (attempt {attempt} failed; retrying in {} s)", seconds.ceil()))
        }
        ClientEvent::SummaryStarted { of } => Some(format!("summarizing {}", summary_subject(*of))),
        ClientEvent::Notice { text } => Some(one_line(text, MAX_TEXT)),
        ClientEvent::Entry(event) => {
            let line = event.entry.bytes();
            tool_error_line(line).or_else(|| special_entry_line(line))
        }
        _ => None,
    }
}

/// What a summary is about.
fn summary_subject(of: SummarySubject) -> &'static str {
    match of {
        SummarySubject::Branch => "the branch you are leaving",
        SummarySubject::Graft => "the other branch",
        SummarySubject::Compaction => "the older part of the conversation",
    }
}

/// The first line of a tool error.
fn tool_error_line(line: &[u8]) -> Option<String> {
    let result = tool_result(line).filter(|result| result["isError"] == true)?;
    let text = answer::message_text(&result);
    let first = text.lines().next().unwrap_or_default();
    Some(format!(
        "{}: {}",
        one_line(result["toolName"].as_str().unwrap_or("tool"), 80),
        one_line(first, MAX_TEXT)
    ))
}

/// The title of a compaction, a branch summary or a backtrack.
fn special_entry_line(line: &[u8]) -> Option<String> {
    let entry = osier_tree::entry::parse_entry(line).ok()?;
    entry_title::title(&entry)
}

/// The message of an entry, if it is the result of a tool.
pub(crate) fn tool_result(line: &[u8]) -> Option<Value> {
    let entry = osier_tree::entry::parse_entry(line).ok()?;
    (entry.role == osier_tree::MessageRole::ToolResult).then(|| answer::entry_message(line)).flatten()
}

/// Tool calls that were denied because no user was present to approve them.
#[derive(Debug, Default)]
pub(super) struct DeniedCalls {
    /// The calls of the turn, by id.
    calls: Vec<(String, String)>,
    denied: Vec<String>,
    /// A denied call would change files in the project, which `autoEdit` allows.
    changes_files: bool,
    /// A denied call would run a command, which the mode `sandbox` allows.
    runs_commands: bool,
}

impl DeniedCalls {
    pub(super) fn handle_event(&mut self, event: &ClientEvent, home: Option<&str>) {
        let ClientEvent::Entry(event) = event else { return };
        let line = event.entry.bytes();
        if let Some(said) = answer::assistant_message(line) {
            let calls =
                said["content"].as_array().into_iter().flatten().filter(|block| block["type"] == "toolCall");
            let word = |block: &Value, key: &str| block[key].as_str().unwrap_or_default().to_owned();
            self.calls.extend(calls.map(|block| {
                (word(block, "id"), format_call(&word(block, "name"), &block["arguments"], home))
            }));
        } else if let Some(result) = tool_result(line).filter(|result| result["details"]["denied"] == true) {
            self.changes_files |= result["details"]["why"] == "writes";
            self.runs_commands |= result["details"]["why"] == "runs";
            let id = result["toolCallId"].as_str().unwrap_or_default();
            let refused = self.calls.iter().rev().find(|(call, _)| call == id).map(|(_, line)| line);
            self.denied.extend(refused.filter(|line| !self.denied.contains(line)).cloned());
        }
    }

    /// A notice that lists the denied calls and the options that would allow them.
    pub(super) fn notice(&self) -> Option<String> {
        let refused = self.denied.join(" ");
        let edits =
            if self.changes_files { "--approval autoEdit allows changes to files here, " } else { "" };
        let runs = if self.runs_commands { "--approval sandbox allows commands in a sandbox, " } else { "" };
        (!refused.is_empty())
            .then(|| format!("osier: not allowed: {refused}; {edits}{runs}--approval yolo allows everything"))
    }
}
