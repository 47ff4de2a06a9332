//! Draws a comparison as text in two columns, or one below the other if the width is too small.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::{Comparison, ComparisonSide};
use crate::projection::usage::{format_cost, format_tokens};

/// The minimum width of a column.
const MIN_COLUMN_WIDTH: usize = 24;

const SEPARATOR: &str = " │ ";

impl Comparison {
    /// The lines of a drawing, none wider than `width` columns.
    pub fn draw(&self, width: usize) -> Vec<String> {
        let column = width.saturating_sub(SEPARATOR.width()) / 2;
        let (left, right) = (self.left.rows(), self.right.rows());
        let mut drawn = vec![match &self.common_id {
            Some(id) => format!("Common ancestor: {id}"),
            None => "Common ancestor: the start of the session".to_owned(),
        }];
        if column < MIN_COLUMN_WIDTH {
            drawn.extend(left.concat());
            drawn.push(String::new());
            drawn.extend(right.concat());
        } else {
            for (left, right) in left.iter().zip(&right) {
                drawn.extend(side_by_side(left, right, column));
            }
        }
        if !self.modified_by_both.is_empty() {
            drawn.push(String::new());
            drawn.push(format!("Changed in both: {}", self.modified_by_both.join(", ")));
        }
        drawn.iter().map(|line| truncate_to_width(line, width)).collect()
    }
}

impl ComparisonSide {
    /// The parts of a side. Each part starts on the same line as that of the other side.
    fn rows(&self) -> [Vec<String>; 3] {
        let totals = format!(
            "{}: {}, {} tokens, {}",
            self.tip_id.as_deref().unwrap_or("root"),
            match self.messages {
                1 => "1 message".to_owned(),
                messages => format!("{messages} messages"),
            },
            format_tokens(self.usage.total_tokens),
            format_cost(self.usage.cost)
        );
        let head = vec![self.title(), totals, String::new()];
        let mut messages: Vec<String> = self.said.iter().map(|message| message.text.clone()).collect();
        if self.left_out > 0 {
            messages.insert(1, format!("… {} more …", self.left_out));
        }
        [head, messages, self.files()]
    }

    fn files(&self) -> Vec<String> {
        let mut rows = Vec::new();
        for (title, paths) in [("changed:", &self.modified_files), ("read:", &self.read_files)] {
            if !paths.is_empty() {
                rows.extend([String::new(), title.to_owned()]);
                rows.extend(paths.iter().map(|path| format!("  {path}")));
            }
        }
        if self.files_left_out > 0 {
            rows.push(format!("  … {} more", self.files_left_out));
        }
        rows
    }
}

fn side_by_side(left: &[String], right: &[String], column: usize) -> Vec<String> {
    let row = |at: usize| {
        let cell = |side: &[String]| truncate_to_width(side.get(at).map_or("", String::as_str), column);
        let left = cell(left);
        let gap = " ".repeat(column.saturating_sub(left.width()));
        format!("{left}{gap}{SEPARATOR}{}", cell(right)).trim_end().to_owned()
    };
    (0..left.len().max(right.len())).map(row).collect()
}

/// Truncates a text to a number of columns.
fn truncate_to_width(text: &str, columns: usize) -> String {
    if text.width() <= columns {
        return text.to_owned();
    }
    let mut used = 0;
    let kept: String = text
        .chars()
        .take_while(|ch| {
            used += ch.width().unwrap_or(0);
            used < columns
        })
        .collect();
    if columns == 0 { kept } else { kept + "…" }
}
