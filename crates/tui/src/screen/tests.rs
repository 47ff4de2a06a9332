//! Draws frames on terminal emulators.

mod streaming;

use expect_test::{Expect, expect};

use super::*;
use crate::testing::emulator::Emulator;
use crate::theme::ColorRole;

struct Terminal {
    screen: Screen<Vec<u8>>,
    parser: vt100::Parser,
    columns: u16,
    is_overlay: bool,
    open: bool,
}

fn notice(text: &str) -> Vec<Piece> {
    text.lines().map(|line| Piece::notice(vec![Line::styled(ColorRole::Text, line)])).collect()
}

fn frame(text: &str) -> Frame {
    let lines: Vec<Line> = text.lines().map(|line| Line::styled(ColorRole::Text, line)).collect();
    let cursor = Some((lines.len().saturating_sub(1), 0));
    Frame { lines, cursor }
}

impl Terminal {
    fn new() -> Terminal {
        let mut screen = Screen::new(Vec::new(), Theme::dark(), 12, 6);
        // The emulator cuts lines.
        screen.set_reflows(false);
        let parser = vt100::Parser::new(6, 12, 50);
        Terminal { screen, parser, columns: 12, is_overlay: false, open: false }
    }

    fn draw(&mut self, finished: &str, live: &str) {
        self.output(ScreenOutput { pieces: notice(finished), replaces_history: false }, live);
    }

    fn output(&mut self, output: ScreenOutput, live: &str) {
        let options =
            RenderOptions { width: self.columns.into(), expanded: self.open, ..RenderOptions::default() };
        self.screen.draw(output, &frame(live), options, self.is_overlay).unwrap();
        self.read();
    }

    fn read(&mut self) {
        let bytes = std::mem::take(self.screen.out());
        self.parser.process(&bytes);
    }

    fn resize(&mut self, columns: u16, rows: u16) {
        self.columns = columns;
        self.parser.screen_mut().set_size(rows, columns);
        self.screen.resize(columns.into(), rows.into()).unwrap();
        self.read();
    }

    /// The scrollback, a line, and the screen.
    fn text(&mut self) -> String {
        let (height, columns) = self.parser.screen().size();
        let rows = |screen: &vt100::Screen| -> Vec<String> {
            screen.rows(0, columns).map(|row| row.trim_end().to_owned()).collect()
        };
        let shown = rows(self.parser.screen());
        self.parser.screen_mut().set_scrollback(usize::MAX);
        let back = self.parser.screen().scrollback();
        let mut above = Vec::new();
        for offset in (1..=back).rev() {
            self.parser.screen_mut().set_scrollback(offset);
            above.push(rows(self.parser.screen())[0].clone());
        }
        self.parser.screen_mut().set_scrollback(0);
        assert_eq!(shown.len(), usize::from(height));
        format!("{}\n---\n{}\n", above.join("\n"), shown.join("\n").trim_end())
    }

    #[track_caller]
    fn check(&mut self, expected: Expect) {
        expected.assert_eq(&self.text());
    }
}

#[test]
fn finished_lines_are_printed_above_the_live_rows() {
    let mut terminal = Terminal::new();
    terminal.draw("", "one\ntwo");
    terminal.draw("a\nb", "one\ntwo");
    terminal.draw("", "ONE\ntwo\nthree");
    terminal.check(expect![[r#"

        ---
        a
        b
        ONE
        two
        three
    "#]]);
    terminal.draw("c\nd", "x");
    terminal.draw("", "y");
    terminal.check(expect![[r#"

        ---
        a
        b
        c
        d
        y
    "#]]);
}

#[test]
fn each_line_enters_the_scrollback_once() {
    let mut terminal = Terminal::new();
    for number in 0..10 {
        terminal.draw(&format!("line {number}"), "live\n>");
    }
    terminal.check(expect![[r#"
        line 0
        line 1
        line 2
        line 3
        line 4
        line 5
        ---
        line 6
        line 7
        line 8
        line 9
        live
        >
    "#]]);
}

/// tmux copies the whole screen to its history if it is cleared at once from the top left corner.
#[test]
fn nothing_is_cleared_from_the_top_left_corner() {
    let mut terminal = Terminal::new();
    let mut bytes = Vec::new();
    let full = "live\nlive\nlive\nlive\nlive\nlive";
    let mut note = |terminal: &mut Terminal| bytes.extend(std::mem::take(terminal.screen.out()));
    let options = RenderOptions { width: 12, ..RenderOptions::default() };
    let output = |text: &str| ScreenOutput { pieces: notice(text), replaces_history: false };
    for (finished, is_overlay) in [("", false), ("done", false), ("", true), ("more", true), ("", false)] {
        terminal.screen.draw(output(finished), &frame(full), options, is_overlay).unwrap();
        note(&mut terminal);
    }
    terminal.screen.resize(8, 6).unwrap();
    terminal.screen.clear().unwrap();
    terminal.screen.finish(output("the end"), options).unwrap();
    note(&mut terminal);
    let bytes = String::from_utf8(bytes).unwrap();
    assert!(!bytes.contains("\x1b[2J") && !bytes.contains("\x1b[3J"));
    for (at, _) in bytes.match_indices("\x1b[J") {
        assert!(bytes[..at].ends_with("\x1b[1C"), "{:?}", &bytes[..at]);
    }
}

#[test]
fn closing_an_overlay_restores_the_history_it_covered() {
    let mut terminal = Terminal::new();
    terminal.draw("1\n2\n3\n4", ">");
    let before = terminal.text();
    terminal.is_overlay = true;
    terminal.draw("", "a\nb\nc\nd\n>");
    terminal.check(expect![[r#"

        ---
        4
        a
        b
        c
        d
        >
    "#]]);
    terminal.is_overlay = false;
    terminal.draw("", ">");
    assert_eq!(terminal.text(), before);
    terminal.draw("5\n6\n7", "z\n>");
    terminal.check(expect![[r#"
        1
        2
        3
        ---
        4
        5
        6
        7
        z
        >
    "#]]);
}

#[test]
fn output_finished_while_an_overlay_is_open_is_printed_when_it_closes() {
    let mut terminal = Terminal::new();
    terminal.draw("1\n2\n3", "\n>");
    terminal.is_overlay = true;
    terminal.draw("", "a\nb\nc\nd\ne\nf");
    terminal.draw("4\n5", "a\nb\nc\nd\ne\nf");
    terminal.draw("6", "a\nb\nc\nd\ne");
    terminal.check(expect![[r#"

        ---
        6
        a
        b
        c
        d
        e
    "#]]);
    terminal.is_overlay = false;
    terminal.draw("", "\n>");
    terminal.check(expect![[r#"
        1
        2
        ---
        3
        4
        5
        6

        >
    "#]]);
}

#[test]
fn a_resize_redraws_everything_on_the_screen_at_the_new_width() {
    let mut terminal = Terminal::new();
    terminal.draw("one two three", "live\n> abc");
    terminal.check(expect![[r#"

        ---
        one two
        three
        live
        > abc
    "#]]);
    terminal.resize(20, 6);
    terminal.draw("", "live\n> abcd");
    terminal.check(expect![[r#"

        ---
        one two three
        live
        > abcd
    "#]]);
    terminal.resize(8, 6);
    terminal.draw("", "live\n> abcd");
    terminal.check(expect![[r#"

        ---
        one two
        three
        live
        > abcd
    "#]]);
}

#[test]
fn clearing_redraws_the_screen_and_keeps_the_scrollback() {
    let mut terminal = Terminal::new();
    terminal.draw("1\n2\n3\n4\n5\n6\n7", ">");
    terminal.parser.process(b"\r\nnoise of another program\r\n");
    terminal.screen.clear().unwrap();
    terminal.read();
    terminal.draw("", ">");
    terminal.check(expect![[r#"
        1
        2
        3
        4
        5
        ---
        3
        4
        5
        6
        7
        >
    "#]]);
}

/// Draws a conversation of 30 rows on an emulator that moves rows to the scrollback and back, and clears the screen after each
/// of these sizes.
fn clear_after_resizing(sizes: &[(usize, usize)]) -> Emulator {
    let (mut screen, mut emulator) = (Screen::new(Vec::new(), Theme::dark(), 40, 20), Emulator::new(40, 20));
    let draw = |screen: &mut Screen<Vec<u8>>, emulator: &mut Emulator, finished: &str, width: usize| {
        let output = ScreenOutput { pieces: notice(finished), replaces_history: false };
        let options = RenderOptions { width, ..RenderOptions::default() };
        screen.draw(output, &frame("live\n>"), options, false).unwrap();
        emulator.process(&std::mem::take(screen.out()));
    };
    let conversation: Vec<String> = (1..=30).map(|row| format!("the row number {row} of it")).collect();
    draw(&mut screen, &mut emulator, &conversation.join("\n"), 40);
    for (columns, rows) in sizes {
        emulator.resize(*columns, *rows);
        screen.resize(*columns, *rows).unwrap();
        draw(&mut screen, &mut emulator, "", *columns);
        screen.clear().unwrap();
        draw(&mut screen, &mut emulator, "", *columns);
    }
    emulator
}

#[test]
fn clearing_after_a_resize_loses_no_row() {
    for sizes in [
        &[(40, 8)][..],
        &[(40, 8), (40, 20)],
        &[(40, 30)],
        &[(20, 8)],
        &[(20, 8), (40, 20)],
        &[(60, 20)],
        &[(12, 6), (60, 40), (20, 10)],
    ] {
        let emulator = clear_after_resizing(sizes);
        let text = emulator.text();
        let words: Vec<&str> = text.split_whitespace().collect();
        for row in 1..=30 {
            let row = format!("the row number {row} of it");
            let row: Vec<&str> = row.split_whitespace().collect();
            assert!(words.windows(row.len()).any(|window| window == row), "{sizes:?}: {row:?} in {text}");
        }
        let screen = emulator.screen();
        let blank = screen.lines().filter(|line| line.trim().is_empty()).count();
        let height = sizes.last().map_or(0, |(_, rows)| *rows);
        assert!(blank == 0 || height > 30, "{sizes:?}: the screen is filled: {screen}");
    }
}

fn thinking(text: &str) -> Piece {
    Piece::thinking(text)
}

fn path(texts: &[&str]) -> ScreenOutput {
    let pieces = texts.iter().map(|text| thinking(text)).collect();
    ScreenOutput { pieces, replaces_history: true }
}

#[test]
fn a_move_keeps_the_shared_pieces_and_prints_the_new_ones() {
    let mut terminal = Terminal::new();
    terminal.output(path(&["a", "b", "c", "d"]), ">");
    terminal.check(expect![[r#"

        ∴ a

        ---
        ∴ b

        ∴ c

        ∴ d
        >
    "#]]);
    // Move back to a piece on the screen.
    terminal.output(path(&["a", "b", "c"]), ">");
    terminal.check(expect![[r#"

        ∴ a

        ---
        ∴ b

        ∴ c
        >
    "#]]);
    // Move to a branch that was never shown.
    terminal.output(path(&["a", "b", "x", "y"]), ">");
    terminal.check(expect![[r#"

        ∴ a

        ---
        ∴ b

        ∴ x

        ∴ y
        >
    "#]]);
    // Move to a branch that was shown: nothing is pushed off the screen.
    terminal.output(path(&["a", "b", "c", "d"]), ">");
    terminal.check(expect![[r#"

        ∴ a

        ---
        ∴ b

        ∴ c

        ∴ d
        >
    "#]]);
}

#[test]
fn a_path_that_was_shown_before_is_shown_again_as_far_as_it_fits() {
    let mut terminal = Terminal::new();
    terminal.output(path(&["a", "b", "c", "d", "e", "f"]), ">");
    terminal.output(path(&["g", "h", "i", "j", "k"]), ">");
    let before = terminal.text();
    terminal.output(path(&["a", "b", "c", "d", "e", "f"]), ">");
    let after = terminal.text();
    let scrollback = |text: &str| text.split("---").next().unwrap().to_owned();
    assert_eq!(scrollback(&before), scrollback(&after));
    terminal.check(expect![[r#"

        ∴ a

        ∴ b

        ∴ c


        ∴ g

        ∴ h

        ---
        … earlier
        entries are
        in /tree

        ∴ f
        >
    "#]]);
}

#[test]
fn folding_redraws_in_place_and_prints_nothing_twice() {
    let mut terminal = Terminal::new();
    let piece = |text: &str| ScreenOutput { pieces: vec![thinking(text)], replaces_history: false };
    terminal.output(piece("one\ntwo\nthree\nfour\nfive\nsix"), ">");
    terminal.check(expect![[r#"

        ---

        ∴  … 2 more…
        >
    "#]]);
    for open in [true, false, true, false, true] {
        terminal.open = open;
        terminal.output(ScreenOutput::default(), ">");
    }
    terminal.check(expect![[r#"

        ---

        ∴ one two
        ∴ three four
        ∴ five six
        >
    "#]]);
}

#[test]
fn a_long_line_is_truncated_and_its_color_is_reset() {
    let mut screen = Screen::new(Vec::new(), Theme::dark(), 5, 6);
    let line = Line::styled(ColorRole::Bad, "一二三四");
    assert_eq!(screen.paint(&line), "\x1b[91m一二\x1b[0m\x1b[90m…\x1b[0m");
    let options = RenderOptions { width: 5, ..RenderOptions::default() };
    screen.finish(ScreenOutput { pieces: notice("end"), replaces_history: false }, options).unwrap();
    assert!(String::from_utf8(screen.out.clone()).unwrap().ends_with(&format!("{CLEAR_BELOW}\x1b[?25h")));
}

#[test]
fn a_link_is_written_for_the_terminal_and_a_filled_row_is_erased_with_its_background() {
    let theme = Theme::dark().with_color_depth(ColorDepth::Palette256);
    let mut screen = Screen::new(Vec::new(), theme, 20, 5);
    let mut line = Line::styled(ColorRole::Text, "text").filled(ColorRole::UserBg);
    line.spans[0].link = Some("https://x.y".into());
    let frame = Frame { lines: vec![line], cursor: None };
    screen.draw(ScreenOutput::default(), &frame, RenderOptions::default(), false).unwrap();
    let bytes = String::from_utf8(std::mem::take(screen.out())).unwrap();
    assert!(bytes.contains("\x1b]8;;https://x.y\x1b\\text\x1b]8;;\x1b\\"), "{bytes:?}");
    assert!(bytes.contains("\x1b[48;5;236m\x1b[K\x1b[0m"), "{bytes:?}");
}

#[test]
fn a_selected_row_is_inverted_to_its_end_with_sixteen_colors() {
    let line = Line::styled(ColorRole::Text, "one").filled(ColorRole::SelectedBg);
    let painted = |depth| {
        let theme = Theme::dark().with_color_depth(depth);
        Screen::new(Vec::<u8>::new(), theme, 6, 5).paint(&line)
    };
    assert_eq!(painted(ColorDepth::Sixteen), "\x1b[7mone\x1b[0m\x1b[7m   \x1b[0m");
    assert!(!painted(ColorDepth::Palette256).contains("   "));
}

fn float(row: usize, column: usize, text: &str) -> FloatBox {
    let lines: Vec<Line> = text.lines().map(|line| Line::styled(ColorRole::Text, line)).collect();
    let width = lines.iter().map(Line::width).max().unwrap_or(0);
    FloatBox { row, column, width, lines, cursor: None }
}

#[test]
fn a_float_covers_the_conversation_and_goes_away_without_a_trace() {
    let mut terminal = Terminal::new();
    terminal.draw("a\nb\nc\nd\ne\nf\ng", "> edit");
    terminal.screen.set_floats(vec![float(1, 2, "╭──╮\n│hi│\n╰──╯")]);
    terminal.draw("", "> edit");
    assert_eq!(terminal.text(), "a\nb\n---\nc\nd ╭──╮\ne │hi│\nf ╰──╯\ng\n> edit\n");
    // Finished output moves the rows below it, but none is pushed up.
    terminal.screen.set_floats(vec![float(1, 2, "╭──╮\n│ho│\n╰──╯")]);
    terminal.draw("h", "> edit");
    assert_eq!(terminal.text(), "a\nb\n---\nd\ne ╭──╮\nf │ho│\ng ╰──╯\nh\n> edit\n");
    terminal.screen.set_floats(Vec::new());
    terminal.draw("", "> edit");
    assert_eq!(terminal.text(), "a\nb\nc\n---\nd\ne\nf\ng\nh\n> edit\n");
}
