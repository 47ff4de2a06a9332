//! Components of extensions that float over the screen. They never cover a question of Osier.

use osier_protocol::{ClientCommand, ExtensionInput, FloatPlace, UserAnswer};

use crate::extension_ui::send_input;
use crate::key::{Key, KeyCode, key_sequence};
use crate::msg::{Action, CommandPurpose};
use crate::overlay::ANSWER_PAUSE_MS;
use crate::state::UiState;
use crate::text::{Line, parse_lines};

/// A floating component.
#[derive(Debug)]
pub(crate) struct Float {
    pub(crate) question: u64,
    pub(crate) component: u64,
    lines: Vec<String>,
    /// `None` until it was drawn.
    place: Option<FloatPlace>,
    first_shown: Option<u64>,
    /// The last key was Ctrl+C. Another one closes a component that does not close itself.
    interrupted: bool,
}

/// Lines at a place of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FloatBox {
    pub(crate) row: usize,
    pub(crate) column: usize,
    pub(crate) width: usize,
    pub(crate) lines: Vec<Line>,
    /// Relative to the box.
    pub(crate) cursor: Option<(usize, usize)>,
}

impl Float {
    pub(crate) fn new(question: u64, component: u64) -> Float {
        Float { question, component, lines: Vec::new(), place: None, first_shown: None, interrupted: false }
    }

    pub(crate) fn draw(&mut self, lines: Vec<String>, place: Option<FloatPlace>, now: u64) {
        (self.lines, self.place) = (lines, place);
        self.first_shown.get_or_insert(now);
    }

    fn shown_place(&self) -> Option<FloatPlace> {
        self.place.filter(|place| !place.hidden)
    }
}

/// Whether floats are shown: nothing else covers the editor, or only a component of an extension.
fn are_shown(state: &UiState) -> bool {
    state.overlays.last().is_none_or(|overlay| overlay.allows_floats())
}

/// The boxes to draw, the one in front last.
pub(crate) fn boxes(state: &UiState) -> Vec<FloatBox> {
    if !are_shown(state) {
        return Vec::new();
    }
    let shown = state.extensions.floats.iter().filter_map(|float| Some((float.shown_place()?, float)));
    let mut shown: Vec<_> = shown.collect();
    shown.sort_by_key(|(place, _)| place.order);
    let to_box = |(place, float): (FloatPlace, &Float)| {
        let width = place.width.min(state.columns.saturating_sub(place.column));
        let rows = state.rows.saturating_sub(place.row).min(float.lines.len());
        let (lines, cursor) = parse_lines(&float.lines[..rows], width);
        FloatBox {
            row: place.row,
            column: place.column,
            width,
            lines,
            cursor: cursor.filter(|_| place.focused),
        }
    };
    shown.into_iter().map(to_box).filter(|float| float.width > 0).collect()
}

/// The float that gets the keys.
fn focused(state: &mut UiState) -> Option<&mut Float> {
    if !are_shown(state) {
        return None;
    }
    let floats = state.extensions.floats.iter_mut();
    let focused = floats.filter(|float| float.shown_place().is_some_and(|place| place.focused));
    focused.max_by_key(|float| float.place.map(|place| place.order))
}

/// Gives a key to the float that has the focus. `None` if there is none.
pub(crate) fn handle_key(state: &mut UiState, key: Key) -> Option<Vec<Action>> {
    let (now, client) = (state.now, state.client);
    let float = focused(state)?;
    if key == Key::ctrl('c') && std::mem::replace(&mut float.interrupted, true) {
        let answer = UserAnswer::No { reason: String::new() };
        let command = ClientCommand::Answer { question: float.question, answer };
        return Some(vec![Action::Send(command, CommandPurpose::Answer)]);
    }
    float.interrupted = key == Key::ctrl('c');
    // It was typed before the component was visible.
    let is_seen = float.first_shown.is_some_and(|at| now.saturating_sub(at) >= ANSWER_PAUSE_MS);
    if key.code == KeyCode::Enter && !is_seen {
        return Some(Vec::new());
    }
    let component = float.component;
    Some(vec![send_input(ExtensionInput::Key { component, data: key_sequence(key), client })])
}

/// Gives pasted text to the component that gets the keys. `None` if no component does.
pub(crate) fn paste(state: &mut UiState, text: &str) -> Option<Vec<Action>> {
    let client = state.client;
    let floating = focused(state).map(|float| float.component);
    let component = floating.or_else(|| state.overlays.last().and_then(|overlay| overlay.component()))?;
    let data = format!("\u{1b}[200~{text}\u{1b}[201~");
    Some(vec![send_input(ExtensionInput::Key { component, data, client })])
}
