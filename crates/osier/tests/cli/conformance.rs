//! Compares Osier with what pi itself computed for the files in `fixtures/pi`.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{TestEnv, ids};

pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/pi")).join(name)
}

fn expected(name: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture(name)).unwrap()).unwrap()
}

/// A test environment with a copy of a fixture in `s.jsonl`.
fn env(name: &str) -> TestEnv {
    let env = TestEnv::new();
    env.write("s.jsonl", fs::read(fixture(name)).unwrap());
    env
}

/// The context without fields that pi's file does not have.
fn context(env: &TestEnv) -> Value {
    let mut context = env.json("context s.jsonl");
    context.as_object_mut().unwrap().remove("leafId");
    context
}

/// A tree in the form of the fixtures: ids, labels, children.
fn shape(nodes: &Value) -> Value {
    let node = |node: &Value| {
        let mut shape = json!({ "id": node["entry"]["id"] });
        if let Some(label) = node.get("label") {
            shape["label"] = label.clone();
        }
        shape["children"] = self::shape(&node["children"]);
        shape
    };
    nodes.as_array().unwrap().iter().map(node).collect()
}

#[test]
fn pi_session_has_the_same_leaf_path_tree_labels_name_and_context() {
    let (env, expected) = (env("v3-0.58.3-tree.jsonl"), expected("v3-0.58.3-tree.expected.json"));
    assert_eq!(env.json("context s.jsonl")["leafId"], expected["leafId"]);
    assert_eq!(context(&env), expected["context"]);
    assert_eq!(json!(ids(&env.json("path s.jsonl"))), expected["branchIds"]);
    assert_eq!(shape(&env.json("tree s.jsonl")), expected["tree"]);
    assert_eq!(env.json("label s.jsonl"), expected["labels"]);
    let card = env.json("show s.jsonl");
    assert_eq!((&card["name"], &card["entryCount"]), (&expected["sessionName"], &expected["entryCount"]));
    let snapshot = env.json("snapshot s.jsonl");
    assert_eq!(snapshot["activePath"], expected["branchIds"]);
    assert_eq!(snapshot["labelsByEntryId"], expected["labels"]);
    assert_eq!(snapshot["runtimeContext"]["messages"], expected["context"]["messages"]);
}

#[test]
fn newer_pi_entry_kinds_are_read_like_pi() {
    let (env, expected) = (env("v3-1.5.0-new-entries.jsonl"), expected("v3-1.5.0-new-entries.expected.json"));
    let context = env.json("context s.jsonl");
    for key in ["leafId", "messages", "model", "thinkingLevel"] {
        assert_eq!(context[key], expected[key], "{key}");
    }
}

#[test]
fn version_one_files_are_read_as_pi_migrates_them() {
    for release in ["0.58.3", "1.5.0"] {
        let expected = expected(&format!("v3-{release}-v1-migrated.expected.json"));
        for file in ["v1-linear.jsonl".to_owned(), format!("v3-{release}-v1-migrated.jsonl")] {
            let env = env(&file);
            assert_eq!(context(&env), expected["context"], "{file}");
            let path = env.json("path s.jsonl");
            assert_eq!(json!(path.as_array().unwrap().len()), expected["branchLength"], "{file}");
        }
    }
}

#[test]
fn first_append_migrates_a_version_one_file_and_keeps_the_original() {
    let env = env("v1-linear.jsonl");
    let before = (env.read("s.jsonl"), env.json("path s.jsonl"));
    env.ok("append s.jsonl 'one more'");
    assert_eq!(env.read("s.jsonl.v1.bak"), before.0);
    let path = env.json("path s.jsonl");
    assert_eq!(&path.as_array().unwrap()[..9], before.1.as_array().unwrap(), "including ids");
    assert_eq!(path[9]["parentId"], path[8]["id"]);
    let header: Value = serde_json::from_str(&env.lines("s.jsonl")[0]).unwrap();
    assert_eq!(header["version"], 3);
    assert_eq!(header["thinkingLevel"], json!("off"), "fields of the old header are kept");
}

#[test]
fn fork_matches_pi() {
    let env = env("v3-1.5.0-fork-source.jsonl");
    let before = env.read("s.jsonl");
    let fork = env.json("fork s.jsonl eb2bcfa6");
    assert_eq!(env.read("s.jsonl"), before);
    let forked = without_ids_and_times(&fs::read_to_string(fork["file"].as_str().unwrap()).unwrap());
    let by_pi = without_ids_and_times(&fs::read_to_string(fixture("v3-1.5.0-fork-result.jsonl")).unwrap());
    assert_eq!(forked.len(), by_pi.len());
    for (ours, theirs) in forked.iter().zip(&by_pi).skip(1) {
        assert_eq!(ours, theirs);
    }
    for key in ["type", "version", "cwd"] {
        assert_eq!(forked[0][key], by_pi[0][key], "{key}");
    }
    assert_eq!(forked[0]["parentSession"], json!(env.path("s.jsonl")));
}

/// Lines without the ids of labels, and without the times of labels and header.
fn without_ids_and_times(file: &str) -> Vec<Value> {
    let mut last = Value::Null;
    let mut plain = |line: &str| {
        let mut entry: Value = serde_json::from_str(line).unwrap();
        let hangs_below_the_last = entry["parentId"] == last;
        last = entry["id"].clone();
        if entry["type"] == "label" {
            entry["id"] = json!("new");
            entry["parentId"] = json!(hangs_below_the_last);
        }
        entry
    };
    file.lines().map(&mut plain).collect()
}

/// Opening and reading never write to the file.
#[test]
fn read_only_commands_leave_the_file_unchanged() {
    for entry in fs::read_dir(fixture("")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "jsonl") {
            continue;
        }
        let env = env(path.file_name().unwrap().to_str().unwrap());
        let before = (env.read("s.jsonl"), fs::metadata(env.path("s.jsonl")).unwrap().modified().unwrap());
        for command in [
            "show s.jsonl",
            "show s.jsonl --json",
            "show s.jsonl --usage",
            "tree s.jsonl",
            "tree s.jsonl --json",
            "path s.jsonl",
            "path s.jsonl --json",
            "context s.jsonl",
            "context s.jsonl --json",
            "context s.jsonl --request",
            "snapshot s.jsonl",
            "label s.jsonl",
            "config s.jsonl",
            "fork s.jsonl",
            "verify s.jsonl",
            "gc s.jsonl --dry-run",
            "export s.jsonl",
            "export s.jsonl --format jsonl",
            "export s.jsonl --json",
        ] {
            let output = env.run(command);
            assert_eq!(output.code, 0, "{path:?}: {command}: {}", output.err);
            let after = (env.read("s.jsonl"), fs::metadata(env.path("s.jsonl")).unwrap().modified().unwrap());
            assert!(after == before, "{path:?}: {command}");
        }
        let names = fs::read_dir(env.cwd()).unwrap().count();
        assert_eq!(names, 1, "no file is created beside it");
    }
}
