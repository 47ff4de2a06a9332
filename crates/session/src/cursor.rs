//! A cursor: where a window of this process stands, and the moves it makes.

use std::sync::Arc;

use osier_tree::{Place, SessionTree};

use crate::commit::{Commit, Outcome};
use crate::draft::DraftHandle;
use crate::error::Error;
use crate::handle::Session;
use crate::mail::{Followed, Mail};
use crate::standing::{CursorId, Standing};
use crate::state::State;

/// See the module. Copies are the same cursor; it is given up with the last of them, but for the main one.
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

    /// Where it stands. Whoever looks that up in the tree asks [`Cursor::here`]: a tree that was got before may not have it.
    pub fn place(&self) -> Place {
        self.here().1
    }

    /// The session as it is now, and where the cursor stands in it.
    pub fn here(&self) -> (Arc<State>, Place) {
        let state = self.session.state();
        let at = state.standing(self.id).and_then(|standing| standing.place);
        (state, at)
    }

    /// Makes a change that counts from here, and goes on with it.
    pub async fn commit(&self, commit: Commit) -> Result<Outcome, Error> {
        self.session.commit(commit.at(self)).await
    }

    /// Fails if another process runs a turn at a place of `tree`: then nothing can begin there, and nobody moves there.
    pub async fn check_free(&self, tree: &SessionTree, place: Place) -> Result<(), Error> {
        let at = place.map(|seq| tree.id(seq).to_string());
        self.session.ask(|reply| Mail::CheckFree { at, reply }).await
    }

    /// Moves to another place. Nothing happens if it stands there.
    pub async fn move_to(&self, to: Place) -> Result<Outcome, Error> {
        let to = self.session.name(to)?;
        self.move_to_entry(to).await
    }

    /// The same with the id of an entry, which still names it after a replacement of the log. None is before the first one.
    pub async fn move_to_entry(&self, to: Option<String>) -> Result<Outcome, Error> {
        self.commit(Commit::of(move |view| {
            let to = to.as_deref().map(|to| view.tree.require_shown(to)).transpose()?;
            Ok(view.tree.plan_move(view.at, to))
        }))
        .await
    }

    /// The same if it still stands at `from`, named by id; else fails with [`Error::LeafChanged`].
    pub async fn move_from(&self, from: Option<&str>, to: Place) -> Result<Outcome, Error> {
        let to = self.session.name(to)?;
        self.session.refresh().await?;
        let (state, at) = self.here();
        let tree = &state.tree;
        let stands = match from {
            None => tree.same_place(None, at),
            Some(id) => tree.find(id).is_some_and(|seq| tree.same_place(Some(seq), at)),
        };
        if !stands {
            return Err(Error::LeafChanged { now: self.session.name(at)? });
        }
        let plan = Commit::of(move |view| {
            let to = to.as_deref().map(|to| view.tree.require_shown(to)).transpose()?;
            Ok(view.tree.plan_move(view.at, to))
        });
        self.commit(plan.expecting(tree, at)).await
    }

    /// Moves, then labels an entry: two entries, of which the first is whole without the second. A move that fails or is
    /// refused leaves no label.
    pub async fn move_and_label(&self, to: Place, target: &str, label: &str) -> Result<Outcome, Error> {
        self.session.tree().require(target)?;
        let outcome = self.move_to(to).await?;
        if outcome != Outcome::Cancelled {
            self.session.label(target, Some(label)).await?;
        }
        Ok(outcome)
    }

    /// Returns to where it stood before its last jump.
    pub async fn undo(&self) -> Result<Outcome, Error> {
        self.commit(Commit::of(|view| view.tree.plan_undo(view.at, view.back()).map(Some))).await
    }

    /// Goes where it stood before the last undo.
    pub async fn redo(&self) -> Result<Outcome, Error> {
        self.commit(Commit::of(|view| view.tree.plan_redo(view.at, view.forward()).map(Some))).await
    }

    /// Goes to where somebody else continued from here, and tells where it stands then. Writes a move only if the log
    /// stands elsewhere by now.
    pub async fn follow(&self) -> Result<Place, Error> {
        match self.session.ask(|reply| Mail::Follow { cursor: self.id, reply }).await? {
            Followed::Stands(place) => Ok(place),
            Followed::Move(to) => {
                self.move_to(to).await?;
                Ok(self.place())
            }
        }
    }

    /// Marks that a turn runs here, for other processes too. Until it ends the cursor follows nobody, and nobody moves it,
    /// begins a turn at its place or deletes its branch.
    pub async fn begin_turn(&self) -> Result<TurnGuard, Error> {
        self.session.ask(|reply| Mail::BeginTurn { cursor: self.id, reply }).await?;
        Ok(TurnGuard { cursor: self.clone(), running: true })
    }

    /// Begins a live draft of an entry that will be committed here.
    pub async fn begin_draft(&self) -> Result<DraftHandle, Error> {
        let id = self.session.ask(|reply| Mail::BeginDraft { cursor: self.id, reply }).await?;
        Ok(DraftHandle::new(self.session.clone(), id))
    }
}

/// A running turn. It ends with this value.
#[derive(Debug)]
pub struct TurnGuard {
    cursor: Cursor,
    running: bool,
}

impl TurnGuard {
    /// Ends the turn, and returns when it is as durable as the setting asks.
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
