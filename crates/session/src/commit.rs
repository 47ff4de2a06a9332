//! The caller's side of a change: the commit, and its first two steps, plan and gate.

use std::fmt;
use std::sync::Arc;

use osier_store::Version;
use osier_tree::history::History;
use osier_tree::projection::json::stored_form;
use osier_tree::{Draft, Place, PlanError, Seq, SessionTree};

use crate::cursor::Cursor;
use crate::draft::DraftHandle;
use crate::error::Error;
use crate::gate::{Change, Verdict};
use crate::given::Given;
use crate::handle::Session;
use crate::mail::{Answer, Job, Mail};
use crate::standing::CursorId;
use crate::state::State;

/// How often a change is planned and gated before the commit fails.
const TRIES: usize = 8;

/// The input of a plan.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub tree: &'a SessionTree,
    /// The position of the cursor, or the leaf of the log if there is no cursor.
    pub at: Place,
    pub history: &'a History,
}

impl View<'_> {
    /// The target of an undo: the last position that differs from the current one.
    pub fn back(&self) -> Option<Place> {
        self.nearest(&self.history.back)
    }

    /// The target of a redo.
    pub fn forward(&self) -> Option<Place> {
        self.nearest(&self.history.forward)
    }

    fn nearest(&self, places: &[Place]) -> Option<Place> {
        places.iter().rev().find(|place| !self.tree.same_place(**place, self.at)).copied()
    }
}

/// Plans the entry of a change, or `None` if there is nothing to do. It is called again when the tree has changed, so
/// it must refer to entries by id: sequence numbers become invalid when the log is replaced.
pub(crate) type Plan = Arc<dyn Fn(View<'_>) -> Result<Option<Draft>, PlanError> + Send + Sync>;

/// A change to make: one entry, planned against the current tree.
#[derive(Clone)]
pub struct Commit {
    plan: Plan,
    cursor: Option<Cursor>,
    expect: Option<Option<String>>,
    given: Given,
}

impl Commit {
    /// One entry at the leaf of the log or, with [`Commit::at`], at a cursor.
    pub fn new(
        plan: impl Fn(&SessionTree, Place) -> Result<Draft, PlanError> + Send + Sync + 'static,
    ) -> Commit {
        Commit::of(move |view| plan(view.tree, view.at).map(Some))
    }

    /// One entry, or nothing.
    pub fn of(plan: impl Fn(View<'_>) -> Result<Option<Draft>, PlanError> + Send + Sync + 'static) -> Commit {
        Commit { plan: Arc::new(plan), cursor: None, expect: None, given: Given::default() }
    }

    /// An external entry as a JSON object. A missing id, parent or timestamp is filled in. If the same entry exists
    /// already, the commit succeeds without a write. Osier's own entry types can have the stored form or the form of
    /// JSON output.
    pub fn entry(object: &[u8]) -> Result<Commit, Error> {
        let stored = osier_tree::scan::Raw::parse(object).ok().and_then(stored_form);
        let object = stored.unwrap_or_else(|| object.to_vec());
        let given = Given::read(&object)?;
        let named = given.clone();
        let plan = move |view: View<'_>| {
            let at = named.place(view.tree)?;
            let object = osier_tree::scan::Raw::parse(&object)
                .map_err(|_| PlanError::NotAnEntry { why: "it is not JSON" })?;
            view.tree.plan_entry(at, object).map(Some)
        };
        Ok(Commit { given, ..Commit::of(plan) })
    }

    /// Commits at this cursor, which then advances to the entry.
    pub fn at(self, cursor: &Cursor) -> Commit {
        Commit { cursor: Some(cursor.clone()), ..self }
    }

    /// Fails with [`Error::LeafChanged`] unless the cursor or the log is still at this position of `tree`.
    pub fn expecting(self, tree: &SessionTree, place: Place) -> Commit {
        // Use the anchor: marks below it may be gone if the log is replaced.
        let anchor = tree.heads().anchor(place);
        Commit { expect: Some(anchor.map(|seq| tree.id(seq).to_string())), ..self }
    }

    /// Sets the id of the entry. If the same entry exists already, the commit succeeds without a write.
    pub fn called(mut self, id: &str) -> Commit {
        self.given.insist(id);
        self
    }

    /// Prefers an id, so that the commit can be repeated after an error without storing the entry twice.
    pub fn repeatable(mut self, id: &str) -> Commit {
        self.given.wish(id);
        self
    }

    /// Uses the id of a live draft and ends that draft.
    pub fn finishing(mut self, draft: &DraftHandle) -> Commit {
        self.given.wish(draft.id());
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
pub struct Stored {
    pub seq: Seq,
    pub id: Arc<str>,
    /// The stored line, without its newline.
    pub line: Arc<[u8]>,
    /// Whether the entry existed already, so that nothing was written.
    pub existed: bool,
    /// The version of the log that includes the entry.
    pub version: Version,
}

/// The result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    Stored(Stored),
    /// There was nothing to do.
    Nothing,
    /// A gate refused.
    Cancelled,
}

impl Outcome {
    pub fn stored(self) -> Option<Stored> {
        match self {
            Outcome::Stored(stored) => Some(stored),
            Outcome::Nothing | Outcome::Cancelled => None,
        }
    }
}

/// A change after planning and gating.
enum Prepared {
    Job(Box<Job>),
    Done(Outcome),
    Again,
}

impl State {
    /// The input of a plan at a cursor or at the leaf of the log. `None` if the cursor was dropped.
    fn view<'a>(&'a self, cursor: Option<CursorId>, none: &'a History) -> Option<View<'a>> {
        match cursor {
            None => Some(View { tree: &self.tree, at: self.tree.leaf(), history: none }),
            Some(cursor) => {
                let standing = self.standing(cursor)?;
                Some(View { tree: &self.tree, at: standing.place, history: &standing.history })
            }
        }
    }
}

impl Session {
    /// Commits a change: plans it, calls the gate, and sends it to the writer. Plans again if the plan has become
    /// invalid because of other writers.
    pub async fn commit(&self, commit: Commit) -> Result<Outcome, Error> {
        for _ in 0..TRIES {
            let job = match self.prepare(&commit).await? {
                Prepared::Job(job) => job,
                Prepared::Done(outcome) => return Ok(outcome),
                Prepared::Again => continue,
            };
            match self.ask(|reply| Mail::Append { job, reply }).await? {
                Answer::Stored(stored) => return Ok(Outcome::Stored(stored)),
                Answer::Nothing => return Ok(Outcome::Nothing),
                Answer::PlanAgain => {}
            }
        }
        Err(Error::Contended)
    }

    /// Plans and gates a change.
    async fn prepare(&self, commit: &Commit) -> Result<Prepared, Error> {
        let (state, none) = (self.state(), History::default());
        let cursor = commit.cursor_id();
        let view = state.view(cursor, &none).ok_or(Error::Closed)?;
        let planned = match (commit.plan)(view) {
            Ok(Some(planned)) => planned,
            Ok(None) => return Ok(Prepared::Done(Outcome::Nothing)),
            // Another process may just have appended the entries that the plan needs.
            Err(error) if self.refresh().await? == state.version => return Err(error.into()),
            Err(_) => return Ok(Prepared::Again),
        };
        let gated = match self.ask_gate(view, &planned).await {
            Verdict::Pass => None,
            Verdict::Alter(draft) => Some(draft),
            Verdict::Refuse => return Ok(Prepared::Done(Outcome::Cancelled)),
        };
        Ok(Prepared::Job(Box::new(Job {
            plan: commit.plan.clone(),
            planned,
            gated,
            must_ask_again: self.env().gate.is_some(),
            relied_on: (state.version, view.at),
            cursor,
            expect: commit.expect.clone(),
            given: commit.given.clone(),
            id: None,
            time: None,
        })))
    }

    async fn ask_gate(&self, view: View<'_>, draft: &Draft) -> Verdict {
        match &self.env().gate {
            None => Verdict::Pass,
            Some(gate) => gate.ask(Change { tree: view.tree, at: view.at, draft }).await,
        }
    }

    /// Appends an external entry; see [`Commit::entry`].
    pub async fn append_entry(&self, object: &[u8]) -> Result<Outcome, Error> {
        let commit = Commit::entry(object)?;
        let parent = commit.given.parent.clone().flatten();
        match self.commit(commit).await {
            Err(Error::Plan(PlanError::NotFound { id })) if parent.as_ref() == Some(&id) => {
                Err(Error::ParentNotFound { id })
            }
            outcome => outcome,
        }
    }
}
