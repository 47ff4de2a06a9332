//! `--mode rpc --protocol osier`: the frames of Osier's own clients over pipes.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use crate::run_support::osier_command;
use crate::support::TestEnv;

/// A program that drives `osier` through pipes.
struct FrameClient {
    osier: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl FrameClient {
    fn start(env: &TestEnv) -> FrameClient {
        let mut command = osier_command(env, &["--mode", "rpc", "--protocol", "osier"]);
        let mut osier = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (osier.stdin.take(), BufReader::new(osier.stdout.take().unwrap()).lines());
        FrameClient { osier, input, output }
    }

    fn write(&mut self, frame: &Value) {
        writeln!(self.input.as_ref().unwrap(), "{frame}").unwrap();
    }

    fn read(&mut self) -> Option<Value> {
        Some(serde_json::from_str(&self.output.next()?.unwrap()).unwrap())
    }

    /// The next frame of this type.
    fn read_until(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.read().expect("the program runs");
            if frame["type"] == kind {
                return frame;
            }
        }
    }

    fn hello(env: &TestEnv) -> FrameClient {
        let mut client = FrameClient::start(env);
        client.write(&json!({ "type": "hello", "version": 1 }));
        assert_eq!(client.read().unwrap()["type"], "hello");
        client
    }
}

#[test]
fn a_program_runs_a_turn_and_reads_the_answer() {
    let env = TestEnv::new();
    let mut client = FrameClient::hello(&env);
    client.write(&json!({ "type": "open", "id": 1, "open": { "target": "new", "name": "demo" } }));
    let opened = client.read().unwrap();
    let session = opened["session"]["id"].clone();
    client.write(&json!({ "type": "attach", "id": 2, "session": 1 }));
    assert_eq!(client.read().unwrap()["state"]["turnRunning"], false);
    let prompt = json!({ "type": "prompt", "text": "list the files here" });
    client.write(&json!({ "type": "send", "id": 3, "session": 1, "command": prompt }));
    let mut revision = 0;
    loop {
        let frame = client.read().unwrap();
        if frame["type"] != "event" {
            continue;
        }
        assert_eq!((&frame["sessionId"], &frame["stream"]), (&session, &json!(2)));
        if frame["event"]["type"] == "entry" {
            revision = frame["event"]["seq"].as_u64().unwrap() + 1;
        }
        assert!(frame["revision"].as_u64().unwrap() >= revision, "{frame}");
        if frame["event"]["type"] == "turn_ended" {
            break;
        }
    }
    client.write(&json!({ "type": "query", "id": 4, "session": 1, "query": { "type": "last_reply" } }));
    assert!(client.read_until("answered")["answer"]["reply"]["text"].is_string());
    client.write(&json!({ "type": "call", "id": 5, "request": { "type": "list_sessions" } }));
    assert_eq!(client.read_until("called")["reply"]["sessions"][0]["name"], "demo");
}

#[test]
fn requests_before_the_end_of_the_input_are_answered_and_the_program_ends() {
    let env = TestEnv::new();
    let mut client = FrameClient::hello(&env);
    client.write(&json!({ "type": "call", "id": 1, "request": { "type": "describe" } }));
    drop(client.input.take());
    let described = client.read().unwrap();
    assert_eq!(described["reply"]["stores"][0], json!({ "name": "file", "kind": "file" }));
    assert_eq!(client.read(), None);
    assert!(client.osier.wait().unwrap().success());
}

#[test]
fn a_reader_that_is_gone_ends_the_program() {
    let env = TestEnv::new();
    let mut client = FrameClient::hello(&env);
    drop(client.output);
    for _ in 0..3 {
        // The pipe may be closed already.
        let _ = writeln!(client.input.as_ref().unwrap(), r#"{{"type":"ping"}}"#);
    }
    assert!(client.osier.wait().unwrap().success());
}

#[test]
fn options_that_have_no_effect_are_refused() {
    let env = TestEnv::new();
    for (args, text) in [
        (["--mode", "rpc", "--protocol", "osier", "--continue"].as_slice(), "--continue has no effect"),
        (&["--mode", "rpc", "--protocol", "osier", "hello"], "takes no prompt"),
        (&["-p", "--protocol", "osier", "hello"], "--protocol needs --mode rpc"),
    ] {
        let output = env.args(args);
        assert_eq!(output.code, 2, "{output}");
        assert!(output.err.contains(text), "{output}");
    }
}

#[test]
fn the_schema_describes_the_frames() {
    let output = TestEnv::new().args(&["schema"]);
    let schema: Value = serde_json::from_str(&output.out).unwrap();
    assert_eq!(schema["version"], 1);
    for name in ["clientFrame", "serverFrame", "command", "event", "engineRequest"] {
        assert!(schema[name].is_object(), "{name}");
    }
}
