//! Markdown as lines of a width. Text that is still being written is fine: what is open is drawn as if it ended there.
//!
//! HTML is text here, and a link shows where it leads.

mod highlight;
mod table;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Options, Parser, Tag, TagEnd};

pub(crate) use highlight::highlight;

use crate::text::{Line, Style, hard_wrap, width, wrap};
use crate::theme::Role;
use table::Table;

/// Draws Markdown. Words that have no style of their own get this one.
pub(crate) fn markdown(text: &str, role: Role, most: usize) -> Vec<Line> {
    markdown_after(Edge::default(), text, role, most).0
}

/// How the part of a text that is drawn already ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Edge {
    /// There are lines before.
    pub(crate) before: bool,
    /// A blank line is due before the next block.
    pub(crate) gap: bool,
}

/// The same for whole blocks that follow others.
pub(crate) fn markdown_after(edge: Edge, text: &str, role: Role, most: usize) -> (Vec<Line>, Edge) {
    let mut page = Page { before: edge.before, gap: edge.gap, ..Page::new(role, most.max(8)) };
    for event in Parser::new_ext(text, OPTIONS) {
        page.take(event);
    }
    page.end_block();
    let before = edge.before || !page.lines.is_empty();
    (page.lines, Edge { before, gap: page.gap })
}

/// What is known beyond plain Markdown.
pub(crate) const OPTIONS: Options =
    Options::ENABLE_TABLES.union(Options::ENABLE_STRIKETHROUGH).union(Options::ENABLE_TASKLISTS);

/// What a line begins with: the mark of a list on its first line, spaces or a bar on the others.
#[derive(Debug, Clone)]
struct Prefix {
    first: Option<String>,
    rest: String,
}

#[derive(Debug)]
struct Page {
    role: Role,
    most: usize,
    lines: Vec<Line>,
    now: Line,
    style: Style,
    outer: Vec<Style>,
    prefixes: Vec<Prefix>,
    /// The next number of each open list; none for bullets.
    lists: Vec<Option<u64>>,
    code: Option<(String, String)>,
    table: Option<Table>,
    link: Option<(String, usize)>,
    /// Others were drawn before.
    before: bool,
    /// A blank line is due before the next block.
    gap: bool,
}

impl Page {
    fn new(role: Role, most: usize) -> Page {
        Page {
            role,
            most,
            lines: Vec::new(),
            now: Line::new(),
            style: role.into(),
            outer: Vec::new(),
            prefixes: Vec::new(),
            lists: Vec::new(),
            code: None,
            table: None,
            link: None,
            before: false,
            gap: false,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.now.push(self.style, &text),
            },
            Event::Html(text) | Event::InlineHtml(text) => {
                for line in text.trim_end_matches('\n').split('\n') {
                    self.now.push(self.style, line);
                    if text.ends_with('\n') {
                        self.break_line();
                    }
                }
            }
            Event::Code(text) => self.now.push(Style { role: Role::Code, ..self.style }, &text),
            Event::SoftBreak => self.now.push(self.style, " "),
            Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.begin_block();
                let rule = "─".repeat(self.room().min(24));
                self.now.push(Role::Border, &rule);
                self.end_block();
            }
            Event::TaskListMarker(done) => self.now.push(Role::Accent, if done { "[x] " } else { "[ ] " }),
            Event::FootnoteReference(name) => self.now.push(Role::Link, &format!("[{name}]")),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.now.push(Role::Code, &text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                let underline = level == HeadingLevel::H1;
                self.enter(Style { role: Role::Heading, bold: true, underline, ..self.style });
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.prefixes.push(Prefix { first: None, rest: "│ ".to_owned() });
                self.enter(Style { role: Role::Quote, ..self.style });
            }
            Tag::CodeBlock(kind) => {
                self.begin_block();
                let language = match kind {
                    CodeBlockKind::Fenced(info) => {
                        info.split([' ', ',', '{']).next().unwrap_or_default().to_owned()
                    }
                    CodeBlockKind::Indented => String::new(),
                };
                self.code = Some((language, String::new()));
            }
            Tag::List(first) => {
                if self.lists.is_empty() {
                    self.begin_block();
                } else {
                    self.break_line();
                }
                self.lists.push(first);
            }
            Tag::Item => self.item(),
            Tag::Table(_) => {
                self.begin_block();
                self.table = Some(Table::default());
            }
            Tag::TableHead => self.enter(self.style.bold()),
            Tag::Emphasis => self.enter(Style { italic: true, ..self.style }),
            Tag::Strong => self.enter(self.style.bold()),
            Tag::Strikethrough => self.enter(Style { strike: true, ..self.style }),
            Tag::Link { dest_url, .. } => {
                self.link = Some((dest_url.to_string(), self.now.spans.len()));
                self.enter(Style { role: Role::Link, underline: true, ..self.style });
            }
            Tag::Image { .. } => {
                self.now.push(Role::Dim, "[image: ");
                self.enter(Role::Dim.into());
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_block(),
            TagEnd::Heading(_) => {
                self.leave();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.prefixes.pop();
                self.leave();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.lists.pop();
                self.gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.break_line();
                self.prefixes.pop();
                self.gap = false;
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let room = self.room();
                    for line in table.draw(room) {
                        self.put(line);
                    }
                    self.gap = true;
                }
            }
            TagEnd::TableHead => {
                self.leave();
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::TableRow => self.table.iter_mut().for_each(Table::end_row),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.now);
                self.table.iter_mut().for_each(|table| table.cell(cell.clone()));
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.leave(),
            TagEnd::Link => self.end_link(),
            TagEnd::Image => {
                self.leave();
                self.now.push(Role::Dim, "]");
            }
            TagEnd::HtmlBlock => self.gap = true,
            _ => {}
        }
    }

    fn enter(&mut self, style: Style) {
        self.outer.push(self.style);
        self.style = style;
    }

    fn leave(&mut self) {
        self.style = self.outer.pop().unwrap_or_else(|| self.role.into());
    }

    fn item(&mut self) {
        self.break_line();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let rest = " ".repeat(width(&mark));
        self.prefixes.push(Prefix { first: Some(mark), rest });
    }

    fn end_link(&mut self) {
        self.leave();
        let Some((address, from)) = self.link.take() else { return };
        let shown: String = self.now.spans.iter().skip(from).map(|span| span.text.as_str()).collect();
        if shown != address && !address.is_empty() && address.trim_start_matches("mailto:") != shown {
            self.now.push(Role::Dim, &format!(" ({address})"));
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let room = self.room().saturating_sub(2);
        for line in highlight(code.trim_end_matches('\n'), &language) {
            for piece in hard_wrap(&line, room) {
                self.put(piece.behind(Role::Text, "  "));
            }
        }
        self.gap = true;
    }

    fn begin_block(&mut self) {
        self.break_line();
        // The first block of an item stands beside its mark.
        let beside = self.prefixes.last().is_some_and(|prefix| prefix.first.is_some());
        if std::mem::take(&mut self.gap) && !beside && (self.before || !self.lines.is_empty()) {
            let bars: String = self.prefixes.iter().map(|prefix| prefix.rest.as_str()).collect();
            self.lines.push(Line::of(Role::Border, bars.trim_end()));
        }
    }

    fn end_block(&mut self) {
        self.break_line();
        self.gap = true;
    }

    fn break_line(&mut self) {
        if self.now.is_empty() {
            return;
        }
        let line = std::mem::take(&mut self.now);
        for piece in wrap(&line, self.room()) {
            self.put(piece);
        }
    }

    fn room(&self) -> usize {
        let taken: usize = self.prefixes.iter().map(|prefix| width(&prefix.rest)).sum();
        self.most.saturating_sub(taken).max(8)
    }

    fn put(&mut self, line: Line) {
        let mut before = Line::new();
        for prefix in &mut self.prefixes {
            match prefix.first.take() {
                Some(mark) => before.push(Role::Accent, &mark),
                None => before.push(Role::Border, &prefix.rest),
            }
        }
        before.spans.extend(line.spans);
        self.lines.push(before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::plain;
    use expect_test::{Expect, expect};

    #[track_caller]
    fn check(text: &str, most: usize, expected: Expect) {
        expected.assert_eq(&plain(&markdown(text, Role::Text, most)));
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
        let lines = markdown("a *b **c*** `d`", Role::Text, 80);
        assert_eq!(lines[0].marked(), "a {text italic|b }{text bold italic|c} {code|d}");
    }

    #[test]
    fn hostile_text_is_inert() {
        let lines = markdown("x \u{1b}]0;t\u{7} `\u{1b}[2J`\n```\n\u{1b}[1A\n```", Role::Text, 80);
        assert!(!plain(&lines).contains('\u{1b}'));
    }
}
