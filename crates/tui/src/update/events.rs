//! Handles events of the session and of the agent.

use osier_protocol::entry_view::{EntryContent, EntryView};
use osier_protocol::{
    ClientEvent, Dialog, DialogQuestion, EntryEvent, EntryKind, ExploreReport, ForkPosition, MoveEvent,
    MoveReason, Question, RequestedSession, TokenCount, TurnOutcome, one_line,
};

use super::{notify_overlays, question_keys, show_error, show_notice, update_context_usage};
use crate::extension_editor;
use crate::floats::Float;
use crate::msg::{Action, LeafMove, OpenTarget};
use crate::overlay::{ApprovalPrompt, ComponentOverlay, DialogPrompt, OverlayEvent};
use crate::piece::Piece;
use crate::state::{TurnNotification, UiState};
use crate::streamed_reply::StreamedReply;
use crate::text::Line;
use crate::theme::ColorRole;
use crate::tour::{self, TourEvent};
use crate::transcript::explore_lines;

/// How many bytes of output are kept to show while a tool or command runs.
const MAX_KEPT_OUTPUT: usize = 16 << 10;

pub(super) fn handle_event(state: &mut UiState, event: ClientEvent) -> Vec<Action> {
    match event {
        ClientEvent::Entry(event) => handle_entry(state, &event),
        ClientEvent::DraftStarted { id, off_path: false } => {
            state.reply = StreamedReply::new(id);
            Vec::new()
        }
        ClientEvent::DraftDelta { id, delta, .. } if state.reply.id.as_ref() == Some(&id) => {
            state.activity.retrying = None;
            print(state.reply.push_delta(&delta))
        }
        ClientEvent::DraftDropped { id } if state.reply.id.as_ref() == Some(&id) => {
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
        ClientEvent::Moved(moved) => handle_move(state, moved),
        ClientEvent::ContinuedElsewhere { .. } => {
            // An error may be about the same: the prompt that was refused because the other program was faster.
            if !state.shows_error() {
                show_notice(
                    state,
                    "Another program continues from here; its messages appear when it is done",
                );
            }
            Vec::new()
        }
        ClientEvent::Reset(_) => vec![Action::ShowPath { moved: None }],
        event => handle_live_event(state, event),
    }
}

fn handle_entry(state: &mut UiState, event: &EntryEvent) -> Vec<Action> {
    let line = &event.entry;
    if event.off_path {
        let mut actions = notify_overlays(state, &OverlayEvent::Committed);
        let is_move = |view: &EntryView| matches!(view.kind, EntryKind::Leaf | EntryKind::BranchSummary);
        if event.foreign && line.view().is_some_and(is_move) && !state.shows_error() {
            show_notice(
                state,
                "Another program moved to another entry; you stay here (alt+t shows the tree)",
            );
        }
        // An update changes how another entry is shown, even if another process appended it.
        if line.view().is_some_and(|view| is_shown_update(view, event.foreign)) {
            actions.push(Action::ShowPath { moved: None });
        }
        return actions;
    }
    let is_draft = event.draft_id.is_some() && event.draft_id == state.reply.id;
    let mut actions = match event.seq < state.shown_entries {
        // The path on the screen was read after this entry was appended.
        true => {
            if is_draft {
                state.reply = StreamedReply::default();
            }
            Vec::new()
        }
        false => handle_committed(state, event, is_draft),
    };
    actions.extend(notify_overlays(state, &OverlayEvent::Committed));
    actions
}

/// Shows the new path. If the user moved, a notice says from where.
fn handle_move(state: &mut UiState, moved: MoveEvent) -> Vec<Action> {
    tour::note(state, TourEvent::Moved(moved.reason));
    if moved.reason == MoveReason::Followed {
        // The notice is about the old position.
        state.notice = None;
        return vec![Action::ShowPath { moved: None }];
    }
    // After tries, the session returns to where it was: the screen shows that path already.
    if moved.summary_entry.is_some() || moved.old_leaf_id == moved.new_leaf_id {
        return Vec::new();
    }
    if state.activity.keeps_try {
        // The reply tells what was kept. Undo would move back, but not restore the files.
        return vec![Action::ShowPath { moved: None }];
    }
    let moved = LeafMove { reason: moved.reason, from: moved.old_leaf_id, to: moved.new_leaf_id };
    vec![Action::ShowPath { moved: Some(moved) }]
}

fn print(pieces: Vec<Piece>) -> Vec<Action> {
    if pieces.is_empty() { Vec::new() } else { vec![Action::Print(pieces)] }
}

/// Whether an update changes what is on the screen. The tasks that run here are shown live.
fn is_shown_update(entry: &EntryView, foreign: bool) -> bool {
    matches!(&entry.content, EntryContent::Update { status } if foreign || status != "running")
}

fn handle_committed(state: &mut UiState, event: &EntryEvent, is_draft: bool) -> Vec<Action> {
    let line = &event.entry;
    let Some(entry) = line.view() else { return Vec::new() };
    if matches!(entry.kind, EntryKind::Compaction | EntryKind::BranchSummary) {
        state.activity.summary = None;
    }
    if entry.kind == EntryKind::Compaction {
        // The usage that the last reply reported is outdated.
        state.context = TokenCount::default();
    }
    match entry.kind {
        // The event of the move shows the new path.
        EntryKind::Leaf => return Vec::new(),
        EntryKind::BranchSummary | EntryKind::Backtrack => {
            state.reply = StreamedReply::default();
            return vec![Action::ShowPath { moved: None }];
        }
        EntryKind::EntryUpdate if is_shown_update(entry, event.foreign) => {
            return vec![Action::ShowPath { moved: None }];
        }
        _ => {}
    }
    let mut pieces = state.transcript.draw_line(line);
    update_context_usage(state, entry);
    if is_draft {
        pieces = std::mem::take(&mut state.reply).unprinted(pieces);
    }
    print(pieces)
}

/// Shows a question on top of all other overlays.
pub(super) fn show_question(
    state: &mut UiState,
    id: u64,
    question: Question,
    agent: Option<String>,
) -> Vec<Action> {
    if matches!(&question, Question::Dialog(dialog) if matches!(dialog.dialog, Dialog::Component { .. })) {
        state.extensions.ask_for_lines();
    }
    if let Question::Dialog(DialogQuestion {
        dialog: Dialog::Component { component, floating: true }, ..
    }) = question
    {
        state.extensions.floats.push(Float::new(id, component));
        return Vec::new();
    }
    question_keys::release_held_answer(state);
    // They were pressed before the question was visible.
    let actions = extension_editor::stop_listening(state);
    state.activity.open_questions.push(id);
    state.completion = None;
    match question {
        Question::Dialog(DialogQuestion { title, dialog: Dialog::Component { component, .. }, .. }) => {
            state.overlays.push(Box::new(ComponentOverlay::new(id, component, state.client, title)));
        }
        Question::Dialog(question) => state.overlays.push(Box::new(DialogPrompt::new(id, question))),
        question => {
            state.overlays.push(Box::new(ApprovalPrompt::new(id, question, agent, state.code.clone())));
        }
    }
    actions
}

fn handle_live_event(state: &mut UiState, event: ClientEvent) -> Vec<Action> {
    match event {
        ClientEvent::TurnStarted => {
            state.activity.turn_running = true;
            state.activity.start(state.now);
            if state.transcript.has_interrupted_tasks() {
                // The turn may continue them. Then they are shown live.
                return vec![Action::ShowPath { moved: None }];
            }
        }
        ClientEvent::TurnEnded { finished, error } => return handle_turn_end(state, finished, error),
        ClientEvent::Retrying { attempt, seconds, message, .. } => {
            let message = one_line(&message, 120);
            state.activity.retrying =
                Some(format!("{message}; attempt {attempt} failed, retrying in {} s", seconds.ceil()));
        }
        ClientEvent::ToolStarted { call, .. } => state.activity.tools.push((call, String::new())),
        ClientEvent::ToolOutput { call, text, .. } => {
            if let Some((_, printed)) = state.activity.tools.iter_mut().find(|(id, _)| *id == call) {
                append_output(printed, &text);
            }
        }
        ClientEvent::ToolEnded { call, .. } => {
            state.activity.tools.retain(|(id, _)| *id != call);
            state.activity.tasks.retain(|(id, _)| *id != call);
        }
        ClientEvent::SubagentTask { call, panel, .. } => {
            let tasks = &mut state.activity.tasks;
            match tasks.iter_mut().find(|(_, known)| known.key == panel.key) {
                Some((_, known)) => *known = *panel,
                None => tasks.push((call, *panel)),
            }
        }
        ClientEvent::Asked { id, question, agent } => {
            let mut actions = show_question(state, id, *question, agent);
            actions.extend(notify_in_background(state, "waiting for your answer"));
            return actions;
        }
        ClientEvent::Answered { id, .. } => {
            state.held_answer = None;
            state.activity.open_questions.retain(|asked| *asked != id);
            state.extensions.floats.retain(|float| float.question != id);
            return notify_overlays(state, &OverlayEvent::Answered(id));
        }
        ClientEvent::Queue { steering, follow_up } => {
            (state.steering, state.follow_up) = (steering, follow_up);
        }
        ClientEvent::BashOutput { text, .. } => {
            if let Some((_, printed)) = &mut state.activity.user_command {
                append_output(printed, &text);
            }
        }
        ClientEvent::SummaryStarted { of } => {
            if !state.activity.is_active() {
                state.activity.start(state.now);
            }
            state.activity.summary = Some((of, String::new()));
        }
        ClientEvent::SummaryText { text } => {
            if let Some((_, written)) = &mut state.activity.summary {
                append_output(written, &text);
            }
            return notify_overlays(state, &OverlayEvent::SummaryText(&text));
        }
        ClientEvent::Explore { report } => return handle_explore(state, *report),
        ClientEvent::Notice { text } => show_notice(state, &one_line(&text, 400)),
        ClientEvent::Extension(event) => return super::extensions::show(state, event),
        ClientEvent::ExtensionWorkStarted { id, command } => {
            if !state.activity.is_active() {
                state.activity.started = state.now;
            }
            let command = command.map(|name| one_line(&name, 40));
            state.activity.extension_work.retain(|(known, _)| *known != id);
            state.activity.extension_work.push((id, command));
        }
        ClientEvent::ExtensionWorkEnded { id } => {
            state.activity.extension_work.retain(|(known, _)| *known != id);
        }
        ClientEvent::SessionRequested { session } => return vec![Action::Open(requested_target(session))],
        ClientEvent::QuitRequested => return vec![Action::Quit],
        _ => {}
    }
    Vec::new()
}

/// The session that an extension wants to see.
fn requested_target(session: RequestedSession) -> OpenTarget {
    match session {
        RequestedSession::New => OpenTarget::New,
        RequestedSession::Named { name } => OpenTarget::Named(name),
        RequestedSession::Fork { includes_entry: true, entry_id } => {
            OpenTarget::Fork { from: ForkPosition::Exactly { entry_id } }
        }
        RequestedSession::Fork { entry_id, .. } => {
            OpenTarget::Fork { from: ForkPosition::Entry { entry_id } }
        }
    }
}

/// Shows tries while they run, and prints them when all have ended.
fn handle_explore(state: &mut UiState, report: ExploreReport) -> Vec<Action> {
    let was_running = state.activity.explore.as_ref().is_some_and(|known| known.id == report.id);
    if report.is_running() {
        if !state.activity.is_active() {
            state.activity.start(state.now);
        }
        state.activity.explore = Some(report);
        return Vec::new();
    }
    if !was_running {
        return Vec::new();
    }
    state.activity.explore = None;
    state.activity.stopping = false;
    let mut lines = explore_lines(&report, state.render_options());
    lines.push(Line::styled(ColorRole::Dim, &format!("  {}", next_commands(&report))));
    show_notice(state, "The tries have ended; nothing in your project changed");
    let mut actions = print(vec![Piece::spaced_notice(lines)]);
    actions.extend(notify_in_background(state, "the tries have ended"));
    actions
}

/// What you can do with tries that have ended.
fn next_commands(report: &ExploreReport) -> String {
    match report.useful_tries()[..] {
        [] => "/explore remove".to_owned(),
        [first] => format!("/explore keep {first} · /explore remove"),
        [first, second, ..] => {
            format!("/explore compare {first} {second} · /explore rank · /explore keep {first}")
        }
    }
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

/// Tells the user about an event if the window is in the background.
fn notify_in_background(state: &UiState, event: &str) -> Vec<Action> {
    let name = state.status.name.as_deref().unwrap_or(&state.config.directory);
    match state.is_unfocused && state.config.notify != TurnNotification::Off {
        true => vec![Action::Notify(format!("Osier: {event} ({})", one_line(name, 60)))],
        false => Vec::new(),
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
    state.activity.tasks.clear();
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
    let mut actions = print(pieces);
    actions.extend(notify_in_background(state, "the turn has ended"));
    actions
}
