//! What extensions keep on the screen: statuses, widgets, header, footer, title and shortcuts. Everything goes away when another
//! session is opened.

use std::collections::BTreeMap;

use osier_protocol::{ClientCommand, ExtensionInput, WidgetPlacement};

use crate::key::Key;
use crate::msg::{Action, CommandPurpose};
use crate::text::{Line, parse_lines, parse_styled};
use crate::theme::ColorRole;

/// The most lines of a widget, a header or a footer.
const MAX_LINES: usize = 10;

/// See the module documentation.
#[derive(Debug, Default)]
pub(crate) struct ExtensionUi {
    pub(crate) statuses: BTreeMap<String, String>,
    pub(crate) widgets: Vec<Widget>,
    pub(crate) header: Option<Vec<String>>,
    pub(crate) footer: Option<Vec<String>>,
    pub(crate) title: Option<String>,
    pub(crate) shortcuts: Vec<Key>,
    /// The size that extensions know; `None` until they need it.
    sent_size: Option<(usize, usize)>,
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

    pub(crate) fn widget_lines(&self, placement: WidgetPlacement, columns: usize) -> Vec<Line> {
        let here = self.widgets.iter().filter(|widget| widget.placement == placement);
        here.flat_map(|widget| shown_lines(&widget.lines, columns)).collect()
    }

    pub(crate) fn header_lines(&self, columns: usize) -> Vec<Line> {
        self.header.as_deref().map(|lines| shown_lines(lines, columns)).unwrap_or_default()
    }

    /// The lines that replace the status line.
    pub(crate) fn footer_lines(&self, columns: usize) -> Option<Vec<Line>> {
        self.footer.as_deref().map(|lines| shown_lines(lines, columns))
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

    /// Tells extensions the size of the screen, if they do not know it.
    pub(crate) fn send_size(&mut self, columns: usize, rows: usize) -> Vec<Action> {
        if self.sent_size == Some((columns, rows)) {
            return Vec::new();
        }
        self.sent_size = Some((columns, rows));
        vec![send_input(ExtensionInput::Size { columns, rows })]
    }

    /// Like [`ExtensionUi::send_size`], if extensions draw something.
    pub(crate) fn resize(&mut self, columns: usize, rows: usize) -> Vec<Action> {
        if self.sent_size.is_some() { self.send_size(columns, rows) } else { Vec::new() }
    }

    /// Runs the shortcut of a key, if an extension has it.
    pub(crate) fn shortcut(&self, key: Key) -> Option<Action> {
        let known = self.shortcuts.contains(&key);
        known.then(|| send_input(ExtensionInput::Shortcut { key: key.to_string() }))
    }
}

/// Keys without ctrl or alt are for the editor, and these must always work.
pub(crate) fn can_be_shortcut(key: Key) -> bool {
    let is_reserved = ['c', 'd', 'z'].into_iter().any(|char| key == Key::ctrl(char));
    (key.ctrl || key.alt) && !is_reserved
}

pub(crate) fn send_input(input: ExtensionInput) -> Action {
    Action::Send(ClientCommand::ExtensionInput(input), CommandPurpose::ExtensionInput)
}

fn shown_lines(lines: &[String], columns: usize) -> Vec<Line> {
    parse_lines(&lines[..lines.len().min(MAX_LINES)], columns).0
}
