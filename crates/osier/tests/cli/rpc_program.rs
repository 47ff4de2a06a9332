//! `osier --mode rpc` and a program that drives it.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::run_support::osier_command;
use crate::support::TestEnv;

/// A test that waits longer fails.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// A program that drives `osier` through pipes.
pub(crate) struct RpcProgram {
    osier: Child,
    pub(crate) input: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: usize,
}

impl Drop for RpcProgram {
    fn drop(&mut self) {
        // A test that fails must not leave the program behind.
        let _ = self.osier.kill();
        let _ = self.osier.wait();
    }
}

impl RpcProgram {
    pub(crate) fn start(env: &TestEnv, args: &[&str]) -> RpcProgram {
        let mut command = osier_command(env, &[&["--mode", "rpc"], args].concat());
        let mut osier = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (osier.stdin.take(), BufReader::new(osier.stdout.take().unwrap()));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        RpcProgram { osier, input, lines, last_id: 0 }
    }

    pub(crate) fn read(&mut self) -> Value {
        let line = self.lines.recv_timeout(TEST_TIMEOUT).expect("a line arrives");
        serde_json::from_str(&line).unwrap()
    }

    pub(crate) fn send(&mut self, name: &str, mut fields: Value) -> String {
        self.last_id += 1;
        let id = format!("r{}", self.last_id);
        (fields["id"], fields["type"]) = (json!(id), json!(name));
        writeln!(self.input.as_ref().unwrap(), "{fields}").unwrap();
        id
    }

    /// Sends a command and returns its response.
    pub(crate) fn call(&mut self, name: &str, fields: Value) -> Value {
        let id = self.send(name, fields);
        loop {
            let line = self.read();
            if line["type"] == "response" && line["id"] == id.as_str() {
                return line;
            }
        }
    }

    /// The data of a successful response.
    pub(crate) fn data(&mut self, name: &str, fields: Value) -> Value {
        let response = self.call(name, fields);
        assert_eq!(response["success"], true, "{response}");
        response["data"].clone()
    }

    /// The events up to the first of this type.
    pub(crate) fn until(&mut self, last: &str) -> Vec<Value> {
        let mut events = vec![self.read()];
        while events.last().is_some_and(|event| event["type"] != last) {
            events.push(self.read());
        }
        events
    }

    pub(crate) fn run_prompt(&mut self, fields: Value) -> Vec<Value> {
        self.data("prompt", fields);
        self.until("agent_settled")
    }

    /// The resident memory in kilobytes, and how many files are open.
    pub(crate) fn resources(&self) -> (usize, usize) {
        let process = std::path::PathBuf::from(format!("/proc/{}", self.osier.id()));
        let status = std::fs::read_to_string(process.join("status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        (memory.unwrap().parse().unwrap(), std::fs::read_dir(process.join("fd")).unwrap().count())
    }

    /// Ends it like a power failure.
    pub(crate) fn kill(mut self) {
        self.osier.kill().unwrap();
        self.osier.wait().unwrap();
    }

    /// Closes the input. Returns the exit code.
    pub(crate) fn finish(mut self) -> i32 {
        drop(self.input.take());
        self.osier.wait().unwrap().code().unwrap()
    }
}

/// A program with the model without a network.
pub(crate) fn offline(env: &TestEnv) -> RpcProgram {
    RpcProgram::start(env, &["--model", "offline"])
}
