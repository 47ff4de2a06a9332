//! Cuts Markdown into chunks that are drawn one after the other.
//!
//! A reply is printed while it is still being written, so a chunk must be final: nothing that follows may change how it is
//! drawn. The cuts are decided from complete lines alone and in one direction, so they are the same for a text that arrives
//! in pieces and for one that is there at once. Whole texts are drawn from the same chunks.
//!
//! A chunk ends
//!
//! - before a line without indentation that follows a blank line: it begins a new block, whatever was open;
//! - before an item of the list that the chunk ends with;
//! - inside a fenced code block, before each line that is not blank;
//! - after a fenced code block.
//!
//! Paragraphs, tables and HTML stay whole: a table's columns get wider, a paragraph may become a heading.

use std::ops::Range;
use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::OPTIONS;

/// A longer chunk is not searched for list items, so that the cost stays linear.
const LONG: usize = 64 << 10;

/// A part of a Markdown text that is drawn by itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Chunk {
    pub(super) text: String,
    pub(super) joint: Joint,
}

/// How a chunk follows the one before it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) enum Joint {
    /// A new block.
    #[default]
    Block,
    /// The next item of the same list.
    Item,
    /// More lines of the code block that this line opened.
    Code(Arc<str>),
}

/// Reads a text that grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunker {
    /// Where the open chunk begins, and how it follows the one before it.
    start: usize,
    joint: Joint,
    /// The end of the last line that was read.
    read: usize,
    open: Open,
    after_blank: bool,
}

/// What the last line leaves open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum Open {
    #[default]
    Text,
    /// A fenced code block; `code` is the end of its last line that is not blank.
    Fence { opener: Arc<str>, mark: u8, length: usize, code: Option<usize> },
    /// A fenced code block was closed.
    Closed,
    /// HTML that blank lines do not end, with what ends it.
    Html(&'static str),
}

impl Chunker {
    /// Reads the complete lines that are new; gives the chunks that are final now.
    pub(crate) fn read(&mut self, text: &str) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        while let Some(length) = text[self.read..].find('\n') {
            chunks.extend(self.line(text, self.read..self.read + length + 1));
        }
        chunks
    }

    /// The chunks that are not final, as if the text ended here.
    pub(crate) fn rest(mut self, text: &str) -> Vec<Chunk> {
        let mut chunks = self.read(text);
        if self.read < text.len() {
            chunks.extend(self.line(text, self.read..text.len()));
        }
        let rest = &text[self.start..];
        if !rest.trim().is_empty() {
            chunks.push(Chunk { text: rest.to_owned(), joint: self.joint });
        }
        chunks
    }

    fn line(&mut self, text: &str, range: Range<usize>) -> Option<Chunk> {
        let line = &text[range.clone()];
        self.read = range.end;
        let is_blank = line.trim().is_empty();
        let is_code = matches!(self.open, Open::Fence { .. });
        let cut = match &self.open {
            Open::Fence { .. } => self.code_line(line, &range),
            Open::Closed if !is_blank => Some((range.start, Joint::Block)),
            _ if is_blank || matches!(self.open, Open::Html(_)) => None,
            _ => self.boundary(text, &range),
        };
        let chunk = cut.map(|(at, joint)| self.cut(text, at, joint));
        if !is_code && !is_blank {
            self.open(text, &range);
        }
        self.after_blank = is_blank;
        chunk
    }

    fn cut(&mut self, text: &str, at: usize, joint: Joint) -> Chunk {
        let chunk =
            Chunk { text: text[self.start..at].to_owned(), joint: std::mem::replace(&mut self.joint, joint) };
        self.start = at;
        if self.open == Open::Closed {
            self.open = Open::Text;
        }
        chunk
    }

    /// A line of a fenced code block.
    fn code_line(&mut self, line: &str, range: &Range<usize>) -> Option<(usize, Joint)> {
        let Open::Fence { opener, mark, length, code } = &mut self.open else { return None };
        if fence(line).is_some_and(|(closer, count, rest)| {
            closer == *mark && count >= *length && rest.trim().is_empty()
        }) {
            self.open = Open::Closed;
            return None;
        }
        if line.trim().is_empty() {
            return None;
        }
        let before = code.replace(range.end)?;
        Some((before, Joint::Code(opener.clone())))
    }

    /// Whether a new chunk begins with a line outside of code and HTML.
    fn boundary(&self, text: &str, range: &Range<usize>) -> Option<(usize, Joint)> {
        let line = &text[range.clone()];
        if range.start == self.start || line.starts_with([' ', '\t']) {
            return None;
        }
        if is_item(line) && range.end - self.start < LONG {
            let at = range.start - self.start;
            let is_in = |block: &Block| block.range.start < at && at < block.range.end;
            let blocks = blocks(&text[self.start..range.end]);
            if blocks.iter().any(|block| block.kind == BlockKind::List && is_in(block)) {
                return Some((range.start, Joint::Item));
            }
        }
        self.after_blank.then_some((range.start, Joint::Block))
    }

    /// Notes what a line leaves open.
    fn open(&mut self, text: &str, range: &Range<usize>) {
        let line = &text[range.clone()];
        if let Open::Html(end) = self.open {
            if contains(line, end) {
                self.open = Open::Text;
            }
            return;
        }
        let begins = |kind: BlockKind| {
            let blocks = blocks(&text[self.start..range.end]);
            blocks
                .last()
                .is_some_and(|last| last.kind == kind && last.range.start >= range.start - self.start)
        };
        if let Some((mark, length, _)) = fence(line).filter(|_| begins(BlockKind::Fence)) {
            let opener = format!("{}\n", line.trim_end_matches(['\n', '\r']));
            self.open = Open::Fence { opener: opener.into(), mark, length, code: None };
        } else if let Some(end) = html_end(line).filter(|_| begins(BlockKind::Html))
            && !contains(line, end)
        {
            self.open = Open::Html(end);
        }
    }
}

/// A block that is not inside another one.
struct Block {
    kind: BlockKind,
    range: Range<usize>,
}

#[derive(PartialEq, Eq)]
enum BlockKind {
    List,
    Fence,
    Html,
    Other,
}

fn blocks(text: &str) -> Vec<Block> {
    let mut depth = 0;
    let mut blocks = Vec::new();
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        let kind = match &event {
            Event::Start(Tag::List(_)) => BlockKind::List,
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => BlockKind::Fence,
            Event::Start(Tag::HtmlBlock) => BlockKind::Html,
            _ => BlockKind::Other,
        };
        if depth == 0 && !matches!(event, Event::End(_)) {
            blocks.push(Block { kind, range });
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    blocks
}

/// Whether a line begins with the mark of a list item.
fn is_item(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match line.as_bytes().get(digits) {
        Some(b'-' | b'*' | b'+') if digits == 0 => &line[1..],
        Some(b'.' | b')') if (1..=9).contains(&digits) => &line[digits + 1..],
        _ => return false,
    };
    rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n'])
}

/// The marks a line begins with that may open or close a code block: which, how many, and what follows them.
fn fence(line: &str) -> Option<(u8, usize, &str)> {
    let inner = line.trim_start_matches(' ');
    let mark = *inner.as_bytes().first().filter(|mark| b"`~".contains(mark))?;
    let length = inner.bytes().take_while(|byte| *byte == mark).count();
    (line.len() - inner.len() <= 3 && length >= 3).then(|| (mark, length, &inner[length..]))
}

/// What ends a piece of HTML that blank lines do not end, if a line may begin one.
fn html_end(line: &str) -> Option<&'static str> {
    const KINDS: &[(&str, &str)] = &[
        ("<!--", "-->"),
        ("<?", "?>"),
        ("<![cdata[", "]]>"),
        ("<!", ">"),
        ("<script", "</script>"),
        ("<pre", "</pre>"),
        ("<style", "</style>"),
        ("<textarea", "</textarea>"),
    ];
    let line = line.trim_start_matches(' ').to_ascii_lowercase();
    KINDS.iter().find(|(start, _)| line.starts_with(start)).map(|(_, end)| *end)
}

fn contains(line: &str, end: &str) -> bool {
    line.to_ascii_lowercase().contains(end)
}
