//! Markdown as lines of a width. Text that is still being written is fine: what is open is drawn as if it ended there.
//!
//! A text is cut into [chunks](chunks) that are drawn one after the other, so that a reply that is being written and one that
//! is read from a session get the same lines. HTML is shown as text, and a link shows its address. For the same reason a
//! reference (`[text][1]`) is not resolved: its definition may come much later. Both are shown as they are written.

mod chunks;
mod highlight;
mod page;
mod table;

use std::borrow::Cow;

use pulldown_cmark::{Options, Parser};

pub(crate) use chunks::{Chunk, Chunker};
pub(crate) use highlight::highlight;

use crate::text::Line;
use crate::theme::ColorRole;
use chunks::Joint;
use page::Page;

/// Markdown beyond CommonMark that is known.
const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// How often definitions of references are looked for in a chunk. One that repeats a label is found one round later.
const ROUNDS: usize = 8;

/// Draws Markdown. Words that have no style of their own get this one.
pub(crate) fn markdown(text: &str, role: ColorRole, most: usize) -> Vec<Line> {
    let mut edge = Edge::default();
    let mut lines = Vec::new();
    for chunk in Chunker::default().rest(text) {
        let (more, after) = chunk.draw(edge, role, most);
        lines.extend(more);
        edge = after;
    }
    lines
}

/// How the chunks that are drawn already end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Edge {
    /// There are lines before.
    before: bool,
    /// A blank line is due before the next block.
    gap: bool,
    /// The next number of the last list; none for bullets.
    list: Option<Option<u64>>,
    /// The last code block ends inside a comment.
    in_comment: bool,
}

impl Edge {
    /// Nothing was drawn before.
    pub(crate) fn is_top(self) -> bool {
        !self.before
    }
}

impl Chunk {
    /// The lines of this chunk below those before it.
    pub(crate) fn draw(&self, edge: Edge, role: ColorRole, most: usize) -> (Vec<Line>, Edge) {
        let mut page = Page::new(role, most.max(8), edge);
        let text = match &self.joint {
            Joint::Block => Cow::Borrowed(self.text.as_str()),
            Joint::Item => {
                page.continue_list(edge);
                Cow::Borrowed(self.text.as_str())
            }
            Joint::Code(opener) => {
                page.continue_code(edge);
                Cow::Owned(format!("{opener}{}", self.text))
            }
        };
        for event in Parser::new_ext(&escape_definitions(text), OPTIONS) {
            page.take(event);
        }
        page.finish()
    }
}

/// The text with its definitions of references as ordinary text.
fn escape_definitions(mut text: Cow<'_, str>) -> Cow<'_, str> {
    for _ in 0..ROUNDS {
        let parser = Parser::new_ext(&text, OPTIONS);
        let mut starts: Vec<usize> =
            parser.reference_definitions().iter().map(|(_, definition)| definition.span.start).collect();
        if starts.is_empty() {
            break;
        }
        starts.sort_unstable_by(|one, other| other.cmp(one));
        let mut escaped = text.into_owned();
        for start in starts {
            escaped.insert(start, '\\');
            // Each stays on a line of its own.
            let before = escaped[..start].trim_end_matches(' ');
            if before.ends_with('\n') && !before.ends_with("\n\n") {
                escaped.insert(before.len() - 1, '\\');
            }
        }
        text = Cow::Owned(escaped);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::plain;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(text: &str, most: usize, expected: Expect) {
        expected.assert_eq(&plain(&markdown(text, ColorRole::Text, most)));
    }

    #[test]
    fn blocks_are_parted_by_one_line() {
        check(
            "# Title\nSome *text* that is\nsoftly broken, and goes on over the edge.\n\n> quoted **words**\n> more\n\n---\nend",
            32,
            expect![[r#"
                Title

                Some text that is softly broken,
                and goes on over the edge.

                │ quoted words more

                ────────────────────────

                end
            "#]],
        );
    }

    #[test]
    fn lists_nest_and_hang() {
        check(
            "1. first point that is too long\n2. second\n   - inner\n   - [x] done\n\n     another paragraph\n\nafter",
            24,
            expect![[r#"
                1. first point that is
                   too long
                2. second
                   • inner
                   • [x] done

                     another paragraph

                after
            "#]],
        );
    }

    #[test]
    fn code_keeps_its_lines_and_an_open_fence_is_no_problem() {
        check(
            "see:\n```rust\nfn main() {\n    let long = \"a string\";\n",
            24,
            expect![[r#"
                see:

                  fn main() {
                      let long = "a stri
                  ng";
            "#]],
        );
    }

    #[test]
    fn links_show_where_they_lead_and_html_is_text() {
        check(
            "[docs](https://x.y/z), <https://a.b>, ![cat](c.png), <b>bold</b> `<i>`",
            80,
            expect![[r#"
                docs (https://x.y/z), https://a.b, [image: cat], <b>bold</b> <i>
            "#]],
        );
    }

    #[test]
    fn tables_fit() {
        check(
            "|名字|what it is|\n|-|-|\n|一二|a rather long description of it|\n|x|y|",
            30,
            expect![[r#"
                名字 │ what it is
                ─────┼────────────────────────
                一二 │ a rather long
                     │ description of it
                x    │ y
            "#]],
        );
    }

    #[test]
    fn styles_nest() {
        let lines = markdown("a *b **c*** `d`", ColorRole::Text, 80);
        assert_eq!(lines[0].to_markup(), "a {text italic|b }{text bold italic|c} {code|d}");
    }

    #[test]
    fn hostile_text_is_inert() {
        let lines = markdown("x \u{1b}]0;t\u{7} `\u{1b}[2J`\n```\n\u{1b}[1A\n```", ColorRole::Text, 80);
        assert!(!plain(&lines).contains('\u{1b}'));
    }

    /// The whole text without cutting it.
    fn uncut(text: &str, most: usize) -> Vec<Line> {
        let chunk = Chunk { text: text.to_owned(), joint: Joint::Block };
        chunk.draw(Edge::default(), ColorRole::Text, most).0
    }

    #[track_caller]
    fn check_cuts(text: &str, count: usize) {
        assert_eq!(Chunker::default().rest(text).len(), count, "{text:?}");
        let marked = |lines: Vec<Line>| lines.iter().map(|line| line.to_markup() + "\n").collect::<String>();
        assert_eq!(marked(markdown(text, ColorRole::Text, 40)), marked(uncut(text, 40)), "{text:?}");
    }

    #[test]
    fn cutting_changes_nothing() {
        check_cuts("# Title\ntext\n\nmore\n\n> a\n\n> b\n\nend", 5);
        check_cuts("1. one\n1. two\n\n   more\n1. three\n   - a\n   - b\n\ntext\n5. no item", 4);
        check_cuts("text:\n- a\n- b\n\n\n- c\n* other list\n\n  more\n* x", 4);
        check_cuts("- a\n  ```\n  x\n\n  y\n  ```\n- b\nlazy\n- c", 3);
        check_cuts("```c\n/* a\n\n\nb */ int c;\n```\n\n\n```\nx\n\ny\n\n```\nend", 5);
        check_cuts("1. a\n  ```\nx\n\ny\n  ```\nz", 3);
        check_cuts("<div>\n```\n</div>\n\n<!-- a\n\nb -->\n\n<pre>\n\n- x\n\n</pre>\n\nend", 4);
        check_cuts("| a |\n|---|\n| b |\n\nSetext\n---\n    code\n\n    code\n\nend", 3);
        check_cuts("- - -\n- a\n- - -\n- b", 1);
        check_cuts("  - a\n\n- b\n\n  c\n\nd", 3);
    }

    #[test]
    fn references_and_their_definitions_are_shown_as_they_are_written() {
        check(
            "See [the *docs*][1] and [1].\n\n[1]: https://x.y/z \"Title\"\n[two]: /b\n\n- [1]: /again\n- [1]",
            60,
            expect![[r#"
                See [the docs][1] and [1].

                [1]: https://x.y/z "Title"
                [two]: /b

                • [1]: /again
                • [1]
            "#]],
        );
    }
}
