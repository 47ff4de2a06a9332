//! Turns Markdown events into lines.

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Tag, TagEnd};

use super::Edge;
use super::highlight::highlight_after;
use super::table::Table;
use crate::text::{Line, Style, hard_wrap, width, wrap};
use crate::theme::ColorRole;

/// The prefix of the lines of a block: a list marker on the first line, spaces or a bar on the others.
#[derive(Debug, Clone)]
struct Prefix {
    first: Option<String>,
    rest: String,
}

#[derive(Debug)]
pub(super) struct Page {
    role: ColorRole,
    most: usize,
    lines: Vec<Line>,
    now: Line,
    style: Style,
    outer: Vec<Style>,
    prefixes: Vec<Prefix>,
    /// The next number of each open list; `None` for bullets.
    lists: Vec<Option<u64>>,
    /// The next number of the last closed list.
    closed_list: Option<Option<u64>>,
    /// The number with which the first list continues.
    continued: Option<Option<u64>>,
    /// The last code block ends inside a comment.
    in_comment: bool,
    /// The first code block continues an earlier one.
    continues_code: bool,
    code: Option<(String, String)>,
    table: Option<Table>,
    link: Option<(String, usize)>,
    /// Lines were drawn before.
    before: bool,
    /// The next block needs a blank line before it.
    gap: bool,
}

impl Page {
    pub(super) fn new(role: ColorRole, most: usize, edge: Edge) -> Page {
        Page {
            role,
            most,
            lines: Vec::new(),
            now: Line::new(),
            style: role.into(),
            outer: Vec::new(),
            prefixes: Vec::new(),
            lists: Vec::new(),
            closed_list: None,
            continued: None,
            in_comment: false,
            continues_code: false,
            code: None,
            table: None,
            link: None,
            before: edge.before,
            gap: edge.gap,
        }
    }

    /// The first list continues an earlier one.
    pub(super) fn continue_list(&mut self, edge: Edge) {
        self.gap = false;
        self.continued = edge.list;
    }

    /// The first code block continues an earlier one.
    pub(super) fn continue_code(&mut self, edge: Edge) {
        self.gap = false;
        self.in_comment = edge.in_comment;
        self.continues_code = true;
    }

    /// The lines, and how they end.
    pub(super) fn finish(mut self) -> (Vec<Line>, Edge) {
        self.end_block();
        let before = self.before || !self.lines.is_empty();
        (self.lines, Edge { before, gap: self.gap, list: self.closed_list, in_comment: self.in_comment })
    }

    pub(super) fn take(&mut self, event: Event<'_>) {
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
            Event::Code(text) => self.now.push(Style { role: ColorRole::Code, ..self.style }, &text),
            Event::SoftBreak => self.now.push(self.style, " "),
            Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.begin_block();
                let rule = "─".repeat(self.room().min(24));
                self.now.push(ColorRole::Border, &rule);
                self.end_block();
            }
            Event::TaskListMarker(done) => {
                self.now.push(ColorRole::Accent, if done { "[x] " } else { "[ ] " })
            }
            Event::FootnoteReference(name) => self.now.push(ColorRole::Link, &format!("[{name}]")),
            Event::InlineMath(text) | Event::DisplayMath(text) => self.now.push(ColorRole::Code, &text),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.begin_block(),
            Tag::Heading { level, .. } => {
                self.begin_block();
                let underline = level == HeadingLevel::H1;
                self.enter(Style { role: ColorRole::Heading, bold: true, underline, ..self.style });
            }
            Tag::BlockQuote(_) => {
                self.begin_block();
                self.prefixes.push(Prefix { first: None, rest: "│ ".to_owned() });
                self.enter(Style { role: ColorRole::Quote, ..self.style });
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
                let first = self.continued.take().unwrap_or(first);
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
                self.enter(Style { role: ColorRole::Link, underline: true, ..self.style });
            }
            Tag::Image { .. } => {
                self.now.push(ColorRole::Dim, "[image: ");
                self.enter(ColorRole::Dim.into());
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
                self.closed_list = self.lists.pop();
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
                self.now.push(ColorRole::Dim, "]");
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
            self.now.push(ColorRole::Dim, &format!(" ({address})"));
        }
    }

    fn end_code(&mut self) {
        let Some((language, code)) = self.code.take() else { return };
        self.in_comment &= std::mem::take(&mut self.continues_code);
        let room = self.room().saturating_sub(2);
        for line in highlight_after(&mut self.in_comment, code.trim_end_matches('\n'), &language) {
            for piece in hard_wrap(&line, room) {
                self.put(piece.prepend(ColorRole::Text, "  "));
            }
        }
        self.gap = true;
    }

    fn begin_block(&mut self) {
        // The text of a tight list item is not in a paragraph.
        if !self.now.is_empty() {
            self.end_block();
        }
        // The first block of an item is on the same line as its marker.
        let beside = self.prefixes.last().is_some_and(|prefix| prefix.first.is_some());
        if std::mem::take(&mut self.gap) && !beside && (self.before || !self.lines.is_empty()) {
            let bars: String = self.prefixes.iter().map(|prefix| prefix.rest.as_str()).collect();
            self.lines.push(Line::styled(ColorRole::Border, bars.trim_end()));
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
                Some(mark) => before.push(ColorRole::Accent, &mark),
                None => before.push(ColorRole::Border, &prefix.rest),
            }
        }
        before.spans.extend(line.spans);
        self.lines.push(before);
    }
}
