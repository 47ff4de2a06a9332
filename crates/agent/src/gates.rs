//! Gates: extensions are asked before an operation that is larger than one entry. A gate may refuse; the
//! operation then does nothing and returns no error. The default implementations allow everything.

use std::fmt::Debug;

use async_trait::async_trait;
use osier_model::CancellationToken;
use osier_tree::abandoned_branch::AbandonedBranch;
use osier_tree::{Place, SessionTree};
use serde_json::Value;

/// Decides whether operations may happen. A gate may also change them.
#[async_trait]
pub trait Gates: Send + Sync + Debug {
    /// Before the leaf moves, with or without a summary.
    async fn before_tree(&self, _preparation: &TreePreparation, _cancel: &CancellationToken) -> TreeDecision {
        TreeDecision::default()
    }

    async fn before_compact(
        &self,
        _preparation: &CompactPreparation,
        _cancel: &CancellationToken,
    ) -> CompactDecision {
        CompactDecision::default()
    }

    /// Before a path is forked into a new session. `entry` is the last entry of the path.
    async fn before_fork(&self, _entry: Option<&str>) -> bool {
        true
    }

    /// Before another session replaces this one. `file` is `None` for a new session.
    async fn before_switch(&self, _file: Option<&str>) -> bool {
        true
    }
}

/// Allows everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct AllowAllGates;

impl Gates for AllowAllGates {}

/// A move that is about to happen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreePreparation {
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

impl TreePreparation {
    /// A move to `target_id` without further options.
    pub(crate) fn new(
        tree: &SessionTree,
        target_id: Option<String>,
        leaving: &AbandonedBranch,
    ) -> TreePreparation {
        let id = |place: Place| place.map(|seq| tree.id(seq).to_string());
        TreePreparation {
            target_id,
            old_leaf_id: id(leaving.from),
            common_ancestor_id: id(leaving.ancestor),
            entries_to_summarize: leaving.entries.iter().map(|seq| tree.id(*seq).to_string()).collect(),
            ..TreePreparation::default()
        }
    }
}

/// The gate's decision about a move. `None` fields keep the requested value.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreeDecision {
    pub cancel: bool,
    /// Used only if the user asked for a summary.
    pub summary: Option<ExtensionSummary>,
    pub custom_instructions: Option<String>,
    pub replace_instructions: Option<bool>,
    pub label: Option<String>,
}

/// A summary that an extension wrote.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExtensionSummary {
    pub summary: String,
    pub details: Option<Value>,
}

/// A compaction that is about to happen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompactPreparation {
    /// `manual`, `threshold` or `overflow`.
    pub reason: &'static str,
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

/// The gate's decision about a compaction.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompactDecision {
    pub cancel: bool,
    pub compaction: Option<ExtensionCompaction>,
}

/// A compaction that an extension provides.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ExtensionCompaction {
    pub summary: String,
    pub first_kept_entry_id: String,
    pub tokens_before: u64,
    pub details: Option<Value>,
}
