//! Handles events of the session and of the agent.

use osier_agent::{Event, Finished, Live, Question};
use osier_session::{CursorId, Event as SessionEvent};
use osier_tree::Kind;
use osier_tree::entry::read_entry;
use osier_tree::projection::preview::one_line;
use osier_tree::tokens::TokenCount;

use super::{answering, complain, hear, note_usage, tell};
use crate::draft::Draft;
use crate::msg::{Action, Moved};
use crate::overlay::{Approve, News};
use crate::piece::Piece;
use crate::state::State;
use crate::text::Line;
use crate::theme::Role;

/// How many bytes of output are kept to show while a tool or command runs.
const KEPT: usize = 16 << 10;

pub(super) fn event(state: &mut State, event: Event) -> Vec<Action> {
    match event {
        Event::Session(event) => session(state, event),
        Event::Live(live) => self::live(state, live),
    }
}

fn session(state: &mut State, event: SessionEvent) -> Vec<Action> {
    match event {
        SessionEvent::Committed { seq, line, draft_id, cursor: Some(CursorId::MAIN), .. } => {
            let is_draft = draft_id.is_some() && draft_id == state.draft.id;
            let mut actions = match seq.index() < state.shown_to {
                true => already_shown(state, &line, is_draft),
                false => committed(state, &line, is_draft),
            };
            actions.extend(hear(state, &News::Committed));
            actions
        }
        // An update changes how another entry is shown, whichever cursor appended it.
        SessionEvent::Committed { line, .. } if is_kind(&line, Kind::EntryUpdate) => {
            vec![Action::ShowPath { moved: None }]
        }
        SessionEvent::DraftBegun { id, cursor: CursorId::MAIN } => {
            state.draft = Draft::new(id);
            Vec::new()
        }
        SessionEvent::Draft { id, delta, .. } if state.draft.id.as_ref() == Some(&id) => {
            state.work.retrying = None;
            print(state.draft.push(&delta))
        }
        SessionEvent::DraftDropped { id } if state.draft.id.as_ref() == Some(&id) => {
            let draft = std::mem::take(&mut state.draft);
            match (draft.withdrawn, draft.is_printed()) {
                (false, _) => print(draft.open()),
                (true, true) => {
                    let line = Line::of(Role::Warn, "The reply broke off here; asking for it again…");
                    print(vec![Piece::spaced_notice(vec![line])])
                }
                (true, false) => Vec::new(),
            }
        }
        SessionEvent::CursorMoved { cursor: CursorId::MAIN, .. } => {
            // The notice is about the old position.
            state.notice = None;
            vec![Action::ShowPath { moved: None }]
        }
        SessionEvent::ContinuedElsewhere { .. } => {
            tell(state, "Another program continued from here; your next message starts a branch");
            Vec::new()
        }
        SessionEvent::Reset { .. } => vec![Action::ShowPath { moved: None }],
        _ => Vec::new(),
    }
}

fn print(pieces: Vec<Piece>) -> Vec<Action> {
    if pieces.is_empty() { Vec::new() } else { vec![Action::Print(pieces)] }
}

fn is_kind(line: &[u8], kind: Kind) -> bool {
    read_entry(line).is_ok_and(|entry| entry.kind == kind)
}

/// The path on the screen was read after this entry was appended, so only the notice of a move is missing.
fn already_shown(state: &mut State, line: &[u8], is_draft: bool) -> Vec<Action> {
    if is_draft {
        state.draft = Draft::default();
    }
    match is_kind(line, Kind::Leaf) {
        true => vec![Action::ShowPath { moved: Some(moved(line)) }],
        false => Vec::new(),
    }
}

fn committed(state: &mut State, line: &[u8], is_draft: bool) -> Vec<Action> {
    let Ok(entry) = read_entry(line) else { return Vec::new() };
    if matches!(entry.kind, Kind::Compaction | Kind::BranchSummary) {
        state.work.summary = None;
    }
    if entry.kind == Kind::Compaction {
        // The usage that the last reply reported is outdated.
        state.context = TokenCount::default();
    }
    match entry.kind {
        // The leaf moved: show the new path.
        Kind::Leaf => return vec![Action::ShowPath { moved: Some(moved(line)) }],
        Kind::BranchSummary | Kind::Backtrack => {
            state.draft = Draft::default();
            return vec![Action::ShowPath { moved: None }];
        }
        Kind::EntryUpdate => return vec![Action::ShowPath { moved: None }],
        _ => {}
    }
    let mut pieces = state.script.line(line);
    note_usage(state, line);
    if is_draft {
        pieces = std::mem::take(&mut state.draft).rest(pieces);
    }
    print(pieces)
}

fn moved(line: &[u8]) -> Moved {
    let entry: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    let id = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let why = id(&entry["data"]["why"]).unwrap_or_else(|| "move".to_owned());
    Moved { why, from: id(&entry["data"]["fromId"]), to: id(&entry["parentId"]) }
}

/// Shows a question on top of all other overlays.
pub(super) fn ask(state: &mut State, id: u64, question: Question) {
    answering::release(state);
    state.work.asked.push(id);
    state.completion = None;
    state.overlays.push(Box::new(Approve::new(id, question)));
}

fn live(state: &mut State, live: Live) -> Vec<Action> {
    match live {
        Live::TurnStarted => {
            state.work.turn = true;
            state.work.since = state.now;
        }
        Live::TurnEnded { finished, error } => return ended(state, finished, error),
        Live::Retrying { attempt, seconds, message, .. } => {
            let message = one_line(&message, 120);
            state.work.retrying =
                Some(format!("{message}; attempt {attempt} failed, retrying in {} s", seconds.ceil()));
        }
        Live::ToolStarted { call, .. } => state.work.tools.push((call, String::new())),
        Live::ToolOutput { call, text, .. } => {
            if let Some((_, printed)) = state.work.tools.iter_mut().find(|(id, _)| *id == call) {
                keep(printed, &text);
            }
        }
        Live::ToolEnded { call, .. } => state.work.tools.retain(|(id, _)| *id != call),
        Live::Asked { id, question } => ask(state, id, *question),
        Live::Answered { id, .. } => {
            state.held = None;
            state.work.asked.retain(|asked| *asked != id);
            return hear(state, &News::Answered(id));
        }
        Live::Queue { steering, follow_up } => (state.steering, state.follow_up) = (steering, follow_up),
        Live::BashOutput { text, .. } => {
            if let Some((_, printed)) = &mut state.work.bash {
                keep(printed, &text);
            }
        }
        Live::SummaryStarted { of } => {
            if !state.work.is_going_on() {
                state.work.since = state.now;
            }
            state.work.summary = Some((of, String::new()));
        }
        Live::SummaryText { text } => {
            if let Some((_, written)) = &mut state.work.summary {
                keep(written, &text);
            }
            return hear(state, &News::Summary(&text));
        }
        Live::Notice { text } => tell(state, &one_line(&text, 400)),
        #[allow(unreachable_patterns, reason = "events added later are ignored")]
        _ => {}
    }
    Vec::new()
}

/// Appends output and keeps only the end of it.
fn keep(printed: &mut String, more: &str) {
    printed.push_str(more);
    if printed.len() > 2 * KEPT {
        let from = printed.len() - KEPT;
        let from = (from..printed.len()).find(|at| printed.is_char_boundary(*at)).unwrap_or(0);
        printed.drain(..from);
    }
}

fn ended(state: &mut State, finished: Option<Finished>, error: Option<String>) -> Vec<Action> {
    state.work.turn = false;
    if finished == Some(Finished::Cancelled) && !state.work.stopping {
        tell(state, "Turn stopped; /tree shows what it did");
    }
    state.work.stopping = false;
    state.work.retrying = None;
    state.work.summary = None;
    state.work.tools.clear();
    state.work.asked.clear();
    let mut pieces = state.script.settle();
    if finished == Some(Finished::StepLimit) {
        tell(state, "Stopped at the limit of model calls; /retry continues");
    }
    if finished == Some(Finished::Failed) {
        tell(state, "The turn failed; /retry tries again");
    }
    // The reply shows errors of the model, but not errors of the program.
    if let (None, Some(error)) = (finished, error) {
        let line = Line::of(Role::Bad, &format!("✗ {error}"));
        pieces.push(Piece::spaced_notice(vec![line]));
        complain(state, "The turn failed; /retry tries again");
    }
    print(pieces)
}
