//! The one function that changes the state. It takes a message and returns the actions to run. It reads no clock and no file.

mod events;
mod extensions;
pub(crate) mod keys;
pub(crate) mod question_keys;

use osier_protocol::entry_view::EntryView;
use osier_protocol::query::{PromptCommand, SessionStatus};
use osier_protocol::{
    ClientCommand, CommandReply, EntryId, ExploreReply, Image, OpenQuestion, Prompt, TokenCount,
    TreeSnapshot, one_line,
};

use crate::editor::{PastedImages, Pastes, PromptHistory, image_path};
use crate::extension_editor;
use crate::floats;
use crate::key::Input;
use crate::msg::{Action, CommandPurpose, JoinedSession, Msg, OpenTarget, PathTail};
use crate::overlay::{
    ForkPicker, Overlay, OverlayEvent, OverlayOutcome, Pager, SettingsPanel, TreeView, task_picker,
};
use crate::pages;
use crate::piece::Piece;
use crate::state::{Activity, TreeRequest, UiState};
use crate::streamed_reply::StreamedReply;
use crate::text::{Line, sanitize, wrap};
use crate::theme::ColorRole;
use crate::tour::{self, TourEvent};
use crate::transcript::Transcript;
use crate::untyped_text;
use osier_protocol::engine_request::SettingRow;

/// See the module.
pub fn update(state: &mut UiState, msg: Msg) -> Vec<Action> {
    let mut actions = apply(state, msg);
    state.activity.has_float = !state.extensions.floats.is_empty();
    actions.extend(extension_editor::send_text(state));
    if state.extensions.follows_screen() {
        actions.extend(state.extensions.send_screen(state.screen_input()));
    }
    actions
}

fn apply(state: &mut UiState, msg: Msg) -> Vec<Action> {
    match msg {
        Msg::Input(input) => match input {
            Input::Key(key) => {
                extension_editor::listen(state, key).unwrap_or_else(|| keys::handle_key(state, key))
            }
            Input::Paste(text) => match extension_editor::hold_paste(state, text) {
                Some(text) => paste(state, &text),
                None => Vec::new(),
            },
            // The loop sets the theme.
            Input::Background { light } => {
                state.is_light = light;
                Vec::new()
            }
            Input::Focus(focused) => {
                state.is_unfocused = !focused;
                Vec::new()
            }
            Input::Resize(columns, rows) => {
                (state.columns, state.rows) = (usize::from(columns).max(1), usize::from(rows).max(1));
                Vec::new()
            }
        },
        Msg::Event(event) => events::handle_event(state, event),
        Msg::Joined(joined) => apply_joined(state, *joined),
        Msg::Switched(switched) => {
            tour::note(state, TourEvent::SessionOpened);
            let lines = pages::switch_notice(&switched);
            let lines = lines.iter().map(|line| Line::styled(ColorRole::Dim, line)).collect();
            vec![Action::Print(vec![Piece::spaced_notice(lines)])]
        }
        Msg::Path(path) => show_path(state, &path),
        // It was requested before a switch and is about the other session.
        Msg::Status(status) if !state.status.id.is_empty() && status.id != state.status.id => Vec::new(),
        Msg::Status(status) => show_status(state, *status),
        Msg::Connection(problem) => {
            state.connection_problem = problem;
            Vec::new()
        }
        Msg::Sandbox(sandbox) => {
            state.sandbox = sandbox;
            Vec::new()
        }
        Msg::Tasks(list) if list.panels.is_empty() && list.parent.is_some() => {
            let parent = list.parent.map(OpenTarget::Named);
            parent.map(Action::Open).into_iter().collect()
        }
        Msg::Tasks(list) => {
            match task_picker(*list, state.clock.now) {
                Some(picker) => state.overlays.push(Box::new(picker)),
                None => show_notice(state, "No tasks yet; a model delegates them with the tool task"),
            }
            Vec::new()
        }
        Msg::Tree(snapshot) => show_tree(state, &snapshot),
        Msg::TreeChanged(snapshot) => notify_overlays(state, &OverlayEvent::Tree(&snapshot)),
        Msg::Page(title, lines) => {
            if title == pages::COMPARISON_TITLE {
                tour::note(state, TourEvent::Compared);
            }
            state.overlays.push(Box::new(Pager::new(&title, lines)));
            Vec::new()
        }
        Msg::Sessions(cards, missing) => {
            if let Some(missing) = missing {
                show_error(state, &missing);
            }
            notify_overlays(state, &OverlayEvent::Sessions(&cards))
        }
        Msg::ShowEntry(entry) => request_tree_at(state, entry),
        Msg::SearchHit(hit) => notify_overlays(state, &OverlayEvent::SearchHit(hit)),
        Msg::Settings(rows) => show_settings(state, rows),
        Msg::Files(files) => {
            state.files = Some(files);
            keys::update_completion(state);
            Vec::new()
        }
        Msg::Commands(commands) => {
            set_commands(state, commands);
            Vec::new()
        }
        Msg::Replied(purpose, reply) => handle_reply(state, &purpose, *reply),
        Msg::Lines(lines) => vec![Action::Print(vec![Piece::spaced_notice(lines)])],
        Msg::EditorText(text) => {
            state.editor.set_folded(text.trim_end_matches('\n'));
            Vec::new()
        }
        // The path was sent or deleted before the image was read.
        Msg::Image(path, _) if !state.editor.text().contains(&path) => Vec::new(),
        Msg::Image(path, image) => {
            state.editor.insert_image(&path, image);
            Vec::new()
        }
        Msg::CopyText(text) => vec![Action::Copy(text)],
        Msg::Failed(error) => {
            tour::note(state, TourEvent::OpeningFailed);
            show_error(state, &error);
            Vec::new()
        }
        Msg::TreeFailed(error) => {
            state.tree_request = None;
            show_error(state, &error);
            notify_overlays(state, &OverlayEvent::TreeFailed)
        }
        Msg::Timer => {
            let mut actions = extension_editor::release_keys(state);
            actions.extend(question_keys::apply_held_answer(state));
            actions
        }
        Msg::Tick => Vec::new(),
    }
}

/// Shows the status. The first one of a session tells whether its log is damaged.
fn show_status(state: &mut UiState, status: SessionStatus) -> Vec<Action> {
    let damage = status.damage_note().filter(|_| state.status.id.is_empty());
    state.context = status.context;
    state.status = status;
    let print =
        |note: String| Action::Print(vec![Piece::spaced_notice(vec![Line::styled(ColorRole::Warn, &note)])]);
    damage.map(print).into_iter().collect()
}

/// Shows a notice until the next key.
pub(crate) fn show_notice(state: &mut UiState, text: &str) {
    state.notice = Some(Line::styled(ColorRole::Dim, text));
}

/// Shows an error until the next key.
pub(crate) fn show_error(state: &mut UiState, text: &str) {
    state.notice = Some(Line::styled(ColorRole::Bad, text));
}

pub(crate) fn paste(state: &mut UiState, text: &str) -> Vec<Action> {
    let text = clean_paste(text);
    question_keys::record_input(state);
    if let Some(actions) = floats::paste(state, &text) {
        return actions;
    }
    if let Some(overlay) = state.overlays.last_mut().filter(|overlay| !overlay.shares_draft()) {
        overlay.paste(&text);
        return Vec::new();
    }
    match image_path(&text) {
        Some(path) => {
            // Show the path until the image is read.
            state.editor.paste(&path);
            vec![Action::ReadImage(path)]
        }
        None => {
            state.editor.paste(&text);
            Vec::new()
        }
    }
}

/// Replaces control characters in a paste, except for line ends and tabs.
fn clean_paste(text: &str) -> String {
    osier_protocol::sanitize(text).into_owned()
}

fn apply_joined(state: &mut UiState, joined: JoinedSession) -> Vec<Action> {
    let JoinedSession {
        turn_running: running,
        turn_started: started,
        tasks,
        drafts,
        open_questions: asked,
        queue,
        returned_prompts: returned,
        pastes,
        images,
        path_prompts: prompt,
        unfinished,
        history,
        models,
        commands,
    } = joined;
    state.models = models;
    set_commands(state, commands);
    let fresh = Activity { turn_running: running, tasks, ..Activity::default() };
    let old = std::mem::replace(&mut state.activity, fresh);
    // They may have been answered meanwhile, or belong to an engine that has ended. Those that are still open follow.
    let mut actions = Vec::new();
    for id in old.open_questions {
        actions.extend(notify_overlays(state, &OverlayEvent::Answered(id)));
    }
    state.held_answer = None;
    // Those that are still open are asked about again.
    state.extensions.floats.clear();
    state.tree_request = None;
    state.activity.started = state.now;
    state.activity.passed_before =
        started.map_or(0, |started| state.clock.now.saturating_sub(started).max(0).unsigned_abs());
    state.editor.pastes = Pastes::new(pastes);
    state.editor.images = PastedImages::new(images);
    let prompt = prompt.iter().map(|text| state.editor.pastes.fold(text)).collect();
    state.editor.history = PromptHistory::new(history, prompt);
    let texts = |line: Vec<Prompt>| line.into_iter().map(|prompt| prompt.text).collect();
    (state.steering, state.follow_up) = (texts(queue.steering), texts(queue.follow_up));
    let open = drafts.iter().rfind(|draft| !draft.off_path);
    let mut draft = open.map(|open| StreamedReply::new(open.id.clone())).unwrap_or_default();
    let deltas = open.into_iter().flat_map(|open| &open.deltas);
    let mut pieces: Vec<Piece> = deltas.flat_map(|delta| draft.push_delta(delta)).collect();
    state.reply = draft;
    return_to_editor(state, returned.into_iter().map(|prompt| prompt.text).collect());
    for OpenQuestion { id, question, agent } in asked {
        actions.extend(events::show_question(state, id, question, agent));
    }
    // A prompt that waited for the connection continues the conversation.
    if unfinished && !running && state.unanswered.is_empty() {
        let line = Line::styled(ColorRole::Warn, "The last turn did not finish; /retry continues it");
        pieces.push(Piece::spaced_notice(vec![line]));
    }
    actions.extend((!pieces.is_empty()).then_some(Action::Print(pieces)));
    actions
}

/// Puts unsent prompts back into the editor, before the text that is there.
pub(crate) fn return_to_editor(state: &mut UiState, mut texts: Vec<String>) {
    if texts.is_empty() {
        return;
    }
    let is_asked_about = texts.iter().any(|text| untyped_text::is_asked_about(state, text));
    let current = state.editor.text().to_owned();
    texts.extend(Some(current).filter(|current| !current.trim().is_empty()));
    let all = texts.join("\n\n");
    state.extensions.wrote_draft |= is_asked_about || untyped_text::is_asked_about(state, &all);
    state.editor.set_folded(&all);
}

fn set_commands(state: &mut UiState, commands: Vec<PromptCommand>) {
    let clean = |command: PromptCommand| PromptCommand {
        name: one_line(&command.name, 200),
        description: one_line(&command.description, 400),
        ..command
    };
    state.prompt_commands = commands.into_iter().map(clean).collect();
}

/// Puts a sent message back into the editor, and adds markers for images that the text does not name.
fn restore_prompt(state: &mut UiState, text: &str, images: Vec<Image>) {
    state.extensions.wrote_draft |= untyped_text::is_asked_about(state, text);
    state.editor.set_folded(text);
    if !state.editor.images.images_in(state.editor.text()).is_empty() {
        return;
    }
    for image in images {
        let name = format!(".{}", image.mime_type.rsplit('/').next().unwrap_or_default());
        if !state.editor.text().to_lowercase().contains(&name) && !image.data.is_empty() {
            state.editor.insert_image("", image);
        }
    }
}

/// Replaces the printed conversation with this path.
fn show_path(state: &mut UiState, path: &PathTail) -> Vec<Action> {
    state.shown_entries = path.log_entries;
    let head = match path.hidden_entries {
        0 if path.lines.is_empty() && path.tries > 0 => {
            let tries = if path.tries == 1 { "1 try".to_owned() } else { format!("{} tries", path.tries) };
            let text = format!("No messages here yet, but {tries} of a prompt on other branches; ");
            vec![Line::styled(
                ColorRole::Dim,
                &format!("{text}/explore shows them, /tree shows their messages"),
            )]
        }
        0 if path.lines.is_empty() => {
            state.config.welcome.iter().map(|line| Line::with_keys(ColorRole::Dim, line)).collect()
        }
        0 => Vec::new(),
        1 => vec![Line::styled(ColorRole::Dim, "… 1 earlier entry; /tree shows it")],
        earlier => {
            vec![Line::styled(ColorRole::Dim, &format!("… {earlier} earlier entries; /tree shows them"))]
        }
    };
    let mut pieces = vec![Piece::notice(head)];
    let mut script = Transcript::default();
    let mut last = 0;
    for line in &path.lines {
        last = pieces.len();
        pieces.extend(script.draw_line(line));
    }
    let is_stored = state.reply.is_prefix_of(&pieces[last..]);
    // While a turn runs, its tool calls may still get results.
    if !state.activity.turn_running {
        pieces.extend(script.settle_pending());
    }
    state.transcript = script;
    if !is_stored {
        pieces.extend_from_slice(state.reply.final_pieces());
    }
    let notice =
        path.notice.iter().map(|notice| Piece::spaced_notice(vec![Line::styled(ColorRole::Dim, notice)]));
    pieces.extend(notice);
    vec![Action::Show(pieces)]
}

/// Updates the context tokens from a reply that reports them.
pub(crate) fn update_context_usage(state: &mut UiState, entry: &EntryView) {
    if let Some(usage) = entry.usage().filter(|usage| usage.total_tokens > 0) {
        state.context = TokenCount::measured(usage.total_tokens);
    }
}

/// Requests the tree, for the tree view or for the fork dialog, unless it is being read for that already.
pub(crate) fn request_tree(state: &mut UiState, fork: bool) -> Vec<Action> {
    let is_same = |request: &TreeRequest| request.fork == fork && request.entry.is_none();
    if state.tree_request.as_ref().is_some_and(is_same) {
        return Vec::new();
    }
    state.tree_request = Some(TreeRequest { fork, entry: None, since: state.now });
    match fork {
        true => vec![Action::ReadTree],
        false => vec![Action::ReadFirstRows { filter: state.config.tree_filter, around: None }],
    }
}

/// Requests the tree to show an entry in it.
fn request_tree_at(state: &mut UiState, entry: EntryId) -> Vec<Action> {
    state.tree_request = Some(TreeRequest { fork: false, entry: Some(entry.clone()), since: state.now });
    vec![Action::ReadFirstRows { filter: state.config.tree_filter, around: Some(entry) }]
}

/// Opens the dialog that the tree was requested for, or updates the open overlays.
fn show_tree(state: &mut UiState, snapshot: &TreeSnapshot) -> Vec<Action> {
    let reading = state.tree_request.take();
    if !state.overlays.is_empty() {
        return notify_overlays(state, &OverlayEvent::Tree(snapshot));
    }
    // The request was canceled.
    let Some(reading) = reading else { return Vec::new() };
    if reading.fork {
        let fork = ForkPicker::new(snapshot.clone());
        match fork.is_empty() {
            true => show_notice(state, "No messages to fork from"),
            false => state.overlays.push(Box::new(fork)),
        }
        return Vec::new();
    }
    let mut tree = TreeView::new(snapshot.clone(), &state.config);
    if let Some(entry) = &reading.entry {
        tree.select_entry(entry);
    }
    match tree.is_empty() {
        true => show_notice(state, "The tree is empty; send a message first"),
        false => {
            state.overlays.push(Box::new(tree));
            tour::note(state, TourEvent::TreeShown);
        }
    }
    // The rows are on the screen; now the texts of all entries are read.
    if snapshot.is_partial { vec![Action::RefreshTree] } else { Vec::new() }
}

/// Opens the settings dialog, or updates it after a change.
fn show_settings(state: &mut UiState, rows: Vec<SettingRow>) -> Vec<Action> {
    if !state.overlays.is_empty() {
        return notify_overlays(state, &OverlayEvent::Settings(&rows));
    }
    match rows.is_empty() {
        true => show_notice(state, "No settings to change here"),
        false => state.overlays.push(Box::new(SettingsPanel::new(rows))),
    }
    Vec::new()
}

/// Passes an event to all overlays and removes those that close.
pub(crate) fn notify_overlays(state: &mut UiState, event: &OverlayEvent<'_>) -> Vec<Action> {
    let mut actions = Vec::new();
    state.overlays.retain_mut(|overlay| match overlay.handle_event(event) {
        OverlayOutcome::Close => false,
        OverlayOutcome::Run(more) => {
            actions.extend(more);
            true
        }
        OverlayOutcome::CloseAndRun(more) => {
            actions.extend(more);
            false
        }
        OverlayOutcome::Stay
        | OverlayOutcome::Pass
        | OverlayOutcome::Open(_)
        | OverlayOutcome::OpenAndRun(..)
        | OverlayOutcome::CloseAndInsert(_)
        | OverlayOutcome::CloseAndSubmit(..) => true,
    });
    actions
}

/// Applies the outcome of the top overlay.
pub(crate) fn apply_outcome(state: &mut UiState, outcome: OverlayOutcome) -> Vec<Action> {
    let mut open = |overlay: Box<dyn Overlay>| state.overlays.push(overlay);
    match outcome {
        OverlayOutcome::Stay | OverlayOutcome::Pass => Vec::new(),
        OverlayOutcome::Close => {
            state.overlays.pop();
            Vec::new()
        }
        OverlayOutcome::Open(overlay) => {
            open(overlay);
            Vec::new()
        }
        OverlayOutcome::OpenAndRun(overlay, actions) => {
            open(overlay);
            actions
        }
        OverlayOutcome::Run(actions) => actions,
        OverlayOutcome::CloseAndRun(actions) => {
            state.overlays.pop();
            actions
        }
        OverlayOutcome::CloseAndInsert(text) => {
            state.overlays.pop();
            state.editor.set(&text);
            Vec::new()
        }
        OverlayOutcome::CloseAndSubmit(text, when) => {
            state.overlays.pop();
            state.editor.set(&text);
            state.extensions.wrote_draft = false;
            // What you read is sent: a marker in it may name another paste by now.
            keys::send(state, &text, &text, when)
        }
    }
}

/// Shows what a command about tries did.
fn show_explore_reply(state: &mut UiState, reply: ExploreReply, mut actions: Vec<Action>) -> Vec<Action> {
    let lines = match reply {
        ExploreReply::Started(report) => {
            // Fast tries may have ended before the reply.
            if state.activity.explore.is_some() {
                show_notice(state, &format!("Exploring, {} · esc to stop", report.place_note()));
            }
            return actions;
        }
        ExploreReply::Done => {
            show_notice(state, "Removed the copies; the branches stay");
            return actions;
        }
        ExploreReply::Kept(kept) => {
            let role = if kept.kept { ColorRole::Good } else { ColorRole::Warn };
            let mut lines: Vec<Line> =
                kept.lines().iter().map(|line| Line::styled(ColorRole::Dim, line)).collect();
            if let Some(first) = kept.lines().first() {
                lines[0] = Line::styled(role, first);
            }
            if kept.kept && !kept.files.is_empty() {
                let text =
                    "  To take the changes back, keep another try; undo only moves in the conversation";
                lines.push(Line::styled(ColorRole::Dim, text));
            }
            lines
        }
        ExploreReply::Ranked(ranking) => {
            let head = Line::styled(ColorRole::Accent, &format!("● ranking by {}", ranking.model));
            let text = sanitize(&ranking.text);
            let text =
                text.lines().flat_map(|line| wrap(&Line::styled(ColorRole::Text, line), state.columns));
            std::iter::once(head).chain(text).collect()
        }
    };
    actions.push(Action::Print(vec![Piece::spaced_notice(lines)]));
    actions
}

fn handle_reply(
    state: &mut UiState,
    purpose: &CommandPurpose,
    reply: Result<CommandReply, String>,
) -> Vec<Action> {
    // A summary that the user requested ends with the reply; one that a turn writes continues.
    if !state.activity.turn_running {
        state.activity.summary = None;
    }
    if let CommandPurpose::Prompt(text) = purpose
        && let Some(answered) = state.unanswered.iter().position(|unanswered| unanswered == text)
    {
        state.unanswered.remove(answered);
    }
    if matches!(purpose, CommandPurpose::Explore(_)) {
        state.activity.keeps_try = false;
    }
    let actions = notify_overlays(state, &OverlayEvent::Replied(purpose, &reply));
    match (purpose, reply) {
        (CommandPurpose::Prompt(text), Err(error)) => {
            return_to_editor(state, vec![text.clone()]);
            show_error(state, &error);
        }
        (CommandPurpose::RunShell, reply) => {
            state.activity.user_command = None;
            if let Err(error) = reply {
                show_error(state, &error);
            }
        }
        (
            CommandPurpose::Cancel | CommandPurpose::ClearQueue,
            Ok(CommandReply::Returned { prompts: prompt, .. }),
        ) => {
            state.activity.stopping = false;
            return_to_editor(state, prompt.into_iter().map(|prompt| prompt.text).collect());
        }
        (CommandPurpose::Navigate, Ok(CommandReply::Moved(moved))) => {
            if moved.cancelled {
                let notice = if moved.aborted { "Canceled; nothing changed" } else { "The move was refused" };
                show_notice(state, notice);
            } else {
                state.overlays.clear();
                let text = moved.typed_text.or(moved.editor_text);
                if let Some(text) = text.filter(|_| state.editor.text().trim().is_empty()) {
                    restore_prompt(state, &text, moved.editor_images);
                }
                return_to_editor(state, moved.returned.into_iter().map(|prompt| prompt.text).collect());
            }
        }
        (CommandPurpose::Graft, Ok(_)) => {
            state.overlays.clear();
            show_notice(state, "Grafted the conclusion of the branch");
        }
        (CommandPurpose::Explore(Some(text)), Err(error)) => {
            return_to_editor(state, vec![text.clone()]);
            show_error(state, &error);
        }
        (CommandPurpose::Explore(_), Ok(CommandReply::Explore(reply))) => {
            return show_explore_reply(state, *reply, actions);
        }
        (CommandPurpose::UndoCompaction, Ok(CommandReply::Moved(_))) => {
            show_notice(
                state,
                "Undid the compaction; the model gets the full context again · alt+u to restore it",
            );
        }
        (CommandPurpose::UndoCompaction, Ok(_)) => show_notice(state, "Nothing changed"),
        (_, Ok(CommandReply::Cancelled)) => show_notice(state, "An extension refused this; nothing changed"),
        (CommandPurpose::Undo, Ok(CommandReply::Done)) => show_notice(state, "No move to undo"),
        (CommandPurpose::Redo, Ok(CommandReply::Done)) => show_notice(state, "No move to redo"),
        (CommandPurpose::Change(notice), Ok(_)) => show_notice(state, &notice.clone()),
        (_, Err(error)) => {
            state.activity.stopping = false;
            show_error(state, &error);
        }
        _ => {}
    }
    actions
}

/// The action that sends a command. The purpose comes back with the reply.
pub(crate) fn send_command(command: ClientCommand, purpose: CommandPurpose) -> Vec<Action> {
    vec![Action::Send(command, purpose)]
}

#[cfg(test)]
mod tests;
