//! What extensions show in the terminal.

use osier_protocol::{ExtensionEvent, NotifyType, one_line};

use crate::state::UiState;
use crate::update::{show_error, show_notice};

/// The most characters of a notification.
const MAX_TEXT: usize = 400;

/// Shows what an extension asked for.
pub(super) fn show(state: &mut UiState, event: ExtensionEvent) {
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
        ExtensionEvent::SetStatus { .. }
        | ExtensionEvent::SetWidget { .. }
        | ExtensionEvent::SetTitle { .. }
        | ExtensionEvent::Log { .. } => {}
    }
}
