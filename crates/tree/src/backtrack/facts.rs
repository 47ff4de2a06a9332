//! Collects the facts that remain true after a part of the conversation is discarded.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::entry::{Entry, EntryKind, MessageRole, flag};
use crate::files::TouchedFiles;
use crate::fold::SessionTree;
use crate::heads::Seq;
use crate::projection::preview::{field, message_field, one_line, tool_calls};
use crate::projection::{Lines, context};
use crate::scan::RawJson;

use super::actions::{CallArguments, CommandRun, FileChanges, add_command_run, describe_exit};
use super::section::{AddendumSection, render_sections, truncate};
use super::texts::{CLOSING, EMPTY_ADDENDUM, OPENING};

/// The maximum length of one user message, reply, note and name.
const MAX_MESSAGE_CHARS: usize = 2_000;
const MAX_REPLY_CHARS: usize = 600;
const MAX_NOTE_CHARS: usize = 1_500;
const MAX_NAME_CHARS: usize = 160;

/// Tools without effects outside the conversation. Calling them again does no harm.
const TOOLS_WITHOUT_EFFECTS: [&str; 6] = ["read", "grep", "find", "ls", "todo", "backtrack"];

/// The facts, in chronological lists.
#[derive(Debug, Default)]
pub(super) struct DiscardedFacts {
    /// Messages of the user or of an extension to the model.
    messages: Vec<String>,
    /// Replies of the model to the user.
    replies: Vec<String>,
    /// Notes of earlier backtracks, and branch summaries.
    notes: Vec<String>,
    changed_files: Vec<(String, FileChanges)>,
    read_files: Vec<String>,
    commands: Vec<CommandRun>,
    user_commands: Vec<CommandRun>,
    /// Calls of other tools that may have changed something.
    other_calls: Vec<String>,
    /// Calls without a result so far, by id.
    unanswered_calls: Vec<(String, CallArguments)>,
}

impl DiscardedFacts {
    pub(super) fn collect(tree: &SessionTree, entries: &BTreeSet<Seq>, lines: &impl Lines) -> DiscardedFacts {
        let mut edits: FxHashMap<Seq, Seq> = FxHashMap::default();
        for seq in entries.iter().copied().filter(|seq| tree.head(*seq).kind == EntryKind::ContextEdit) {
            edits.extend(tree.head(seq).target.map(|target| (target, seq)));
        }
        let mut facts = DiscardedFacts::default();
        for seq in entries {
            let Some(entry) = lines.entry(*seq).filter(|entry| entry.flags & flag::NOT_SENT == 0) else {
                continue;
            };
            let edit = edits.get(seq).and_then(|edit| lines.entry(*edit));
            facts.add_entry(&entry, edit.as_ref());
        }
        facts.add_unanswered_calls();
        facts
    }

    fn add_entry(&mut self, entry: &Entry<'_>, edit: Option<&Entry<'_>>) {
        match (entry.kind, entry.role) {
            (EntryKind::Message, MessageRole::User) => self.messages.extend(message_text(entry, edit)),
            (EntryKind::Message, MessageRole::Assistant) => {
                self.replies.extend(message_text(entry, edit).map(|text| truncate(&text, MAX_REPLY_CHARS)));
                self.unanswered_calls.extend(
                    tool_calls(entry).iter().map(|(id, call)| (id.to_string(), CallArguments::new(call))),
                );
            }
            (EntryKind::Message, MessageRole::ToolResult) => self.add_tool_result(entry),
            (EntryKind::Message, MessageRole::BashExecution) => self.add_user_command(entry),
            (EntryKind::CustomMessage, _) => {
                let kind = field(entry, "customType").and_then(RawJson::text).unwrap_or_default();
                self.messages.extend(
                    message_text(entry, edit).map(|text| format!("(from {}) {text}", one_line(&kind, 80))),
                );
            }
            (EntryKind::Backtrack, _) => {
                let note =
                    field(entry, "details").and_then(|details| details.get("note")).and_then(RawJson::text);
                self.notes
                    .extend(note.map(|note| truncate(&note, MAX_NOTE_CHARS)).filter(|note| !note.is_empty()));
            }
            (EntryKind::BranchSummary, _) => self.add_branch_summary(entry),
            _ => {}
        }
    }

    fn add_tool_result(&mut self, entry: &Entry<'_>) {
        let id = message_field(entry, "toolCallId").and_then(RawJson::text).unwrap_or_default();
        let at = self.unanswered_calls.iter().position(|(open, _)| **open == *id);
        let Some(call) = at.map(|at| self.unanswered_calls.remove(at).1) else { return };
        let details = message_field(entry, "details");
        let detail = |key: &str| details.and_then(|details| details.get(key));
        let failed = message_field(entry, "isError").is_some_and(RawJson::is_true);
        match (call.name.as_str(), failed) {
            ("write" | "edit", true) | ("read", true) => {}
            ("write" | "edit" | "read", false) => {
                let path = detail("path").and_then(RawJson::text).map(String::from).or(call.path);
                let Some(path) = path else { return };
                match call.name.as_str() {
                    "read" => move_to_end(&mut self.read_files, path),
                    name => {
                        let changes = self.changes_mut(path);
                        changes.created |= detail("created").is_some_and(RawJson::is_true);
                        *(if name == "write" { &mut changes.written } else { &mut changes.edited }) += 1;
                    }
                }
            }
            // A denied call did not run.
            _ if detail("denied").is_some_and(RawJson::is_true) => {}
            ("bash", _) => {
                add_command_run(&mut self.commands, &call.command, describe_exit(details, failed));
            }
            (name, _) if TOOLS_WITHOUT_EFFECTS.contains(&name) => {}
            (_, failed) => {
                self.other_calls.push(call.line + if failed { " failed" } else { "" });
                let mut files = TouchedFiles::default();
                entry.message.into_iter().for_each(|message| files.add_message(message));
                self.add_reported_changes(&files, "changed by another tool");
            }
        }
    }

    /// Calls without a result: how far they got is unknown.
    fn add_unanswered_calls(&mut self) {
        for (_, call) in std::mem::take(&mut self.unanswered_calls) {
            match (call.name.as_str(), call.path) {
                ("write" | "edit", Some(path)) => self.changes_mut(path).interrupted = true,
                ("bash", _) => add_command_run(&mut self.commands, &call.command, "interrupted".to_owned()),
                (name, _) if TOOLS_WITHOUT_EFFECTS.contains(&name) || matches!(name, "write" | "edit") => {}
                _ => self.other_calls.push(call.line + " was interrupted"),
            }
        }
    }

    fn add_user_command(&mut self, entry: &Entry<'_>) {
        // The user excluded this command from the context.
        if message_field(entry, "excludeFromContext").is_some_and(RawJson::is_true) {
            return;
        }
        let command = message_field(entry, "command").and_then(RawJson::text).unwrap_or_default();
        add_command_run(&mut self.user_commands, &command, describe_exit(entry.message, false));
    }

    fn add_branch_summary(&mut self, entry: &Entry<'_>) {
        let summary = field(entry, "summary").and_then(RawJson::text).unwrap_or_default();
        if !summary.trim().is_empty() {
            self.notes.push(format!("(summary of another branch) {}", truncate(&summary, MAX_NOTE_CHARS)));
        }
        let mut files = TouchedFiles::default();
        files.add_summary(entry);
        self.add_reported_changes(&files, "changed on another branch");
    }

    fn add_reported_changes(&mut self, files: &TouchedFiles, what: &'static str) {
        for path in files.modified() {
            self.changes_mut(path.to_owned()).reported_as = Some(what);
        }
    }

    /// The changes to a file so far. Moves the file to the end of the list.
    fn changes_mut(&mut self, path: String) -> &mut FileChanges {
        let at = self.changed_files.iter().position(|(known, _)| *known == path);
        let changed = at.map_or_else(|| (path, FileChanges::default()), |at| self.changed_files.remove(at));
        self.changed_files.push(changed);
        &mut self.changed_files.last_mut().expect("just pushed").1
    }

    /// Renders the facts in at most about `budget` characters.
    pub(super) fn into_text(self, budget: usize) -> String {
        let changed = self
            .changed_files
            .iter()
            .map(|(path, changes)| format!("{} ({})", one_line(path, MAX_NAME_CHARS), changes.describe()));
        let ran = |list: Vec<CommandRun>| list.into_iter().map(|ran| ran.describe()).collect();
        let short = |list: Vec<String>| list.iter().map(|path| one_line(path, MAX_NAME_CHARS)).collect();
        let section = |title, items, share| AddendumSection { title, items, share };
        let mut sections = vec![
            section("Messages to you that still apply:", self.messages, 40),
            section("Files changed:", changed.collect(), 15),
            section("You already told the user:", self.replies, 15),
            section("Earlier notes:", self.notes, 15),
            section("Commands run:", ran(self.commands), 10),
            section("Commands the user ran:", ran(self.user_commands), 5),
            section("Other tools called:", short(self.other_calls), 5),
            section("Files read:", short(self.read_files), 5),
        ];
        sections.retain(|section| !section.items.is_empty());
        if sections.is_empty() {
            return EMPTY_ADDENDUM.to_owned();
        }
        let frame = OPENING.chars().count() + CLOSING.chars().count() + 4;
        format!("{OPENING}\n\n{}\n\n{CLOSING}", render_sections(&sections, budget.saturating_sub(frame)))
    }
}

/// Moves an item to the end of a list without duplicates, or adds it.
fn move_to_end(list: &mut Vec<String>, item: String) {
    list.retain(|known| *known != item);
    list.push(item);
}

/// The text of a message as the model gets it, if any.
fn message_text(entry: &Entry<'_>, edit: Option<&Entry<'_>>) -> Option<String> {
    let (text, images) = context::text_and_images(entry, edit);
    let images = match images {
        0 => String::new(),
        1 => " [1 image, no longer shown]".to_owned(),
        images => format!(" [{images} images, no longer shown]"),
    };
    Some(truncate(&(text + &images), MAX_MESSAGE_CHARS)).filter(|text| !text.is_empty())
}

/// The last entry that counts as progress: a user message, a user command or a file change.
pub(super) fn last_progress(tree: &SessionTree, entries: &BTreeSet<Seq>, lines: &impl Lines) -> Option<Seq> {
    entries.iter().rev().copied().find(|seq| match tree.head(*seq).role {
        MessageRole::User | MessageRole::BashExecution => true,
        MessageRole::ToolResult => lines.entry(*seq).is_some_and(|entry| is_file_change(&entry)),
        _ => false,
    })
}

fn is_file_change(entry: &Entry<'_>) -> bool {
    let tool = message_field(entry, "toolName").and_then(RawJson::text);
    matches!(tool.as_deref(), Some("write" | "edit"))
        && !message_field(entry, "isError").is_some_and(RawJson::is_true)
}
