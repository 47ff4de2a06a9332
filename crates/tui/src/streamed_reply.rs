//! A reply while the model streams it. It yields the same pieces as the stored reply will. Pieces that can no longer change are
//! final and are printed at once, so that you can read a long reply while it is streamed. Printed content is counted in pieces of
//! the source, not in rows, so the width may change at any time.

use osier_protocol::{EntryId, ReplyDelta};

use crate::markdown::{Chunk, ChunkEnd, Chunker};
use crate::piece::{Piece, draw_all};
use crate::text::Line;
use crate::theme::ColorRole;
use crate::transcript::{RenderOptions, with_blank_above};

/// See the module.
#[derive(Debug, Clone, Default)]
pub(crate) struct StreamedReply {
    pub id: Option<EntryId>,
    reply: ReplyBlocks,
    /// The final pieces.
    final_pieces: Vec<Piece>,
    /// The number of characters so far, for the status line.
    pub(crate) chars_written: usize,
    /// The reply broke off; the model is asked again, and the new reply is another draft.
    pub(crate) withdrawn: bool,
}

/// The content blocks of a reply, and how far they were returned as final pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReplyBlocks {
    pub(crate) blocks: Vec<ReplyBlock>,
    /// How many blocks were returned completely.
    finished_blocks: usize,
    /// The position inside the next block, if it is text.
    text: TextPieces,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ReplyBlock {
    Text(String),
    Thinking(String),
    Call { name: String, written: usize },
}

impl StreamedReply {
    pub(crate) fn new(id: EntryId) -> StreamedReply {
        StreamedReply { id: Some(id), ..StreamedReply::default() }
    }

    /// Appends a delta; returns the pieces that became final.
    pub(crate) fn push_delta(&mut self, delta: &ReplyDelta) -> Vec<Piece> {
        let blocks = &mut self.reply.blocks;
        match (delta, blocks.last_mut()) {
            (ReplyDelta::TextStart { .. }, _) => blocks.push(ReplyBlock::Text(String::new())),
            (ReplyDelta::ThinkingStart { .. }, _) => blocks.push(ReplyBlock::Thinking(String::new())),
            (ReplyDelta::ToolCallStart { name, .. }, _) => {
                blocks.push(ReplyBlock::Call { name: name.clone(), written: 0 });
            }
            (ReplyDelta::TextDelta { delta, .. }, Some(ReplyBlock::Text(text)))
            | (ReplyDelta::ThinkingDelta { delta, .. }, Some(ReplyBlock::Thinking(text))) => {
                text.push_str(delta);
            }
            (ReplyDelta::ToolCallDelta { delta, .. }, Some(ReplyBlock::Call { written, .. })) => {
                *written += delta.len();
            }
            (ReplyDelta::Withdrawn, _) => {
                self.withdrawn = true;
                return Vec::new();
            }
            _ => return Vec::new(),
        }
        let text = delta.text();
        self.chars_written += text.chars().count();
        if !text.contains('\n') && !text.is_empty() {
            return Vec::new();
        }
        let certain = self.reply.take_final();
        self.final_pieces.extend_from_slice(&certain);
        certain
    }

    /// The final pieces.
    pub(crate) fn final_pieces(&self) -> &[Piece] {
        &self.final_pieces
    }

    /// What the model is doing, for the status line.
    pub(crate) fn activity(&self) -> &'static str {
        match self.reply.blocks.last() {
            None => "waiting",
            Some(ReplyBlock::Thinking(_)) => "thinking",
            Some(ReplyBlock::Text(_)) => "writing",
            Some(ReplyBlock::Call { .. }) => "calling a tool",
        }
    }

    /// The pieces that may still change. The cost depends on their size only, not on the length of the reply.
    pub(crate) fn open_pieces(&self) -> Vec<Piece> {
        self.reply.remaining()
    }

    /// The pieces that may still change, as lines, with the progress of a tool call.
    pub(crate) fn live_lines(&self, options: RenderOptions<'_>) -> Vec<Line> {
        let mut lines = draw_all(&self.open_pieces(), options);
        if let Some(ReplyBlock::Call { name, written }) = self.reply.blocks.last() {
            let status = format!("● {name} … {written}");
            lines.extend(with_blank_above(vec![
                Line::styled(ColorRole::Dim, &status).truncate(options.width),
            ]));
        }
        lines
    }

    /// Whether any pieces are final, and so printed.
    pub(crate) fn has_final_pieces(&self) -> bool {
        !self.final_pieces.is_empty()
    }

    /// The pieces of the stored reply that are not printed yet. If it differs from the streamed one, they start where it
    /// differs.
    pub(crate) fn unprinted(&self, mut stored: Vec<Piece>) -> Vec<Piece> {
        stored.drain(..self.common_prefix_len(&stored));
        stored
    }

    /// Whether the stored reply starts with the final pieces.
    pub(crate) fn is_prefix_of(&self, stored: &[Piece]) -> bool {
        !self.final_pieces.is_empty() && self.common_prefix_len(stored) == self.final_pieces.len()
    }

    /// The length of the common prefix of the final pieces and the stored ones.
    fn common_prefix_len(&self, stored: &[Piece]) -> usize {
        self.final_pieces.iter().zip(stored).take_while(|(one, other)| one.key() == other.key()).count()
    }
}

impl ReplyBlocks {
    /// The pieces that became final since the last call.
    fn take_final(&mut self) -> Vec<Piece> {
        let mut pieces = Vec::new();
        while self.finished_blocks + 1 < self.blocks.len() {
            pieces.extend(self.remaining_of_block(self.finished_blocks));
            self.finished_blocks += 1;
            self.text = TextPieces::default();
        }
        if let Some(ReplyBlock::Text(text)) = self.blocks.get(self.finished_blocks) {
            pieces.extend(self.text.take_final(text));
        }
        pieces
    }

    /// All pieces that were not returned as final yet, as if the reply ended here.
    pub(crate) fn remaining(&self) -> Vec<Piece> {
        (self.finished_blocks..self.blocks.len()).flat_map(|at| self.remaining_of_block(at)).collect()
    }

    fn remaining_of_block(&self, at: usize) -> Vec<Piece> {
        let state = if at == self.finished_blocks { self.text.clone() } else { TextPieces::default() };
        match &self.blocks[at] {
            ReplyBlock::Text(text) => state.remaining(text),
            ReplyBlock::Thinking(text) => vec![Piece::thinking(text)],
            ReplyBlock::Call { .. } => Vec::new(),
        }
    }
}

/// Splits a text into pieces.
#[derive(Debug, Clone, Default)]
struct TextPieces {
    chunker: Chunker,
    edge: ChunkEnd,
}

impl TextPieces {
    fn take_final(&mut self, text: &str) -> Vec<Piece> {
        let chunks = self.chunker.take_final(text);
        self.draw_pieces(chunks)
    }

    fn remaining(mut self, text: &str) -> Vec<Piece> {
        let chunks = self.chunker.clone().remaining(text);
        self.draw_pieces(chunks)
    }

    fn draw_pieces(&mut self, chunks: Vec<Chunk>) -> Vec<Piece> {
        let piece = |chunk: Chunk| {
            let chunk_end = self.edge.clone();
            // The end state of a chunk does not depend on the width.
            self.edge = chunk.draw(&chunk_end, ColorRole::Text, 80, None).1;
            Piece::text(chunk, chunk_end)
        };
        chunks.into_iter().map(piece).collect()
    }
}

#[cfg(test)]
mod tests;
