//! Which entries a tree view shows.

use std::borrow::Cow;

use memchr::memchr2_iter;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry::{EntryKind, EntryReason, MessageRole, flag};
use crate::fold::{Place, SessionTree};
use crate::heads::{Head, Seq};

/// The five filters of the tree view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum OutlineFilter {
    /// Everything except bookkeeping entries.
    #[default]
    Default,
    /// Like `Default`, without tool results.
    NoTools,
    UserOnly,
    LabeledOnly,
    All,
}

impl OutlineFilter {
    pub const ALL: [OutlineFilter; 5] = [
        OutlineFilter::Default,
        OutlineFilter::NoTools,
        OutlineFilter::UserOnly,
        OutlineFilter::LabeledOnly,
        OutlineFilter::All,
    ];

    pub fn name(self) -> &'static str {
        match self {
            OutlineFilter::Default => "default",
            OutlineFilter::NoTools => "no-tools",
            OutlineFilter::UserOnly => "user-only",
            OutlineFilter::LabeledOnly => "labeled-only",
            OutlineFilter::All => "all",
        }
    }

    pub fn from_name(name: &str) -> Option<OutlineFilter> {
        OutlineFilter::ALL.into_iter().find(|filter| filter.name() == name)
    }

    pub fn next(self) -> OutlineFilter {
        OutlineFilter::ALL[(self as usize + 1) % OutlineFilter::ALL.len()]
    }

    pub fn previous(self) -> OutlineFilter {
        OutlineFilter::ALL[(self as usize + OutlineFilter::ALL.len() - 1) % OutlineFilter::ALL.len()]
    }

    /// The filter after a key toggles `wanted`: that filter, or the default if it is already active.
    pub fn toggled(self, wanted: OutlineFilter) -> OutlineFilter {
        if self == wanted { OutlineFilter::Default } else { wanted }
    }
}

/// Decides whether an entry is shown, ignoring folds and deletions above it.
pub(super) struct EntryFilter<'a, 't> {
    tree: &'a SessionTree,
    leaf: Place,
    /// The nearest entry at or above the leaf that is part of the conversation.
    anchor: Place,
    filter: OutlineFilter,
    tokens: Vec<String>,
    texts: &'a dyn Fn(Seq) -> Cow<'t, str>,
}

impl<'a, 't> EntryFilter<'a, 't> {
    pub(super) fn new(
        tree: &'a SessionTree,
        leaf: Place,
        filter: OutlineFilter,
        search: &str,
        texts: &'a dyn Fn(Seq) -> Cow<'t, str>,
    ) -> Self {
        let tokens = search.split_whitespace().map(str::to_lowercase).collect();
        EntryFilter { tree, leaf, anchor: tree.heads().anchor(leaf), filter, tokens, texts }
    }

    pub(super) fn shows(&self, seq: Seq) -> bool {
        let head = self.tree.head(seq);
        head.kind != EntryKind::Usage
            && !self.has_only_calls(seq, head)
            && self.passes_filter(seq, head)
            && self.matches_search(seq)
    }

    /// A reply that only calls tools is not shown, because its results are. At the current position it is shown.
    fn has_only_calls(&self, seq: Seq, head: &Head) -> bool {
        head.role == MessageRole::Assistant
            && !head.has_flag(flag::HAS_TEXT)
            && matches!(head.reason, EntryReason::None | EntryReason::Stop | EntryReason::ToolUse)
            && self.leaf != Some(seq)
            && self.anchor != Some(seq)
    }

    fn passes_filter(&self, seq: Seq, head: &Head) -> bool {
        let drawn = !(head.has_flag(flag::NOT_SHOWN) && head.kind == EntryKind::CustomMessage);
        match self.filter {
            OutlineFilter::All => true,
            OutlineFilter::Default => drawn && !is_bookkeeping(head),
            OutlineFilter::NoTools => drawn && !is_bookkeeping(head) && head.role != MessageRole::ToolResult,
            OutlineFilter::UserOnly => head.role == MessageRole::User,
            OutlineFilter::LabeledOnly => drawn && !is_own_mark(head.kind) && self.tree.label(seq).is_some(),
        }
    }

    fn matches_search(&self, seq: Seq) -> bool {
        if self.tokens.is_empty() {
            return true;
        }
        let label = self.tree.label(seq).map_or("", |label| &label.text);
        let text = (self.texts)(seq);
        self.tokens
            .iter()
            .all(|token| contains_ignore_case(&text, token) || contains_ignore_case(label, token))
    }
}

/// Whether a text contains a lowercase token, ignoring case. Runs on all texts at every keystroke, so ASCII text is not
/// copied.
fn contains_ignore_case(text: &str, token: &str) -> bool {
    let (bytes, wanted) = (text.as_bytes(), token.as_bytes());
    let [first, ..] = wanted else { return true };
    if !text.is_ascii() || !token.is_ascii() {
        return text.to_lowercase().contains(token);
    }
    memchr2_iter(*first, first.to_ascii_uppercase(), bytes)
        .any(|at| bytes.get(at..at + wanted.len()).is_some_and(|found| found.eq_ignore_ascii_case(wanted)))
}

/// Changes of settings, system prompts, and metadata of the session.
fn is_bookkeeping(head: &Head) -> bool {
    matches!(
        head.kind,
        EntryKind::Label
            | EntryKind::ContextEdit
            | EntryKind::Custom
            | EntryKind::ModelChange
            | EntryKind::ThinkingLevelChange
            | EntryKind::SessionInfo
    ) || head.role == MessageRole::System
        || is_own_mark(head.kind)
}

fn is_own_mark(kind: EntryKind) -> bool {
    matches!(
        kind,
        EntryKind::Leaf
            | EntryKind::Config
            | EntryKind::DeleteBranch
            | EntryKind::RestoreBranch
            | EntryKind::EntryUpdate
    )
}

#[cfg(test)]
mod tests {
    use super::contains_ignore_case;

    #[test]
    fn search_ignores_case_in_any_script() {
        for (text, token) in
            [("Fix the Parser", "parser"), ("ÄRGER", "ärger"), ("读取文件", "文件"), ("aab", "ab")]
        {
            assert!(contains_ignore_case(text, token), "{text} {token}");
        }
        for (text, token) in [("Fix", "fixed"), ("", "a"), ("aaa", "ab"), ("文", "件")] {
            assert!(!contains_ignore_case(text, token), "{text} {token}");
        }
    }
}
