//! Which entries a tree view shows.

use std::borrow::Cow;

use memchr::memchr2_iter;

use crate::entry::{Kind, Role, Why, flag};
use crate::fold::{Place, SessionTree};
use crate::heads::{Head, Seq};

/// The five filters of the tree view.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Filter {
    /// Everything except bookkeeping entries.
    #[default]
    Default,
    /// Like `Default`, without tool results.
    NoTools,
    UserOnly,
    LabeledOnly,
    All,
}

impl Filter {
    pub const ALL: [Filter; 5] =
        [Filter::Default, Filter::NoTools, Filter::UserOnly, Filter::LabeledOnly, Filter::All];

    pub fn name(self) -> &'static str {
        match self {
            Filter::Default => "default",
            Filter::NoTools => "no-tools",
            Filter::UserOnly => "user-only",
            Filter::LabeledOnly => "labeled-only",
            Filter::All => "all",
        }
    }

    pub fn named(name: &str) -> Option<Filter> {
        Filter::ALL.into_iter().find(|filter| filter.name() == name)
    }

    pub fn next(self) -> Filter {
        Filter::ALL[(self as usize + 1) % Filter::ALL.len()]
    }

    pub fn previous(self) -> Filter {
        Filter::ALL[(self as usize + Filter::ALL.len() - 1) % Filter::ALL.len()]
    }

    /// The filter after a key toggles `wanted`: that filter, or the default if it is already active.
    pub fn toggled(self, wanted: Filter) -> Filter {
        if self == wanted { Filter::Default } else { wanted }
    }
}

/// Decides whether an entry is shown, ignoring folds and deletions above it.
pub(super) struct Sieve<'a, 't> {
    tree: &'a SessionTree,
    leaf: Place,
    /// The nearest entry at or above the leaf that is part of the conversation.
    anchor: Place,
    filter: Filter,
    tokens: Vec<String>,
    texts: &'a dyn Fn(Seq) -> Cow<'t, str>,
}

impl<'a, 't> Sieve<'a, 't> {
    pub(super) fn new(
        tree: &'a SessionTree,
        leaf: Place,
        filter: Filter,
        search: &str,
        texts: &'a dyn Fn(Seq) -> Cow<'t, str>,
    ) -> Self {
        let tokens = search.split_whitespace().map(str::to_lowercase).collect();
        Sieve { tree, leaf, anchor: tree.heads().anchor(leaf), filter, tokens, texts }
    }

    pub(super) fn shows(&self, seq: Seq) -> bool {
        let head = self.tree.head(seq);
        head.kind != Kind::Usage && !self.is_silent(seq, head) && self.passes(seq, head) && self.is_found(seq)
    }

    /// A reply that only calls tools is not shown, because its results are. At the current position it is shown.
    fn is_silent(&self, seq: Seq, head: &Head) -> bool {
        head.role == Role::Assistant
            && !head.has(flag::HAS_TEXT)
            && matches!(head.why, Why::None | Why::Stop | Why::ToolUse)
            && self.leaf != Some(seq)
            && self.anchor != Some(seq)
    }

    fn passes(&self, seq: Seq, head: &Head) -> bool {
        let drawn = !(head.has(flag::NOT_SHOWN) && head.kind == Kind::CustomMessage);
        match self.filter {
            Filter::All => true,
            Filter::Default => drawn && !is_bookkeeping(head),
            Filter::NoTools => drawn && !is_bookkeeping(head) && head.role != Role::ToolResult,
            Filter::UserOnly => head.role == Role::User,
            Filter::LabeledOnly => drawn && !is_own_mark(head.kind) && self.tree.label(seq).is_some(),
        }
    }

    fn is_found(&self, seq: Seq) -> bool {
        if self.tokens.is_empty() {
            return true;
        }
        let label = self.tree.label(seq).map_or("", |label| &label.text);
        let text = (self.texts)(seq);
        self.tokens.iter().all(|token| contains(&text, token) || contains(label, token))
    }
}

/// Whether a text contains a lowercase token, ignoring case. Runs on all texts at every keystroke, so ASCII text is not
/// copied.
fn contains(text: &str, token: &str) -> bool {
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
        Kind::Label
            | Kind::ContextEdit
            | Kind::Custom
            | Kind::ModelChange
            | Kind::ThinkingLevelChange
            | Kind::SessionInfo
    ) || head.role == Role::System
        || is_own_mark(head.kind)
}

fn is_own_mark(kind: Kind) -> bool {
    matches!(kind, Kind::Leaf | Kind::Config | Kind::DeleteBranch | Kind::RestoreBranch | Kind::EntryUpdate)
}

#[cfg(test)]
mod tests {
    use super::contains;

    #[test]
    fn search_ignores_case_in_any_script() {
        for (text, token) in
            [("Fix the Parser", "parser"), ("ÄRGER", "ärger"), ("读取文件", "文件"), ("aab", "ab")]
        {
            assert!(contains(text, token), "{text} {token}");
        }
        for (text, token) in [("Fix", "fixed"), ("", "a"), ("aaa", "ab"), ("文", "件")] {
            assert!(!contains(text, token), "{text} {token}");
        }
    }
}
