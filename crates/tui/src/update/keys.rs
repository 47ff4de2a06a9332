//! Handles keys: global keys, the keys of the editor, and keys that open overlays pass on.

use osier_agent::attachments::mentions;
use osier_agent::{Command, When};
use osier_model::ThinkingLevel;
use osier_tools::user_bash::UserCommand;

use super::{answering, complain, obey, read_tree, send, tell};
use crate::commands;
use crate::complete::{Completion, Fit};
use crate::key::{Code, Input, Key};
use crate::msg::{Action, Purpose};
use crate::overlay::{Choose, Outcome, Recall};
use crate::state::{DoubleEscape, State};
use crate::view::room;

/// The maximum milliseconds between the two presses of a double Escape.
const TWICE: u64 = 500;

pub(super) fn key(state: &mut State, key: Key) -> Vec<Action> {
    state.notice = None;
    let warned = std::mem::take(&mut state.warned);
    let escaped = state.escaped.take();
    if key == Key::ctrl('z') {
        return vec![Action::Suspend];
    }
    let is_alone = answering::note_input(state);
    if answering::shares_draft(state) {
        return answering::key(state, key, is_alone).unwrap_or_else(|| draft_key(state, key, warned));
    }
    let room = room(state);
    if let Some(overlay) = state.overlays.last_mut() {
        return match overlay.key(key, room) {
            Outcome::Pass if key == Key::ctrl('c') => stop(state, warned),
            Outcome::Pass => write(state, key),
            outcome => obey(state, outcome),
        };
    }
    if state.reading.is_some() && Input::Key(key).stops() {
        state.reading = None;
        return Vec::new();
    }
    if let Some(actions) = completing(state, key) {
        return actions;
    }
    match (key.code, key.ctrl, key.alt) {
        (Code::Escape, ..) => escape(state, escaped),
        (Code::Char('c'), true, _) => stop(state, warned),
        (Code::Char('d'), true, _) if state.editor.is_empty() => quit(state),
        (Code::Char('l'), true, _) => vec![Action::Redraw],
        (Code::Char('o'), true, _) => {
            // The screen redraws the history when this changes.
            state.open = !state.open;
            Vec::new()
        }
        (Code::Char('g'), true, _) => vec![Action::Edit(state.editor.pastes.expanded(state.editor.text()))],
        (Code::Char('v'), true, _) => vec![Action::PasteImage],
        (Code::Char('r'), true, _) => {
            state.overlays.push(Box::new(Recall::new(state.editor.history.texts())));
            Vec::new()
        }
        (Code::Char('u'), false, true) => send(Command::Undo, Purpose::Undo),
        (Code::Char('r'), false, true) => send(Command::Redo, Purpose::Redo),
        (Code::Char('t'), false, true) => read_tree(state, false),
        (Code::Up, _, true) => send(Command::Unqueue, Purpose::Unqueue),
        (Code::Tab, ..) if key.shift => next_thinking(state),
        (Code::Enter, _, true) if state.work.turn => submit(state, When::FollowUp),
        (Code::Enter, false, false) if !key.shift => enter(state),
        _ => write(state, key),
    }
}

/// Handles a key for the draft below a question.
fn draft_key(state: &mut State, key: Key, warned: bool) -> Vec<Action> {
    match (key.code, key.ctrl, key.alt) {
        (Code::Escape, ..) => cancel(state),
        (Code::Char('c'), true, _) => stop(state, warned),
        (Code::Char('d'), true, _) if state.editor.is_empty() => quit(state),
        (Code::Enter, _, true) => submit(state, When::FollowUp),
        (Code::Enter, false, false) if !key.shift => enter(state),
        _ => {
            state.editor.key(key, state.columns.saturating_sub(3));
            Vec::new()
        }
    }
}

/// Handles Ctrl+D: quits, but asks first while something is running.
fn quit(state: &mut State) -> Vec<Action> {
    if !state.work.is_going_on() {
        return vec![Action::Quit];
    }
    let title =
        if state.work.turn { "Quit while a turn is running?" } else { "Quit while a command is running?" };
    let choose = Choose::new(title)
        .with("Stay", || Outcome::Close)
        .with("Stop it and quit", || Outcome::End(vec![Action::Quit]));
    state.overlays.push(Box::new(choose));
    Vec::new()
}

pub(super) fn write(state: &mut State, key: Key) -> Vec<Action> {
    let width = state.columns.saturating_sub(3);
    state.editor.key(key, width);
    if matches!(key.code, Code::Up | Code::Down) {
        // You are browsing the history: the next up or down must not go to a completion list.
        state.completion = None;
        return Vec::new();
    }
    asked_for_files(state)
}

/// Handles Enter. A backslash before it starts a new line, for terminals that cannot report Shift+Enter.
fn enter(state: &mut State) -> Vec<Action> {
    if state.editor.text().ends_with('\\') && state.editor.cursor() == state.editor.text().len() {
        state.editor.complete(state.editor.cursor() - 1, "\n");
        return Vec::new();
    }
    submit(state, When::Steer)
}

fn submit(state: &mut State, while_it_works: When) -> Vec<Action> {
    state.completion = None;
    let typed = state.editor.text().trim().to_owned();
    if typed.is_empty() {
        return Vec::new();
    }
    let remember = remember(state, &typed);
    if let Some(actions) = commands::run(state, &typed) {
        return remember.into_iter().chain(actions).collect();
    }
    let mut actions: Vec<Action> = remember.into_iter().chain(keep(state, &typed)).collect();
    let images = state.editor.pictures.used(&typed);
    let text = state.editor.take();
    if let Some(command) = UserCommand::parse(text.trim()) {
        if state.work.bash.is_some() {
            state.editor.set(&text);
            complain(state, "cannot run the command: another one is running; esc stops it");
            return Vec::new();
        }
        if !state.work.is_going_on() {
            state.work.since = state.now;
        }
        state.work.bash = Some((command.command.clone(), String::new()));
        actions.extend(send(Command::Bash(command), Purpose::Bash));
        return actions;
    }
    let when = if state.work.turn { while_it_works } else { When::Now };
    // Files are attached only by typed text; pastes are still markers in it.
    let files = mentions(&typed);
    let prompt = Command::Prompt { text: text.trim().to_owned(), images, files, when };
    actions.extend(send(prompt, Purpose::Say(typed)));
    actions
}

/// Adds a prompt to the history of all sessions. A prompt that starts with a space stays private, as in a shell, and prompts with
/// pastes stay in their session.
fn remember(state: &State, typed: &str) -> Option<Action> {
    let editor = &state.editor;
    let is_pasted = editor.pastes.used(typed).next().is_some() || !editor.pictures.used(typed).is_empty();
    let is_private = editor.text().starts_with(char::is_whitespace);
    (!is_pasted && !is_private).then(|| Action::Remember(typed.to_owned()))
}

/// The actions that store new pastes in the session.
fn keep(state: &mut State, typed: &str) -> Vec<Action> {
    let (texts, images) = (state.editor.pastes.fresh(typed), state.editor.pictures.fresh(typed));
    let texts = (!texts.is_empty()).then_some(Action::KeepPastes(texts));
    texts.into_iter().chain((!images.is_empty()).then_some(Action::KeepImages(images))).collect()
}

fn escape(state: &mut State, escaped: Option<u64>) -> Vec<Action> {
    if state.work.is_going_on() {
        return cancel(state);
    }
    if !state.editor.is_empty() {
        tell(state, "alt+t opens the tree; so does esc twice when the editor is empty");
        return Vec::new();
    }
    if escaped.is_none_or(|at| state.now.saturating_sub(at) > TWICE) {
        state.escaped = Some(state.now);
        return Vec::new();
    }
    match state.setting.double_escape {
        DoubleEscape::Tree => read_tree(state, false),
        DoubleEscape::Fork => read_tree(state, true),
        DoubleEscape::Nothing => Vec::new(),
    }
}

/// Handles Ctrl+C: stops running work, else clears the editor, else quits on the second press.
fn stop(state: &mut State, warned: bool) -> Vec<Action> {
    if state.work.is_going_on() && !state.work.stopping {
        return cancel(state);
    }
    if !state.editor.is_empty() && !warned {
        state.editor.set("");
        return Vec::new();
    }
    if warned {
        return vec![Action::Quit];
    }
    state.warned = true;
    tell(state, "Press ctrl+c again or ctrl+d to quit");
    Vec::new()
}

fn cancel(state: &mut State) -> Vec<Action> {
    state.work.stopping = true;
    send(Command::Cancel, Purpose::Cancel)
}

fn next_thinking(state: &mut State) -> Vec<Action> {
    let all = ThinkingLevel::ALL;
    let at = all.iter().position(|level| *level == state.facts.thinking).unwrap_or(0);
    let next = all[(at + 1) % all.len()];
    send(Command::SetThinking(next), Purpose::Change(format!("thinking: {}", next.name())))
}

/// Handles a key while the completion list is open; returns `None` if the key is for the editor.
fn completing(state: &mut State, key: Key) -> Option<Vec<Action>> {
    let completion = state.completion.as_mut()?;
    match (key.code, key.ctrl || key.alt) {
        (Code::Escape, _) => state.completion = None,
        (Code::Up, false) => completion.step(false),
        (Code::Down, false) => completion.step(true),
        (Code::Tab, false) if !key.shift => {
            let (from, text) = (completion.from, completion.chosen()?.text.clone());
            state.editor.complete(from, &format!("{text} "));
            state.completion = None;
        }
        // A lone slash selects nothing until you move the selection.
        (Code::Enter, false) if !key.shift && state.editor.text() == "/" && !completion.moved => {}
        (Code::Enter, false) if !key.shift => {
            let (from, text) = (completion.from, completion.chosen()?.text.clone());
            let is_complete = state.editor.text()[from..state.editor.cursor()] == *text;
            let is_command = from == 0 && text.starts_with('/');
            state.completion = None;
            if is_complete {
                return None;
            }
            state.editor.complete(from, &if is_command { text } else { format!("{text} ") });
            return (!is_command).then(Vec::new);
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// Updates the completion list, and requests the list of files when it is first needed.
fn asked_for_files(state: &mut State) -> Vec<Action> {
    if complete(state) && state.files.is_none() {
        state.files = Some(Vec::new().into());
        return vec![Action::ListFiles];
    }
    Vec::new()
}

/// Updates the completion list. Returns whether a file name is being completed.
pub(super) fn complete(state: &mut State) -> bool {
    let text = state.editor.text().to_owned();
    let Some((from, word)) = Completion::word(&text, state.editor.cursor()) else {
        state.completion = None;
        return false;
    };
    let is_file = word.starts_with('@');
    state.completion = if is_file {
        let files = state.files.clone().unwrap_or_default();
        let fit = |file: &String| Fit { text: format!("@{file}"), ..Fit::default() };
        Completion::new(from, word, files.iter().map(fit))
    } else {
        Completion::new(from, word, commands::fits(state, word))
    };
    is_file
}
