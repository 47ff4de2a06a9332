//! A cursor: a position in the tree for one client of this process, and its moves.

use std::sync::Arc;

use osier_tree::{Place, SessionTree};

use crate::commit::{Commit, Outcome};
use crate::draft::DraftHandle;
use crate::error::Error;
use crate::handle::Session;
use crate::mail::{Followed, Mail};
use crate::standing::{CursorId, Standing};
use crate::state::State;

/// A position in the tree. Clones are the same cursor. Dropping the last clone removes it, except the main cursor.
#[derive(Debug, Clone)]
pub struct Cursor {
    session: Session,
    id: CursorId,
    _owned: Option<Arc<Owned>>,
}

#[derive(Debug)]
struct Owned {
    session: Session,
    id: CursorId,
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.session.tell(Mail::DropCursor { cursor: self.id });
    }
}

impl Cursor {
    pub(crate) fn main(session: Session) -> Cursor {
        Cursor { session, id: CursorId::MAIN, _owned: None }
    }

    pub(crate) fn owned(session: Session, id: CursorId) -> Cursor {
        let owned = Arc::new(Owned { session: session.clone(), id });
        Cursor { session, id, _owned: Some(owned) }
    }

    pub fn id(&self) -> CursorId {
        self.id
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    pub fn standing(&self) -> Standing {
        self.session.state().standing(self.id).cloned().unwrap_or_default()
    }

    /// The current position. To look it up in a tree, use [`Cursor::here`]: an older tree may not contain it.
    pub fn place(&self) -> Place {
        self.here().1
    }

    /// The current state of the session and the position of the cursor in it.
    pub fn here(&self) -> (Arc<State>, Place) {
        let state = self.session.state();
        let at = state.standing(self.id).and_then(|standing| standing.place);
        (state, at)
    }

    /// Commits a change at this position and advances to it.
    pub async fn commit(&self, commit: Commit) -> Result<Outcome, Error> {
        self.session.commit(commit.at(self)).await
    }

    /// Fails if another process runs a turn at a position of `tree`: no other turn can start there, and no cursor can
    /// move there.
    pub async fn check_free(&self, tree: &SessionTree, place: Place) -> Result<(), Error> {
        let at = place.map(|seq| tree.id(seq).to_string());
        self.session.ask(|reply| Mail::CheckFree { at, reply }).await
    }

    /// Moves to another position. Does nothing if the cursor is already there.
    pub async fn move_to(&self, to: Place) -> Result<Outcome, Error> {
        let to = self.session.name(to)?;
        self.move_to_entry(to).await
    }

    /// Like `move_to`, but takes the id of an entry, which stays valid if the log is replaced. `None` is before the
    /// first entry.
    pub async fn move_to_entry(&self, to: Option<String>) -> Result<Outcome, Error> {
        self.commit(Commit::of(move |view| {
            let to = to.as_deref().map(|to| view.tree.require_shown(to)).transpose()?;
            Ok(view.tree.plan_move(view.at, to))
        }))
        .await
    }

    /// Like `move_to`, but fails with [`Error::LeafChanged`] unless the cursor is still at the entry with the id
    /// `from`.
    pub async fn move_from(&self, from: Option<&str>, to: Place) -> Result<Outcome, Error> {
        let to = self.session.name(to)?;
        self.session.refresh().await?;
        let (state, at) = self.here();
        let tree = &state.tree;
        let is_there = match from {
            None => tree.same_place(None, at),
            Some(id) => tree.find(id).is_some_and(|seq| tree.same_place(Some(seq), at)),
        };
        if !is_there {
            return Err(Error::LeafChanged { now: self.session.name(at)? });
        }
        let plan = Commit::of(move |view| {
            let to = to.as_deref().map(|to| view.tree.require_shown(to)).transpose()?;
            Ok(view.tree.plan_move(view.at, to))
        });
        self.commit(plan.expecting(tree, at)).await
    }

    /// Moves, then labels an entry. These are two entries, and the first is valid without the second. If the move
    /// fails or is refused, no label is written.
    pub async fn move_and_label(&self, to: Place, target: &str, label: &str) -> Result<Outcome, Error> {
        self.session.tree().require(target)?;
        let outcome = self.move_to(to).await?;
        if outcome != Outcome::Cancelled {
            self.session.label(target, Some(label)).await?;
        }
        Ok(outcome)
    }

    /// Returns to the position before the last jump.
    pub async fn undo(&self) -> Result<Outcome, Error> {
        self.commit(Commit::of(|view| view.tree.plan_undo(view.at, view.back()).map(Some))).await
    }

    /// Returns to the position before the last undo.
    pub async fn redo(&self) -> Result<Outcome, Error> {
        self.commit(Commit::of(|view| view.tree.plan_redo(view.at, view.forward()).map(Some))).await
    }

    /// Moves to where another writer continued from here, and returns the new position. Writes a move only if the
    /// leaf of the log is elsewhere.
    pub async fn follow(&self) -> Result<Place, Error> {
        match self.session.ask(|reply| Mail::Follow { cursor: self.id, reply }).await? {
            Followed::Stands(place) => Ok(place),
            Followed::Move(to) => {
                self.move_to(to).await?;
                Ok(self.place())
            }
        }
    }

    /// Starts a turn here, visible to other processes. Until it ends, the cursor does not follow or move, and no
    /// process can start a turn at its position or delete its branch.
    pub async fn begin_turn(&self) -> Result<TurnGuard, Error> {
        let turn = TurnGuard { cursor: self.clone(), running: false };
        self.session.ask(|reply| Mail::BeginTurn { turn, reply }).await
    }

    /// Starts a live draft of an entry that will be committed here.
    pub async fn begin_draft(&self) -> Result<DraftHandle, Error> {
        let id = self.session.ask(|reply| Mail::BeginDraft { cursor: self.id, reply }).await?;
        Ok(DraftHandle::new(self.session.clone(), id))
    }
}

/// A running turn. Dropping it ends the turn.
#[derive(Debug)]
pub struct TurnGuard {
    cursor: Cursor,
    running: bool,
}

impl TurnGuard {
    pub(crate) fn cursor(&self) -> CursorId {
        self.cursor.id
    }

    /// The turn is ended by somebody else.
    pub(crate) fn abandon(mut self) -> CursorId {
        self.running = false;
        self.cursor.id
    }

    /// The turn runs from now on, so dropping this value ends it.
    pub(crate) fn started(mut self) -> TurnGuard {
        self.running = true;
        self
    }

    /// Ends the turn, and returns when its entries are as durable as configured.
    pub async fn end(mut self) -> Result<(), Error> {
        self.running = false;
        let cursor = self.cursor.id;
        self.cursor.session.ask(|reply| Mail::EndTurn { cursor, reply: Some(reply) }).await
    }
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        if self.running {
            self.cursor.session.tell(Mail::EndTurn { cursor: self.cursor.id, reply: None });
        }
    }
}
