//! `snapshot`: everything a client needs, from one consistent state.

use std::collections::HashSet;

use osier_testkit::expect;
use serde_json::{Value, json};

use crate::support::{TestEnv, ids, strings};

const TALK: &str = "model anthropic/claude; say a; reply b; label good; say c; label gone; unlabel c; move b; say d; name Talk; \
    config approvalMode=yolo";

#[test]
fn a_snapshot_contains_everything_a_client_needs() {
    let env = TestEnv::with(TALK);
    let snapshot = env.json("snapshot s.jsonl");
    let keys: Vec<&String> = snapshot.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "schemaVersion",
            "revision",
            "generation",
            "session",
            "entries",
            "activePath",
            "childrenByParentId",
            "labelsByEntryId",
            "deletedBranches",
            "runtimeContext"
        ]
    );
    assert_eq!((&snapshot["schemaVersion"], &snapshot["revision"]), (&json!(1), &json!(11)));
    let session = &snapshot["session"];
    for (key, value) in [
        ("provider", json!("file")),
        ("rootEntryId", json!("00000001")),
        ("leafEntryId", json!("0000000b")),
        ("cwd", json!("/code")),
        ("agentId", json!("main")),
        ("title", json!("Talk")),
        ("status", json!("active")),
        (
            "settings",
            json!({ "approvalMode": "yolo", "approvalTools": [], "pastedImageMap": {}, "pastedTextMap": {} }),
        ),
    ] {
        assert_eq!(session[key], value, "{key}");
    }
    assert_eq!(
        json!(ids(&snapshot["entries"])),
        json!((1..=11).map(|n| format!("{n:08x}")).collect::<Vec<_>>())
    );
    assert_eq!(
        strings(&snapshot["activePath"]),
        ["00000001", "00000002", "00000003", "00000009", "0000000a", "0000000b"]
    );
    assert_eq!(snapshot["labelsByEntryId"], json!({ "00000003": "good" }), "a cleared label is absent");
    assert_eq!(snapshot["runtimeContext"], env.json("context s.jsonl"));
}

#[test]
fn roots_have_their_own_key_and_children_keep_log_order() {
    let env = TestEnv::with("say a; reply b; say c; move a; reply d; root; say e");
    let snapshot = env.json("snapshot s.jsonl");
    expect![[r#"
        {
          "__roots__": [
            "00000001",
            "00000006",
            "00000007"
          ],
          "00000001": [
            "00000002",
            "00000004",
            "00000005"
          ],
          "00000002": [
            "00000003"
          ]
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&snapshot["childrenByParentId"]).unwrap());
    assert_eq!(osier_tree::projection::snapshot::ROOTS, "__roots__");
}

#[test]
fn an_entry_with_the_id_of_the_root_key_hides_nothing() {
    let env = TestEnv::new();
    env.ok(r#"append s.jsonl --entry '{"type":"custom","customType":"x","id":"__roots__","parentId":null}'"#);
    env.ok("append s.jsonl below");
    let children = env.json("snapshot s.jsonl")["childrenByParentId"].clone();
    assert_eq!(children, json!({ "__roots__": ["__roots__"] }));
}

#[test]
fn empty_sessions_and_sessions_at_the_root_have_snapshots() {
    let env = TestEnv::with("");
    let snapshot = env.json("snapshot s.jsonl");
    assert_eq!(snapshot["revision"], 0);
    assert_eq!(snapshot["session"]["rootEntryId"], json!(null));
    assert_eq!(snapshot["session"]["leafEntryId"], json!(null));
    assert_eq!(snapshot["childrenByParentId"], json!({ "__roots__": [] }));
    assert_eq!(snapshot["runtimeContext"]["messages"], json!([]));
    let snapshot = TestEnv::with("say a; root").json("snapshot s.jsonl");
    assert_eq!(snapshot["session"]["rootEntryId"], "00000001");
    assert_eq!(snapshot["session"]["leafEntryId"], json!(null));
    assert_eq!(snapshot["activePath"], json!([]));
}

#[test]
fn the_context_is_optional_and_the_output_is_always_json() {
    let env = TestEnv::with(TALK);
    assert_eq!(env.json("snapshot s.jsonl --no-context").get("runtimeContext"), None);
    assert_eq!(env.ok("snapshot s.jsonl"), env.ok("snapshot s.jsonl --json"));
}

#[test]
fn the_revision_grows_with_every_entry_and_gc_starts_a_new_generation() {
    let env = TestEnv::with("say a; reply b; say c");
    let before = env.json("snapshot s.jsonl");
    env.ok("label s.jsonl 00000001 x");
    env.ok("delete-branch s.jsonl 00000003");
    let after = env.json("snapshot s.jsonl");
    assert_eq!((&before["revision"], &after["revision"]), (&json!(3), &json!(5)));
    assert_eq!(before["generation"], after["generation"]);
    env.ok("gc s.jsonl");
    assert_ne!(env.json("snapshot s.jsonl")["generation"], before["generation"]);
}

/// Changes since a state before gc cannot be reported, with or without a generation.
#[test]
fn a_state_from_before_gc_gives_a_reset() {
    let env = TestEnv::with("say a; reply b; say c; reply d; move b; say e");
    let before = env.json("snapshot s.jsonl --no-context");
    let (revision, generation) =
        (before["revision"].as_u64().unwrap(), before["generation"].as_str().unwrap());
    env.ok("delete-branch s.jsonl 00000003");
    env.ok("gc s.jsonl");
    for text in ["one", "two", "three"] {
        env.ok(&format!("append s.jsonl {text}"));
    }
    let after = env.json("snapshot s.jsonl --no-context");
    assert!(after["revision"].as_u64().unwrap() >= revision, "the log is as long as it was");
    for since in ["2".to_owned(), revision.to_string(), format!("{revision}@{generation}")] {
        let update = env.json(&format!("snapshot s.jsonl --no-context --since {since}"));
        assert_eq!((&update["reset"], &update["since"]), (&json!(true), &json!(0)), "{since}");
        assert_eq!(update["entries"], after["entries"], "{since}");
    }
    let now = format!("{}@{}", after["revision"], after["generation"].as_str().unwrap());
    let update = env.json(&format!("snapshot s.jsonl --no-context --since {now}"));
    assert_eq!((&update["reset"], update["entries"].as_array().unwrap().len()), (&json!(false), 0));
}

/// Osier's own kinds appear with their own type names and fields.
#[test]
fn own_kinds_appear_typed() {
    let env = TestEnv::with(
        "say a; reply b; say c; move b; backtrack 0 another way; config x=1; delete c; restore c",
    );
    let snapshot = env.json("snapshot s.jsonl");
    let kinds: Vec<&str> =
        snapshot["entries"].as_array().unwrap().iter().map(|entry| entry["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        ["message", "message", "message", "leaf", "backtrack", "config", "delete_branch", "restore_branch"]
    );
    let entry = |at: usize, key: &str| snapshot["entries"][at][key].clone();
    assert_eq!((entry(3, "fromId"), entry(3, "why")), (json!("00000003"), json!("move")));
    assert_eq!((entry(4, "checkpointId"), entry(4, "note")), (json!(0), json!("another way")));
    assert_eq!(entry(5, "set"), json!({ "x": "1" }));
    assert_eq!(entry(6, "targetId"), json!("00000003"));
}

/// All parts come from one state, even while other processes append.
#[test]
fn a_snapshot_is_one_state_while_others_append() {
    let env = TestEnv::new();
    env.ok("append s.jsonl start");
    let mut writers: Vec<_> = (0..2)
        .map(|number| {
            let loop_ = format!(
                "for n in $(seq 40); do \"$OSIER\" sessions append s.jsonl \"{number} $n\" >/dev/null || exit 1; \
                 \"$OSIER\" sessions label s.jsonl $(\"$OSIER\" sessions append s.jsonl x) y >/dev/null || exit 1; done"
            );
            let mut command = std::process::Command::new("sh");
            command.args(["-c", &loop_]).env("OSIER", env!("CARGO_BIN_EXE_osier")).env("OSIER_HOME", env.home());
            command.current_dir(env.cwd()).spawn().unwrap()
        })
        .collect();
    let mut revisions = HashSet::new();
    while writers.iter_mut().any(|writer| writer.try_wait().unwrap().is_none()) {
        let snapshot = env.json("snapshot s.jsonl");
        check_one_state(&snapshot);
        revisions.insert(snapshot["revision"].as_u64().unwrap());
    }
    for mut writer in writers {
        assert!(writer.wait().unwrap().success());
    }
    assert!(revisions.len() > 3, "{revisions:?}");
}

fn check_one_state(snapshot: &Value) {
    let (session, entries) = (&snapshot["session"], ids(&snapshot["entries"]));
    assert_eq!(snapshot["revision"], json!(entries.len()));
    assert_eq!(session["entryCount"], json!(entries.len()));
    assert_eq!(session["leafEntryId"], session["leafId"]);
    assert_eq!(session["leafEntryId"], json!(entries.last().unwrap()));
    assert_eq!(session["leafEntryId"], *snapshot["activePath"].as_array().unwrap().last().unwrap());
    assert_eq!(session["leafEntryId"], snapshot["runtimeContext"]["leafId"]);
    let messages =
        snapshot["entries"].as_array().unwrap().iter().filter(|entry| entry["type"] == "message").count();
    assert_eq!(session["messageCount"], json!(messages));
    assert_eq!(snapshot["runtimeContext"]["messages"].as_array().unwrap().len(), messages);
    let children = snapshot["childrenByParentId"].as_object().unwrap();
    assert_eq!(children.values().map(|of| of.as_array().unwrap().len()).sum::<usize>(), entries.len());
    let labels =
        snapshot["entries"].as_array().unwrap().iter().filter(|entry| entry["type"] == "label").count();
    assert_eq!(snapshot["labelsByEntryId"].as_object().unwrap().len(), labels);
}

#[test]
fn since_gives_new_entries_or_a_reset() {
    let env = TestEnv::with("say a; reply b; say c; move b; say d");
    let full = env.json("snapshot s.jsonl --no-context");
    let (revision, generation) = (full["revision"].as_u64().unwrap(), full["generation"].as_str().unwrap());
    assert!(full.get("reset").is_none());
    let since = |since: &str| {
        let update = env.json(&format!("snapshot s.jsonl --no-context --since {since}"));
        (
            update["reset"].as_bool().unwrap(),
            update["since"].as_u64().unwrap(),
            update["entries"].as_array().unwrap().len(),
        )
    };
    assert_eq!(since("3"), (false, 3, revision as usize - 3));
    assert_eq!(since(&format!("{revision}@{generation}")), (false, revision, 0));
    assert_eq!(since("3@0000000000000001"), (true, 0, revision as usize), "another log");
    assert_eq!(since("99"), (true, 0, revision as usize), "more than there is");
    env.fails(2, "snapshot s.jsonl --since soon");
}
