//! The tree as lines.

use osier_tree::projection::outline::{Filter, Glyphs};
use osier_tree::{Role as Speaker, time};

use super::Tree;
use crate::overlay::Room;
use crate::screen::Frame;
use crate::text::{Line, Style, width, wrap};
use crate::theme::Role;

/// Lines of the preview, if there is room for it.
const PREVIEW: usize = 2;
/// Title, help, search and foot.
const AROUND: usize = 4;

/// Half the terminal, and never less than can be used.
pub(super) fn list_height(room: Room) -> usize {
    let panel = (room.rows / 2).max(9).min(room.rows);
    panel.saturating_sub(AROUND + preview_height(room)).max(1)
}

fn preview_height(room: Room) -> usize {
    if room.rows >= 20 { PREVIEW } else { 0 }
}

impl Tree {
    pub(super) fn draw(&self, room: Room) -> Frame {
        let height = list_height(room);
        let mut lines = vec![self.title(), Line::of(Role::Dim, &self.keys.help()), self.search_line()];
        let count = self.outline.rows.len();
        let from = (self.at + 1).saturating_sub(height / 2 + 1).min(count.saturating_sub(height));
        for at in from..(from + height).min(count) {
            lines.push(self.row(at, room.columns));
        }
        if count == 0 {
            lines
                .push(Line::of(Role::Dim, "  nothing is shown; escape clears the search, ctrl+d the filter"));
        }
        lines.push(self.foot());
        lines.extend(self.preview(room));
        let lines = lines.into_iter().map(|line| line.cut(room.columns)).collect();
        Frame {
            lines,
            cursor: Some((2, (2 + width(&self.options.search)).min(room.columns.saturating_sub(1)))),
        }
    }

    fn title(&self) -> Line {
        let mut line = Line::of(Style::from(Role::Accent).bold(), "Session tree");
        if self.marked.is_some() {
            line.push(Role::Warn, "  mark a second entry to compare");
        }
        line
    }

    fn search_line(&self) -> Line {
        let prompt = Line::of(Role::Accent, "/ ");
        match self.options.search.as_str() {
            "" => prompt.with(Role::Dim, "type to search"),
            search => prompt.with(Role::Text, search),
        }
    }

    fn foot(&self) -> Line {
        let count = self.outline.rows.len();
        let mut line =
            Line::of(Role::Dim, &format!("({}/{count})", if count == 0 { 0 } else { self.at + 1 }));
        if self.options.filter != Filter::Default {
            line.push(Role::Accent, &format!(" [{}]", self.options.filter.name()));
        }
        if self.options.deleted {
            line.push(Role::Warn, " [with deleted]");
        }
        line
    }

    fn row(&self, at: usize, columns: usize) -> Line {
        let row = &self.outline.rows[at];
        let text = self.forest.texts.get(row.seq);
        let pieces = self.outline.pieces(at, &text, Glyphs::Folding);
        let selected = at == self.at;
        let mut line = Line::of(Role::Accent, if selected { "› " } else { "  " });
        line.push(Role::Border, &shortened(&pieces.prefix, columns / 2));
        line.push(Role::Border, pieces.fold);
        line.push(Role::Active, pieces.path);
        if self.marked == Some(row.seq) {
            line.push(Role::Warn, "✓ ");
        }
        if row.deleted {
            line.push(Role::Bad, "✗ ");
        }
        line.push(Role::Label, &pieces.label);
        if self.label_times {
            line.push(Role::Dim, &self.label_time(at));
        }
        let role = match self.forest.tree.head(row.seq).role {
            _ if row.deleted => Role::Dim,
            Speaker::User => Role::User,
            Speaker::Assistant => Role::Text,
            _ => Role::Dim,
        };
        // The words that say where one stands are never cut off.
        let room = columns.saturating_sub(width(pieces.active));
        line.push(Style { bold: selected, ..role.into() }, pieces.text);
        let mut line = line.cut(room);
        line.push(Role::Active, pieces.active);
        if selected { line.on(Role::SelectedBg) } else { line }
    }

    fn label_time(&self, at: usize) -> String {
        let label = self.forest.tree.label(self.outline.rows[at].seq);
        let time = label.and_then(|label| self.forest.tree.head(label.set_by).time()).map(time::format);
        // Month, day and minute: `01-31 09:26`.
        let told = time.and_then(|time| time.get(5..16).map(|time| time.replacen('T', " ", 1)));
        told.map(|told| format!("{told} ")).unwrap_or_default()
    }

    /// The selected entry in more words.
    fn preview(&self, room: Room) -> Vec<Line> {
        let height = preview_height(room);
        let Some((seq, id)) = self.selected().filter(|_| height > 0) else { return Vec::new() };
        let time = self.forest.tree.head(seq).time().map(time::format).unwrap_or_default();
        let time = time.get(..16).unwrap_or_default().replacen('T', " ", 1);
        let text = self.forest.texts.get(seq);
        let line = Line::of(Role::Dim, &format!("{id} {time}  ")).with(Role::Text, &text);
        let mut lines = wrap(&line, room.columns.saturating_sub(1));
        lines.truncate(height);
        lines
    }
}

/// Lines of a deep row without the outermost of them.
fn shortened(prefix: &str, most: usize) -> String {
    let count = prefix.chars().count();
    if count <= most {
        return prefix.to_owned();
    }
    let kept: String = prefix.chars().skip(count - most + 1).collect();
    format!("⋯{kept}")
}
