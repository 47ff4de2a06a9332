//! Compares Osier with what pi itself computed for the files in `fixtures/pi`.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::{World, ids};

pub(crate) fn fixture(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/pi")).join(name)
}

fn expected(name: &str) -> Value {
    serde_json::from_slice(&fs::read(fixture(name)).unwrap()).unwrap()
}

/// A test environment with a copy of a fixture in `s.jsonl`.
fn world(name: &str) -> World {
    let world = World::new();
    world.write("s.jsonl", fs::read(fixture(name)).unwrap());
    world
}

/// The context without fields that pi's file does not have.
fn context(world: &World) -> Value {
    let mut context = world.json("context s.jsonl");
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
    let (world, expected) = (world("v3-0.58.3-tree.jsonl"), expected("v3-0.58.3-tree.expected.json"));
    assert_eq!(world.json("context s.jsonl")["leafId"], expected["leafId"]);
    assert_eq!(context(&world), expected["context"]);
    assert_eq!(json!(ids(&world.json("path s.jsonl"))), expected["branchIds"]);
    assert_eq!(shape(&world.json("tree s.jsonl")), expected["tree"]);
    assert_eq!(world.json("label s.jsonl"), expected["labels"]);
    let card = world.json("show s.jsonl");
    assert_eq!((&card["name"], &card["entryCount"]), (&expected["sessionName"], &expected["entryCount"]));
    let snapshot = world.json("snapshot s.jsonl");
    assert_eq!(snapshot["activePath"], expected["branchIds"]);
    assert_eq!(snapshot["labelsByEntryId"], expected["labels"]);
    assert_eq!(snapshot["runtimeContext"]["messages"], expected["context"]["messages"]);
}

#[test]
fn newer_pi_entry_kinds_are_read_like_pi() {
    let (world, expected) =
        (world("v3-1.5.0-new-entries.jsonl"), expected("v3-1.5.0-new-entries.expected.json"));
    let context = world.json("context s.jsonl");
    for key in ["leafId", "messages", "model", "thinkingLevel"] {
        assert_eq!(context[key], expected[key], "{key}");
    }
}

#[test]
fn version_one_files_are_read_as_pi_migrates_them() {
    for release in ["0.58.3", "1.5.0"] {
        let expected = expected(&format!("v3-{release}-v1-migrated.expected.json"));
        for file in ["v1-linear.jsonl".to_owned(), format!("v3-{release}-v1-migrated.jsonl")] {
            let world = world(&file);
            assert_eq!(context(&world), expected["context"], "{file}");
            let path = world.json("path s.jsonl");
            assert_eq!(json!(path.as_array().unwrap().len()), expected["branchLength"], "{file}");
        }
    }
}

#[test]
fn first_append_migrates_a_version_one_file_and_keeps_the_original() {
    let world = world("v1-linear.jsonl");
    let before = (world.read("s.jsonl"), world.json("path s.jsonl"));
    world.ok("append s.jsonl 'one more'");
    assert_eq!(world.read("s.jsonl.v1.bak"), before.0);
    let path = world.json("path s.jsonl");
    assert_eq!(&path.as_array().unwrap()[..9], before.1.as_array().unwrap(), "including ids");
    assert_eq!(path[9]["parentId"], path[8]["id"]);
    let header: Value = serde_json::from_str(&world.lines("s.jsonl")[0]).unwrap();
    assert_eq!(header["version"], 3);
    assert_eq!(header["thinkingLevel"], json!("off"), "fields of the old header are kept");
}

#[test]
fn fork_matches_pi() {
    let world = world("v3-1.5.0-fork-source.jsonl");
    let before = world.read("s.jsonl");
    let fork = world.json("fork s.jsonl eb2bcfa6");
    assert_eq!(world.read("s.jsonl"), before);
    let made = without_ids_and_times(&fs::read_to_string(fork["file"].as_str().unwrap()).unwrap());
    let by_pi = without_ids_and_times(&fs::read_to_string(fixture("v3-1.5.0-fork-result.jsonl")).unwrap());
    assert_eq!(made.len(), by_pi.len());
    for (ours, theirs) in made.iter().zip(&by_pi).skip(1) {
        assert_eq!(ours, theirs);
    }
    for key in ["type", "version", "cwd"] {
        assert_eq!(made[0][key], by_pi[0][key], "{key}");
    }
    assert_eq!(made[0]["parentSession"], json!(world.path("s.jsonl")));
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
        let world = world(path.file_name().unwrap().to_str().unwrap());
        let before =
            (world.read("s.jsonl"), fs::metadata(world.path("s.jsonl")).unwrap().modified().unwrap());
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
            let ran = world.run(command);
            assert_eq!(ran.code, 0, "{path:?}: {command}: {}", ran.err);
            let after =
                (world.read("s.jsonl"), fs::metadata(world.path("s.jsonl")).unwrap().modified().unwrap());
            assert!(after == before, "{path:?}: {command}");
        }
        let names = fs::read_dir(world.cwd()).unwrap().count();
        assert_eq!(names, 1, "no file is created beside it");
    }
}
