//! Replies that are streamed while the terminal changes its size.

use osier_protocol::ReplyDelta;
use osier_protocol::entry_view::{AssistantView, ReplyBlockView};
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::code::CodeColors;
use crate::streamed_reply::StreamedReply;
use crate::testing::random::{any_markdown, piece_lengths, split_pieces};
use crate::transcript::assistant_pieces;

/// A reply that is streamed while the terminal is resized, on an emulator that rewraps lines.
struct Streamed {
    screen: Screen<Vec<u8>>,
    emulator: Emulator,
    draft: StreamedReply,
    size: (usize, usize),
    is_overlay: bool,
}

impl Streamed {
    fn new(columns: usize, rows: usize) -> Streamed {
        let screen = Screen::new(Vec::new(), Theme::dark(), columns, rows);
        let emulator = Emulator::new(columns, rows);
        let mut draft = StreamedReply::default();
        draft.push_delta(&ReplyDelta::TextStart { block: 0 });
        Streamed { screen, emulator, draft, size: (columns, rows), is_overlay: false }
    }

    fn look(&self) -> RenderOptions<'static> {
        RenderOptions { width: self.size.0, ..RenderOptions::default() }
    }

    fn push(&mut self, piece: &str) {
        let delta = ReplyDelta::TextDelta { block: 0, delta: piece.to_owned() };
        let pieces = self.draft.push_delta(&delta);
        self.draw(pieces);
    }

    fn draw(&mut self, pieces: Vec<Piece>) {
        let mut lines = self.draft.live_lines(self.look());
        // Keep as much as the view shows.
        lines.drain(..lines.len().saturating_sub((self.size.1 / 3).max(4)));
        if self.is_overlay {
            lines.extend((0..8).map(|_| Line::styled(ColorRole::Text, "a row of the overlay")));
        }
        lines.extend([
            Line::new(),
            Line::styled(ColorRole::Text, "> "),
            Line::styled(ColorRole::Dim, "status"),
        ]);
        let cursor = Some((lines.len() - 2, 2));
        let output = ScreenOutput { pieces, replaces_history: false };
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
            self.screen.live_rows.iter().map(|(_, width)| width.max(&1).div_ceil(columns) - 1).sum::<usize>();
        above >= added + self.size.1.saturating_sub(rows)
    }

    fn end(&mut self, text: &str) {
        let blocks = vec![ReplyBlockView::Text(text.to_owned())];
        let reply = AssistantView { blocks, ..AssistantView::default() };
        let rest = std::mem::take(&mut self.draft).unprinted(assistant_pieces(&reply));
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
        text in any_markdown(), lengths in piece_lengths(), columns in 10_usize..100, rows in 8_usize..30,
    ) {
        let mut streamed = Streamed::new(columns, rows);
        for piece in split_pieces(&text, &lengths) {
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
        blocks in vec((0_usize..4, 1_usize..40), 1..12), lengths in piece_lengths(),
        sizes in vec((40_usize..80, 22_usize..28, 0_usize..40), 1..6),
    ) {
        let text = numbered(&blocks);
        let mut streamed = Streamed::new(sizes[0].0, sizes[0].1);
        // The screen is full.
        streamed.draw(notice(&"line\n".repeat(40)));
        let mut sizes = sizes.iter().cycle();
        let mut next = 0;
        for (at, piece) in split_pieces(&text, &lengths).iter().enumerate() {
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

/// Code is printed before its colors are known. When they arrive, the rows on the screen get them.
#[test]
fn code_on_the_screen_gets_its_colors_later() {
    let mut terminal = Terminal::new();
    let colors = CodeColors::default();
    let text = "```rust\nlet a;\nlet b;\nlet c;\nlet d;\nlet e;\nlet f;\n```";
    let pieces = assistant_pieces(&AssistantView {
        blocks: vec![ReplyBlockView::Text(text.to_owned())],
        ..AssistantView::default()
    });
    let draw = |terminal: &mut Terminal, pieces: Vec<Piece>| {
        let options = RenderOptions { width: 12, code: Some(&colors), ..RenderOptions::default() };
        let output = ScreenOutput { pieces, replaces_history: false };
        terminal.screen.draw(output, &frame("> "), options, false).unwrap();
        terminal.read();
        let screen = terminal.parser.screen();
        let cell = |row: u16| screen.cell(row, 2).unwrap();
        (0..5).map(|row| (cell(row).contents().to_owned(), cell(row).fgcolor())).collect::<Vec<_>>()
    };
    let plain = draw(&mut terminal, pieces);
    assert!(plain.iter().all(|cell| *cell == ("l".to_owned(), vt100::Color::Default)), "{plain:?}");
    colors.answer_requests();
    let colored = draw(&mut terminal, Vec::new());
    assert!(
        colored.iter().all(|(text, color)| text == "l" && *color != vt100::Color::Default),
        "{colored:?}"
    );
}
