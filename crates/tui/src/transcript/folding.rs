//! Folds long output: shows its start or its end, and the number of hidden lines.

use crate::text::Line;
use crate::theme::ColorRole;

/// Keeps the first `max_lines` lines.
pub(super) fn fold_end(mut lines: Vec<Line>, max_lines: usize, open: bool) -> Vec<Line> {
    // A single hidden line would take as much space as the notice about it.
    if !open && lines.len() > max_lines + 1 {
        let more = lines.len() - max_lines;
        lines.truncate(max_lines);
        lines.push(Line::styled(ColorRole::Dim, &format!("… {more} more lines")));
    }
    lines
}

/// Keeps the first `max_lines` lines, and names the key that shows the rest.
pub(super) fn fold_with_key(lines: Vec<Line>, max_lines: usize, open: bool) -> Vec<Line> {
    let all = lines.len();
    let mut lines = fold_end(lines, max_lines, open);
    if lines.len() < all
        && let Some(last) = lines.last_mut()
    {
        last.push(ColorRole::Dim, " (ctrl+o)");
    }
    lines
}

/// Keeps the last `max_lines` lines.
pub(super) fn fold_start(mut lines: Vec<Line>, max_lines: usize, open: bool) -> Vec<Line> {
    if !open && lines.len() > max_lines + 1 {
        let more = lines.len() - max_lines;
        lines.drain(..more);
        lines.insert(0, Line::styled(ColorRole::Dim, &format!("… {more} earlier lines")));
    }
    lines
}
