//! Draws diffs: line numbers, the colors of code, a background for changed lines, a stronger one for changed words. On a wide
//! terminal the old and the new text are side by side.

mod hunk;
mod words;

use osier_highlight::Language;

use crate::code::{CodeColors, code_lines};
use crate::text::{Line, Style, hard_wrap, sanitize};
use crate::theme::ColorRole;
use hunk::{DiffRow, RowKind, parse_rows};
use words::changed_words;

/// From this width on, the old and the new text are side by side.
const MIN_SIDE_BY_SIDE_COLUMNS: usize = 110;
/// Marks the rows of a wrapped line.
const CONTINUED: &str = "↳ ";

/// The code of the file that a diff changes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct DiffCode<'a> {
    language: &'a str,
    colors: Option<&'a CodeColors>,
}

impl<'a> DiffCode<'a> {
    pub(crate) fn of_file(path: &'a str, colors: Option<&'a CodeColors>) -> DiffCode<'a> {
        DiffCode { language: Language::name_of_file(path), colors }
    }
}

/// The rows of a diff for this many columns.
pub(crate) fn diff_lines(diff: &str, columns: usize, code: DiffCode<'_>) -> Vec<Line> {
    let diff = sanitize(diff);
    let diff = diff.trim_end_matches('\n');
    wide_diff_lines(diff, columns, code)
        .unwrap_or_else(|| diff_rows(diff, code).iter().flat_map(|line| wrap_row(line, columns)).collect())
}

/// The old and the new text side by side, if there are enough columns and old text.
pub(crate) fn wide_diff_lines(diff: &str, columns: usize, code: DiffCode<'_>) -> Option<Vec<Line>> {
    let rows = parse_rows(diff);
    let is_wide = columns >= MIN_SIDE_BY_SIDE_COLUMNS && rows.iter().any(|row| row.kind == RowKind::Removed);
    is_wide.then(|| side_by_side(&rows, columns, code))
}

/// The rows of a diff, one per line of it, not wrapped.
pub(crate) fn diff_rows(diff: &str, code: DiffCode<'_>) -> Vec<Line> {
    let rows = parse_rows(diff);
    draw_rows(&rows, &colored_texts(&rows, code))
}

/// The rows of a part of a diff, such as a model writes one: its line numbers are guesses, so none are shown.
pub(crate) fn unnumbered_diff_rows(diff: &str) -> Vec<Line> {
    let rows: Vec<DiffRow<'_>> = diff.split('\n').map(DiffRow::unnumbered).collect();
    draw_rows(&rows, &colored_texts(&rows, DiffCode::default()))
}

fn draw_rows(rows: &[DiffRow<'_>], texts: &[Line]) -> Vec<Line> {
    let digits = number_width(rows);
    let parts = changed_words(rows).into_iter().zip(texts);
    rows.iter().zip(parts).map(|(row, (words, text))| draw_row(row, digits, &words, text.clone())).collect()
}

fn number_width(rows: &[DiffRow<'_>]) -> usize {
    rows.iter().filter_map(|row| row.number).max().map_or(0, |most| most.to_string().len())
}

/// The text of each row as code. The old and the new text of a hunk are highlighted on their own: each is code, their mixture is not.
fn colored_texts(rows: &[DiffRow<'_>], code: DiffCode<'_>) -> Vec<Line> {
    let plain = |row: &DiffRow<'_>| match row.kind {
        RowKind::Added => Line::styled(ColorRole::Added, row.text),
        RowKind::Removed => Line::styled(ColorRole::Removed, row.text),
        _ => Line::styled(ColorRole::Text, row.text),
    };
    let mut texts: Vec<Line> = rows.iter().map(plain).collect();
    if code.colors.is_none() || Language::is_plain_text(code.language) {
        return texts;
    }
    let mut color = |side: &[usize]| {
        let text: Vec<&str> = side.iter().map(|at| rows[*at].text).collect();
        for (at, line) in side.iter().zip(code_lines(code.language, &text.join("\n"), code.colors)) {
            if line.plain() == texts[*at].plain() {
                texts[*at] = line;
            }
        }
    };
    let mut start = 0;
    for hunk in rows.split(|row| row.kind == RowKind::Gap) {
        let of = |kinds: [RowKind; 2]| -> Vec<usize> {
            (start..start + hunk.len()).filter(|at| kinds.contains(&rows[*at].kind)).collect()
        };
        color(&of([RowKind::Context, RowKind::Removed]));
        color(&of([RowKind::Context, RowKind::Added]));
        start += hunk.len() + 1;
    }
    texts
}

/// A row: its number, its sign and its text. `words` are the parts of the text with whether they changed.
fn draw_row(row: &DiffRow<'_>, digits: usize, words: &[(bool, &str)], text: Line) -> Line {
    let number = row.number.map(|number| number.to_string()).unwrap_or_default();
    let mut line = match digits {
        0 => Line::new(),
        _ => Line::styled(ColorRole::Dim, &format!("{number:>digits$} ")),
    };
    let (sign, role, background, word) = match row.kind {
        RowKind::Added => ("+", ColorRole::Added, ColorRole::AddedBg, ColorRole::AddedWordBg),
        RowKind::Removed => ("-", ColorRole::Removed, ColorRole::RemovedBg, ColorRole::RemovedWordBg),
        RowKind::Context => {
            line.push(ColorRole::Text, "  ");
            line.spans.extend(text.spans);
            return line;
        }
        RowKind::Note => return Line::styled(ColorRole::Dim, row.text),
        RowKind::Gap => return Line::styled(ColorRole::Border, &format!("{:>digits$} ", "⋮")),
    };
    line.push(Style::from(role).bold(), &format!("{sign} "));
    // A changed word has the color of the change, other words have the colors of code.
    let changed = Style { background: Some(word), ..role.into() };
    line.spans.extend(restyled(text, words, changed).spans);
    line.filled(background)
}

/// A line whose changed parts have another style. The parts make up its text.
fn restyled(text: Line, parts: &[(bool, &str)], changed: Style) -> Line {
    let mut line = Line::new();
    let mut spans = text.spans.into_iter();
    let mut span = spans.next();
    for (is_changed, part) in parts {
        let mut part = *part;
        while let Some(current) = span.as_mut().filter(|_| !part.is_empty()) {
            let length = part.len().min(current.text.len());
            let (Some((shown, rest)), Some(left)) =
                (part.split_at_checked(length), current.text.get(length..))
            else {
                break;
            };
            line.push(if *is_changed { changed } else { current.style }, shown);
            part = rest;
            current.text = left.to_owned();
            if current.text.is_empty() {
                span = spans.next();
            }
        }
    }
    line
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
fn side_by_side(rows: &[DiffRow<'_>], columns: usize, code: DiffCode<'_>) -> Vec<Line> {
    let half = (columns - 3) / 2;
    let texts = colored_texts(rows, code);
    let (drawn, digits) = (draw_rows(rows, &texts), number_width(rows));
    let side = |at: usize| wrap_row(&drawn[at], half);
    let mut lines = Vec::new();
    let mut at = 0;
    while at < rows.len() {
        let count =
            |from: usize, kind: RowKind| rows[from..].iter().take_while(|row| row.kind == kind).count();
        match rows[at].kind {
            RowKind::Gap => {
                lines.extend(join_sides(&side(at), &side(at), half));
                at += 1;
            }
            RowKind::Note => {
                lines.extend(wrap_row(&drawn[at], columns));
                at += 1;
            }
            RowKind::Context => {
                let old = DiffRow { number: rows[at].old_number, ..rows[at] };
                let left = wrap_row(&draw_row(&old, digits, &[], texts[at].clone()), half);
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
