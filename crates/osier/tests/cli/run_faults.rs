//! Replies that are not as they should be: arguments that are not JSON, and streams that break off.

use std::fs;

use serde_json::{Value, json};

use crate::run_support::{Running, Server, osier};
use crate::support::World;

/// A world in which a failed request is tried twice.
fn retrying(server: &Server) -> World {
    let world = server.world();
    let config = world.home().join("config.toml");
    let text = fs::read_to_string(&config).unwrap().replace("retry.attempts = 1", "retry.attempts = 2");
    fs::write(config, text).unwrap();
    world
}

fn result(body: &Value) -> String {
    let last = body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["role"], "tool", "{body}");
    last["content"].to_string()
}

#[test]
fn arguments_that_are_not_json_are_answered_and_the_turn_continues() {
    for tool in ["read", "bash", "write", "edit", "todo", "backtrack", "nothing_of_this_name"] {
        let server = Server::new();
        let world = server.world();
        let running = Running::start(osier(&world, &["-p", "--approval", "yolo", "go"]));
        let mut asked = server.next();
        asked.raw_call("call_1", tool, "{\"path\": \"a.txt");
        asked.end("tool_calls");
        let asked = server.next();
        let told = result(&asked.body);
        assert!(told.contains("Invalid arguments: not valid JSON: EOF while parsing"), "{tool}: {told}");
        let call = &asked.body["messages"].as_array().unwrap().iter().rev().nth(1).unwrap()["tool_calls"][0];
        let sent: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        assert!(sent.is_object(), "what the model reads again is JSON");
        asked.answer("sorry");
        let ran = running.end();
        assert_eq!((ran.code, ran.out.as_str()), (0, "sorry\n"), "{tool}: {ran}");
    }
}

#[test]
fn arguments_that_do_not_fit_the_tool_are_answered_in_the_same_words() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "go"]));
    for (tool, arguments) in [("read", json!({})), ("backtrack", json!({ "checkpoint_id": 0 }))] {
        server.next().calls(tool, &arguments);
        // The result is in the next request, which is answered by the next call.
        let asked = server.next();
        assert!(result(&asked.body).contains("Invalid arguments: missing field"), "{}", asked.body);
        asked.calls("ls", &json!({}));
    }
    server.next().answer("done");
    assert_eq!(running.end().code, 0);
}

#[test]
fn a_reply_that_breaks_off_is_asked_for_again_and_leaves_no_trace() {
    let server = Server::new();
    let world = retrying(&server);
    let running = Running::start(osier(&world, &["-p", "go"]));
    let mut asked = server.next();
    let first = asked.body.clone();
    asked.text("Half an ans");
    asked.raw_call("call_1", "bash", "{\"command\": \"touch ran\"}");
    asked.cut();
    let asked = server.next();
    assert_eq!(asked.body, first, "the same request");
    asked.answer("A whole answer.");
    let ran = running.end();
    assert_eq!((ran.code, ran.out.as_str(), ran.err.as_str()), (0, "A whole answer.\n", ""));
    assert!(!world.path("ran").exists());
    let file = world.session_file();
    assert!(!fs::read_to_string(file).unwrap().contains("Half"), "nothing of it is stored");
}

/// It is paid for, although nothing of it is stored. The reply that takes its place tells how long the context is, so the cost
/// is an entry of its own.
#[test]
fn what_a_reply_that_broke_off_cost_is_recorded() {
    let server = Server::new();
    let world = retrying(&server);
    let running = Running::start(osier(&world, &["-p", "go"]));
    let mut asked = server.next();
    asked.text("Half an ans");
    asked.usage(900, 7);
    asked.cut();
    let mut asked = server.next();
    asked.text("A whole answer.");
    asked.usage(900, 30);
    asked.end("stop");
    assert_eq!(running.end().code, 0);
    let id = world.json("list")[0]["id"].as_str().unwrap().to_owned();
    let path = world.json(&format!("path {id}"));
    let totals: Vec<&Value> = path
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|entry| entry.get("usage").or_else(|| entry["message"].get("usage")))
        .map(|usage| &usage["totalTokens"])
        .collect();
    assert_eq!(totals, [930, 907]);
}

#[test]
fn json_mode_drops_the_draft_that_broke_off() {
    let server = Server::new();
    let world = retrying(&server);
    let running = Running::start(osier(&world, &["-p", "--mode", "json", "go"]));
    let mut asked = server.next();
    asked.text("Half");
    asked.cut();
    server.next().answer("Whole");
    let ran = running.end();
    let events: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    assert_eq!(of("retrying")[0]["kind"], "cut");
    let (begun, dropped) = (of("draft_begun"), of("draft_dropped"));
    assert_eq!((begun.len(), dropped.len()), (2, 1));
    assert_eq!(dropped[0]["id"], begun[0]["id"]);
    assert!(of("entry").iter().any(|event| event["draftId"] == begun[1]["id"]), "{}", ran.out);
    let withdrawn = of("draft").into_iter().rfind(|event| event["id"] == begun[0]["id"]).unwrap();
    assert_eq!(withdrawn["delta"], json!({ "type": "withdrawn" }));
}

#[test]
fn what_a_program_has_read_already_is_not_said_twice() {
    let server = Server::new();
    let world = retrying(&server);
    let mut running = Running::start(osier(&world, &["-p", "--no-tools", "go"]));
    let mut asked = server.next();
    asked.text("Half an answ");
    running.out.until("Half an answ");
    asked.cut();
    let ran = running.end();
    assert_eq!((ran.code, ran.out.as_str()), (1, "\n"), "{ran}");
    assert!(ran.err.contains("a part of it is printed already"), "{ran}");
}

#[test]
fn after_the_last_try_the_failure_says_what_happened() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "go"]));
    let mut asked = server.next();
    asked.text("Half");
    asked.cut();
    let ran = running.end();
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran}");
    assert!(ran.err.starts_with("osier: the reply from local was cut off"), "{ran}");
}
