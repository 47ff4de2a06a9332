//! However the program exits, it restores the terminal and leaves a valid session.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use serde_json::json;

use crate::run_support::{ModelServer, osier_command};
use crate::screen::{READY, Screen, open};
use crate::support::TestEnv;

fn assert_undamaged(env: &TestEnv) {
    let file = env.session_file();
    assert!(env.ok(&format!("verify {}", file.display())).ends_with("no damage found\n"));
}

#[test]
fn exit_signals_stop_the_turn_first() {
    for (signal, code) in [(Signal::TERM, 143), (Signal::HUP, 129)] {
        let server = ModelServer::new();
        let env = server.env();
        let mut screen = open(&env, &["tell a story"]);
        let mut request = server.next_request();
        request.send_text("Once upon");
        screen.wait_for("Once upon");
        screen.signal(signal);
        request.wait_for_disconnect();
        assert_eq!(screen.wait_for_exit().0, Some(code));
        assert_undamaged(&env);
        let path = env.ok(&format!("path {}", env.session_file().display()));
        assert!(path.contains("Once upon"), "{path}");
    }
}

#[test]
fn a_running_tool_is_killed_when_the_program_exits() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &["--approval", "yolo", "wait"]);
    server.next_request().reply_with_call("bash", &json!({ "command": "echo be''gun; exec sleep 1000" }));
    screen.wait_for("begun");
    screen.signal(Signal::TERM);
    assert_eq!(screen.wait_for_exit().0, Some(143));
    assert_undamaged(&env);
    let path = env.ok(&format!("path {}", env.session_file().display()));
    assert!(path.contains("[bash: echo"), "the call has its result: {path}");
}

#[test]
fn a_session_killed_during_a_turn_can_be_continued() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &["--approval", "yolo", "look around"]);
    server.next_request().reply_with_call("bash", &json!({ "command": "echo be''gun; exec sleep 1000" }));
    screen.wait_for("begun");
    screen.signal(Signal::KILL);
    assert_eq!(screen.wait_for_exit().0, None);
    assert_undamaged(&env);

    let mut screen = open(&env, &["--continue"]);
    screen.wait_for("> look around");
    screen.wait_for("interrupted");
    screen.wait_for("The last turn did not finish; /retry continues it");
    screen.submit("go on");
    let request = server.next_request();
    let messages = request.messages();
    assert_eq!(messages.last().unwrap(), "user: go on", "{messages:?}");
    request.reply("I go on.");
    screen.wait_for("I go on.");
    screen.quit();
    assert_undamaged(&env);
}

#[test]
fn a_dumb_terminal_is_refused_with_an_alternative() {
    let env = TestEnv::new();
    let mut command = env.command();
    command.env("TERM", "dumb");
    let (code, text) = Screen::start(command, 80, 24).wait_for_exit();
    assert_eq!(code, Some(2));
    assert!(text.contains("TERM=dumb") && text.contains("osier -p"), "{text}");
    assert!(env.session_files().is_empty());
}

#[test]
fn the_api_key_is_never_on_the_screen() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &["--", "hello"]);
    server.next_request().refuse(401, &format!("{{\"error\":\"bad key {}\"}}", crate::run_support::KEY));
    screen.wait_for("bad key [key]");
    screen.submit("/settings");
    screen.wait_for("backtracking");
    screen.signal(Signal::TERM);
    let bytes = String::from_utf8_lossy(&screen.bytes).into_owned();
    assert!(!bytes.contains(crate::run_support::KEY), "{bytes}");
    assert_eq!(screen.wait_for_exit().0, Some(143));
}

#[test]
fn the_trust_question_does_not_lose_the_first_prompt() {
    let env = TestEnv::new();
    env.write(".osier/config.toml", "model = \"offline\"\n");
    let mut screen = open(&env, &["list", "files"]);
    screen.wait_for("Trust this project? [y/N]");
    screen.submit("n");
    screen.wait_for("> list files");
    screen.wait_for("#4");
    screen.quit();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.quit();
}

/// The program that owns the clipboard may never respond.
#[test]
fn a_hanging_clipboard_command_does_not_block() {
    let env = TestEnv::new();
    let begun = env.path("begun");
    // It hangs as long as its parent lives: if this test fails, the program is killed, and nobody else would end it.
    let script = "while kill -0 $PPID 2> /dev/null; do sleep 0.1; done";
    env.write("bin/wl-paste", format!("#!/bin/sh\necho > '{}'\n{script}\n", begun.display()));
    std::fs::set_permissions(env.path("bin/wl-paste"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let mut command = osier_command(&env, &[]);
    let path = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{}:{path}", env.path("bin").display()));
    let mut screen = Screen::start(command, 80, 24);
    screen.wait_for(READY);
    screen.press("\x16x");
    screen.wait_for("> x");
    screen.wait_until("the clipboard", |_| begun.exists());
    screen.press("\x03");
    screen.wait_for(READY);
    screen.quit();
}
