//! Replies to commands.

use osier_model::Image;
use osier_tree::EntryId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::explore::ExploreReply;
use crate::prompt::Prompt;

/// The reply to a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum CommandReply {
    Done,
    /// The turn has started; `entry` holds the prompt.
    Started {
        entry: EntryId,
    },
    Queued,
    /// An extension handled the prompt. Nothing was stored, and no turn starts.
    Handled,
    /// A hook refused the command, or the user canceled it. Nothing changed.
    Cancelled,
    /// The prompts taken out of the queue, in the order in which they would have been delivered.
    Returned {
        prompts: Vec<Prompt>,
        /// How many of them, the last ones, are follow-ups.
        #[serde(rename = "followUps", default)]
        follow_ups: usize,
    },
    Moved(MoveReply),
    Compacted(CompactionReply),
    /// One entry was stored.
    Stored {
        entry: EntryId,
    },
    Explore(Box<ExploreReply>),
    /// The shell command has ended; `entry` holds its output.
    Ran {
        entry: EntryId,
    },
}

/// The result of a move.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MoveReply {
    /// The text to put into the editor: what the model got. Sending it unchanged produces the same message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    /// What the user typed instead of `editor_text`, for example the name of a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typed_text: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub editor_images: Vec<Image>,
    /// A gate refused the move, or the user canceled it. Nothing changed.
    pub cancelled: bool,
    #[serde(skip_serializing_if = "is_false")]
    pub aborted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary_entry: Option<EntryId>,
    /// The current leaf.
    pub leaf_id: Option<EntryId>,
    /// Prompts that were queued at the old position. They are not sent at the new one; they go back into the
    /// editor.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub returned: Vec<Prompt>,
}

/// The result of a compaction.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CompactionReply {
    /// False if a gate refused the compaction. Nothing changed.
    pub compressed: bool,
    pub summary: String,
    pub first_kept_entry_id: EntryId,
    pub tokens_before: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// The stored entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<EntryId>,
}

fn is_false(yes: &bool) -> bool {
    !*yes
}
