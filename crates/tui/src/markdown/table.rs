//! Draws tables. If they do not fit, the widest columns shrink first.

use crate::text::{Line, wrap};
use crate::theme::ColorRole;

/// The minimum width of a column.
const MIN_COLUMN_WIDTH: usize = 4;
const COLUMN_SEPARATOR: &str = " │ ";

/// Rows of cells; the first row is the header.
#[derive(Debug, Default)]
pub(super) struct MarkdownTable {
    rows: Vec<Vec<Line>>,
    row: Vec<Line>,
}

impl MarkdownTable {
    pub(super) fn push_cell(&mut self, cell: Line) {
        self.row.push(cell);
    }

    pub(super) fn end_row(&mut self) {
        self.rows.push(std::mem::take(&mut self.row));
    }

    pub(super) fn draw(&self, max_width: usize) -> Vec<Line> {
        let widths = self.column_widths(max_width);
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            lines.extend(draw_row(row, &widths));
            if at == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
                lines.push(Line::styled(ColorRole::Border, &rules.join("─┼─")));
            }
        }
        lines
    }

    fn column_widths(&self, max_width: usize) -> Vec<usize> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let wanted = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(Line::width).max().unwrap_or(0).max(1)
        };
        let mut widths: Vec<usize> = (0..columns).map(wanted).collect();
        let available_width = max_width.saturating_sub(columns.saturating_sub(1) * 3);
        while widths.iter().sum::<usize>() > available_width {
            match widths.iter_mut().max() {
                Some(widest) if *widest > MIN_COLUMN_WIDTH => *widest -= 1,
                _ => break,
            }
        }
        widths
    }
}

fn draw_row(row: &[Line], widths: &[usize]) -> Vec<Line> {
    let cells: Vec<Vec<Line>> = widths
        .iter()
        .enumerate()
        .map(|(at, width)| row.get(at).map_or_else(Vec::new, |cell| wrap(cell, *width)))
        .collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |at: usize| {
        let mut line = Line::new();
        for (column, width) in widths.iter().enumerate() {
            let piece = cells[column].get(at).cloned().unwrap_or_default();
            let pad = " ".repeat(width.saturating_sub(piece.width()));
            line.spans.extend(piece.spans);
            if column + 1 < widths.len() {
                line.push(ColorRole::Text, &pad);
                line.push(ColorRole::Border, COLUMN_SEPARATOR);
            }
        }
        line
    };
    (0..height).map(line).collect()
}
