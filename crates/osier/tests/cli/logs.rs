//! The log file: what is in it, and what never is.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;

use crate::run_support::{KEY, ModelServer, RunningCommand, osier_command};

const SECRET_PROMPT: &str = "the prompt stays out of the log";

#[test]
fn a_failed_model_call_is_logged_without_keys_and_messages() {
    let server = ModelServer::new();
    let env = server.env();
    let mut command = osier_command(&env, &["-p", SECRET_PROMPT]);
    command.env("OSIER_LOG", "trace");
    let running = RunningCommand::start(command);
    let echoed = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}") } });
    server.next_request().refuse(401, &echoed.to_string());
    assert_eq!(running.wait().code, 1);
    let file = env.home().join("logs/osier.log");
    let log = std::fs::read_to_string(&file).unwrap();
    assert!(log.contains("WARN") && log.contains("the model call failed"), "{log}");
    assert!(!log.contains(KEY) && !log.contains(SECRET_PROMPT), "{log}");
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let doctor = env.args(&["doctor"]).out;
    assert!(doctor.contains("logs/osier.log, "), "{doctor}");
}

#[test]
fn a_verbose_run_logs_what_happened_in_which_session_turn_request_and_tool() {
    let server = ModelServer::new();
    let env = server.env();
    let command = osier_command(&env, &["-p", "--verbose", "--approval", "yolo", SECRET_PROMPT]);
    let running = RunningCommand::start(command);
    let secret_command = "true secret argument";
    server.next_request().reply_with_call("bash", &json!({ "command": secret_command }));
    server.next_request().reply("a secret reply");
    let output = running.wait();
    assert_eq!(output.code, 0, "{output}");
    let log = std::fs::read_to_string(env.home().join("logs/osier.log")).unwrap();
    let has_line = |pieces: &[&str]| log.lines().any(|line| pieces.iter().all(|piece| line.contains(piece)));
    assert!(has_line(&["osier_session", "opened a session"]), "{log}");
    assert!(has_line(&["session{id=", "appended", "kind=\"message\""]), "{log}");
    assert!(has_line(&["turn{session=", "request", "osier_model", "sending a request"]), "{log}");
    assert!(has_line(&["turn{session=", "tool{name=bash", "osier_tools", "a command ended"]), "{log}");
    assert!(has_line(&["turn{session=", "the turn ended", "Done"]), "{log}");
    for secret in [KEY, SECRET_PROMPT, secret_command, "secret reply"] {
        assert!(!log.contains(secret), "{secret}: {log}");
        assert!(!output.err.contains("turn{session="), "the log is not printed: {output}");
    }
}

#[test]
fn a_run_without_problems_writes_no_log() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["-p", "hello"]));
    server.next_request().reply("hi");
    assert_eq!(running.wait().code, 0);
    assert!(!env.home().join("logs").exists());
}

#[test]
fn an_invalid_level_is_reported_and_does_no_harm() {
    let env = crate::support::TestEnv::new();
    let mut command = osier_command(&env, &["sessions", "list"]);
    command.env("OSIER_LOG", "osier=loud");
    let output = RunningCommand::start(command).wait();
    assert!(output.code == 0 && output.err.contains("cannot use OSIER_LOG"), "{output}");
}
