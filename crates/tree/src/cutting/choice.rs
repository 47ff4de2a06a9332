//! The rules for a cut, over the newest entries of a path. Index 0 is the newest entry, so an older cut has a greater index.

use crate::asking::Piece;
use crate::entry::{Kind, Role, Why};
use crate::fold::SessionTree;
use crate::heads::{Head, Seq};

/// The state of the search: all entries that can be cut, and the token counts of the newest ones that were read so far.
pub(super) struct Choice<'a> {
    pub(super) pieces: &'a [Piece],
    pub(super) weights: &'a [Option<u64>],
    pub(super) keep_recent: u64,
}

/// The result of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// Cut at index `at`. If that splits a turn, the turn begins at index `turn`.
    Cut {
        at: usize,
        turn: Option<usize>,
    },
    Nothing,
}

impl Choice<'_> {
    /// The cut, or `None` if more lines must be read first.
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

    /// The first index in the range that fits. `Some(None)`: there is none; `None`: more lines must be read first.
    fn search(&self, among: std::ops::Range<usize>, fits: impl Fn(usize) -> bool) -> Option<Option<usize>> {
        let seen = self.weights.len();
        let found = (among.start..among.end.min(seen)).find(|at| fits(*at));
        if found.is_none() && seen < among.end { None } else { Some(found) }
    }

    /// The oldest cut point within the newest entries that together reach `keep_recent`; if there is none, the newest cut
    /// point before them.
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

    /// The user's last message if it is not answered yet, or the first of several consecutive ones. A reply that failed or
    /// was aborted does not count as an answer.
    fn question(&self) -> Option<Option<usize>> {
        let has_role = |at: usize, role: Role| self.is_seen(at) && self.head(at).role == role;
        let answers = |at: usize| {
            has_role(at, Role::Assistant) && !matches!(self.head(at).why, Why::Error | Why::Aborted)
        };
        let Some(last) = self.search(0..self.pieces.len(), |at| answers(at) || has_role(at, Role::User))?
        else {
            return Some(None);
        };
        if answers(last) {
            return Some(None);
        }
        let acts = |at: usize| has_role(at, Role::Assistant) || has_role(at, Role::ToolResult);
        let before = self.search(last..self.pieces.len(), acts)?.unwrap_or(self.pieces.len());
        Some((last..before).rev().find(|at| has_role(*at, Role::User)))
    }

    /// The start of the turn that a cut at this index would split.
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

    /// Whether a turn begins here. Messages that an extension adds after the user's message belong to the same turn, and so
    /// do backtrack notes.
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
        let is_candidate = matches!(head.kind, Kind::CustomMessage | Kind::Backtrack | Kind::BranchSummary)
            || matches!(head.role, Role::User | Role::Assistant | Role::BashExecution | Role::Custom);
        is_candidate && self.is_seen(at) && !self.parts_call_from_result(at)
    }

    /// Whether this index is between a tool call and its result.
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

    /// Whether the entry sends anything to the model.
    fn is_seen(&self, at: usize) -> bool {
        self.weights.get(at).is_some_and(Option::is_some)
    }

    /// The entries read so far that are part of the conversation.
    pub(super) fn known(&self) -> impl Iterator<Item = &Piece> {
        (0..self.weights.len()).filter(|at| self.is_told(*at)).map(|at| &self.pieces[at])
    }

    /// Whether the entry is part of the text that is summarized.
    fn is_told(&self, at: usize) -> bool {
        self.is_seen(at) && is_told(self.head(at))
    }

    /// The first entry that a cut at this index keeps. Entries right before it that send nothing to the model are kept too.
    pub(super) fn first_kept(&self, tree: &SessionTree, at: usize) -> Seq {
        let mut kept = self.pieces[at].item.seq;
        let mut older =
            self.pieces[at + 1..].iter().zip(self.weights.get(at + 1..).unwrap_or_default()).peekable();
        while let Some(parent) = tree.head(kept).parent {
            let head = tree.head(parent);
            let is_kept = match older.next_if(|(piece, _)| piece.item.seq == parent) {
                Some((_, weight)) => weight.is_none(),
                None => head.kind != Kind::Compaction && head.role != Role::System,
            };
            if !is_kept {
                break;
            }
            kept = parent;
        }
        kept
    }
}

/// Whether an entry is part of the conversation. System prompts and messages with an unknown role are not.
pub(crate) fn is_told(head: &Head) -> bool {
    head.kind != Kind::Message || !matches!(head.role, Role::System | Role::Unknown | Role::None)
}
