//! Finished content, in pieces that can be drawn at any width, folded or expanded. The screen keeps the pieces that have not
//! scrolled off, to draw them again after a resize.

use std::hash::{Hash, Hasher};

use osier_protocol::entry_view::{EntryContent, EntryView, MessageView, ToolCallView};
use osier_protocol::{EntryId, EntryLine, RenderSubject};
use rustc_hash::FxHasher;

use crate::markdown::{Chunk, ChunkEnd};
use crate::text::{Line, wrap};
use crate::theme::ColorRole;
use crate::transcript::{
    RenderOptions, draw_card, draw_entry, draw_interrupted, draw_thinking, with_blank_above,
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
    Entry(EntryLine),
    /// A tool call, and the entry of its result.
    Card(ToolCallView, EntryLine),
    Interrupted(ToolCallView),
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

    /// An entry that is neither a reply nor a tool result.
    pub(crate) fn entry(line: EntryLine) -> Piece {
        let key = content_key("entry", ViewContent(&line));
        Piece { content: PieceContent::Entry(line), spaced: true, key }
    }

    /// A tool call with its result.
    pub(crate) fn card(call: ToolCallView, result: EntryLine) -> Piece {
        let key = content_key("card", ViewContent(&result));
        Piece { content: PieceContent::Card(call, result), spaced: true, key }
    }

    /// A tool call without a result.
    pub(crate) fn interrupted(call: ToolCallView) -> Piece {
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
    pub(crate) fn text(chunk: Chunk, chunk_end: ChunkEnd) -> Piece {
        let key = content_key("text", (&chunk, &chunk_end));
        Piece { spaced: chunk_end.is_top(), content: PieceContent::Text(chunk, chunk_end), key }
    }

    pub(crate) fn key(&self) -> Option<u64> {
        self.key
    }

    /// What an extension may draw instead.
    pub(crate) fn subject(&self) -> Option<RenderSubject> {
        match &self.content {
            PieceContent::Entry(line) => {
                let view = line.view()?;
                let entry = view.id.clone();
                match &view.content {
                    EntryContent::Message(MessageView::Custom(custom)) if custom.display => {
                        Some(RenderSubject::Message { entry, custom_type: custom.custom_type.clone() })
                    }
                    EntryContent::Custom { custom_type } => {
                        Some(RenderSubject::Entry { entry, custom_type: custom_type.clone() })
                    }
                    _ => None,
                }
            }
            PieceContent::Card(call, line) => Some(call_subject(call, Some(line.view()?.id.clone()))),
            PieceContent::Interrupted(call) => Some(call_subject(call, None)),
            PieceContent::Notice(_) | PieceContent::Thinking(_) | PieceContent::Text(..) => None,
        }
    }

    pub(crate) fn draw(&self, options: RenderOptions<'_>) -> Vec<Line> {
        let lines = match &self.content {
            PieceContent::Notice(lines) => lines.iter().flat_map(|line| wrap(line, options.width)).collect(),
            PieceContent::Entry(line) => {
                line.view().map(|view| draw_entry(view, options)).unwrap_or_default()
            }
            PieceContent::Card(call, line) => match line.view().and_then(EntryView::message) {
                Some(MessageView::ToolResult(result)) => draw_card(call, result, options),
                _ => Vec::new(),
            },
            PieceContent::Interrupted(call) => draw_interrupted(call, options),
            PieceContent::Thinking(text) => draw_thinking(text, options),
            PieceContent::Text(chunk, chunk_end) => {
                chunk.draw(chunk_end, ColorRole::Text, options.width, options.code).0
            }
        };
        if self.spaced { with_blank_above(lines) } else { lines }
    }
}

/// A call, and the entry of its result.
pub(crate) fn call_subject(call: &ToolCallView, result: Option<EntryId>) -> RenderSubject {
    let ToolCallView { id, name, arguments } = call.clone();
    RenderSubject::Tool { call: id, name, arguments, result }
}

/// The content of an entry without its place in the log: an entry and its copy in a fork are the same piece.
struct ViewContent<'a>(&'a EntryLine);

impl Hash for ViewContent<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        format!("{:?}", self.0.view().map(|view| (view.time, &view.content))).hash(state);
    }
}

fn content_key(kind: &str, content: impl Hash) -> Option<u64> {
    let mut hasher = FxHasher::default();
    (kind, content).hash(&mut hasher);
    Some(hasher.finish())
}

/// The lines of all pieces.
pub(crate) fn draw_all(pieces: &[Piece], options: RenderOptions<'_>) -> Vec<Line> {
    pieces.iter().flat_map(|piece| piece.draw(options)).collect()
}
