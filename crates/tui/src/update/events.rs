//! Handles events of the session and of the agent.

use osier_agent::{AgentEvent, LiveUpdate, Question, TurnOutcome};
use osier_session::{CursorId, SessionEvent};
use osier_tree::EntryKind;
use osier_tree::entry::parse_entry;
use osier_tree::projection::preview::one_line;
use osier_tree::tokens::TokenCount;

use super::{notify_overlays, question_keys, show_error, show_notice, update_context_usage};
use crate::msg::{Action, LeafMove};
use crate::overlay::{ApprovalPrompt, OverlayEvent};
use crate::piece::Piece;
use crate::state::UiState;
use crate::streamed_reply::StreamedReply;
use crate::text::Line;
use crate::theme::ColorRole;

/// How many bytes of output are kept to show while a tool or command runs.
const MAX_KEPT_OUTPUT: usize = 16 << 10;

pub(super) fn handle_event(state: &mut UiState, event: AgentEvent) -> Vec<Action> {
    match event {
        AgentEvent::Session(event) => handle_session_event(state, event),
        AgentEvent::Live(live) => self::handle_live_event(state, live),
    }
}

fn handle_session_event(state: &mut UiState, event: SessionEvent) -> Vec<Action> {
    match event {
        SessionEvent::Committed { seq, line, draft_id, cursor: Some(CursorId::MAIN), .. } => {
            let is_draft = draft_id.is_some() && draft_id == state.reply.id;
            let mut actions = match seq.index() < state.shown_entries {
                true => already_shown(state, &line, is_draft),
                false => handle_committed(state, &line, is_draft),
            };
            actions.extend(notify_overlays(state, &OverlayEvent::Committed));
            actions
        }
        // An update changes how another entry is shown, whichever cursor appended it.
        SessionEvent::Committed { line, .. } if is_kind(&line, EntryKind::EntryUpdate) => {
            vec![Action::ShowPath { moved: None }]
        }
        SessionEvent::DraftStarted { id, cursor: CursorId::MAIN } => {
            state.reply = StreamedReply::new(id);
            Vec::new()
        }
        SessionEvent::DraftDelta { id, delta, .. } if state.reply.id.as_ref() == Some(&id) => {
            state.activity.retrying = None;
            print(state.reply.push_delta(&delta))
        }
        SessionEvent::DraftDropped { id } if state.reply.id.as_ref() == Some(&id) => {
            let draft = std::mem::take(&mut state.reply);
            match (draft.withdrawn, draft.has_final_pieces()) {
                (false, _) => print(draft.open_pieces()),
                (true, true) => {
                    let line =
                        Line::styled(ColorRole::Warn, "The reply broke off here; asking for it again…");
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
            show_notice(state, "Another program continued from here; your next message starts a branch");
            Vec::new()
        }
        SessionEvent::Reset { .. } => vec![Action::ShowPath { moved: None }],
        _ => Vec::new(),
    }
}

fn print(pieces: Vec<Piece>) -> Vec<Action> {
    if pieces.is_empty() { Vec::new() } else { vec![Action::Print(pieces)] }
}

fn is_kind(line: &[u8], kind: EntryKind) -> bool {
    parse_entry(line).is_ok_and(|entry| entry.kind == kind)
}

/// The path on the screen was read after this entry was appended, so only the notice of a move is missing.
fn already_shown(state: &mut UiState, line: &[u8], is_draft: bool) -> Vec<Action> {
    if is_draft {
        state.reply = StreamedReply::default();
    }
    match is_kind(line, EntryKind::Leaf) {
        true => vec![Action::ShowPath { moved: Some(parse_move(line)) }],
        false => Vec::new(),
    }
}

fn handle_committed(state: &mut UiState, line: &[u8], is_draft: bool) -> Vec<Action> {
    let Ok(entry) = parse_entry(line) else { return Vec::new() };
    if matches!(entry.kind, EntryKind::Compaction | EntryKind::BranchSummary) {
        state.activity.summary = None;
    }
    if entry.kind == EntryKind::Compaction {
        // The usage that the last reply reported is outdated.
        state.context = TokenCount::default();
    }
    match entry.kind {
        // The leaf moved: show the new path.
        EntryKind::Leaf => return vec![Action::ShowPath { moved: Some(parse_move(line)) }],
        EntryKind::BranchSummary | EntryKind::Backtrack => {
            state.reply = StreamedReply::default();
            return vec![Action::ShowPath { moved: None }];
        }
        EntryKind::EntryUpdate => return vec![Action::ShowPath { moved: None }],
        _ => {}
    }
    let mut pieces = state.transcript.draw_line(line);
    update_context_usage(state, line);
    if is_draft {
        pieces = std::mem::take(&mut state.reply).unprinted(pieces);
    }
    print(pieces)
}

fn parse_move(line: &[u8]) -> LeafMove {
    let entry: serde_json::Value = serde_json::from_slice(line).unwrap_or_default();
    let id = |value: &serde_json::Value| value.as_str().map(str::to_owned);
    let why = id(&entry["data"]["why"]).unwrap_or_else(|| "move".to_owned());
    LeafMove { kind: why, from: id(&entry["data"]["fromId"]), to: id(&entry["parentId"]) }
}

/// Shows a question on top of all other overlays.
pub(super) fn show_question(state: &mut UiState, id: u64, question: Question) {
    question_keys::release_held_answer(state);
    state.activity.open_questions.push(id);
    state.completion = None;
    state.overlays.push(Box::new(ApprovalPrompt::new(id, question)));
}

fn handle_live_event(state: &mut UiState, live: LiveUpdate) -> Vec<Action> {
    match live {
        LiveUpdate::TurnStarted => {
            state.activity.turn_running = true;
            state.activity.started = state.now;
        }
        LiveUpdate::TurnEnded { finished, error } => return handle_turn_end(state, finished, error),
        LiveUpdate::Retrying { attempt, seconds, message, .. } => {
            let message = one_line(&message, 120);
            state.activity.retrying =
                Some(format!("{message}; attempt {attempt} failed, retrying in {} s", seconds.ceil()));
        }
        LiveUpdate::ToolStarted { call, .. } => state.activity.tools.push((call, String::new())),
        LiveUpdate::ToolOutput { call, text, .. } => {
            if let Some((_, printed)) = state.activity.tools.iter_mut().find(|(id, _)| *id == call) {
                append_output(printed, &text);
            }
        }
        LiveUpdate::ToolEnded { call, .. } => state.activity.tools.retain(|(id, _)| *id != call),
        LiveUpdate::Asked { id, question } => show_question(state, id, *question),
        LiveUpdate::Answered { id, .. } => {
            state.held_answer = None;
            state.activity.open_questions.retain(|asked| *asked != id);
            return notify_overlays(state, &OverlayEvent::Answered(id));
        }
        LiveUpdate::Queue { steering, follow_up } => {
            (state.steering, state.follow_up) = (steering, follow_up);
        }
        LiveUpdate::BashOutput { text, .. } => {
            if let Some((_, printed)) = &mut state.activity.user_command {
                append_output(printed, &text);
            }
        }
        LiveUpdate::SummaryStarted { of } => {
            if !state.activity.is_active() {
                state.activity.started = state.now;
            }
            state.activity.summary = Some((of, String::new()));
        }
        LiveUpdate::SummaryText { text } => {
            if let Some((_, written)) = &mut state.activity.summary {
                append_output(written, &text);
            }
            return notify_overlays(state, &OverlayEvent::SummaryText(&text));
        }
        LiveUpdate::Notice { text } => show_notice(state, &one_line(&text, 400)),
        #[allow(unreachable_patterns, reason = "events added later are ignored")]
        _ => {}
    }
    Vec::new()
}

/// Appends output and keeps only the end of it.
fn append_output(printed: &mut String, more: &str) {
    printed.push_str(more);
    if printed.len() > 2 * MAX_KEPT_OUTPUT {
        let from = printed.len() - MAX_KEPT_OUTPUT;
        let from = (from..printed.len()).find(|at| printed.is_char_boundary(*at)).unwrap_or(0);
        printed.drain(..from);
    }
}

fn handle_turn_end(state: &mut UiState, finished: Option<TurnOutcome>, error: Option<String>) -> Vec<Action> {
    state.activity.turn_running = false;
    if finished == Some(TurnOutcome::Cancelled) && !state.activity.stopping {
        show_notice(state, "Turn stopped; /tree shows what it did");
    }
    state.activity.stopping = false;
    state.activity.retrying = None;
    state.activity.summary = None;
    state.activity.tools.clear();
    state.activity.open_questions.clear();
    let mut pieces = state.transcript.settle_pending();
    if finished == Some(TurnOutcome::StepLimit) {
        show_notice(state, "Stopped at the limit of model calls; /retry continues");
    }
    if finished == Some(TurnOutcome::Failed) {
        show_notice(state, "The turn failed; /retry tries again");
    }
    // The reply shows errors of the model, but not errors of the program.
    if let (None, Some(error)) = (finished, error) {
        let line = Line::styled(ColorRole::Bad, &format!("✗ {error}"));
        pieces.push(Piece::spaced_notice(vec![line]));
        show_error(state, "The turn failed; /retry tries again");
    }
    print(pieces)
}
