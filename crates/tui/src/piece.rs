//! Finished content, in pieces that can be drawn at any width, folded or expanded. The screen keeps the pieces that have not
//! scrolled off, to draw them again after a resize.

use std::hash::{Hash, Hasher};

use osier_tree::{Kind, Role as Speaker};
use rustc_hash::FxHasher;
use serde_json::Value;

use crate::markdown::{Chunk, Edge};
use crate::text::{Line, wrap};
use crate::theme::Role;
use crate::transcript::{Call, Look, block, draw_card, draw_entry, draw_interrupted, thinking, user};

/// See the module.
#[derive(Debug, Clone)]
pub struct Piece {
    content: Content,
    /// A blank line precedes it.
    spaced: bool,
    /// Identifies a piece of the conversation by its content; `None` for notices.
    key: Option<u64>,
}

#[derive(Debug, Clone)]
enum Content {
    Notice(Vec<Line>),
    Entry(Kind, Speaker, Value),
    User(String, Value),
    Card(Call, Value),
    Interrupted(Call),
    Thinking(String),
    Text(Chunk, Edge),
}

impl Piece {
    /// Lines that belong to no entry. Long lines are wrapped.
    pub fn notice(lines: Vec<Line>) -> Piece {
        Piece { content: Content::Notice(lines), spaced: false, key: None }
    }

    /// A notice below a blank line.
    pub fn spaced_notice(lines: Vec<Line>) -> Piece {
        Piece { spaced: true, ..Piece::notice(lines) }
    }

    /// An entry that is not a reply.
    pub(crate) fn entry(kind: Kind, speaker: Speaker, body: Value) -> Piece {
        let key = key("entry", body.to_string());
        Piece { content: Content::Entry(kind, speaker, body), spaced: true, key }
    }

    /// A user message.
    pub(crate) fn user(text: String, message: Value) -> Piece {
        let key = key("user", message.to_string());
        Piece { content: Content::User(text, message), spaced: true, key }
    }

    /// A tool call with its result.
    pub(crate) fn card(call: Call, message: Value) -> Piece {
        let key = key("card", message.to_string());
        Piece { content: Content::Card(call, message), spaced: true, key }
    }

    /// A tool call without a result.
    pub(crate) fn interrupted(call: Call) -> Piece {
        let key = key("interrupted", &call.id);
        Piece { content: Content::Interrupted(call), spaced: true, key }
    }

    pub(crate) fn thinking(text: &str) -> Piece {
        Piece { content: Content::Thinking(text.to_owned()), spaced: true, key: key("thinking", text) }
    }

    /// A part of a reply's text.
    pub(crate) fn text(chunk: Chunk, edge: Edge) -> Piece {
        let key = key("text", (&chunk, edge));
        Piece { content: Content::Text(chunk, edge), spaced: edge.is_top(), key }
    }

    pub(crate) fn key(&self) -> Option<u64> {
        self.key
    }

    pub(crate) fn draw(&self, look: Look<'_>) -> Vec<Line> {
        let lines = match &self.content {
            Content::Notice(lines) => lines.iter().flat_map(|line| wrap(line, look.width)).collect(),
            Content::Entry(kind, speaker, body) => draw_entry(*kind, *speaker, body, look),
            Content::User(text, message) => user(text, message, look),
            Content::Card(call, message) => draw_card(call, message, look),
            Content::Interrupted(call) => draw_interrupted(call, look),
            Content::Thinking(text) => thinking(text, look),
            Content::Text(chunk, edge) => chunk.draw(*edge, Role::Text, look.width).0,
        };
        if self.spaced { block(lines) } else { lines }
    }
}

fn key(kind: &str, content: impl Hash) -> Option<u64> {
    let mut hasher = FxHasher::default();
    (kind, content).hash(&mut hasher);
    Some(hasher.finish())
}

/// The lines of all pieces.
pub(crate) fn draw_all(pieces: &[Piece], look: Look<'_>) -> Vec<Line> {
    pieces.iter().flat_map(|piece| piece.draw(look)).collect()
}
