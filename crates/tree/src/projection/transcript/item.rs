//! The items of a transcript.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::projection::entry_view::{
    BacktrackView, BranchSummaryView, CompactionView, SubagentView, UserCommandView,
};
use crate::projection::usage::UsageTotals;

/// One entry of a transcript.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TranscriptItem {
    pub id: String,
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// The main text: a message, a summary, a note or the output of a tool.
    pub text: String,
    /// The number of images.
    #[serde(skip_serializing_if = "is_zero")]
    pub images: usize,
    /// False if it is never sent to the model.
    #[serde(skip_serializing_if = "is_true")]
    pub in_context: bool,
    #[serde(flatten)]
    pub details: ItemDetails,
}

/// The fields that depend on the kind of item.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum ItemDetails {
    None {},
    Assistant(AssistantItem),
    ToolResult {
        tool_result: ToolResultItem,
    },
    Bash {
        bash: UserCommandView,
    },
    Custom {
        custom_type: String,
        /// Always true: it is a message of an extension.
        is_hook_message: bool,
    },
    Compaction {
        compaction: CompactionView,
    },
    BranchSummary {
        branch_summary: BranchSummaryView,
    },
    Backtrack {
        backtrack: BacktrackView,
    },
    Subagents {
        subagents: SubagentsItem,
    },
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct AssistantItem {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCallItem>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UsageTotals>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ToolCallItem {
    pub id: String,
    pub name: String,
    pub arguments: Box<RawValue>,
    /// There is no result on the path.
    #[serde(skip_serializing_if = "is_false")]
    pub interrupted: bool,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResultItem {
    pub tool_call_id: String,
    pub tool_name: String,
    pub is_error: bool,
}

/// A batch of sub-agents, or its results.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SubagentsItem {
    pub batch_id: Option<String>,
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<Box<RawValue>>,
    /// The tasks or the results, for people.
    #[serde(skip)]
    pub items: Vec<SubagentView>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

fn is_true(yes: &bool) -> bool {
    *yes
}

fn is_false(yes: &bool) -> bool {
    !*yes
}
