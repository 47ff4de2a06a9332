//! `append`: what it creates, which parent it uses, and what it rejects.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use osier_testkit::expect;
use serde_json::{Value, json};

use crate::run_support::osier_command;
use crate::support::{TestEnv, check, files_in, ids};

#[test]
fn text_alone_creates_a_session_in_this_directory() {
    let env = TestEnv::new();
    let done = env.json("append 'How do I begin?'");
    assert_eq!(done["seq"], 0);
    let file = env.session_file();
    assert_eq!(done["file"], json!(file));
    let card = env.json("list")[0].clone();
    assert_eq!(card["id"], done["session"]);
    assert_eq!(card["leafId"], done["id"]);
    assert_eq!(card["cwd"], json!(env.cwd()));
    assert_eq!(card["firstMessage"], "How do I begin?");
    let lines = fs::read_to_string(&file).unwrap();
    let header: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&header["type"], &header["version"], &header["id"]),
        (&json!("session"), &json!(3), &done["session"])
    );
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(file.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn text_is_appended_below_the_leaf_of_the_session() {
    let env = TestEnv::new();
    let first = env.json("append one");
    let session = first["session"].as_str().unwrap();
    let second = env.json(&format!("append {} --role assistant two", &session[..8]));
    assert_eq!(second["session"], first["session"]);
    assert_eq!(second["seq"], 1);
    let path = env.json(&format!("path {session}"));
    assert_eq!(ids(&path), [first["id"].as_str().unwrap(), second["id"].as_str().unwrap()]);
    assert_eq!(path[1]["message"]["role"], "assistant");
    assert_eq!(path[1]["message"]["stopReason"], "stop");
    assert_eq!(path[1]["message"]["content"], json!([{ "type": "text", "text": "two" }]));
}

#[test]
fn prints_only_the_entry_id_without_json() {
    let env = TestEnv::with("say a");
    let printed = env.ok("append s.jsonl b");
    let id = printed.trim_end();
    assert!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{printed}");
    assert_eq!(env.json("context s.jsonl")["leafId"], id);
}

#[test]
fn creates_a_missing_file() {
    let env = TestEnv::new();
    let done = env.json("append new/folder/talk.jsonl hello");
    assert_eq!(done["file"], json!(env.path("new/folder/talk.jsonl")));
    assert_eq!(env.lines("new/folder/talk.jsonl").len(), 2);
    env.ok("append plain.jsonl --parent root hello");
    assert_eq!(env.json("verify plain.jsonl")["sound"], true);
    assert_eq!(env.session_files().len(), 0, "nothing in the store");
}

#[test]
fn parent_creates_a_branch_and_root_a_new_root() {
    check(
        "say a; reply b; say c",
        &[
            "append s.jsonl --parent 00000002 d",
            "tree s.jsonl",
            "append s.jsonl --parent root e",
            "tree s.jsonl",
            "append s.jsonl --parent 0000000f f",
        ],
        expect![[r#"
            $ append s.jsonl --parent 00000002 d
            <1>
            $ tree s.jsonl
            user: "a"
            assistant: "b"
            ├─ user: "c"
            └─ user: "d"  ← active
            $ append s.jsonl --parent root e
            <2>
            $ tree s.jsonl
            user: "a"
               assistant: "b"
               ├─ user: "c"
               └─ user: "d"
            user: "e"  ← active
            $ append s.jsonl --parent 0000000f f
            ! osier: no entry 0000000f in this session; did you mean 00000001, 00000002, 00000003?
            exit 1
        "#]],
    );
}

#[test]
fn rejected_entry_leaves_no_file() {
    let env = TestEnv::with("say a");
    let before = env.read("s.jsonl");
    env.fails(1, "append s.jsonl --parent ffffffff x");
    env.fails(1, "append s.jsonl --entry '{\"type\":\"custom\",\"parentId\":\"ffffffff\"}'");
    env.fails(1, "append s.jsonl --entry '{\"type\":\"label\",\"targetId\":\"ffffffff\",\"label\":\"x\"}'");
    assert_eq!(env.read("s.jsonl"), before);
    env.fails(1, "append --parent ffffffff x");
    env.fails(1, "append new.jsonl --parent ffffffff x");
    env.fails(2, "append new.jsonl --entry '{\"type\":\"message\"}'");
    env.fails(1, "append --entry '{\"type\":\"label\",\"targetId\":\"ffffffff\"}'");
    assert!(!env.path("new.jsonl").exists());
    assert_eq!(files_in(&env.home().join("sessions")).len(), 0);
}

#[test]
fn text_may_start_with_a_dash_or_come_from_stdin() {
    let env = TestEnv::with("say a");
    env.ok("append s.jsonl -- --help");
    assert_eq!(env.run_with_input("append s.jsonl -", b"many\nlines\n\n").code, 0);
    let messages = env.json("context s.jsonl")["messages"].clone();
    let texts: Vec<&str> = messages
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"][0]["text"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["a", "--help", "many\nlines"]);
    let error = env.fails(2, "append s.jsonl --nonsense");
    assert!(error.contains("'-- --nonsense'"), "{error}");
}

#[test]
fn missing_entry_fields_are_filled_in() {
    let env = TestEnv::with("say a; reply b");
    let done = env
        .json("append s.jsonl --entry '{\"type\":\"custom\",\"customType\":\"mine\",\"data\":{\"n\":1.0}}'");
    let line = env.lines("s.jsonl").last().unwrap().clone();
    let entry: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(entry["id"], done["id"]);
    assert_eq!(entry["parentId"], "00000002");
    assert!(entry["timestamp"].as_str().unwrap().ends_with('Z'));
    assert!(line.contains(r#""data":{"n":1.0}"#), "{line}");
    // Given fields are kept.
    env.ok("append s.jsonl --entry '{\"type\":\"future\",\"id\":\"mine\",\"parentId\":null,\"timestamp\":\"2020-01-01T00:00:00.000Z\"}'");
    let line = env.lines("s.jsonl").last().unwrap().clone();
    assert_eq!(
        line,
        r#"{"type":"future","id":"mine","parentId":null,"timestamp":"2020-01-01T00:00:00.000Z"}"#
    );
    // --parent works with --entry.
    env.ok("append s.jsonl --parent 00000001 --entry '{\"type\":\"custom\",\"customType\":\"x\"}'");
    assert_eq!(env.json("path s.jsonl")[1]["customType"], "x");
    env.fails(2, "append s.jsonl --parent 00000001 --entry '{\"type\":\"custom\",\"parentId\":null}'");
}

#[test]
fn same_entry_is_accepted_again_and_a_different_one_with_its_id_is_rejected() {
    let env = TestEnv::with("say a");
    let entry = r#"{"type":"custom","customType":"mine","id":"c0ffee00","parentId":"00000001","timestamp":"2026-01-01T00:00:00.000Z","data":1}"#;
    let first = env.json(&format!("append s.jsonl --entry '{entry}'"));
    let size = env.read("s.jsonl").len();
    let again = env.json(&format!("append s.jsonl --entry '{entry}'"));
    assert_eq!(first, again);
    assert_eq!(env.read("s.jsonl").len(), size);
    let other = entry.replace("\"data\":1", "\"data\":2");
    let error = env.fails(1, &format!("append s.jsonl --entry '{other}'"));
    assert!(error.contains("entry c0ffee00 already exists with different content"), "{error}");
    assert_eq!(env.read("s.jsonl").len(), size);
}

#[test]
fn complete_entry_may_create_a_session_or_come_from_stdin() {
    let env = TestEnv::new();
    let done = env.json("append --entry '{\"type\":\"model_change\",\"provider\":\"p\",\"modelId\":\"m\"}'");
    let session = done["session"].as_str().unwrap();
    assert_eq!(env.json(&format!("context {session}"))["model"], json!({ "provider": "p", "modelId": "m" }));
    let output = env.run_with_input(
        &format!("append {session} --entry -"),
        b"{\n  \"type\": \"custom\",\n  \"customType\": \"x\"\n}\n",
    );
    assert_eq!(output.code, 0, "{}", output.err);
    assert_eq!(env.json(&format!("verify {session}"))["sound"], true);
    assert_eq!(env.json(&format!("path {session}")).as_array().unwrap().len(), 2);
}

#[test]
fn invalid_entry_is_rejected_with_a_reason() {
    let env = TestEnv::with("say a");
    env.check(
        &[
            "append s.jsonl --entry nonsense",
            "append s.jsonl --entry []",
            "append s.jsonl --entry {}",
            "append s.jsonl --entry '{\"type\":\"message\"}'",
            "append s.jsonl --entry '{\"type\":\"session\",\"id\":\"x\"}'",
            "append s.jsonl --entry '{\"type\":\"custom\",\"id\":7}'",
            "append s.jsonl --role user --entry {}",
        ],
        expect![[r#"
            $ append s.jsonl --entry nonsense
            ! osier: not a valid entry: it is not JSON
            exit 2
            $ append s.jsonl --entry []
            ! osier: not a valid entry: it has no `type`
            exit 2
            $ append s.jsonl --entry {}
            ! osier: not a valid entry: it has no `type`
            exit 2
            $ append s.jsonl --entry '{"type":"message"}'
            ! osier: not a valid entry: a message entry needs a `message`
            exit 2
            $ append s.jsonl --entry '{"type":"session","id":"x"}'
            ! osier: not a valid entry: it must be a JSON object with a `type`
            exit 2
            $ append s.jsonl --entry '{"type":"custom","id":7}'
            ! osier: not a valid entry: its `id` is not a string
            exit 2
            $ append s.jsonl --role user --entry {}
            ! error: the argument '--role <ROLE>' cannot be used with '--entry <JSON>'
            ! 
            ! Usage: osier sessions append --role <ROLE> [SESSION|TEXT]...
            ! 
            ! For more information, try '--help'.
            exit 2
        "#]],
    );
}

#[test]
fn new_session_may_have_a_name() {
    let env = TestEnv::new();
    let done = env.json("append --name Talk hello");
    assert_eq!(done["seq"], 1);
    assert_eq!(env.json("list")[0]["name"], "Talk");
    assert_eq!(env.json("list")[0]["firstMessage"], "hello");
}

/// Without --parent, the leaf is read under the lock, so many writers form one chain.
#[test]
fn concurrent_appends_form_one_chain() {
    let env = TestEnv::new();
    let session = env.json("append start")["session"].as_str().unwrap().to_owned();
    env.run_concurrently(8, &["sessions", "append", &session, "number #"]);
    let path = env.json(&format!("path {session}"));
    assert_eq!(path.as_array().unwrap().len(), 9);
    assert_eq!(env.json(&format!("verify {session}"))["oddities"], json!([]));
}

/// One process creates the file, the others append to it.
#[test]
fn concurrent_creators_of_a_file_append_to_it() {
    let env = TestEnv::new();
    env.run_concurrently(4, &["sessions", "append", "t.jsonl", "number #"]);
    assert_eq!(env.json("path t.jsonl").as_array().unwrap().len(), 4);
}

#[test]
fn session_without_text_is_a_usage_error() {
    let env = TestEnv::with("say a");
    let output = env.run("append s.jsonl");
    assert_eq!(output.code, 2, "{}", output.err);
    assert!(output.err.contains("s.jsonl is a session; also give the TEXT"), "{}", output.err);
    let output = env.run("append 4f89da11-0000-4000-8000-000000000000");
    assert_eq!(output.code, 2, "{}", output.err);
}

/// The system kills programs that write more than the limit on file sizes allows, unless they handle its signal.
#[test]
fn a_limit_on_file_sizes_is_an_error_like_a_full_disk() {
    let env = TestEnv::with("say a; reply b");
    let before = env.read("s.jsonl");
    let direct = osier_command(&env, &["sessions", "append", "s.jsonl", "more"]);
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -f 0; exec \"$0\" \"$@\""]).arg(direct.get_program()).args(direct.get_args());
    limited.current_dir(direct.get_current_dir().unwrap()).env_clear();
    limited.envs(direct.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = limited.output().unwrap();
    let err = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.starts_with("osier: cannot ") && err.contains("File too large"), "{err}");
    assert_eq!(env.read("s.jsonl"), before);
}
