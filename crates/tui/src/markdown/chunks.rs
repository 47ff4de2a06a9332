//! Splits Markdown into chunks that are drawn one after the other.
//!
//! A reply is printed while it streams, so a chunk must be final: later text must not change how it is drawn. Chunk boundaries
//! depend on complete earlier lines only, so streamed and complete texts are split in the same way.
//!
//! A chunk ends
//!
//! - before an unindented line that follows a blank line: it starts a new block;
//! - before another item of the list at the end of the chunk;
//! - inside a fenced code block, before each line that is not blank;
//! - after a fenced code block.
//!
//! Paragraphs, tables and HTML are not split: later rows can widen the columns of a table, and a paragraph can become a heading.

use std::ops::Range;
use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::OPTIONS;

/// A longer chunk is not searched for list items, so the cost stays linear.
const MAX_LIST_SEARCH_BYTES: usize = 64 << 10;

/// A part of a Markdown text that is drawn separately.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Chunk {
    pub(super) text: String,
    pub(super) start: ChunkStart,
}

/// How a chunk continues the previous one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) enum ChunkStart {
    /// A new block.
    #[default]
    Block,
    /// The next item of the same list.
    Item,
    /// More lines of a code block; holds its opening line.
    Code(Arc<str>),
}

/// Splits a text that grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Chunker {
    /// Where the open chunk starts, and how it continues the previous one.
    offset: usize,
    chunk_start: ChunkStart,
    /// The end of the last line read.
    read_to: usize,
    open_block: OpenBlock,
    after_blank: bool,
}

/// The block that is open after the last line.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
enum OpenBlock {
    #[default]
    Text,
    /// A fenced code block; `code` is the end of its last non-blank line.
    Fence { opener: Arc<str>, mark: u8, length: usize, code: Option<usize> },
    /// A fenced code block was just closed.
    FenceClosed,
    /// HTML that continues over blank lines, until this end mark.
    Html(&'static str),
}

impl Chunker {
    /// Reads new complete lines, and returns the chunks that are now final.
    pub(crate) fn take_final(&mut self, text: &str) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        while let Some(length) = text[self.read_to..].find('\n') {
            chunks.extend(self.read_line(text, self.read_to..self.read_to + length + 1));
        }
        chunks
    }

    /// The remaining chunks, as if the text ended here.
    pub(crate) fn remaining(mut self, text: &str) -> Vec<Chunk> {
        let mut chunks = self.take_final(text);
        if self.read_to < text.len() {
            chunks.extend(self.read_line(text, self.read_to..text.len()));
        }
        let rest = &text[self.offset..];
        if !rest.trim().is_empty() {
            chunks.push(Chunk { text: rest.to_owned(), start: self.chunk_start });
        }
        chunks
    }

    fn read_line(&mut self, text: &str, range: Range<usize>) -> Option<Chunk> {
        let line = &text[range.clone()];
        self.read_to = range.end;
        let is_blank = line.trim().is_empty();
        let is_code = matches!(self.open_block, OpenBlock::Fence { .. });
        let cut = match &self.open_block {
            OpenBlock::Fence { .. } => self.read_code_line(line, &range),
            OpenBlock::FenceClosed if !is_blank => Some((range.start, ChunkStart::Block)),
            _ if is_blank || matches!(self.open_block, OpenBlock::Html(_)) => None,
            _ => self.find_boundary(text, &range),
        };
        let chunk = cut.map(|(at, joint)| self.take_chunk(text, at, joint));
        if !is_code && !is_blank {
            self.update_open_block(text, &range);
        }
        self.after_blank = is_blank;
        chunk
    }

    fn take_chunk(&mut self, text: &str, at: usize, joint: ChunkStart) -> Chunk {
        let chunk = Chunk {
            text: text[self.offset..at].to_owned(),
            start: std::mem::replace(&mut self.chunk_start, joint),
        };
        self.offset = at;
        if self.open_block == OpenBlock::FenceClosed {
            self.open_block = OpenBlock::Text;
        }
        chunk
    }

    /// Reads a line of a fenced code block. Returns where a new chunk starts.
    fn read_code_line(&mut self, line: &str, range: &Range<usize>) -> Option<(usize, ChunkStart)> {
        let OpenBlock::Fence { opener, mark, length, code } = &mut self.open_block else { return None };
        if parse_fence(line).is_some_and(|(closer, count, rest)| {
            closer == *mark && count >= *length && rest.trim().is_empty()
        }) {
            self.open_block = OpenBlock::FenceClosed;
            return None;
        }
        if line.trim().is_empty() {
            return None;
        }
        let before = code.replace(range.end)?;
        Some((before, ChunkStart::Code(opener.clone())))
    }

    /// Whether a new chunk starts at a line outside of code and HTML.
    fn find_boundary(&self, text: &str, range: &Range<usize>) -> Option<(usize, ChunkStart)> {
        let line = &text[range.clone()];
        if range.start == self.offset || line.starts_with([' ', '\t']) {
            return None;
        }
        if is_list_item(line) && range.end - self.offset < MAX_LIST_SEARCH_BYTES {
            let at = range.start - self.offset;
            let is_in = |block: &TopLevelBlock| block.range.start < at && at < block.range.end;
            let blocks = top_level_blocks(&text[self.offset..range.end]);
            if blocks.iter().any(|block| block.kind == BlockKind::List && is_in(block)) {
                return Some((range.start, ChunkStart::Item));
            }
        }
        self.after_blank.then_some((range.start, ChunkStart::Block))
    }

    /// Records the block that a line leaves open.
    fn update_open_block(&mut self, text: &str, range: &Range<usize>) {
        let line = &text[range.clone()];
        if let OpenBlock::Html(end) = self.open_block {
            if contains_ignoring_case(line, end) {
                self.open_block = OpenBlock::Text;
            }
            return;
        }
        let begins = |kind: BlockKind| {
            let blocks = top_level_blocks(&text[self.offset..range.end]);
            blocks
                .last()
                .is_some_and(|last| last.kind == kind && last.range.start >= range.start - self.offset)
        };
        if let Some((mark, length, _)) = parse_fence(line).filter(|_| begins(BlockKind::Fence)) {
            let opener = format!("{}\n", line.trim_end_matches(['\n', '\r']));
            self.open_block = OpenBlock::Fence { opener: opener.into(), mark, length, code: None };
        } else if let Some(end) = html_end(line).filter(|_| begins(BlockKind::Html))
            && !contains_ignoring_case(line, end)
        {
            self.open_block = OpenBlock::Html(end);
        }
    }
}

/// A top-level block.
struct TopLevelBlock {
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

fn top_level_blocks(text: &str) -> Vec<TopLevelBlock> {
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
            blocks.push(TopLevelBlock { kind, range });
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    blocks
}

/// Whether a line starts with a list marker.
fn is_list_item(line: &str) -> bool {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    let rest = match line.as_bytes().get(digits) {
        Some(b'-' | b'*' | b'+') if digits == 0 => &line[1..],
        Some(b'.' | b')') if (1..=9).contains(&digits) => &line[digits + 1..],
        _ => return false,
    };
    rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n'])
}

/// Parses a code fence: its character, its length, and the text after it.
fn parse_fence(line: &str) -> Option<(u8, usize, &str)> {
    let inner = line.trim_start_matches(' ');
    let mark = *inner.as_bytes().first().filter(|mark| b"`~".contains(mark))?;
    let length = inner.bytes().take_while(|byte| *byte == mark).count();
    (line.len() - inner.len() <= 3 && length >= 3).then(|| (mark, length, &inner[length..]))
}

/// The end mark of HTML that continues over blank lines, if a line may start such a block.
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

fn contains_ignoring_case(line: &str, end: &str) -> bool {
    line.to_ascii_lowercase().contains(end)
}
