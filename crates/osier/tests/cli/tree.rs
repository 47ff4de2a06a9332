//! `tree`: the drawing, filters and JSON.

use osier_testkit::expect;
use serde_json::{Value, json};

use crate::support::{TestEnv, check};

const TALK: &str = "model anthropic/claude; say a; reply b calls read x.txt, bash ls; result c; result d; reply e; label good; \
    say f; reply g; move e; say h; reply i; name Talk";

#[test]
fn the_tree_is_drawn_with_branches_labels_and_the_active_entry() {
    check(
        TALK,
        &["tree s.jsonl", "tree s.jsonl --ids", "tree s.jsonl --active-first"],
        expect![[r#"
        $ tree s.jsonl
        user: "a"
        assistant: "b"
        [read: x.txt]
        [bash: ls]
        [good] assistant: "e"
        ├─ user: "f"
        │  assistant: "g"
        └─ user: "h"
           assistant: "i"  ← active
        $ tree s.jsonl --ids
        00000002  user: "a"
        00000003  assistant: "b"
        00000004  [read: x.txt]
        00000005  [bash: ls]
        00000006  [good] assistant: "e"
        ├─ 00000008  user: "f"
        │  00000009  assistant: "g"
        └─ 0000000b  user: "h"
           0000000c  assistant: "i"  ← active
        $ tree s.jsonl --active-first
        user: "a"
        assistant: "b"
        [read: x.txt]
        [bash: ls]
        [good] assistant: "e"
        ├─ user: "h"
        │  assistant: "i"  ← active
        └─ user: "f"
           assistant: "g"
    "#]],
    );
}

#[test]
fn settings_control_the_tree_and_options_override_them() {
    let env = TestEnv::with(TALK);
    let tree = |options: &str| env.ok(&format!("tree s.jsonl {options}"));
    let (plain, active, users) =
        (tree(""), tree("--active-first"), tree("--filter user-only --order oldest"));
    assert!(plain != active && plain != users);
    std::fs::create_dir_all(env.home()).unwrap();
    std::fs::write(env.home().join("config.toml"), "tree_order = \"active\"\n").unwrap();
    assert_eq!(
        (tree(""), tree("--order oldest"), tree("--order active")),
        (active.clone(), plain.clone(), active)
    );
    std::fs::write(env.home().join("config.toml"), "tree_filter = \"user-only\"\n").unwrap();
    assert_eq!((tree(""), tree("--filter default")), (users, plain));
    env.fails(2, "tree s.jsonl --order odd");
    env.fails(2, "tree s.jsonl --order active --active-first");
}

#[test]
fn filters_select_entries() {
    check(
        TALK,
        &[
            "tree s.jsonl --filter no-tools",
            "tree s.jsonl --filter user-only",
            "tree s.jsonl --filter labeled-only",
            "tree s.jsonl --filter all",
        ],
        expect![[r#"
            $ tree s.jsonl --filter no-tools
            user: "a"
            assistant: "b"
            [good] assistant: "e"
            ├─ user: "f"
            │  assistant: "g"
            └─ user: "h"
               assistant: "i"  ← active
            $ tree s.jsonl --filter user-only
            user: "a"
            ├─ user: "f"
            └─ user: "h"  ← active
            $ tree s.jsonl --filter labeled-only
            [good] assistant: "e"  ← active
            $ tree s.jsonl --filter all
            [model: claude]
            user: "a"
            assistant: "b"
            [read: x.txt]
            [bash: ls]
            [good] assistant: "e"
            ├─ [label: good]
            │  user: "f"
            │  assistant: "g"
            ├─ [moved]
            └─ user: "h"
               assistant: "i"
               [title: Talk]  ← active
        "#]],
    );
}

#[test]
fn search_shows_entries_that_contain_all_words() {
    check(
        "say make a JSON flag; reply sure; label json done; say thanks",
        &["tree s.jsonl --search 'flag json'", "tree s.jsonl --search json", "tree s.jsonl --search nothing"],
        expect![[r#"
            $ tree s.jsonl --search 'flag json'
            user: "make a JSON flag"  ← active
            $ tree s.jsonl --search json
            user: "make a JSON flag"
            [json done] assistant: "sure"  ← active
            $ tree s.jsonl --search nothing
            (no entries match this filter)
        "#]],
    );
}

#[test]
fn at_marks_another_entry_and_an_unknown_entry_fails() {
    check(
        "say a; reply b; say c",
        &["tree s.jsonl --at 00000002", "tree s.jsonl --at root", "tree s.jsonl --at 00000009"],
        expect![[r#"
            $ tree s.jsonl --at 00000002
            user: "a"
            assistant: "b"  ← active
            user: "c"
            $ tree s.jsonl --at root
            (the beginning)  ← active
            user: "a"
            assistant: "b"
            user: "c"
            $ tree s.jsonl --at 00000009
            ! osier: no entry 00000009 in this session; did you mean 00000001, 00000002, 00000003?
            exit 1
        "#]],
    );
    let env = TestEnv::with("say a; reply b");
    env.fails(1, "tree s.jsonl --at 00000009 --json");
}

#[test]
fn an_empty_session_says_so() {
    check(
        "",
        &["tree s.jsonl", "tree s.jsonl --json", "tree s.jsonl --json --flat"],
        expect![[r#"
        $ tree s.jsonl
        (empty)
        $ tree s.jsonl --json
        []
        $ tree s.jsonl --json --flat
        []
    "#]],
    );
}

#[test]
fn json_contains_entries_children_and_labels_in_order() {
    let env = TestEnv::with("say a; reply b; label here; say c; move b; say d");
    let tree = env.json("tree s.jsonl");
    assert_eq!(
        shape(&tree),
        json!([["00000001", ["00000002 here", ["00000003", ["00000004"]], ["00000005"], ["00000006"]]]])
    );
    let labeled = &tree[0]["children"][0];
    assert_eq!(labeled["labelTimestamp"], "2026-01-01T00:00:02.000Z");
    assert_eq!(labeled["children"][1]["entry"]["type"], "leaf");
    assert_eq!(tree[0].as_object().unwrap().keys().collect::<Vec<_>>(), ["entry", "children"]);
}

#[test]
fn flat_rows_contain_depth_and_path() {
    let env = TestEnv::with("say a; reply b; say c; move b; say d; label x");
    let rows = env.json("tree s.jsonl --flat");
    let formatted: Vec<String> = rows
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            let on_path = if row["onPath"] == true { " on path" } else { "" };
            let label = row["label"].as_str().map(|label| format!(" [{label}]")).unwrap_or_default();
            format!("{} {}{on_path}{label}", row["entry"]["id"].as_str().unwrap(), row["depth"])
        })
        .collect();
    assert_eq!(
        formatted,
        [
            "00000001 0 on path",
            "00000002 1 on path",
            "00000003 2",
            "00000004 2",
            "00000005 2 on path [x]",
            "00000006 3 on path",
        ]
    );
    let rows = env.json("tree s.jsonl --flat --at 00000003");
    let on_path = rows.as_array().unwrap().iter().filter(|row| row["onPath"] == true).count();
    assert_eq!(on_path, 3);
}

#[test]
fn the_nested_style_moves_every_generation_one_step_in_by_flag_and_by_setting() {
    let env = TestEnv::with("say a; reply b; say c; reply d; move b; say e");
    let flat = env.ok("tree s.jsonl");
    let nested = env.ok("tree s.jsonl --nested");
    expect![[r#"
        user: "a"
        └─ assistant: "b"
           ├─ user: "c"
           │  └─ assistant: "d"
           └─ user: "e"  ← active
    "#]]
    .assert_eq(&nested);
    let texts = |drawing: &str| -> Vec<String> {
        drawing.lines().map(|row| row.trim_start_matches(['├', '└', '│', '─', ' ']).to_owned()).collect()
    };
    assert_eq!(texts(&flat), texts(&nested), "the same rows and marks");
    std::fs::write(env.home().join("config.toml"), "tree_style = \"nested\"\n").unwrap();
    assert_eq!(env.ok("tree s.jsonl"), nested);
    assert_eq!(env.ok("tree s.jsonl --flat"), flat);
}

#[test]
fn several_roots_and_orphans_are_all_drawn() {
    check(
        r#"say a; reply b; root; say c; reply d; entry {"type":"message","message":{"role":"user","content":"e"}}"#,
        &["tree s.jsonl"],
        expect![[r#"
            $ tree s.jsonl
            user: "a"
               assistant: "b"
            user: "c"
               assistant: "d"
               user: "e"  ← active
        "#]],
    );
}

/// The ids of nested nodes with their labels.
fn shape(nodes: &Value) -> Value {
    let node = |node: &Value| {
        let id = node["entry"]["id"].as_str().unwrap();
        let name = node["label"].as_str().map_or_else(|| id.to_owned(), |label| format!("{id} {label}"));
        let mut parts = vec![json!(name)];
        parts.extend(shape(&node["children"]).as_array().unwrap().iter().cloned());
        Value::Array(parts)
    };
    Value::Array(nodes.as_array().unwrap().iter().map(node).collect())
}
