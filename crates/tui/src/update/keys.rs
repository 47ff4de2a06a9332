//! Handles keys: global keys, the keys of the editor, and keys that open overlays pass on.

use osier_protocol::{
    ClientCommand, ExploreCommand, Prompt, PromptTiming, ThinkingLevel, UserCommand, mentioned_files,
};

use super::{apply_outcome, question_keys, request_tree, send_command, show_error, show_notice};
use crate::commands;
use crate::completion::{Completion, CompletionItem};
use crate::extension_editor;
use crate::floats;
use crate::key::{Input, Key, KeyCode};
use crate::msg::{Action, CommandPurpose};
use crate::overlay::{ChoicePrompt, HistorySearch, OverlayOutcome};
use crate::state::{DoubleEscape, UiState};
use crate::untyped_text;
use crate::view::overlay_area;

/// The maximum milliseconds between the two presses of a double Escape.
const DOUBLE_ESCAPE_MS: u64 = 500;

pub(crate) fn handle_key(state: &mut UiState, key: Key) -> Vec<Action> {
    state.notice = None;
    if state.editor.is_empty() {
        state.extensions.wrote_draft = false;
    }
    let warned = std::mem::take(&mut state.quit_hint_shown);
    let escaped = state.last_escape.take();
    if key == Key::ctrl('z') {
        return vec![Action::Suspend];
    }
    if let Some(actions) = question_keys::confirm_held_letter(state, key) {
        return actions;
    }
    let is_alone = question_keys::record_key(state, key);
    if question_keys::shares_draft(state) {
        return question_keys::handle_key(state, key, is_alone)
            .unwrap_or_else(|| handle_draft_key(state, key, warned));
    }
    if let Some(actions) = floats::handle_key(state, key) {
        return actions;
    }
    let room = overlay_area(state);
    if let Some(overlay) = state.overlays.last_mut() {
        return match overlay.handle_key(key, room) {
            OverlayOutcome::Pass if key == Key::ctrl('c') => handle_ctrl_c(state, warned),
            OverlayOutcome::Pass => type_key(state, key),
            outcome => apply_outcome(state, outcome),
        };
    }
    if let Some(action) = state.extensions.shortcut(key) {
        return vec![action];
    }
    if state.tree_request.is_some() && Input::Key(key).is_cancel() {
        state.tree_request = None;
        return Vec::new();
    }
    if let Some(actions) = handle_completion_key(state, key) {
        return actions;
    }
    if let Some(action) = extension_editor::type_key(state, key) {
        (state.quit_hint_shown, state.last_escape) = (warned, escaped);
        return vec![action];
    }
    handle_own_key(state, key, warned, escaped)
}

/// Handles a key that the editor of an extension leaves to Osier.
pub(crate) fn handle_left_key(state: &mut UiState, key: Key) -> Vec<Action> {
    let warned = std::mem::take(&mut state.quit_hint_shown);
    let escaped = state.last_escape.take();
    handle_own_key(state, key, warned, escaped)
}

/// Handles a key for the prompt editor, or one that works everywhere.
fn handle_own_key(state: &mut UiState, key: Key, warned: bool, escaped: Option<u64>) -> Vec<Action> {
    match (key.code, key.ctrl, key.alt) {
        (KeyCode::Escape, ..) => handle_escape(state, escaped),
        (KeyCode::Char('c'), true, _) => handle_ctrl_c(state, warned),
        (KeyCode::Char('d'), true, _) if state.editor.is_empty() => quit_or_ask(state),
        (KeyCode::Char('l'), true, _) => vec![Action::Redraw],
        (KeyCode::Char('o'), true, _) => {
            // The screen redraws the history when this changes.
            state.expanded = !state.expanded;
            Vec::new()
        }
        (KeyCode::Char('g'), true, _) => vec![Action::Edit(state.editor.pastes.expand(state.editor.text()))],
        (KeyCode::Char('v'), true, _) => vec![Action::PasteImage],
        (KeyCode::Char('r'), true, _) => {
            state.overlays.push(Box::new(HistorySearch::new(state.editor.history.texts())));
            Vec::new()
        }
        (KeyCode::Char('u'), false, true) => send_command(ClientCommand::Undo, CommandPurpose::Undo),
        (KeyCode::Char('r'), false, true) => send_command(ClientCommand::Redo, CommandPurpose::Redo),
        (KeyCode::Char('t'), false, true) => request_tree(state, false),
        (KeyCode::Char('a'), false, true) => vec![Action::ListTasks],
        (KeyCode::Up, _, true) => send_command(ClientCommand::ClearQueue, CommandPurpose::ClearQueue),
        (KeyCode::Tab, ..) if key.shift => cycle_thinking(state),
        (KeyCode::Enter, _, true) if state.activity.turn_running => submit(state, PromptTiming::FollowUp),
        (KeyCode::Enter, false, false) if !key.shift => handle_enter(state),
        _ => type_key(state, key),
    }
}

/// Handles a key for the draft below a question.
fn handle_draft_key(state: &mut UiState, key: Key, warned: bool) -> Vec<Action> {
    match (key.code, key.ctrl, key.alt) {
        (KeyCode::Escape, ..) => cancel_work(state),
        (KeyCode::Char('c'), true, _) => handle_ctrl_c(state, warned),
        (KeyCode::Char('d'), true, _) if state.editor.is_empty() => quit_or_ask(state),
        (KeyCode::Enter, _, true) => submit(state, PromptTiming::FollowUp),
        (KeyCode::Enter, false, false) if !key.shift => handle_enter(state),
        _ => {
            state.editor.handle_key(key, state.columns.saturating_sub(3));
            Vec::new()
        }
    }
}

/// Handles Ctrl+D: quits, but asks first while something is running.
fn quit_or_ask(state: &mut UiState) -> Vec<Action> {
    if !state.activity.is_active() {
        return vec![Action::Quit];
    }
    let title = if state.activity.turn_running {
        "Quit while a turn is running?"
    } else {
        "Quit while a command is running?"
    };
    let choose = ChoicePrompt::new(title)
        .with_answer("Stay", || OverlayOutcome::Close)
        .with_answer("Stop it and quit", || OverlayOutcome::CloseAndRun(vec![Action::Quit]));
    state.overlays.push(Box::new(choose));
    Vec::new()
}

pub(super) fn type_key(state: &mut UiState, key: Key) -> Vec<Action> {
    let width = state.columns.saturating_sub(3);
    state.editor.handle_key(key, width);
    if matches!(key.code, KeyCode::Up | KeyCode::Down) {
        // You are browsing the history: the next up or down must not go to a completion list.
        state.completion = None;
        return Vec::new();
    }
    complete_or_list_files(state)
}

/// Handles Enter. A backslash before it starts a new line, for terminals that cannot report Shift+Enter.
fn handle_enter(state: &mut UiState) -> Vec<Action> {
    if state.editor.text().ends_with('\\') && state.editor.cursor() == state.editor.text().len() {
        state.editor.insert_completion(state.editor.cursor() - 1, "\n");
        return Vec::new();
    }
    submit(state, PromptTiming::Steer)
}

pub(crate) fn submit(state: &mut UiState, while_it_works: PromptTiming) -> Vec<Action> {
    state.completion = None;
    let typed = state.editor.text().trim().to_owned();
    if typed.is_empty() {
        return Vec::new();
    }
    if untyped_text::ask_before_sending(state, &typed, while_it_works) {
        return Vec::new();
    }
    let text = state.editor.pastes.expand(&typed);
    send(state, &typed, &text, while_it_works)
}

/// Sends the draft: `typed` with its markers, `text` with the pasted texts.
pub(crate) fn send(
    state: &mut UiState,
    typed: &str,
    text: &str,
    while_it_works: PromptTiming,
) -> Vec<Action> {
    let remember = history_action(state, typed);
    if let Some(actions) = commands::run(state, typed) {
        return remember.into_iter().chain(actions).collect();
    }
    let mut actions: Vec<Action> = remember.into_iter().chain(store_pastes_actions(state, typed)).collect();
    let images = state.editor.images.images_in(typed);
    state.editor.take_text();
    if let Some(command) = UserCommand::parse(text.trim()) {
        if state.activity.user_command.is_some() {
            state.editor.set(text);
            show_error(state, "cannot run the command: another one is running; esc stops it");
            return Vec::new();
        }
        if !state.activity.is_active() {
            state.activity.start(state.now);
        }
        state.activity.user_command = Some((command.command.clone(), String::new()));
        actions.extend(send_command(ClientCommand::RunShell(command), CommandPurpose::RunShell));
        return actions;
    }
    let when = if state.activity.turn_running { while_it_works } else { PromptTiming::Now };
    // Files are attached only by typed text; pastes are still markers in it.
    let files = mentioned_files(typed);
    let prompt = ClientCommand::timed_prompt(
        Prompt { text: text.trim().to_owned(), images, files, message: None },
        when,
    );
    state.unanswered.push(typed.to_owned());
    actions.extend(send_command(prompt, CommandPurpose::Prompt(typed.to_owned())));
    actions
}

/// Adds a prompt to the history of all sessions. A prompt that starts with a space stays private, as in a shell, and prompts with
/// pastes stay in their session.
fn history_action(state: &UiState, typed: &str) -> Option<Action> {
    let editor = &state.editor;
    let is_pasted =
        editor.pastes.pastes_in(typed).next().is_some() || !editor.images.images_in(typed).is_empty();
    let is_private = editor.text().starts_with(char::is_whitespace);
    (!is_pasted && !is_private).then(|| Action::AddToHistory(typed.to_owned()))
}

/// The actions that store new pastes in the session.
fn store_pastes_actions(state: &mut UiState, typed: &str) -> Vec<Action> {
    let (texts, images) = (state.editor.pastes.take_unsaved(typed), state.editor.images.take_unsaved(typed));
    let texts = (!texts.is_empty()).then_some(Action::StorePastes(texts));
    texts.into_iter().chain((!images.is_empty()).then_some(Action::StoreImages(images))).collect()
}

fn handle_escape(state: &mut UiState, escaped: Option<u64>) -> Vec<Action> {
    if state.activity.is_active() {
        return cancel_work(state);
    }
    if !state.editor.is_empty() {
        show_notice(state, "alt+t opens the tree; so does esc twice when the editor is empty");
        return Vec::new();
    }
    if escaped.is_none_or(|at| state.now.saturating_sub(at) > DOUBLE_ESCAPE_MS) {
        state.last_escape = Some(state.now);
        return Vec::new();
    }
    match state.config.double_escape {
        DoubleEscape::Tree => request_tree(state, false),
        DoubleEscape::Fork => request_tree(state, true),
        DoubleEscape::Nothing => Vec::new(),
    }
}

/// Handles Ctrl+C: stops running work, else clears the editor, else quits on the second press.
fn handle_ctrl_c(state: &mut UiState, warned: bool) -> Vec<Action> {
    if state.activity.is_active() && !state.activity.stopping {
        return cancel_work(state);
    }
    if !state.editor.is_empty() && !warned {
        state.editor.set("");
        return Vec::new();
    }
    if warned {
        return vec![Action::Quit];
    }
    state.quit_hint_shown = true;
    show_notice(state, "Press ctrl+c again or ctrl+d to quit");
    Vec::new()
}

fn cancel_work(state: &mut UiState) -> Vec<Action> {
    state.activity.stopping = true;
    let mut actions = Vec::new();
    if let Some(report) = &state.activity.explore {
        let cancel = ExploreCommand::Cancel { explore: Some(report.id.clone()), number: None };
        actions = send_command(ClientCommand::Explore(cancel), CommandPurpose::Mark);
    }
    actions.extend(send_command(ClientCommand::Cancel, CommandPurpose::Cancel));
    actions
}

fn cycle_thinking(state: &mut UiState) -> Vec<Action> {
    let all = ThinkingLevel::ALL;
    let at = all.iter().position(|level| *level == state.status.thinking).unwrap_or(0);
    let next = all[(at + 1) % all.len()];
    send_command(
        ClientCommand::SetThinking { level: next },
        CommandPurpose::Change(format!("thinking: {}", next.name())),
    )
}

/// Handles a key while the completion list is open; returns `None` if the key is for the editor.
fn handle_completion_key(state: &mut UiState, key: Key) -> Option<Vec<Action>> {
    let completion = state.completion.as_mut()?;
    match (key.code, key.ctrl || key.alt) {
        (KeyCode::Escape, _) => state.completion = None,
        (KeyCode::Up, false) => completion.move_selection(false),
        (KeyCode::Down, false) => completion.move_selection(true),
        (KeyCode::Tab, false) if !key.shift => {
            let (from, item) = (completion.from, completion.selected_item()?.clone());
            match item.editor_text {
                Some((text, cursor)) => {
                    state.extensions.wrote_draft = true;
                    state.editor.set_at(&text, cursor);
                }
                None => state.editor.insert_completion(from, &format!("{} ", item.text)),
            }
            state.completion = None;
        }
        // A lone slash selects nothing until you move the selection.
        (KeyCode::Enter, false) if !key.shift && state.editor.text() == "/" && !completion.moved => {}
        (KeyCode::Enter, false) if !key.shift && completion.selected_item()?.editor_text.is_some() => {
            let (text, cursor) = completion.selected_item()?.editor_text.clone()?;
            state.completion = None;
            if state.editor.text() == text {
                return None;
            }
            state.extensions.wrote_draft = true;
            state.editor.set_at(&text, cursor);
        }
        (KeyCode::Enter, false) if !key.shift => {
            let (from, text) = (completion.from, completion.selected_item()?.text.clone());
            let is_complete = state.editor.text()[from..state.editor.cursor()] == *text;
            let is_command = from == 0 && text.starts_with('/');
            state.completion = None;
            if is_complete {
                return None;
            }
            state.editor.insert_completion(from, &if is_command { text } else { format!("{text} ") });
            return (!is_command).then(Vec::new);
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// Updates the completion list, and requests the list of files when it is first needed.
pub(crate) fn complete_or_list_files(state: &mut UiState) -> Vec<Action> {
    let mut actions = extension_editor::ask_completers(state);
    if update_completion(state) && state.files.is_none() {
        state.files = Some(Vec::new().into());
        actions.push(Action::ListFiles);
    }
    actions
}

/// Updates the completion list. Returns whether a file name is being completed.
pub(super) fn update_completion(state: &mut UiState) -> bool {
    let text = state.editor.text().to_owned();
    let Some((from, word)) = Completion::word_at_cursor(&text, state.editor.cursor()) else {
        state.completion = None;
        return false;
    };
    let is_file = word.starts_with('@');
    state.completion = if is_file {
        let files = state.files.clone().unwrap_or_default();
        let fit = |file: &String| CompletionItem { text: format!("@{file}"), ..CompletionItem::default() };
        Completion::new(from, word, files.iter().map(fit))
    } else {
        Completion::new(from, word, commands::completions(state, word))
    };
    is_file
}
