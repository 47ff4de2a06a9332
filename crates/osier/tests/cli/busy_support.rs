//! A session in which a turn runs in another process, for tests of what others may do there.

use std::fs;

use serde_json::{Value, json};

use crate::run_support::{Running, Server, osier};
use crate::support::World;

/// Waits in a command until the test lets it go on.
const WAIT: &str = "mkfifo go; echo be''gun; cat go";

/// A session in which a turn runs, and what can be named in it.
pub(crate) struct Busy {
    pub(crate) world: World,
    pub(crate) server: Server,
    pub(crate) id: String,
    /// The answer below which the turn began.
    pub(crate) entry: String,
    /// The question that the turn answers.
    pub(crate) question: String,
    /// The first entry of a branch beside it.
    pub(crate) beside: String,
    running: Running,
}

impl Busy {
    pub(crate) fn new(server: Server, world: World, options: &[&str]) -> Busy {
        run_with_reply(&server, &world, &[options, &["-p", "hello"]].concat(), "Hi.");
        let id = world.json("list")[0]["id"].as_str().unwrap().to_owned();
        let entry = last_entry_id(&world, &id, "assistant");
        run_with_reply(&server, &world, &["-c", "-p", "beside"], "Aside.");
        let beside = last_entry_id(&world, &id, "user");
        world.ok(&format!("move {id} {entry}"));
        let args = ["-c", "--mode", "json", "--approval", "yolo", "work"];
        let mut running = Running::start(osier(&world, &args));
        server.next().calls("bash", &json!({ "command": WAIT }));
        running.out.until("begun");
        let question = last_entry_id(&world, &id, "user");
        Busy { world, server, id, entry, question, beside, running }
    }

    /// What a command of another process complains about.
    pub(crate) fn fails(&self, line: &str) -> String {
        let told = self.world.fails(1, line);
        assert!(told.contains("the session is busy: process "), "{line}: {told}");
        assert!(told.contains(&format!(" is running a turn at {}", self.entry)), "{line}: {told}");
        told
    }

    /// Lets the command end, and gives what the model is asked then.
    pub(crate) fn go_on(&self) -> crate::run_support::Asked {
        fs::write(self.world.path("go"), "gone on\n").unwrap();
        self.server.next()
    }

    pub(crate) fn end(self) -> World {
        let ran = self.running.end();
        assert_eq!(ran.code, 0, "{}", ran.err);
        self.world
    }
}

fn run_with_reply(server: &Server, world: &World, args: &[&str], answer: &str) {
    let running = Running::start(osier(world, args));
    server.next().answer(answer);
    let ran = running.end();
    assert_eq!(ran.code, 0, "{}", ran.err);
}

/// The last message of a role on the path.
fn last_entry_id(world: &World, id: &str, role: &str) -> String {
    let path = world.json(&format!("path {id}"));
    let is_it = |entry: &&Value| entry["message"]["role"] == role;
    path.as_array().unwrap().iter().rev().find(is_it).unwrap()["id"].as_str().unwrap().to_owned()
}
