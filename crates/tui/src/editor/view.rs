//! The rows of the editor, wrapped at the width, and the position of the cursor.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;

use super::Editor;
use crate::text::{Line, Style, width};
use crate::theme::ColorRole;

impl Editor {
    /// The rows of the text. A row that is wrapped ends where the next one starts.
    pub(super) fn rows(&self, max_width: usize) -> Vec<Range<usize>> {
        let max_width = max_width.max(2);
        let mut rows = Vec::new();
        let (mut start, mut used) = (0, 0);
        for (at, piece) in self.text.grapheme_indices(true) {
            if piece == "\n" {
                rows.push(start..at);
                (start, used) = (at + 1, 0);
                continue;
            }
            let wide = cell_width(piece);
            if used + wide > max_width {
                rows.push(start..at);
                (start, used) = (at, 0);
            }
            used += wide;
        }
        rows.push(start..self.text.len());
        rows
    }

    /// The row and column of the cursor.
    pub(super) fn cursor_position(&self, rows: &[Range<usize>]) -> (usize, usize) {
        let row = rows.iter().rposition(|row| row.start <= self.cursor).unwrap_or(0);
        let before = &self.text[rows[row].start..self.cursor.clamp(rows[row].start, rows[row].end)];
        (row, before.graphemes(true).map(cell_width).sum())
    }

    pub(super) fn offset_at_column(&self, row: &Range<usize>, column: usize) -> usize {
        let mut used = 0;
        for (at, piece) in self.text[row.clone()].grapheme_indices(true) {
            if used >= column {
                return row.start + at;
            }
            used += cell_width(piece);
        }
        row.end
    }

    /// At most `height` rows around the cursor, with a prompt marker, and the cursor position in them.
    pub fn view(&self, max_width: usize, height: usize, prompt: ColorRole) -> (Vec<Line>, (usize, usize)) {
        // Two columns for the prompt marker, one for the cursor after the last character.
        let rows = self.rows(max_width.saturating_sub(3));
        let (row, column) = self.cursor_position(&rows);
        let from = (row + 1).saturating_sub(height.max(1));
        let shown = rows.iter().enumerate().skip(from).take(height.max(1)).map(|(at, range)| {
            let mark = if at == 0 { "> " } else { "  " };
            let text = self.text[range.clone()].replace('\t', "    ");
            Line::styled(Style::from(prompt).bold(), mark).with(self.text_role(), &text)
        });
        (shown.collect(), (row - from, column + 2))
    }

    fn text_role(&self) -> ColorRole {
        match self.text.as_bytes().first() {
            Some(b'!') => ColorRole::Warn,
            Some(b'/') if !self.text.contains('\n') => ColorRole::Accent,
            _ => ColorRole::Text,
        }
    }
}

fn cell_width(piece: &str) -> usize {
    if piece == "\t" { 4 } else { width(piece) }
}
