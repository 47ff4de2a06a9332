//! `fork`: copies a path into a new session.

use std::fs;

use osier_testkit::expect;
use serde_json::{Value, json};

use crate::support::TestEnv;

#[test]
fn fork_has_the_path_its_labels_and_the_settings() {
    let env = TestEnv::with(
        "say a; reply b; label good; say c; reply d; label other; move b; config summary=Kept; say e; reply f; move e; say g",
    );
    let before = env.read("s.jsonl");
    let fork = env.json("fork s.jsonl 0000000a");
    assert_eq!(env.read("s.jsonl"), before, "the source is unchanged");
    let file = fork["file"].as_str().unwrap();
    fs::copy(file, env.path("f.jsonl")).unwrap();
    env.check(
        &["tree f.jsonl --filter all", "config f.jsonl"],
        expect![[r#"
            $ tree f.jsonl --filter all
            user: "a"
            [good] assistant: "b"
            user: "e"
            assistant: "f"
            [label: good]
            [config: summary=Kept]  ← active
            $ config f.jsonl
            approvalMode = "default"
            approvalTools = []
            pastedImageMap = {}
            pastedTextMap = {}
            summary = "Kept"
        "#]],
    );
    let header = header(file);
    assert_eq!(header["cwd"], "/code");
    assert_eq!(header["parentSession"], json!(env.path("s.jsonl")));
    assert_eq!(header["parentSessionId"], "5e551011-0000-4000-8000-000000000001");
    assert_eq!(header["parentStore"], "file");
    assert_eq!(header["version"], 3);
    let tree = env.json(&format!("path {file}"));
    assert_eq!(fork["leafId"], tree.as_array().unwrap().last().unwrap()["id"]);
}

#[test]
fn fork_without_an_entry_copies_the_path_to_the_leaf() {
    let env = TestEnv::with("say a; reply b; say c; move b; say d");
    let id = env.ok("fork s.jsonl").trim().to_owned();
    let messages = env.json(&format!("context {id}"))["messages"].clone();
    assert_eq!(messages, env.json("context s.jsonl")["messages"]);
}

#[test]
fn fork_may_have_its_own_name() {
    let env = TestEnv::with("say a; reply b; name Old");
    let fork = env.json("fork s.jsonl --name New");
    let id = fork["session"].as_str().unwrap();
    assert_eq!(env.json(&format!("show {id}"))["name"], "New");
    assert_eq!(env.json("show s.jsonl")["name"], "Old");
    assert_eq!(env.json(&format!("verify {id}"))["sound"], true);
}

#[test]
fn failed_fork_leaves_no_file() {
    let env = TestEnv::with("say a; reply b; root");
    env.check(
        &["fork s.jsonl", "fork s.jsonl root", "fork s.jsonl 0000000f"],
        expect![[r#"
        $ fork s.jsonl
        ! osier: nothing to fork: the session is before its first entry; give an ENTRY
        exit 1
        $ fork s.jsonl root
        ! osier: nothing to fork: the session is before its first entry; give an ENTRY
        exit 1
        $ fork s.jsonl 0000000f
        ! osier: no entry 0000000f in this session; did you mean 00000001, 00000002, 00000003?
        exit 1
    "#]],
    );
    assert_eq!(env.session_files().len(), 0);
}

#[test]
fn forking_a_version_one_file_does_not_change_it() {
    let env = TestEnv::new();
    let old = fs::read(crate::conformance::fixture("v1-linear.jsonl")).unwrap();
    env.write("old.jsonl", &old);
    let id = env.ok("fork old.jsonl").trim().to_owned();
    assert_eq!(env.read("old.jsonl"), old);
    let messages = env.json(&format!("context {id}"))["messages"].clone();
    assert_eq!(messages, env.json("context old.jsonl")["messages"]);
}

#[test]
fn compaction_keeps_from_the_entry_after_a_dropped_label() {
    let env = TestEnv::with("say a; reply b; label x; say c; compact keep c \"so far\"; say d");
    // A compaction of another program that keeps from the label itself.
    let file = String::from_utf8(env.read("s.jsonl")).unwrap();
    env.write(
        "s.jsonl",
        file.replace(r#""firstKeptEntryId":"00000004""#, r#""firstKeptEntryId":"00000003""#),
    );
    let id = env.ok("fork s.jsonl").trim().to_owned();
    assert_eq!(env.json(&format!("context {id}"))["messages"], env.json("context s.jsonl")["messages"]);
}

#[test]
fn fork_at_a_user_message_stops_before_it_and_prints_its_text() {
    let env = TestEnv::with("say a; reply b; say c; reply d; label end");
    let before = env.read("s.jsonl");
    env.check(
        &["fork s.jsonl 00000003", "fork s.jsonl 00000003 --at"],
        expect![[r#"
        $ fork s.jsonl 00000003
        <1>
        c
        $ fork s.jsonl 00000003 --at
        <2>
    "#]],
    );
    let fork = env.json("fork s.jsonl 00000003");
    assert_eq!((&fork["editorText"], &fork["leafId"]), (&json!("c"), &json!("00000002")));
    let exact = env.json("fork s.jsonl 00000003 --exact");
    assert_eq!((&exact["editorText"], &exact["leafId"]), (&json!(null), &json!("00000003")));
    let mark = env.json("fork s.jsonl 00000005");
    let messages = env.json(&format!("context {}", mark["file"].as_str().unwrap()))["messages"].clone();
    assert_eq!(messages, env.json("context s.jsonl")["messages"], "a mark counts as the entry above it");
    assert_eq!(env.read("s.jsonl"), before);
}

#[test]
fn fork_at_the_first_message_creates_an_empty_session() {
    let env = TestEnv::with("say a; reply b; config approvalMode=autoEdit");
    let fork = env.json("fork s.jsonl 00000001");
    assert_eq!(fork["editorText"], "a");
    let file = fork["file"].as_str().unwrap();
    assert_eq!(header(file)["parentSessionId"], "5e551011-0000-4000-8000-000000000001");
    assert_eq!(env.json(&format!("context {file}"))["messages"], json!([]));
}

#[test]
fn calls_without_results_are_forked_only_with_exact() {
    let env = TestEnv::with("say a; reply b calls read x");
    env.check(&["fork s.jsonl 00000002"], expect![[r#"
        $ fork s.jsonl 00000002
        ! osier: entry 00000002 calls tools that have no result; choose an earlier entry, or move to it with `--exact`
        exit 1
    "#]]);
    assert_eq!(env.json("fork s.jsonl 00000002 --exact")["leafId"], "00000002");
}

#[test]
fn list_shows_user_messages_newest_first() {
    let env = TestEnv::with("say first; reply b; say second; reply d; move b; say other  way; reply f");
    // The second column is the age.
    let list = |args: &str| -> Vec<String> {
        let text = env.ok(&format!("fork s.jsonl --list {args}"));
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        text.lines().map(words).map(|words| [&words[..1], &words[2..]].concat().join(" ")).collect()
    };
    assert_eq!(list(""), ["00000006 other way", "00000001 first"]);
    assert_eq!(list("--all"), ["00000006 other way", "00000003 second", "00000001 first"]);
    let json = env.json("fork s.jsonl --list");
    assert_eq!((&json[0]["id"], &json[0]["text"]), (&json!("00000006"), &json!("other  way")));
    assert!(json[0]["timestamp"].is_string());
    env.fails(2, "fork s.jsonl 00000001 --list");
    env.fails(2, "fork s.jsonl --all");
}

fn header(file: &str) -> Value {
    let text = fs::read_to_string(file).unwrap();
    serde_json::from_str(text.lines().next().unwrap()).unwrap()
}
