//! Requests: a stable prefix, exactly what `context --request` shows, and no more calls than the limit.

use std::fs;

use serde_json::{Value, json};

use crate::run_support::{ModelRequest, ModelServer, RunningCommand, osier_command};
use crate::support::TestEnv;

fn system(body: &Value) -> String {
    assert!(matches!(body["messages"][0]["role"].as_str(), Some("system" | "developer")), "{body}");
    body["messages"][0].to_string()
}

/// Sends a prompt, answers the request, and returns its body.
fn say(env: &TestEnv, server: &ModelServer, args: &[&str]) -> Value {
    let running = RunningCommand::start(osier_command(env, args));
    let request = server.next_request();
    let body = request.body.clone();
    request.reply("yes");
    let output = running.wait();
    assert_eq!(output.code, 0, "{output}");
    body
}

#[test]
fn editing_instructions_between_prompts_keeps_the_prefix() {
    let server = ModelServer::new();
    let env = server.env();
    let mut last: Option<Value> = None;
    for (instructions, notice) in [
        (Some("Use tabs."), None),
        (Some("Use spaces."), Some("Use spaces.")),
        (Some("Use spaces."), None),
        (None, Some("The section \\\"instructions\\\" of your system prompt no longer applies.")),
    ] {
        match instructions {
            Some(text) => env.write("AGENTS.md", text),
            None => fs::remove_file(env.path("AGENTS.md")).unwrap(),
        }
        let body = say(&env, &server, &["-p", "--continue", "go"]);
        let messages = body["messages"].as_array().unwrap();
        if let Some(last) = &last {
            let before = last["messages"].as_array().unwrap();
            assert_eq!(&messages[..before.len()], &before[..], "starts with the previous request");
            assert_eq!(system(&body), system(last));
            assert_eq!(body["tools"], last["tools"]);
            let new = Value::from(messages[before.len()..].to_vec()).to_string();
            assert_eq!(new.contains("of your system prompt"), notice.is_some(), "{new}");
            assert!(notice.is_none_or(|notice| new.contains(notice)), "{new}");
        }
        assert!(system(&body).contains("Use tabs."));
        last = Some(body);
    }
}

/// The entries of a session's file.
fn entries(env: &TestEnv) -> Vec<Value> {
    let text = fs::read_to_string(env.session_file()).unwrap();
    text.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The body that `context --request` shows, as text, for each model call.
fn shown(env: &TestEnv) -> Vec<String> {
    let file = env.session_file();
    let replies = entries(env).into_iter().filter(|entry| entry["message"]["role"] == "assistant");
    let places = replies.map(|reply| reply["parentId"].as_str().unwrap().to_owned());
    let body = |at: String| {
        let out = env.ok(&format!("context {} --at {at} --request --json", file.display()));
        let (_, body) = out.trim_end().split_once(",\"body\":").unwrap();
        body.strip_suffix('}').unwrap().to_owned()
    };
    places.map(body).collect()
}

#[test]
fn context_request_shows_exactly_the_bytes_that_were_sent() {
    let server = ModelServer::new();
    let env = server.env();
    env.write("AGENTS.md", "Use tabs.");
    let mut sent = Vec::new();
    let mut answer = |server: &ModelServer, how: &dyn Fn(ModelRequest)| {
        let request = server.next_request();
        sent.push(request.text.clone());
        how(request);
    };
    let running = RunningCommand::start(osier_command(&env, &["-p", "one"]));
    answer(&server, &|request| request.reply_with_call("ls", &json!({ "path": "." })));
    answer(&server, &|mut request| {
        request.send_raw_call("call_2", "read", "{\"path\": 1e3");
        request.finish("tool_calls");
    });
    answer(&server, &|request| request.reply("done é \u{1f9f5}"));
    assert_eq!(running.wait().code, 0);
    env.write("AGENTS.md", "Use spaces.");
    let running = RunningCommand::start(osier_command(&env, &["-p", "--continue", "two"]));
    answer(&server, &|request| {
        request.reply_with_call("backtrack", &json!({ "checkpoint_id": 0, "note": "no use" }));
    });
    answer(&server, &|request| request.reply("back"));
    assert_eq!(running.wait().code, 0);
    let running = RunningCommand::start(osier_command(
        &env,
        &["-p", "--continue", "--no-tools", "--thinking", "high", "three"],
    ));
    answer(&server, &|request| request.reply("without tools"));
    assert_eq!(running.wait().code, 0);
    let shown = shown(&env);
    assert_eq!(shown.len(), sent.len());
    for (shown, sent) in shown.iter().zip(&sent) {
        assert_eq!(shown, sent);
    }
}

#[test]
fn a_model_without_tools_sees_no_checkpoints() {
    let server = ModelServer::new();
    let env = server.env();
    let config = env.home().join("config.toml");
    let with_tools = say(&env, &server, &["-p", "go"]).to_string();
    assert!(with_tools.contains("Checkpoint 0"), "{with_tools}");
    fs::write(&config, fs::read_to_string(&config).unwrap() + "tools = false\n").unwrap();
    let without = say(&env, &server, &["-p", "--continue", "go"]).to_string();
    assert!(!without.contains("<system>Checkpoint") && !without.contains("\"tools\":"), "{without}");
    let file = env.session_file();
    let shown = env.ok(&format!("context {} --request", file.display()));
    assert!(!shown.contains("<system>Checkpoint"), "{shown}");
}

#[test]
fn an_endless_turn_stops_at_the_limit() {
    let server = ModelServer::new();
    let env = server.env();
    let config = env.home().join("config.toml");
    fs::write(&config, "max_steps = 2\n".to_owned() + &fs::read_to_string(&config).unwrap()).unwrap();
    for mode in [&["-p", "go"][..], &["-p", "--mode", "json", "go"]] {
        let running = RunningCommand::start(osier_command(&env, mode));
        for _ in 0..2 {
            server.next_request().reply_with_call("bash", &json!({ "command": "true" }));
        }
        let output = running.wait();
        assert_eq!(output.code, 1, "{output}");
        assert!(
            output.err.contains(
                "stopped after 2 model calls, the limit for one prompt (the setting max_steps); \
                 `osier -c -p 'continue'` continues"
            ),
            "{output}"
        );
        let is_json = mode.len() == 4;
        assert_eq!(output.out.contains("\"finished\":\"step_limit\""), is_json, "{output}");
        assert_eq!(output.err.contains("\"code\":\"step_limit\""), is_json, "{output}");
    }
}
