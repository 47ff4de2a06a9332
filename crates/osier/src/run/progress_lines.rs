//! The progress lines of a turn: tool calls, retries, summaries and errors, one line each.

use osier_protocol::{ClientEvent, EntryLine, ExtensionEvent, SummarySubject, sanitize};
use osier_tree::entry::parse_entry;
use osier_tree::projection::entry_title;
use osier_tree::projection::entry_view::{EntryContent, MessageView, ReplyBlockView, ToolResultView};
use osier_tree::projection::preview::{RawToolCall, one_line};
use osier_tree::scan::RawJson;
use serde_json::Value;

/// Maximum length of the text of a line.
const MAX_TEXT: usize = 200;
/// An error of an extension says what to do, after a path.
const MAX_EXTENSION_TEXT: usize = 1000;

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
        ClientEvent::Extension(event) => extension_line(event),
        ClientEvent::Entry(event) => entry_line(&event.entry),
        _ => None,
    }
}

/// The line for an event of an extension: failures and what it printed.
pub(crate) fn extension_line(event: &ExtensionEvent) -> Option<String> {
    match event {
        ExtensionEvent::Failed { extension_path, error, stack, .. } => {
            let place = stack.first().map(|place| format!(" ({place})")).unwrap_or_default();
            Some(one_line(&format!("Extension error ({extension_path}): {error}{place}"), MAX_EXTENSION_TEXT))
        }
        ExtensionEvent::Log { text, .. } | ExtensionEvent::Notify { message: text, .. } => {
            Some(sanitize(text).into_owned())
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
fn tool_error_line(result: &ToolResultView) -> Option<String> {
    let first = result.text.lines().next().unwrap_or_default();
    let name = if result.tool_name.is_empty() { "tool" } else { &result.tool_name };
    result.is_error.then(|| format!("{}: {}", one_line(name, 80), one_line(first, MAX_TEXT)))
}

/// The line of an entry: of a failed tool, a compaction, a branch summary or a backtrack.
fn entry_line(entry: &EntryLine) -> Option<String> {
    match message(entry) {
        Some(MessageView::ToolResult(result)) => tool_error_line(result),
        _ => entry_title::title(&parse_entry(entry.bytes()).ok()?),
    }
}

fn message(entry: &EntryLine) -> Option<&MessageView> {
    match &entry.view()?.content {
        EntryContent::Message(message) => Some(message),
        _ => None,
    }
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
        match message(&event.entry) {
            Some(MessageView::Assistant(reply)) => {
                for block in &reply.blocks {
                    if let ReplyBlockView::Call(call) = block {
                        let line = format_call(&call.name, &call.arguments, home);
                        self.calls.push((call.id.clone(), line));
                    }
                }
            }
            Some(MessageView::ToolResult(result)) if result.details["denied"] == true => {
                self.add_denied(result);
            }
            _ => {}
        }
    }

    fn add_denied(&mut self, result: &ToolResultView) {
        self.changes_files |= result.details["why"] == "writes";
        self.runs_commands |= result.details["why"] == "runs";
        let denied = self.calls.iter().rev().find(|(call, _)| *call == result.call_id).map(|(_, line)| line);
        self.denied.extend(denied.filter(|line| !self.denied.contains(line)).cloned());
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
