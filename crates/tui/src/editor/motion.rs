//! Cursor motions by grapheme, word and line.

use unicode_segmentation::UnicodeSegmentation;

use super::Editor;

impl Editor {
    pub(super) fn previous_grapheme(&self, at: usize) -> usize {
        self.text[..at].grapheme_indices(true).next_back().map_or(0, |(start, _)| start)
    }

    pub(super) fn next_grapheme(&self, at: usize) -> usize {
        self.text[at..].graphemes(true).next().map_or(at, |piece| at + piece.len())
    }

    /// The start of the last word before `at`.
    pub(super) fn word_start_before(&self, at: usize) -> usize {
        let words = self.text[..at].split_word_bound_indices();
        words.rev().find(|(_, word)| is_word(word)).map_or(0, |(start, _)| start)
    }

    /// The end of the first word at or after `at`.
    pub(super) fn word_end_after(&self, at: usize) -> usize {
        let mut words = self.text[at..].split_word_bound_indices();
        words.find(|(_, word)| is_word(word)).map_or(self.text.len(), |(start, word)| at + start + word.len())
    }

    pub(super) fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind('\n').map_or(0, |end| end + 1)
    }

    pub(super) fn line_end(&self, at: usize) -> usize {
        self.text[at..].find('\n').map_or(self.text.len(), |end| at + end)
    }
}

fn is_word(piece: &str) -> bool {
    piece.chars().any(char::is_alphanumeric)
}
