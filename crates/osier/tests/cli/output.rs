//! Colors, widths and pipes.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, Stdio};

use osier_testkit::expect;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use crate::support::TestEnv;

/// Runs a command on a pseudo-terminal and returns its exit code and output.
fn on_a_terminal(mut command: Command, columns: u16, typed: &str) -> (Option<i32>, String) {
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    tcsetwinsize(&master, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
    let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
    let terminal = File::options().read(true).write(true).open(name).unwrap();
    command.stdin(terminal.try_clone().unwrap()).stdout(terminal.try_clone().unwrap()).stderr(terminal);
    let mut child = command.spawn().unwrap();
    // The command holds copies of the terminal; drop them so that reading ends with the child.
    drop(command);
    let mut master = File::from(master);
    master.write_all(typed.as_bytes()).unwrap();
    let mut screen = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = master.read(&mut buffer) {
        screen.extend_from_slice(&buffer[..count]);
    }
    (child.wait().unwrap().code(), String::from_utf8(screen).unwrap().replace("\r\n", "\n"))
}

fn command(env: &TestEnv, line: &str) -> Command {
    let mut command = env.command();
    command.arg("sessions").args(line.split(' '));
    command
}

const TALK: &str = "say a; reply b; label good; say c; move b; say d; name Talk";

#[test]
fn output_on_a_terminal_has_colors() {
    let env = TestEnv::with(TALK);
    let (code, screen) = on_a_terminal(command(&env, "tree s.jsonl"), 80, "");
    assert_eq!(code, Some(0));
    expect![[r#"
        ^[36muser: "a"^[0m
        ^[33m[good] ^[0massistant: "b"
        ^[2m├─ ^[0m^[36muser: "c"^[0m
        ^[2m└─ ^[0m^[36muser: "d"^[0m^[32m  ← active^[0m
    "#]]
    .assert_eq(&screen.replace('\u{1b}', "^"));
}

#[test]
fn pipes_no_color_and_dumb_terminals_get_no_colors() {
    let env = TestEnv::with(TALK);
    for line in [
        "tree s.jsonl",
        "show s.jsonl",
        "path s.jsonl",
        "context s.jsonl",
        "label s.jsonl",
        "config s.jsonl",
        "verify s.jsonl",
    ] {
        let plain = env.ok(line);
        assert!(!plain.contains('\u{1b}'), "{line}");
        for (name, value) in [("NO_COLOR", "1"), ("TERM", "dumb")] {
            let mut command = command(&env, line);
            command.env(name, value);
            let (_, screen) = on_a_terminal(command, 500, "");
            assert_eq!(screen, plain, "{line} with {name}");
        }
    }
}

#[test]
fn an_empty_no_color_is_ignored() {
    let env = TestEnv::with(TALK);
    let mut command = command(&env, "tree s.jsonl");
    command.env("NO_COLOR", "");
    assert!(on_a_terminal(command, 80, "").1.contains('\u{1b}'));
}

#[test]
fn rows_fit_the_terminal() {
    let env = TestEnv::with(
        "say a question that is much too long for a narrow terminal; reply 一二三四五六七八九十一二三四五六七八九十; label a name",
    );
    let mut narrow = command(&env, "tree s.jsonl");
    narrow.env("NO_COLOR", "1");
    let (_, screen) = on_a_terminal(narrow, 40, "");
    expect![[r#"
        user: "a question that is much too long…
        [a name] assistant: "一二三四…  ← active
    "#]]
    .assert_eq(&screen);
    // A pipe has no width.
    assert!(env.ok("tree s.jsonl").contains("much too long for a narrow terminal\""));
    let mut path = command(&env, "path s.jsonl");
    path.env("COLUMNS", "40");
    let out = String::from_utf8(path.output().unwrap().stdout).unwrap();
    expect![[r#"
        00000001  user: "a question that is muc…
        00000002  assistant: "一二三四五六七八…
        00000003  [label: a name]
    "#]]
    .assert_eq(&out);
}

#[test]
fn deletion_on_a_terminal_asks_for_confirmation() {
    let env = TestEnv::with("say a");
    let (code, screen) = on_a_terminal(command(&env, "delete s.jsonl"), 80, "n\n");
    assert_eq!(code, Some(1), "{screen}");
    assert!(
        screen.contains("Permanently delete 1 session? [y/N] ") && screen.contains("nothing was deleted"),
        "{screen}"
    );
    assert!(env.path("s.jsonl").exists());
    let (code, screen) = on_a_terminal(command(&env, "delete s.jsonl"), 80, "y\n");
    assert_eq!(code, Some(0), "{screen}");
    assert!(!env.path("s.jsonl").exists());
}

/// A reader that closes the pipe early causes no error.
#[test]
fn a_closed_pipe_is_not_an_error() {
    let env = TestEnv::new();
    let mut script = String::from("say a");
    for number in 0..3000 {
        script += &format!("; reply {} {number}", "long ".repeat(20));
    }
    env.write("s.jsonl", osier_testkit::ScriptedSession::run(&script).file());
    for line in [
        "tree s.jsonl",
        "tree s.jsonl --json",
        "path s.jsonl",
        "path s.jsonl --json",
        "context s.jsonl",
        "context s.jsonl --json",
        "context s.jsonl --request --json",
        "snapshot s.jsonl",
        "show s.jsonl",
        "export s.jsonl",
        "export s.jsonl --json",
    ] {
        let mut child = command(&env, line).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut first = String::new();
        let mut out = BufReader::with_capacity(16, child.stdout.take().unwrap());
        out.by_ref().take(16).read_line(&mut first).unwrap();
        drop(out);
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(0), ""),
            "{line}"
        );
    }
    for args in [["completions", "bash"].as_slice(), &["man"]] {
        let mut child =
            env.command().args(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), String::from_utf8_lossy(&output.stderr).as_ref()),
            (Some(0), ""),
            "{args:?}"
        );
    }
}

#[test]
fn a_closed_standard_error_is_not_an_error() {
    let env = TestEnv::with("say a; reply b");
    let mut child =
        command(&env, "move s.jsonl 00000001").stderr(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    drop(child.stderr.take());
    assert!(child.wait().unwrap().success());
}

#[test]
fn json_on_a_terminal_escapes_control_and_invisible_characters() {
    let env = TestEnv::with(
        "say a\u{9b}31m\u{202e}b; reply c; say d\u{200e}\u{200f}\u{61c}\u{200b}\u{2800}\u{e0041}é🎉",
    );
    for line in
        ["path s.jsonl --json", "context s.jsonl --json", "snapshot s.jsonl", "export s.jsonl --format jsonl"]
    {
        let (code, screen) = on_a_terminal(command(&env, line), 200, "");
        assert_eq!(code, Some(0), "{line}: {screen}");
        assert!(screen.contains(r"a\u009b31m\u202eb"), "{line}: {screen}");
        assert!(screen.contains(r"d\u200e\u200f\u061c\u200b\u2800\udb40\udc41é🎉"), "{line}: {screen}");
        let hidden =
            ['\u{9b}', '\u{202e}', '\u{200e}', '\u{200f}', '\u{61c}', '\u{200b}', '\u{2800}', '\u{e0041}'];
        assert!(!screen.contains(hidden), "{line}");
        assert!(env.ok(line).contains("a\u{9b}31m\u{202e}b"), "{line}: unchanged without a terminal");
    }
}

#[test]
fn a_link_comes_with_how_long_it_works() {
    let env = TestEnv::with("say a; reply b");
    let link = env.args(&["token", "link", "--port", "8737"]);
    assert_eq!(link.out.lines().count(), 1, "{link}");
    assert!(link.err.starts_with("The link works once, for ten minutes"), "{link}");
    let shared = env.args(&["token", "create", "s.jsonl", "--expires", "2h", "--link", "--port", "8737"]);
    assert_eq!(shared.out.lines().count(), 1, "{shared}");
    assert!(shared.err.contains("can then read the session for 2h."), "{shared}");
    let token = env.args(&["token", "create", "s.jsonl", "--expires", "2h"]);
    assert_eq!((token.out.lines().count(), token.err.as_str()), (1, ""), "{token}");
}
