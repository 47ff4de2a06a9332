//! The rules of a cut, over the newest pieces of a path. Index 0 is the newest, so a cut further back has a greater index.

use crate::asking::Piece;
use crate::entry::{Kind, Role, Why};
use crate::fold::SessionTree;
use crate::heads::{Head, Seq};

/// What is known so far: all pieces that can be cut, and what the newest of them weigh.
pub(super) struct Choice<'a> {
    pub(super) pieces: &'a [Piece],
    pub(super) weights: &'a [Option<u64>],
    pub(super) keep_recent: u64,
}

/// What the search ended in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Cut at this piece, inside the turn that begins at another one, if inside a turn.
    Cut {
        at: usize,
        turn: Option<usize>,
    },
    Nothing,
}

impl Choice<'_> {
    /// The cut, or `None` if more must be seen first.
    pub(super) fn find(&self) -> Option<Found> {
        let Some(at) = self.recent()? else { return Some(Found::Nothing) };
        let at = at.max(self.question()?.unwrap_or(0));
        let Some(at) = self.search(at..self.pieces.len(), |at| self.is_cut_point(at))? else {
            return Some(Found::Nothing);
        };
        if self.search(at + 1..self.pieces.len(), |older| self.is_told(older))?.is_none() {
            return Some(Found::Nothing);
        }
        Some(Found::Cut { at, turn: self.split_turn(at)? })
    }

    /// The first of these pieces that fits. `Some(None)`: there is none; `None`: more must be seen.
    fn search(&self, among: std::ops::Range<usize>, fits: impl Fn(usize) -> bool) -> Option<Option<usize>> {
        let seen = self.weights.len();
        let found = (among.start..among.end.min(seen)).find(|at| fits(*at));
        if found.is_none() && seen < among.end { None } else { Some(found) }
    }

    /// The oldest piece to cut at that keeps no more than what reaches `keep_recent`; if there is none, the newest of all.
    fn recent(&self) -> Option<Option<usize>> {
        let mut sum = 0u64;
        let reached = self.weights.iter().position(|weight| {
            sum = sum.saturating_add(weight.unwrap_or(0));
            sum >= self.keep_recent
        });
        if reached.is_none() && self.weights.len() < self.pieces.len() {
            return None;
        }
        let end = reached.map_or(self.pieces.len(), |last| last + 1);
        match (0..end).rev().find(|at| self.is_cut_point(*at)) {
            Some(at) => Some(Some(at)),
            None => self.search(end..self.pieces.len(), |at| self.is_cut_point(at)),
        }
    }

    /// The user's last message, if nobody answered it yet, with those said in one go before it. A reply that failed or was
    /// stopped is no answer.
    fn question(&self) -> Option<Option<usize>> {
        let speaks = |at: usize, role: Role| self.is_seen(at) && self.head(at).role == role;
        let answers = |at: usize| {
            speaks(at, Role::Assistant) && !matches!(self.head(at).why, Why::Error | Why::Aborted)
        };
        let Some(last) = self.search(0..self.pieces.len(), |at| answers(at) || speaks(at, Role::User))?
        else {
            return Some(None);
        };
        if answers(last) {
            return Some(None);
        }
        let acts = |at: usize| speaks(at, Role::Assistant) || speaks(at, Role::ToolResult);
        let before = self.search(last..self.pieces.len(), acts)?.unwrap_or(self.pieces.len());
        Some((last..before).rev().find(|at| speaks(*at, Role::User)))
    }

    /// The start of the turn that a cut at this piece would split.
    fn split_turn(&self, at: usize) -> Option<Option<usize>> {
        if self.starts_turn(at)? {
            return Some(None);
        }
        for older in at + 1..self.pieces.len() {
            if older >= self.weights.len() {
                return None;
            }
            if self.starts_turn(older)? {
                return Some(Some(older));
            }
        }
        Some(None)
    }

    /// Whether a turn begins here. What an extension adds to the user's message is part of its turn, and so is a note that
    /// the model left for itself.
    fn starts_turn(&self, at: usize) -> Option<bool> {
        let head = self.head(at);
        Some(match (head.kind, head.role) {
            _ if !self.is_seen(at) => false,
            (Kind::BranchSummary, _) | (_, Role::User | Role::BashExecution) => true,
            (Kind::CustomMessage, _) | (_, Role::Custom) => {
                let is_between = |at: usize| {
                    let head = self.head(at);
                    !self.is_seen(at)
                        || matches!(head.kind, Kind::CustomMessage)
                        || matches!(head.role, Role::Custom | Role::System)
                };
                let before = self.search(at + 1..self.pieces.len(), |older| !is_between(older))?;
                before.is_none_or(|before| self.head(before).role != Role::User)
            }
            _ => false,
        })
    }

    fn is_cut_point(&self, at: usize) -> bool {
        let head = self.head(at);
        let speaks = matches!(head.kind, Kind::CustomMessage | Kind::Backtrack | Kind::BranchSummary)
            || matches!(head.role, Role::User | Role::Assistant | Role::BashExecution | Role::Custom);
        speaks && self.is_seen(at) && !self.parts_call_from_result(at)
    }

    /// Whether a result comes later than this piece, and its call came earlier.
    fn parts_call_from_result(&self, at: usize) -> bool {
        let acts = |at: &usize| matches!(self.head(*at).role, Role::Assistant | Role::ToolResult);
        if self.head(at).role == Role::Assistant {
            return false;
        }
        let later = (0..at).rev().find(|at| self.is_seen(*at) && acts(at));
        let earlier = (at + 1..self.pieces.len()).find(|at| self.head(*at).role == Role::Assistant);
        later.is_some_and(|at| self.head(at).role == Role::ToolResult)
            && earlier.is_some_and(|at| self.head(at).calls > 0)
    }

    fn head(&self, at: usize) -> &Head {
        &self.pieces[at].head
    }

    /// The model sees something of it.
    fn is_seen(&self, at: usize) -> bool {
        self.weights.get(at).is_some_and(Option::is_some)
    }

    /// The pieces that are known to say something.
    pub(super) fn known(&self) -> impl Iterator<Item = &Piece> {
        (0..self.weights.len()).filter(|at| self.is_told(*at)).map(|at| &self.pieces[at])
    }

    /// A summariser is told of it.
    fn is_told(&self, at: usize) -> bool {
        self.is_seen(at) && is_told(self.head(at))
    }

    /// The entry that the cut at this piece keeps first: entries right before it that say nothing are kept with it.
    pub(super) fn first_kept(&self, tree: &SessionTree, at: usize) -> Seq {
        let mut kept = self.pieces[at].item.seq;
        let mut older =
            self.pieces[at + 1..].iter().zip(self.weights.get(at + 1..).unwrap_or_default()).peekable();
        while let Some(parent) = tree.head(kept).parent {
            let head = tree.head(parent);
            let stays = match older.next_if(|(piece, _)| piece.item.seq == parent) {
                Some((_, weight)) => weight.is_none(),
                None => head.kind != Kind::Compaction && head.role != Role::System,
            };
            if !stays {
                break;
            }
            kept = parent;
        }
        kept
    }
}

/// Somebody says something in it. System prompts and roles that nobody knows are no conversation.
pub(crate) fn is_told(head: &Head) -> bool {
    head.kind != Kind::Message || !matches!(head.role, Role::System | Role::Unknown | Role::None)
}
