//! What extensions show in the terminal.

use osier_protocol::{ExtensionEvent, NotifyType, one_line, sanitize};

use crate::extension_editor;
use crate::extension_ui::{WorkingLook, can_be_shortcut, is_own_key};
use crate::key::Key;
use crate::msg::Action;
use crate::overlay::OverlayEvent;
use crate::piece::Piece;
use crate::state::UiState;
use crate::text::Line;
use crate::theme::ColorRole;
use crate::update::{notify_overlays, show_error, show_notice};

/// The most characters of a notification.
const MAX_TEXT: usize = 400;

/// The most characters of the reason why an extension was not loaded.
const MAX_LOAD_FAILURE: usize = 2000;

/// Shows what an extension asked for. Those that draw must know the screen.
pub(super) fn show(state: &mut UiState, event: ExtensionEvent) -> Vec<Action> {
    let draws = event.slot().is_some() || matches!(event, ExtensionEvent::Component { .. });
    let mut actions = match draws {
        true => state.extensions.send_screen(state.screen_input()),
        false => Vec::new(),
    };
    match event {
        ExtensionEvent::Notify { message, notify_type: NotifyType::Error } => {
            show_error(state, &one_line(&message, MAX_TEXT));
        }
        ExtensionEvent::Notify { message, .. } => show_notice(state, &one_line(&message, MAX_TEXT)),
        ExtensionEvent::Failed { extension_path, event, error, stack } if event == "load" => {
            let place = stack.first().map(|place| format!(" at {place}")).unwrap_or_default();
            actions.push(print_load_failure(&extension_path, &format!("{error}{place}")));
        }
        ExtensionEvent::Failed { extension_path, event, error, stack } => {
            let place = stack.first().map(|place| format!(" at {place}")).unwrap_or_default();
            let text = format!("{extension_path} failed in {event}: {error}{place}");
            show_error(state, &one_line(&text, MAX_TEXT));
        }
        ExtensionEvent::SetEditorText { text } => {
            state.extensions.wrote_draft = true;
            state.editor.set(&sanitize(&text));
        }
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
        ExtensionEvent::SetTitle { title } => {
            state.extensions.title = Some(title).filter(|title| !title.is_empty());
        }
        ExtensionEvent::SetShortcut { key, removed, .. } => set_shortcut(state, &key, removed),
        ExtensionEvent::Component { component, lines, place } => {
            let floats = &mut state.extensions.floats;
            match floats.iter_mut().find(|float| float.component == component) {
                Some(float) => float.draw(lines, place, state.now),
                None => {
                    actions.extend(notify_overlays(state, &OverlayEvent::Component(component, &lines)));
                }
            }
        }
        ExtensionEvent::SetWorking { message, frames, interval, hidden } => {
            state.extensions.working = WorkingLook { message, frames, interval, hidden };
        }
        ExtensionEvent::SetHiddenThinkingLabel { label } => state.extensions.thinking_label = label,
        ExtensionEvent::SetToolsExpanded { expanded } => state.expanded = expanded,
        ExtensionEvent::CommandsChanged => actions.push(Action::ReadCommands),
        ExtensionEvent::SetTheme { name } => actions.push(Action::UseTheme(name)),
        ExtensionEvent::SetRenderer { target, name, own_shell, removed } => {
            let rendered = &mut state.extensions.rendered;
            match removed {
                true => rendered.remove_renderer(target, name),
                false => rendered.set_renderer(target, name, own_shell),
            }
        }
        ExtensionEvent::Rendered { id, columns, expanded, lines } => {
            state.extensions.rendered.receive(&id, columns, expanded, lines);
        }
        ExtensionEvent::Log { .. } => {}
        event => actions.extend(extension_editor::show(state, event)),
    }
    actions
}

/// Prints why an extension was not loaded. It stays, because several may fail, and the reason is long.
fn print_load_failure(path: &str, error: &str) -> Action {
    let reason = error.strip_prefix("Failed to load extension: ").unwrap_or(error);
    // The reason may begin or end with the path.
    let text = match (reason.strip_prefix(path), reason.strip_suffix(&format!(": {path}"))) {
        (Some(rest), _) => format!("✗ cannot load the extension {path}{rest}"),
        (None, rest) => format!("✗ cannot load the extension {path}: {}", rest.unwrap_or(reason)),
    };
    let line = Line::styled(ColorRole::Bad, &one_line(&text, MAX_LOAD_FAILURE));
    Action::Print(vec![Piece::spaced_notice(vec![line])])
}

fn set_shortcut(state: &mut UiState, name: &str, removed: bool) {
    match Key::parse(&name.to_lowercase().replace("pageup", "pageUp").replace("pagedown", "pageDown")) {
        Some(key) if removed => state.extensions.shortcuts.retain(|known| *known != key),
        Some(key) if can_be_shortcut(key) => {
            if is_own_key(key) {
                let text = format!("a shortcut of an extension takes the place of the key {key}");
                show_notice(state, &one_line(&text, MAX_TEXT));
            }
            state.extensions.shortcuts.push(key);
        }
        _ => show_error(state, &one_line(&format!("an extension cannot use the shortcut {name}"), MAX_TEXT)),
    }
}
