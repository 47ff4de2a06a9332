//! A session in which another process runs a turn, for tests of what other processes may do there.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::run_support::{ModelServer, RunningCommand, osier_command};
use crate::support::TestEnv;

/// A command that waits until the test releases it.
const WAIT: &str = "mkfifo go; echo be''gun; cat go";

/// A session in which a turn runs, with the ids of some entries.
pub(crate) struct BusySession {
    pub(crate) env: TestEnv,
    pub(crate) server: ModelServer,
    pub(crate) id: String,
    /// The reply below which the turn started.
    pub(crate) entry: String,
    /// The user message of the turn.
    pub(crate) question: String,
    /// The first entry of another branch.
    pub(crate) beside: String,
    running: RunningCommand,
}

impl BusySession {
    pub(crate) fn new(server: ModelServer, env: TestEnv, options: &[&str]) -> BusySession {
        run_with_reply(&server, &env, &[options, &["-p", "hello"]].concat(), "Hi.");
        let id = env.json("list")[0]["id"].as_str().unwrap().to_owned();
        let entry = last_entry_id(&env, &id, "assistant");
        run_with_reply(&server, &env, &["-c", "-p", "beside"], "Aside.");
        let beside = last_entry_id(&env, &id, "user");
        env.ok(&format!("move {id} {entry}"));
        let args = ["-c", "--mode", "json", "--approval", "yolo", "work"];
        let mut running = RunningCommand::start(osier_command(&env, &args));
        server.next_request().reply_with_call("bash", &json!({ "command": WAIT }));
        running.out.read_until("begun");
        let question = last_entry_id(&env, &id, "user");
        BusySession { env, server, id, entry, question, beside, running }
    }

    /// The error of a command in another process.
    pub(crate) fn fails(&self, line: &str) -> String {
        let error = self.env.fails(1, line);
        assert!(error.contains("the session is busy: process "), "{line}: {error}");
        assert!(error.contains(&format!(" is running a turn at {}", self.entry)), "{line}: {error}");
        error
    }

    /// Releases the command and returns the next request to the model.
    pub(crate) fn release(&self) -> crate::run_support::ModelRequest {
        fs::write(self.env.path("go"), "gone on\n").unwrap();
        self.server.next_request()
    }

    /// Kills the process that runs the turn.
    #[allow(dead_code, reason = "only the team tests kill it")]
    pub(crate) fn kill(self) -> (ModelServer, TestEnv, String) {
        self.running.signal(Signal::KILL);
        self.running.wait();
        (self.server, self.env, self.id)
    }

    pub(crate) fn end(self) -> TestEnv {
        let output = self.running.wait();
        assert_eq!(output.code, 0, "{}", output.err);
        self.env
    }
}

fn run_with_reply(server: &ModelServer, env: &TestEnv, args: &[&str], answer: &str) {
    let running = RunningCommand::start(osier_command(env, args));
    server.next_request().reply(answer);
    let output = running.wait();
    assert_eq!(output.code, 0, "{}", output.err);
}

/// The last message of a role on the path.
fn last_entry_id(env: &TestEnv, id: &str, role: &str) -> String {
    let path = env.json(&format!("path {id}"));
    let is_it = |entry: &&Value| entry["message"]["role"] == role;
    path.as_array().unwrap().iter().rev().find(is_it).unwrap()["id"].as_str().unwrap().to_owned()
}
