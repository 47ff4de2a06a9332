//! Text and keys that you did not type: an extension wrote them, or they come from a message that it sent. They may edit the draft
//! and send prompts. Whatever does more asks you first.

use osier_protocol::{PromptTiming, UserCommand, mentioned_files, visible};

use crate::commands;
use crate::key::{Key, KeyCode};
use crate::overlay::{ChoicePrompt, OverlayOutcome};
use crate::state::UiState;
use crate::update::show_error;

/// A longer text would not be visible in full beside the question.
const MAX_QUESTION_LINES: usize = 8;
const MAX_QUESTION_CHARS: usize = 600;

/// Commands of Osier that change files or what runs without asking.
const COMMANDS_THAT_ASK: [&str; 3] = ["approval", "explore", "export"];

/// Whether a key does more than edit text: it sends, runs or ends something, or reads the clipboard. Only you press such a key.
pub(crate) fn is_only_yours(key: Key) -> bool {
    match (key.code, key.ctrl, key.alt) {
        (KeyCode::Enter, ..) => !key.shift,
        (KeyCode::Char('c' | 'd' | 'g' | 'v' | 'z'), true, _) => true,
        (KeyCode::Char('a' | 'r' | 't' | 'u') | KeyCode::Up, _, alt) => alt,
        _ => false,
    }
}

/// Asks before a draft that you did not type is sent, if it does more than send a prompt. Returns whether it asked or refused.
pub(crate) fn ask_before_sending(state: &mut UiState, typed: &str, when: PromptTiming) -> bool {
    if !state.extensions.wrote_draft {
        return false;
    }
    let text = state.editor.pastes.expand(typed).trim().to_owned();
    let Some(question) = question(&text) else { return false };
    let shown = visible(&text);
    if shown.lines().count() > MAX_QUESTION_LINES || shown.chars().count() > MAX_QUESTION_CHARS {
        show_error(
            state,
            "cannot send this: you did not type it, and it is too long to show; clear the editor",
        );
        return true;
    }
    let prompt = ChoicePrompt::new(question)
        .with_details(&shown)
        .with_answer("No, keep it in the editor", || OverlayOutcome::Close)
        .with_answer("Yes", move || OverlayOutcome::CloseAndSubmit(text.clone(), when));
    state.overlays.push(Box::new(prompt));
    true
}

/// Whether a text that returns to the editor would be asked about if you did not type it. The queue does not record who sent it.
pub(crate) fn is_asked_about(state: &UiState, text: &str) -> bool {
    question(state.editor.pastes.expand(text).trim()).is_some()
}

/// What to ask about a text; `None` for a prompt that reads nothing outside the project.
fn question(text: &str) -> Option<&'static str> {
    if UserCommand::parse(text).is_some() {
        return Some("Run this command? You did not type it");
    }
    if commands::named_in(text).is_some_and(|name| COMMANDS_THAT_ASK.contains(&name)) {
        return Some("Run this? You did not type it");
    }
    let is_outside = |name: &String| name.starts_with(['/', '~']) || name.split('/').any(|part| part == "..");
    let reads = mentioned_files(text).iter().any(is_outside);
    reads.then_some("Attach these files? You did not type it")
}
