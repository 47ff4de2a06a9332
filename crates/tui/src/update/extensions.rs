//! What extensions show in the terminal.

use osier_protocol::{ExtensionEvent, NotifyType, one_line};

use crate::extension_ui::can_be_shortcut;
use crate::key::Key;
use crate::msg::Action;
use crate::overlay::OverlayEvent;
use crate::state::UiState;
use crate::update::{notify_overlays, show_error, show_notice};

/// The most characters of a notification.
const MAX_TEXT: usize = 400;

/// Shows what an extension asked for. Who draws must know the size of the screen.
pub(super) fn show(state: &mut UiState, event: ExtensionEvent) -> Vec<Action> {
    let draws = matches!(
        event,
        ExtensionEvent::Component { .. }
            | ExtensionEvent::SetWidget { .. }
            | ExtensionEvent::SetFooter { .. }
            | ExtensionEvent::SetHeader { .. }
    );
    let mut actions = if draws { state.extensions.send_size(state.columns, state.rows) } else { Vec::new() };
    match event {
        ExtensionEvent::Notify { message, notify_type: NotifyType::Error } => {
            show_error(state, &one_line(&message, MAX_TEXT));
        }
        ExtensionEvent::Notify { message, .. } => show_notice(state, &one_line(&message, MAX_TEXT)),
        ExtensionEvent::Failed { extension_path, event, error, stack } => {
            let place = stack.first().map(|place| format!(" at {place}")).unwrap_or_default();
            let text = format!("{extension_path} failed in {event}: {error}{place}");
            show_error(state, &one_line(&text, MAX_TEXT));
        }
        ExtensionEvent::SetEditorText { text } => state.editor.set(&text),
        ExtensionEvent::SetStatus { status_key, status_text: Some(text) } => {
            state.extensions.statuses.insert(status_key, text);
        }
        ExtensionEvent::SetStatus { status_key, status_text: None } => {
            state.extensions.statuses.remove(&status_key);
        }
        ExtensionEvent::SetWidget { widget_key, widget_lines, widget_placement } => {
            let placement = widget_placement.unwrap_or_default();
            state.extensions.set_widget(widget_key, placement, widget_lines);
        }
        ExtensionEvent::SetFooter { lines } => state.extensions.footer = lines,
        ExtensionEvent::SetHeader { lines } => state.extensions.header = lines,
        ExtensionEvent::SetTitle { title } => state.extensions.title = Some(title),
        ExtensionEvent::SetShortcut { key, .. } => add_shortcut(state, &key),
        ExtensionEvent::Component { component, lines } => {
            actions.extend(notify_overlays(state, &OverlayEvent::Component(component, &lines)));
        }
        ExtensionEvent::Log { .. } => {}
    }
    actions
}

fn add_shortcut(state: &mut UiState, name: &str) {
    match Key::parse(name) {
        Some(key) if can_be_shortcut(key) => state.extensions.shortcuts.push(key),
        _ => show_error(state, &one_line(&format!("an extension cannot use the shortcut {name}"), MAX_TEXT)),
    }
}
