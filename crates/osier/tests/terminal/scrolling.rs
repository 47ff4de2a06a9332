//! What stays on the screen, and what goes to the scrollback.

use crate::run_support::ModelServer;
use crate::screen::{ESCAPE, READY, Screen, open, with_script};
use crate::support::TestEnv;

const CTRL_L: &str = "\x0c";
const CTRL_O: &str = "\x0f";

/// Runs commands until the first lines have scrolled off.
fn fill(env: &TestEnv) -> Screen {
    let mut screen = open(env, &[]);
    screen.wait_for(READY);
    for number in 0..4 {
        screen.submit(&format!("!seq 1 3; echo command {number}"));
        let output = format!("  command {number}\n  exit 0");
        screen.wait_until(&output, |text| without_trailing_spaces(text).contains(&output));
    }
    // The command is stored a moment before the interface is idle.
    screen.wait_gone("esc to stop");
    screen
}

fn without_trailing_spaces(text: &str) -> String {
    text.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

/// The screen without the status line, which may still change.
fn above_status(text: &str) -> Option<String> {
    text.rsplit_once('\n').map(|(above, _)| above.to_owned())
}

#[test]
fn closing_the_help_restores_the_screen() {
    let env = TestEnv::new();
    let mut screen = fill(&env);
    let (shown, scrollback) = (above_status(&screen.text()), screen.scrollback());
    assert!(!scrollback.is_empty());
    screen.submit("/help");
    screen.wait_for("esc close");
    screen.press(ESCAPE);
    screen.wait_gone("esc close");
    screen.wait_until("the previous screen", |text| above_status(text) == shown);
    assert_eq!(screen.scrollback(), scrollback);
    screen.quit();
}

#[test]
fn redrawing_and_folding_do_not_change_the_scrollback() {
    let env = TestEnv::new();
    let mut screen = fill(&env);
    let (shown, scrollback) = (above_status(&screen.text()), screen.scrollback());
    for key in [CTRL_L, CTRL_O, CTRL_O, CTRL_L] {
        screen.press(key);
        screen.press("x");
        screen.wait_for("> x");
        screen.press("\x7f");
        screen.wait_until("the previous screen", |text| above_status(text) == shown);
    }
    assert_eq!(screen.scrollback(), scrollback);
    screen.quit();
}

#[test]
fn a_move_prints_only_new_entries() {
    let server = ModelServer::new();
    let script: Vec<String> =
        (0..12).map(|number| format!("say question {number}; reply answer {number}")).collect();
    let (_world, mut screen) = with_script(&server, &script.join("; "));
    screen.wait_for("answer 11");
    let scrollback = screen.scrollback();
    for _ in 0..3 {
        screen.submit("/tree");
        screen.wait_for("← active");
        screen.press("\x1b[A\r");
        screen.wait_for("Summarize the branch you are leaving?");
        screen.press("1");
        screen.wait_for("Moved from");
        screen.press("\x03");
        screen.press("\x1bu");
        screen.wait_for("Undone: moved");
        screen.wait_for("answer 11");
    }
    // The notice about the move takes two rows; nothing else may scroll off.
    let after = screen.scrollback();
    assert!(after.starts_with(&scrollback) && after.len() <= scrollback.len() + 2, "{after:?}");
    assert_eq!(after.iter().filter(|line| line.contains("answer 6")).count(), 1);
    screen.quit();
}

/// Regression test: printed lines were counted at the old width, so the last paragraph was lost.
#[test]
fn a_resize_while_an_answer_streams_neither_loses_nor_repeats_a_word() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = Screen::start(crate::run_support::osier_command(&env, &[]), 60, 40);
    screen.wait_for(READY);
    screen.submit("tell me");
    let mut request = server.next_request();
    let paragraph = |letter: char| -> String {
        (0..30).map(|number| format!("{letter}{number} ")).collect::<String>().trim_end().to_owned() + "\n\n"
    };
    request.send_text(&paragraph('a'));
    request.send_text(&paragraph('b'));
    request.send_text("| name | what it is |\n|---|---|\n| c0 | c1 |\n");
    screen.wait_for("b29");
    screen.resize(120, 40);
    screen.wait_until("longer lines", |text| {
        text.lines().any(|line| line.contains("a0 ") && line.contains("a25"))
    });
    request.send_text("| c2 | c3 |\n\n");
    request.send_text(&paragraph('d'));
    screen.wait_for("d29");
    screen.resize(80, 40);
    request.send_text(paragraph('e').trim_end());
    request.finish("stop");
    screen.wait_for("e29");
    screen.wait_until("the end of the turn", |text| !text.contains("esc to stop"));
    let text = screen.text();
    for (letter, count) in [('a', 30), ('b', 30), ('c', 4), ('d', 30), ('e', 30)] {
        for number in 0..count {
            let word = format!("{letter}{number}");
            let found = text.split_whitespace().filter(|found| **found == word).count();
            assert_eq!(found, 1, "{word} in\n{text}");
        }
    }
    screen.quit();
}
