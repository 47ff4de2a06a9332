//! Exclusive commands: moves, compactions and grafts. Only one runs at a time, never during a turn or a shell
//! command, because each depends on the position it started from.

use osier_model::CancellationToken;
use osier_session::{Outcome, State};
use osier_tree::Place;

use crate::client::{Command, Reply};
use crate::compaction::{Reason, before_compaction};
use crate::error::Error;
use crate::gates::TreePreparation;
use crate::workplace::Workplace;

/// Undo or redo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Direction {
    Back,
    Forth,
}

/// Whether the command must run exclusively.
pub(crate) fn is_errand(command: &Command) -> bool {
    let jumps = matches!(command, Command::Navigate(_) | Command::Undo | Command::Redo);
    let changes =
        matches!(command, Command::Compact { .. } | Command::UndoCompaction { .. } | Command::Graft { .. });
    jumps || changes
}

/// Whether the command is an undo or a redo.
pub(crate) fn is_walk(command: &Command) -> bool {
    matches!(command, Command::Undo | Command::Redo)
}

/// Whether the command stops a running turn. Other exclusive commands are refused during a turn.
pub(crate) fn stops_turns(command: &Command) -> bool {
    match command {
        Command::Navigate(navigation) => navigation.stop_turn,
        command => matches!(command, Command::Compact { .. }),
    }
}

impl Workplace {
    /// Rejects a command that cannot succeed, before a turn is stopped for it.
    pub(crate) fn check_errand(&self, command: &Command) -> Result<(), Error> {
        let Command::Navigate(navigation) = command else { return Ok(()) };
        let (state, at) = self.here();
        navigation.land(&state.tree, at).map(drop)
    }

    pub(crate) async fn errand(&self, command: Command, cancel: &CancellationToken) -> Result<Reply, Error> {
        let before = self.session.version();
        let reply = self.carry_out(command, cancel).await;
        if self.session.version() != before || self.parts.one_shot {
            self.record_usage().await?;
        }
        reply
    }

    async fn carry_out(&self, command: Command, cancel: &CancellationToken) -> Result<Reply, Error> {
        match command {
            Command::Navigate(navigation) => self.navigate(&navigation, cancel).await.map(Reply::Navigated),
            Command::Undo => self.walk(Direction::Back, cancel).await,
            Command::Redo => self.walk(Direction::Forth, cancel).await,
            Command::Compact { focus } => {
                let (state, at) = self.worth_keeping();
                self.cursor.check_free(&state.tree, at).await?;
                self.compact(&state, at, Reason::Manual, focus.as_deref(), cancel).await.map(Reply::Compacted)
            }
            Command::UndoCompaction { entry } => {
                let (state, at) = self.here();
                let to = before_compaction(&state.tree, at, entry.as_deref())?;
                let id = to.map(|seq| state.tree.id(seq).to_string());
                self.jump((&state, at), to, cancel, || self.cursor.move_to_entry(id)).await
            }
            Command::Graft { tip, summarize, instructions } => {
                let entry = self.graft(&tip, summarize, instructions.as_deref(), cancel).await?;
                Ok(Reply::Stored { entry })
            }
            _ => Ok(Reply::Done),
        }
    }

    async fn walk(&self, direction: Direction, cancel: &CancellationToken) -> Result<Reply, Error> {
        let state = self.session.state();
        let standing = state.standing(self.cursor.id()).cloned().unwrap_or_default();
        let places = match direction {
            Direction::Back => &standing.history.back,
            Direction::Forth => &standing.history.forward,
        };
        let is_elsewhere = |place: &&Place| !state.tree.same_place(**place, standing.place);
        let to = places.iter().rev().find(is_elsewhere).copied().unwrap_or(standing.place);
        match direction {
            Direction::Back => self.jump((&state, standing.place), to, cancel, || self.cursor.undo()).await,
            Direction::Forth => self.jump((&state, standing.place), to, cancel, || self.cursor.redo()).await,
        }
    }

    /// Asks the gate and moves between two places of one state. Replies `Done` if the gate refuses.
    async fn jump<F>(
        &self,
        (state, at): (&State, Place),
        to: Place,
        cancel: &CancellationToken,
        go: impl FnOnce() -> F,
    ) -> Result<Reply, Error>
    where
        F: Future<Output = Result<Outcome, osier_session::Error>>,
    {
        if !state.tree.same_place(at, to) {
            let leaving = state.tree.leaving(at, to);
            let target_id = to.map(|seq| state.tree.id(seq).to_string());
            let asked = TreePreparation::new(&state.tree, target_id, &leaving);
            let answer = self.asked(self.parts.gates.before_tree(&asked, cancel), cancel).await;
            if answer.is_none_or(|answer| answer.cancel) {
                return Ok(Reply::Done);
            }
        }
        let choice = self.choice().await?;
        let outcome = go().await?;
        self.after_jump(choice);
        Ok(match outcome {
            Outcome::Stored(stored) => Reply::Stored { entry: stored.id },
            Outcome::Nothing | Outcome::Cancelled => Reply::Done,
        })
    }

    /// Waits for a gate. Returns `None` if the user cancels.
    pub(crate) async fn asked<T>(
        &self,
        answer: impl Future<Output = T>,
        cancel: &CancellationToken,
    ) -> Option<T> {
        tokio::select! {
            answer = answer => Some(answer).filter(|_| !cancel.is_cancelled()),
            () = cancel.cancelled() => None,
        }
    }
}
