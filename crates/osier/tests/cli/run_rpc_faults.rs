//! `--mode rpc` with malformed lines, and with a program that is killed.

use std::io::Write;
use std::time::{Duration, Instant};

use osier_testkit::DamagedTexts;
use serde_json::json;

use crate::rpc_program::{RpcProgram, offline};
use crate::run_support::{MemoryGrowth, ModelServer};
use crate::support::TestEnv;

/// The lines between two measurements of the memory.
const BATCH: usize = 2500;

#[test]
fn ten_thousand_malformed_lines_change_nothing_and_leave_nothing_behind() {
    let env = TestEnv::new();
    let mut program = offline(&env);
    program.run_prompt(json!({ "message": "say one" }));
    let before_junk = program.data("get_entries", json!({}));
    let lines = [
        r#"{"id":"a","type":"get_state","sessionId":"none"}"#,
        r#"{"id":2,"type":"navigate_tree","targetId":"none","summarize":true}"#,
        r#"{"type":"get_entries","since":"none"}"#,
        r#"{"type":"list_entries","session":"none","after":7,"limit":1000}"#,
        r#"{"type":"compare","left":"none","right":{"deep":[[[["none"]]]]}}"#,
        r#"{"type":"extension_ui_response","id":"ui-1","confirmed":true}"#,
        r#"{"type":"switch_session","sessionPath":"none"}"#,
        r#"{"type":"set_model","provider":"none","modelId":"none"}"#,
    ];
    let mut texts = DamagedTexts::new(0x05EE_D003);
    let mut send = |program: &mut RpcProgram, count: usize| {
        for _ in 0..count {
            let mut line = texts.damage_one_of(&lines);
            line.push(b'\n');
            program.input.as_ref().unwrap().write_all(&line).unwrap();
        }
        program.data("get_state", json!({}))
    };
    send(&mut program, BATCH);
    let files = program.resources().1;
    let mut state = send(&mut program, 10_000 - 2 * BATCH);
    let mut growth = MemoryGrowth::default();
    while !growth.is_flat_at(program.resources().0) {
        state = send(&mut program, BATCH);
    }
    let deadline = Instant::now() + Duration::from_secs(60);
    while program.resources().1 > files {
        assert!(Instant::now() < deadline, "{} files are open, {files} before", program.resources().1);
        std::thread::yield_now();
    }
    assert_eq!((&state["isStreaming"], &state["messageCount"]), (&json!(false), &json!(3)), "{state}");
    assert_eq!(program.data("get_entries", json!({})), before_junk);
    assert_eq!(program.finish(), 0);
}

#[test]
fn nothing_that_was_acknowledged_is_lost_when_the_program_is_killed() {
    let server = ModelServer::new();
    let env = server.env();
    let mut program = RpcProgram::start(&env, &[]);
    program.data("prompt", json!({ "message": "first" }));
    server.next_request().reply("First reply.");
    program.until("agent_settled");
    let leaf = program.data("get_entries", json!({}))["leafId"].clone();
    program.data("set_label", json!({ "entryId": leaf, "label": "good" }));
    program.data("prompt", json!({ "message": "second" }));
    let mut request = server.next_request();
    request.send_text("Once upon");
    program.until("message_update");
    program.data("steer", json!({ "message": "queued for later" }));
    program.kill();

    let mut program = RpcProgram::start(&env, &["--continue"]);
    let returned = program.until("extension_ui_request").pop().unwrap();
    let expected = (&json!("set_editor_text"), &json!("queued for later"));
    assert_eq!((&returned["method"], &returned["text"]), expected, "{returned}");
    let texts = program.data("get_messages", json!({}))["messages"].to_string();
    for text in ["first", "First reply.", "second"] {
        assert!(texts.contains(text), "{texts}");
    }
    let tree = program.data("get_tree", json!({})).to_string();
    assert!(tree.contains(r#""label":"good""#), "{tree}");
    program.data("prompt", json!({ "message": "third" }));
    let request = server.next_request();
    let messages = request.messages();
    assert_eq!(messages, ["user: first", "assistant: First reply.", "user: second", "user: third"]);
    request.reply("Third reply.");
    program.until("agent_settled");
    assert_eq!(program.finish(), 0);
    let verified = env.ok(&format!("verify {}", env.session_file().display()));
    assert!(verified.ends_with("no damage found\n"), "{verified}");
}
