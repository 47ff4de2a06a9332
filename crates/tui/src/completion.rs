//! Completion of `/command` at the start and of `@file` anywhere. This module ranks the candidates; the editor inserts one.

use std::cmp::Reverse;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher};

use crate::text::{Line, Style};
use crate::theme::ColorRole;

/// The number of candidates shown at once.
const MAX_ROWS: usize = 8;

/// The open completion list.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Completion {
    /// Where the completed word starts.
    pub from: usize,
    pub items: Vec<CompletionItem>,
    pub selected: usize,
    /// The user moved the selection.
    pub moved: bool,
}

/// A candidate: the text to insert, and a short description.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CompletionItem {
    pub text: String,
    pub description: String,
    /// How often it was used.
    pub uses: usize,
    /// The whole text of the editor and the cursor, if an extension completes it.
    pub editor_text: Option<(String, usize)>,
}

impl Completion {
    /// The word at the cursor that can be completed: its start and its text.
    pub fn word_at_cursor(text: &str, cursor: usize) -> Option<(usize, &str)> {
        let before = &text[..cursor];
        if before.starts_with('/') && !before.contains(char::is_whitespace) {
            return Some((0, before));
        }
        let from = before
            .rfind(char::is_whitespace)
            .map_or(0, |at| at + before[at..].chars().next().map_or(1, char::len_utf8));
        before[from..].starts_with('@').then_some((from, &before[from..]))
    }

    /// Ranks the matching candidates: an exact match first, then prefix matches, then the others; within a group by use count
    /// and score. Equal candidates keep their order.
    pub fn new(
        from: usize,
        typed: &str,
        all: impl IntoIterator<Item = CompletionItem>,
    ) -> Option<Completion> {
        let wanted = typed.trim_start_matches(['/', '@']);
        let pattern = Pattern::parse(wanted, CaseMatching::Ignore, Normalization::Smart);
        let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
        let mut letters = Vec::new();
        let mut rank = |fit: &CompletionItem| {
            let word = fit.text.trim_start_matches(['/', '@']);
            let score = pattern.score(nucleo_matcher::Utf32Str::new(word, &mut letters), &mut matcher)?;
            let begins = !wanted.is_empty() && word.starts_with(wanted);
            let length = if typed.starts_with('/') { 0 } else { word.len() };
            Some((Reverse((begins && word == wanted, begins, fit.uses, score)), length))
        };
        let mut fits: Vec<_> = all.into_iter().filter_map(|fit| Some((rank(&fit)?, fit))).collect();
        fits.sort_by_key(|(rank, _)| *rank);
        let fits: Vec<CompletionItem> = fits.into_iter().map(|(_, fit)| fit).take(50).collect();
        (!fits.is_empty()).then_some(Completion { from, items: fits, selected: 0, moved: false })
    }

    pub fn selected_item(&self) -> Option<&CompletionItem> {
        self.items.get(self.selected)
    }

    pub fn move_selection(&mut self, down: bool) {
        self.moved = true;
        let count = self.items.len().max(1);
        self.selected = if down { (self.selected + 1) % count } else { (self.selected + count - 1) % count };
    }

    pub fn view(&self, columns: usize) -> Vec<Line> {
        let from = (self.selected + 1).saturating_sub(MAX_ROWS);
        let wide =
            self.items.iter().map(|fit| crate::text::width(&fit.text)).max().unwrap_or(0).min(columns / 2);
        let shown = self.items.iter().enumerate().skip(from).take(MAX_ROWS).map(|(at, fit)| {
            let pad = " ".repeat(wide.saturating_sub(crate::text::width(&fit.text)));
            let selected = at == self.selected;
            let line = Line::styled(ColorRole::Accent, if selected { "› " } else { "  " })
                .with(Style { bold: selected, ..ColorRole::Accent.into() }, &fit.text)
                .with(ColorRole::Dim, &format!("{pad}  {}", fit.description))
                .truncate(columns);
            if selected { line.filled(ColorRole::SelectedBg) } else { line }
        });
        shown.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_complete_at_the_start_and_files_anywhere() {
        assert_eq!(Completion::word_at_cursor("/tr", 3), Some((0, "/tr")));
        assert_eq!(Completion::word_at_cursor("/tree x", 7), None);
        assert_eq!(Completion::word_at_cursor("see @src/m", 10), Some((4, "@src/m")));
        assert_eq!(Completion::word_at_cursor("mail a@b", 8), None);
        assert_eq!(Completion::word_at_cursor("一 @文", "一 @文".len()), Some((4, "@文")));
    }

    #[test]
    fn the_best_match_comes_first() {
        let all = ["@src/main.rs", "@src/map.rs", "@README.md"]
            .map(|text| CompletionItem { text: text.into(), ..CompletionItem::default() });
        let found = Completion::new(0, "@main", all.clone()).unwrap();
        assert_eq!(found.selected_item().unwrap().text, "@src/main.rs");
        assert_eq!(found.items.len(), 1);
        assert_eq!(Completion::new(0, "@zzz", all), None);
    }

    #[test]
    fn commands_are_ordered_by_match_and_by_use() {
        let order = |typed: &str| {
            let all = [("help", 0), ("compact", 0), ("compare", 2), ("copy", 0), ("recompile", 9)].map(
                |(name, uses)| CompletionItem { text: format!("/{name}"), uses, ..CompletionItem::default() },
            );
            let found = Completion::new(0, typed, all).unwrap();
            found.items.iter().map(|fit| fit.text.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(order("/"), "/recompile /compare /help /compact /copy");
        assert_eq!(order("/co"), "/compare /compact /copy /recompile");
        assert_eq!(order("/copy"), "/copy");
    }
}
