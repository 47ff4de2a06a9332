//! What gates are asked, and what they answer. Entries are given by id; a hook reads them from the session.

use osier_protocol::{CustomMessage, Image, PromptTiming, TurnOutcome};
use osier_tools::ResultBlock;
use osier_tools::user_bash::BashExecution;
use osier_tree::abandoned_branch::AbandonedBranch;
use osier_tree::{EntryId, Place, SessionTree};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A move that is about to happen.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MovePreparation {
    /// The chosen entry; `None` means before the first entry.
    pub target_id: Option<String>,
    pub old_leaf_id: Option<String>,
    pub common_ancestor_id: Option<String>,
    /// Entry ids, oldest first.
    pub entries_to_summarize: Vec<String>,
    pub user_wants_summary: bool,
    pub custom_instructions: Option<String>,
    pub replace_instructions: bool,
    pub label: Option<String>,
}

impl MovePreparation {
    /// A move to `target_id` without further options.
    pub(crate) fn new(
        tree: &SessionTree,
        target_id: Option<String>,
        branch: &AbandonedBranch,
    ) -> MovePreparation {
        let id = |position: Place| position.map(|seq| tree.id(seq).to_string());
        MovePreparation {
            target_id,
            old_leaf_id: id(branch.from),
            common_ancestor_id: id(branch.ancestor),
            entries_to_summarize: branch.entries.iter().map(|seq| tree.id(*seq).to_string()).collect(),
            ..MovePreparation::default()
        }
    }
}

/// The answer about a move. `None` fields keep the requested value.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MoveDecision {
    pub cancel: bool,
    /// Used only if the user asked for a summary.
    pub summary: Option<ExtensionSummary>,
    pub custom_instructions: Option<String>,
    pub replace_instructions: Option<bool>,
    pub label: Option<String>,
}

/// A summary that an extension wrote.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
pub struct ExtensionSummary {
    pub summary: String,
    #[serde(default)]
    pub details: Option<Value>,
}

/// A compaction that is about to happen.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompactionPreparation {
    /// `manual`, `threshold` or `overflow`.
    pub reason: &'static str,
    /// The failed model call is repeated after the compaction.
    pub will_retry: bool,
    pub first_kept_entry_id: String,
    /// Entry ids, oldest first.
    pub entries_to_summarize: Vec<String>,
    /// The part of `entries_to_summarize` that starts the turn whose end is kept.
    pub turn_prefix: Vec<String>,
    pub tokens_before: u64,
    pub previous_summary: Option<String>,
    /// Entry ids, newest first.
    pub previous_compactions: Vec<String>,
    /// The ids of the whole path, oldest first.
    pub branch_entries: Vec<String>,
    pub custom_instructions: Option<String>,
    /// The full name of the model.
    pub model: String,
}

/// The answer about a compaction.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub struct CompactionDecision {
    pub cancel: bool,
    pub compaction: Option<ExtensionCompaction>,
}

/// A compaction that an extension provides.
#[derive(Debug, Clone, PartialEq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExtensionCompaction {
    pub summary: String,
    pub first_kept_entry_id: String,
    pub tokens_before: u64,
    #[serde(default)]
    pub details: Option<Value>,
}

/// A fork that is about to happen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkPreparation {
    /// The chosen entry; `None` if the path is empty.
    pub entry_id: Option<String>,
    pub position: ForkPosition,
}

/// Where a fork ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ForkPosition {
    /// Before the entry, whose text returns to the editor.
    Before,
    /// At the entry, which is copied too.
    #[default]
    At,
}

/// A switch to another session that is about to happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SwitchPreparation {
    pub reason: SwitchReason,
    /// The file of the other session, or its id if it is not in a file; `None` for a new session.
    pub target_session_file: Option<String>,
}

/// Why a client switches to another session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SwitchReason {
    New,
    Resume,
}

/// The answer of a gate that can only allow or refuse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Permission {
    #[default]
    Allow,
    Refuse,
}

/// A prompt as the user or a hook sent it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptPreparation {
    pub text: String,
    pub images: Vec<Image>,
    /// What happens to it while a turn runs.
    pub when: PromptTiming,
    /// A hook sent it, not the user.
    pub from_hook: bool,
}

/// The answer about a prompt.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum PromptDecision {
    #[default]
    Continue,
    /// Send this instead. Later hooks get the new text.
    Transform { text: String, images: Vec<Image> },
    /// The hook did what the prompt asked for. Nothing is stored, and later hooks are not asked.
    Handled,
}

/// A prompt that starts a turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StoredPrompt {
    pub entry_id: EntryId,
    /// The stored message, with its role `user` or `custom`.
    pub message: Value,
    /// The system prompt of the turn.
    pub system_prompt: String,
    /// Its sections by their names.
    pub sections: serde_json::Map<String, Value>,
}

/// What hooks add to a turn.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TurnChange {
    /// Stored after the prompt.
    pub messages: Vec<CustomMessage>,
    /// Replaces the system prompt in all requests of the turn. It is not stored.
    pub system_prompt: Option<String>,
    /// Whether the hook changed the tools of the agent. They count from the first request of the turn.
    pub tools_changed: bool,
}

/// What a request to a model is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RequestPurpose {
    Reply,
    Summary,
}

/// The answer about a tool call.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum ToolCallDecision {
    #[default]
    Continue,
    /// Run the call with these arguments. Later hooks and the user get them.
    Alter { arguments: Value },
    /// Do not run the call. The model gets the reason, and later hooks are not asked. The turn ends after it if `ends_turn`, and if all
    /// other calls of the reply want that too.
    Block { reason: String, ends_turn: bool },
}

/// Changes of a tool result. `None` fields stay as they are.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ToolResultChange {
    pub content: Option<Vec<ResultBlock>>,
    pub details: Option<Value>,
    pub is_error: Option<bool>,
}

/// A model call and the tool calls of its reply are stored.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StepEnd {
    /// Counted from 0 in each turn.
    pub turn_index: u32,
    pub message_entry_id: EntryId,
    pub tool_result_entry_ids: Vec<EntryId>,
    /// The entries to store now, as hooks proposed them so far, without ids.
    pub entries: Vec<Value>,
    /// Call the model once more, even if the turn would end.
    #[serde(rename = "continue")]
    pub go_on: bool,
}

/// A turn has nothing left to do, and ends unless a hook wants another model call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnSettle {
    pub outcome: TurnOutcome,
    /// The entries to store now, as hooks proposed them so far, without ids.
    pub entries: Vec<Value>,
    /// Call the model once more.
    #[serde(rename = "continue")]
    pub go_on: bool,
}

/// What a hook changes in a [`StepEnd`] or a [`TurnSettle`]. A field that is given replaces what was proposed before.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StepChange {
    pub entries: Option<Vec<Value>>,
    #[serde(rename = "continue")]
    pub go_on: Option<bool>,
}

/// What happens with a shell command of the user.
#[derive(Debug, Clone, PartialEq)]
pub enum UserCommandDecision {
    Run,
    /// A hook ran it.
    Ran(Box<BashExecution>),
    Refuse {
        reason: String,
    },
}
