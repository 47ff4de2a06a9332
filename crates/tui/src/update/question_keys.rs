//! Keys while a question shares the screen with the draft: which of them answer it, and which are text being typed.
//!
//! A key answers the question only if no other key arrives within a short time before or after it, and if the question was
//! visible for at least that time. So the key is held back for that time; if another key arrives, both are text for the draft.

use super::apply_outcome;
use super::keys::type_key;
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

/// Handles a key while the question is on top; returns `None` if the key is for the draft.
pub(super) fn handle_key(state: &mut UiState, key: Key, is_alone: bool) -> Option<Vec<Action>> {
    let (now, room, is_empty) = (state.now, overlay_area(state), state.editor.is_empty());
    let overlay = state.overlays.last_mut()?;
    if is_alone && overlay.is_answer(key, now, is_empty) {
        state.held_answer = Some(HeldAnswer { key, until: now + ANSWER_PAUSE_MS });
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
