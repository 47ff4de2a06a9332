//! Keys while a question shares the screen with the draft: which of them answer it, and which are text being typed.
//!
//! A key answers the question only if no other key arrives within a short time before or after it, and if the question was
//! visible for at least that time. So the key is held back for that time; if another key arrives, both are text for the draft.

use super::keys::write;
use super::obey;
use crate::key::{Code, Key};
use crate::msg::Action;
use crate::overlay::{ALONE, Outcome};
use crate::state::State;
use crate::view::room;

/// A key that answers a question unless another key follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Held {
    key: Key,
    /// When it counts as the answer, in the time of `UiState::now`.
    pub(crate) until: u64,
}

/// Whether the top overlay leaves the draft visible.
pub(crate) fn shares_draft(state: &State) -> bool {
    state.overlays.last().is_some_and(|overlay| overlay.shares_draft())
}

/// Records that you typed or pasted something. Returns whether it may be an answer: no other input arrived shortly before.
pub(super) fn note_input(state: &mut State) -> bool {
    let is_quiet = state.typed.is_none_or(|at| state.now.saturating_sub(at) >= ALONE);
    state.typed = Some(state.now);
    !release(state) && is_quiet
}

/// Types the held key into the draft. Returns false if no key is held.
pub(super) fn release(state: &mut State) -> bool {
    let Some(held) = state.held.take() else { return false };
    if held.key.typed().is_some() {
        write(state, held.key);
    }
    true
}

/// Handles a key while the question is on top; returns `None` if the key is for the draft.
pub(super) fn key(state: &mut State, key: Key, is_alone: bool) -> Option<Vec<Action>> {
    let (now, room, is_empty) = (state.now, room(state), state.editor.is_empty());
    let overlay = state.overlays.last_mut()?;
    if is_alone && overlay.is_answer(key, now, is_empty) {
        state.held = Some(Held { key, until: now + ALONE });
        return Some(Vec::new());
    }
    if key.typed().is_some() || key.code == Code::Enter {
        return None;
    }
    match overlay.key(key, room) {
        Outcome::Pass => None,
        outcome => Some(obey(state, outcome)),
    }
}

/// Answers the question with the held key once its time has passed.
pub(super) fn settle(state: &mut State) -> Vec<Action> {
    let Some(held) = state.held.filter(|held| held.until <= state.now) else { return Vec::new() };
    state.held = None;
    let room = room(state);
    match state.overlays.last_mut().filter(|overlay| overlay.shares_draft()) {
        Some(overlay) => {
            let outcome = overlay.key(held.key, room);
            obey(state, outcome)
        }
        None => Vec::new(),
    }
}
