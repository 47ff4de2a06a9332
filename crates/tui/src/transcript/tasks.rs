//! The tasks of sub-agents as a card: while they run, and as stored results. Both look the same.

use osier_protocol::entry_view::{SubagentView, SubagentsView};
use osier_protocol::one_line;
use osier_protocol::subagents::TaskPanel;
use osier_protocol::time::Millis;
use osier_protocol::usage::format_tokens;

use super::RenderOptions;
use crate::markdown::render_markdown;
use crate::status::{format_elapsed, spinner};
use crate::text::{Line, Style, width};
use crate::theme::ColorRole;

/// The longest text of one line, in characters.
const MAX_TEXT: usize = 200;
/// The longest name of an agent, in columns.
const MAX_AGENT_COLUMNS: usize = 14;
/// A card is not wider than this, so that the numbers of a task stay close to its title.
const MAX_CARD_COLUMNS: usize = 110;
/// The columns that a title keeps; numbers that leave less are left out.
const MIN_TITLE_COLUMNS: usize = 16;

/// The time, for tasks that run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LiveTime {
    /// In the time of `UiState::now`; it moves the spinner.
    pub(crate) animation: u64,
    pub(crate) now: Millis,
}

/// A task as it is drawn.
#[derive(Debug, Clone, Default)]
struct TaskRow<'a> {
    status: &'a str,
    agent: &'a str,
    title: &'a str,
    tool_calls: u64,
    tokens: u64,
    milliseconds: Option<Millis>,
    /// Why it failed.
    error: Option<&'a str>,
    /// What it does now.
    activity: Option<&'a str>,
    /// Its answer, or its last words.
    answer: &'a str,
    session: Option<&'a str>,
}

impl<'a> TaskRow<'a> {
    fn live(panel: &'a TaskPanel, now: Millis) -> TaskRow<'a> {
        let end = panel.ended_at.unwrap_or(now);
        TaskRow {
            status: &panel.status,
            agent: panel.agent.as_deref().unwrap_or("agent"),
            title: &panel.title,
            tool_calls: panel.tool_calls,
            tokens: panel.usage.total_tokens,
            milliseconds: panel.started_at.map(|start| end - start),
            error: panel.error.as_deref(),
            activity: panel.activity.as_deref(),
            answer: &panel.summary,
            session: panel.session_id.as_deref(),
        }
    }

    fn stored(item: &'a SubagentView, of_batch: &'a str) -> TaskRow<'a> {
        TaskRow {
            status: item.status.as_deref().unwrap_or(of_batch),
            agent: item.agent.as_deref().unwrap_or_default(),
            title: &item.title,
            tool_calls: item.tool_calls,
            tokens: item.tokens,
            milliseconds: item.started.zip(item.ended).map(|(start, end)| end - start),
            error: item.error.as_deref(),
            activity: None,
            answer: &item.text,
            session: item.session_id.as_deref(),
        }
    }

    /// The numbers of the task, with as many of them as fit.
    fn numbers(&self, columns: usize) -> String {
        let time = self.milliseconds.map(|time| format_elapsed(time.max(0).unsigned_abs()));
        let tokens = (self.tokens > 0).then(|| format!("{} tokens", format_tokens(self.tokens)));
        let calls = (self.tool_calls > 0).then(|| count(self.tool_calls as usize, "call"));
        let word = match self.status {
            "running" | "completed" | "failed" => None,
            status => Some(status_word(status).to_owned()),
        };
        // The time is the last to go.
        let mut parts: Vec<String> = [calls, tokens, word, time].into_iter().flatten().collect();
        while parts.len() > 1 && width(&parts.join(" · ")) > columns {
            parts.remove(0);
        }
        Some(parts.join(" · ")).filter(|text| width(text) <= columns).unwrap_or_default()
    }

    /// The line below the title: what the agent does, or how it ended.
    fn last_words(&self) -> Option<(ColorRole, String)> {
        if let Some(error) = self.error.filter(|error| !error.trim().is_empty()) {
            return Some((ColorRole::Bad, one_line(error, MAX_TEXT)));
        }
        let is_running = self.status == "running";
        let text = self.activity.filter(|_| is_running).unwrap_or_else(|| first_line(self.answer));
        match one_line(text, MAX_TEXT) {
            text if !text.trim().is_empty() => Some((ColorRole::Dim, text)),
            _ if is_running => Some((ColorRole::Dim, "waiting for the model".to_owned())),
            _ => None,
        }
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

fn count(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

fn status_mark(status: &str, time: Option<LiveTime>) -> (&'static str, ColorRole) {
    match status {
        "queued" => ("○", ColorRole::Dim),
        "running" => (time.map_or("●", |time| spinner(time.animation)), ColorRole::Accent),
        "completed" => ("✓", ColorRole::Good),
        "failed" => ("✗", ColorRole::Bad),
        "cancelled" | "interrupted" => ("■", ColorRole::Warn),
        _ => ("•", ColorRole::Dim),
    }
}

/// The tasks of a call that runs, in at most `max_rows` rows below its head.
pub(crate) fn live_tasks<'a>(
    panels: impl IntoIterator<Item = &'a TaskPanel>,
    max_rows: usize,
    time: LiveTime,
    options: RenderOptions<'_>,
) -> Vec<Line> {
    let rows: Vec<TaskRow<'_>> = panels.into_iter().map(|panel| TaskRow::live(panel, time.now)).collect();
    let ended = rows.iter().filter(|row| !matches!(row.status, "queued" | "running")).count();
    let tokens = rows.iter().map(|row| row.tokens).sum();
    let state = format!("{ended} of {} done", count(rows.len(), "task"));
    let mut lines = vec![head(ColorRole::Accent, &state, tokens, None, options)];
    let has_words = rows.len() * 2 <= max_rows;
    let (shown, hidden) = shown_rows(&rows, if has_words { rows.len() } else { max_rows });
    for (at, row) in shown.iter().enumerate() {
        let is_last = at + 1 == shown.len() && hidden.is_none();
        lines.push(title_line(row, &shown, is_last, Some(time), options));
        lines.extend(row.last_words().filter(|_| has_words).map(|(role, text)| {
            Line::styled(role, &text)
                .prepend(ColorRole::Border, below(is_last))
                .truncate(card_columns(options))
        }));
    }
    lines.extend(hidden.map(|text| {
        Line::styled(ColorRole::Border, "  └─ ").with(ColorRole::Dim, &text).truncate(options.width)
    }));
    lines
}

/// The rows that fit, in their order, and a text about the others. Tasks that run are the most interesting ones.
fn shown_rows<'r, 'a>(rows: &'r [TaskRow<'a>], most: usize) -> (Vec<&'r TaskRow<'a>>, Option<String>) {
    if rows.len() <= most.max(1) {
        return (rows.iter().collect(), None);
    }
    let rank = |row: &TaskRow<'_>| match row.status {
        "running" => 0,
        "failed" => 1,
        "completed" => 3,
        _ => 2,
    };
    let mut order: Vec<usize> = (0..rows.len()).collect();
    order.sort_by_key(|at| (rank(&rows[*at]), *at));
    let hidden = order.split_off(most.saturating_sub(1).max(1));
    order.sort_unstable();
    let counts = status_counts(hidden.iter().map(|at| &rows[*at]));
    let text = format!("{} more: {counts}", hidden.len());
    (order.into_iter().map(|at| &rows[at]).collect(), Some(text))
}

/// How many rows have each status, for example `3 completed, 1 canceled`.
fn status_counts<'r, 'a: 'r>(rows: impl Iterator<Item = &'r TaskRow<'a>> + Clone) -> String {
    let mut parts = Vec::new();
    for status in ["running", "queued", "completed", "failed", "cancelled", "interrupted"] {
        let number = rows.clone().filter(|row| row.status == status).count();
        parts.extend((number > 0).then(|| format!("{number} {}", status_word(status))));
    }
    parts.join(", ")
}

fn status_word(status: &str) -> &str {
    if status == "cancelled" { "canceled" } else { status }
}

/// A stored batch, or its results.
pub(super) fn draw_subagents(subagents: &SubagentsView, options: RenderOptions<'_>) -> Vec<Line> {
    let status = subagents.status.as_deref().unwrap_or("running");
    let of_task = if subagents.has_results { "completed" } else { status };
    let rows: Vec<TaskRow<'_>> = subagents.items.iter().map(|item| TaskRow::stored(item, of_task)).collect();
    let tokens = rows.iter().map(|row| row.tokens).sum();
    let started = subagents.items.iter().filter_map(|item| item.started).min();
    let ended = subagents.items.iter().filter_map(|item| item.ended).max();
    let time = started.zip(ended).map(|(start, end)| end - start);
    let (_, role) = status_mark(status, None);
    let state = match rows.iter().all(|row| row.status == status) {
        true => format!("{} {}", count(rows.len(), "task"), one_line(status_word(status), 40)),
        false => format!("{}: {}", count(rows.len(), "task"), status_counts(rows.iter())),
    };
    let mut lines = vec![head(role, &state, tokens, time, options)];
    let all: Vec<&TaskRow<'_>> = rows.iter().collect();
    for (at, row) in rows.iter().enumerate() {
        let is_last = at + 1 == rows.len();
        lines.push(title_line(row, &all, is_last, None, options));
        lines.extend(ending_lines(row, is_last, options));
    }
    lines
}

/// How a task ended: its last words in one line, or its whole answer.
fn ending_lines(row: &TaskRow<'_>, is_last: bool, options: RenderOptions<'_>) -> Vec<Line> {
    let margin = below(is_last);
    let columns = card_columns(options).saturating_sub(width(margin));
    let Some((role, text)) = row.last_words() else { return Vec::new() };
    let mut lines = vec![Line::styled(role, &text)];
    if options.expanded && row.error.is_none() {
        lines = render_markdown(row.answer.trim(), ColorRole::Text, columns, options.code);
    } else if row.error.is_none() {
        let more = row.answer.trim().lines().filter(|line| !line.trim().is_empty()).count().saturating_sub(1);
        if more > 0 {
            let note = format!(" … {} (ctrl+o)", count(more, "more line"));
            let first = Line::styled(role, &text).truncate(columns.saturating_sub(width(&note)));
            lines = vec![first.with(role, &note)];
        }
    }
    if let Some(session) = row.session.filter(|_| options.expanded) {
        let id = session.get(..8).unwrap_or(session);
        lines.push(Line::styled(ColorRole::Dim, &format!("session {}, alt+a opens it", one_line(id, 8))));
    }
    let shown = |line: Line| line.prepend(ColorRole::Border, margin).truncate(card_columns(options));
    lines.into_iter().map(shown).collect()
}

fn head(role: ColorRole, state: &str, tokens: u64, time: Option<Millis>, options: RenderOptions<'_>) -> Line {
    let tokens = if tokens > 0 { format!(" · {} tokens", format_tokens(tokens)) } else { String::new() };
    let time = time.map(|time| format!(" · {}", format_elapsed(time.max(0).unsigned_abs())));
    Line::styled(role, "● ")
        .with(Style::default().bold(), "task")
        .with(ColorRole::Dim, &format!("  {state}{tokens}{}", time.unwrap_or_default()))
        .truncate(options.width)
}

fn card_columns(options: RenderOptions<'_>) -> usize {
    options.width.min(MAX_CARD_COLUMNS)
}

/// What stands to the left of the lines below a title.
fn below(is_last: bool) -> &'static str {
    if is_last { "       " } else { "  │    " }
}

/// The connector, the mark, the agent, the title, and the numbers at the right.
fn title_line(
    row: &TaskRow<'_>,
    all: &[&TaskRow<'_>],
    is_last: bool,
    time: Option<LiveTime>,
    options: RenderOptions<'_>,
) -> Line {
    let agent_columns = |row: &TaskRow<'_>| width(&one_line(row.agent, MAX_AGENT_COLUMNS));
    let longest = all.iter().map(|row| agent_columns(row)).max().unwrap_or(0);
    let (mark, role) = status_mark(row.status, time);
    let connector = if is_last { "  └─ " } else { "  ├─ " };
    let mut line = Line::styled(ColorRole::Border, connector).with(role, mark);
    if longest > 0 {
        let pad = " ".repeat(longest - agent_columns(row));
        line.push(Style::default().bold(), &format!(" {}{pad} ", one_line(row.agent, MAX_AGENT_COLUMNS)));
    }
    let room = card_columns(options).saturating_sub(line.width() + 1);
    let numbers = row.numbers(room.saturating_sub(MIN_TITLE_COLUMNS + 2));
    let title_columns = if numbers.is_empty() { room } else { room.saturating_sub(width(&numbers) + 2) };
    let is_over = row.status == "completed" && time.is_some();
    let style = if is_over { ColorRole::Dim } else { ColorRole::Text };
    let title = Line::styled(style, &one_line(row.title, MAX_TEXT)).truncate(title_columns);
    line.push(ColorRole::Text, " ");
    let gap = " ".repeat(title_columns.saturating_sub(title.width()) + 2);
    line.spans.extend(title.spans);
    if !numbers.is_empty() {
        line.push(ColorRole::Dim, &format!("{gap}{numbers}"));
    }
    line.truncate(options.width)
}
