//! The caller's side of a change: the commit, and its first two steps, plan and gate.

use std::fmt;
use std::sync::Arc;

use osier_store::LogVersion;
use osier_tree::projection::json::stored_form;
use osier_tree::{EntryDraft, EntryId, EntryLine, Place, PlanError, Seq, SessionTree};

use crate::cursor::Cursor;
use crate::cursor_state::{CursorId, CursorState};
use crate::draft::DraftHandle;
use crate::error::SessionError;
use crate::gate::{GateVerdict, PlannedChange};
use crate::handle::Session;
use crate::provided_fields::ProvidedFields;
use crate::state::SessionState;
use crate::writer_message::{AppendJob, AppendResult, WriterMessage};

/// How often a change is planned and gated before the commit fails.
const MAX_ATTEMPTS: usize = 8;

/// The input of a plan.
#[derive(Debug, Clone, Copy)]
pub struct PlanView<'a> {
    pub tree: &'a SessionTree,
    /// The position of the cursor, or the leaf of the log if there is no cursor.
    pub at: Place,
    /// `None` if there is no cursor.
    pub(crate) cursor: Option<&'a CursorState>,
}

impl PlanView<'_> {
    /// The target of an undo: the last position that differs from the current one.
    pub fn undo_target(&self) -> Option<Place> {
        self.nearest(&self.cursor?.history(self.tree).back)
    }

    /// The target of a redo.
    pub fn redo_target(&self) -> Option<Place> {
        self.nearest(&self.cursor?.history(self.tree).forward)
    }

    fn nearest(&self, places: &[Place]) -> Option<Place> {
        places.iter().rev().find(|position| !self.tree.same_place(**position, self.at)).copied()
    }
}

/// Plans the entry of a change, or `None` if there is nothing to do. It is called again when the tree has changed, so
/// it must refer to entries by id: sequence numbers become invalid when the log is replaced.
pub(crate) type PlanFn = Arc<dyn Fn(PlanView<'_>) -> Result<Option<EntryDraft>, PlanError> + Send + Sync>;

/// A change to make: one entry, planned against the current tree.
#[derive(Clone)]
pub struct Commit {
    plan: PlanFn,
    cursor: Option<Cursor>,
    expect: Option<Option<String>>,
    provided: ProvidedFields,
}

impl Commit {
    /// One entry at the leaf of the log or, with [`Commit::at_cursor`], at a cursor.
    pub fn new(
        plan: impl Fn(&SessionTree, Place) -> Result<EntryDraft, PlanError> + Send + Sync + 'static,
    ) -> Commit {
        Commit::with_plan(move |view| plan(view.tree, view.at).map(Some))
    }

    /// One entry, or nothing.
    pub fn with_plan(
        plan: impl Fn(PlanView<'_>) -> Result<Option<EntryDraft>, PlanError> + Send + Sync + 'static,
    ) -> Commit {
        Commit { plan: Arc::new(plan), cursor: None, expect: None, provided: ProvidedFields::default() }
    }

    /// An external entry as a JSON object. A missing id, parent or timestamp is filled in. If the same entry exists
    /// already, the commit succeeds without a write. Osier's own entry types can have the stored form or the form of
    /// JSON output.
    pub fn from_entry(object: &[u8]) -> Result<Commit, SessionError> {
        let stored = osier_tree::scan::RawJson::parse(object).ok().and_then(stored_form);
        let object = stored.unwrap_or_else(|| object.to_vec());
        let given = ProvidedFields::parse(&object)?;
        let named = given.clone();
        let plan = move |view: PlanView<'_>| {
            let at = named.parent_place(view.tree)?;
            let object = osier_tree::scan::RawJson::parse(&object)
                .map_err(|_| PlanError::NotAnEntry { reason: "it is not JSON" })?;
            view.tree.plan_entry(at, object).map(Some)
        };
        Ok(Commit { provided: given, ..Commit::with_plan(plan) })
    }

    /// Commits at this cursor, which then advances to the entry.
    pub fn at_cursor(self, cursor: &Cursor) -> Commit {
        Commit { cursor: Some(cursor.clone()), ..self }
    }

    /// Fails with [`SessionError::LeafChanged`] unless the cursor or the log is still at this position of `tree`.
    pub fn expect_at(self, tree: &SessionTree, position: Place) -> Commit {
        // Use the anchor: marks below it may be gone if the log is replaced.
        let anchor = tree.heads().anchor(position);
        Commit { expect: Some(anchor.map(|seq| tree.id(seq).to_string())), ..self }
    }

    /// Sets the id of the entry. If the same entry exists already, the commit succeeds without a write.
    pub fn with_id(mut self, id: &str) -> Commit {
        self.provided.require_id(id);
        self
    }

    /// Prefers an id, so that the commit can be repeated after an error without storing the entry twice.
    pub fn repeatable(mut self, id: &str) -> Commit {
        self.provided.prefer_id(id);
        self
    }

    /// Uses the id of a live draft and ends that draft.
    pub fn finish_draft(mut self, draft: &DraftHandle) -> Commit {
        self.provided.prefer_id(draft.id());
        self
    }

    fn cursor_id(&self) -> Option<CursorId> {
        self.cursor.as_ref().map(Cursor::id)
    }
}

impl fmt::Debug for Commit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Commit")
            .field("cursor", &self.cursor_id())
            .field("expect", &self.expect)
            .finish_non_exhaustive()
    }
}

/// A stored entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry {
    pub seq: Seq,
    pub id: EntryId,
    /// The stored line, without its newline.
    pub line: EntryLine,
    /// Whether the entry existed already, so that nothing was written.
    pub existed: bool,
    /// The version of the log that includes the entry.
    pub version: LogVersion,
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitOutcome {
    Stored(StoredEntry),
    /// There was nothing to do.
    Nothing,
    /// A gate refused.
    Cancelled,
}

impl CommitOutcome {
    pub fn stored(self) -> Option<StoredEntry> {
        match self {
            CommitOutcome::Stored(stored) => Some(stored),
            CommitOutcome::Nothing | CommitOutcome::Cancelled => None,
        }
    }
}

/// A change after planning and gating.
enum PreparedCommit {
    Job(Box<AppendJob>),
    Done(CommitOutcome),
    Retry,
}

impl SessionState {
    /// The input of a plan at a cursor or at the leaf of the log. `None` if the cursor was dropped.
    fn view(&self, cursor: Option<CursorId>) -> Option<PlanView<'_>> {
        match cursor {
            None => Some(PlanView { tree: &self.tree, at: self.tree.opening_place(), cursor: None }),
            Some(cursor) => {
                let cursor_state = self.cursor_state(cursor)?;
                Some(PlanView { tree: &self.tree, at: cursor_state.position, cursor: Some(cursor_state) })
            }
        }
    }
}

impl Session {
    /// Commits a change: plans it, calls the gate, and sends it to the writer. Plans again if the plan has become
    /// invalid because of other writers.
    pub async fn commit(&self, commit: Commit) -> Result<CommitOutcome, SessionError> {
        for _ in 0..MAX_ATTEMPTS {
            let job = match self.prepare(&commit).await? {
                PreparedCommit::Job(job) => job,
                PreparedCommit::Done(outcome) => return Ok(outcome),
                PreparedCommit::Retry => continue,
            };
            match self.request(|reply| WriterMessage::Append { job, reply }).await? {
                AppendResult::Stored(stored) => return Ok(CommitOutcome::Stored(stored)),
                AppendResult::Nothing => return Ok(CommitOutcome::Nothing),
                AppendResult::PlanAgain => {}
            }
        }
        Err(SessionError::Contended)
    }

    /// Plans and gates a change.
    async fn prepare(&self, commit: &Commit) -> Result<PreparedCommit, SessionError> {
        let state = self.state();
        let cursor = commit.cursor_id();
        let view = state.view(cursor).ok_or(SessionError::Closed)?;
        let planned = match (commit.plan)(view) {
            Ok(Some(planned)) => planned,
            Ok(None) => return Ok(PreparedCommit::Done(CommitOutcome::Nothing)),
            // Another process may just have appended the entries that the plan needs.
            Err(error) if self.refresh().await? == state.version => return Err(error.into()),
            Err(_) => return Ok(PreparedCommit::Retry),
        };
        let altered_draft = match self.review_by_gate(view, &planned).await {
            GateVerdict::Pass => None,
            GateVerdict::Alter(draft) => Some(draft),
            GateVerdict::Refuse => return Ok(PreparedCommit::Done(CommitOutcome::Cancelled)),
        };
        Ok(PreparedCommit::Job(Box::new(AppendJob {
            plan: commit.plan.clone(),
            planned,
            altered_draft,
            has_gate: self.env().gate.is_some(),
            planned_for: (state.version, view.at),
            cursor,
            expected_place: commit.expect.clone(),
            provided: commit.provided.clone(),
            id: None,
            time: None,
        })))
    }

    async fn review_by_gate(&self, view: PlanView<'_>, draft: &EntryDraft) -> GateVerdict {
        match &self.env().gate {
            None => GateVerdict::Pass,
            Some(gate) => gate.review(PlannedChange { tree: view.tree, at: view.at, draft }).await,
        }
    }

    /// Appends an external entry; see [`Commit::from_entry`].
    pub async fn append_entry(&self, object: &[u8]) -> Result<CommitOutcome, SessionError> {
        let commit = Commit::from_entry(object)?;
        let parent = commit.provided.parent.clone().flatten();
        match self.commit(commit).await {
            Err(SessionError::Plan(PlanError::NotFound { id })) if parent.as_ref() == Some(&id) => {
                Err(SessionError::ParentNotFound { id })
            }
            outcome => outcome,
        }
    }
}
