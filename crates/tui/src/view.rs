//! The live part of the screen as a function of the state. It is never higher than the terminal: what is still being said
//! gives way first.

use crate::overlay::Room;
use crate::screen::Frame;
use crate::state::State;
use crate::status::{spinner, status};
use crate::text::Line;
use crate::theme::Role;
use crate::transcript::{block, header, tail};
use crate::update::answering::shares_draft;

/// Lines of output shown below a tool that runs.
const OUTPUT: usize = 6;
/// Milliseconds of waiting that nobody notices.
const MOMENT: u64 = 100;
/// Rows of what is being written that are always shown, if there is room.
const LEAST: usize = 4;
/// Rows of the editor.
const EDITOR: usize = 10;

/// Rows of the draft below a question.
const DRAFT: usize = 3;

/// The room that an overlay is drawn in, and that its keys count with.
pub(crate) fn room(state: &State) -> Room {
    let below = below(state).len() + draft(state).map_or(0, |draft| draft.lines.len());
    Room {
        columns: state.columns,
        rows: state.rows.saturating_sub(below + 1).max(3),
        now: state.now,
        clock: state.clock,
    }
}

/// The same, if the screen is high enough that nothing in it is left out.
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

/// What is read in a moment is not worth a word.
fn reading(state: &State) -> Option<Line> {
    let since = state.reading?.since;
    let told = Line::of(Role::Dim, "reading the tree …; escape stops waiting");
    (state.now.saturating_sub(since) >= MOMENT).then(|| told.cut(state.columns))
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

/// One above the other.
fn over(mut above: Frame, below: Option<Frame>) -> Frame {
    if let Some(below) = below {
        let row = above.lines.len();
        above.cursor = above.cursor.or(below.cursor.map(|(at, column)| (row + at, column)));
        above.lines.extend(below.lines);
    }
    above
}

/// What does not fit is left out at the top, but for the cursor's row.
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
        let hint = "say something, or /help";
        let first = std::mem::take(&mut lines[0]);
        lines[0] = first.with(Role::Dim, hint).cut(state.columns);
    }
    Frame { lines, cursor: Some(cursor) }
}

/// The reply as it comes, tools that run, a command of the user's.
fn working(state: &State) -> Vec<Line> {
    let look = state.look();
    let mut lines = state.draft.live(look);
    // What would not fit on a narrower screen would end up in the terminal's scrollback after a resize.
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
        lines.push(Line::of(Role::Dim, "alt+up takes them back").cut(state.columns));
        lines.insert(0, Line::new());
    }
    lines
}
