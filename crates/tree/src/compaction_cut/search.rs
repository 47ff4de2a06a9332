//! The rules for a cut, over the newest entries of a path. Index 0 is the newest entry, so an older cut has a greater index.

use crate::entry::{EntryKind, EntryReason, MessageRole};
use crate::fold::SessionTree;
use crate::heads::{Head, Seq};
use crate::line_consumer::ContextEntry;

/// The state of the search: all entries that can be cut, and the token counts of the newest ones that were read so far.
pub(super) struct CutSearch<'a> {
    pub(super) entries: &'a [ContextEntry],
    pub(super) token_counts: &'a [Option<u64>],
    pub(super) keep_recent: u64,
}

/// The result of the search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutSearchResult {
    /// Cut at index `at`. If that splits a turn, the turn begins at index `turn`.
    Cut {
        at: usize,
        turn: Option<usize>,
    },
    NoCut,
}

impl CutSearch<'_> {
    /// The cut, or `None` if more lines must be read first.
    pub(super) fn find(&self) -> Option<CutSearchResult> {
        let Some(at) = self.recent_cut_point()? else { return Some(CutSearchResult::NoCut) };
        let at = at.max(self.unanswered_question()?.unwrap_or(0));
        let Some(at) = self.search(at..self.entries.len(), |at| self.is_cut_point(at))? else {
            return Some(CutSearchResult::NoCut);
        };
        if self.search(at + 1..self.entries.len(), |older| self.is_summarized(older))?.is_none() {
            return Some(CutSearchResult::NoCut);
        }
        Some(CutSearchResult::Cut { at, turn: self.split_turn(at)? })
    }

    /// The first index in the range that fits. `Some(None)`: there is none; `None`: more lines must be read first.
    fn search(&self, among: std::ops::Range<usize>, fits: impl Fn(usize) -> bool) -> Option<Option<usize>> {
        let seen = self.token_counts.len();
        let found = (among.start..among.end.min(seen)).find(|at| fits(*at));
        if found.is_none() && seen < among.end { None } else { Some(found) }
    }

    /// The oldest cut point within the newest entries that together reach `keep_recent`; if there is none, the newest cut
    /// point before them.
    fn recent_cut_point(&self) -> Option<Option<usize>> {
        let mut sum = 0u64;
        let reached = self.token_counts.iter().position(|weight| {
            sum = sum.saturating_add(weight.unwrap_or(0));
            sum >= self.keep_recent
        });
        if reached.is_none() && self.token_counts.len() < self.entries.len() {
            return None;
        }
        let end = reached.map_or(self.entries.len(), |last| last + 1);
        match (0..end).rev().find(|at| self.is_cut_point(*at)) {
            Some(at) => Some(Some(at)),
            None => self.search(end..self.entries.len(), |at| self.is_cut_point(at)),
        }
    }

    /// The user's last message if it is not answered yet, or the first of several consecutive ones. A reply that failed or
    /// was aborted does not count as an answer.
    fn unanswered_question(&self) -> Option<Option<usize>> {
        let has_role = |at: usize, role: MessageRole| self.is_sent(at) && self.head(at).role == role;
        let answers = |at: usize| {
            has_role(at, MessageRole::Assistant)
                && !matches!(self.head(at).reason, EntryReason::Error | EntryReason::Aborted)
        };
        let Some(last) =
            self.search(0..self.entries.len(), |at| answers(at) || has_role(at, MessageRole::User))?
        else {
            return Some(None);
        };
        if answers(last) {
            return Some(None);
        }
        let acts = |at: usize| has_role(at, MessageRole::Assistant) || has_role(at, MessageRole::ToolResult);
        let before = self.search(last..self.entries.len(), acts)?.unwrap_or(self.entries.len());
        Some((last..before).rev().find(|at| has_role(*at, MessageRole::User)))
    }

    /// The start of the turn that a cut at this index would split.
    fn split_turn(&self, at: usize) -> Option<Option<usize>> {
        if self.starts_turn(at)? {
            return Some(None);
        }
        for older in at + 1..self.entries.len() {
            if older >= self.token_counts.len() {
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
            _ if !self.is_sent(at) => false,
            (EntryKind::BranchSummary, _) | (_, MessageRole::User | MessageRole::BashExecution) => true,
            (EntryKind::CustomMessage, _) | (_, MessageRole::Custom) => {
                let is_between = |at: usize| {
                    let head = self.head(at);
                    !self.is_sent(at)
                        || matches!(head.kind, EntryKind::CustomMessage)
                        || matches!(head.role, MessageRole::Custom | MessageRole::System)
                };
                let before = self.search(at + 1..self.entries.len(), |older| !is_between(older))?;
                before.is_none_or(|before| self.head(before).role != MessageRole::User)
            }
            _ => false,
        })
    }

    fn is_cut_point(&self, at: usize) -> bool {
        let head = self.head(at);
        let is_candidate =
            matches!(head.kind, EntryKind::CustomMessage | EntryKind::Backtrack | EntryKind::BranchSummary)
                || matches!(
                    head.role,
                    MessageRole::User
                        | MessageRole::Assistant
                        | MessageRole::BashExecution
                        | MessageRole::Custom
                );
        is_candidate && self.is_sent(at) && !self.separates_call_from_result(at)
    }

    /// Whether this index is between a tool call and its result.
    fn separates_call_from_result(&self, at: usize) -> bool {
        let acts =
            |at: &usize| matches!(self.head(*at).role, MessageRole::Assistant | MessageRole::ToolResult);
        if self.head(at).role == MessageRole::Assistant {
            return false;
        }
        let later = (0..at).rev().find(|at| self.is_sent(*at) && acts(at));
        let earlier = (at + 1..self.entries.len()).find(|at| self.head(*at).role == MessageRole::Assistant);
        later.is_some_and(|at| self.head(at).role == MessageRole::ToolResult)
            && earlier.is_some_and(|at| self.head(at).calls > 0)
    }

    fn head(&self, at: usize) -> &Head {
        &self.entries[at].head
    }

    /// Whether the entry sends anything to the model.
    fn is_sent(&self, at: usize) -> bool {
        self.token_counts.get(at).is_some_and(Option::is_some)
    }

    /// The entries read so far that are part of the conversation.
    pub(super) fn read_conversation(&self) -> impl Iterator<Item = &ContextEntry> {
        (0..self.token_counts.len()).filter(|at| self.is_summarized(*at)).map(|at| &self.entries[at])
    }

    /// Whether the entry is part of the text that is summarized.
    fn is_summarized(&self, at: usize) -> bool {
        self.is_sent(at) && is_conversation(self.head(at))
    }

    /// The first entry that a cut at this index keeps. Entries right before it that send nothing to the model are kept too.
    pub(super) fn first_kept(&self, tree: &SessionTree, at: usize) -> Seq {
        let mut kept = self.entries[at].item.seq;
        let mut older =
            self.entries[at + 1..].iter().zip(self.token_counts.get(at + 1..).unwrap_or_default()).peekable();
        while let Some(parent) = tree.head(kept).parent {
            let head = tree.head(parent);
            let is_kept = match older.next_if(|(context_entry, _)| context_entry.item.seq == parent) {
                Some((_, weight)) => weight.is_none(),
                None => head.kind != EntryKind::Compaction && head.role != MessageRole::System,
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
pub(crate) fn is_conversation(head: &Head) -> bool {
    head.kind != EntryKind::Message
        || !matches!(head.role, MessageRole::System | MessageRole::Unknown | MessageRole::None)
}
