//! Long things folded: their beginning or their end, and how much is left out.

use crate::text::Line;
use crate::theme::ColorRole;

/// The first `most` lines.
pub(super) fn fold(mut lines: Vec<Line>, most: usize, open: bool) -> Vec<Line> {
    // One line more takes no more room than saying so.
    if !open && lines.len() > most + 1 {
        let more = lines.len() - most;
        lines.truncate(most);
        lines.push(Line::styled(ColorRole::Dim, &format!("… {more} more lines")));
    }
    lines
}

/// The first `most` lines, and the key that shows the rest.
pub(super) fn fold_with_key(lines: Vec<Line>, most: usize, open: bool) -> Vec<Line> {
    let all = lines.len();
    let mut lines = fold(lines, most, open);
    if lines.len() < all
        && let Some(last) = lines.last_mut()
    {
        last.push(ColorRole::Dim, "; ctrl+o shows them");
    }
    lines
}

/// The last `most` lines.
pub(super) fn fold_above(mut lines: Vec<Line>, most: usize, open: bool) -> Vec<Line> {
    if !open && lines.len() > most + 1 {
        let more = lines.len() - most;
        lines.drain(..more);
        lines.insert(0, Line::styled(ColorRole::Dim, &format!("… {more} lines before")));
    }
    lines
}
