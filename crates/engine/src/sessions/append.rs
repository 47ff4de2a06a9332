//! The façade's operations that append: one per entry type, updates of entries, and moves of the leaf.

use osier_session::{Commit, CommitOutcome, Session, SessionError};
use osier_tree::scan::RawJson;
use osier_tree::{EntryDraft, Place, PlanError, SessionTree};
use serde_json::{Map, Value};

use super::SessionOperations;
use crate::error::EngineError;

/// The parent of a new entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum AppendParent {
    /// The leaf at the time of writing.
    #[default]
    Leaf,
    /// No parent: the entry becomes a new root.
    Root,
    Entry(String),
}

impl AppendParent {
    fn position(&self, tree: &SessionTree, leaf: Place) -> Result<Place, PlanError> {
        match self {
            AppendParent::Leaf => Ok(leaf),
            AppendParent::Root => Ok(None),
            AppendParent::Entry(id) => tree.require_visible(id).map(Some),
        }
    }
}

/// The parent and the id of a new entry. With an id, the same call can be repeated: the entry is written once.
#[derive(Debug, Clone, Default)]
pub struct EntryPlacement {
    pub parent: AppendParent,
    pub id: Option<String>,
}

/// The content of a compaction.
#[derive(Debug, Clone, Default)]
pub struct NewCompaction {
    pub summary: String,
    pub first_kept: String,
    pub tokens_before: u64,
    /// Other fields of the entry, such as `details`.
    pub extra: Map<String, Value>,
}

impl SessionOperations {
    /// `appendEntry`: an entry as a JSON object. Missing `id`, `parentId` and `timestamp` are filled in; an explicit
    /// `null` parent makes a new root. Appending the same entry again succeeds without a write.
    pub async fn append_entry(&self, object: &[u8]) -> Result<CommitOutcome, EngineError> {
        let live = self.open().await?;
        let session = live.session();
        let outcome = session.append_entry(object).await?;
        sync_outcome(session, outcome).await
    }

    /// `appendMessage`: a message as a JSON object, stored unchanged.
    pub async fn append_message(
        &self,
        placement: &EntryPlacement,
        message: &[u8],
    ) -> Result<CommitOutcome, EngineError> {
        let message = message.to_vec();
        self.append_planned(placement, move |tree, at| {
            let message =
                RawJson::parse(&message).map_err(|_| PlanError::NotAnEntry { reason: "it is not JSON" })?;
            tree.plan_message(at, message)
        })
        .await
    }

    /// `appendThinkingLevelChange`.
    pub async fn append_thinking_level(
        &self,
        placement: &EntryPlacement,
        level: &str,
    ) -> Result<CommitOutcome, EngineError> {
        let level = level.to_owned();
        self.append_planned(placement, move |tree, at| tree.plan_thinking_level(at, &level)).await
    }

    /// `appendModelChange`.
    pub async fn append_model_change(
        &self,
        placement: &EntryPlacement,
        provider: &str,
        model: &str,
    ) -> Result<CommitOutcome, EngineError> {
        let (provider, model) = (provider.to_owned(), model.to_owned());
        self.append_planned(placement, move |tree, at| tree.plan_model_change(at, &provider, &model)).await
    }

    /// `appendCompaction`. The first kept entry must be on the path.
    pub async fn append_compaction(
        &self,
        placement: &EntryPlacement,
        compacted: &NewCompaction,
    ) -> Result<CommitOutcome, EngineError> {
        let compacted = compacted.clone();
        self.append_planned(placement, move |tree, at| {
            let NewCompaction { summary, first_kept, tokens_before, extra } = &compacted;
            not_empty(summary)?;
            tree.plan_compaction(at, summary, first_kept, *tokens_before, extra)
        })
        .await
    }

    /// `appendBranchSummary` of the branch that ends with `from`.
    pub async fn append_branch_summary(
        &self,
        placement: &EntryPlacement,
        from: &str,
        summary: &str,
    ) -> Result<CommitOutcome, EngineError> {
        let (from, summary) = (from.to_owned(), summary.to_owned());
        self.append_planned(placement, move |tree, at| {
            not_empty(&summary)?;
            Ok(tree.plan_branch_summary(at, Some(tree.require(&from)?), &summary, &Map::new()))
        })
        .await
    }

    /// `appendLabelChange`. An empty label removes the label.
    pub async fn append_label(
        &self,
        target: &str,
        label: Option<&str>,
    ) -> Result<CommitOutcome, EngineError> {
        let live = self.open().await?;
        let session = live.session();
        let outcome = session.label(target, label).await?;
        sync_outcome(session, outcome).await
    }

    /// `appendSessionInfo`: sets the name of the session. An empty name removes it.
    pub async fn rename(&self, name: &str) -> Result<CommitOutcome, EngineError> {
        self.engine.rename(self.open().await?.session(), name).await
    }

    /// `updateEntry`: tells how far a running sub-agent batch is (`running`), or ends it, by appending an update entry. No other entry
    /// can be updated.
    pub async fn update_entry(
        &self,
        entry: &str,
        status: &str,
        payload: &Value,
    ) -> Result<CommitOutcome, EngineError> {
        let live = self.open().await?;
        let session = live.session();
        let (entry, status, payload) = (entry.to_owned(), status.to_owned(), payload.clone());
        let update = Commit::new(move |tree, _| tree.plan_entry_update(&entry, &status, &payload));
        let outcome = session.commit(update).await?;
        sync_outcome(session, outcome).await
    }

    /// `switchLeaf`. With `expected`, fails with [`SessionError::LeafChanged`] unless that is the current leaf; `Some(None)`
    /// is before the first entry.
    pub async fn switch_leaf(
        &self,
        to: &str,
        expected: Option<Option<&str>>,
    ) -> Result<CommitOutcome, EngineError> {
        self.move_leaf(Some(to), expected).await
    }

    /// `resetLeaf`: moves before the first entry.
    pub async fn reset_leaf(&self, expected: Option<Option<&str>>) -> Result<CommitOutcome, EngineError> {
        self.move_leaf(None, expected).await
    }

    async fn move_leaf(
        &self,
        to: Option<&str>,
        expected: Option<Option<&str>>,
    ) -> Result<CommitOutcome, EngineError> {
        let live = self.open().await?;
        let session = live.session();
        let to = to.map(|to| session.tree().require_visible(to)).transpose()?;
        let outcome = match expected {
            Some(from) => session.main_cursor().move_if_at(from, to).await?,
            None => session.main_cursor().move_to(to).await?,
        };
        sync_outcome(session, outcome).await
    }

    async fn append_planned(
        &self,
        placement: &EntryPlacement,
        plan: impl Fn(&SessionTree, Place) -> Result<EntryDraft, PlanError> + Send + Sync + 'static,
    ) -> Result<CommitOutcome, EngineError> {
        let live = self.open().await?;
        let session = live.session();
        if placement.parent == AppendParent::Leaf {
            self.engine.finish_interrupted_explores(&live).await?;
        }
        let below = placement.parent.clone();
        let mut commit = Commit::new(move |tree, leaf| plan(tree, below.position(tree, leaf)?));
        if let Some(id) = &placement.id {
            commit = commit.with_id(id);
        }
        match session.commit(commit).await {
            Err(SessionError::Plan(PlanError::NotFound { id }))
                if placement.parent == AppendParent::Entry(id.clone()) =>
            {
                Err(SessionError::ParentNotFound { id }.into())
            }
            Err(error) => Err(error.into()),
            Ok(outcome) => sync_outcome(session, outcome).await,
        }
    }
}

fn not_empty(summary: &str) -> Result<(), PlanError> {
    if summary.trim().is_empty() { Err(PlanError::Empty { what: "the summary" }) } else { Ok(()) }
}

/// Applies the configured durability, because the session is closed after the call.
async fn sync_outcome(session: &Session, outcome: CommitOutcome) -> Result<CommitOutcome, EngineError> {
    session.sync_if_configured().await?;
    Ok(outcome)
}
