//! A cursor: a position in the tree for one client of this process, and its moves.

use std::sync::Arc;

use osier_tree::{Place, SessionTree};

use crate::commit::{Commit, CommitOutcome};
use crate::cursor_state::{CursorId, CursorState};
use crate::draft::DraftHandle;
use crate::error::SessionError;
use crate::handle::Session;
use crate::state::SessionState;
use crate::writer_message::{FollowResult, WriterMessage};

/// A position in the tree. Clones are the same cursor. Dropping the last clone removes it, except the main cursor.
#[derive(Debug, Clone)]
pub struct Cursor {
    session: Session,
    id: CursorId,
    _guard: Option<Arc<CursorGuard>>,
}

#[derive(Debug)]
struct CursorGuard {
    session: Session,
    id: CursorId,
}

impl Drop for CursorGuard {
    fn drop(&mut self) {
        self.session.send(WriterMessage::DropCursor { cursor: self.id });
    }
}

impl Cursor {
    pub(crate) fn main(session: Session) -> Cursor {
        Cursor { session, id: CursorId::MAIN, _guard: None }
    }

    pub(crate) fn with_guard(session: Session, id: CursorId) -> Cursor {
        let owned = Arc::new(CursorGuard { session: session.clone(), id });
        Cursor { session, id, _guard: Some(owned) }
    }

    pub fn id(&self) -> CursorId {
        self.id
    }

    pub fn session(&self) -> &Session {
        &self.session
    }

    pub fn state(&self) -> CursorState {
        self.session.state().cursor_state(self.id).cloned().unwrap_or_default()
    }

    /// The current position. To look it up in a tree, use [`Cursor::state_and_place`]: an older tree may not contain it.
    pub fn position(&self) -> Place {
        self.state_and_place().1
    }

    /// The current state of the session and the position of the cursor in it.
    pub fn state_and_place(&self) -> (Arc<SessionState>, Place) {
        let state = self.session.state();
        let at = state.cursor_state(self.id).and_then(|cursor_state| cursor_state.position);
        (state, at)
    }

    /// Commits a change at this position and advances to it.
    pub async fn commit(&self, commit: Commit) -> Result<CommitOutcome, SessionError> {
        self.session.commit(commit.at_cursor(self)).await
    }

    /// Fails if another process runs a turn at a position of `tree`: no other turn can start there, and no cursor can
    /// move there.
    pub async fn check_no_foreign_turn(
        &self,
        tree: &SessionTree,
        position: Place,
    ) -> Result<(), SessionError> {
        let at = position.map(|seq| tree.id(seq).to_string());
        self.session.request(|reply| WriterMessage::CheckNoForeignTurn { at, reply }).await
    }

    /// Moves to another position. Does nothing if the cursor is already there.
    pub async fn move_to(&self, to: Place) -> Result<CommitOutcome, SessionError> {
        let to = self.session.id_at(to)?;
        self.move_to_entry(to).await
    }

    /// Like `move_to`, but takes the id of an entry, which stays valid if the log is replaced. `None` is before the
    /// first entry.
    pub async fn move_to_entry(&self, to: Option<String>) -> Result<CommitOutcome, SessionError> {
        self.commit(Commit::with_plan(move |view| {
            let to = to.as_deref().map(|to| view.tree.require_visible(to)).transpose()?;
            Ok(view.tree.plan_move(view.at, to))
        }))
        .await
    }

    /// Like `move_to`, but fails with [`SessionError::LeafChanged`] unless the cursor is still at the entry with the id
    /// `from`.
    pub async fn move_if_at(&self, from: Option<&str>, to: Place) -> Result<CommitOutcome, SessionError> {
        let to = self.session.id_at(to)?;
        self.session.refresh().await?;
        let (state, at) = self.state_and_place();
        let tree = &state.tree;
        let is_there = match from {
            None => tree.same_place(None, at),
            Some(id) => tree.find(id).is_some_and(|seq| tree.same_place(Some(seq), at)),
        };
        if !is_there {
            return Err(SessionError::LeafChanged { now: self.session.id_at(at)? });
        }
        let plan = Commit::with_plan(move |view| {
            let to = to.as_deref().map(|to| view.tree.require_visible(to)).transpose()?;
            Ok(view.tree.plan_move(view.at, to))
        });
        self.commit(plan.expect_at(tree, at)).await
    }

    /// Moves, then labels an entry. These are two entries, and the first is valid without the second. If the move
    /// fails or is refused, no label is written.
    pub async fn move_and_label(
        &self,
        to: Place,
        target: &str,
        label: &str,
    ) -> Result<CommitOutcome, SessionError> {
        self.session.tree().require(target)?;
        let outcome = self.move_to(to).await?;
        if outcome != CommitOutcome::Cancelled {
            self.session.label(target, Some(label)).await?;
        }
        Ok(outcome)
    }

    /// Returns to the position before the last jump.
    pub async fn undo(&self) -> Result<CommitOutcome, SessionError> {
        self.commit(Commit::with_plan(|view| view.tree.plan_undo(view.at, view.undo_target()).map(Some)))
            .await
    }

    /// Returns to the position before the last undo.
    pub async fn redo(&self) -> Result<CommitOutcome, SessionError> {
        self.commit(Commit::with_plan(|view| view.tree.plan_redo(view.at, view.redo_target()).map(Some)))
            .await
    }

    /// Moves to where another writer continued from here, and returns the new position. Writes a move only if the
    /// leaf of the log is elsewhere.
    pub async fn follow(&self) -> Result<Place, SessionError> {
        match self.session.request(|reply| WriterMessage::Follow { cursor: self.id, reply }).await? {
            FollowResult::AtPlace(position) => Ok(position),
            FollowResult::NeedsMove(to) => {
                self.move_to(to).await?;
                Ok(self.position())
            }
        }
    }

    /// Starts a turn here, visible to other processes. Until it ends, the cursor does not follow or move, and no
    /// process can start a turn at its position or delete its branch.
    pub async fn begin_turn(&self) -> Result<TurnGuard, SessionError> {
        let turn = TurnGuard { cursor: self.clone(), running: false };
        self.session.request(|reply| WriterMessage::BeginTurn { turn, reply }).await
    }

    /// Starts a live draft of an entry that will be committed here.
    pub async fn begin_draft(&self) -> Result<DraftHandle, SessionError> {
        let id = self.session.request(|reply| WriterMessage::BeginDraft { cursor: self.id, reply }).await?;
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

    /// Gives up this guard without ending the turn; the caller ends it.
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
    pub async fn end(mut self) -> Result<(), SessionError> {
        self.running = false;
        let cursor = self.cursor.id;
        self.cursor.session.request(|reply| WriterMessage::EndTurn { cursor, reply: Some(reply) }).await
    }
}

impl Drop for TurnGuard {
    fn drop(&mut self) {
        if self.running {
            self.cursor.session.send(WriterMessage::EndTurn { cursor: self.cursor.id, reply: None });
        }
    }
}
