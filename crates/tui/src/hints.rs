//! The key hints below the editor: what the most useful keys do right now.

use crate::panel::key_hints;
use crate::state::UiState;
use crate::text::Line;

pub(crate) fn hint_line(state: &UiState, columns: usize) -> Line {
    let text = state.editor.text();
    let hints: &[(&str, &str)] = match () {
        () if state.completion.is_some() => &[("tab", "complete"), ("↑↓", "select"), ("esc", "close")],
        () if text.starts_with('!') => &[("enter", "run"), ("!!", "hide the output from the model")],
        () if !state.activity.tasks.is_empty() && text.is_empty() => {
            &[("alt+a", "open a task"), ("esc", "stop all"), ("type", "to steer the model")]
        }
        () if state.status.task_of.is_some() && state.activity.turn_running && text.is_empty() => {
            &[("alt+a", "leave the task"), ("esc", "cancel the task"), ("type", "to steer its model")]
        }
        () if state.status.task_of.is_some() && text.is_empty() => {
            &[("alt+a", "leave the task"), ("alt+t", "tree"), ("/help", "all keys")]
        }
        () if state.activity.turn_running && text.is_empty() => {
            &[("esc", "stop"), ("type", "to steer the model")]
        }
        () if state.activity.turn_running => {
            &[("enter", "send now"), ("alt+enter", "send after the turn"), ("esc", "stop")]
        }
        () if state.activity.is_active() => &[("esc", "stop")],
        () if !text.is_empty() => {
            &[("enter", "send"), ("ctrl+j", "new line"), ("ctrl+g", "open in your editor")]
        }
        () if state.status.depth == 0 => &[
            ("/", "commands"),
            ("@", "files"),
            ("!", "shell"),
            ("/tour", "two-minute tour"),
            ("ctrl+d", "quit"),
        ],
        () if state.status.tips > 1 => &[
            ("alt+t", "tree"),
            ("alt+u", "undo a move"),
            ("/", "commands"),
            ("ctrl+o", "unfold"),
            ("/help", "all keys"),
        ],
        () => &[
            ("alt+t", "tree"),
            ("/", "commands"),
            ("@", "files"),
            ("ctrl+o", "unfold"),
            ("/help", "all keys"),
        ],
    };
    key_hints(hints, columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Harness;

    #[test]
    fn the_session_of_a_task_looks_different() {
        let mut harness = Harness::new(80, 24);
        let hints = |harness: &Harness| hint_line(&harness.state, 76).plain();
        harness.state.status.task_of = Some("1a2b3c4d-0000".into());
        let status = crate::status::status_line(&harness.state).plain();
        assert!(status.starts_with("task of 1a2b3c4d │ "), "{status}");
        assert!(hints(&harness).starts_with("alt+a leave the task"), "{}", hints(&harness));
        harness.state.activity.turn_running = true;
        assert!(hints(&harness).contains("esc cancel the task"), "{}", hints(&harness));
    }

    #[test]
    fn the_hints_change_with_the_context() {
        let mut harness = Harness::new(80, 24);
        let hints = |harness: &Harness| hint_line(&harness.state, 76).plain();
        assert!(hints(&harness).starts_with("/ commands · @ files · ! shell · /tour"), "{}", hints(&harness));
        harness.press("'hi'");
        assert_eq!(hints(&harness), "enter send · ctrl+j new line · ctrl+g open in your editor");
        harness.state.activity.turn_running = true;
        assert_eq!(hints(&harness), "enter send now · alt+enter send after the turn · esc stop");
        harness.state.activity.turn_running = false;
        harness.state.editor.set("");
        harness.press("'!'");
        assert_eq!(hints(&harness), "enter run · !! hide the output from the model");
        harness.state.editor.set("");
        harness.press("'/'");
        assert_eq!(hints(&harness), "tab complete · ↑↓ select · esc close");
    }
}
