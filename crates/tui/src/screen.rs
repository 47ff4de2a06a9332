//! Writes frames to a terminal, below what is finished.
//!
//! The interface draws with its own few escape codes instead of an alternate screen or a fixed inline viewport: finished lines
//! are printed once and belong to the terminal, whose scrolling, searching and selecting then work as people expect, in tmux
//! and over ssh as well. Only the live lines below are drawn again, and only those that changed. The cursor is moved
//! relative to where it is and its position is never asked for, so nothing hangs on a slow line; live lines are as short as
//! their text, so that a terminal that reflows on a resize and one that does not leave them in the same rows.

use std::io::{self, Write};

use crate::text::{Line, width};
use crate::theme::{Depth, Theme};

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

/// See the module.
#[derive(Debug)]
pub(crate) struct Screen<W> {
    out: W,
    theme: Theme,
    columns: usize,
    /// The live lines as they stand there, and their widths.
    shown: Vec<(String, usize)>,
    /// The live row the cursor is in.
    row: usize,
}

impl<W: Write> Screen<W> {
    pub(crate) fn new(out: W, theme: Theme, columns: usize) -> Screen<W> {
        Screen { out, theme, columns, shown: Vec::new(), row: 0 }
    }

    pub(crate) fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// Other colours from now on. All live lines are drawn anew.
    pub(crate) fn dress(&mut self, theme: Theme) {
        self.theme = theme;
    }

    pub(crate) fn depth(&self) -> Depth {
        self.theme.depth
    }

    /// The terminal has another width now. What was live is cleared away; the next frame draws it anew.
    pub(crate) fn resize(&mut self, columns: usize) -> io::Result<()> {
        let columns = columns.max(1);
        let rows = |width: &usize| width.saturating_sub(1) / columns;
        let broken: usize = self.shown.iter().take(self.row + 1).map(|(_, width)| rows(width)).sum();
        let mut bytes = String::new();
        up(&mut bytes, self.row + broken);
        bytes.push('\r');
        bytes.push_str(BELOW);
        self.columns = columns;
        self.forget();
        self.out.write_all(bytes.as_bytes())
    }

    /// Begins with an empty screen. What was there stays in the terminal's memory as far as it keeps it.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        // What was live is not worth remembering.
        let mut bytes = String::new();
        up(&mut bytes, self.row);
        bytes.push('\r');
        bytes.push_str(BELOW);
        bytes.push_str("\x1b[2J\x1b[H");
        self.forget();
        self.out.write_all(bytes.as_bytes())
    }

    /// Puts finished lines above the live ones, and draws those.
    pub(crate) fn draw(&mut self, finished: &[Line], frame: &Frame) -> io::Result<()> {
        let lines: Vec<(String, usize)> =
            frame.lines.iter().map(|line| (self.painted(line), line.width())).collect();
        let mut bytes = String::from("\x1b[?2026h\x1b[?25l");
        up(&mut bytes, self.row);
        bytes.push('\r');
        if finished.is_empty() {
            self.change(&mut bytes, &lines);
        } else {
            bytes.push_str(BELOW);
            for line in finished {
                bytes.push_str(&self.painted(line));
                bytes.push_str("\r\n");
            }
            let live: Vec<&str> = lines.iter().map(|(line, _)| line.as_str()).collect();
            bytes.push_str(&live.join("\r\n"));
        }
        let last = lines.len().saturating_sub(1);
        let (row, column) = frame.cursor.unwrap_or((last, 0));
        up(&mut bytes, last - row.min(last));
        bytes.push('\r');
        if column > 0 {
            bytes.push_str(&format!("\x1b[{column}C"));
        }
        if frame.cursor.is_some() {
            bytes.push_str("\x1b[?25h");
        }
        bytes.push_str("\x1b[?2026l");
        self.row = row.min(last);
        self.shown = lines;
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Leaves the live part behind as the last thing on the screen, and the cursor below it.
    pub(crate) fn leave(&mut self, finished: &[Line]) -> io::Result<()> {
        self.draw(finished, &Frame::default())?;
        self.forget();
        self.out.write_all(BELOW.as_bytes())?;
        self.out.write_all(b"\x1b[?25h")?;
        self.out.flush()
    }

    fn forget(&mut self) {
        self.shown.clear();
        self.row = 0;
    }

    /// Writes the lines that differ. The cursor is in the first row, and ends in the last.
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
mod tests {
    use super::*;
    use crate::theme::Role;
    use expect_test::{Expect, expect};

    struct Terminal {
        screen: Screen<Vec<u8>>,
        parser: vt100::Parser,
    }

    impl Terminal {
        fn new() -> Terminal {
            let theme = Theme::dark();
            Terminal { screen: Screen::new(Vec::new(), theme, 12), parser: vt100::Parser::new(6, 12, 50) }
        }

        fn draw(&mut self, finished: &str, live: &str) {
            let lines = |text: &str| text.lines().map(|line| Line::of(Role::Text, line)).collect::<Vec<_>>();
            let live = lines(live);
            let cursor = Some((live.len().saturating_sub(1), 0));
            self.screen.draw(&lines(finished), &Frame { lines: live, cursor }).unwrap();
            self.read();
        }

        fn read(&mut self) {
            let bytes = std::mem::take(self.screen.out());
            self.parser.process(&bytes);
        }

        #[track_caller]
        fn check(&self, expected: Expect) {
            let rows: Vec<String> =
                self.parser.screen().rows(0, 12).map(|row| row.trim_end().to_owned()).collect();
            expected.assert_eq(&(rows.join("\n").trim_end().to_owned() + "\n"));
        }
    }

    #[test]
    fn finished_lines_go_above_and_live_ones_stay_below() {
        let mut terminal = Terminal::new();
        terminal.draw("", "one\ntwo");
        terminal.draw("a\nb", "one\ntwo");
        terminal.draw("", "ONE\ntwo\nthree");
        terminal.check(expect![[r#"
            a
            b
            ONE
            two
            three
        "#]]);
        terminal.draw("c\nd", "x");
        terminal.draw("", "y");
        terminal.check(expect![[r#"
            a
            b
            c
            d
            y
        "#]]);
    }

    #[test]
    fn what_scrolls_off_is_in_the_terminals_memory_once() {
        let mut terminal = Terminal::new();
        for number in 0..10 {
            terminal.draw(&format!("line {number}"), "live\n>");
        }
        terminal.parser.screen_mut().set_scrollback(50);
        terminal.check(expect![[r#"
            line 0
            line 1
            line 2
            line 3
            line 4
            line 5
        "#]]);
    }

    /// tmux takes a whole screen into its history if all of it is cleared at once, from the corner on.
    #[test]
    fn what_is_live_is_never_cleared_from_the_corner_on() {
        let theme = Theme::dark();
        let mut screen = Screen::new(Vec::new(), theme, 12);
        let line = |text: &str| Line::of(Role::Text, text);
        let full = Frame { lines: (0..6).map(|_| line("live")).collect(), cursor: Some((5, 0)) };
        screen.draw(&[], &full).unwrap();
        screen.draw(&[line("done")], &full).unwrap();
        screen.resize(8).unwrap();
        screen.draw(&[], &full).unwrap();
        screen.clear().unwrap();
        screen.draw(&[], &full).unwrap();
        screen.leave(&[line("the end")]).unwrap();
        let bytes = String::from_utf8(std::mem::take(screen.out())).unwrap();
        for (at, _) in bytes.match_indices("\x1b[J") {
            assert!(bytes[..at].ends_with("\x1b[1C"), "{:?}", &bytes[..at]);
        }
        let live = bytes.find("\x1b[2J").unwrap();
        assert!(bytes[..live].ends_with(BELOW), "what was live would be remembered");
    }

    #[test]
    fn growing_at_the_bottom_and_shrinking_leave_nothing_behind() {
        let mut terminal = Terminal::new();
        terminal.draw("1\n2\n3\n4", ">");
        terminal.draw("", "a\nb\nc\nd\n>");
        terminal.draw("", ">");
        terminal.draw("", "z\n>");
        terminal.check(expect![[r#"
            4
            z
            >
        "#]]);
    }

    #[test]
    fn after_a_resize_the_live_part_is_drawn_anew_in_its_place() {
        let mut terminal = Terminal::new();
        terminal.draw("done", "live\n> abc");
        terminal.screen.resize(8).unwrap();
        terminal.parser.screen_mut().set_size(6, 8);
        terminal.read();
        terminal.draw("", "live\n> abcd");
        terminal.check(expect![[r#"
            done
            live
            > abcd
        "#]]);
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_and_colours_end_with_it() {
        let mut screen = Screen::new(Vec::new(), Theme::dark(), 5);
        let line = Line::of(Role::Bad, "一二三四");
        assert_eq!(screen.painted(&line), "\x1b[91m一二\x1b[0m\x1b[90m…\x1b[0m");
        screen.leave(&[line]).unwrap();
        assert!(String::from_utf8(screen.out.clone()).unwrap().ends_with(&format!("{BELOW}\x1b[?25h")));
    }
}
