//! The tries of a prompt: a table, or on a narrow screen two lines for each try.

use osier_protocol::explore::{ExploreReport, TABLE_HEAD, TryStatus};
use osier_protocol::one_line;

use super::RenderOptions;
use crate::text::{Line, Style, width};
use crate::theme::ColorRole;

/// The longest prompt in the head, in characters.
const MAX_PROMPT: usize = 120;
/// The columns that last words need at least; without them, there is no table.
const MIN_WORDS_COLUMNS: usize = 24;

fn status_mark(status: TryStatus) -> (&'static str, ColorRole) {
    match status {
        TryStatus::Running => ("●", ColorRole::Accent),
        TryStatus::Completed => ("✓", ColorRole::Good),
        TryStatus::Failed => ("✗", ColorRole::Bad),
        TryStatus::Cancelled | TryStatus::Interrupted => ("■", ColorRole::Warn),
    }
}

/// The prompt, and below it the tries.
pub(crate) fn explore_lines(report: &ExploreReport, options: RenderOptions<'_>) -> Vec<Line> {
    let head = Line::styled(ColorRole::Accent, "● ")
        .with(Style::default().bold(), "explore")
        .with(ColorRole::Dim, &format!("  {}", one_line(&report.prompt, MAX_PROMPT)));
    let widths = column_widths(report);
    let last = widths.len() - 1;
    let before_words: usize = widths[..last].iter().map(|width| width + 2).sum::<usize>() + 4;
    let tries = match before_words + MIN_WORDS_COLUMNS <= options.width {
        true => table_lines(report, &widths, options),
        false => narrow_lines(report, options),
    };
    std::iter::once(head.truncate(options.width)).chain(tries).collect()
}

fn column_widths(report: &ExploreReport) -> [usize; TABLE_HEAD.len()] {
    let rows = report.rows();
    std::array::from_fn(|at| {
        let cells = rows.iter().map(|row| width(&row[at]));
        cells.chain([TABLE_HEAD[at].len()]).max().unwrap_or_default()
    })
}

fn pad(text: &str, columns: usize) -> String {
    format!("{text}{}  ", " ".repeat(columns.saturating_sub(width(text))))
}

fn table_lines(
    report: &ExploreReport,
    widths: &[usize; TABLE_HEAD.len()],
    options: RenderOptions<'_>,
) -> Vec<Line> {
    let names: String = TABLE_HEAD.iter().zip(widths).map(|(name, width)| pad(name, *width)).collect();
    let head = Line::styled(ColorRole::Dim, &format!("    {}", names.trim_end())).truncate(options.width);
    let row = |(row, one): (&[String; TABLE_HEAD.len()], &osier_protocol::explore::TryReport)| {
        let (mark, role) = status_mark(one.status);
        let mut line = Line::styled(role, &format!("  {mark} "));
        for (at, cell) in row.iter().enumerate() {
            let role = match at {
                0 => ColorRole::Text,
                1 => role,
                3 if one.tests_failed > 0 => ColorRole::Bad,
                7 => ColorRole::Text,
                _ => ColorRole::Dim,
            };
            line.push(role, &pad(cell, widths[at]));
        }
        line.truncate(options.width)
    };
    let rows = report.rows();
    std::iter::once(head).chain(rows.iter().zip(&report.tries).map(row)).collect()
}

/// Two lines for each try: its numbers, and its last words.
fn narrow_lines(report: &ExploreReport, options: RenderOptions<'_>) -> Vec<Line> {
    let mut lines = Vec::new();
    for (at, (row, one)) in report.rows().iter().zip(&report.tries).enumerate() {
        let is_last = at + 1 == report.tries.len();
        let (mark, role) = status_mark(one.status);
        let [number, status, files, tests, tokens, ..] = row;
        let files = if files == "1" { "1 file".to_owned() } else { format!("{files} files") };
        let tests = (tests != "-").then(|| format!("tests {tests}"));
        let mut parts: Vec<String> =
            [Some(files), tests, Some(format!("{tokens} tokens"))].into_iter().flatten().collect();
        let connector = if is_last { "  └─ " } else { "  ├─ " };
        let line = Line::styled(ColorRole::Border, connector)
            .with(role, mark)
            .with(Style::default().bold(), &format!(" {number}"))
            .with(role, &format!(" {status}"));
        while parts.len() > 1 && line.width() + 2 + width(&parts.join(" · ")) > options.width {
            parts.pop();
        }
        let numbers = format!("  {}", parts.join(" · "));
        lines.push(line.with(ColorRole::Dim, &numbers).truncate(options.width));
        let below = if is_last { "       " } else { "  │    " };
        let words = one_line(&row[7], MAX_PROMPT);
        if !words.trim().is_empty() {
            let words = Line::styled(ColorRole::Dim, &words).prepend(ColorRole::Border, below);
            lines.push(words.truncate(options.width));
        }
    }
    lines
}
