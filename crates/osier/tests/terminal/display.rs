//! Screen sizes, colors, wide characters, and escape sequences in untrusted text.

use serde_json::json;

use crate::run_support::{ModelServer, osier_command};
use crate::screen::{ESCAPE, READY, Screen, open};
use crate::support::TestEnv;

/// Checks that the status line is on the screen once, at the end, and that no line is too wide. Waits, because the last frame may
/// be incomplete.
#[track_caller]
fn assert_complete(screen: &mut Screen, columns: usize) {
    let is_status = |line: &str| line.contains("offline/offline");
    screen.wait_until("the status line once, at the end", |text| {
        let lines: Vec<&str> = text.trim_end().lines().collect();
        lines.iter().filter(|line| is_status(line)).count() == 1
            && lines.last().is_some_and(|line| is_status(line))
    });
    let text = screen.text();
    assert!(text.lines().all(|line| text_width(line) <= columns), "{text}");
}

fn text_width(line: &str) -> usize {
    line.chars()
        .map(|ch| if ch >= '\u{1100}' && !('\u{2000}'..'\u{2e80}').contains(&ch) { 2 } else { 1 })
        .sum()
}

#[test]
fn a_resize_redraws_the_screen() {
    let env = TestEnv::new();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    for (columns, rows) in [(40, 12), (200, 60), (100, 30)] {
        screen.resize(columns, rows);
        screen.press("x");
        screen.wait_until("the status line once", |text| text.matches("#0").count() == 1);
    }
    screen.press("\x03");
    screen.resize(40, 12);
    screen.submit("/tree");
    screen.press(ESCAPE);
    screen.press("\u{4f60}\u{597d} \u{1f600}");
    screen.wait_for("> 你好 😀");
    screen.press("\x03");
    screen.wait_for(READY);
    screen.quit();
}

#[test]
fn forty_columns_are_enough_for_a_conversation() {
    let env = TestEnv::new();
    env.write("笔记.txt", "买牛奶\n");
    let mut screen = Screen::start(osier_command(&env, &[]), 40, 12);
    screen.wait_for(READY);
    screen.submit("read 笔记.txt");
    screen.wait_for("返回 1 行");
    screen.wait_for("买牛奶");
    screen.wait_for("密钥后");
    assert_complete(&mut screen, 40);
    screen.submit("/tree");
    screen.wait_for("← active");
    screen.wait_for("笔记.txt");
    assert_complete(&mut screen, 40);
    screen.press(ESCAPE);
    screen.wait_gone("← active");
    let line = "hello".repeat(22);
    screen.submit(&format!("write new.txt with \"{line}\""));
    screen.wait_for("lines 1–3 of 4");
    screen.press("\x1b[6~");
    screen.wait_for("lines 2–4 of 4");
    screen.answer("y");
    screen.wait_for("Done: write new.txt");
    screen.wait_gone("esc to stop");
    screen.quit();
    assert_eq!(env.read("new.txt"), format!("{line}\n").as_bytes());
}

#[test]
fn colors_are_used_unless_no_color_is_set() {
    let env = TestEnv::new();
    let with = |name: &str, value: &str| {
        let mut command = osier_command(&env, &[]);
        command.env("TERM", "xterm-256color").env("COLORTERM", "truecolor").env(name, value);
        let mut screen = Screen::start(command, 80, 24);
        screen.wait_for(READY);
        let cells = (0..24).flat_map(|row| (0..80).map(move |column| (row, column)));
        let has_color = cells
            .filter_map(|(row, column)| screen.parser().cell(row, column))
            .any(|cell| cell.fgcolor() != vt100::Color::Default);
        screen.quit();
        has_color
    };
    assert!(with("A", "b"));
    assert!(!with("NO_COLOR", "1"));
}

#[test]
fn escape_sequences_in_replies_and_output_do_not_reach_the_terminal() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &["--approval", "yolo"]);
    screen.wait_for(READY);
    screen.submit("be evil");
    let mut request = server.next_request();
    request.send_text("x\u{1b}]0;owned\u{7}\u{1b}[2J\u{1b}[?1049hy\u{9b}2J");
    request.reply_with_call(
        "bash",
        &json!({ "command": "printf '\\033[2Jz\\033]52;c;eA==\\007'", "\u{1b}[2J": 1 }),
    );
    server.next_request().reply("done");
    screen.wait_for("done");
    screen.submit("!printf '\\033[2Jw\\033]0;owned\\007\\n'");
    screen.wait_for("exit 0");
    screen.submit("/tree");
    screen.wait_for("← active");
    screen.press(ESCAPE);
    screen.wait_gone("← active");
    let bytes = String::from_utf8_lossy(&screen.bytes).into_owned();
    for evil in ["\x1b]0;", "\x1b[2J", "\x1b[?1049h", "\u{9b}", "\x1b]52;"] {
        assert!(!bytes.contains(evil), "{evil:?} in {bytes:?}");
    }
    screen.quit();
}

#[test]
fn the_title_of_the_window_is_the_name_of_the_session() {
    let env = TestEnv::new();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.wait_for_bytes("\x1b]2;");
    screen.submit("/name x");
    screen.wait_for_bytes("\x1b]2;x · osier\x1b\\");
    screen.quit();
}

#[test]
fn a_turn_that_ends_in_the_background_rings_the_bell_and_notifies() {
    const FOCUS_LOST: &str = "\x1b[O";
    const FOCUS_GAINED: &str = "\x1b[I";
    let server = ModelServer::new();
    let env = server.env();
    let config = std::fs::read_to_string(env.home().join("config.toml")).unwrap_or_default();
    std::fs::write(env.home().join("config.toml"), format!("notify = 'desktop'\n{config}")).unwrap();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    assert!(screen.has_printed("\x1b[?1004h"), "the terminal reports its focus");
    screen.submit("one");
    server.next_request().reply("first");
    screen.wait_for("first");
    screen.wait_gone("esc to stop");
    assert!(!screen.has_printed("\x1b]9;"), "the window has the focus");
    screen.press(FOCUS_LOST);
    screen.submit("two");
    server.next_request().reply("second");
    screen.wait_for_bytes("\x07\x1b]9;Osier: the turn has ended (");
    screen.wait_for("second");
    screen.press(FOCUS_GAINED);
    screen.quit();
}
