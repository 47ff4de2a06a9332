//! Draws entries. A streamed reply is drawn like the entry it becomes, so live and resumed screens look the same.
//!
//! A tool call and its result are drawn together, as one card. A call without a result is drawn once it is clear that no result
//! will come.

mod backtrack;
mod card;
mod folding;

use osier_tree::entry::{Entry, parse_entry};
use osier_tree::graft::parse_graft;
use osier_tree::projection::json::entry_json;
use osier_tree::projection::preview::{one_line, shown_text};
use osier_tree::{EntryKind, MessageRole};
use serde_json::Value;

pub(crate) use card::CardCall;
pub(crate) use card::{card_header, draw as draw_card, interrupted as draw_interrupted, output_tail};

use crate::editor::Pastes;
use crate::markdown::render_markdown;
use crate::piece::Piece;
use crate::streamed_reply::{ReplyBlock, ReplyBlocks};
use crate::text::{Line, Style, sanitize, width, wrap};
use crate::theme::ColorRole;
use folding::fold_with_key;

/// How to draw entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct RenderOptions<'a> {
    pub width: usize,
    /// The user's home folder, shown as `~`.
    pub home: Option<&'a str>,
    /// Expands what is folded otherwise: thinking, summaries, output, long pastes.
    pub expanded: bool,
    /// Pasted texts, which are folded into their markers.
    pub pastes: Option<&'a Pastes>,
}

/// Draws entries in order. Keeps only the tool calls that have no result yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transcript {
    pending_calls: Vec<CardCall>,
}

impl Transcript {
    /// Draws a stored line.
    pub(crate) fn draw_line(&mut self, line: &[u8]) -> Vec<Piece> {
        let Ok(entry) = parse_entry(line) else { return Vec::new() };
        let Ok(body) = serde_json::from_slice::<Value>(&entry_json(&entry)) else { return Vec::new() };
        self.entry_pieces(&entry, body)
    }

    /// Draws the pending calls as interrupted.
    pub(crate) fn settle_pending(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pending_calls).into_iter().map(Piece::interrupted).collect()
    }

    /// The calls without a result.
    pub(crate) fn pending_calls(&self) -> &[CardCall] {
        &self.pending_calls
    }

    fn entry_pieces(&mut self, entry: &Entry<'_>, mut body: Value) -> Vec<Piece> {
        let (kind, speaker) = (entry.kind, entry.role);
        match (kind, speaker) {
            (EntryKind::Message, MessageRole::System) => Vec::new(),
            (EntryKind::Message, MessageRole::ToolResult) => {
                let message = body["message"].take();
                vec![Piece::card(self.take_call(&message), message)]
            }
            (EntryKind::Message, MessageRole::Assistant) => {
                let mut pieces = self.settle_pending();
                self.pending_calls = tool_calls(&body["message"]);
                pieces.extend(assistant_pieces(&body["message"]));
                pieces
            }
            (EntryKind::Message, MessageRole::User) => {
                let mut pieces = self.settle_pending();
                pieces.push(Piece::user(shown_text(entry).into_owned(), body["message"].take()));
                pieces
            }
            (
                EntryKind::Message
                | EntryKind::CustomMessage
                | EntryKind::Compaction
                | EntryKind::BranchSummary
                | EntryKind::Backtrack
                | EntryKind::SubagentBatch
                | EntryKind::SubagentResult,
                _,
            ) => {
                let mut pieces = self.settle_pending();
                pieces.push(Piece::entry(kind, speaker, body));
                pieces
            }
            _ => Vec::new(),
        }
    }

    /// Removes the call that a result belongs to.
    fn take_call(&mut self, message: &Value) -> CardCall {
        let id = message["toolCallId"].as_str().unwrap_or_default();
        match self.pending_calls.iter().position(|call| call.id == id) {
            Some(at) => self.pending_calls.remove(at),
            None => CardCall {
                id: id.to_owned(),
                name: str_field(message, "toolName").to_owned(),
                arguments: Value::Null,
            },
        }
    }
}

/// Draws an entry that is neither a reply nor a tool result.
pub(crate) fn draw_entry(
    kind: EntryKind,
    speaker: MessageRole,
    body: &Value,
    look: RenderOptions<'_>,
) -> Vec<Line> {
    let message = &body["message"];
    match (kind, speaker) {
        (EntryKind::Message, MessageRole::BashExecution) => card::draw_user_command(message, look),
        (EntryKind::Message, MessageRole::Custom) => draw_custom(message, look),
        (EntryKind::Message, _) => {
            render_markdown(&content_text(&message["content"]), ColorRole::Dim, look.width)
        }
        (EntryKind::CustomMessage, _) => draw_custom(body, look),
        (EntryKind::Compaction, _) => {
            let tokens =
                body["tokensBefore"].as_u64().map(|tokens| format!(" of {}k tokens", (tokens + 500) / 1000));
            draw_summary(
                &format!("compaction{}", tokens.unwrap_or_default()),
                str_field(body, "summary"),
                look,
            )
        }
        (EntryKind::BranchSummary, _) => {
            match parse_graft(str_field(body, "summary")).filter(|_| !look.expanded) {
                Some(graft) => {
                    let title = format!("conclusion of branch {}", one_line(graft.tip, 80));
                    draw_summary(&title, graft.conclusion, look)
                }
                None => draw_summary("branch summary", str_field(body, "summary"), look),
            }
        }
        (EntryKind::Backtrack, _) => backtrack::draw(body, look),
        (EntryKind::SubagentBatch | EntryKind::SubagentResult, _) => card::draw_subagents(body, look),
        _ => Vec::new(),
    }
}

/// A stored reply: its thinking, folded, and its text.
pub(crate) fn assistant_pieces(message: &Value) -> Vec<Piece> {
    let mut reply = ReplyBlocks::default();
    for block in message["content"].as_array().into_iter().flatten() {
        match block["type"].as_str() {
            Some("thinking") => {
                reply.blocks.push(ReplyBlock::Thinking(str_field(block, "thinking").to_owned()));
            }
            Some("text") => reply.blocks.push(ReplyBlock::Text(str_field(block, "text").to_owned())),
            _ => {}
        }
    }
    let mut pieces = reply.remaining();
    let ending = match (str_field(message, "stopReason"), str_field(message, "errorMessage")) {
        ("aborted", _) => Some(Line::styled(ColorRole::Dim, "■ stopped")),
        ("error", error) => Some(Line::styled(ColorRole::Bad, &format!("✗ {}", sanitize(error).trim()))),
        ("length", _) => Some(Line::styled(
            ColorRole::Warn,
            "… cut off at the model's output limit; send `continue` for the rest",
        )),
        _ => None,
    };
    pieces.extend(ending.map(|line| Piece::spaced_notice(vec![line])));
    pieces
}

/// Draws thinking: its first line and the number of other lines, or all of it if expanded.
pub(crate) fn draw_thinking(text: &str, look: RenderOptions<'_>) -> Vec<Line> {
    let room = look.width.saturating_sub(2);
    let mut lines = render_markdown(text.trim(), ColorRole::Thinking, room);
    lines.iter_mut().flat_map(|line| &mut line.spans).for_each(|span| span.style.italic = true);
    if lines.len() > 1 && !look.expanded {
        let more = match lines.iter().skip(1).filter(|line| !line.is_empty()).count() {
            1 => " … 1 more line (ctrl+o)".to_owned(),
            more => format!(" … {more} more lines (ctrl+o)"),
        };
        let first = lines.swap_remove(0).truncate(room.saturating_sub(width(&more)));
        lines = vec![first.with(ColorRole::Dim, &more).truncate(room)];
    }
    lines.into_iter().map(|line| line.prepend(ColorRole::Border, "∴ ")).collect()
}

pub(crate) fn draw_user(text: &str, message: &Value, look: RenderOptions<'_>) -> Vec<Line> {
    let folded = look.pastes.filter(|_| !look.expanded).map(|pastes| pastes.fold(text));
    let text = sanitize(folded.as_deref().unwrap_or(text));
    let style = Style::from(ColorRole::User).bold();
    let room = look.width.saturating_sub(2);
    let text_lines = text.trim_end().split('\n').flat_map(|line| wrap(&Line::styled(style, line), room));
    let mut lines: Vec<Line> = text_lines.collect();
    let images = message["content"].as_array().into_iter().flatten().filter(|block| block["type"] == "image");
    match images.count() {
        0 => {}
        1 => lines.push(Line::styled(ColorRole::Dim, "[1 image]")),
        images => lines.push(Line::styled(ColorRole::Dim, &format!("[{images} images]"))),
    }
    lines.retain(|line| !line.is_empty() || text.trim().contains('\n'));
    hanging_indent(lines, style, "> ")
}

fn draw_custom(body: &Value, look: RenderOptions<'_>) -> Vec<Line> {
    if body["display"] == false {
        return Vec::new();
    }
    let label = Style::from(ColorRole::CustomMessageLabel).bold();
    let mut lines = vec![Line::styled(label, &format!("[{}]", str_field(body, "customType")))];
    lines.extend(render_markdown(&content_text(&body["content"]), ColorRole::CustomMessageText, look.width));
    lines.into_iter().map(|line| line.with_background(ColorRole::CustomMessageBg)).collect()
}

fn draw_summary(title: &str, text: &str, look: RenderOptions<'_>) -> Vec<Line> {
    let mut lines =
        vec![Line::styled(ColorRole::Accent, "◆ ").with(Style::from(ColorRole::Accent).bold(), title)];
    let text = render_markdown(text, ColorRole::Dim, look.width.saturating_sub(2));
    let text = fold_with_key(text, 6, look.expanded).into_iter();
    lines.extend(text.map(|line| line.prepend(ColorRole::Border, "│ ").truncate(look.width)));
    lines
}

/// The tool calls of a reply.
fn tool_calls(message: &Value) -> Vec<CardCall> {
    let blocks = message["content"].as_array().into_iter().flatten();
    let calls = blocks.filter(|block| block["type"] == "toolCall").map(|block| CardCall {
        id: str_field(block, "id").to_owned(),
        name: str_field(block, "name").to_owned(),
        arguments: block["arguments"].clone(),
    });
    calls.collect()
}

/// The text of a message's content.
pub(crate) fn content_text(content: &Value) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let blocks = content.as_array().into_iter().flatten();
    let texts = blocks.filter(|block| block["type"] == "text").filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn str_field<'v>(value: &'v Value, key: &str) -> &'v str {
    value[key].as_str().unwrap_or_default()
}

/// Puts a mark before the first line, and indents the others to match.
pub(crate) fn hanging_indent(lines: Vec<Line>, style: impl Into<Style>, mark: &str) -> Vec<Line> {
    let style = style.into();
    let blank = " ".repeat(crate::text::width(mark));
    let behind = |(at, line): (usize, Line)| line.prepend(style, if at == 0 { mark } else { &blank });
    lines.into_iter().enumerate().map(behind).collect()
}

/// Adds an empty line above, unless there are no lines.
pub(crate) fn with_blank_above(lines: Vec<Line>) -> Vec<Line> {
    if lines.is_empty() { lines } else { std::iter::once(Line::new()).chain(lines).collect() }
}

#[cfg(test)]
mod tests;
