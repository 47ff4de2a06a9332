//! An entry with its content as typed values. Clients see the content of a session only in this form, so that no client
//! looks for keys in JSON.
//!
//! Texts are not sanitized here.

mod images;
mod read;
mod subagents;
mod texts;

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::usage::UsageTotals;
use crate::entry::{Entry, EntryKind, EntryReason, MessageRole};
use crate::ids::EntryId;
use crate::scan::RawJson;
use crate::time::Millis;

pub use images::{ImageView, entry_images};
pub use subagents::{EvidenceView, SubagentEventView, SubagentView, SubagentsView, ToolRouteView};

/// See the module documentation.
#[derive(Debug, Clone, PartialEq)]
pub struct EntryView {
    pub id: EntryId,
    pub parent_id: Option<EntryId>,
    pub kind: EntryKind,
    pub role: MessageRole,
    /// Why the assistant stopped, or why the leaf moved.
    pub reason: EntryReason,
    pub time: Option<Millis>,
    /// False if it is never sent to the model.
    pub in_context: bool,
    pub content: EntryContent,
}

#[derive(Debug, Clone, PartialEq)]
pub enum EntryContent {
    Message(MessageView),
    Compaction(CompactionView),
    BranchSummary(BranchSummaryView),
    Backtrack(BacktrackView),
    Subagents(SubagentsView),
    Change(ChangeView),
    /// An entry of an extension that is not a message.
    Custom {
        custom_type: String,
    },
    /// How far a batch of sub-agents is, or how it ended.
    Update {
        status: String,
    },
    /// Another mark, or a move.
    Other,
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageView {
    User(UserMessageView),
    Assistant(AssistantView),
    ToolResult(ToolResultView),
    /// A command that the user ran.
    UserCommand(UserCommandView),
    Custom(CustomMessageView),
    /// The system prompt, or a message of a role that this version does not know.
    Other(OtherMessageView),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct UserMessageView {
    /// What the user typed, if it differs from what the model gets.
    pub text: String,
    /// The number of images.
    pub images: usize,
}

/// A reply of a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AssistantView {
    pub blocks: Vec<ReplyBlockView>,
    pub provider: Option<String>,
    pub model: Option<String>,
    pub stop_reason: Option<String>,
    pub error: Option<String>,
    pub usage: Option<UsageTotals>,
}

/// A part of a reply.
#[derive(Debug, Clone, PartialEq)]
pub enum ReplyBlockView {
    Text(String),
    Thinking(String),
    Call(ToolCallView),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolCallView {
    pub id: String,
    pub name: String,
    /// Null if they are unknown.
    pub arguments: Value,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ToolResultView {
    pub call_id: String,
    pub tool_name: String,
    pub is_error: bool,
    pub text: String,
    pub images: usize,
    /// The tool's structured result, in addition to its text. The fields depend on the tool.
    pub details: Value,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UserCommandView {
    pub command: String,
    pub output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    pub cancelled: bool,
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
}

/// A message of an extension.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct CustomMessageView {
    pub custom_type: String,
    pub text: String,
    pub images: usize,
    /// Whether people see it.
    pub display: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct OtherMessageView {
    pub role_name: String,
    pub text: String,
    pub images: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionView {
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummaryView {
    pub summary: String,
    /// The former leaf.
    pub from_id: Option<String>,
    /// An extension wrote it.
    #[serde(skip)]
    pub from_hook: bool,
}

/// The model's return to a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BacktrackView {
    pub checkpoint_id: Option<u64>,
    pub note: String,
    pub addendum: String,
    pub from_id: Option<String>,
    pub original_user_message: String,
    pub discarded: u64,
}

/// A change of how the conversation continues.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum ChangeView {
    Model { provider: String, model: String },
    ThinkingLevel(String),
}

impl EntryView {
    pub fn read(entry: &Entry<'_>) -> EntryView {
        read::entry_view(entry)
    }

    /// Whether it is a message of an extension.
    pub fn is_hook_message(&self) -> bool {
        matches!(self.message(), Some(MessageView::Custom(_)))
    }

    pub fn message(&self) -> Option<&MessageView> {
        match &self.content {
            EntryContent::Message(message) => Some(message),
            _ => None,
        }
    }

    /// The usage that a reply reports.
    pub fn usage(&self) -> Option<&UsageTotals> {
        match self.message() {
            Some(MessageView::Assistant(reply)) => reply.usage.as_ref(),
            _ => None,
        }
    }
}

impl AssistantView {
    /// The text, without thinking and calls.
    pub fn text(&self) -> String {
        join_blocks(self.blocks.iter().filter_map(|block| match block {
            ReplyBlockView::Text(text) => Some(text.as_str()),
            _ => None,
        }))
    }

    pub fn thinking(&self) -> String {
        join_blocks(self.blocks.iter().filter_map(|block| match block {
            ReplyBlockView::Thinking(text) => Some(text.as_str()),
            _ => None,
        }))
    }

    pub fn calls(&self) -> impl Iterator<Item = &ToolCallView> {
        self.blocks.iter().filter_map(|block| match block {
            ReplyBlockView::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// The longest summary of a call, in characters.
const MAX_SUMMARY: usize = 100;

impl ToolCallView {
    /// Whether the arguments have a short form of their own.
    fn is_file_tool(&self) -> bool {
        matches!(self.name.as_str(), "read" | "write" | "edit" | "bash" | "grep" | "find" | "ls")
    }

    /// The arguments in one line, such as `notes.txt:10-20`, or `name="Ann"` if the tool is not known here. `home` is the user's
    /// home folder, shown as `~`.
    pub fn summary(&self, home: Option<&str>) -> String {
        if self.arguments.is_null() {
            return String::new();
        }
        if let Some(arguments) = self.arguments.as_object().filter(|_| !self.is_file_tool()) {
            let pairs: Vec<String> =
                arguments.iter().map(|(name, value)| format!("{name}={value}")).collect();
            return super::preview::truncate_line(&pairs.join(" "), MAX_SUMMARY);
        }
        let arguments = self.arguments.to_string();
        let Ok(arguments) = RawJson::parse(arguments.as_bytes()) else { return String::new() };
        let call = super::preview::RawToolCall { name: Cow::Borrowed(&self.name), arguments };
        let line = call.line(home);
        // Without the brackets and the name of `[read: notes.txt]`.
        let line = line.trim_start_matches('[').trim_end_matches(']');
        let name = super::preview::one_line(&self.name, usize::MAX);
        line.strip_prefix(&name).unwrap_or(line).trim_start_matches(": ").to_owned()
    }
}

fn join_blocks<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    let texts: Vec<&str> = texts.filter(|text| !text.is_empty()).collect();
    texts.join("\n\n")
}
