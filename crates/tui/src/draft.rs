//! A reply while it comes. It is drawn by the function that draws stored replies; paragraphs that cannot change any more are
//! finished at once, so that a long reply can be read while it goes on.

use std::sync::Arc;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};
use serde_json::Value;

use crate::markdown::{Edge, OPTIONS, markdown, markdown_after};
use crate::text::Line;
use crate::theme::Role;
use crate::transcript::{Look, block, thinking};

/// Lines of an open block of code that stay uncertain. The ones before them are finished, however long it gets.
const CODE: usize = 60;

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub id: Option<Arc<str>>,
    blocks: Vec<Block>,
    done: Done,
    /// The number of letters so far, for the one who waits.
    pub(crate) written: usize,
    /// The reply broke off and starts again in another draft.
    pub(crate) withdrawn: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum Block {
    Text(String),
    Thinking(String),
    Call { name: String, written: usize },
}

/// What is finished: that many blocks, and bytes of the next.
#[derive(Debug, Clone, Default)]
struct Done {
    blocks: usize,
    bytes: usize,
    /// The line that opened the block of code one is in.
    fence: String,
    edge: Edge,
    lines: usize,
}

impl Draft {
    pub(crate) fn new(id: Arc<str>) -> Draft {
        Draft { id: Some(id), ..Draft::default() }
    }

    /// Takes a piece in; gives the lines that are certain now.
    pub(crate) fn push(&mut self, delta: &str, look: Look<'_>) -> Vec<Line> {
        let Ok(delta) = serde_json::from_str::<Value>(delta) else { return Vec::new() };
        let piece = delta["delta"].as_str().unwrap_or_default();
        match (delta["type"].as_str().unwrap_or_default(), self.blocks.last_mut()) {
            ("text_start", _) => self.blocks.push(Block::Text(String::new())),
            ("thinking_start", _) => self.blocks.push(Block::Thinking(String::new())),
            ("toolcall_start", _) => {
                let name = delta["name"].as_str().unwrap_or_default().to_owned();
                self.blocks.push(Block::Call { name, written: 0 });
            }
            ("text_delta", Some(Block::Text(text))) => text.push_str(piece),
            ("thinking_delta", Some(Block::Thinking(text))) => text.push_str(piece),
            ("toolcall_delta", Some(Block::Call { written, .. })) => *written += piece.len(),
            ("withdrawn", _) => {
                self.withdrawn = true;
                return Vec::new();
            }
            _ => return Vec::new(),
        }
        self.written += piece.chars().count();
        if piece.contains('\n') || piece.is_empty() { self.certain(look) } else { Vec::new() }
    }

    /// The screen was cleared: nothing of it is printed.
    pub(crate) fn unprint(&mut self) {
        self.done = Done::default();
    }

    /// What it does at this moment.
    pub(crate) fn doing(&self) -> &'static str {
        match self.blocks.last() {
            None => "waiting",
            Some(Block::Thinking(_)) => "thinking",
            Some(Block::Text(_)) => "writing",
            Some(Block::Call { .. }) => "calling a tool",
        }
    }

    /// The lines that are not printed yet. Costs as much as is open, not as much as was said.
    pub(crate) fn live(&self, look: Look<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        for at in self.done.blocks..self.blocks.len() {
            lines.extend(self.drawn(at, look));
        }
        if let Some(Block::Call { name, written }) = self.blocks.last() {
            let told = format!("● {name} … {written}");
            lines.extend(block(vec![Line::of(Role::Dim, &told).cut(look.width)]));
        }
        lines
    }

    /// Whether lines of it were printed that the screen cannot take back.
    pub(crate) fn is_printed(&self) -> bool {
        self.done.lines > 0
    }

    /// What is left to print of the stored reply.
    pub(crate) fn rest(&self, mut stored: Vec<Line>) -> Vec<Line> {
        stored.drain(..self.done.lines.min(stored.len()));
        stored
    }

    fn certain(&mut self, look: Look<'_>) -> Vec<Line> {
        let mut lines = Vec::new();
        while self.done.blocks + 1 < self.blocks.len() {
            lines.extend(self.drawn(self.done.blocks, look));
            self.done = Done { blocks: self.done.blocks + 1, lines: self.done.lines, ..Done::default() };
        }
        lines.extend(self.certain_text(look));
        self.done.lines += lines.len();
        lines
    }

    /// The blocks of the last text that cannot change any more.
    fn certain_text(&mut self, look: Look<'_>) -> Vec<Line> {
        let Some(open) = self.open_text() else { return Vec::new() };
        let (cut, fence) = last_block(&open);
        if cut <= self.done.fence.len() {
            return Vec::new();
        }
        let started = self.done.edge.before;
        let (lines, edge) = markdown_after(self.done.edge, &open[..cut], Role::Text, look.width);
        self.done.bytes += cut - self.done.fence.len();
        self.done.edge = if fence.is_empty() { edge } else { Edge { gap: false, ..edge } };
        self.done.fence = fence;
        if started { lines } else { block(lines) }
    }

    /// The part of the current text that is not printed.
    fn open_text(&self) -> Option<String> {
        let Block::Text(text) = self.blocks.get(self.done.blocks)? else { return None };
        Some(format!("{}{}", self.done.fence, &text[self.done.bytes..]))
    }

    /// What is not printed of a block.
    fn drawn(&self, at: usize, look: Look<'_>) -> Vec<Line> {
        let edge = if at == self.done.blocks { self.done.edge } else { Edge::default() };
        let lines = match &self.blocks[at] {
            Block::Text(_) if edge.before => {
                let open = self.open_text().unwrap_or_default();
                return markdown_after(edge, &open, Role::Text, look.width).0;
            }
            Block::Text(text) => markdown(text, Role::Text, look.width),
            Block::Thinking(text) => thinking(text, look),
            Block::Call { .. } => Vec::new(),
        };
        block(lines)
    }
}

/// Where the last block of a Markdown text begins: all before it is certain. In a long block of code most of its lines
/// are, and the line that opened it is given for the rest.
fn last_block(text: &str) -> (usize, String) {
    let (mut depth, mut last, mut is_code) = (0, 0, false);
    for (event, range) in Parser::new_ext(text, OPTIONS).into_offset_iter() {
        if depth == 0 && !matches!(event, Event::End(_)) {
            last = range.start;
            is_code = matches!(event, Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))));
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    match cut_of_code(&text[last..]).filter(|_| is_code) {
        Some((cut, fence)) => (last + cut, fence),
        None => (last, String::new()),
    }
}

/// The place in a long block of code where its last lines begin, and its first line. The line before it is not blank,
/// because blank lines at the end are not drawn.
fn cut_of_code(code: &str) -> Option<(usize, String)> {
    let ends: Vec<usize> = code.match_indices('\n').map(|(at, _)| at + 1).collect();
    let most = ends.len().checked_sub(2 * CODE)? + CODE;
    let cut = (1..most).rev().find(|line| !code[ends[line - 1]..ends[*line]].trim().is_empty())?;
    Some((ends[cut], code[..ends[0]].to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::plain;
    use crate::transcript::assistant;
    use serde_json::json;

    const TEXT: &str = "# One\n\nA paragraph that is rather long and goes on.\n\n- a\n- b\n\n  more of b\n\n```rust\nfn x() {}\n\nlet y;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nSetext\n---\n\n> quote\n\n1. x\n\nend";

    /// Plays a reply in pieces: what was printed, and what the live part adds.
    fn played(text: &str, size: usize, look: Look<'_>) -> (Draft, Vec<Line>) {
        let mut draft = Draft::default();
        let mut printed = Vec::new();
        let mut say = |delta: Value| printed.extend(draft.push(&delta.to_string(), look));
        say(json!({ "type": "thinking_start" }));
        say(json!({ "type": "thinking_delta", "delta": "hm\nlong" }));
        say(json!({ "type": "thinking_end" }));
        say(json!({ "type": "text_start" }));
        let letters: Vec<char> = text.chars().collect();
        for piece in letters.chunks(size) {
            say(json!({ "type": "text_delta", "delta": piece.iter().collect::<String>() }));
        }
        (draft, printed)
    }

    fn stored(text: &str, look: Look<'_>) -> Vec<Line> {
        let content =
            json!([{ "type": "thinking", "thinking": "hm\nlong" }, { "type": "text", "text": text }]);
        block(assistant(&json!({ "content": content }), look))
    }

    /// However a reply is cut into pieces, the screen gets the lines that a replay gets, each once.
    #[track_caller]
    fn check(text: &str, look: Look<'_>) {
        let stored = stored(text, look);
        for size in [1, 2, 3, 7, 20, 1000] {
            let (mut draft, mut printed) = played(text, size, look);
            assert!(!printed.is_empty(), "nothing is certain before the end");
            let whole: Vec<Line> = printed.iter().cloned().chain(draft.live(look)).collect();
            assert_eq!(plain(&whole), plain(&stored), "live, in pieces of {size}");
            printed.extend(draft.rest(stored.clone()));
            assert_eq!(plain(&printed), plain(&stored), "in pieces of {size}");
            draft.unprint();
            assert_eq!(plain(&draft.live(look)), plain(&stored), "after the screen was cleared");
        }
    }

    #[test]
    fn a_streamed_reply_ends_up_as_the_stored_one() {
        for open in [false, true] {
            check(TEXT, Look { width: 24, open, ..Look::default() });
        }
        check("a\n\n-\n\n```\n```\n\n<b>x</b>\n\nb", Look { width: 24, ..Look::default() });
    }

    #[test]
    fn of_a_long_reply_only_the_end_is_open() {
        let look = Look { width: 60, ..Look::default() };
        let line =
            |number: usize| if number % 7 == 3 { "\n".into() } else { format!("let x{number} = 1;\n") };
        let code: String = (0..500).map(line).collect();
        let prose: String = (0..300).map(|number| format!("Paragraph {number} says so.\n\n")).collect();
        for text in [format!("{prose}```rust\n{code}"), format!("```rust\n{code}```\n\n{prose}")] {
            check(&text, look);
            let (draft, _) = played(&text, 20, look);
            assert!(draft.live(look).len() <= 2 * CODE + 2, "{}", draft.live(look).len());
        }
    }
}
