//! Draws diffs: line numbers, a background for changed lines, a stronger one for changed words. On a wide terminal the old and
//! the new text are side by side.

mod hunk;
mod words;

use crate::text::{Line, Style, hard_wrap, sanitize};
use crate::theme::ColorRole;
use hunk::{DiffRow, RowKind, parse_rows};
use words::changed_words;

/// From this width on, the old and the new text are side by side.
const MIN_SIDE_BY_SIDE_COLUMNS: usize = 110;
/// Marks the rows of a wrapped line.
const CONTINUED: &str = "↳ ";

/// The rows of a diff for this many columns.
pub(crate) fn diff_lines(diff: &str, columns: usize) -> Vec<Line> {
    let diff = sanitize(diff);
    let rows = parse_rows(diff.trim_end_matches('\n'));
    match rows.iter().any(|row| row.kind == RowKind::Removed) && columns >= MIN_SIDE_BY_SIDE_COLUMNS {
        true => side_by_side(&rows, columns),
        false => draw_rows(&rows).iter().flat_map(|line| wrap_row(line, columns)).collect(),
    }
}

/// The rows of a diff, one per line of it, not wrapped.
pub(crate) fn diff_rows(diff: &str) -> Vec<Line> {
    draw_rows(&parse_rows(diff))
}

/// A line of a diff without numbers, colored by its first character.
pub(crate) fn diff_line(line: &str) -> Line {
    let role = match line.as_bytes().first() {
        Some(b'+') => ColorRole::Added,
        Some(b'-') => ColorRole::Removed,
        Some(b'@') => ColorRole::Accent,
        _ => ColorRole::Dim,
    };
    Line::styled(role, line)
}

fn draw_rows(rows: &[DiffRow<'_>]) -> Vec<Line> {
    let digits = number_width(rows);
    let words = changed_words(rows);
    rows.iter().zip(words).map(|(row, words)| draw_row(row, digits, &words)).collect()
}

fn number_width(rows: &[DiffRow<'_>]) -> usize {
    rows.iter().filter_map(|row| row.number).max().map_or(0, |most| most.to_string().len())
}

/// A row: its number, its sign and its text. `words` are the parts of the text with whether they changed.
fn draw_row(row: &DiffRow<'_>, digits: usize, words: &[(bool, &str)]) -> Line {
    let number = row.number.map(|number| number.to_string()).unwrap_or_default();
    let line = Line::styled(ColorRole::Dim, &format!("{number:>digits$} "));
    let (sign, role, background, word) = match row.kind {
        RowKind::Added => ("+", ColorRole::Added, ColorRole::AddedBg, ColorRole::AddedWordBg),
        RowKind::Removed => ("-", ColorRole::Removed, ColorRole::RemovedBg, ColorRole::RemovedWordBg),
        RowKind::Context => return line.with(ColorRole::Text, &format!("  {}", row.text)),
        RowKind::Note => return Line::styled(ColorRole::Dim, row.text),
        RowKind::Gap => return Line::styled(ColorRole::Border, &format!("{:>digits$} ", "⋮")),
    };
    let mut line = line.with(Style::from(role).bold(), &format!("{sign} "));
    for (is_changed, text) in words {
        let style = Style { background: is_changed.then_some(word), ..role.into() };
        line.push(style, text);
    }
    line.filled(background)
}

/// Wraps a row; the rest of its text is below the text.
fn wrap_row(line: &Line, columns: usize) -> Vec<Line> {
    let mut rows = hard_wrap(line, columns.max(8)).into_iter();
    let first = rows.next().unwrap_or_default();
    let rest = Line { fill: first.fill, spans: rows.flat_map(|row| row.spans).collect() };
    if rest.is_empty() {
        return vec![first];
    }
    let more = hard_wrap(&rest, columns.saturating_sub(2).max(8));
    std::iter::once(first).chain(more.into_iter().map(|row| row.prepend(ColorRole::Dim, CONTINUED))).collect()
}

/// The old text on the left, the new text on the right. Rows that replace each other stand side by side.
fn side_by_side(rows: &[DiffRow<'_>], columns: usize) -> Vec<Line> {
    let half = (columns - 3) / 2;
    let drawn = draw_rows(rows);
    let side = |at: usize| wrap_row(&drawn[at], half);
    let mut lines = Vec::new();
    let mut at = 0;
    while at < rows.len() {
        let count =
            |from: usize, kind: RowKind| rows[from..].iter().take_while(|row| row.kind == kind).count();
        match rows[at].kind {
            RowKind::Gap | RowKind::Note => {
                lines.push(drawn[at].clone());
                at += 1;
            }
            RowKind::Context => {
                let old = DiffRow { number: rows[at].old_number, ..rows[at] };
                let left = wrap_row(&draw_row(&old, number_width(rows), &[]), half);
                lines.extend(join_sides(&left, &side(at), half));
                at += 1;
            }
            RowKind::Removed | RowKind::Added => {
                let removed = count(at, RowKind::Removed);
                let added = count(at + removed, RowKind::Added);
                for pair in 0..removed.max(added) {
                    let left = if pair < removed { side(at + pair) } else { Vec::new() };
                    let right = if pair < added { side(at + removed + pair) } else { Vec::new() };
                    lines.extend(join_sides(&left, &right, half));
                }
                at += removed + added;
            }
        }
    }
    lines
}

fn join_sides(left: &[Line], right: &[Line], half: usize) -> Vec<Line> {
    let row = |at: usize| {
        let mut line = left.get(at).cloned().unwrap_or_default();
        let padding = " ".repeat(half.saturating_sub(line.width()));
        let background = line.fill.take();
        line.push(Style { background, ..Style::default() }, &padding);
        line.push(ColorRole::Border, " │ ");
        if let Some(right) = right.get(at) {
            line.spans.extend(right.spans.iter().cloned());
            let padding = " ".repeat(half.saturating_sub(right.width()));
            line.push(Style { background: right.fill, ..Style::default() }, &padding);
        }
        line
    };
    (0..left.len().max(right.len())).map(row).collect()
}

#[cfg(test)]
mod tests;
