//! Draws diffs.

use crate::markdown::highlight;
use crate::text::{Line, hard_wrap, sanitize};
use crate::theme::ColorRole;

pub(crate) fn diff_lines(diff: &str, room: usize) -> Vec<Line> {
    highlight(sanitize(diff).trim_end(), "diff").iter().flat_map(|line| hard_wrap(line, room)).collect()
}

/// A line of a diff, colored by its first character.
pub(crate) fn diff_line(line: &str) -> Line {
    let role = match line.as_bytes().first() {
        Some(b'+') => ColorRole::Added,
        Some(b'-') => ColorRole::Removed,
        Some(b'@') => ColorRole::Accent,
        _ => ColorRole::Dim,
    };
    Line::styled(role, line)
}
