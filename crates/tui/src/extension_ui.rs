//! What extensions keep on the screen: statuses, widgets, header, footer, editor, title, renderers and shortcuts. Everything goes away when another
//! session is opened.

use std::collections::{BTreeMap, BTreeSet};

use osier_protocol::{ClientCommand, ExtensionInput, WidgetPlacement};

use crate::extension_editor::{ExtensionEditor, KeyListeners};
use crate::floats::Float;
use crate::key::{Key, KeyCode};
use crate::msg::{Action, CommandPurpose};
use crate::rendered::RenderedEntries;
use crate::text::{Line, parse_lines, parse_styled};
use crate::theme::ColorRole;

/// The most lines of a widget, a header or a footer.
const MAX_LINES: usize = 10;

/// See the module documentation. It has many fields because extensions can change every part of the screen, each on its own.
#[derive(Debug, Default)]
pub(crate) struct ExtensionUi {
    pub(crate) statuses: BTreeMap<String, String>,
    pub(crate) widgets: Vec<Widget>,
    pub(crate) header: Option<Vec<String>>,
    pub(crate) footer: Option<Vec<String>>,
    pub(crate) title: Option<String>,
    pub(crate) shortcuts: Vec<Key>,
    pub(crate) rendered: RenderedEntries,
    pub(crate) floats: Vec<Float>,
    /// The editor of an extension, in place of the prompt editor.
    pub(crate) editor: Option<ExtensionEditor>,
    pub(crate) key_listeners: KeyListeners,
    /// An extension wrote something into the draft.
    pub(crate) wrote_draft: bool,
    /// The extensions that complete text in the editor.
    pub(crate) completers: BTreeSet<String>,
    /// The number of the last request for completions.
    pub(crate) completion_request: u64,
    pub(crate) working: WorkingLook,
    pub(crate) thinking_label: Option<String>,
    /// The screen that extensions know; `None` until they need it.
    sent_screen: Option<ExtensionInput>,
    wants_lines: bool,
}

/// How running work is shown. Without values, as usual.
#[derive(Debug, Default)]
pub(crate) struct WorkingLook {
    pub(crate) message: Option<String>,
    pub(crate) frames: Option<Vec<String>>,
    pub(crate) interval: Option<u64>,
    pub(crate) hidden: bool,
}

/// Lines beside the editor.
#[derive(Debug)]
pub(crate) struct Widget {
    pub(crate) key: String,
    pub(crate) placement: WidgetPlacement,
    pub(crate) lines: Vec<String>,
}

impl ExtensionUi {
    /// Widgets keep the order in which they were first shown.
    pub(crate) fn set_widget(&mut self, key: String, placement: WidgetPlacement, lines: Option<Vec<String>>) {
        let known = self.widgets.iter_mut().find(|widget| widget.key == key);
        match (known, lines) {
            (Some(widget), Some(lines)) => (widget.placement, widget.lines) = (placement, lines),
            (None, Some(lines)) => self.widgets.push(Widget { key, placement, lines }),
            (_, None) => self.widgets.retain(|widget| widget.key != key),
        }
    }

    /// At most this number of lines.
    pub(crate) fn widget_lines(&self, placement: WidgetPlacement, columns: usize, most: usize) -> Vec<Line> {
        let mut lines = Vec::new();
        for widget in self.widgets.iter().filter(|widget| widget.placement == placement) {
            lines.extend(shown_lines(&widget.lines, columns, most.saturating_sub(lines.len())));
        }
        lines
    }

    pub(crate) fn header_lines(&self, columns: usize) -> Vec<Line> {
        self.header.as_deref().map(|lines| shown_lines(lines, columns, MAX_LINES)).unwrap_or_default()
    }

    /// The lines that replace the status line, at most this number.
    pub(crate) fn footer_lines(&self, columns: usize, most: usize) -> Option<Vec<Line>> {
        self.footer.as_deref().map(|lines| shown_lines(lines, columns, most))
    }

    /// The statuses in one line, in the order of their keys.
    pub(crate) fn status_line(&self, columns: usize) -> Option<Line> {
        let mut line = Line::new();
        for text in self.statuses.values() {
            if !line.is_empty() {
                line.push(ColorRole::Border, " │ ");
            }
            line.spans.extend(parse_styled(text).0.spans);
        }
        (!line.is_empty()).then(|| line.truncate(columns))
    }

    /// Tells extensions about the screen, if they do not know it. `screen` is the current one.
    pub(crate) fn send_screen(&mut self, screen: ExtensionInput) -> Vec<Action> {
        if self.sent_screen.as_ref() == Some(&screen) {
            return Vec::new();
        }
        (self.sent_screen, self.wants_lines) = (Some(screen.clone()), false);
        vec![send_input(screen)]
    }

    /// Whether extensions want to know when the screen changes.
    pub(crate) fn follows_screen(&self) -> bool {
        self.sent_screen.is_some() || self.wants_lines
    }

    /// Describes the screen again, because a component was opened. Its lines may have been sent before this terminal knew it.
    pub(crate) fn ask_for_lines(&mut self) {
        (self.sent_screen, self.wants_lines) = (None, true);
    }

    /// Runs the shortcut of a key, if an extension has it.
    pub(crate) fn shortcut(&self, key: Key) -> Option<Action> {
        let known = self.shortcuts.contains(&key);
        known.then(|| send_input(ExtensionInput::Shortcut { key: key.to_string() }))
    }
}

/// Keys that type text are for the editor, and the others of this list must always work: they stop, quit and suspend, send a
/// prompt, and change what is shown.
pub(crate) fn can_be_shortcut(key: Key) -> bool {
    let is_reserved = RESERVED.iter().any(|name| Key::parse(name) == Some(key));
    key.typed_char().is_none() && !is_reserved
}

const RESERVED: [&str; 13] = [
    "escape",
    "ctrl+c",
    "ctrl+d",
    "ctrl+z",
    "enter",
    "alt+enter",
    "shift+enter",
    "shift+tab",
    "ctrl+l",
    "ctrl+o",
    "ctrl+g",
    "ctrl+k",
    "backspace",
];

/// Whether a key that can be a shortcut does something else without extensions.
pub(crate) fn is_own_key(key: Key) -> bool {
    match (key.code, key.ctrl, key.alt) {
        (KeyCode::Char(c), true, false) => "abefhjnpruvwy_-".contains(c) && !key.shift,
        (KeyCode::Char(c), false, true) => "abdfrtu_-".contains(c) && !key.shift,
        (KeyCode::Up, false, alt) => alt || !key.shift,
        (KeyCode::Down | KeyCode::Tab, false, false) => !key.shift,
        (KeyCode::Left | KeyCode::Right | KeyCode::Home | KeyCode::End | KeyCode::Delete, ..) => true,
        _ => false,
    }
}

pub(crate) fn send_input(input: ExtensionInput) -> Action {
    Action::Send(ClientCommand::ExtensionInput(input), CommandPurpose::ExtensionInput)
}

/// The first lines; if some do not fit, how many.
fn shown_lines(lines: &[String], columns: usize, most: usize) -> Vec<Line> {
    let most = most.min(MAX_LINES);
    if lines.len() <= most || most == 0 {
        return parse_lines(&lines[..lines.len().min(most)], columns).0;
    }
    let (shown, more) = lines.split_at(most - 1);
    let mut shown = parse_lines(shown, columns).0;
    let plural = if more.len() == 1 { "" } else { "s" };
    let mark = format!("… {} more line{plural}", more.len());
    shown.push(Line::styled(ColorRole::Dim, &mark).truncate(columns));
    shown
}
