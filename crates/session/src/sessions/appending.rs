//! The façade's operations that append: one per entry type, updates of entries, and moves of the leaf.

use osier_tree::scan::Raw;
use osier_tree::{Draft, Place, PlanError, SessionTree};
use serde_json::{Map, Value};

use super::Sessions;
use crate::commit::{Commit, Outcome};
use crate::error::Error;
use crate::handle::Session;

/// The parent of a new entry.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Below {
    /// The leaf at the time of writing.
    #[default]
    Leaf,
    /// No parent: the entry becomes a new root.
    Nothing,
    Entry(String),
}

impl Below {
    fn place(&self, tree: &SessionTree, leaf: Place) -> Result<Place, PlanError> {
        match self {
            Below::Leaf => Ok(leaf),
            Below::Nothing => Ok(None),
            Below::Entry(id) => tree.require_shown(id).map(Some),
        }
    }
}

/// The parent and the id of a new entry. With an id, the same call can be repeated: the entry is written once.
#[derive(Debug, Clone, Default)]
pub struct Put {
    pub below: Below,
    pub id: Option<String>,
}

/// The content of a compaction.
#[derive(Debug, Clone, Default)]
pub struct Compacted {
    pub summary: String,
    pub first_kept: String,
    pub tokens_before: u64,
    /// Other fields of the entry, such as `details`.
    pub extra: Map<String, Value>,
}

impl Sessions {
    /// `appendEntry`: an entry as a JSON object. Missing `id`, `parentId` and `timestamp` are filled in; an explicit
    /// `null` parent makes a new root. Appending the same entry again succeeds without a write.
    pub async fn append_entry(&self, id: &str, object: &[u8]) -> Result<Outcome, Error> {
        let session = self.open(id).await?;
        let outcome = session.append_entry(object).await?;
        written(&session, outcome).await
    }

    /// `appendMessage`: a message as a JSON object, stored unchanged.
    pub async fn append_message(&self, id: &str, put: &Put, message: &[u8]) -> Result<Outcome, Error> {
        let message = message.to_vec();
        self.put(id, put, move |tree, at| {
            let message =
                Raw::parse(&message).map_err(|_| PlanError::NotAnEntry { why: "it is not JSON" })?;
            tree.plan_message(at, message)
        })
        .await
    }

    /// `appendThinkingLevelChange`.
    pub async fn append_thinking_level(&self, id: &str, put: &Put, level: &str) -> Result<Outcome, Error> {
        let level = level.to_owned();
        self.put(id, put, move |tree, at| tree.plan_thinking_level(at, &level)).await
    }

    /// `appendModelChange`.
    pub async fn append_model_change(
        &self,
        id: &str,
        put: &Put,
        provider: &str,
        model: &str,
    ) -> Result<Outcome, Error> {
        let (provider, model) = (provider.to_owned(), model.to_owned());
        self.put(id, put, move |tree, at| tree.plan_model_change(at, &provider, &model)).await
    }

    /// `appendCompaction`. The first kept entry must be on the path.
    pub async fn append_compaction(
        &self,
        id: &str,
        put: &Put,
        compacted: &Compacted,
    ) -> Result<Outcome, Error> {
        let compacted = compacted.clone();
        self.put(id, put, move |tree, at| {
            let Compacted { summary, first_kept, tokens_before, extra } = &compacted;
            not_empty(summary)?;
            tree.plan_compaction(at, summary, first_kept, *tokens_before, extra)
        })
        .await
    }

    /// `appendBranchSummary` of the branch that ends with `from`.
    pub async fn append_branch_summary(
        &self,
        id: &str,
        put: &Put,
        from: &str,
        summary: &str,
    ) -> Result<Outcome, Error> {
        let (from, summary) = (from.to_owned(), summary.to_owned());
        self.put(id, put, move |tree, at| {
            not_empty(&summary)?;
            Ok(tree.plan_branch_summary(at, Some(tree.require(&from)?), &summary, &Map::new()))
        })
        .await
    }

    /// `appendLabelChange`. An empty label removes the label.
    pub async fn append_label(&self, id: &str, target: &str, label: Option<&str>) -> Result<Outcome, Error> {
        let session = self.open(id).await?;
        let outcome = session.label(target, label).await?;
        written(&session, outcome).await
    }

    /// `appendSessionInfo`: sets the name of the session. An empty name removes it.
    pub async fn append_session_info(&self, id: &str, name: &str) -> Result<Outcome, Error> {
        let session = self.open(id).await?;
        let outcome = session.rename(name).await?;
        written(&session, outcome).await
    }

    /// `updateEntry`: ends a running sub-agent batch, by appending an update entry. No other entry can be updated.
    pub async fn update_entry(
        &self,
        id: &str,
        entry: &str,
        status: &str,
        payload: &Value,
    ) -> Result<Outcome, Error> {
        let session = self.open(id).await?;
        let (entry, status, payload) = (entry.to_owned(), status.to_owned(), payload.clone());
        let update = Commit::new(move |tree, _| tree.plan_entry_update(&entry, &status, &payload));
        let outcome = session.commit(update).await?;
        written(&session, outcome).await
    }

    /// `switchLeaf`. With `expected`, fails with [`Error::LeafChanged`] unless that is the current leaf; `Some(None)`
    /// is before the first entry.
    pub async fn switch_leaf(
        &self,
        id: &str,
        to: &str,
        expected: Option<Option<&str>>,
    ) -> Result<Outcome, Error> {
        self.move_leaf(id, Some(to), expected).await
    }

    /// `resetLeaf`: moves before the first entry.
    pub async fn reset_leaf(&self, id: &str, expected: Option<Option<&str>>) -> Result<Outcome, Error> {
        self.move_leaf(id, None, expected).await
    }

    async fn move_leaf(
        &self,
        id: &str,
        to: Option<&str>,
        expected: Option<Option<&str>>,
    ) -> Result<Outcome, Error> {
        let session = self.open(id).await?;
        let to = to.map(|to| session.tree().require_shown(to)).transpose()?;
        let outcome = match expected {
            Some(from) => session.main().move_from(from, to).await?,
            None => session.main().move_to(to).await?,
        };
        written(&session, outcome).await
    }

    async fn put(
        &self,
        id: &str,
        put: &Put,
        plan: impl Fn(&SessionTree, Place) -> Result<Draft, PlanError> + Send + Sync + 'static,
    ) -> Result<Outcome, Error> {
        let session = self.open(id).await?;
        let below = put.below.clone();
        let mut commit = Commit::new(move |tree, leaf| plan(tree, below.place(tree, leaf)?));
        if let Some(id) = &put.id {
            commit = commit.called(id);
        }
        match session.commit(commit).await {
            Err(Error::Plan(PlanError::NotFound { id })) if put.below == Below::Entry(id.clone()) => {
                Err(Error::ParentNotFound { id })
            }
            Err(error) => Err(error),
            Ok(outcome) => written(&session, outcome).await,
        }
    }
}

fn not_empty(summary: &str) -> Result<(), PlanError> {
    if summary.trim().is_empty() { Err(PlanError::Empty { what: "the summary" }) } else { Ok(()) }
}

/// Applies the configured durability, because the session is closed after the call.
async fn written(session: &Session, outcome: Outcome) -> Result<Outcome, Error> {
    session.before_prompt().await?;
    Ok(outcome)
}
