//! Turns Markdown events into lines.

use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use super::ChunkEnd;
use super::table::MarkdownTable;
use crate::code::{CodeColors, CodePart, part_lines};
use crate::diff::unnumbered_diff_rows;
use crate::text::{Line, Style, hard_wrap, width, wrap};
use crate::theme::ColorRole;

/// Longer addresses are not made links for the terminal.
const MAX_LINK_BYTES: usize = 2000;

/// The prefix of the lines of a block: a list marker on the first line, spaces or a bar on the others.
#[derive(Debug, Clone)]
struct LinePrefix {
    first: Option<String>,
    rest: String,
}

/// It has many fields because Markdown nests: each is the state of one kind of block.
#[derive(Debug)]
pub(super) struct MarkdownRenderer<'a> {
    role: ColorRole,
    max_width: usize,
    lines: Vec<Line>,
    current_line: Line,
    style: Style,
    outer_styles: Vec<Style>,
    prefixes: Vec<LinePrefix>,
    /// The next number of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The next number of the last closed list.
    closed_list: Option<Option<u64>>,
    /// The number with which the first list continues.
    continued_list: Option<Option<u64>>,
    colors: Option<&'a CodeColors>,
    /// The last code block.
    last_code: Option<CodePart>,
    /// The code that the first code block continues.
    continued_code: Option<CodePart>,
    code: Option<(String, String)>,
    table: Option<MarkdownTable>,
    link: Option<(String, usize)>,
    /// Lines were drawn before.
    has_lines_before: bool,
    /// The next block needs a blank line before it.
    needs_gap: bool,
}

/// The address for the terminal, if it is harmless: the web or mail, without characters that could end a control sequence.
fn link_target(address: &str) -> Option<Arc<str>> {
    let is_known = ["https://", "http://", "mailto:"].iter().any(|scheme| address.starts_with(scheme));
    let is_plain = address.len() <= MAX_LINK_BYTES && address.bytes().all(|byte| byte.is_ascii_graphic());
    (is_known && is_plain).then(|| address.into())
}

/// Each level looks less important than the one above it.
fn heading_style(level: HeadingLevel, text: Style) -> Style {
    let heading = Style { role: ColorRole::Heading, ..text };
    match level {
        HeadingLevel::H1 => Style { underline: true, ..heading.bold() },
        HeadingLevel::H2 => heading.bold(),
        HeadingLevel::H3 => text.bold(),
        _ => Style { italic: true, ..text.bold() },
    }
}

impl<'a> MarkdownRenderer<'a> {
    pub(super) fn new(
        role: ColorRole,
        max_width: usize,
        chunk_end: &ChunkEnd,
        colors: Option<&'a CodeColors>,
    ) -> MarkdownRenderer<'a> {
        MarkdownRenderer {
            role,
            max_width,
            lines: Vec::new(),
            current_line: Line::new(),
            style: role.into(),
            outer_styles: Vec::new(),
            prefixes: Vec::new(),
            lists: Vec::new(),
            closed_list: None,
            continued_list: None,
            colors,
            last_code: None,
            continued_code: None,
            code: None,
            table: None,
            link: None,
            has_lines_before: chunk_end.has_lines,
            needs_gap: chunk_end.needs_gap,
        }
    }

    /// The first list continues an earlier one.
    pub(super) fn continue_list(&mut self, chunk_end: &ChunkEnd) {
        self.needs_gap = false;
        self.continued_list = chunk_end.next_list_number;
    }

    /// The first code block continues an earlier one.
    pub(super) fn continue_code(&mut self, chunk_end: &ChunkEnd) {
        self.needs_gap = false;
        self.continued_code.clone_from(&chunk_end.code);
    }

    /// The lines, and how they end.
    pub(super) fn finish(mut self) -> (Vec<Line>, ChunkEnd) {
        self.end_block();
        let before = self.has_lines_before || !self.lines.is_empty();
        (
            self.lines,
            ChunkEnd {
                has_lines: before,
                needs_gap: self.needs_gap,
                next_list_number: self.closed_list,
                code: self.last_code,
            },
        )
    }

    pub(super) fn handle_event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start_tag(tag),
            Event::End(tag) => self.end_tag(tag),
            Event::Text(text) => match &mut self.code {
                Some((_, code)) => code.push_str(&text),
                None => self.current_line.push(self.style, &text),
            },
            Event::Html(text) | Event::InlineHtml(text) => {
                for line in text.trim_end_matches('\n').split('\n') {
                    self.current_line.push(self.style, line);
                    if text.ends_with('\n') {
                        self.break_line();
                    }
                }
            }
            Event::Code(text) => self.current_line.push(Style { role: ColorRole::Code, ..self.style }, &text),
            Event::SoftBreak => self.current_line.push(self.style, " "),
            Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.begin_block();
                let rule = "─".repeat(self.available_width().min(24));
                self.current_line.push(ColorRole::Border, &rule);
                self.end_block();
            }
            Event::TaskListMarker(done) => {
                self.current_line.push(ColorRole::Accent, if done { "[x] " } else { "[ ] " });
            }
            Event::FootnoteReference(name) => self.current_line.push(ColorRole::Link, &format!("[{name}]")),
            Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.current_line.push(ColorRole::Code, &text);
            }
        }
    }

    fn start_tag(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                self.push_style(heading_style(level, self.style));
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.prefixes.push(LinePrefix { first: None, rest: "│ ".to_owned() });
                self.push_style(Style { role: ColorRole::Quote, ..self.style });
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
                let first = self.continued_list.take().unwrap_or(first);
                if self.lists.is_empty() {
                    self.begin_block();
                } else {
                    self.break_line();
                }
                self.lists.push(first);
            }
            Tag::Item => self.start_item(),
            Tag::Table(_) => {
                self.begin_block();
                self.table = Some(MarkdownTable::default());
            }
            Tag::TableHead => self.push_style(self.style.bold()),
            Tag::Emphasis => self.push_style(Style { italic: true, ..self.style }),
            Tag::Strong => self.push_style(self.style.bold()),
            Tag::Strikethrough => self.push_style(Style { strike: true, ..self.style }),
            Tag::Link { dest_url, .. } => {
                self.link = Some((dest_url.to_string(), self.current_line.spans.len()));
                self.push_style(Style { role: ColorRole::Link, underline: true, ..self.style });
            }
            Tag::Image { .. } => {
                self.current_line.push(ColorRole::Dim, "[image: ");
                self.push_style(ColorRole::Dim.into());
            }
            _ => {}
        }
    }

    fn end_tag(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph => self.end_block(),
            TagEnd::Heading(_) => {
                self.pop_style();
                self.end_block();
            }
            TagEnd::BlockQuote(_) => {
                self.end_block();
                self.prefixes.pop();
                self.pop_style();
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::List(_) => {
                self.closed_list = self.lists.pop();
                self.needs_gap = self.lists.is_empty();
            }
            TagEnd::Item => {
                self.break_line();
                self.prefixes.pop();
                self.needs_gap = false;
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let available_width = self.available_width();
                    for line in table.draw(available_width) {
                        self.push_line(line);
                    }
                    self.needs_gap = true;
                }
            }
            TagEnd::TableHead => {
                self.pop_style();
                if let Some(table) = &mut self.table {
                    table.end_row();
                }
            }
            TagEnd::TableRow => self.table.iter_mut().for_each(MarkdownTable::end_row),
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.current_line);
                self.table.iter_mut().for_each(|table| table.push_cell(cell.clone()));
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => self.pop_style(),
            TagEnd::Link => self.end_link(),
            TagEnd::Image => {
                self.pop_style();
                self.current_line.push(ColorRole::Dim, "]");
            }
            TagEnd::HtmlBlock => self.needs_gap = true,
            _ => {}
        }
    }

    fn push_style(&mut self, style: Style) {
        self.outer_styles.push(self.style);
        self.style = style;
    }

    fn pop_style(&mut self) {
        self.style = self.outer_styles.pop().unwrap_or_else(|| self.role.into());
    }

    fn start_item(&mut self) {
        self.break_line();
        let mark = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            _ => "• ".to_owned(),
        };
        let rest = " ".repeat(width(&mark));
        self.prefixes.push(LinePrefix { first: Some(mark), rest });
    }

    fn end_link(&mut self) {
        self.pop_style();
        let Some((address, from)) = self.link.take() else { return };
        let shown: String =
            self.current_line.spans.iter().skip(from).map(|span| span.text.as_str()).collect();
        if shown != address && !address.is_empty() && address.trim_start_matches("mailto:") != shown {
            self.current_line.push(ColorRole::Dim, &format!(" ({address})"));
        }
        if let Some(target) = link_target(&address) {
            self.current_line.spans.iter_mut().skip(from).for_each(|span| span.link = Some(target.clone()));
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        let code = code.trim_end_matches('\n');
        let part = match self.continued_code.take() {
            Some(before) => before.followed_by(code),
            None => CodePart::new(&language, code),
        };
        let available_width = self.available_width().saturating_sub(2);
        let lines = match language.as_str() {
            "diff" | "patch" => unnumbered_diff_rows(code),
            _ => part_lines(&part, self.colors),
        };
        self.last_code = Some(part);
        for line in lines {
            for piece in hard_wrap(&line, available_width) {
                self.push_line(piece.prepend(ColorRole::Text, "  "));
            }
        }
        self.needs_gap = true;
    }

    fn begin_block(&mut self) {
        // The text of a tight list item is not in a paragraph.
        if !self.current_line.is_empty() {
            self.end_block();
        }
        // The first block of an item is on the same line as its marker.
        let beside = self.prefixes.last().is_some_and(|prefix| prefix.first.is_some());
        if std::mem::take(&mut self.needs_gap) && !beside && (self.has_lines_before || !self.lines.is_empty())
        {
            let bars: String = self.prefixes.iter().map(|prefix| prefix.rest.as_str()).collect();
            self.lines.push(Line::styled(ColorRole::Border, bars.trim_end()));
        }
    }

    fn end_block(&mut self) {
        self.break_line();
        self.needs_gap = true;
    }

    fn break_line(&mut self) {
        if self.current_line.is_empty() {
            return;
        }
        let line = std::mem::take(&mut self.current_line);
        for piece in wrap(&line, self.available_width()) {
            self.push_line(piece);
        }
    }

    fn available_width(&self) -> usize {
        let taken: usize = self.prefixes.iter().map(|prefix| width(&prefix.rest)).sum();
        self.max_width.saturating_sub(taken).max(8)
    }

    fn push_line(&mut self, line: Line) {
        let mut before = Line::new();
        for prefix in &mut self.prefixes {
            match prefix.first.take() {
                Some(mark) => before.push(ColorRole::Accent, &mark),
                None => before.push(ColorRole::Border, &prefix.rest),
            }
        }
        before.spans.extend(line.spans);
        before.fill = line.fill;
        self.lines.push(before);
    }
}
