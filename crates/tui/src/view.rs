//! Draws the live part of the screen from the state. It is never higher than the terminal: the reply being streamed is shortened
//! first.

use crate::overlay::Room;
use crate::screen::Frame;
use crate::state::State;
use crate::status::{spinner, status};
use crate::text::Line;
use crate::theme::Role;
use crate::transcript::{block, header, tail};
use crate::update::answering::shares_draft;

/// The number of output lines shown below a running tool.
const OUTPUT: usize = 6;
/// How many milliseconds reading the tree may take before a notice is shown.
const MOMENT: u64 = 100;
/// The minimum number of rows for the reply being streamed, if there is room.
const LEAST: usize = 4;
/// The maximum number of rows of the editor.
const EDITOR: usize = 10;

/// The maximum number of rows of the draft below a question.
const DRAFT: usize = 3;

/// The area that an overlay is drawn in, which its keys use for paging.
pub(crate) fn room(state: &State) -> Room {
    let below = below(state).len() + draft(state).map_or(0, |draft| draft.lines.len());
    Room {
        columns: state.columns,
        rows: state.rows.saturating_sub(below + 1).max(3),
        now: state.now,
        clock: state.clock,
    }
}

/// The area of the overlay, if the screen is high enough to show all of it.
pub(crate) fn whole_room(state: &State) -> Option<Room> {
    let room = room(state);
    let others = below(state).len() + draft(state).map_or(0, |draft| draft.lines.len());
    (room.rows + others <= state.rows).then_some(room)
}

fn below(state: &State) -> Vec<Line> {
    let mut below: Vec<Line> = spinner(state).into_iter().collect();
    below.extend(reading(state));
    below.extend(state.notice.clone().map(|line| line.cut(state.columns)));
    below.push(status(state));
    below
}

/// The notice about reading the tree, once it takes noticeable time.
fn reading(state: &State) -> Option<Line> {
    let since = state.reading?.since;
    let notice = Line::of(Role::Dim, "Reading the tree… (esc to cancel)");
    (state.now.saturating_sub(since) >= MOMENT).then(|| notice.cut(state.columns))
}

pub fn view(state: &State) -> Frame {
    let below = below(state);
    let mut middle = match state.overlays.last() {
        Some(overlay) => over(overlay.view(room(state)), draft(state)),
        None => editor(state),
    };
    let height = state.rows.saturating_sub(below.len());
    trim(&mut middle, height);
    let left = height.saturating_sub(middle.lines.len());
    let mut above = working(state);
    above.extend(queued(state));
    above.push(Line::new());
    let skip = above.len().saturating_sub(left);
    let mut lines: Vec<Line> = above.into_iter().skip(skip).collect();
    let cursor = middle.cursor.map(|(row, column)| (row + lines.len(), column));
    lines.extend(middle.lines);
    lines.extend(below);
    Frame { lines, cursor }
}

/// The draft that stays visible below a question.
fn draft(state: &State) -> Option<Frame> {
    let is_shown = shares_draft(state) && !state.editor.is_empty();
    let height = DRAFT.min(state.rows / 4).max(1);
    is_shown.then(|| {
        let (lines, cursor) = state.editor.view(state.columns, height, Role::Dim);
        Frame { lines, cursor: Some((cursor.0, cursor.1.min(state.columns.saturating_sub(1)))) }
    })
}

/// Stacks two frames.
fn over(mut above: Frame, below: Option<Frame>) -> Frame {
    if let Some(below) = below {
        let row = above.lines.len();
        above.cursor = above.cursor.or(below.cursor.map(|(at, column)| (row + at, column)));
        above.lines.extend(below.lines);
    }
    above
}

/// Removes rows that do not fit: first at the top, but never the cursor's row.
fn trim(frame: &mut Frame, height: usize) {
    let over = frame.lines.len().saturating_sub(height);
    if over > 0 {
        let row = frame.cursor.map_or(frame.lines.len(), |(row, _)| row);
        let front = over.min(row);
        frame.lines.drain(..front);
        frame.lines.truncate(height);
        frame.cursor = frame.cursor.map(|(row, column)| (row - front, column));
    }
}

fn editor(state: &State) -> Frame {
    let role = if state.work.turn { Role::Dim } else { Role::Accent };
    let height = EDITOR.min(state.rows.saturating_sub(3)).max(1);
    let (mut lines, mut cursor) = state.editor.view(state.columns, height, role);
    cursor.1 = cursor.1.min(state.columns.saturating_sub(1));
    if let Some(completion) = &state.completion {
        let list = completion.view(state.columns);
        let room = state.rows.saturating_sub(lines.len() + 3);
        lines.extend(list.into_iter().take(room));
    } else if state.editor.is_empty() && !state.work.is_going_on() && state.facts.depth == 0 {
        let hint = "type a message, or /help";
        let first = std::mem::take(&mut lines[0]);
        lines[0] = first.with(Role::Dim, hint).cut(state.columns);
    }
    Frame { lines, cursor: Some(cursor) }
}

/// The streamed reply, running tools, a running command of the user, and a summary in progress.
fn working(state: &State) -> Vec<Line> {
    let look = state.look();
    let mut lines = state.draft.live(look);
    // Rows that do not fit on a narrower screen would end up in the scrollback after a resize.
    lines.drain(..lines.len().saturating_sub((state.rows / 3).max(LEAST)));
    if state.work.turn {
        for call in state.script.waiting() {
            let mut card = header(call, Role::Accent, look);
            let printed = state.work.tools.iter().find(|(id, _)| *id == call.id);
            card.extend(printed.into_iter().flat_map(|(_, text)| tail(text, OUTPUT, look)));
            lines.extend(block(card));
        }
    }
    if let Some((command, printed)) = &state.work.bash {
        let mut card = vec![Line::of(Role::User, "! ").with(Role::Text, command).cut(look.width)];
        card.extend(tail(printed, OUTPUT, look));
        lines.extend(block(card));
    }
    if let Some((of, text)) = state.work.summary.as_ref().filter(|_| state.overlays.is_empty()) {
        let mut card = vec![Line::of(Role::Accent, &format!("◆ {of}"))];
        card.extend(tail(text, OUTPUT, look));
        lines.extend(block(card));
    }
    lines
}

fn queued(state: &State) -> Vec<Line> {
    let line =
        |mark: &str, text: &String| Line::of(Role::Accent, mark).with(Role::Dim, text).cut(state.columns);
    let mut lines: Vec<Line> = state.steering.iter().map(|text| line("next: ", text)).collect();
    lines.extend(state.follow_up.iter().map(|text| line("then: ", text)));
    if !lines.is_empty() {
        lines.push(Line::of(Role::Dim, "alt+up to edit them").cut(state.columns));
        lines.insert(0, Line::new());
    }
    lines
}
