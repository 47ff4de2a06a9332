//! Renders Markdown as lines of a given width. The text may be incomplete: open blocks are drawn as if they ended there.
//!
//! The text is split into [chunks](chunks) that are drawn one after the other, so a streamed reply and a stored one get the same
//! lines. HTML is shown as text, and a link shows its address. References (`[text][1]`) are not resolved, because the definition
//! may arrive much later; both are shown as written.

mod chunks;
mod renderer;
mod table;

use std::borrow::Cow;

use pulldown_cmark::{Options, Parser};

pub(crate) use chunks::{Chunk, Chunker};

use crate::code::{CodeColors, CodePart};
use crate::text::Line;
use crate::theme::ColorRole;
use chunks::ChunkStart;
use renderer::MarkdownRenderer;

/// The supported extensions to CommonMark.
const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// How many times a chunk is searched for reference definitions. Each pass finds one definition per label.
const MAX_DEFINITION_PASSES: usize = 8;

/// Renders Markdown. `role` styles text without a style of its own.
pub(crate) fn render_markdown(
    text: &str,
    role: ColorRole,
    max_width: usize,
    colors: Option<&CodeColors>,
) -> Vec<Line> {
    let mut chunk_end = ChunkEnd::default();
    let mut lines = Vec::new();
    for chunk in Chunker::default().remaining(text) {
        let (more, after) = chunk.draw(&chunk_end, role, max_width, colors);
        lines.extend(more);
        chunk_end = after;
    }
    lines
}

/// How the chunks drawn so far end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(crate) struct ChunkEnd {
    /// Lines were drawn before.
    has_lines: bool,
    /// The next block needs a blank line before it.
    needs_gap: bool,
    /// The next number of the last list; `Some(None)` for bullets.
    next_list_number: Option<Option<u64>>,
    /// The last code block, which the next chunk may continue.
    code: Option<CodePart>,
}

impl ChunkEnd {
    pub(crate) fn is_top(&self) -> bool {
        !self.has_lines
    }
}

impl Chunk {
    /// Draws this chunk below the previous ones.
    pub(crate) fn draw(
        &self,
        chunk_end: &ChunkEnd,
        role: ColorRole,
        max_width: usize,
        colors: Option<&CodeColors>,
    ) -> (Vec<Line>, ChunkEnd) {
        let mut page = MarkdownRenderer::new(role, max_width.max(8), chunk_end, colors);
        let text = match &self.start {
            ChunkStart::Block => Cow::Borrowed(self.text.as_str()),
            ChunkStart::Item => {
                page.continue_list(chunk_end);
                Cow::Borrowed(self.text.as_str())
            }
            ChunkStart::Code(opener) => {
                page.continue_code(chunk_end);
                Cow::Owned(format!("{opener}{}", self.text))
            }
        };
        for event in Parser::new_ext(&escape_definitions(text), OPTIONS) {
            page.handle_event(event);
        }
        page.finish()
    }
}

/// Escapes reference definitions, so that they are drawn as ordinary text.
fn escape_definitions(mut text: Cow<'_, str>) -> Cow<'_, str> {
    for _ in 0..MAX_DEFINITION_PASSES {
        let parser = Parser::new_ext(&text, OPTIONS);
        let mut starts: Vec<usize> =
            parser.reference_definitions().iter().map(|(_, definition)| definition.span.start).collect();
        if starts.is_empty() {
            break;
        }
        starts.sort_unstable_by(|a, b| b.cmp(a));
        let mut escaped = text.into_owned();
        for start in starts {
            escaped.insert(start, '\\');
            // Keep each definition on its own line.
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
    fn check(text: &str, max_width: usize, expected: Expect) {
        expected.assert_eq(&plain(&render_markdown(text, ColorRole::Text, max_width, None)));
    }

    #[test]
    fn blocks_are_separated_by_one_blank_line() {
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
    fn lists_nest_and_wrapped_items_are_indented() {
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
    fn code_keeps_its_lines_and_a_fence_may_be_open() {
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
    fn links_show_their_address_and_html_is_text() {
        check(
            "[docs](https://x.y/z), <https://a.b>, ![cat](c.png), <b>bold</b> `<i>`",
            80,
            expect![[r#"
                docs (https://x.y/z), https://a.b, [image: cat], <b>bold</b> <i>
            "#]],
        );
    }

    #[test]
    fn tables_fit_the_width() {
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
        let lines = render_markdown("a *b **c*** `d`", ColorRole::Text, 80, None);
        assert_eq!(lines[0].to_markup(), "a {text italic|b }{text bold italic|c} {code|d}");
    }

    #[test]
    fn escape_sequences_in_text_are_removed() {
        let lines =
            render_markdown("x \u{1b}]0;t\u{7} `\u{1b}[2J`\n```\n\u{1b}[1A\n```", ColorRole::Text, 80, None);
        assert!(!plain(&lines).contains('\u{1b}'));
    }

    /// Draws the text as one chunk.
    fn as_one_chunk(text: &str, max_width: usize) -> Vec<Line> {
        let chunk = Chunk { text: text.to_owned(), start: ChunkStart::Block };
        chunk.draw(&ChunkEnd::default(), ColorRole::Text, max_width, Some(&CodeColors::at_once())).0
    }

    #[track_caller]
    fn check_chunks(text: &str, count: usize) {
        assert_eq!(Chunker::default().remaining(text).len(), count, "{text:?}");
        let marked = |lines: Vec<Line>| lines.iter().map(|line| line.to_markup() + "\n").collect::<String>();
        assert_eq!(
            marked(render_markdown(text, ColorRole::Text, 40, Some(&CodeColors::at_once()))),
            marked(as_one_chunk(text, 40)),
            "{text:?}"
        );
    }

    #[test]
    fn splitting_into_chunks_does_not_change_the_lines() {
        check_chunks("# Title\ntext\n\nmore\n\n> a\n\n> b\n\nend", 5);
        check_chunks("1. one\n1. two\n\n   more\n1. three\n   - a\n   - b\n\ntext\n5. no item", 4);
        check_chunks("text:\n- a\n- b\n\n\n- c\n* other list\n\n  more\n* x", 4);
        check_chunks("- a\n  ```\n  x\n\n  y\n  ```\n- b\nlazy\n- c", 3);
        check_chunks("```c\n/* a\n\n\nb */ int c;\n```\n\n\n```\nx\n\ny\n\n```\nend", 5);
        check_chunks("1. a\n  ```\nx\n\ny\n  ```\nz", 3);
        check_chunks("<div>\n```\n</div>\n\n<!-- a\n\nb -->\n\n<pre>\n\n- x\n\n</pre>\n\nend", 4);
        check_chunks("| a |\n|---|\n| b |\n\nSetext\n---\n    code\n\n    code\n\nend", 3);
        check_chunks("- - -\n- a\n- - -\n- b", 1);
        check_chunks("  - a\n\n- b\n\n  c\n\nd", 3);
    }

    #[test]
    fn references_and_their_definitions_are_shown_as_written() {
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

    #[test]
    fn links_of_the_web_are_links_in_the_terminal() {
        let links = |text: &str| -> Vec<String> {
            let lines = render_markdown(text, ColorRole::Text, 60, None);
            let spans = lines.iter().flat_map(|line| &line.spans);
            spans.filter_map(|span| Some(format!("{}={}", span.text, span.link.as_ref()?))).collect()
        };
        assert_eq!(links("see [a](https://x.y/z)."), ["a=https://x.y/z", " (https://x.y/z)=https://x.y/z"]);
        assert_eq!(links("<https://x.y>"), ["https://x.y=https://x.y"]);
        assert_eq!(links("[a](file:///etc/passwd) [b](https://x.y/\u{9b}31m)"), Vec::<String>::new());
    }

    #[test]
    fn heading_levels_and_plain_text_look_different() {
        let styles: Vec<_> = ["# a", "## a", "### a", "#### a", "a"]
            .map(|text| render_markdown(text, ColorRole::Text, 20, None)[0].spans[0].style)
            .to_vec();
        for (at, style) in styles.iter().enumerate() {
            assert!(!styles[..at].contains(style), "level {}", at + 1);
        }
    }
}
