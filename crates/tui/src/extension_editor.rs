//! The editor of an extension in place of the prompt editor, listeners that see every key first, and completions of extensions.
//!
//! The prompt editor keeps a copy of the text, so that sending, history, completion and pastes work as usual. Each side sends its
//! text when it changed.

use std::collections::{BTreeSet, VecDeque};

use osier_protocol::{EditorView, ExtensionEvent, ExtensionInput, PromptTiming, sanitize};

use crate::completion::{Completion, CompletionItem};
use crate::extension_ui::send_input;
use crate::input::parse_sequence;
use crate::key::{Input, Key, key_sequence};
use crate::msg::Action;
use crate::state::UiState;
use crate::text::{Line, parse_lines};
use crate::untyped_text::is_only_yours;
use crate::update::{keys, paste};

/// How many milliseconds a key waits for listeners.
const KEY_TIMEOUT_MS: u64 = 100;

/// How many keys an editor may leave to Osier later.
const MAX_PRESSED: usize = 32;

/// The editor of an extension.
#[derive(Debug)]
pub(crate) struct ExtensionEditor {
    view: EditorView,
    /// The last key was Ctrl+C. Another one goes to Osier, in case the editor keeps it.
    interrupted: bool,
    /// The last keys that it got and did not leave to Osier.
    pressed: VecDeque<Key>,
}

impl ExtensionEditor {
    pub(crate) fn view(&self, columns: usize, rows: usize) -> (Vec<Line>, Option<(usize, usize)>) {
        let lines = &self.view.lines;
        parse_lines(&lines[lines.len().saturating_sub(rows)..], columns)
    }
}

/// Extensions that see keys first, and the keys that wait for them.
#[derive(Debug, Default)]
pub(crate) struct KeyListeners {
    names: BTreeSet<String>,
    held: VecDeque<HeldInput>,
    last_number: u64,
    interrupted: bool,
}

#[derive(Debug)]
struct HeldInput {
    number: u64,
    /// A key or a paste.
    input: Input,
    /// When it no longer waits.
    until: u64,
    /// What listeners made of it; the inner `None` if they handled it.
    answer: Option<Option<String>>,
}

impl KeyListeners {
    /// When the next key stops waiting.
    pub(crate) fn due(&self) -> Option<u64> {
        self.held.front().map(|held| held.until)
    }
}

/// Whether listeners may see keys. In dialogs and questions, only you answer.
fn may_listen(state: &UiState) -> bool {
    state.overlays.last().is_none_or(|overlay| overlay.allows_floats())
}

/// Gives a key to listeners first. `None` if there are none, or if the key must always work.
pub(crate) fn listen(state: &mut UiState, key: Key) -> Option<Vec<Action>> {
    let (client, now, may_listen) = (state.client, state.now, may_listen(state));
    let listeners = &mut state.extensions.key_listeners;
    let was_interrupted = std::mem::replace(&mut listeners.interrupted, key == Key::ctrl('c'));
    let always_works = key == Key::ctrl('z') || (key == Key::ctrl('c') && was_interrupted);
    let has_listener = !listeners.names.is_empty() && may_listen;
    if always_works || (!has_listener && listeners.held.is_empty()) {
        return None;
    }
    let (number, until) = (listeners.last_number + 1, if has_listener { now + KEY_TIMEOUT_MS } else { now });
    listeners.last_number = number;
    listeners.held.push_back(HeldInput { number, input: Input::Key(key), until, answer: None });
    let data = key_sequence(key);
    let ask = || send_input(ExtensionInput::TerminalInput { client, number, data });
    Some(has_listener.then(ask).into_iter().collect())
}

/// Holds a paste behind keys that wait. Returns it if there are none.
pub(crate) fn hold_paste(state: &mut UiState, text: String) -> Option<String> {
    let now = state.now;
    let listeners = &mut state.extensions.key_listeners;
    if listeners.held.is_empty() {
        return Some(text);
    }
    listeners.last_number += 1;
    let number = listeners.last_number;
    listeners.held.push_back(HeldInput { number, input: Input::Paste(text), until: now, answer: None });
    None
}

/// Handles the keys that no longer wait, in their order.
pub(crate) fn release_keys(state: &mut UiState) -> Vec<Action> {
    let is_ready = |held: &HeldInput, now: u64| held.answer.is_some() || held.until <= now;
    let mut actions = Vec::new();
    while let Some(held) = state.extensions.key_listeners.held.pop_front_if(|held| is_ready(held, state.now))
    {
        actions.extend(release(state, held.input, held.answer));
    }
    actions
}

/// Handles all keys that wait, as you pressed them.
pub(crate) fn stop_listening(state: &mut UiState) -> Vec<Action> {
    let held = std::mem::take(&mut state.extensions.key_listeners.held);
    held.into_iter().flat_map(|held| release(state, held.input, None)).collect()
}

/// A listener can make one key of the key that you pressed, but none that is only yours.
fn release(state: &mut UiState, input: Input, answer: Option<Option<String>>) -> Vec<Action> {
    let key = match input {
        Input::Key(key) => key,
        Input::Paste(text) => return paste(state, &text),
        _ => return Vec::new(),
    };
    match answer {
        Some(None) => Vec::new(),
        Some(Some(data)) if data != key_sequence(key) && may_listen(state) => {
            match first_key(&data).filter(|made| !is_only_yours(*made)) {
                Some(made) => {
                    let actions = keys::handle_key(state, made);
                    state.extensions.wrote_draft = true;
                    actions
                }
                None => Vec::new(),
            }
        }
        _ => keys::handle_key(state, key),
    }
}

fn first_key(data: &str) -> Option<Key> {
    let mut keys = parse_sequence(data).into_iter();
    keys.find_map(|input| if let Input::Key(key) = input { Some(key) } else { None })
}

/// Gives a key to the editor of an extension. `None` if there is none.
pub(crate) fn type_key(state: &mut UiState, key: Key) -> Option<Action> {
    let client = state.client;
    let editor = state.extensions.editor.as_mut()?;
    let was_interrupted = std::mem::replace(&mut editor.interrupted, key == Key::ctrl('c'));
    if key == Key::ctrl('c') && was_interrupted {
        return None;
    }
    editor.pressed.truncate(MAX_PRESSED - 1);
    editor.pressed.push_front(key);
    let component = editor.view.component;
    Some(send_input(ExtensionInput::Key { component, data: key_sequence(key), client }))
}

/// Sends the text of the prompt editor to the editor of an extension, if Osier changed it.
pub(crate) fn send_text(state: &mut UiState) -> Option<Action> {
    let (text, cursor) = (state.editor.text(), state.editor.cursor());
    let view = &mut state.extensions.editor.as_mut()?.view;
    if (view.text.as_str(), view.cursor) == (text, cursor) {
        return None;
    }
    (view.text, view.cursor) = (text.to_owned(), cursor);
    let component = Some(view.component);
    Some(send_input(ExtensionInput::EditorText { component, request: None, text: view.text.clone(), cursor }))
}

/// Asks extensions for completions at the cursor.
pub(crate) fn ask_completers(state: &mut UiState) -> Vec<Action> {
    if state.extensions.completers.is_empty() {
        return Vec::new();
    }
    state.extensions.completion_request += 1;
    let (client, number) = (state.client, state.extensions.completion_request);
    let (text, cursor) = (state.editor.text().to_owned(), state.editor.cursor());
    vec![send_input(ExtensionInput::Complete { client, number, text, cursor })]
}

/// Shows what an extension does to the editor.
pub(crate) fn show(state: &mut UiState, event: ExtensionEvent) -> Vec<Action> {
    let is_mine = |client: u64| client == state.client;
    match event {
        ExtensionEvent::SetEditor { editor } => return set_editor(state, editor),
        ExtensionEvent::EditorKey { client, data } if is_mine(client) => {
            return first_key(&data).map(|key| leave_key(state, key)).unwrap_or_default();
        }
        ExtensionEvent::EditorSubmit { client, text } if is_mine(client) => {
            state.extensions.wrote_draft = true;
            state.editor.set(&sanitize(&text));
            return keys::submit(state, PromptTiming::Steer);
        }
        ExtensionEvent::AskEditorText { request } => {
            let text = state.editor.pastes.expand(state.editor.text());
            let (request, cursor) = (Some(request), state.editor.cursor());
            return vec![send_input(ExtensionInput::EditorText { component: None, request, text, cursor })];
        }
        ExtensionEvent::PasteToEditor { text } => {
            state.extensions.wrote_draft = true;
            state.editor.paste(&sanitize(&text));
            return keys::complete_or_list_files(state);
        }
        ExtensionEvent::SetInputListener { listener, removed } => {
            let names = &mut state.extensions.key_listeners.names;
            let _ = if removed { names.remove(&listener) } else { names.insert(listener) };
        }
        ExtensionEvent::TerminalInput { client, number, data } if is_mine(client) => {
            let held = &mut state.extensions.key_listeners.held;
            if let Some(held) = held.iter_mut().find(|held| held.number == number) {
                held.answer = Some(data);
            }
            return release_keys(state);
        }
        ExtensionEvent::SetAutocomplete { source, removed } => {
            let completers = &mut state.extensions.completers;
            let _ = if removed { completers.remove(&source) } else { completers.insert(source) };
        }
        ExtensionEvent::Completions { client, number, items }
            if is_mine(client) && number == state.extensions.completion_request && !items.is_empty() =>
        {
            let items = items.into_iter().map(|item| CompletionItem {
                text: sanitize(&item.label).replace('\n', " "),
                description: sanitize(&item.description).replace('\n', " "),
                uses: 0,
                editor_text: Some((item.text, item.cursor)),
            });
            state.completion = Some(Completion { items: items.collect(), ..Completion::default() });
        }
        _ => {}
    }
    Vec::new()
}

/// Handles a key that the editor of an extension leaves to Osier. One that is only yours counts if you pressed it.
fn leave_key(state: &mut UiState, key: Key) -> Vec<Action> {
    let Some(editor) = &mut state.extensions.editor else { return Vec::new() };
    let pressed = editor.pressed.iter().position(|pressed| *pressed == key);
    let was_pressed = pressed.and_then(|at| editor.pressed.remove(at)).is_some();
    match was_pressed || !is_only_yours(key) {
        true => keys::handle_left_key(state, key),
        false => Vec::new(),
    }
}

fn set_editor(state: &mut UiState, editor: Option<EditorView>) -> Vec<Action> {
    let Some(view) = editor else {
        state.extensions.editor = None;
        return Vec::new();
    };
    let known = state.extensions.editor.as_ref();
    let changed = known.is_some_and(|known| known.view.text != view.text);
    let (interrupted, pressed) = match state.extensions.editor.take() {
        Some(known) => (known.interrupted, known.pressed),
        None => (false, VecDeque::new()),
    };
    state.extensions.wrote_draft |= state.editor.text() != view.text;
    state.editor.mirror(&view.text, view.cursor);
    state.extensions.editor = Some(ExtensionEditor { view, interrupted, pressed });
    if changed { keys::complete_or_list_files(state) } else { Vec::new() }
}
