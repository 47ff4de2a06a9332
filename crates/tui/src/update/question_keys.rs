//! Keys while a question shares the screen with the draft: which of them answer it, and which are text being typed.
//!
//! A key answers the question only if no other key arrives within a short time before or after it, and if the question was
//! visible for at least that time. So the key is held back for that time; if another key arrives, both are text for the draft.
//! Only Enter confirms a letter at once, as in a shell.

use super::keys::type_key;
use super::{apply_outcome, show_notice};
use crate::key::{Key, KeyCode};
use crate::msg::Action;
use crate::overlay::{ANSWER_PAUSE_MS, OverlayOutcome};
use crate::state::UiState;
use crate::view::overlay_area;

/// A key that answers a question unless another key follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HeldAnswer {
    key: Key,
    /// When it counts as the answer, in the time of `UiState::now`.
    pub(crate) until: u64,
}

/// Whether the top overlay leaves the draft visible.
pub(crate) fn shares_draft(state: &UiState) -> bool {
    state.overlays.last().is_some_and(|overlay| overlay.shares_draft())
}

/// Records a key. Returns whether it may be an answer. Keys that move a selection are not text being typed.
pub(super) fn record_key(state: &mut UiState, key: Key) -> bool {
    match key.code {
        KeyCode::Up | KeyCode::Down | KeyCode::Tab | KeyCode::PageUp | KeyCode::PageDown => {
            release_held_answer(state);
            false
        }
        _ => record_input(state),
    }
}

/// Records that you typed or pasted something. Returns whether it may be an answer: no other input arrived shortly before.
pub(super) fn record_input(state: &mut UiState) -> bool {
    let is_quiet = state.last_input.is_none_or(|at| state.now.saturating_sub(at) >= ANSWER_PAUSE_MS);
    state.last_input = Some(state.now);
    !release_held_answer(state) && is_quiet
}

/// Types the held key into the draft. Returns false if no key is held.
pub(super) fn release_held_answer(state: &mut UiState) -> bool {
    let Some(held) = state.held_answer.take() else { return false };
    if held.key.typed_char().is_some() {
        type_key(state, held.key);
    }
    true
}

/// Answers with the held letter if this key is Enter. Returns `None` if no letter is held.
pub(super) fn confirm_held_letter(state: &mut UiState, key: Key) -> Option<Vec<Action>> {
    let held = state.held_answer.as_mut()?;
    if key != KeyCode::Enter.into() || held.key.typed_char().is_none() || !state.editor.is_empty() {
        return None;
    }
    held.until = state.now;
    state.last_input = Some(state.now);
    Some(apply_held_answer(state))
}

/// Handles a key while the question is on top; returns `None` if the key is for the draft.
pub(super) fn handle_key(state: &mut UiState, key: Key, is_alone: bool) -> Option<Vec<Action>> {
    let (now, room, is_empty) = (state.now, overlay_area(state), state.editor.is_empty());
    let overlay = state.overlays.last_mut()?;
    let is_answer = match key.typed_char() {
        Some(typed) => overlay.answer_letters().contains(&typed.to_ascii_lowercase()),
        // Enter sends the draft, unless it is empty.
        None => key == KeyCode::Enter.into() && is_empty,
    };
    if is_alone && is_answer && overlay.is_seen(now) {
        state.held_answer = Some(HeldAnswer { key, until: now + ANSWER_PAUSE_MS });
        return Some(Vec::new());
    }
    let letter = answer_in(&overlay.answer_letters(), state.editor.text());
    if let Some(letter) = letter.filter(|_| key == KeyCode::Enter.into()) {
        state.editor.set("");
        show_notice(state, &format!("Not sent; to answer the question, press {letter} alone"));
        return Some(Vec::new());
    }
    if key.typed_char().is_some() || key.code == KeyCode::Enter {
        return None;
    }
    match overlay.handle_key(key, room) {
        OverlayOutcome::Pass => None,
        outcome => Some(apply_outcome(state, outcome)),
    }
}

/// The answer that a draft consists of. It was typed too early or too fast to count as one.
fn answer_in(letters: &[char], draft: &str) -> Option<char> {
    let draft = draft.trim().to_lowercase();
    let word = match draft.as_str() {
        "yes" => "y",
        "no" => "n",
        other => other,
    };
    letters.iter().copied().find(|letter| word == letter.to_string())
}

/// Answers the question with the held key once its time has passed.
pub(super) fn apply_held_answer(state: &mut UiState) -> Vec<Action> {
    let Some(held) = state.held_answer.filter(|held| held.until <= state.now) else { return Vec::new() };
    state.held_answer = None;
    let room = overlay_area(state);
    match state.overlays.last_mut().filter(|overlay| overlay.shares_draft()) {
        Some(overlay) => {
            let outcome = overlay.handle_key(held.key, room);
            apply_outcome(state, outcome)
        }
        None => Vec::new(),
    }
}
