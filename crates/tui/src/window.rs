//! The window of the terminal: its title, and notifications while it is in the background.

use osier_protocol::{one_line, query::SessionStatus};

use crate::state::TurnNotification;
use crate::text::sanitize;

/// The longest title.
const MAX_TITLE_CHARS: usize = 80;

/// The escape sequence that rings the bell, and shows a desktop notification if wanted.
pub(crate) fn notification(kind: TurnNotification, text: &str) -> String {
    match kind {
        TurnNotification::Off => String::new(),
        TurnNotification::Bell => "\x07".to_owned(),
        TurnNotification::Desktop => {
            format!("\x07\x1b]9;{}\x1b\\", one_line(&sanitize(text), MAX_TITLE_CHARS))
        }
    }
}

/// The title of the window: the session's name, or the directory.
pub(crate) fn title(status: &SessionStatus, directory: &str) -> String {
    let name = status.name.as_deref().unwrap_or(directory);
    one_line(&sanitize(&format!("{name} · osier")), MAX_TITLE_CHARS)
}

/// The escape sequence that sets the title of the window.
pub(crate) fn title_sequence(title: &str) -> String {
    format!("\x1b]2;{title}\x1b\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_contain_control_sequences() {
        let status = SessionStatus { name: Some("a\x1b]0;b\x07\nc".to_owned()), ..SessionStatus::default() };
        let title = title(&status, "~/code");
        assert!(!title.contains(['\x1b', '\x07', '\n']), "{title:?}");
        assert!(title.ends_with(" · osier"));
        let sequence = notification(TurnNotification::Desktop, "a\x1b\\b");
        assert_eq!(sequence.matches('\x1b').count(), 2, "{sequence:?}");
    }

    #[test]
    fn a_session_without_a_name_shows_its_directory() {
        assert_eq!(title(&SessionStatus::default(), "~/code"), "~/code · osier");
    }

    #[test]
    fn the_setting_chooses_the_notification() {
        assert_eq!(notification(TurnNotification::Off, "x"), "");
        assert_eq!(notification(TurnNotification::Bell, "x"), "\x07");
        assert_eq!(notification(TurnNotification::Desktop, "x"), "\x07\x1b]9;x\x1b\\");
    }
}
