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
    ReplyBlockView, SubagentsView, ToolCallView, ToolResultView, UserMessageView,
};
use osier_protocol::graft::parse_graft;
use osier_protocol::{EntryLine, MessageRole, one_line};

pub(crate) use explores::explore_lines;
pub(crate) use tasks::{LiveTime, live_tasks};

pub(crate) use card::{
    card_header, draw as draw_card, draw_rendered, interrupted as draw_interrupted, output_tail,
};

use crate::code::CodeColors;
use crate::editor::Pastes;
use crate::markdown::render_markdown;
use crate::piece::Piece;
use crate::rendered::RenderedEntries;
use crate::streamed_reply::{ReplyBlock, ReplyBlocks};
use crate::text::{Line, Style, parse_styled, sanitize, width, wrap};
use crate::theme::ColorRole;
use folding::fold_with_key;

/// How to draw entries.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RenderOptions<'a> {
    pub width: usize,
    /// The user's home folder, shown as `~`.
    pub home: Option<&'a str>,
    /// Expands what is folded otherwise: thinking, summaries, output, long pastes.
    pub expanded: bool,
    /// Pasted texts, which are folded into their markers.
    pub pastes: Option<&'a Pastes>,
    /// The colors of code; without them, code is plain.
    pub code: Option<&'a CodeColors>,
    /// What extensions draw.
    pub rendered: Option<&'a RenderedEntries>,
    /// The text that stands for folded thinking.
    pub thinking_label: Option<&'a str>,
}

/// Draws entries in order. Keeps only the tool calls that have no result yet.
#[derive(Debug, Clone, Default)]
pub(crate) struct Transcript {
    pending_calls: Vec<ToolCallView>,
    /// The batches of pending calls. Their results are drawn instead, if they come.
    pending_batches: Vec<EntryLine>,
    /// The calls whose tasks are drawn. Their results say the same.
    drawn_batches: Vec<String>,
    /// The last calls were drawn as interrupted, with their tasks.
    has_interrupted_tasks: bool,
}

impl Transcript {
    /// Draws an entry.
    pub(crate) fn draw_line(&mut self, line: &EntryLine) -> Vec<Piece> {
        let Some(view) = line.view() else { return Vec::new() };
        match &view.content {
            EntryContent::Message(MessageView::Other(_)) if view.role == MessageRole::System => Vec::new(),
            EntryContent::Message(MessageView::ToolResult(result))
                if self.drawn_batches.contains(&result.call_id) =>
            {
                Vec::new()
            }
            EntryContent::Message(MessageView::ToolResult(result)) => {
                let is_own = |batch: &SubagentsView| batch.tool_call_id.as_ref() == Some(&result.call_id);
                let batches = self.take_batches(is_own).into_iter().map(Piece::entry);
                let card = Piece::card(self.take_call(result), line.clone());
                batches.chain([card]).collect()
            }
            EntryContent::Message(MessageView::Assistant(reply)) => {
                let mut pieces = self.settle_pending();
                self.pending_calls = reply.calls().cloned().collect();
                pieces.extend(assistant_pieces(reply));
                pieces
            }
            EntryContent::Subagents(subagents) if !self.pending_calls.is_empty() => {
                self.draw_batch(subagents, line)
            }
            EntryContent::Change(_) | EntryContent::Update { .. } | EntryContent::Other => Vec::new(),
            // Only extensions draw it.
            EntryContent::Custom { .. } => vec![Piece::entry(line.clone())],
            _ => {
                let mut pieces = self.settle_pending();
                pieces.push(Piece::entry(line.clone()));
                pieces
            }
        }
    }

    /// Draws the tasks of a pending call once they have ended. While they run, the live part of the screen shows them.
    fn draw_batch(&mut self, subagents: &SubagentsView, line: &EntryLine) -> Vec<Piece> {
        if !subagents.has_results {
            self.pending_batches.push(line.clone());
            return Vec::new();
        }
        self.take_batches(|batch| batch.batch_id == subagents.batch_id);
        self.replace_call(subagents);
        vec![Piece::entry(line.clone())]
    }

    fn take_batches(&mut self, is_wanted: impl Fn(&SubagentsView) -> bool) -> Vec<EntryLine> {
        let is_wanted = |line: &EntryLine| batch_of(line).is_some_and(&is_wanted);
        self.pending_batches.extract_if(.., |line| is_wanted(line)).collect()
    }

    /// The card of the tasks stands for their call.
    fn replace_call(&mut self, subagents: &SubagentsView) {
        let is_call = |call: &ToolCallView| Some(&call.id) == subagents.tool_call_id.as_ref();
        let calls = self.pending_calls.extract_if(.., |call| is_call(call));
        self.drawn_batches.extend(calls.map(|call| call.id));
    }

    /// Draws the pending calls as interrupted.
    pub(crate) fn settle_pending(&mut self) -> Vec<Piece> {
        let batches = std::mem::take(&mut self.pending_batches);
        self.has_interrupted_tasks = !batches.is_empty();
        batches.iter().filter_map(batch_of).for_each(|batch| self.replace_call(batch));
        let calls = std::mem::take(&mut self.pending_calls).into_iter().map(Piece::interrupted);
        batches.into_iter().map(Piece::entry).chain(calls).collect()
    }

    /// Whether the tasks at the end were drawn as interrupted. A turn that continues them needs the calls again.
    pub(crate) fn has_interrupted_tasks(&self) -> bool {
        self.has_interrupted_tasks
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

fn batch_of(line: &EntryLine) -> Option<&SubagentsView> {
    match &line.view()?.content {
        EntryContent::Subagents(batch) => Some(batch),
        _ => None,
    }
}

/// Draws an entry that is neither a reply nor a tool result.
pub(crate) fn draw_entry(view: &EntryView, options: RenderOptions<'_>) -> Vec<Line> {
    match &view.content {
        EntryContent::Message(MessageView::User(user)) => draw_user(user, options),
        EntryContent::Message(MessageView::UserCommand(run)) => {
            card::draw_user_command(run, view.in_context, options)
        }
        EntryContent::Message(MessageView::Custom(custom)) => draw_custom(view.id.as_str(), custom, options),
        EntryContent::Custom { .. } => {
            let lines = options.rendered.and_then(|rendered| rendered.body(view.id.as_str()));
            lines.map(<[Line]>::to_vec).unwrap_or_default()
        }
        EntryContent::Message(MessageView::Other(other)) => {
            render_markdown(&other.text, ColorRole::Dim, options.width, options.code)
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
        | EntryContent::Update { .. }
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
    let mut lines = render_markdown(text.trim(), ColorRole::Thinking, available_width, options.code);
    lines.iter_mut().flat_map(|line| &mut line.spans).for_each(|span| span.style.italic = true);
    if let Some(label) = options.thinking_label.filter(|_| !options.expanded) {
        lines = vec![parse_styled(label).0.truncate(available_width)];
    } else if lines.len() > 1 && !options.expanded {
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

/// Draws a message of an extension in its box. The extension may draw what is inside.
fn draw_custom(id: &str, custom: &CustomMessageView, options: RenderOptions<'_>) -> Vec<Line> {
    if !custom.display {
        return Vec::new();
    }
    if let Some(lines) = options.rendered.and_then(|rendered| rendered.body(id)) {
        return lines.iter().map(|line| line.clone().filled(ColorRole::CustomMessageBg)).collect();
    }
    let label = Style::from(ColorRole::CustomMessageLabel).bold();
    let mut lines = vec![Line::styled(label, &format!("[{}]", custom.custom_type))];
    lines.extend(render_markdown(&custom.text, ColorRole::CustomMessageText, options.width, options.code));
    lines.into_iter().map(|line| line.filled(ColorRole::CustomMessageBg)).collect()
}

fn draw_summary(title: &str, text: &str, options: RenderOptions<'_>) -> Vec<Line> {
    let mut lines =
        vec![Line::styled(ColorRole::Accent, "◆ ").with(Style::from(ColorRole::Accent).bold(), title)];
    let text = render_markdown(text, ColorRole::Dim, options.width.saturating_sub(2), options.code);
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
