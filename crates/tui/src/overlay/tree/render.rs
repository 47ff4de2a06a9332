//! Renders the tree.

use std::borrow::Cow;

use osier_protocol::outline::{Glyphs, OutlineFilter, RowParts};
use osier_protocol::{MessageRole, Seq, without_markdown};
use unicode_segmentation::UnicodeSegmentation;

use super::TreeView;
use crate::clock::LocalClock;
use crate::overlay::OverlayArea;
use crate::screen::Frame;
use crate::text::{Line, Style, join_fitting, width, wrap};
use crate::theme::ColorRole;

/// The rows for title, search and keys.
const FIXED_ROWS: usize = 3;
/// On a terminal with more rows, the conversation above the tree stays visible.
const FULL_HEIGHT_ROWS: usize = 30;
/// The columns of a level.
const LEVEL_COLUMNS: usize = 3;

/// The rows of the list.
pub(super) fn list_height(area: OverlayArea) -> usize {
    let panel =
        if area.rows <= FULL_HEIGHT_ROWS { area.rows } else { (area.rows * 2 / 3).max(FULL_HEIGHT_ROWS) };
    panel.saturating_sub(FIXED_ROWS + preview_height(area)).max(1)
}

fn preview_height(area: OverlayArea) -> usize {
    match area.rows {
        ..16 => 0,
        16..40 => 2,
        _ => 4,
    }
}

impl TreeView {
    pub(super) fn draw(&self, area: OverlayArea) -> Frame {
        let height = list_height(area);
        let mut lines = vec![self.title_line(area)];
        let mut cursor = (lines.len(), 2 + width(&self.options.search));
        lines.push(self.search_line());
        let count = self.outline.rows.len();
        let from = (self.selected_row + 1).saturating_sub(height / 2 + 1).min(count.saturating_sub(height));
        let shown = from..(from + height).min(count);
        let first_level = self.first_level(shown.clone(), area);
        for at in shown {
            let (line, name) = self.draw_row(at, first_level, area);
            if let (true, Some(label_edit)) = (at == self.selected_row, &self.label_edit) {
                cursor = (lines.len(), name + label_edit.cursor_column());
            }
            lines.push(line);
        }
        if count == 0 {
            let is_reading = self.snapshot.is_partial && !self.options.search.is_empty();
            let notice = match is_reading {
                true if self.reading_failed => "  cannot search: the session cannot be read; try again later",
                true => "  reading the session…",
                false => "  no match; esc clears the search, ctrl+d resets the filter",
            };
            lines.push(Line::styled(ColorRole::Dim, notice));
        }
        lines.extend(self.preview_lines(area));
        lines.push(self.key_line(area));
        let lines = lines.into_iter().map(|line| line.truncate(area.columns)).collect();
        Frame { lines, cursor: Some((cursor.0, cursor.1.min(area.columns.saturating_sub(1)))) }
    }

    /// The levels that all shown rows leave out, so that the lines of deep branches fit and meet.
    fn first_level(&self, shown: std::ops::Range<usize>, area: OverlayArea) -> usize {
        let level = |at: usize| self.outline.rows[at].level() as usize;
        let deepest = shown.map(level).max().unwrap_or(0);
        let most = (area.columns / 2 / LEVEL_COLUMNS).max(1);
        let selected = self.outline.rows.get(self.selected_row).map_or(0, |row| row.level() as usize);
        deepest.saturating_sub(most).min(selected.saturating_sub(1))
    }

    fn key_line(&self, area: OverlayArea) -> Line {
        let label_edit = ["enter save label", "esc cancel", "leave empty to remove"];
        let help = match &self.label_edit {
            Some(_) => label_edit.map(str::to_owned).to_vec(),
            None => self.keys.help_parts(),
        };
        Line::styled(ColorRole::Dim, &join_fitting(help.iter().map(String::as_str), area.columns, 1).concat())
    }

    /// The title with the position in the list, and what is filtered.
    fn title_line(&self, area: OverlayArea) -> Line {
        let count = self.outline.rows.len();
        let at = if count == 0 { 0 } else { self.selected_row + 1 };
        let mut line = Line::styled(Style::from(ColorRole::Accent).bold(), "Session tree")
            .with(ColorRole::Dim, &format!("  {at}/{count}"));
        if self.options.filter != OutlineFilter::Default {
            line.push(ColorRole::Accent, &format!(" [{}]", self.options.filter.name()));
        }
        if self.options.show_deleted {
            line.push(ColorRole::Warn, " [with deleted]");
        }
        if self.marked.is_some() {
            line.push(ColorRole::Warn, "  mark a second entry to compare");
        }
        line.truncate(area.columns)
    }

    fn search_line(&self) -> Line {
        let prompt = Line::styled(ColorRole::Accent, "/ ");
        match self.options.search.as_str() {
            "" if !self.is_searching => prompt.with(ColorRole::Dim, "type to search"),
            search => prompt.with(ColorRole::Text, search),
        }
    }

    /// A row, and the column where its label starts.
    pub(super) fn draw_row(&self, at: usize, first_level: usize, area: OverlayArea) -> (Line, usize) {
        let row = &self.outline.rows[at];
        let text = self.row_text(row.seq);
        let parts = self.outline.row_parts_from(first_level, at, &text, Glyphs::Folding);
        let (mut line, name) = self.row_prefix(at, &parts, area);
        let selected = at == self.selected_row;
        let role = match self.snapshot.tree.head(row.seq).role {
            _ if row.deleted && !selected => ColorRole::Dim,
            MessageRole::User => ColorRole::User,
            MessageRole::Assistant => ColorRole::Text,
            // The selected row is the brightest one.
            _ if selected => ColorRole::Text,
            _ => ColorRole::Dim,
        };
        // The marker of the current position is never truncated.
        let area = area.columns.saturating_sub(width(parts.active));
        let over = (line.width() + width(parts.text)).saturating_sub(area);
        let text = scroll_text(parts.text, self.scroll.min(over));
        line.push(Style { bold: selected, ..role.into() }, &text);
        let mut line = line.truncate(area);
        line.push(ColorRole::Active, parts.active);
        (if selected { line.filled(ColorRole::SelectedBg) } else { line }, name)
    }

    /// The text of a row; `…` if it is still being read.
    fn row_text(&self, seq: Seq) -> Cow<'_, str> {
        let text = self.preview(seq);
        if self.snapshot.is_partial && text.is_empty() { "…".into() } else { text }
    }

    fn preview(&self, seq: Seq) -> Cow<'_, str> {
        match self.snapshot.preview(seq) {
            Cow::Borrowed(text) => without_markdown(text),
            Cow::Owned(text) => without_markdown(&text).into_owned().into(),
        }
    }

    /// The part of a row before its text, and the column where its label starts.
    fn row_prefix(&self, at: usize, parts: &RowParts<'_>, area: OverlayArea) -> (Line, usize) {
        let (row, selected) = (&self.outline.rows[at], at == self.selected_row);
        let mut line = Line::styled(ColorRole::Accent, if selected { "› " } else { "  " });
        line.push(ColorRole::Border, &shorten_prefix(&parts.prefix, area.columns / 2));
        line.push(ColorRole::Border, parts.fold);
        line.push(ColorRole::Active, parts.path);
        if self.marked == Some(row.seq) {
            line.push(ColorRole::Warn, "✓ ");
        }
        if row.deleted {
            line.push(ColorRole::Bad, "✗ ");
        }
        let name = line.width() + 1;
        match self.label_edit.as_ref().filter(|_| selected) {
            Some(label_edit) => {
                line.push(Style::from(ColorRole::Label).bold(), &format!("[{}] ", label_edit.text()));
            }
            None => line.push(ColorRole::Label, &parts.label),
        }
        if self.show_label_times {
            line.push(ColorRole::Dim, &self.label_time(at, area.clock));
        }
        (line, name)
    }

    /// The number of columns of the selected row that do not fit.
    pub(super) fn overflow(&self, area: OverlayArea) -> usize {
        let Some(row) = self.outline.rows.get(self.selected_row) else { return 0 };
        let text = self.preview(row.seq);
        let parts = self.outline.row_parts(self.selected_row, &text, Glyphs::Folding);
        let before = self.row_prefix(self.selected_row, &parts, area).0.width();
        (before + width(parts.text) + width(parts.active)).saturating_sub(area.columns)
    }

    fn label_time(&self, at: usize, clock: LocalClock) -> String {
        let label = self.snapshot.tree.label(self.outline.rows[at].seq);
        let time = label.and_then(|label| self.snapshot.tree.head(label.set_by).time());
        time.map(|time| format!("{} ", clock.format_short(time))).unwrap_or_default()
    }

    /// A longer preview of the selected entry.
    fn preview_lines(&self, area: OverlayArea) -> Vec<Line> {
        let height = preview_height(area);
        let Some((seq, id)) = self.selected().filter(|_| height > 0) else { return Vec::new() };
        let time =
            self.snapshot.tree.head(seq).time().map(|time| area.clock.format_full(time)).unwrap_or_default();
        let text = self.preview(seq);
        let line = Line::styled(ColorRole::Dim, &format!("{id} {time}  ")).with(ColorRole::Text, &text);
        let mut lines = wrap(&line, area.columns.saturating_sub(1));
        lines.truncate(height);
        lines
    }
}

/// Drops the outermost branch lines of a deeply nested row.
fn shorten_prefix(prefix: &str, max_width: usize) -> String {
    let count = prefix.chars().count();
    if count <= max_width {
        return prefix.to_owned();
    }
    let kept: String = prefix.chars().skip(count - max_width + 1).collect();
    format!("⋯{kept}")
}

/// Replaces the first columns of a text with `…`.
fn scroll_text(text: &str, columns: usize) -> String {
    if columns == 0 {
        return text.to_owned();
    }
    let mut left = columns + 1;
    let rest = text.graphemes(true).skip_while(|piece| {
        let is_skipped = left > 0;
        left = left.saturating_sub(width(piece));
        is_skipped
    });
    std::iter::once("…").chain(rest).collect()
}
