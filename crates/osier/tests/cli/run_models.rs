//! The current model comes from the path, but messages without a real model are ignored.

use osier_testkit::ScriptedSession;
use serde_json::json;

use crate::run_support::{ModelServer, RunningCommand, osier_command};
use crate::support::TestEnv;

/// A session that ends with an assistant message that no model wrote.
fn with_appended_reply(env: &TestEnv) -> String {
    let id = env.json("append 'what is two and two?'")["session"].as_str().unwrap().to_owned();
    env.ok(&format!("append {id} --role assistant four"));
    id
}

#[test]
fn an_appended_reply_does_not_choose_the_model_of_the_next_prompt() {
    let env = TestEnv::new();
    let id = with_appended_reply(&env);
    let output = env.args(&["-p", "--resume", &id, "list the files here"]);
    assert_eq!((output.code, output.err.as_str()), (0, ""), "{output}");
}

#[test]
fn the_real_model_above_an_appended_reply_is_used() {
    let server = ModelServer::new();
    let env = server.env();
    std::fs::write(
        env.home().join("config.toml"),
        std::fs::read_to_string(env.home().join("config.toml")).unwrap().replace("local/test", "offline"),
    )
    .unwrap();
    let running = RunningCommand::start(osier_command(&env, &["-p", "--model", "local/test", "one"]));
    server.next_request().reply("first");
    running.wait();
    let file = env.session_file();
    let file = file.to_str().unwrap();
    for text in ["appended", "again"] {
        env.ok(&format!("append {file} --role assistant '{text}'"));
    }
    let running = RunningCommand::start(osier_command(&env, &["-p", "--resume", file, "two"]));
    let request = server.next_request();
    assert_eq!(request.body["model"], "test");
    assert_eq!(
        request.messages(),
        ["user: one", "assistant: first", "assistant: appended", "assistant: again", "user: two"]
    );
    request.reply("second");
    let output = running.wait();
    assert_eq!((output.code, output.out.as_str(), output.err.as_str()), (0, "second\n", ""));
}

#[test]
fn summaries_use_the_real_model_too() {
    let env = TestEnv::new();
    let id = with_appended_reply(&env);
    std::fs::create_dir_all(env.home()).unwrap();
    std::fs::write(env.home().join("config.toml"), "compaction.keep_recent_tokens = 1\n").unwrap();
    let moved = env.json(&format!("move {id} root --summarize"));
    assert_eq!(moved["moved"], true, "{moved}");
    let other = with_appended_reply(&env);
    env.ok(&format!("append {other} 'and three?'"));
    env.ok(&format!("append {other} --role assistant 'it is six'"));
    env.ok(&format!("compact {other}"));
}

#[test]
fn a_reply_without_a_model_name_is_ignored() {
    let real = json!({ "provider": "offline", "modelId": "offline" });
    let mut script = ScriptedSession::run("say a").file();
    let header_and_user = script.len();
    for model in [json!({}), json!({ "provider": "", "model": "" }), json!({ "provider": 7, "model": null })]
    {
        let mut message = json!({ "role": "assistant", "content": [{ "type": "text", "text": "x" }] });
        message.as_object_mut().unwrap().extend(model.as_object().unwrap().clone());
        let entry = json!({
            "type": "message", "id": "0000000a", "parentId": "00000001", "timestamp": "2026-01-01T00:00:00.000Z", "message": message,
        });
        script.truncate(header_and_user);
        script.extend(format!("{entry}\n").into_bytes());
        let env = TestEnv::new();
        env.write("s.jsonl", &script);
        let output = env.args(&["-p", "--resume", "s.jsonl", "list the files here"]);
        assert_eq!((output.code, output.err.as_str()), (0, ""), "{model}: {output}");
        assert_eq!(env.json("context s.jsonl")["model"], real);
    }
}
