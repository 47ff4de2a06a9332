//! The files that a part of a conversation read and modified, according to its tool calls and earlier summaries.
//!
//! Whether a tool succeeded, and which files a shell command changed, is not known here.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::entry::Entry;
use crate::projection::preview::RawToolCall;
use crate::scan::RawJson;

/// Paths as they are written in the tool calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TouchedFiles {
    read: BTreeSet<String>,
    modified: BTreeSet<String>,
}

impl TouchedFiles {
    /// Adds the tool calls of an assistant message, or the nested calls of a tool.
    pub fn add_message(&mut self, message: RawJson<'_>) {
        let is_reply = message.get("role").and_then(RawJson::text).as_deref() == Some("assistant");
        if let Some(content) = message.get("content").filter(|_| is_reply) {
            content.each_item(|block| {
                if let Some((_, call)) = RawToolCall::parse_block(block) {
                    self.add_call(&call.name, call.arguments);
                }
            });
        }
        if let Some(calls) = message.get("nestedCalls").and_then(|nested| nested.get("calls")) {
            calls.each_item(|call| {
                let name = call.get("name").and_then(RawJson::text).unwrap_or_default();
                if let Some(arguments) = call.get("arguments") {
                    self.add_call(&name, arguments);
                }
            });
        }
    }

    fn add_call(&mut self, name: &str, arguments: RawJson<'_>) {
        let set = match name {
            "read" => &mut self.read,
            "write" | "edit" => &mut self.modified,
            _ => return,
        };
        let path = arguments.get("path").and_then(RawJson::text).filter(|path| !path.is_empty());
        set.extend(path.map(Cow::into_owned));
    }

    /// Adds the files of an earlier summary. The `details` of an extension's summary have an unknown format and are ignored.
    pub fn add_summary(&mut self, entry: &Entry<'_>) {
        let is_from_extension = entry.get("fromHook").is_some_and(RawJson::is_true);
        let Some(details) = entry.get("details").filter(|_| !is_from_extension) else { return };
        for (key, set) in [("readFiles", &mut self.read), ("modifiedFiles", &mut self.modified)] {
            if let Some(list) = details.get(key) {
                list.each_item(|path| set.extend(path.text().map(Cow::into_owned)));
            }
        }
    }

    /// The files that were read but not modified, sorted.
    pub fn read(&self) -> impl Iterator<Item = &str> {
        self.read.difference(&self.modified).map(String::as_str)
    }

    /// The files that were written or edited, sorted.
    pub fn modified(&self) -> impl Iterator<Item = &str> {
        self.modified.iter().map(String::as_str)
    }

    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.modified.is_empty()
    }

    /// The `details` of a summary entry.
    pub fn details(&self) -> Value {
        json!({
            "readFiles": self.read().collect::<Vec<_>>(),
            "modifiedFiles": self.modified().collect::<Vec<_>>(),
        })
    }

    /// The blocks at the end of a summary, each after a blank line. Empty if there are no files.
    pub fn summary_blocks(&self) -> String {
        block("read-files", self.read()) + &block("modified-files", self.modified())
    }
}

fn block<'a>(tag: &str, paths: impl Iterator<Item = &'a str>) -> String {
    let paths: Vec<String> = paths.map(|path| path.replace(char::is_control, " ")).collect();
    if paths.is_empty() { String::new() } else { format!("\n\n<{tag}>\n{}\n</{tag}>", paths.join("\n")) }
}
