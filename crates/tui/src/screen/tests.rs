//! Draws frames on terminal emulators.

use expect_test::{Expect, expect};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::draft::Draft;
use crate::testing::emulator::Emulator;
use crate::testing::random::{any_markdown, cuts, pieces};
use crate::theme::Role;
use crate::transcript::assistant;

struct Terminal {
    screen: Screen<Vec<u8>>,
    parser: vt100::Parser,
    columns: u16,
    is_overlay: bool,
    open: bool,
}

fn notice(text: &str) -> Vec<Piece> {
    text.lines().map(|line| Piece::notice(vec![Line::of(Role::Text, line)])).collect()
}

fn frame(text: &str) -> Frame {
    let lines: Vec<Line> = text.lines().map(|line| Line::of(Role::Text, line)).collect();
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
        self.output(Output { pieces: notice(finished), replaces: false }, live);
    }

    fn output(&mut self, output: Output, live: &str) {
        let look = Look { width: self.columns.into(), open: self.open, ..Look::default() };
        self.screen.draw(output, &frame(live), look, self.is_overlay).unwrap();
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
    let look = Look { width: 12, ..Look::default() };
    let output = |text: &str| Output { pieces: notice(text), replaces: false };
    for (finished, is_overlay) in [("", false), ("done", false), ("", true), ("more", true), ("", false)] {
        terminal.screen.draw(output(finished), &frame(full), look, is_overlay).unwrap();
        note(&mut terminal);
    }
    terminal.screen.resize(8, 6).unwrap();
    terminal.screen.clear().unwrap();
    terminal.screen.leave(output("the end"), look).unwrap();
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

fn thinking(text: &str) -> Piece {
    Piece::thinking(text)
}

fn path(texts: &[&str]) -> Output {
    let pieces = texts.iter().map(|text| thinking(text)).collect();
    Output { pieces, replaces: true }
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
    let piece = |text: &str| Output { pieces: vec![thinking(text)], replaces: false };
    terminal.output(piece("one\ntwo\nthree\nfour\nfive\nsix"), ">");
    terminal.check(expect![[r#"

        ---

        ∴  … 2 more…
        >
    "#]]);
    for open in [true, false, true, false, true] {
        terminal.open = open;
        terminal.output(Output::default(), ">");
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
    let line = Line::of(Role::Bad, "一二三四");
    assert_eq!(screen.painted(&line), "\x1b[91m一二\x1b[0m\x1b[90m…\x1b[0m");
    let look = Look { width: 5, ..Look::default() };
    screen.leave(Output { pieces: notice("end"), replaces: false }, look).unwrap();
    assert!(String::from_utf8(screen.out.clone()).unwrap().ends_with(&format!("{BELOW}\x1b[?25h")));
}

/// A reply that is streamed while the terminal is resized, on an emulator that rewraps lines.
struct Streamed {
    screen: Screen<Vec<u8>>,
    emulator: Emulator,
    draft: Draft,
    size: (usize, usize),
    is_overlay: bool,
}

impl Streamed {
    fn new(columns: usize, rows: usize) -> Streamed {
        let screen = Screen::new(Vec::new(), Theme::dark(), columns, rows);
        let emulator = Emulator::new(columns, rows);
        let mut draft = Draft::default();
        draft.push(r#"{"type":"text_start"}"#);
        Streamed { screen, emulator, draft, size: (columns, rows), is_overlay: false }
    }

    fn look(&self) -> Look<'static> {
        Look { width: self.size.0, ..Look::default() }
    }

    fn push(&mut self, piece: &str) {
        let delta = serde_json::json!({ "type": "text_delta", "delta": piece }).to_string();
        let pieces = self.draft.push(&delta);
        self.draw(pieces);
    }

    fn draw(&mut self, pieces: Vec<Piece>) {
        let mut lines = self.draft.live(self.look());
        // Keep as much as the view shows.
        lines.drain(..lines.len().saturating_sub((self.size.1 / 3).max(4)));
        if self.is_overlay {
            lines.extend((0..8).map(|_| Line::of(Role::Text, "a row of the overlay")));
        }
        lines.extend([Line::new(), Line::of(Role::Text, "> "), Line::of(Role::Dim, "status")]);
        let cursor = Some((lines.len() - 2, 2));
        let output = Output { pieces, replaces: false };
        self.screen.draw(output, &Frame { lines, cursor }, self.look(), self.is_overlay).unwrap();
        self.read();
    }

    fn resize(&mut self, columns: usize, rows: usize) {
        self.size = (columns, rows);
        self.emulator.resize(columns, rows);
        self.screen.resize(columns, rows).unwrap();
        self.read();
        self.draw(Vec::new());
    }

    /// Whether the terminal can rewrap the live rows at another width without pushing any of them into the scrollback.
    fn has_room_to_rewrap(&self, columns: usize, rows: usize) -> bool {
        let above = self.emulator.cursor_row().saturating_sub(self.screen.cursor.0);
        let added =
            self.screen.shown.iter().map(|(_, width)| width.max(&1).div_ceil(columns) - 1).sum::<usize>();
        above >= added + self.size.1.saturating_sub(rows)
    }

    fn end(&mut self, text: &str) {
        let content = serde_json::json!({ "content": [{ "type": "text", "text": text }] });
        let rest = std::mem::take(&mut self.draft).rest(assistant(&content));
        self.draw(rest);
    }

    fn read(&mut self) {
        let bytes = std::mem::take(self.screen.out());
        self.emulator.process(&bytes);
    }
}

fn words(text: &str) -> Vec<&str> {
    let is_word = |word: &&str| word.starts_with('w') && word[1..].chars().all(|ch| ch.is_ascii_digit());
    text.split_whitespace().filter(is_word).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Without a resize, scrollback and screen equal those of the text printed at once.
    #[test]
    fn a_streamed_reply_looks_like_one_printed_at_once(
        text in any_markdown(), lengths in cuts(), columns in 10_usize..100, rows in 8_usize..30,
    ) {
        let mut streamed = Streamed::new(columns, rows);
        for piece in pieces(&text, &lengths) {
            streamed.push(&piece);
        }
        streamed.end(&text);
        let mut whole = Streamed::new(columns, rows);
        whole.end(&text);
        prop_assert_eq!(streamed.emulator.text(), whole.emulator.text());
    }

    /// After any resizes, each word is there once and in order. The live rows fit on every screen, and there is enough above
    /// them: a terminal pushes the top rows of the screen into the scrollback, and cannot be kept from pushing live rows that
    /// are at the top.
    #[test]
    fn resize_keeps_every_word_once(
        blocks in vec((0_usize..4, 1_usize..40), 1..12), lengths in cuts(),
        sizes in vec((40_usize..80, 22_usize..28, 0_usize..40), 1..6),
    ) {
        let text = numbered(&blocks);
        let mut streamed = Streamed::new(sizes[0].0, sizes[0].1);
        // The screen is full.
        streamed.draw(notice(&"line\n".repeat(40)));
        let mut sizes = sizes.iter().cycle();
        let mut next = 0;
        for (at, piece) in pieces(&text, &lengths).iter().enumerate() {
            streamed.push(piece);
            if at == next {
                let (columns, rows, wait) = sizes.next().unwrap();
                if streamed.has_room_to_rewrap(*columns, *rows) {
                    streamed.resize(*columns, *rows);
                }
                next += wait + 1;
            }
        }
        streamed.end(&text);
        let shown = streamed.emulator.text();
        prop_assert_eq!(words(&shown), words(&text), "{}", shown);
        let screen = streamed.emulator.screen();
        prop_assert!(screen.ends_with("> \nstatus\n") || screen.ends_with(">\nstatus\n"), "{}", screen);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// A terminal that shrinks while an overlay covers a part of the conversation pushes rows into its scrollback before the
    /// covered ones. All is printed in order when the overlay closes, so those rows appear twice, but nothing is lost. A
    /// terminal that grows pushes nothing.
    #[test]
    fn a_resize_under_an_overlay_loses_nothing(
        blocks in vec((0_usize..4, 1_usize..40), 1..12), before in (40_usize..80, 22_usize..28),
        sizes in vec((40_usize..80, 22_usize..28), 1..4),
    ) {
        let text = numbered(&blocks);
        let mut streamed = Streamed::new(before.0, before.1);
        streamed.draw(notice(&"line\n".repeat(40)));
        streamed.push(&text);
        streamed.end(&text);
        streamed.is_overlay = true;
        streamed.draw(Vec::new());
        for (columns, rows) in &sizes {
            streamed.resize(*columns, *rows);
        }
        streamed.is_overlay = false;
        streamed.draw(Vec::new());
        let shown = streamed.emulator.text();
        // A row that the terminal broke and pushed up may be glued to what was printed below it.
        let all: String = shown.split_whitespace().collect();
        let mut rest = all.as_str();
        for word in words(&text) {
            let found = rest.split_once(word);
            prop_assert!(found.is_some(), "{} is lost: {}", word, all);
            rest = found.unwrap().1;
        }
        let mut size = before;
        let grows = sizes.iter().all(|next| {
            let grows = next.0 >= size.0 && next.1 >= size.1;
            size = *next;
            grows
        });
        if grows {
            prop_assert_eq!(words(&shown), words(&text));
        }
    }
}

/// Paragraphs, items, code and quotes of numbered words.
fn numbered(blocks: &[(usize, usize)]) -> String {
    let (mut text, mut number) = (String::new(), 0);
    for (kind, count) in blocks {
        let words: Vec<String> = (0..*count)
            .map(|_| {
                number += 1;
                format!("w{number}")
            })
            .collect();
        match kind {
            0 => text += &format!("{}\n\n", words.join(" ")),
            1 => text += &format!("- {}\n", words.join(" ")),
            2 => text += &format!("\n```\n{}\n```\n\n", words.join("\n")),
            _ => text += &format!("\n> {}\n\n", words.join("\n> ")),
        }
    }
    text
}
