//! The tries of a prompt as a table.

use osier_protocol::explore::{ExploreReport, TABLE_HEAD, TryStatus};
use osier_protocol::one_line;

use super::RenderOptions;
use crate::text::{Line, Style};
use crate::theme::ColorRole;

/// The longest prompt in the head, in characters.
const MAX_PROMPT: usize = 120;

fn status_role(status: TryStatus) -> ColorRole {
    match status {
        TryStatus::Running => ColorRole::Accent,
        TryStatus::Completed => ColorRole::Good,
        TryStatus::Failed => ColorRole::Bad,
        TryStatus::Cancelled | TryStatus::Interrupted => ColorRole::Warn,
    }
}

/// The prompt, and below it a row for each try.
pub(crate) fn explore_lines(report: &ExploreReport, options: RenderOptions<'_>) -> Vec<Line> {
    let head = Line::styled(ColorRole::Accent, "● ")
        .with(Style::default().bold(), "explore")
        .with(ColorRole::Dim, &format!("  {}", one_line(&report.prompt, MAX_PROMPT)));
    let rows = report.rows();
    let widest = |at: usize| {
        let cells = rows.iter().map(|row| row[at].chars().count());
        cells.chain([TABLE_HEAD[at].len()]).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..TABLE_HEAD.len()).map(widest).collect();
    let pad = |text: &str, at: usize| format!("{text:<width$}  ", width = widths[at]);
    let mut lines = vec![head.truncate(options.width)];
    let names: String = TABLE_HEAD.iter().enumerate().map(|(at, name)| pad(name, at)).collect();
    lines.push(Line::styled(ColorRole::Dim, &format!("  {}", names.trim_end())).truncate(options.width));
    for (row, one) in rows.iter().zip(&report.tries) {
        let mut line = Line::styled(ColorRole::Text, &format!("  {}", pad(&row[0], 0)))
            .with(status_role(one.status), &pad(&row[1], 1));
        for (at, cell) in row.iter().enumerate().skip(2) {
            let role = if at == 3 && one.tests_failed > 0 { ColorRole::Bad } else { ColorRole::Dim };
            line = line.with(role, &pad(cell, at));
        }
        lines.push(line.truncate(options.width));
    }
    lines
}
