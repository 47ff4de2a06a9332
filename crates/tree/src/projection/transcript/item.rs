//! The items of a transcript.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::projection::usage::Usage;

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
    pub part: Part,
}

/// The fields that depend on the kind of item.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum Part {
    None {},
    Assistant(Assistant),
    ToolResult { tool_result: ToolResult },
    Bash { bash: Bash },
    Custom { custom_type: String },
    Compaction { compaction: Compaction },
    BranchSummary { branch_summary: BranchSummary },
    Backtrack { backtrack: Backtrack },
    Subagents { subagents: Subagents },
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Assistant {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
}

#[derive(Debug, Clone, Serialize)]
pub struct ToolCall {
    pub id: String,
    pub name: String,
    pub arguments: Box<RawValue>,
    /// There is no result on the path.
    #[serde(skip_serializing_if = "is_false")]
    pub interrupted: bool,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult {
    pub tool_call_id: String,
    pub tool_name: String,
    pub is_error: bool,
}

/// A command that the user ran.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Bash {
    pub command: String,
    pub output: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    pub cancelled: bool,
    pub truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_output_path: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Compaction {
    pub summary: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_before: Option<u64>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct BranchSummary {
    pub summary: String,
    /// The former leaf.
    pub from_id: Option<String>,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Backtrack {
    pub checkpoint_id: Option<u64>,
    pub note: String,
    pub addendum: String,
    pub from_id: Option<String>,
    pub original_user_message: String,
    pub discarded: u64,
}

/// A batch of sub-agents, or its results.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Subagents {
    pub batch_id: Option<String>,
    pub status: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub results: Option<Box<RawValue>>,
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
