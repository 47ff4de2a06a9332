//! `osier models`: the available models, and what the others need.

use std::fs;

use osier_testkit::{Expect, expect};
use serde_json::Value;

use crate::listing::ModelListServer;
use crate::support::{CommandOutput, TestEnv};

fn env(settings: &str) -> TestEnv {
    let env = TestEnv::new();
    fs::create_dir(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), settings).unwrap();
    env
}

fn local(name: &str, url: &str) -> String {
    format!("[providers.{name}]\nbase_url = \"{url}\"\n")
}

fn check(env: &TestEnv, args: &[&str], expect: Expect) {
    let output = format!("$ osier {}\n{}", args.join(" "), env.args(args));
    let ports = regex::Regex::new(r"127\.0\.0\.1:\d+").unwrap();
    expect.assert_eq(&ports.replace_all(&env.with_stable_names(&output), "127.0.0.1:PORT"));
}

fn json(env: &TestEnv, args: &[&str]) -> Value {
    let output = env.args(args);
    assert_eq!(output.code, 0, "{}", output.err);
    serde_json::from_str(&output.out).unwrap()
}

#[test]
fn without_configuration_only_the_offline_model_is_listed() {
    check(
        &TestEnv::new(),
        &["models"],
        expect![[r#"
            $ osier models
              model            window  output  $ in  $ out  can
            * offline/offline    200k     16k     -      -  tools
            ! no API key or server is configured; --all lists all models and what they need
        "#]],
    );
}

#[test]
fn api_key_enables_the_models_of_its_provider() {
    let env = TestEnv::new();
    let mut command = env.command();
    let output = CommandOutput::from_output(
        command.env("GEMINI_API_KEY", "sk-hunter2").arg("models").output().unwrap(),
    );
    expect![[r#"
          model                          window  output  $ in  $ out  can
        * google/gemini-3.1-pro-preview   1.05M     65k     2     12  tools images thinking
          google/gemini-3.8-flash         1.05M     65k  0.75   3.75  tools images thinking
          google/gemini-3.5-flash         1.05M     65k   1.5      9  tools images thinking
          google/gemini-2.5-flash         1.05M     65k   0.3    2.5  tools images thinking
          offline/offline                  200k     16k     -      -  tools
    "#]]
    .assert_eq(&output.to_string());
}

#[test]
fn all_lists_what_is_missing() {
    check(
        &TestEnv::new(),
        &["models", "--all", "claude", "haiku"],
        expect![[r#"
            $ osier models --all claude haiku
              model                       window  output  $ in  $ out  can
              anthropic/claude-haiku-5-5      1M    128k   0.1    0.5  tools images thinking  (set ANTHROPIC_API_KEY)
              anthropic/claude-haiku-4-5    200k     64k     1      5  tools images thinking  (set ANTHROPIC_API_KEY)
        "#]],
    );
    check(
        &TestEnv::new(),
        &["models", "--all", "zzz"],
        expect![[r#"
            $ osier models --all zzz
            ! no matching model
        "#]],
    );
    check(
        &TestEnv::new(),
        &["models", "claude"],
        expect![[r#"
            $ osier models claude
            ! no matching model; --all includes models that are not set up
        "#]],
    );
}

#[test]
fn configured_server_is_asked_for_its_models() {
    let server = ModelListServer::with_models(&["listed", "unlisted"]);
    let settings = format!(
        "{}api_key_env = \"LOCAL_KEY\"\n[[providers.local.models]]\nid = \"listed\"\nthinking = true\nprice = {{ input = 0.5, output = 1 }}\n",
        local("local", &server.url)
    );
    let env = env(&settings);
    let mut command = env.command();
    let output =
        CommandOutput::from_output(command.env("LOCAL_KEY", "sk-local").arg("models").output().unwrap());
    expect![[r#"
          model            window  output  $ in  $ out  can
        * local/listed         4k      4k   0.5      1  tools thinking
          local/unlisted       4k      4k     -      -  tools
          offline/offline    200k     16k     -      -  tools
    "#]]
    .assert_eq(&output.to_string());
    let requests = server.requests();
    assert_eq!(requests.len(), 1, "{requests:?}");
    assert!(requests[0].starts_with("GET /v1/models "), "{requests:?}");
    assert!(requests[0].to_lowercase().contains("authorization: bearer sk-local"), "{requests:?}");
    assert!(env.args(&["models"]).out.lines().count() == 2, "without the key, the server is not asked");
    assert_eq!(server.requests().len(), 1);
}

/// Servers are asked in parallel: three silent ones take no longer than one.
#[test]
fn silent_servers_are_reported_and_do_not_block() {
    let silent = ModelListServer::silent();
    let answers = ModelListServer::with_models(&["here"]);
    let refuses = ModelListServer::new(500, "{\"error\":{\"message\":\"out of\\u001b[2J memory\"}}");
    let settings = [
        local("a", &silent.url),
        local("b", &answers.url),
        local("c", &refuses.url),
        local("d", &silent.url),
        local("e", &silent.url),
        local("f", "http://127.0.0.1:1/v1"),
    ]
    .concat();
    let env = env(&settings);
    check(
        &env,
        &["models"],
        expect![[r#"
            $ osier models
              model            window  output  $ in  $ out  can
              b/here               4k      4k     -      -  tools
            * offline/offline    200k     16k     -      -  tools
            ! osier: a is not responding: no response within 2 s
            ! osier: c is not responding: c failed with status 500. out of�[2J memory
            ! osier: d is not responding: no response within 2 s
            ! osier: e is not responding: no response within 2 s
            ! osier: f is not responding: tcp connect error: Connection refused (os error 111)
        "#]],
    );
    let rows = json(&env, &["models", "--json"]);
    let names: Vec<&str> =
        rows.as_array().unwrap().iter().map(|row| row["fullName"].as_str().unwrap()).collect();
    assert_eq!(names, ["b/here", "offline/offline"]);
}

#[test]
fn listing_does_not_run_key_commands() {
    let server = ModelListServer::with_models(&["m"]);
    let env = TestEnv::new();
    let marker = env.path("ran");
    fs::create_dir(env.home()).unwrap();
    let settings =
        format!("{}api_key_command = \"touch {}; echo k\"\n", local("local", &server.url), marker.display());
    fs::write(env.home().join("config.toml"), settings).unwrap();
    assert_eq!(env.args(&["models"]).code, 0);
    assert!(!marker.exists() && server.requests().is_empty());
}

#[test]
fn json_lists_all_model_details() {
    let rows = json(&TestEnv::new(), &["models", "--all", "--json"]);
    let rows = rows.as_array().unwrap();
    let find = |name: &str| rows.iter().find(|row| row["fullName"] == name).unwrap();
    expect![[r#"
        {
          "fullName": "anthropic/claude-haiku-4-5",
          "provider": "anthropic",
          "id": "claude-haiku-4-5",
          "name": "Claude Haiku 4.5",
          "api": "anthropic-messages",
          "contextWindow": 200000,
          "maxOutput": 64000,
          "price": {
            "input": 1.0,
            "output": 5.0,
            "cache_read": 0.1,
            "cache_write": 1.25
          },
          "tools": true,
          "images": true,
          "thinking": {
            "style": "budget",
            "levels": [
              "minimal",
              "low",
              "medium",
              "high",
              "xhigh"
            ],
            "off": "omit"
          },
          "usable": false,
          "missing": "set ANTHROPIC_API_KEY",
          "default": false
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(find("anthropic/claude-haiku-4-5")).unwrap());
    expect![[r#"{"fullName":"offline/offline","provider":"offline","id":"offline","name":"Offline (built in, follows simple requests)","api":"offline","contextWindow":200000,"maxOutput":16384,"price":{"input":0.0,"output":0.0,"cache_read":0.0,"cache_write":0.0},"tools":true,"images":false,"thinking":{"style":"none","levels":[]},"usable":true,"default":true}"#]].assert_eq(&find("offline/offline").to_string());
}

#[test]
fn setting_selects_the_default_model() {
    let env = env("model = \"anthropic/claude-haiku-4-5\"\n");
    let starred: Vec<String> = env
        .args(&["models", "--all"])
        .out
        .lines()
        .filter(|line| line.starts_with('*'))
        .map(str::to_owned)
        .collect();
    assert_eq!(starred.len(), 1);
    assert!(starred[0].starts_with("* anthropic/claude-haiku-4-5 "), "{starred:?}");
}

#[test]
fn invalid_provider_is_reported_and_others_still_work() {
    check(
        &env(
            "[providers.x]\napi = \"openai-completions\"\n[providers.y]\nbase_url = \"http://127.0.0.1:1\"\napi_key_env = \"A\"\napi_key_file = \"k\"\n",
        ),
        &["models"],
        expect![[r#"
            $ osier models
              model            window  output  $ in  $ out  can
            * offline/offline    200k     16k     -      -  tools
            ! osier: providers.x: `base_url` is missing
            ! osier: providers.y: only one of `api_key_env`, `api_key_command` and `api_key_file` can be set
        "#]],
    );
}
