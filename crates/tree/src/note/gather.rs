//! Collects the facts that remain true after a part of the conversation is discarded.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;

use crate::entry::{Entry, Kind, Role, flag};
use crate::files::Files;
use crate::fold::SessionTree;
use crate::heads::Seq;
use crate::projection::preview::{calls_of, field, one_line, said_field};
use crate::projection::{Lines, context};
use crate::scan::Raw;

use super::doings::{Asked, Changes, Ran, end_of, run};
use super::section::{Section, cut, told};
use super::texts::{CLOSING, ONLY, OPENING};

/// The maximum length of one user message, reply, note and name.
const SAID: usize = 2_000;
const TOLD: usize = 600;
const NOTED: usize = 1_500;
const NAMED: usize = 160;

/// Tools without effects outside the conversation. Calling them again does no harm.
const HARMLESS: [&str; 6] = ["read", "grep", "find", "ls", "todo", "backtrack"];

/// The facts, in chronological lists.
#[derive(Debug, Default)]
pub(super) struct Facts {
    /// Messages of the user or of an extension to the model.
    said: Vec<String>,
    /// Replies of the model to the user.
    told: Vec<String>,
    /// Notes of earlier backtracks, and branch summaries.
    notes: Vec<String>,
    changed: Vec<(String, Changes)>,
    read: Vec<String>,
    commands: Vec<Ran>,
    users_commands: Vec<Ran>,
    /// Calls of other tools that may have changed something.
    others: Vec<String>,
    /// Calls without a result so far, by id.
    open: Vec<(String, Asked)>,
}

impl Facts {
    pub(super) fn of(tree: &SessionTree, entries: &BTreeSet<Seq>, lines: &impl Lines) -> Facts {
        let mut edits: FxHashMap<Seq, Seq> = FxHashMap::default();
        for seq in entries.iter().copied().filter(|seq| tree.head(*seq).kind == Kind::ContextEdit) {
            edits.extend(tree.head(seq).target.map(|target| (target, seq)));
        }
        let mut facts = Facts::default();
        for seq in entries {
            let Some(entry) = lines.entry(*seq).filter(|entry| entry.flags & flag::NOT_SENT == 0) else {
                continue;
            };
            let edit = edits.get(seq).and_then(|edit| lines.entry(*edit));
            facts.take(&entry, edit.as_ref());
        }
        facts.take_interrupted();
        facts
    }

    fn take(&mut self, entry: &Entry<'_>, edit: Option<&Entry<'_>>) {
        match (entry.kind, entry.role) {
            (Kind::Message, Role::User) => self.said.extend(words(entry, edit)),
            (Kind::Message, Role::Assistant) => {
                self.told.extend(words(entry, edit).map(|text| cut(&text, TOLD)));
                self.open.extend(calls_of(entry).iter().map(|(id, call)| (id.to_string(), Asked::of(call))));
            }
            (Kind::Message, Role::ToolResult) => self.take_result(entry),
            (Kind::Message, Role::BashExecution) => self.take_users_command(entry),
            (Kind::CustomMessage, _) => {
                let kind = field(entry, "customType").and_then(Raw::text).unwrap_or_default();
                self.said
                    .extend(words(entry, edit).map(|text| format!("(from {}) {text}", one_line(&kind, 80))));
            }
            (Kind::Backtrack, _) => {
                let note =
                    field(entry, "details").and_then(|details| details.get("note")).and_then(Raw::text);
                self.notes.extend(note.map(|note| cut(&note, NOTED)).filter(|note| !note.is_empty()));
            }
            (Kind::BranchSummary, _) => self.take_summary(entry),
            _ => {}
        }
    }

    fn take_result(&mut self, entry: &Entry<'_>) {
        let id = said_field(entry, "toolCallId").and_then(Raw::text).unwrap_or_default();
        let at = self.open.iter().position(|(open, _)| **open == *id);
        let Some(asked) = at.map(|at| self.open.remove(at).1) else { return };
        let details = said_field(entry, "details");
        let detail = |key: &str| details.and_then(|details| details.get(key));
        let failed = said_field(entry, "isError").is_some_and(Raw::is_true);
        match (asked.name.as_str(), failed) {
            ("write" | "edit", true) | ("read", true) => {}
            ("write" | "edit" | "read", false) => {
                let path = detail("path").and_then(Raw::text).map(String::from).or(asked.path);
                let Some(path) = path else { return };
                match asked.name.as_str() {
                    "read" => last(&mut self.read, path),
                    name => {
                        let changes = self.changes(path);
                        changes.created |= detail("created").is_some_and(Raw::is_true);
                        *(if name == "write" { &mut changes.written } else { &mut changes.edited }) += 1;
                    }
                }
            }
            // A denied call did not run.
            _ if detail("denied").is_some_and(Raw::is_true) => {}
            ("bash", _) => run(&mut self.commands, &asked.command, end_of(details, failed)),
            (name, _) if HARMLESS.contains(&name) => {}
            (_, failed) => {
                self.others.push(asked.line + if failed { " failed" } else { "" });
                let mut files = Files::default();
                entry.message.into_iter().for_each(|message| files.add_message(message));
                self.take_hearsay(&files, "changed by another tool");
            }
        }
    }

    /// Calls without a result: how far they got is unknown.
    fn take_interrupted(&mut self) {
        for (_, asked) in std::mem::take(&mut self.open) {
            match (asked.name.as_str(), asked.path) {
                ("write" | "edit", Some(path)) => self.changes(path).interrupted = true,
                ("bash", _) => run(&mut self.commands, &asked.command, "interrupted".to_owned()),
                (name, _) if HARMLESS.contains(&name) || matches!(name, "write" | "edit") => {}
                _ => self.others.push(asked.line + " was interrupted"),
            }
        }
    }

    fn take_users_command(&mut self, entry: &Entry<'_>) {
        // The user excluded this command from the context.
        if said_field(entry, "excludeFromContext").is_some_and(Raw::is_true) {
            return;
        }
        let command = said_field(entry, "command").and_then(Raw::text).unwrap_or_default();
        run(&mut self.users_commands, &command, end_of(entry.message, false));
    }

    fn take_summary(&mut self, entry: &Entry<'_>) {
        let summary = field(entry, "summary").and_then(Raw::text).unwrap_or_default();
        if !summary.trim().is_empty() {
            self.notes.push(format!("(summary of another branch) {}", cut(&summary, NOTED)));
        }
        let mut files = Files::default();
        files.add_summary(entry);
        self.take_hearsay(&files, "changed on another branch");
    }

    fn take_hearsay(&mut self, files: &Files, what: &'static str) {
        for path in files.modified() {
            self.changes(path.to_owned()).hearsay = Some(what);
        }
    }

    /// The changes to a file so far. Moves the file to the end of the list.
    fn changes(&mut self, path: String) -> &mut Changes {
        let at = self.changed.iter().position(|(known, _)| *known == path);
        let changed = at.map_or_else(|| (path, Changes::default()), |at| self.changed.remove(at));
        self.changed.push(changed);
        &mut self.changed.last_mut().expect("just pushed").1
    }

    /// Renders the facts in at most about `budget` characters.
    pub(super) fn told(self, budget: usize) -> String {
        let changed = self
            .changed
            .iter()
            .map(|(path, changes)| format!("{} ({})", one_line(path, NAMED), changes.told()));
        let ran = |list: Vec<Ran>| list.into_iter().map(|ran| ran.told()).collect();
        let short = |list: Vec<String>| list.iter().map(|path| one_line(path, NAMED)).collect();
        let section = |title, items, share| Section { title, items, share };
        let mut sections = vec![
            section("Messages to you that still apply:", self.said, 40),
            section("Files changed:", changed.collect(), 15),
            section("You already told the user:", self.told, 15),
            section("Earlier notes:", self.notes, 15),
            section("Commands run:", ran(self.commands), 10),
            section("Commands the user ran:", ran(self.users_commands), 5),
            section("Other tools called:", short(self.others), 5),
            section("Files read:", short(self.read), 5),
        ];
        sections.retain(|section| !section.items.is_empty());
        if sections.is_empty() {
            return ONLY.to_owned();
        }
        let frame = OPENING.chars().count() + CLOSING.chars().count() + 4;
        format!("{OPENING}\n\n{}\n\n{CLOSING}", told(&sections, budget.saturating_sub(frame)))
    }
}

/// Moves an item to the end of a list without duplicates, or adds it.
fn last(list: &mut Vec<String>, item: String) {
    list.retain(|known| *known != item);
    list.push(item);
}

/// The text of a message as the model gets it, if any.
fn words(entry: &Entry<'_>, edit: Option<&Entry<'_>>) -> Option<String> {
    let (text, images) = context::said(entry, edit);
    let images = match images {
        0 => String::new(),
        1 => " [1 image, no longer shown]".to_owned(),
        images => format!(" [{images} images, no longer shown]"),
    };
    Some(cut(&(text + &images), SAID)).filter(|text| !text.is_empty())
}

/// The last entry that counts as progress: a user message, a user command or a file change.
pub(super) fn last_progress(tree: &SessionTree, entries: &BTreeSet<Seq>, lines: &impl Lines) -> Option<Seq> {
    entries.iter().rev().copied().find(|seq| match tree.head(*seq).role {
        Role::User | Role::BashExecution => true,
        Role::ToolResult => lines.entry(*seq).is_some_and(|entry| is_change(&entry)),
        _ => false,
    })
}

fn is_change(entry: &Entry<'_>) -> bool {
    let tool = said_field(entry, "toolName").and_then(Raw::text);
    matches!(tool.as_deref(), Some("write" | "edit"))
        && !said_field(entry, "isError").is_some_and(Raw::is_true)
}
