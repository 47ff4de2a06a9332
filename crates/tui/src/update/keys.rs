//! What keys mean when nothing lies over the editor.

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

/// Milliseconds within which a second Escape counts.
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
            // Whoever draws sees that it is to be drawn otherwise.
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

/// A key for the draft below a question.
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

/// Ctrl+D. What still runs would be stopped, so that is asked about.
fn quit(state: &mut State) -> Vec<Action> {
    if !state.work.is_going_on() {
        return vec![Action::Quit];
    }
    let title = if state.work.turn { "Leave while a turn runs?" } else { "Leave while a command runs?" };
    let choose = Choose::new(title)
        .with("Stay", || Outcome::Close)
        .with("Stop it and leave", || Outcome::End(vec![Action::Quit]));
    state.overlays.push(Box::new(choose));
    Vec::new()
}

pub(super) fn write(state: &mut State, key: Key) -> Vec<Action> {
    let width = state.columns.saturating_sub(3);
    state.editor.key(key, width);
    if matches!(key.code, Code::Up | Code::Down) {
        // What was said before is not being written, and the next one is a key further.
        state.completion = None;
        return Vec::new();
    }
    asked_for_files(state)
}

/// A backslash before Enter makes a line; for terminals that cannot tell Shift+Enter.
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
            complain(state, "a command of yours is still running; escape stops it");
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
    // Only what was typed names files; a paste is still a marker in it.
    let files = mentions(&typed);
    let prompt = Command::Prompt { text: text.trim().to_owned(), images, files, when };
    actions.extend(send(prompt, Purpose::Say(typed)));
    actions
}

/// Keeps what was typed for other sessions. What begins with a space stays private, as in a shell, and pasted texts and
/// images stay with their session.
fn remember(state: &State, typed: &str) -> Option<Action> {
    let editor = &state.editor;
    let is_pasted = editor.pastes.used(typed).next().is_some() || !editor.pictures.used(typed).is_empty();
    let is_private = editor.text().starts_with(char::is_whitespace);
    (!is_pasted && !is_private).then(|| Action::Remember(typed.to_owned()))
}

/// Pastes that the session is to keep.
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
        tell(state, "alt+t opens the tree; escape twice does if nothing is written");
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

/// Ctrl-C: stops what goes on, empties the editor, and the second time leaves.
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
    tell(state, "ctrl+c again, or ctrl+d, leaves");
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

/// Keys of an open completion.
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
        // A slash alone chooses nothing yet.
        (Code::Enter, false) if !key.shift && state.editor.text() == "/" && !completion.moved => {}
        (Code::Enter, false) if !key.shift => {
            let (from, text) = (completion.from, completion.chosen()?.text.clone());
            let whole = state.editor.text()[from..state.editor.cursor()] == *text;
            let is_command = from == 0 && text.starts_with('/');
            state.completion = None;
            if whole {
                return None;
            }
            state.editor.complete(from, &if is_command { text } else { format!("{text} ") });
            return (!is_command).then(Vec::new);
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// Looks what could be completed, and asks for the files if they are needed.
fn asked_for_files(state: &mut State) -> Vec<Action> {
    if complete(state) && state.files.is_none() {
        state.files = Some(Vec::new().into());
        return vec![Action::ListFiles];
    }
    Vec::new()
}

/// Brings the completion up to date. True if a file is being named.
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
