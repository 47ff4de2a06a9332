//! Markup stays proportional to what it shows: no message can make a page much larger than itself.
#![allow(clippy::unwrap_used)]

use osier_viewer::entry::render_line;
use osier_viewer::{render_diff, render_markdown};
use proptest::prelude::*;
use serde_json::json;

/// A hidden character of one byte becomes a code in an element, which is the largest part of markup for a byte.
const MAX_FACTOR: usize = 64;
/// Elements around a text, whatever its length.
const MAX_FRAME: usize = 4_000;
/// Markdown may expand references up to this size.
const MAX_EXPANSION: usize = 110_000;

fn check(text: &str) {
    let limit = text.len() * MAX_FACTOR + MAX_FRAME;
    let markdown = render_markdown(text).len();
    assert!(markdown <= limit + MAX_EXPANSION, "{markdown} bytes from {}: {text:.60}", text.len());
    assert!(render_diff(text).len() <= limit, "diff: {text:.60}");
    let message = |message: serde_json::Value| {
        json!({ "type": "message", "id": "1", "parentId": null, "message": message }).to_string()
    };
    let user = message(json!({ "role": "user", "content": text }));
    let result = message(
        json!({ "role": "toolResult", "toolCallId": "c", "toolName": "bash", "content": [{ "type": "text", "text": text }] }),
    );
    for line in [user, result] {
        let rendered = render_line(line.as_bytes()).unwrap().len();
        assert!(rendered <= limit + MAX_EXPANSION, "{rendered} bytes from {}: {text:.60}", text.len());
    }
}

#[test]
fn texts_that_are_made_to_expand_do_not() {
    let rows = 300;
    let wide_table = format!("|{}\n|{}\n{}", "a|".repeat(rows), "-|".repeat(rows), "|\n".repeat(rows));
    let references = format!("[a]: http://x/{}\n\n{}", "y".repeat(20_000), "[a] ".repeat(2_000));
    let footnotes = format!("{}\n\n{}", "[^a]".repeat(2_000), "[^a]: note\n".repeat(500));
    for text in [
        wide_table,
        references,
        footnotes,
        "\0".repeat(20_000),
        "\u{202e}".repeat(10_000),
        "<".repeat(20_000),
        "*a ".repeat(10_000),
        "[".repeat(20_000),
        "> ".repeat(10_000),
        "- ".repeat(5_000),
        "`".repeat(20_000),
        "# \n".repeat(10_000),
        "1. a\n".repeat(5_000),
        "![a](b)".repeat(5_000),
        "http://a ".repeat(5_000),
        "```\nx\n```\n".repeat(3_000),
        "|a|\n|-|\n\n".repeat(2_000),
        "\x1b[31m".repeat(5_000),
        "+\n-\n".repeat(8_000),
    ] {
        check(&text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn markup_is_proportional_to_the_text(text in "([a-c \n\t*_`#>|<&\\[\\]()!:~\\-+0-9.\u{0}\u{200b}\u{202e}é漢]|```|\\| a |\n\n|- \\[ \\] |http://a.b/ ){0,400}") {
        check(&text);
    }
}
