//! Writes frames to a terminal, below what is finished.
//!
//! The screen has three parts:
//!
//! - **Scrollback**: what has scrolled off the top. It belongs to the terminal, whose scrolling, searching and selecting work as
//!   usual, in tmux and over ssh as well. It is never written again and never cleared.
//! - **History**: finished pieces that have not scrolled off. They are printed once and then left alone, but they are known,
//!   so they can be drawn again in place: after a resize at the new width, folded or unfolded, in other colors, or when
//!   something that covered them is closed. Only pieces that are wholly on the screen are drawn otherwise than before.
//! - **Live**: the rows below: what is being written, the editor, an overlay, the status. They change with every frame.
//!
//! Rows enter the scrollback in one way: what is written below pushes them up. An overlay (help, the tree, a question, a list
//! of completions) does not: it covers history and uncovers it when it is closed, and what is finished meanwhile waits until
//! then. So each row enters the scrollback once and in order.
//!
//! A move shows another path. What both paths share stays. Of the rest, what was never printed is printed; what was printed
//! before is shown again as far as it fits on the screen.
//!
//! There is no alternate screen. The cursor moves relative to its place, and its position is never asked for. A row count
//! suffices: history and live rows are always the last rows written. Rows do not wrap, even if the terminal disagrees about the
//! width of a character.
//!
//! When the size changes, most terminals break the rows anew, and those that do not fit any more enter the scrollback. Which
//! ones is not known exactly, so only rows that are certainly still on the screen are cleared and drawn again.

mod history;

use std::io::{self, Write};

use crate::piece::Piece;
use crate::text::{Line, width};
use crate::theme::{Depth, Theme};
use crate::transcript::Look;
use history::History;

/// Clears this row and all below it. Not from the first column on: where that is the corner of the screen, tmux would take what
/// is cleared into its history.
const BELOW: &str = "\x1b[2K\x1b[1C\x1b[J\r";

/// The live part of the screen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Frame {
    pub lines: Vec<Line>,
    /// Row and column; none hides the cursor.
    pub cursor: Option<(usize, usize)>,
}

/// Finished pieces for the screen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Output {
    pub(crate) pieces: Vec<Piece>,
    /// They are the path: they take the place of the history.
    pub(crate) replaces: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Screen<W> {
    out: W,
    theme: Theme,
    columns: usize,
    rows: usize,
    /// The terminal breaks lines anew when its width changes.
    reflows: bool,
    history: History,
    /// The history rows that are on the screen, above the live ones. Those before them are covered.
    visible: usize,
    /// The history is not on the screen as it should be.
    stale: bool,
    /// How the history is drawn: its width, and whether it is unfolded.
    look: (usize, bool),
    /// The live lines as they stand there, and their widths.
    shown: Vec<(String, usize)>,
    /// The live row and the column the cursor is in.
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
            history: History::default(),
            visible: 0,
            stale: false,
            look: (columns, false),
            shown: Vec::new(),
            cursor: (0, 0),
        }
    }

    /// Whether the terminal breaks lines anew when its width changes; most do.
    pub(crate) fn set_reflows(&mut self, reflows: bool) {
        self.reflows = reflows;
    }

    pub(crate) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Other colors from now on.
    pub(crate) fn dress(&mut self, theme: Theme) {
        self.theme = theme;
        self.stale = true;
    }

    pub(crate) fn depth(&self) -> Depth {
        self.theme.depth
    }

    /// The terminal has another size. Clears the live rows and the pieces that are certainly on the screen; the next frame
    /// draws them again. What may have scrolled off stays as it is.
    pub(crate) fn resize(&mut self, columns: usize, rows: usize) -> io::Result<()> {
        let columns = columns.max(1);
        // A terminal may push up as many rows as it gains by breaking lines, or loses in height.
        let certain = (self.visible + self.shown.len()).saturating_sub(self.rows.saturating_sub(rows));
        let reflows = self.reflows;
        let height = move |width: usize| if reflows { width.max(1).div_ceil(columns) } else { 1 };
        let live: usize = self.shown.iter().map(|(_, width)| height(*width)).sum();
        let (row, column) = self.cursor;
        let above: usize = self.shown.iter().take(row).map(|(_, width)| height(*width)).sum();
        let inside = if reflows { column / columns } else { 0 };
        let cleared = self.history.keep_certain(self.visible, certain.saturating_sub(live), &height);
        let mut bytes = String::new();
        up(&mut bytes, cleared + above + inside);
        bytes.push('\r');
        bytes.push_str(BELOW);
        (self.columns, self.rows) = (columns, rows.max(1));
        self.forget_rows();
        self.out.write_all(bytes.as_bytes())
    }

    /// Clears the screen, row by row so that the terminal keeps none of it. The next frame draws it again.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let rows = "\x1b[2K\x1b[1B".repeat(self.rows);
        self.forget_rows();
        write!(self.out, "\x1b[H{rows}\x1b[H")
    }

    /// Nothing of what is known is on the screen.
    fn forget_rows(&mut self) {
        self.shown.clear();
        self.cursor = (0, 0);
        self.visible = 0;
        self.stale = true;
    }

    /// Puts finished pieces above the live rows, and draws those. An overlay covers what is finished while it is open.
    pub(crate) fn draw(
        &mut self,
        output: Output,
        frame: &Frame,
        look: Look<'_>,
        is_overlay: bool,
    ) -> io::Result<()> {
        let room = self.rows.saturating_sub(frame.lines.len());
        if self.look != (look.width, look.open) {
            self.look = (look.width, look.open);
            self.history.draw_again(look);
            self.stale = true;
        }
        let begin = self.history.rows();
        let is_more = !output.pieces.is_empty();
        if output.replaces {
            self.history.replace(output.pieces, room, look);
            self.stale = true;
        } else {
            self.history.extend(output.pieces, look);
        }
        let all = self.history.rows();
        let mut bytes = String::from("\x1b[?2026h\x1b[?25l\x1b[?7l");
        let lines: Vec<(String, usize)> =
            frame.lines.iter().map(|line| (self.painted(line), line.width())).collect();
        let is_covered = self.stale || begin > self.visible;
        if is_covered || (is_overlay && all > room) {
            up(&mut bytes, self.visible + self.cursor.0);
            bytes.push('\r');
            let from = if is_overlay { all.saturating_sub(room) } else { 0 };
            self.write(&mut bytes, from, &lines);
        } else if is_more {
            up(&mut bytes, self.cursor.0);
            bytes.push('\r');
            self.write(&mut bytes, begin, &lines);
        } else {
            up(&mut bytes, self.cursor.0);
            bytes.push('\r');
            self.change(&mut bytes, &lines);
        }
        self.visible = all.min(room);
        if !is_overlay {
            self.history.scroll_off(all - self.visible);
        }
        self.stale = false;
        self.place_cursor(&mut bytes, lines.len(), frame.cursor);
        self.shown = lines;
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Clears from here on, and writes the history rows from one on, and the live ones.
    fn write(&self, bytes: &mut String, from: usize, live: &[(String, usize)]) {
        bytes.push_str(BELOW);
        for line in self.history.lines(from) {
            bytes.push_str(&self.painted(line));
            bytes.push_str("\r\n");
        }
        let live: Vec<&str> = live.iter().map(|(line, _)| line.as_str()).collect();
        bytes.push_str(&live.join("\r\n"));
    }

    fn place_cursor(&mut self, bytes: &mut String, rows: usize, cursor: Option<(usize, usize)>) {
        let last = rows.saturating_sub(1);
        let (row, column) = cursor.unwrap_or((last, 0));
        up(bytes, last - row.min(last));
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

    /// Leaves the history behind as the last thing on the screen, and the cursor below it.
    pub(crate) fn leave(&mut self, output: Output, look: Look<'_>) -> io::Result<()> {
        self.draw(output, &Frame::default(), look, false)?;
        self.history.clear();
        self.forget_rows();
        self.out.write_all(BELOW.as_bytes())?;
        self.out.write_all(b"\x1b[?25h")?;
        self.out.flush()
    }

    /// Writes the live lines that differ. The cursor is in the first row, and ends in the last.
    fn change(&self, bytes: &mut String, lines: &[(String, usize)]) {
        let fewer = lines.len() < self.shown.len();
        for (at, (line, _)) in lines.iter().enumerate() {
            let is_last = at + 1 == lines.len();
            let same = self.shown.get(at).is_some_and(|(shown, _)| shown == line);
            if !same || (is_last && fewer) {
                bytes.push_str("\r\x1b[2K");
                bytes.push_str(line);
            }
            if is_last && fewer {
                bytes.push_str("\x1b[J");
            }
            match self.shown.get(at + 1) {
                _ if is_last => {}
                Some(_) => bytes.push_str("\x1b[1B\r"),
                None => bytes.push_str("\r\n"),
            }
        }
        if lines.is_empty() {
            bytes.push_str(BELOW);
        }
    }

    fn painted(&self, line: &Line) -> String {
        let mut out = String::new();
        // A line that is too long would break the counting of rows.
        let line = if line.width() > self.columns { line.clone().cut(self.columns) } else { line.clone() };
        for span in &line.spans {
            let begin = self.theme.begin(span.style);
            out.push_str(&begin);
            out.push_str(&span.text);
            if !begin.is_empty() {
                out.push_str("\x1b[0m");
            }
        }
        debug_assert!(width(&line.plain()) <= self.columns.max(1));
        out
    }
}

fn up(bytes: &mut String, rows: usize) {
    if rows > 0 {
        bytes.push_str(&format!("\x1b[{rows}A"));
    }
}

#[cfg(test)]
mod tests;
