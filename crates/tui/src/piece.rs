//! Finished content, in pieces that can be drawn at any width, folded or expanded. The screen keeps the pieces that have not
//! scrolled off, to draw them again after a resize.

use std::hash::{Hash, Hasher};

use osier_tree::{EntryKind, MessageRole};
use rustc_hash::FxHasher;
use serde_json::Value;

use crate::markdown::{Chunk, ChunkEnd};
use crate::text::{Line, wrap};
use crate::theme::ColorRole;
use crate::transcript::{
    CardCall, RenderOptions, draw_card, draw_entry, draw_interrupted, draw_thinking, draw_user,
    with_blank_above,
};

/// See the module.
#[derive(Debug, Clone)]
pub struct Piece {
    content: PieceContent,
    /// A blank line precedes it.
    spaced: bool,
    /// Identifies a piece of the conversation by its content; `None` for notices.
    key: Option<u64>,
}

#[derive(Debug, Clone)]
enum PieceContent {
    Notice(Vec<Line>),
    Entry(EntryKind, MessageRole, Value),
    User(String, Value),
    Card(CardCall, Value),
    Interrupted(CardCall),
    Thinking(String),
    Text(Chunk, ChunkEnd),
}

impl Piece {
    /// Lines that belong to no entry. Long lines are wrapped.
    pub fn notice(lines: Vec<Line>) -> Piece {
        Piece { content: PieceContent::Notice(lines), spaced: false, key: None }
    }

    /// A notice below a blank line.
    pub fn spaced_notice(lines: Vec<Line>) -> Piece {
        Piece { spaced: true, ..Piece::notice(lines) }
    }

    /// An entry that is not a reply.
    pub(crate) fn entry(kind: EntryKind, speaker: MessageRole, body: Value) -> Piece {
        let key = content_key("entry", body.to_string());
        Piece { content: PieceContent::Entry(kind, speaker, body), spaced: true, key }
    }

    /// A user message.
    pub(crate) fn user(text: String, message: Value) -> Piece {
        let key = content_key("user", message.to_string());
        Piece { content: PieceContent::User(text, message), spaced: true, key }
    }

    /// A tool call with its result.
    pub(crate) fn card(call: CardCall, message: Value) -> Piece {
        let key = content_key("card", message.to_string());
        Piece { content: PieceContent::Card(call, message), spaced: true, key }
    }

    /// A tool call without a result.
    pub(crate) fn interrupted(call: CardCall) -> Piece {
        let key = content_key("interrupted", &call.id);
        Piece { content: PieceContent::Interrupted(call), spaced: true, key }
    }

    pub(crate) fn thinking(text: &str) -> Piece {
        Piece {
            content: PieceContent::Thinking(text.to_owned()),
            spaced: true,
            key: content_key("thinking", text),
        }
    }

    /// A part of a reply's text.
    pub(crate) fn text(chunk: Chunk, edge: ChunkEnd) -> Piece {
        let key = content_key("text", (&chunk, edge));
        Piece { content: PieceContent::Text(chunk, edge), spaced: edge.is_top(), key }
    }

    pub(crate) fn key(&self) -> Option<u64> {
        self.key
    }

    pub(crate) fn draw(&self, look: RenderOptions<'_>) -> Vec<Line> {
        let lines = match &self.content {
            PieceContent::Notice(lines) => lines.iter().flat_map(|line| wrap(line, look.width)).collect(),
            PieceContent::Entry(kind, speaker, body) => draw_entry(*kind, *speaker, body, look),
            PieceContent::User(text, message) => draw_user(text, message, look),
            PieceContent::Card(call, message) => draw_card(call, message, look),
            PieceContent::Interrupted(call) => draw_interrupted(call, look),
            PieceContent::Thinking(text) => draw_thinking(text, look),
            PieceContent::Text(chunk, edge) => chunk.draw(*edge, ColorRole::Text, look.width).0,
        };
        if self.spaced { with_blank_above(lines) } else { lines }
    }
}

fn content_key(kind: &str, content: impl Hash) -> Option<u64> {
    let mut hasher = FxHasher::default();
    (kind, content).hash(&mut hasher);
    Some(hasher.finish())
}

/// The lines of all pieces.
pub(crate) fn draw_all(pieces: &[Piece], look: RenderOptions<'_>) -> Vec<Line> {
    pieces.iter().flat_map(|piece| piece.draw(look)).collect()
}
