//! The tasks of sub-agents: while they run, and as cards of stored batches.

use osier_protocol::entry_view::{SubagentView, SubagentsView};
use osier_protocol::one_line;
use osier_protocol::subagents::TaskPanel;
use osier_protocol::usage::format_tokens;

use super::RenderOptions;
use crate::text::{Line, Style};
use crate::theme::ColorRole;

/// The longest text of one line, in characters.
const MAX_TEXT: usize = 200;

fn status_mark(status: &str) -> (&'static str, ColorRole) {
    match status {
        "queued" => ("○", ColorRole::Dim),
        "running" => ("◐", ColorRole::Accent),
        "completed" => ("✓", ColorRole::Good),
        "failed" => ("✗", ColorRole::Bad),
        _ => ("–", ColorRole::Warn),
    }
}

/// A task while it runs: its state, and below it what the agent does.
pub(crate) fn task_lines(panel: &TaskPanel, options: RenderOptions<'_>) -> Vec<Line> {
    let (mark, role) = status_mark(&panel.status);
    let mut line = Line::styled(role, &format!("  {mark} "))
        .with(Style::default().bold(), panel.agent.as_deref().unwrap_or("agent"))
        .with(ColorRole::Text, &format!("  {}", one_line(&panel.title, MAX_TEXT)));
    if panel.turns > 0 {
        let tokens = format_tokens(panel.usage.total_tokens);
        line.push(ColorRole::Dim, &format!("  {} calls · {tokens} tokens", panel.tool_calls));
    }
    let doing = panel.error.as_ref().or(panel.activity.as_ref()).or(Some(&panel.summary));
    let doing = doing.filter(|text| !text.trim().is_empty());
    let below = doing.map(|text| {
        Line::styled(ColorRole::Dim, &format!("    {}", one_line(text, MAX_TEXT))).truncate(options.width)
    });
    [line.truncate(options.width)].into_iter().chain(below).collect()
}

/// A stored batch or its results: a line for each task.
pub(super) fn draw_subagents(subagents: &SubagentsView, options: RenderOptions<'_>) -> Vec<Line> {
    let status = subagents.status.as_deref().unwrap_or("running");
    let head = Line::styled(ColorRole::Accent, "● ")
        .with(Style::default().bold(), "sub-agents")
        .with(ColorRole::Dim, &format!(" {status}"));
    std::iter::once(head).chain(subagents.items.iter().map(|item| item_line(item, options))).collect()
}

fn item_line(item: &SubagentView, options: RenderOptions<'_>) -> Line {
    let text = one_line(item.error.as_ref().unwrap_or(&item.text), MAX_TEXT);
    let (mark, role) = item.status.as_deref().map_or(("•", ColorRole::Dim), status_mark);
    let agent = item.agent.as_ref().map(|agent| format!("{agent}  ")).unwrap_or_default();
    let session = item.session_id.as_deref().and_then(|id| id.get(..8));
    let session = session.map(|id| format!("  ({id})")).unwrap_or_default();
    let state = match item.status.as_deref() {
        None | Some("completed") => String::new(),
        Some(status) => format!("{status}: "),
    };
    let line = Line::styled(role, &format!("  {mark} "));
    line.with(ColorRole::Dim, &format!("{agent}{state}{text}{session}")).truncate(options.width)
}
