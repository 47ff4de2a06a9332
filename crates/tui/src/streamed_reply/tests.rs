//! Compares streamed replies with stored ones.

use osier_protocol::entry_view::{AssistantView, ReplyBlockView};
use proptest::prelude::*;

use super::*;
use crate::testing::random::{any_markdown, piece_lengths, split_pieces};
use crate::text::plain;
use crate::transcript::assistant_pieces;

fn look(width: usize, open: bool) -> RenderOptions<'static> {
    RenderOptions { width, expanded: open, ..RenderOptions::default() }
}

fn start(draft: &mut StreamedReply) -> Vec<Piece> {
    let deltas = [
        ReplyDelta::ThinkingStart { block: 0 },
        ReplyDelta::ThinkingDelta { block: 0, delta: "hm\nlong".to_owned() },
        ReplyDelta::ThinkingEnd { block: 0 },
        ReplyDelta::TextStart { block: 1 },
    ];
    deltas.iter().flat_map(|delta| draft.push_delta(delta)).collect()
}

fn push(draft: &mut StreamedReply, piece: &str) -> Vec<Piece> {
    draft.push_delta(&ReplyDelta::TextDelta { block: 1, delta: piece.to_owned() })
}

fn stored(text: &str) -> Vec<Piece> {
    let blocks = vec![ReplyBlockView::Thinking("hm\nlong".to_owned()), ReplyBlockView::Text(text.to_owned())];
    assistant_pieces(&AssistantView { blocks, ..AssistantView::default() })
}

/// Lines with their styles.
fn marked(pieces: &[Piece], options: RenderOptions<'_>) -> String {
    draw_all(pieces, options).iter().map(|line| line.to_markup() + "\n").collect()
}

/// Checks that after every delta the screen shows what it would show if the text so far were a stored reply, and that printed
/// pieces never change.
fn check(text: &str, lengths: &[usize], widths: &[usize]) {
    let mut draft = StreamedReply::default();
    let mut printed = start(&mut draft);
    let mut so_far = String::new();
    for (at, piece) in split_pieces(text, lengths).iter().enumerate() {
        printed.extend(push(&mut draft, piece));
        so_far.push_str(piece);
        let options = look(widths[at % widths.len()], at % 2 == 0);
        let shown: Vec<Piece> = printed.iter().cloned().chain(draft.open_pieces()).collect();
        assert_eq!(marked(&shown, options), marked(&stored(&so_far), options), "after {so_far:?}");
    }
    printed.extend(draft.unprinted(stored(text)));
    for width in widths {
        let options = look(*width, false);
        assert_eq!(marked(&printed, options), marked(&stored(text), options), "{text:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_streamed_reply_is_drawn_as_the_stored_one(
        text in any_markdown(),
        lengths in piece_lengths(),
        widths in proptest::collection::vec(8_usize..100, 1..5),
    ) {
        check(&text, &lengths, &widths);
    }
}

#[test]
fn a_table_can_be_streamed_in_deltas_of_any_size() {
    let text = "Intro\n\n| name | what it is |\n|---|---|\n| a | first |\n| b | a rather long one |\n\nend\n";
    for size in 1..12 {
        check(text, &[size], &[60, 24]);
    }
}

#[test]
fn only_the_end_of_a_long_reply_can_still_change() {
    let line = |number: usize| if number % 7 == 3 { "\n".into() } else { format!("let x{number} = 1;\n") };
    let code: String = (0..500).map(line).collect();
    let prose: String = (0..300).map(|number| format!("Paragraph {number} says so.\n\n")).collect();
    let list: String = (0..300).map(|number| format!("1. item {number}\n   - below\n")).collect();
    for text in [format!("{prose}```rust\n{code}"), format!("```rust\n{code}```\n\n{prose}"), list] {
        check(&text[..2000], &[20], &[60]);
        let mut draft = StreamedReply::default();
        start(&mut draft);
        for piece in split_pieces(&text, &[20]) {
            push(&mut draft, &piece);
            assert!(
                draft.live_lines(look(60, false)).len() <= 5,
                "{}",
                plain(&draft.live_lines(look(60, false)))
            );
        }
    }
}

#[test]
fn a_stored_reply_that_differs_from_the_stream_is_printed_from_the_difference_on() {
    let mut draft = StreamedReply::default();
    let mut printed = start(&mut draft);
    printed.extend(push(&mut draft, "one\n\ntwo\n\nthr"));
    let stored = stored("one\n\nTWO\n\nthree");
    printed.extend(draft.unprinted(stored));
    assert_eq!(plain(&draw_all(&printed, look(60, false))), "\n∴ hm long\n\none\n\nTWO\n\nthree\n");
}
