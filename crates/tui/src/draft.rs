//! A reply while it comes. It is drawn by the function that draws stored replies; paragraphs that cannot change any more are
//! finished at once, so that a long reply can be read while it goes on.

use std::sync::Arc;

use pulldown_cmark::{Event, Options, Parser};
use serde_json::{Value, json};

use crate::text::Line;
use crate::transcript::{Look, assistant, block};

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub id: Option<Arc<str>>,
    blocks: Vec<Block>,
    /// How many lines of it are printed.
    printed: usize,
    /// The bytes of the stable part that were looked at last.
    stable: usize,
}

#[derive(Debug, Clone, PartialEq)]
enum Block {
    Text(String),
    Thinking(String),
    Call { name: String, written: usize },
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
            _ => return Vec::new(),
        }
        if piece.contains('\n') || piece.is_empty() { self.certain(look) } else { Vec::new() }
    }

    /// The screen was cleared: nothing of it is printed.
    pub(crate) fn unprint(&mut self) {
        (self.printed, self.stable) = (0, 0);
    }

    /// The number of letters so far, for the one who waits.
    pub(crate) fn written(&self) -> usize {
        let count = |block: &Block| match block {
            Block::Text(text) | Block::Thinking(text) => text.chars().count(),
            Block::Call { written, .. } => *written,
        };
        self.blocks.iter().map(count).sum()
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

    /// The lines that are not printed yet.
    pub(crate) fn live(&self, look: Look<'_>) -> Vec<Line> {
        let mut lines = self.drawn(None, look);
        lines.drain(..self.printed.min(lines.len()));
        if let Some(Block::Call { name, written }) = self.blocks.last() {
            let told = format!("● {name} … {written}");
            lines.extend(block(vec![Line::of(crate::theme::Role::Dim, &told).cut(look.width)]));
        }
        lines
    }

    /// What is left to print of the stored reply.
    pub(crate) fn rest(&self, mut stored: Vec<Line>) -> Vec<Line> {
        stored.drain(..self.printed.min(stored.len()));
        stored
    }

    fn certain(&mut self, look: Look<'_>) -> Vec<Line> {
        let Some((last, before)) = self.blocks.split_last() else { return Vec::new() };
        let within = match last {
            Block::Text(text) => last_block(text),
            _ => 0,
        };
        let seen = before.len() * (1 << 32) + within;
        if seen <= self.stable {
            return Vec::new();
        }
        self.stable = seen;
        let lines = self.drawn(Some(within), look);
        let new = lines.into_iter().skip(self.printed).collect::<Vec<_>>();
        self.printed += new.len();
        new
    }

    /// All of it, or its last block only so far.
    fn drawn(&self, within: Option<usize>, look: Look<'_>) -> Vec<Line> {
        let last = self.blocks.len().saturating_sub(1);
        let content: Vec<Value> = self
            .blocks
            .iter()
            .enumerate()
            .filter_map(|(at, block)| match (block, within.filter(|_| at == last)) {
                (Block::Text(text), Some(end)) => Some(json!({ "type": "text", "text": &text[..end] })),
                (Block::Text(text), None) => Some(json!({ "type": "text", "text": text })),
                // A thought is folded to its first line, which is not whole before a line feed.
                (Block::Thinking(_), Some(_)) => None,
                (Block::Thinking(text), None) => Some(json!({ "type": "thinking", "thinking": text })),
                (Block::Call { .. }, _) => None,
            })
            .collect();
        block(assistant(&json!({ "content": content }), look))
    }
}

/// Where the last block of a Markdown text begins: all before it is certain.
fn last_block(text: &str) -> usize {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let (mut depth, mut last) = (0, 0);
    for (event, range) in Parser::new_ext(text, options).into_offset_iter() {
        if depth == 0 && !matches!(event, Event::End(_)) {
            last = range.start;
        }
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::plain;

    const TEXT: &str = "# One\n\nA paragraph that is rather long and goes on.\n\n- a\n- b\n\n  more of b\n\n```rust\nfn x() {}\n\nlet y;\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nSetext\n---\n\n> quote\n\n1. x\n\nend";

    /// However a reply is cut into pieces, the screen gets the lines that a replay gets, each once.
    #[test]
    fn a_streamed_reply_ends_up_as_the_stored_one() {
        let look = Look { width: 24, ..Look::default() };
        let content =
            json!([{ "type": "thinking", "thinking": "hm\nlong" }, { "type": "text", "text": TEXT }]);
        let stored = block(assistant(&json!({ "content": content }), look));
        for size in [1, 2, 3, 7, 20, 1000] {
            let mut draft = Draft::default();
            let mut printed = Vec::new();
            let mut say = |delta: Value| printed.extend(draft.push(&delta.to_string(), look));
            say(json!({ "type": "thinking_start" }));
            say(json!({ "type": "thinking_delta", "delta": "hm\nlong" }));
            say(json!({ "type": "thinking_end" }));
            say(json!({ "type": "text_start" }));
            let letters: Vec<char> = TEXT.chars().collect();
            for piece in letters.chunks(size) {
                say(json!({ "type": "text_delta", "delta": piece.iter().collect::<String>() }));
            }
            assert!(!printed.is_empty(), "nothing is certain before the end");
            let whole: Vec<Line> = printed.iter().cloned().chain(draft.live(look)).collect();
            assert_eq!(plain(&whole), plain(&stored), "live, in pieces of {size}");
            printed.extend(draft.rest(stored.clone()));
            assert_eq!(plain(&printed), plain(&stored), "in pieces of {size}");
        }
    }
}
