//! Draws entries. A streamed reply is drawn like the entry it becomes, so live and resumed screens look the same.
//!
//! A tool call and its result are drawn together, as one card. A call without a result is drawn once it is clear that no result
//! will come.

mod backtrack;
mod card;
mod explores;
mod folding;
mod tasks;

use osier_protocol::entry_view::{
    AssistantView, BranchSummaryView, CustomMessageView, EntryContent, EntryView, MessageView,
    ReplyBlockView, ToolCallView, ToolResultView, UserMessageView,
};
use osier_protocol::graft::parse_graft;
use osier_protocol::{EntryLine, MessageRole, one_line};

pub(crate) use explores::explore_lines;
pub(crate) use tasks::task_lines;

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
    pending_calls: Vec<ToolCallView>,
}

impl Transcript {
    /// Draws an entry.
    pub(crate) fn draw_line(&mut self, line: &EntryLine) -> Vec<Piece> {
        let Some(view) = line.view() else { return Vec::new() };
        match &view.content {
            EntryContent::Message(MessageView::Other(_)) if view.role == MessageRole::System => Vec::new(),
            EntryContent::Message(MessageView::ToolResult(result)) => {
                vec![Piece::card(self.take_call(result), line.clone())]
            }
            EntryContent::Message(MessageView::Assistant(reply)) => {
                let mut pieces = self.settle_pending();
                self.pending_calls = reply.calls().cloned().collect();
                pieces.extend(assistant_pieces(reply));
                pieces
            }
            // They are inside their call. While the tasks run, the live part of the screen shows them.
            EntryContent::Subagents(subagents) if !self.pending_calls.is_empty() => {
                let is_shown = subagents.status.as_deref() != Some("running");
                is_shown.then(|| Piece::entry(line.clone())).into_iter().collect()
            }
            EntryContent::Change(_) | EntryContent::Other => Vec::new(),
            _ => {
                let mut pieces = self.settle_pending();
                pieces.push(Piece::entry(line.clone()));
                pieces
            }
        }
    }

    /// Draws the pending calls as interrupted.
    pub(crate) fn settle_pending(&mut self) -> Vec<Piece> {
        std::mem::take(&mut self.pending_calls).into_iter().map(Piece::interrupted).collect()
    }

    /// The calls without a result.
    pub(crate) fn pending_calls(&self) -> &[ToolCallView] {
        &self.pending_calls
    }

    /// Removes the call that a result belongs to.
    fn take_call(&mut self, result: &ToolResultView) -> ToolCallView {
        match self.pending_calls.iter().position(|call| call.id == result.call_id) {
            Some(at) => self.pending_calls.remove(at),
            None => ToolCallView {
                id: result.call_id.clone(),
                name: result.tool_name.clone(),
                ..ToolCallView::default()
            },
        }
    }
}

/// Draws an entry that is neither a reply nor a tool result.
pub(crate) fn draw_entry(view: &EntryView, options: RenderOptions<'_>) -> Vec<Line> {
    match &view.content {
        EntryContent::Message(MessageView::User(user)) => draw_user(user, options),
        EntryContent::Message(MessageView::UserCommand(run)) => {
            card::draw_user_command(run, view.in_context, options)
        }
        EntryContent::Message(MessageView::Custom(custom)) => draw_custom(custom, options),
        EntryContent::Message(MessageView::Other(other)) => {
            render_markdown(&other.text, ColorRole::Dim, options.width)
        }
        EntryContent::Compaction(compaction) => {
            let tokens = compaction
                .tokens_before
                .map(|tokens| format!(" of {}k tokens", tokens.saturating_add(500) / 1000));
            draw_summary(&format!("compaction{}", tokens.unwrap_or_default()), &compaction.summary, options)
        }
        EntryContent::BranchSummary(BranchSummaryView { summary, .. }) => {
            match parse_graft(summary).filter(|_| !options.expanded) {
                Some(graft) => {
                    let title = format!("conclusion of branch {}", one_line(graft.tip, 80));
                    draw_summary(&title, graft.conclusion, options)
                }
                None => draw_summary("branch summary", summary, options),
            }
        }
        EntryContent::Backtrack(backtrack) => backtrack::draw(backtrack, options),
        EntryContent::Subagents(subagents) => tasks::draw_subagents(subagents, options),
        EntryContent::Message(MessageView::Assistant(_) | MessageView::ToolResult(_))
        | EntryContent::Change(_)
        | EntryContent::Other => Vec::new(),
    }
}

/// A stored reply: its thinking, folded, and its text.
pub(crate) fn assistant_pieces(reply: &AssistantView) -> Vec<Piece> {
    let mut blocks = ReplyBlocks::default();
    for block in &reply.blocks {
        match block {
            ReplyBlockView::Thinking(text) => blocks.blocks.push(ReplyBlock::Thinking(text.clone())),
            ReplyBlockView::Text(text) => blocks.blocks.push(ReplyBlock::Text(text.clone())),
            ReplyBlockView::Call(_) => {}
        }
    }
    let mut pieces = blocks.remaining();
    let ending = match (reply.stop_reason.as_deref(), reply.error.as_deref().unwrap_or_default()) {
        (Some("aborted"), _) => Some(Line::styled(ColorRole::Dim, "■ stopped")),
        (Some("error"), error) => {
            Some(Line::styled(ColorRole::Bad, &format!("✗ {}", sanitize(error).trim())))
        }
        (Some("length"), _) => Some(Line::styled(
            ColorRole::Warn,
            "… cut off at the model's output limit; send `continue` for the rest",
        )),
        _ => None,
    };
    pieces.extend(ending.map(|line| Piece::spaced_notice(vec![line])));
    pieces
}

/// Draws thinking: its first line and the number of other lines, or all of it if expanded.
pub(crate) fn draw_thinking(text: &str, options: RenderOptions<'_>) -> Vec<Line> {
    let available_width = options.width.saturating_sub(2);
    let mut lines = render_markdown(text.trim(), ColorRole::Thinking, available_width);
    lines.iter_mut().flat_map(|line| &mut line.spans).for_each(|span| span.style.italic = true);
    if lines.len() > 1 && !options.expanded {
        let more = match lines.iter().skip(1).filter(|line| !line.is_empty()).count() {
            1 => " … 1 more line (ctrl+o)".to_owned(),
            more => format!(" … {more} more lines (ctrl+o)"),
        };
        let first = lines.swap_remove(0).truncate(available_width.saturating_sub(width(&more)));
        lines = vec![first.with(ColorRole::Dim, &more).truncate(available_width)];
    }
    lines.into_iter().map(|line| line.prepend(ColorRole::Border, "∴ ")).collect()
}

fn draw_user(user: &UserMessageView, options: RenderOptions<'_>) -> Vec<Line> {
    let folded = options.pastes.filter(|_| !options.expanded).map(|pastes| pastes.fold(&user.text));
    let text = sanitize(folded.as_deref().unwrap_or(&user.text));
    let style = Style::default().bold();
    let available_width = options.width.saturating_sub(2);
    let text_lines =
        text.trim_end().split('\n').flat_map(|line| wrap(&Line::styled(style, line), available_width));
    let mut lines: Vec<Line> = text_lines.collect();
    match user.images {
        0 => {}
        1 => lines.push(Line::styled(ColorRole::Dim, "[1 image]")),
        images => lines.push(Line::styled(ColorRole::Dim, &format!("[{images} images]"))),
    }
    lines.retain(|line| !line.is_empty() || text.trim().contains('\n'));
    let lines = hanging_indent(lines, Style::from(ColorRole::User).bold(), "> ");
    lines.into_iter().map(|line| line.filled(ColorRole::UserBg)).collect()
}

fn draw_custom(custom: &CustomMessageView, options: RenderOptions<'_>) -> Vec<Line> {
    if !custom.display {
        return Vec::new();
    }
    let label = Style::from(ColorRole::CustomMessageLabel).bold();
    let mut lines = vec![Line::styled(label, &format!("[{}]", custom.custom_type))];
    lines.extend(render_markdown(&custom.text, ColorRole::CustomMessageText, options.width));
    lines.into_iter().map(|line| line.filled(ColorRole::CustomMessageBg)).collect()
}

fn draw_summary(title: &str, text: &str, options: RenderOptions<'_>) -> Vec<Line> {
    let mut lines =
        vec![Line::styled(ColorRole::Accent, "◆ ").with(Style::from(ColorRole::Accent).bold(), title)];
    let text = render_markdown(text, ColorRole::Dim, options.width.saturating_sub(2));
    let text = fold_with_key(text, 6, options.expanded).into_iter();
    lines.extend(text.map(|line| line.prepend(ColorRole::Border, "│ ").truncate(options.width)));
    lines
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
