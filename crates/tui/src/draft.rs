//! A reply while the model streams it. It yields the same pieces as the stored reply will. Pieces that can no longer change are
//! final and are printed at once, so that you can read a long reply while it is streamed. Printed content is counted in pieces of
//! the source, not in rows, so the width may change at any time.

use std::sync::Arc;

use serde_json::Value;

use crate::markdown::{Chunk, Chunker, Edge};
use crate::piece::{Piece, draw_all};
use crate::text::Line;
use crate::theme::Role;
use crate::transcript::{Look, block};

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub id: Option<Arc<str>>,
    reply: Reply,
    /// The final pieces.
    printed: Vec<Piece>,
    /// The number of characters so far, for the status line.
    pub(crate) written: usize,
    /// The reply broke off; the model is asked again, and the new reply is another draft.
    pub(crate) withdrawn: bool,
}

/// The content blocks of a reply, and how far they were returned as final pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) blocks: Vec<Block>,
    /// How many blocks were returned completely.
    done: usize,
    /// The position inside the next block, if it is text.
    text: TextPieces,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Block {
    Text(String),
    Thinking(String),
    Call { name: String, written: usize },
}

impl Draft {
    pub(crate) fn new(id: Arc<str>) -> Draft {
        Draft { id: Some(id), ..Draft::default() }
    }

    /// Appends a delta; returns the pieces that became final.
    pub(crate) fn push(&mut self, delta: &str) -> Vec<Piece> {
        let Ok(delta) = serde_json::from_str::<Value>(delta) else { return Vec::new() };
        let piece = delta["delta"].as_str().unwrap_or_default();
        let blocks = &mut self.reply.blocks;
        match (delta["type"].as_str().unwrap_or_default(), blocks.last_mut()) {
            ("text_start", _) => blocks.push(Block::Text(String::new())),
            ("thinking_start", _) => blocks.push(Block::Thinking(String::new())),
            ("toolcall_start", _) => {
                let name = delta["name"].as_str().unwrap_or_default().to_owned();
                blocks.push(Block::Call { name, written: 0 });
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
        if !piece.contains('\n') && !piece.is_empty() {
            return Vec::new();
        }
        let certain = self.reply.certain();
        self.printed.extend_from_slice(&certain);
        certain
    }

    /// The final pieces.
    pub(crate) fn printed(&self) -> &[Piece] {
        &self.printed
    }

    /// What the model is doing, for the status line.
    pub(crate) fn doing(&self) -> &'static str {
        match self.reply.blocks.last() {
            None => "waiting",
            Some(Block::Thinking(_)) => "thinking",
            Some(Block::Text(_)) => "writing",
            Some(Block::Call { .. }) => "calling a tool",
        }
    }

    /// The pieces that may still change. The cost depends on their size only, not on the length of the reply.
    pub(crate) fn open(&self) -> Vec<Piece> {
        self.reply.rest()
    }

    /// The pieces that may still change, as lines, with the progress of a tool call.
    pub(crate) fn live(&self, look: Look<'_>) -> Vec<Line> {
        let mut lines = draw_all(&self.open(), look);
        if let Some(Block::Call { name, written }) = self.reply.blocks.last() {
            let status = format!("● {name} … {written}");
            lines.extend(block(vec![Line::of(Role::Dim, &status).cut(look.width)]));
        }
        lines
    }

    /// Whether any pieces are final, and so printed.
    pub(crate) fn is_printed(&self) -> bool {
        !self.printed.is_empty()
    }

    /// The pieces of the stored reply that are not printed yet. If it differs from the streamed one, they start where it
    /// differs.
    pub(crate) fn rest(&self, mut stored: Vec<Piece>) -> Vec<Piece> {
        stored.drain(..self.same(&stored));
        stored
    }

    /// Whether the stored reply starts with the final pieces.
    pub(crate) fn is_begin_of(&self, stored: &[Piece]) -> bool {
        !self.printed.is_empty() && self.same(stored) == self.printed.len()
    }

    /// The length of the common prefix of the final pieces and the stored ones.
    fn same(&self, stored: &[Piece]) -> usize {
        self.printed.iter().zip(stored).take_while(|(one, other)| one.key() == other.key()).count()
    }
}

impl Reply {
    /// The pieces that became final since the last call.
    fn certain(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while self.done + 1 < self.blocks.len() {
            pieces.extend(self.rest_of(self.done));
            self.done += 1;
            self.text = TextPieces::default();
        }
        if let Some(Block::Text(text)) = self.blocks.get(self.done) {
            pieces.extend(self.text.read(text));
        }
        pieces
    }

    /// All pieces that were not returned as final yet, as if the reply ended here.
    pub(crate) fn rest(&self) -> Vec<Piece> {
        (self.done..self.blocks.len()).flat_map(|at| self.rest_of(at)).collect()
    }

    fn rest_of(&self, at: usize) -> Vec<Piece> {
        let state = if at == self.done { self.text.clone() } else { TextPieces::default() };
        match &self.blocks[at] {
            Block::Text(text) => state.rest(text),
            Block::Thinking(text) => vec![Piece::thinking(text)],
            Block::Call { .. } => Vec::new(),
        }
    }
}

/// Splits a text into pieces.
#[derive(Debug, Clone, Default)]
struct TextPieces {
    chunker: Chunker,
    edge: Edge,
}

impl TextPieces {
    fn read(&mut self, text: &str) -> Vec<Piece> {
        let chunks = self.chunker.read(text);
        self.pieces(chunks)
    }

    fn rest(mut self, text: &str) -> Vec<Piece> {
        let chunks = self.chunker.clone().rest(text);
        self.pieces(chunks)
    }

    fn pieces(&mut self, chunks: Vec<Chunk>) -> Vec<Piece> {
        let piece = |chunk: Chunk| {
            let edge = self.edge;
            // The edge of a chunk does not depend on the width.
            self.edge = chunk.draw(edge, Role::Text, 80).1;
            Piece::text(chunk, edge)
        };
        chunks.into_iter().map(piece).collect()
    }
}

#[cfg(test)]
mod tests;
