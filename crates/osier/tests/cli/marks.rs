//! Labels, names and settings of a session.

use std::sync::Arc;

use osier_session::{Session, SessionEnv};
use osier_store::FileStore;
use osier_testkit::expect;
use serde_json::json;

use crate::support::{TestEnv, check, ids};

#[test]
fn labels_are_listed_shown_set_and_cleared() {
    check(
        "say a; reply b",
        &[
            "label s.jsonl",
            "label s.jsonl 00000002 'works here'",
            "label s.jsonl 00000001 start",
            "label s.jsonl",
            "label s.jsonl 00000002",
            "label s.jsonl 00000002 better",
            "tree s.jsonl",
            "label s.jsonl 00000002 ''",
            "label s.jsonl 00000001 --clear",
            "label s.jsonl 00000001",
            "label s.jsonl",
            "label s.jsonl 0000000f x",
            "label s.jsonl 0000000f",
        ],
        expect![[r#"
            $ label s.jsonl
            ! no labels
            $ label s.jsonl 00000002 'works here'
            00000002  works here
            $ label s.jsonl 00000001 start
            00000001  start
            $ label s.jsonl
            00000002  works here
            00000001  start
            $ label s.jsonl 00000002
            00000002  works here
            $ label s.jsonl 00000002 better
            00000002  better
            $ tree s.jsonl
            [start] user: "a"
            [better] assistant: "b"  ← active
            $ label s.jsonl 00000002 ''
            ! no label
            $ label s.jsonl 00000001 --clear
            ! no label
            $ label s.jsonl 00000001
            ! no label
            $ label s.jsonl
            ! no labels
            $ label s.jsonl 0000000f x
            ! osier: no entry 0000000f in this session; did you mean 00000001, 00000002?
            exit 1
            $ label s.jsonl 0000000f
            ! osier: no entry 0000000f in this session; did you mean 00000001, 00000002?
            exit 1
        "#]],
    );
}

#[test]
fn label_json_maps_entries_to_labels() {
    let env = TestEnv::with("say a; reply b; label x; say c");
    assert_eq!(env.json("label s.jsonl"), json!({ "00000002": "x" }));
    assert_eq!(env.json("label s.jsonl 00000001"), json!({}));
    assert_eq!(env.json("label s.jsonl 00000001 y"), json!({ "00000001": "y" }));
    assert_eq!(env.json("label s.jsonl"), json!({ "00000002": "x", "00000001": "y" }));
    assert_eq!(env.json("label s.jsonl 00000002 --clear"), json!({}));
}

#[test]
fn multi_line_label_is_stored_as_one_line() {
    let env = TestEnv::with("say a");
    env.ok("label s.jsonl 00000001 'one\ntwo'");
    assert_eq!(env.json("label s.jsonl"), json!({ "00000001": "one two" }));
}

#[test]
fn session_name_is_set_and_cleared() {
    let env = TestEnv::with("say a");
    assert_eq!(env.ok("rename s.jsonl 'JSON flag'"), "Renamed to JSON flag\n");
    assert_eq!(env.json("show s.jsonl")["name"], "JSON flag");
    let renamed = env.json("rename s.jsonl ' other '");
    assert_eq!(renamed, json!({ "session": "5e551011-0000-4000-8000-000000000001", "name": "other" }));
    assert_eq!(env.json("rename s.jsonl ''")["name"], json!(null));
    assert_eq!(env.json("show s.jsonl").get("name"), None);
}

#[test]
fn missing_settings_have_defaults() {
    check(
        "say a",
        &[
            "config s.jsonl",
            "config s.jsonl approvalMode=yolo 'approvalTools=[\"read\"]' 'summary=all about a' mine=1.5",
            "config s.jsonl --unset approvalMode --unset mine summary=12",
            "config s.jsonl --json",
        ],
        expect![[r#"
            $ config s.jsonl
            approvalMode = "default"
            approvalTools = []
            pastedImageMap = {}
            pastedTextMap = {}
            $ config s.jsonl approvalMode=yolo 'approvalTools=["read"]' 'summary=all about a' mine=1.5
            approvalMode = "yolo"
            approvalTools = ["read"]
            pastedImageMap = {}
            pastedTextMap = {}
            mine = 1.5
            summary = "all about a"
            $ config s.jsonl --unset approvalMode --unset mine summary=12
            approvalMode = "default"
            approvalTools = ["read"]
            pastedImageMap = {}
            pastedTextMap = {}
            summary = "12"
            $ config s.jsonl --json
            {"approvalMode":"default","approvalTools":["read"],"pastedImageMap":{},"pastedTextMap":{},"summary":"12"}
        "#]],
    );
}

#[test]
fn settings_apply_to_one_session_only() {
    let env = TestEnv::with("say a");
    let before = env.read("s.jsonl");
    env.ok("config s.jsonl");
    assert_eq!(env.read("s.jsonl"), before);
    env.ok("config s.jsonl approvalMode=autoEdit");
    assert!(env.read("s.jsonl").starts_with(&before));
    let line: serde_json::Value = serde_json::from_str(env.lines("s.jsonl").last().unwrap()).unwrap();
    assert_eq!((&line["type"], &line["customType"]), (&json!("custom"), &json!("osier.config")));
    assert_eq!(line["data"], json!({ "set": { "approvalMode": "autoEdit" }, "unset": [] }));
    env.ok("append other.jsonl hello");
    assert_eq!(env.json("config other.jsonl")["approvalMode"], "default");
}

#[test]
fn invalid_setting_values_are_rejected_and_not_written() {
    let env = TestEnv::with("say a");
    let before = env.read("s.jsonl");
    for setting in [
        "approvalMode=sometimes",
        "approvalTools=read",
        "'approvalTools=[1]'",
        "pastedTextMap=[]",
        "pastedImageMap=1",
        "=x",
    ] {
        env.fails(2, &format!("config s.jsonl mine=1 {setting}"));
    }
    assert_eq!(env.read("s.jsonl"), before);
}

/// A process on an older branch labels, renames and configures; the position does not change.
#[test]
fn marks_never_change_the_position() {
    let env = TestEnv::with("say a; reply b; say c; reply d");
    let before = env.json("context s.jsonl")["messages"].clone();
    env.ok("label s.jsonl 00000001 old");
    env.ok("rename s.jsonl name");
    env.ok("config s.jsonl mine=1");
    assert_eq!(env.json("context s.jsonl")["messages"], before);
    let path = env.json("path s.jsonl");
    assert_eq!(&ids(&path)[..4], ["00000001", "00000002", "00000003", "00000004"]);
    // The next message continues at the same position.
    env.ok("append s.jsonl e");
    assert_eq!(env.json("context s.jsonl")["messages"].as_array().unwrap().len(), 5);
}

/// The same, from a process that opened the session before the last moves.
#[tokio::test]
async fn mark_of_a_stale_process_does_not_change_the_position() {
    let env = TestEnv::with("say a; reply b; say c; reply d");
    let store = Arc::new(FileStore::new(env.home().join("sessions"), None));
    let key = FileStore::path_to_id(&env.path("s.jsonl")).unwrap();
    let stale =
        Session::open(store, &key, SessionEnv { watch: false, ..SessionEnv::default() }).await.unwrap();
    env.ok("move s.jsonl 00000002");
    env.ok("append s.jsonl 'another way'");
    let before = env.json("context s.jsonl")["messages"].clone();
    stale.label("00000004", Some("dead end")).await.unwrap();
    stale.rename("name").await.unwrap();
    assert_eq!(env.json("context s.jsonl")["messages"], before);
    assert_eq!(env.json("label s.jsonl"), json!({ "00000004": "dead end" }));
    assert!(env.ok("tree s.jsonl").ends_with("user: \"another way\"  ← active\n"));
}
