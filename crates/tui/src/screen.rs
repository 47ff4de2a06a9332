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
//! know exactly which, so it clears and redraws only rows that are certainly still on the screen.
//!
//! Two repetitions cannot be avoided. Live rows at the very top of the screen enter the scrollback when the terminal rewraps them
//! to a smaller width, and are drawn again below. And an overlay hides the older rows of the history and shows the newer ones
//! above itself: if the terminal shrinks then, it pushes newer rows into the scrollback before the older ones, and no program can
//! take them out again. When the overlay closes, the history is printed whole and in order, so these rows appear a second time.
//! The alternative is to leave them out of their place.

mod history;

use std::io::{self, Write};

use crate::piece::Piece;
use crate::text::{Line, width};
use crate::theme::{ColorDepth, Theme};
use crate::transcript::RenderOptions;
use history::ScreenHistory;

/// Clears this row and all rows below. It starts in the second column, because tmux copies everything to its history if the
/// screen is cleared from the top left corner.
const CLEAR_BELOW: &str = "\x1b[2K\x1b[1C\x1b[J\r";

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
    /// How the history is drawn: its width, and whether it is expanded.
    drawn_options: (usize, bool),
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
            drawn_options: (columns, false),
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
        self.forget_rows();
        self.out.write_all(bytes.as_bytes())
    }

    /// Clears the screen row by row, so that nothing of it enters the scrollback. The next frame draws it again.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let rows = "\x1b[2K\x1b[1B".repeat(self.rows);
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
        if self.drawn_options != (options.width, options.expanded) {
            self.drawn_options = (options.width, options.expanded);
            self.history.redraw(options);
            self.stale = true;
        }
        let begin = self.history.rows();
        let is_more = !output.pieces.is_empty();
        if output.replaces_history {
            self.history.replace(output.pieces, available_rows, options);
            self.stale = true;
        } else {
            self.history.extend(output.pieces, options);
        }
        let all = self.history.rows();
        let mut bytes = String::from("\x1b[?2026h\x1b[?25l\x1b[?7l");
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
        self.place_cursor(&mut bytes, lines.len(), frame.cursor);
        self.live_rows = lines;
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
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
