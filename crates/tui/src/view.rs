//! Draws the live part of the screen from the state. It is never higher than the terminal: the reply being streamed is shortened
//! first.

use osier_protocol::WidgetPlacement;
use osier_protocol::entry_view::ToolCallView;
use osier_protocol::subagents::TaskPanel;

use crate::extension_editor::ExtensionEditor;
use crate::hints::hint_line;
use crate::overlay::OverlayArea;
use crate::panel::{frame_overlay, inner_columns, rule};
use crate::screen::Frame;
use crate::state::UiState;
use crate::status::{spinner_line, status_line};
use crate::text::{Line, wrap};
use crate::theme::ColorRole;
use crate::tour::tour_lines;
use crate::transcript::{
    LiveTime, RenderOptions, card_header, draw_rendered, explore_lines, live_tasks, output_tail,
    with_blank_above,
};
use crate::update::question_keys::shares_draft;

/// The number of output lines shown below a running tool.
const MAX_OUTPUT_LINES: usize = 6;
/// How many milliseconds reading the tree may take before a notice is shown.
const NOTICE_DELAY_MS: u64 = 100;
/// The minimum number of rows for the reply being streamed, if there is room.
const MIN_REPLY_ROWS: usize = 4;
/// The minimum number of rows for the tasks of sub-agents.
const MIN_TASK_ROWS: usize = 4;
/// The maximum number of rows of the editor.
const MAX_EDITOR_ROWS: usize = 10;

/// A lower terminal shows no rules around the editor.
const MIN_RULE_ROWS: usize = 16;
/// The maximum number of rows of the draft below a question.
const MAX_DRAFT_ROWS: usize = 3;

/// The area that an overlay is drawn in, which its keys use for paging.
pub(crate) fn overlay_area(state: &UiState) -> OverlayArea {
    let below = bottom_lines(state).len() + draft_frame(state).map_or(0, |draft| draft.lines.len());
    OverlayArea {
        columns: match state.overlays.last().is_some_and(|overlay| !overlay.has_frame()) {
            true => state.columns,
            false => inner_columns(state.columns),
        },
        rows: state.rows.saturating_sub(below + 1).max(3),
        now: state.now,
        clock: state.clock,
    }
}

/// The area of the overlay, if the screen is high enough to show all of it.
pub(crate) fn full_overlay_area(state: &UiState) -> Option<OverlayArea> {
    let room = overlay_area(state);
    let others = bottom_lines(state).len() + draft_frame(state).map_or(0, |draft| draft.lines.len());
    (room.rows + others <= state.rows).then_some(room)
}

fn bottom_lines(state: &UiState) -> Vec<Line> {
    let mut below: Vec<Line> = spinner_line(state).into_iter().collect();
    below.extend(tour_lines(state));
    below.extend(tree_request_line(state));
    let most = state.rows / 4;
    below.extend(notice_lines(state, most.max(1)));
    below.extend(state.extensions.widget_lines(WidgetPlacement::BelowEditor, state.columns, most));
    match state.extensions.footer_lines(state.columns, most.max(1)) {
        Some(lines) => below.extend(lines),
        None => below.push(status_line(state)),
    }
    below.extend(state.extensions.status_line(state.columns));
    below
}

/// The notice, wrapped: the end of an error often says what to do.
fn notice_lines(state: &UiState, most: usize) -> Vec<Line> {
    let Some(notice) = &state.notice else { return Vec::new() };
    let mut lines = wrap(notice, state.columns);
    if lines.len() > most {
        lines.truncate(most);
        let last = lines.pop().unwrap_or_default().with(ColorRole::Dim, "…");
        lines.push(last.truncate(state.columns));
    }
    lines
}

/// The notice about reading the tree, once it takes noticeable time.
fn tree_request_line(state: &UiState) -> Option<Line> {
    let since = state.tree_request.as_ref()?.since;
    let notice = Line::styled(ColorRole::Dim, "Reading the tree… (esc to cancel)");
    (state.now.saturating_sub(since) >= NOTICE_DELAY_MS).then(|| notice.truncate(state.columns))
}

pub fn view(state: &UiState) -> Frame {
    let below = bottom_lines(state);
    let mut middle = match state.overlays.last() {
        Some(overlay) => {
            let inner = overlay.view(overlay_area(state));
            let framed = match overlay.has_frame() {
                true => frame_overlay(inner, state.columns, overlay.border()),
                false => inner,
            };
            stack(framed, draft_frame(state))
        }
        None => editor_frame(state),
    };
    let height = state.rows.saturating_sub(below.len());
    trim_to_height(&mut middle, height);
    let left = height.saturating_sub(middle.lines.len());
    let mut above = activity_lines(state);
    above.extend(queue_lines(state));
    above.push(Line::new());
    above.extend(state.extensions.header_lines(state.columns));
    above.extend(state.extensions.widget_lines(WidgetPlacement::AboveEditor, state.columns, usize::MAX));
    let skip = above.len().saturating_sub(left);
    let mut lines: Vec<Line> = above.into_iter().skip(skip).collect();
    let cursor = middle.cursor.map(|(row, column)| (row + lines.len(), column));
    lines.extend(middle.lines);
    lines.extend(below);
    Frame { lines, cursor }
}

/// The draft that stays visible below a question.
fn draft_frame(state: &UiState) -> Option<Frame> {
    let is_shown = shares_draft(state) && !state.editor.is_empty();
    let height = MAX_DRAFT_ROWS.min(state.rows / 4).max(1);
    is_shown.then(|| {
        let (lines, cursor) = state.editor.view(state.columns, height, ColorRole::Dim);
        Frame { lines, cursor: Some((cursor.0, cursor.1.min(state.columns.saturating_sub(1)))) }
    })
}

/// Stacks two frames.
fn stack(mut above: Frame, below: Option<Frame>) -> Frame {
    if let Some(below) = below {
        let row = above.lines.len();
        above.cursor = above.cursor.or(below.cursor.map(|(at, column)| (row + at, column)));
        above.lines.extend(below.lines);
    }
    above
}

/// Removes rows that do not fit: first at the top, but never the cursor's row.
fn trim_to_height(frame: &mut Frame, height: usize) {
    let over = frame.lines.len().saturating_sub(height);
    if over > 0 {
        let row = frame.cursor.map_or(frame.lines.len(), |(row, _)| row);
        let front = over.min(row);
        frame.lines.drain(..front);
        frame.lines.truncate(height);
        frame.cursor = frame.cursor.map(|(row, column)| (row - front, column));
    }
}

/// The editor of an extension, with Osier's completions below it.
fn extension_editor_frame(state: &UiState, editor: &ExtensionEditor) -> Frame {
    let most = (state.rows / 2).max(3);
    let (mut lines, cursor) = editor.view(state.columns, most);
    if let Some(completion) = &state.completion {
        let room = state.rows.saturating_sub(lines.len() + 5);
        lines.extend(completion.view(state.columns).into_iter().take(room));
    }
    Frame { lines, cursor }
}

fn editor_frame(state: &UiState) -> Frame {
    if let Some(editor) = &state.extensions.editor {
        return extension_editor_frame(state, editor);
    }
    let role = if state.activity.turn_running { ColorRole::Dim } else { ColorRole::Accent };
    let height = MAX_EDITOR_ROWS.min(state.rows.saturating_sub(3)).max(1);
    let (mut lines, mut cursor) = state.editor.view(state.columns, height, role);
    cursor.1 = cursor.1.min(state.columns.saturating_sub(1));
    if let Some(completion) = &state.completion {
        let list = completion.view(state.columns);
        let room = state.rows.saturating_sub(lines.len() + 5);
        lines.extend(list.into_iter().take(room));
    } else if state.editor.is_empty() && !state.activity.is_active() && state.status.depth == 0 {
        let hint = "type a message, or /help";
        let first = std::mem::take(&mut lines[0]);
        lines[0] = first.with(ColorRole::Dim, hint).truncate(state.columns);
    }
    if state.rows >= MIN_RULE_ROWS {
        let border = editor_border(state);
        lines.insert(0, rule("", Line::new(), state.columns, border));
        lines.push(rule("──", hint_line(state, state.columns.saturating_sub(5)), state.columns, border));
        cursor.0 += 1;
    }
    Frame { lines, cursor: Some(cursor) }
}

fn editor_border(state: &UiState) -> ColorRole {
    match state.editor.text().as_bytes().first() {
        Some(b'!') => ColorRole::Warn,
        _ => ColorRole::Border,
    }
}

/// The streamed reply, running tools, a running command of the user, and a summary in progress.
fn activity_lines(state: &UiState) -> Vec<Line> {
    let options = state.render_options();
    let mut lines = state.reply.live_lines(options);
    // Rows that do not fit on a narrower screen would end up in the scrollback after a resize.
    lines.drain(..lines.len().saturating_sub((state.rows / 3).max(MIN_REPLY_ROWS)));
    if state.activity.turn_running {
        for call in state.transcript.pending_calls() {
            lines.extend(with_blank_above(running_call(state, call, options)));
        }
    }
    if let Some(report) = &state.activity.explore {
        lines.extend(with_blank_above(explore_lines(report, options)));
    }
    if let Some((command, printed)) = &state.activity.user_command {
        let mut card =
            vec![Line::styled(ColorRole::User, "! ").with(ColorRole::Text, command).truncate(options.width)];
        card.extend(output_tail(printed, MAX_OUTPUT_LINES, options));
        lines.extend(with_blank_above(card));
    }
    if let Some((of, text)) = state.activity.summary.as_ref().filter(|_| state.overlays.is_empty()) {
        let mut card = vec![Line::styled(ColorRole::Accent, &format!("◆ {}", of.name()))];
        card.extend(output_tail(text, MAX_OUTPUT_LINES, options));
        lines.extend(with_blank_above(card));
    }
    lines
}

/// A call that has no result yet, with its output so far.
fn running_call(state: &UiState, call: &ToolCallView, options: RenderOptions<'_>) -> Vec<Line> {
    let output = || {
        let printed = state.activity.tools.iter().find(|(id, _)| *id == call.id);
        let printed = printed.into_iter();
        printed.flat_map(|(_, text)| output_tail(text, MAX_OUTPUT_LINES, options)).collect::<Vec<Line>>()
    };
    if let Some(rendered) = options.rendered.and_then(|rendered| rendered.call(&call.id)) {
        return draw_rendered(call, rendered, ColorRole::Accent, options, output);
    }
    let tasks = state.activity.tasks.iter().filter(|(id, _)| *id == call.id);
    let tasks: Vec<&TaskPanel> = tasks.map(|(_, panel)| panel).collect();
    let mut card = match tasks.is_empty() {
        true => card_header(call, ColorRole::Accent, options),
        false => live_tasks(tasks, (state.rows / 2).max(MIN_TASK_ROWS), live_time(state), options),
    };
    card.extend(output());
    card
}

fn live_time(state: &UiState) -> LiveTime {
    LiveTime { animation: state.now, now: state.clock.now }
}

fn queue_lines(state: &UiState) -> Vec<Line> {
    let line = |mark: &str, text: &String| {
        Line::styled(ColorRole::Accent, mark).with(ColorRole::Dim, text).truncate(state.columns)
    };
    let mut lines: Vec<Line> = state.steering.iter().map(|text| line("next: ", text)).collect();
    lines.extend(state.follow_up.iter().map(|text| line("then: ", text)));
    if !lines.is_empty() {
        lines.push(Line::styled(ColorRole::Dim, "alt+up to edit them").truncate(state.columns));
    }
    // With a connection, a prompt is answered at once.
    let unanswered = state.unanswered.iter().filter(|_| state.connection_problem.is_some());
    lines.extend(unanswered.map(|text| line("to send: ", text)));
    if !lines.is_empty() {
        lines.insert(0, Line::new());
    }
    lines
}
