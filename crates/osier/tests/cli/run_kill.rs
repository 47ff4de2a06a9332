//! SIGKILL in the middle of a turn, without any cleanup: the session stays valid, and the next run continues it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde_json::json;

use crate::run_support::{ModelServer, RunningCommand, osier_command};
use crate::support::TestEnv;

fn assert_undamaged(env: &TestEnv) {
    let file = env.session_file();
    let verified = env.ok(&format!("verify {}", file.display()));
    assert!(verified.ends_with("no damage found\n"), "{verified}");
}

/// Checks that a command ends with the program that started it.
fn assert_ends(pid: i32) {
    let pid = Pid::from_raw(pid).unwrap();
    // The process has already ended.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    let hangs = Timespec { tv_sec: 60, tv_nsec: 0 };
    let ended = poll(&mut [PollFd::new(&process, PollFlags::IN)], Some(&hangs)).unwrap();
    assert_eq!(ended, 1, "the command is still running");
}

#[test]
fn kill_while_a_command_runs() {
    let server = ModelServer::new();
    let env = server.env();
    let mut running =
        RunningCommand::start(osier_command(&env, &["--mode", "json", "--approval", "yolo", "wait a while"]));
    server
        .next_request()
        .reply_with_call("bash", &json!({ "command": "echo \"pid $$ ok\"; exec sleep 1000" }));
    running.out.read_until("\"text\":\"pid ");
    let pid = running.out.read_until(" ok");
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, -1, "killed");
    assert_ends(pid.trim_end_matches(" ok").parse().unwrap());

    assert_undamaged(&env);
    let before = std::fs::read(env.session_file()).unwrap();
    let shown = env.ok(&format!("show {}", env.session_file().display()));
    assert!(shown.contains("wait a while") && shown.contains("interrupted"), "{shown}");
    assert_eq!(std::fs::read(env.session_file()).unwrap(), before, "reading changes nothing");

    let running = RunningCommand::start(osier_command(&env, &["-c", "-p", "go on"]));
    let request = server.next_request();
    let messages = request.messages();
    assert_eq!(messages[..2], ["user: wait a while", "assistant:  →bash"]);
    assert!(messages[2].starts_with("tool: ") && messages[2].contains("interrupted"), "{messages:?}");
    assert_eq!(messages[3..], ["user: go on"]);
    request.reply("Gone on.");
    assert_eq!(running.wait().out, "Gone on.\n");
    assert_undamaged(&env);
}

#[test]
fn kill_while_the_model_replies() {
    let server = ModelServer::new();
    let env = server.env();
    let mut running = RunningCommand::start(osier_command(&env, &["-p", "--no-tools", "tell a story"]));
    let mut request = server.next_request();
    request.send_text("Once upon");
    running.out.read_until("Once upon");
    running.signal(Signal::KILL);
    assert_eq!(running.wait().code, -1, "killed");
    assert_undamaged(&env);
    let running = RunningCommand::start(osier_command(&env, &["-c", "-p", "go on"]));
    let request = server.next_request();
    assert_eq!(request.messages(), ["user: tell a story", "user: go on"]);
    request.reply("a time.");
    assert_eq!(running.wait().out, "a time.\n");
    assert_undamaged(&env);
}

/// A file is written completely or not at all, and no temporary file remains.
#[test]
fn kill_while_a_tool_writes() {
    for round in 0..6 {
        let server = ModelServer::new();
        let env = server.env();
        std::fs::write(env.cwd().join("old.txt"), "old").unwrap();
        let name = if round % 2 == 0 { "old.txt" } else { "new.txt" };
        let mut running =
            RunningCommand::start(osier_command(&env, &["--mode", "json", "--approval", "yolo", "write it"]));
        let content = "0123456789abcde\n".repeat(10_000);
        server.next_request().reply_with_call("read", &json!({ "path": "old.txt" }));
        running.out.read_until("\"tool_ended\"");
        server.next_request().reply_with_call("write", &json!({ "path": name, "content": content }));
        running.out.read_until("\"tool_started\"");
        running.signal(Signal::KILL);
        assert_eq!(running.wait().code, -1, "killed");
        let read = |name: &str| std::fs::read_to_string(env.cwd().join(name)).ok();
        let is_whole = |text: Option<String>, before: Option<&str>| {
            text.as_deref() == before || text.as_deref() == Some(&content)
        };
        assert!(is_whole(read("old.txt"), Some("old")) && is_whole(read("new.txt"), None));
        let names = std::fs::read_dir(env.cwd()).unwrap().map(|entry| entry.unwrap().file_name());
        let others: Vec<_> = names.filter(|name| name != "old.txt" && name != "new.txt").collect();
        assert!(others.is_empty(), "{others:?}");
    }
}
