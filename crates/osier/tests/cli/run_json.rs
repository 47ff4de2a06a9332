//! `--mode json`: prints the session header, then every event as a line.

use osier_testkit::expect;
use serde_json::{Value, json};

use crate::run_support::{ModelServer, RunningCommand, TerminalCommand, osier_command};
use crate::support::TestEnv;

/// The lines with ids, times and long texts replaced by placeholders.
fn normalized(env: &TestEnv, lines: &str) -> String {
    let mut text = String::new();
    for line in lines.lines() {
        let mut value: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error} in {line}"));
        normalize(&mut value);
        text += &format!("{value}\n");
    }
    env.with_stable_names(&text)
}

fn normalize(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match key.as_str() {
                    "timestamp" | "mtimeMs" => *value = json!("<time>"),
                    "sections" | "toolsAdded" => *value = json!("<…>"),
                    "usage" => *value = json!("<usage>"),
                    _ => normalize(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(normalize),
        _ => {}
    }
}

#[test]
fn every_event_is_a_line() {
    let server = ModelServer::new();
    let env = server.env();
    env.write("a.txt", "hello\n");
    let args = ["--mode", "json", "--thinking", "off", "--name", "A look", "what is in a.txt?"];
    let running = RunningCommand::start(osier_command(&env, &args));
    let mut request = server.next_request();
    request.send_text("I will look.");
    request.reply_with_call("read", &json!({ "path": "a.txt" }));
    server.next_request().reply("hello");
    let output = running.wait();
    assert_eq!((output.code, output.err.as_str()), (0, ""), "{output:?}");
    expect![[r#"
        {"type":"session","version":3,"id":"<1>","timestamp":"<time>","cwd":"$DIR/code"}
        {"type":"entry","seq":0,"id":"<2>","draftId":null,"foreign":false,"entry":{"type":"session_info","id":"<2>","parentId":null,"timestamp":"<time>","name":"A look"}}
        {"type":"turn_started"}
        {"type":"entry","seq":1,"id":"<3>","draftId":null,"foreign":false,"entry":{"type":"model_change","id":"<3>","parentId":"<2>","timestamp":"<time>","provider":"local","modelId":"test"}}
        {"type":"entry","seq":2,"id":"<4>","draftId":null,"foreign":false,"entry":{"type":"thinking_level_change","id":"<4>","parentId":"<3>","timestamp":"<time>","thinkingLevel":"off"}}
        {"type":"entry","seq":3,"id":"<5>","draftId":null,"foreign":false,"entry":{"type":"message","id":"<5>","parentId":"<4>","timestamp":"<time>","message":{"role":"system","content":"","sections":"<…>","toolsAdded":"<…>","timestamp":"<time>"}}}
        {"type":"entry","seq":4,"id":"<6>","draftId":null,"foreign":false,"entry":{"type":"message","id":"<6>","parentId":"<5>","timestamp":"<time>","message":{"role":"user","content":[{"type":"text","text":"what is in a.txt?"}],"timestamp":"<time>"}}}
        {"type":"draft_begun","id":"<7>"}
        {"type":"draft","id":"<7>","index":0,"delta":{"type":"start"}}
        {"type":"draft","id":"<7>","index":1,"delta":{"type":"text_start","block":0}}
        {"type":"draft","id":"<7>","index":2,"delta":{"type":"text_delta","block":0,"delta":"I will look."}}
        {"type":"draft","id":"<7>","index":3,"delta":{"type":"text_end","block":0}}
        {"type":"draft","id":"<7>","index":4,"delta":{"type":"toolcall_start","block":1,"id":"call_1","name":"read"}}
        {"type":"draft","id":"<7>","index":5,"delta":{"type":"toolcall_delta","block":1,"delta":"{\"path\":\"a.txt\"}"}}
        {"type":"draft","id":"<7>","index":6,"delta":{"type":"toolcall_end","block":1}}
        {"type":"entry","seq":5,"id":"<7>","draftId":"<7>","foreign":false,"entry":{"type":"message","id":"<7>","parentId":"<6>","timestamp":"<time>","message":{"role":"assistant","content":[{"type":"text","text":"I will look."},{"type":"toolCall","id":"call_1","name":"read","arguments":{"path":"a.txt"}}],"api":"openai-completions","provider":"local","model":"test","usage":"<usage>","stopReason":"toolUse","timestamp":"<time>"}}}
        {"type":"tool_started","call":"call_1","name":"read","arguments":{"path":"a.txt"}}
        {"type":"tool_ended","call":"call_1","isError":false}
        {"type":"entry","seq":6,"id":"<8>","draftId":null,"foreign":false,"entry":{"type":"message","id":"<8>","parentId":"<7>","timestamp":"<time>","message":{"role":"toolResult","toolCallId":"call_1","toolName":"read","content":[{"type":"text","text":"hello"}],"isError":false,"timestamp":"<time>","details":{"path":"a.txt","startLine":1,"endLine":1,"truncated":false,"totalLines":1,"stamp":{"size":6,"mtimeMs":"<time>","hash":"8e4c7c1b99dbfd50"}}}}}
        {"type":"draft_begun","id":"<9>"}
        {"type":"draft","id":"<9>","index":0,"delta":{"type":"start"}}
        {"type":"draft","id":"<9>","index":1,"delta":{"type":"text_start","block":0}}
        {"type":"draft","id":"<9>","index":2,"delta":{"type":"text_delta","block":0,"delta":"hello"}}
        {"type":"draft","id":"<9>","index":3,"delta":{"type":"text_end","block":0}}
        {"type":"entry","seq":7,"id":"<9>","draftId":"<9>","foreign":false,"entry":{"type":"message","id":"<9>","parentId":"<8>","timestamp":"<time>","message":{"role":"assistant","content":[{"type":"text","text":"hello"}],"api":"openai-completions","provider":"local","model":"test","usage":"<usage>","stopReason":"stop","timestamp":"<time>"}}}
        {"type":"turn_ended","finished":"done","error":null}
    "#]].assert_eq(&normalized(&env, &output.out));
}

#[test]
fn entries_are_printed_as_they_are_stored() {
    let env = TestEnv::new();
    let output = env.args(&["--mode", "json", "list", "the", "files"]);
    let lines: Vec<Value> = output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let stored = std::fs::read_to_string(env.session_file()).unwrap();
    let stored: Vec<Value> = stored.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines[0], stored[0], "the header");
    let entries: Vec<&Value> =
        lines.iter().filter(|line| line["type"] == "entry").map(|line| &line["entry"]).collect();
    assert_eq!(entries, stored[1..].iter().collect::<Vec<_>>());
    assert_eq!(lines.last().unwrap()["type"], "turn_ended");
}

/// The server sends the next word only after the test has seen the previous one.
#[test]
fn every_event_is_printed_the_moment_it_happens() {
    let server = ModelServer::new();
    let env = server.env();
    let mut running = RunningCommand::start(osier_command(&env, &["--mode", "json", "count"]));
    let mut request = server.next_request();
    for word in ["one", "two", "three"] {
        request.send_text(word);
        running.out.read_until(&format!("\"delta\":\"{word}\"}}}}\n"));
    }
    request.finish("stop");
    assert_eq!(running.wait().code, 0);
}

#[test]
fn a_failure_is_an_event_and_an_exit_code() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["--mode", "json", "hello"]));
    server.next_request().refuse(400, r#"{"error":{"message":"no"}}"#);
    let output = running.wait();
    assert_eq!(output.code, 1);
    let last: Value = serde_json::from_str(output.out.lines().last().unwrap()).unwrap();
    expect![[
        r#"{"type":"turn_ended","finished":"failed","error":"local rejected the request (status 400). no"}"#
    ]]
    .assert_eq(&last.to_string());
}

#[test]
fn control_characters_are_escaped_on_a_terminal() {
    let server = ModelServer::new();
    let env = server.env();
    let terminal = TerminalCommand::start(osier_command(&env, &["--mode", "json", "hello"]));
    server.next_request().reply("a\u{9b}2Jb\u{202e}c");
    let (code, screen) = terminal.wait();
    assert_eq!(code, 0);
    assert!(screen.contains(r"a\u009b2Jb\u202ec"), "{screen}");
}

#[test]
fn a_backtrack_is_an_event_of_its_own() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["--mode", "json", "try it"]));
    server
        .next_request()
        .reply_with_call("backtrack", &json!({ "checkpoint_id": 0, "note": "it was a dead end" }));
    server.next_request().reply("Done.");
    let output = running.wait();
    assert_eq!(output.code, 0, "{output:?}");
    let lines: Vec<Value> = output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let at = lines.iter().position(|line| line["type"] == "backtrack").expect("a backtrack");
    let backtrack = lines[at].as_object().unwrap();
    let fields =
        ["type", "entryId", "checkpointId", "note", "addendum", "fromId", "originalUserMessage", "discarded"];
    assert_eq!(backtrack.keys().collect::<Vec<_>>(), fields);
    assert_eq!(
        (&backtrack["note"], &backtrack["originalUserMessage"]),
        (&json!("it was a dead end"), &json!("try it"))
    );
    let stored = lines[..at].iter().any(|line| line["type"] == "entry" && line["id"] == backtrack["entryId"]);
    assert!(stored, "the entry comes first");
}
