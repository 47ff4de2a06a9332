//! Where extensions are asked before something larger than an entry happens. Each may refuse, and then nothing happens, without
//! an error. Whoever has nothing to say answers with the default, which lets everything pass.

use std::fmt::Debug;

use async_trait::async_trait;
use osier_model::CancellationToken;
use osier_tree::leaving::Leaving;
use osier_tree::{Place, SessionTree};
use serde_json::Value;

/// See the module.
#[async_trait]
pub trait Gates: Send + Sync + Debug {
    /// Before the leaf moves. Asked with and without a summary.
    async fn before_tree(&self, _preparation: &TreePreparation, _cancel: &CancellationToken) -> BeforeTree {
        BeforeTree::default()
    }

    async fn before_compact(
        &self,
        _preparation: &CompactPreparation,
        _cancel: &CancellationToken,
    ) -> BeforeCompact {
        BeforeCompact::default()
    }

    /// Before a path becomes a session of its own: whether it may. `entry` is the last of the path.
    async fn before_fork(&self, _entry: Option<&str>) -> bool {
        true
    }

    /// Before another session is opened in the place of this one: whether it may. `file` is missing for a new one.
    async fn before_switch(&self, _file: Option<&str>) -> bool {
        true
    }
}

/// Lets everything pass.
#[derive(Debug, Clone, Copy, Default)]
pub struct Open;

impl Gates for Open {}

/// A move that is about to happen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TreePreparation {
    /// The entry that was chosen; none for the beginning.
    pub target_id: Option<String>,
    pub old_leaf_id: Option<String>,
    pub common_ancestor_id: Option<String>,
    /// By id, oldest first.
    pub entries_to_summarize: Vec<String>,
    pub user_wants_summary: bool,
    pub custom_instructions: Option<String>,
    pub replace_instructions: bool,
    pub label: Option<String>,
}

impl TreePreparation {
    /// A move to `target_id` that wishes for nothing else.
    pub(crate) fn new(tree: &SessionTree, target_id: Option<String>, leaving: &Leaving) -> TreePreparation {
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

/// The answer. What is missing stays as it was asked for.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BeforeTree {
    pub cancel: bool,
    /// Used only if the user wants a summary.
    pub summary: Option<OwnSummary>,
    pub custom_instructions: Option<String>,
    pub replace_instructions: Option<bool>,
    pub label: Option<String>,
}

/// A summary that an extension wrote.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OwnSummary {
    pub summary: String,
    pub details: Option<Value>,
}

/// A compaction that is about to happen.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CompactPreparation {
    /// `manual`, `threshold` or `overflow`.
    pub reason: &'static str,
    pub first_kept_entry_id: String,
    /// By id, oldest first.
    pub entries_to_summarize: Vec<String>,
    /// Those of them that begin the turn whose end is kept.
    pub turn_prefix: Vec<String>,
    pub tokens_before: u64,
    pub previous_summary: Option<String>,
    /// By id, newest first.
    pub previous_compactions: Vec<String>,
    /// The whole path by id, oldest first.
    pub branch_entries: Vec<String>,
    pub custom_instructions: Option<String>,
    /// By its full name.
    pub model: String,
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BeforeCompact {
    pub cancel: bool,
    pub compaction: Option<OwnCompaction>,
}

/// A compaction that an extension brings.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct OwnCompaction {
    pub summary: String,
    pub first_kept_entry_id: String,
    pub tokens_before: u64,
    pub details: Option<Value>,
}
