//! A session in which another process runs a turn, for tests of what other processes may do there.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::run_support::{ModelServer, RunningCommand, osier_command};
use crate::support::World;

/// A command that waits until the test releases it.
const WAIT: &str = "mkfifo go; echo be''gun; cat go";

/// A session in which a turn runs, with the ids of some entries.
pub(crate) struct BusySession {
    pub(crate) world: World,
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
    pub(crate) fn new(server: ModelServer, world: World, options: &[&str]) -> BusySession {
        run_with_reply(&server, &world, &[options, &["-p", "hello"]].concat(), "Hi.");
        let id = world.json("list")[0]["id"].as_str().unwrap().to_owned();
        let entry = last_entry_id(&world, &id, "assistant");
        run_with_reply(&server, &world, &["-c", "-p", "beside"], "Aside.");
        let beside = last_entry_id(&world, &id, "user");
        world.ok(&format!("move {id} {entry}"));
        let args = ["-c", "--mode", "json", "--approval", "yolo", "work"];
        let mut running = RunningCommand::start(osier_command(&world, &args));
        server.next_request().reply_with_call("bash", &json!({ "command": WAIT }));
        running.out.read_until("begun");
        let question = last_entry_id(&world, &id, "user");
        BusySession { world, server, id, entry, question, beside, running }
    }

    /// The error of a command in another process.
    pub(crate) fn fails(&self, line: &str) -> String {
        let error = self.world.fails(1, line);
        assert!(error.contains("the session is busy: process "), "{line}: {error}");
        assert!(error.contains(&format!(" is running a turn at {}", self.entry)), "{line}: {error}");
        error
    }

    /// Releases the command and returns the next request to the model.
    pub(crate) fn release(&self) -> crate::run_support::ModelRequest {
        fs::write(self.world.path("go"), "gone on\n").unwrap();
        self.server.next_request()
    }

    /// Kills the process that runs the turn.
    #[allow(dead_code, reason = "only the team tests kill it")]
    pub(crate) fn kill(self) -> (ModelServer, World, String) {
        self.running.signal(Signal::KILL);
        self.running.wait();
        (self.server, self.world, self.id)
    }

    pub(crate) fn end(self) -> World {
        let ran = self.running.wait();
        assert_eq!(ran.code, 0, "{}", ran.err);
        self.world
    }
}

fn run_with_reply(server: &ModelServer, world: &World, args: &[&str], answer: &str) {
    let running = RunningCommand::start(osier_command(world, args));
    server.next_request().reply(answer);
    let ran = running.wait();
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// The last message of a role on the path.
fn last_entry_id(world: &World, id: &str, role: &str) -> String {
    let path = world.json(&format!("path {id}"));
    let is_it = |entry: &&Value| entry["message"]["role"] == role;
    path.as_array().unwrap().iter().rev().find(is_it).unwrap()["id"].as_str().unwrap().to_owned()
}
