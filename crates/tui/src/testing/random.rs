//! Random Markdown, and random ways to split it into pieces.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

/// Lines with Markdown syntax, alone or in combination.
#[rustfmt::skip]
const LINES: &[&str] = &[
    "", "", "", "", "plain words", "more *soft* **bold** ~~gone~~ `code` words that go on over the edge of narrow screens",
    "# Heading", "## Second #", "#", "#tag", "Setext", "===", "---", "-", "- - -", "* * *",
    "- item", "- another item that is too long for one line", "-", "* star", "+ plus", "  - nested", "    - deeper", "   text of an item",
    "1. one", "2. two", "1. again", "7) seven", "  2. inner", "10. ten", "- [ ] to do", "- [x] done", "-    wide item", "lazy words",
    "| a | b |", "|---|---|", "|-|:-:|", "| 一二 | a rather long description of it |", "| 1 |", "|", "a | b", "--|--", "| `x|y` | z |",
    "```", "```rust", "~~~", "~~~~", "````md", "  ```", "    ```", "let x = \"a\"; // b", "/* a comment", "ends */ here", "\tindented by a tab",
    "    indented code", "   three spaces", "> quote", ">", "> - item in a quote", "> ```", "> | a |", "> > deeper", ">no space",
    "<div>", "</div>", "<b>bold</b> words", "<!-- a comment", "-->", "<!-- whole -->", "<pre>", "</pre>", "<script>x", "<?php", "?>",
    "[ref]: https://x.y/z", "[ref]: /other \"title", "title\"", "see [ref] and [text][ref]", "[docs](https://a.b/c d)", "[docs](https://a.b/c)", "<https://a.b>",
    "![cat](c.png)", "[open", "](x)", "**open", "still open**", "`open", "hard break  ", "hard\\", "你好，世界：这是一个很长的句子，要换行。", "👩‍👩‍👧 🎉 e\u{301}", "\\*not\\*", "&amp; &copy;", "$x$", "a\u{1b}[2Jb",
];

/// Lines in any order, including combinations that a model would never write.
pub(crate) fn any_markdown() -> impl Strategy<Value = String> {
    let line = prop_oneof![9 => select(LINES).prop_map(str::to_owned), 1 => "[ -~]{0,20}"];
    (vec((line, select(&["\n", "\n", "\n", "\n\n", "\r\n"][..])), 0..25), any::<bool>()).prop_map(
        |(lines, is_ended)| {
            let text: String = lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect();
            if is_ended { text } else { text.trim_end_matches(['\n', '\r']).to_owned() }
        },
    )
}

/// Lengths of the pieces of a text.
pub(crate) fn piece_lengths() -> impl Strategy<Value = Vec<usize>> {
    prop_oneof![vec(1_usize..9, 1..4), vec(1_usize..60, 1..8)]
}

/// Splits a text into pieces of these lengths in characters, in a cycle.
pub(crate) fn split_pieces(text: &str, lengths: &[usize]) -> Vec<String> {
    let mut letters = text.chars().peekable();
    let mut pieces = Vec::new();
    for length in lengths.iter().cycle() {
        if letters.peek().is_none() {
            break;
        }
        pieces.push(letters.by_ref().take(*length).collect());
    }
    pieces
}
