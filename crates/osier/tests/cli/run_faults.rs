//! Invalid replies: arguments that are not JSON, and streams that break off.

use std::fs;

use serde_json::{Value, json};

use crate::run_support::{ModelServer, RunningCommand, osier_command};
use crate::support::TestEnv;

/// A world in which a failed request is retried once.
fn retrying(server: &ModelServer) -> TestEnv {
    let env = server.env();
    let config = env.home().join("config.toml");
    let text = fs::read_to_string(&config).unwrap().replace("retry.attempts = 1", "retry.attempts = 2");
    fs::write(config, text).unwrap();
    env
}

fn result(body: &Value) -> String {
    let last = body["messages"].as_array().unwrap().last().unwrap().clone();
    assert_eq!(last["role"], "tool", "{body}");
    last["content"].to_string()
}

#[test]
fn invalid_json_arguments_become_an_error_result_and_the_turn_continues() {
    for tool in ["read", "bash", "write", "edit", "todo", "backtrack", "nothing_of_this_name"] {
        let server = ModelServer::new();
        let env = server.env();
        let running = RunningCommand::start(osier_command(&env, &["-p", "--approval", "yolo", "go"]));
        let mut request = server.next_request();
        request.send_raw_call("call_1", tool, "{\"path\": \"a.txt");
        request.finish("tool_calls");
        let request = server.next_request();
        let output = result(&request.body);
        assert!(output.contains("Invalid arguments: not valid JSON: EOF while parsing"), "{tool}: {output}");
        let call =
            &request.body["messages"].as_array().unwrap().iter().rev().nth(1).unwrap()["tool_calls"][0];
        let sent: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
        assert!(sent.is_object(), "the arguments in the next request are valid JSON");
        request.reply("sorry");
        let run_output = running.wait();
        assert_eq!((run_output.code, run_output.out.as_str()), (0, "sorry\n"), "{tool}: {run_output}");
    }
}

#[test]
fn arguments_that_do_not_match_the_tool_get_the_same_error() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["-p", "go"]));
    for (tool, arguments) in [("read", json!({})), ("backtrack", json!({ "checkpoint_id": 0 }))] {
        server.next_request().reply_with_call(tool, &arguments);
        // The result is in the next request; the reply to it is the next call.
        let request = server.next_request();
        assert!(result(&request.body).contains("Invalid arguments: missing field"), "{}", request.body);
        request.reply_with_call("ls", &json!({}));
    }
    server.next_request().reply("done");
    assert_eq!(running.wait().code, 0);
}

#[test]
fn a_reply_that_breaks_off_is_retried_and_not_stored() {
    let server = ModelServer::new();
    let env = retrying(&server);
    let running = RunningCommand::start(osier_command(&env, &["-p", "go"]));
    let mut request = server.next_request();
    let first = request.body.clone();
    request.send_text("Half an ans");
    request.send_raw_call("call_1", "bash", "{\"command\": \"touch ran\"}");
    request.disconnect();
    let request = server.next_request();
    assert_eq!(request.body, first, "the same request");
    request.reply("A whole answer.");
    let run_output = running.wait();
    assert_eq!(
        (run_output.code, run_output.out.as_str(), run_output.err.as_str()),
        (0, "A whole answer.\n", "")
    );
    assert!(!env.path("ran").exists());
    let file = env.session_file();
    assert!(!fs::read_to_string(file).unwrap().contains("Half"), "nothing of it is stored");
}

/// The reply costs money although it is not stored. The usage of the retried reply gives the context size, so the cost is a
/// separate entry.
#[test]
fn usage_of_a_reply_that_broke_off_is_recorded() {
    let server = ModelServer::new();
    let env = retrying(&server);
    let running = RunningCommand::start(osier_command(&env, &["-p", "go"]));
    let mut request = server.next_request();
    request.send_text("Half an ans");
    request.send_usage(900, 7);
    request.disconnect();
    let mut request = server.next_request();
    request.send_text("A whole answer.");
    request.send_usage(900, 30);
    request.finish("stop");
    assert_eq!(running.wait().code, 0);
    let id = env.json("list")[0]["id"].as_str().unwrap().to_owned();
    let path = env.json(&format!("path {id}"));
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
    let server = ModelServer::new();
    let env = retrying(&server);
    let running = RunningCommand::start(osier_command(&env, &["-p", "--mode", "json", "go"]));
    let mut request = server.next_request();
    request.send_text("Half");
    request.disconnect();
    server.next_request().reply("Whole");
    let run_output = running.wait();
    let events: Vec<Value> = run_output.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let of = |kind: &str| events.iter().filter(|event| event["type"] == kind).collect::<Vec<_>>();
    assert_eq!(of("retrying")[0]["kind"], "cut");
    let (begun, dropped) = (of("draft_begun"), of("draft_dropped"));
    assert_eq!((begun.len(), dropped.len()), (2, 1));
    assert_eq!(dropped[0]["id"], begun[0]["id"]);
    assert!(of("entry").iter().any(|event| event["draftId"] == begun[1]["id"]), "{}", run_output.out);
    let withdrawn = of("draft").into_iter().rfind(|event| event["id"] == begun[0]["id"]).unwrap();
    assert_eq!(withdrawn["delta"], json!({ "type": "withdrawn" }));
}

#[test]
fn a_partly_printed_reply_is_not_printed_again() {
    let server = ModelServer::new();
    let env = retrying(&server);
    let mut running = RunningCommand::start(osier_command(&env, &["-p", "--no-tools", "go"]));
    let mut request = server.next_request();
    request.send_text("Half an answ");
    running.out.read_until("Half an answ");
    request.disconnect();
    let run_output = running.wait();
    assert_eq!((run_output.code, run_output.out.as_str()), (1, "\n"), "{run_output}");
    assert!(run_output.err.contains("the reply broke off after part of it was printed"), "{run_output}");
}

#[test]
fn the_last_attempt_reports_why_it_failed() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["-p", "go"]));
    let mut request = server.next_request();
    request.send_text("Half");
    request.disconnect();
    let run_output = running.wait();
    assert_eq!((run_output.code, run_output.out.as_str()), (1, ""), "{run_output}");
    assert!(run_output.err.starts_with("osier: the reply from local was cut off"), "{run_output}");
}
