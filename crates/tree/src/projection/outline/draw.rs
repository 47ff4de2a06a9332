//! Draws rows as text.

use std::fmt;

use super::{Connector, Outline};
use crate::projection::preview::one_line;

/// The columns per level.
const LEVEL_WIDTH: usize = 3;

/// The maximum number of drawn levels. Deeper rows show only their nearest levels, so that a hostile tree is cheap to draw
/// and a deep one stays readable.
const MAX_LEVELS: usize = 16;

/// The style of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Glyphs {
    #[default]
    Plain,
    /// Mark the rows that can be folded.
    Folding,
}

/// A drawn row, in parts that can be colored separately.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowParts<'a> {
    /// Lines and connector.
    pub prefix: String,
    /// Set for a folded row without a connector.
    pub fold: &'static str,
    /// Set for a row on the path to the leaf. Not part of the plain text.
    pub path: &'static str,
    pub label: String,
    pub text: &'a str,
    pub active: &'static str,
}

impl fmt::Display for RowParts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RowParts { prefix, fold, path: _, label, text, active } = self;
        write!(f, "{prefix}{fold}{label}{text}{active}")
    }
}

impl Outline {
    /// The parts of a row. `text` is the entry's preview.
    pub fn row_parts<'t>(&self, at: usize, text: &'t str, glyphs: Glyphs) -> RowParts<'t> {
        self.row_parts_from(0, at, text, glyphs)
    }

    /// The parts of a row without its first levels. Rows that are drawn together leave out the same levels, so that their
    /// lines meet.
    pub fn row_parts_from<'t>(
        &self,
        first_level: usize,
        at: usize,
        text: &'t str,
        glyphs: Glyphs,
    ) -> RowParts<'t> {
        let row = &self.rows[at];
        let label = self.labels.get(&at).map(|label| one_line(label, 80));
        RowParts {
            prefix: self.prefix(first_level, at, glyphs),
            fold: if row.folded && row.connector() == Connector::None { "⊞ " } else { "" },
            path: if row.on_path { "• " } else { "" },
            label: label.map_or_else(String::new, |label| format!("[{label}] ")),
            text,
            active: if row.is_leaf { "  ← active" } else { "" },
        }
    }

    /// Draws a row as plain text.
    pub fn draw(&self, at: usize, text: &str) -> String {
        self.row_parts(at, text, Glyphs::Plain).to_string()
    }

    fn prefix(&self, first_level: usize, at: usize, glyphs: Glyphs) -> String {
        let row = &self.rows[at];
        let level = row.level() as usize;
        let skipped = level.saturating_sub(MAX_LEVELS).max(first_level);
        let mut columns = vec![' '; level.saturating_sub(skipped) * LEVEL_WIDTH];
        let mut put = |level: u32, offset: usize, glyph: char| {
            if let Some(column) = (level as usize).checked_sub(skipped + 1) {
                columns[column * LEVEL_WIDTH + offset] = glyph;
            }
        };
        if row.connector() != Connector::None {
            put(row.level(), 0, if row.connector() == Connector::Tee { '├' } else { '└' });
            put(row.level(), 1, self.stroke(at, glyphs));
        }
        let mut next = row.gutter();
        while let Some(above) = next.map(|above| &self.rows[above]) {
            if above.level() as usize <= skipped {
                break;
            }
            if above.connector() == Connector::Tee {
                put(above.level(), 0, '│');
            }
            next = above.gutter();
        }
        // Rows that leave out more levels than the others say so.
        if skipped > first_level {
            columns[0] = '⋯';
        }
        columns.into_iter().collect()
    }

    fn stroke(&self, at: usize, glyphs: Glyphs) -> char {
        let row = &self.rows[at];
        match glyphs {
            _ if row.folded => '⊞',
            Glyphs::Folding if row.is_foldable() => '⊟',
            _ => '─',
        }
    }
}
