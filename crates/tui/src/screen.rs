//! Draws finished pieces and, below them, the live part of the screen.
//!
//! The screen has three parts:
//!
//! - **Scrollback**: rows that have scrolled off the top. They belong to the terminal, so scrolling, searching and selecting work
//!   as usual, also in tmux and over SSH. The program never rewrites or clears them.
//! - **History**: finished pieces that have not scrolled off. They are printed once, but the screen remembers them and can draw
//!   them again in place: after a resize, folded or expanded, with another theme, or when an overlay that covered them is
//!   closed. Only pieces that are completely on the screen are drawn differently than before.
//! - **Live**: the rows below: the reply being streamed, the editor, an overlay, the status line. They change with every frame.
//!
//! Rows enter the scrollback in only one way: rows written below push them up. An overlay (help, the tree, a question, a
//! completion list) does not do that: it covers the history until it is closed, and finished pieces wait until then. So each row
//! enters the scrollback once and in order.
//!
//! A move shows another path. Pieces that both paths share stay. Of the others, those that were never printed are printed; those
//! printed before are shown again as far as they fit on the screen.
//!
//! The program does not use the alternate screen. It moves the cursor relative to its position and never queries that position.
//! A row count is enough, because history and live rows are always the last rows written. Automatic wrapping is off, so a row
//! stays one row even if the terminal disagrees about the width of a character.
//!
//! When the size changes, most terminals rewrap the rows, and rows that no longer fit enter the scrollback. The program does not
//! know exactly which, so it clears and redraws only rows that are certainly still on the screen. A larger terminal may also
//! show rows of the scrollback again. So the program remembers the last pieces above the history: if you clear the screen after
//! that, it draws them again.
//!
//! Two repetitions cannot be avoided. Live rows at the very top of the screen enter the scrollback when the terminal rewraps them
//! to a smaller width, and are drawn again below. And an overlay hides the older rows of the history and shows the newer ones
//! above itself: if the terminal shrinks then, it pushes newer rows into the scrollback before the older ones, and no program can
//! take them out again. When the overlay closes, the history is printed whole and in order, so these rows appear a second time.
//! The alternative is to leave them out of their place.

mod history;

use std::io::{self, Write};

use osier_protocol::RenderSubject;

use crate::code::CodeColors;
use crate::floats::FloatBox;
use crate::piece::Piece;
use crate::rendered::RenderedEntries;
use crate::text::{Line, width};
use crate::theme::{ColorDepth, ColorRole, Theme};
use crate::transcript::RenderOptions;
use history::ScreenHistory;

/// Clears this row and all rows below. It starts in the second column, because tmux copies everything to its history if the
/// screen is cleared from the top left corner.
const CLEAR_BELOW: &str = "\x1b[2K\x1b[1C\x1b[J\r";

/// Holds the screen back until the frame is complete, hides the cursor, and turns off wrapping.
const FRAME_START: &str = "\x1b[?2026h\x1b[?25l\x1b[?7l";

/// The live part of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    pub lines: Vec<Line>,
    /// Row and column; `None` hides the cursor.
    pub cursor: Option<(usize, usize)>,
}

/// Finished pieces to print.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScreenOutput {
    pub(crate) pieces: Vec<Piece>,
    /// The pieces are a whole path and replace the history.
    pub(crate) replaces_history: bool,
}

/// What the lines of a piece depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct DrawnOptions {
    width: usize,
    expanded: bool,
    /// The version of what extensions draw.
    rendered: u64,
    /// The version of the colors of code.
    colors: u64,
}

impl DrawnOptions {
    fn new(options: RenderOptions<'_>) -> DrawnOptions {
        DrawnOptions {
            width: options.width,
            expanded: options.expanded,
            rendered: options.rendered.map_or(0, RenderedEntries::version),
            colors: options.code.map_or(0, CodeColors::version),
        }
    }
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Screen<W> {
    out: W,
    theme: Theme,
    columns: usize,
    rows: usize,
    /// The terminal rewraps lines when its width changes.
    reflows: bool,
    history: ScreenHistory,
    /// The number of history rows on the screen, above the live rows. Earlier ones are covered.
    visible: usize,
    /// The history on the screen is outdated.
    stale: bool,
    /// The size changed, and above the history may be rows that belong to it.
    is_resized: bool,
    /// The screen was cleared since the last frame.
    is_cleared: bool,
    /// How the history is drawn.
    drawn_options: DrawnOptions,
    /// The live rows are the whole screen, with the history in them, because something floats over it.
    is_floating: bool,
    /// Boxes over the whole screen, the one in front last.
    floats: Vec<FloatBox>,
    /// The live rows on the screen, and their widths.
    live_rows: Vec<(String, usize)>,
    /// The live row and the column of the cursor.
    cursor: (usize, usize),
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W, theme: Theme, columns: usize, rows: usize) -> Screen<W> {
        Screen {
            out,
            theme,
            columns: columns.max(1),
            rows: rows.max(1),
            reflows: true,
            history: ScreenHistory::default(),
            visible: 0,
            stale: false,
            is_resized: false,
            is_cleared: false,
            drawn_options: DrawnOptions { width: columns, ..DrawnOptions::default() },
            is_floating: false,
            floats: Vec::new(),
            live_rows: Vec::new(),
            cursor: (0, 0),
        }
    }

    /// Sets whether the terminal rewraps lines when its width changes; most do.
    pub(crate) fn set_reflows(&mut self, reflows: bool) {
        self.reflows = reflows;
    }

    pub(crate) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Uses another theme from the next frame on.
    pub(crate) fn set_theme(&mut self, theme: Theme) {
        self.theme = theme;
        self.stale = true;
    }

    /// What floats over the next frames.
    pub(crate) fn set_floats(&mut self, floats: Vec<FloatBox>) {
        self.floats = floats;
    }

    pub(crate) fn color_depth(&self) -> ColorDepth {
        self.theme.color_depth
    }

    /// Adapts to a new size of the terminal. Clears the live rows and the pieces that are certainly on the screen; the next
    /// frame draws them again. Rows that may have scrolled off stay as they are.
    pub(crate) fn resize(&mut self, columns: usize, rows: usize) -> io::Result<()> {
        let columns = columns.max(1);
        // A terminal may push up as many rows as rewrapping adds, or as it loses in height.
        let certain = (self.visible + self.live_rows.len()).saturating_sub(self.rows.saturating_sub(rows));
        let reflows = self.reflows;
        let height = move |width: usize| if reflows { width.max(1).div_ceil(columns) } else { 1 };
        let live: usize = self.live_rows.iter().map(|(_, width)| height(*width)).sum();
        let (row, column) = self.cursor;
        let above: usize = self.live_rows.iter().take(row).map(|(_, width)| height(*width)).sum();
        let inside = if reflows { column / columns } else { 0 };
        let cleared = self.history.keep_visible(self.visible, certain.saturating_sub(live), &height);
        let mut bytes = String::new();
        move_up(&mut bytes, cleared + above + inside);
        bytes.push('\r');
        bytes.push_str(CLEAR_BELOW);
        (self.columns, self.rows) = (columns, rows.max(1));
        self.is_resized = true;
        self.forget_rows();
        self.out.write_all(bytes.as_bytes())
    }

    /// Clears the screen row by row, so that nothing of it enters the scrollback. The next frame draws it again.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let rows = "\x1b[2K\x1b[1B".repeat(self.rows);
        self.is_cleared = true;
        self.forget_rows();
        write!(self.out, "\x1b[H{rows}\x1b[H")
    }

    /// Forgets which rows are on the screen.
    fn forget_rows(&mut self) {
        self.live_rows.clear();
        self.cursor = (0, 0);
        self.visible = 0;
        self.stale = true;
    }

    /// Prints finished pieces above the live rows and draws the frame. An open overlay covers finished pieces.
    pub(crate) fn draw(
        &mut self,
        output: ScreenOutput,
        frame: &Frame,
        options: RenderOptions<'_>,
        is_overlay: bool,
    ) -> io::Result<()> {
        let available_rows = self.rows.saturating_sub(frame.lines.len());
        let drawn = DrawnOptions::new(options);
        if self.drawn_options != drawn {
            let is_other_size = self.drawn_options.width != drawn.width;
            self.drawn_options = drawn;
            self.stale |= self.history.redraw(options) || is_other_size;
        }
        if std::mem::take(&mut self.is_cleared) && self.is_resized {
            self.history.restore_earlier(self.rows, options);
        }
        let begin = self.history.rows();
        let is_more = !output.pieces.is_empty();
        if output.replaces_history {
            self.history.replace(output.pieces, available_rows, options);
            self.stale = true;
        } else {
            self.history.extend(output.pieces, options);
        }
        if !self.floats.is_empty() {
            return self.draw_floats(frame);
        }
        if std::mem::take(&mut self.is_floating) {
            self.stale = true;
        }
        let all = self.history.rows();
        let mut bytes = String::from(FRAME_START);
        let lines: Vec<(String, usize)> =
            frame.lines.iter().map(|line| (self.paint(line), line.width())).collect();
        let is_covered = self.stale || begin > self.visible;
        if is_covered || (is_overlay && all > available_rows) {
            move_up(&mut bytes, self.visible + self.cursor.0);
            bytes.push('\r');
            let from = if is_overlay { all.saturating_sub(available_rows) } else { 0 };
            self.write_rows(&mut bytes, from, &lines);
        } else if is_more {
            move_up(&mut bytes, self.cursor.0);
            bytes.push('\r');
            self.write_rows(&mut bytes, begin, &lines);
        } else {
            move_up(&mut bytes, self.cursor.0);
            bytes.push('\r');
            self.update_live_rows(&mut bytes, &lines);
        }
        self.visible = all.min(available_rows);
        if !is_overlay {
            self.history.scroll_off(all - self.visible);
        }
        self.stale = false;
        // Otherwise the history fills the screen, and nothing unknown is above it.
        self.is_resized &= self.visible < available_rows;
        self.place_cursor(&mut bytes, lines.len(), frame.cursor);
        self.live_rows = lines;
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Draws the whole screen as live rows, and boxes over it. The history waits in memory until nothing floats any more.
    fn draw_floats(&mut self, frame: &Frame) -> io::Result<()> {
        let (lines, cursor) = self.with_floats(frame);
        let lines: Vec<(String, usize)> = lines.iter().map(|line| (self.paint(line), line.width())).collect();
        let mut bytes = String::from(FRAME_START);
        let is_same_size = self.is_floating && self.live_rows.len() == lines.len() && !self.stale;
        move_up(&mut bytes, self.visible + self.cursor.0);
        bytes.push('\r');
        match is_same_size {
            true => self.update_live_rows(&mut bytes, &lines),
            false => {
                let from = self.history.rows();
                self.write_rows(&mut bytes, from, &lines);
            }
        }
        (self.visible, self.stale, self.is_floating) = (0, false, true);
        self.place_cursor(&mut bytes, lines.len(), cursor);
        self.live_rows = lines;
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// The rows of the screen with boxes over them, and the cursor: that of the last box that has one, else that of the frame.
    fn with_floats(&self, frame: &Frame) -> (Vec<Line>, Option<(usize, usize)>) {
        let room = self.rows.saturating_sub(frame.lines.len());
        let from = self.history.rows().saturating_sub(room);
        let mut lines: Vec<Line> = self.history.lines(from).cloned().collect();
        let mut cursor = frame.cursor.map(|(row, column)| (row + lines.len(), column));
        lines.extend(frame.lines.iter().cloned());
        lines.resize(self.rows, Line::new());
        for float in &self.floats {
            for (line, over) in lines.iter_mut().skip(float.row).zip(&float.lines) {
                *line = line.covered_by(over.clone(), float.column, float.width);
            }
            cursor = float.cursor.map(|(row, column)| (float.row + row, float.column + column)).or(cursor);
        }
        (lines, cursor)
    }

    /// What extensions may draw of the history.
    pub(crate) fn subjects(&self) -> impl Iterator<Item = RenderSubject> {
        self.history.subjects()
    }

    /// Clears from the cursor on, and writes the history rows from `from` on and the live rows.
    fn write_rows(&self, bytes: &mut String, from: usize, live: &[(String, usize)]) {
        bytes.push_str(CLEAR_BELOW);
        for line in self.history.lines(from) {
            bytes.push_str(&self.paint(line));
            bytes.push_str("\r\n");
        }
        let live: Vec<&str> = live.iter().map(|(line, _)| line.as_str()).collect();
        bytes.push_str(&live.join("\r\n"));
    }

    fn place_cursor(&mut self, bytes: &mut String, rows: usize, cursor: Option<(usize, usize)>) {
        let last = rows.saturating_sub(1);
        let (row, column) = cursor.unwrap_or((last, 0));
        move_up(bytes, last - row.min(last));
        bytes.push('\r');
        if column > 0 {
            bytes.push_str(&format!("\x1b[{column}C"));
        }
        if cursor.is_some() {
            bytes.push_str("\x1b[?25h");
        }
        bytes.push_str("\x1b[?7h\x1b[?2026l");
        self.cursor = (row.min(last), column);
    }

    /// Draws the history without live rows, and leaves the cursor below it.
    pub(crate) fn finish(&mut self, output: ScreenOutput, options: RenderOptions<'_>) -> io::Result<()> {
        self.floats.clear();
        self.draw(output, &Frame::default(), options, false)?;
        self.history.clear();
        self.forget_rows();
        self.out.write_all(CLEAR_BELOW.as_bytes())?;
        self.out.write_all(b"\x1b[?25h")?;
        self.out.flush()
    }

    /// Writes the live rows that differ. The cursor starts in the first live row and ends in the last.
    fn update_live_rows(&self, bytes: &mut String, lines: &[(String, usize)]) {
        let fewer = lines.len() < self.live_rows.len();
        for (at, (line, _)) in lines.iter().enumerate() {
            let is_last = at + 1 == lines.len();
            let same = self.live_rows.get(at).is_some_and(|(shown, _)| shown == line);
            if !same || (is_last && fewer) {
                bytes.push_str("\r\x1b[2K");
                bytes.push_str(line);
            }
            if is_last && fewer {
                bytes.push_str("\x1b[J");
            }
            match self.live_rows.get(at + 1) {
                _ if is_last => {}
                Some(_) => bytes.push_str("\x1b[1B\r"),
                None => bytes.push_str("\r\n"),
            }
        }
        if lines.is_empty() {
            bytes.push_str(CLEAR_BELOW);
        }
    }

    fn paint(&self, line: &Line) -> String {
        let mut out = String::new();
        // A line that is too long would break the counting of rows.
        let line =
            if line.width() > self.columns { line.clone().truncate(self.columns) } else { line.clone() };
        // Before the text: at the right edge it would erase the last character.
        out.push_str(&line.fill.map(|role| self.theme.fill(role)).unwrap_or_default());
        for span in &line.spans {
            let begin = self.theme.style_start(span.style);
            out.push_str(&begin);
            match &span.link {
                Some(address) => write_link(&mut out, address, &span.text),
                None => out.push_str(&span.text),
            }
            if !begin.is_empty() {
                out.push_str("\x1b[0m");
            }
        }
        debug_assert!(width(&line.plain()) <= self.columns.max(1));
        if line.fill == Some(ColorRole::SelectedBg) && self.theme.inverts_selection() {
            out.push_str(&format!("\x1b[7m{}\x1b[0m", " ".repeat(self.columns.saturating_sub(line.width()))));
        }
        out
    }
}

/// Writes text that a terminal makes a link (OSC 8); others show the text.
fn write_link(out: &mut String, address: &str, text: &str) {
    out.push_str("\x1b]8;;");
    out.push_str(address);
    out.push_str("\x1b\\");
    out.push_str(text);
    out.push_str("\x1b]8;;\x1b\\");
}

fn move_up(bytes: &mut String, rows: usize) {
    if rows > 0 {
        bytes.push_str(&format!("\x1b[{rows}A"));
    }
}

#[cfg(test)]
mod tests;
