//! The caller's side of a change: what to commit, where it counts from, and the first two beats.

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

/// How often a change is planned and gated before its caller hears that it is no use.
const TRIES: usize = 8;

/// What a plan may look at.
#[derive(Debug, Clone, Copy)]
pub struct View<'a> {
    pub tree: &'a SessionTree,
    /// Where the cursor stands, or the log if the change counts from no cursor.
    pub at: Place,
    pub history: &'a History,
}

impl View<'_> {
    /// Where an undo leads: the last place it left that is not the one it stands at.
    pub fn back(&self) -> Option<Place> {
        self.nearest(&self.history.back)
    }

    /// Where a redo leads.
    pub fn forward(&self) -> Option<Place> {
        self.nearest(&self.history.forward)
    }

    fn nearest(&self, places: &[Place]) -> Option<Place> {
        places.iter().rev().find(|place| !self.tree.same_place(**place, self.at)).copied()
    }
}

/// Makes the entry of a change, or `None` if there is nothing to do. It is asked again when the tree has changed, so it
/// names entries by id: seqs do not survive a replaced log.
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
    /// One entry below where the log or, with [`Commit::at`], a cursor stands.
    pub fn new(
        plan: impl Fn(&SessionTree, Place) -> Result<Draft, PlanError> + Send + Sync + 'static,
    ) -> Commit {
        Commit::of(move |view| plan(view.tree, view.at).map(Some))
    }

    /// One entry, or nothing.
    pub fn of(plan: impl Fn(View<'_>) -> Result<Option<Draft>, PlanError> + Send + Sync + 'static) -> Commit {
        Commit { plan: Arc::new(plan), cursor: None, expect: None, given: Given::default() }
    }

    /// An entry from elsewhere, given as a JSON object. A missing id, parent or time is filled in; an entry that is there
    /// already with the same line is success without a write. Osier's own kinds may be given as they are stored or as JSON
    /// output shows them.
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

    /// Counts from this cursor, which then goes on with the entry.
    pub fn at(self, cursor: &Cursor) -> Commit {
        Commit { cursor: Some(cursor.clone()), ..self }
    }

    /// Fails with [`Error::LeafChanged`] unless the cursor or the log still stands at this place of `tree`.
    pub fn expecting(self, tree: &SessionTree, place: Place) -> Commit {
        // The entries that make the place: marks below it may be gone when the log was replaced meanwhile.
        let anchor = tree.heads().anchor(place);
        Commit { expect: Some(anchor.map(|seq| tree.id(seq).to_string())), ..self }
    }

    /// Gives the entry this id. If it is there already with the same content, that is success without a write.
    pub fn called(mut self, id: &str) -> Commit {
        self.given.insist(id);
        self
    }

    /// Gives the entry the id of a live draft, and ends that draft.
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

/// An entry that is in the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    pub seq: Seq,
    pub id: Arc<str>,
    /// The stored line, without line feed.
    pub line: Arc<[u8]>,
    /// It was there already, so nothing was written.
    pub existed: bool,
    /// The state of the log with it.
    pub version: Version,
}

/// What became of a change.
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

/// A change after its first two beats.
enum Prepared {
    Job(Box<Job>),
    Done(Outcome),
    Again,
}

impl State {
    /// What a plan may look at from a cursor, or from the log. `None` if the cursor was given up.
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
    /// Makes a change: plans it, asks the gate, and hands it to the writer. If somebody was faster and the plan does not
    /// hold any more, plans again.
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

    /// Plan and gate.
    async fn prepare(&self, commit: &Commit) -> Result<Prepared, Error> {
        let (state, none) = (self.state(), History::default());
        let cursor = commit.cursor_id();
        let view = state.view(cursor, &none).ok_or(Error::Closed)?;
        let planned = match (commit.plan)(view) {
            Ok(Some(planned)) => planned,
            Ok(None) => return Ok(Prepared::Done(Outcome::Nothing)),
            // What the plan misses may have been appended by another process just now.
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

    /// Appends an entry from elsewhere; see [`Commit::entry`].
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
