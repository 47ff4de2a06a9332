//! `compare` and `graft`.

use osier_testkit::expect;
use serde_json::{Value, json};

use crate::support::{CommandOutput, TestEnv, check};

const SCRIPT: &str = "say sort the list; reply how; say with a map; reply mapping calls write map.rs; result ok; \
                      reply the map is slow; move how; say with a tree; reply planting calls write map.rs; result ok; \
                      reply the tree is fast; label fast";

#[test]
fn branches_are_shown_side_by_side() {
    check(
        SCRIPT,
        &[
            "compare s.jsonl 00000006",
            "compare s.jsonl 00000006 00000003",
            "compare s.jsonl root",
            "compare s.jsonl",
        ],
        expect![[r#"
            $ compare s.jsonl 00000006
            Common ancestor: 00000002
            [fast]                                                     │ with a map
            0000000b: 4 messages, 220 tokens, $0.220                   │ 00000006: 4 messages, 220 tokens, $0.220
                                                                       │
            user: "with a tree"                                        │ user: "with a map"
            assistant: "planting"                                      │ assistant: "mapping"
            [write: map.rs]                                            │ [write: map.rs]
            assistant: "the tree is fast"                              │ assistant: "the map is slow"
                                                                       │
            changed:                                                   │ changed:
              map.rs                                                   │   map.rs

            Changed in both: map.rs
            $ compare s.jsonl 00000006 00000003
            Common ancestor: 00000003
            assistant: "mapping"                                       │ no messages
            00000006: 3 messages, 220 tokens, $0.220                   │ 00000003: 0 messages, 0 tokens, $0
                                                                       │
            assistant: "mapping"                                       │
            [write: map.rs]                                            │
            assistant: "the map is slow"                               │
                                                                       │
            changed:                                                   │
              map.rs                                                   │
            $ compare s.jsonl root
            Common ancestor: the start of the session
            [fast]                                                     │ no messages
            0000000b: 6 messages, 330 tokens, $0.330                   │ root: 0 messages, 0 tokens, $0
                                                                       │
            user: "sort the list"                                      │
            assistant: "how"                                           │
            user: "with a tree"                                        │
            assistant: "planting"                                      │
            [write: map.rs]                                            │
            assistant: "the tree is fast"                              │
                                                                       │
            changed:                                                   │
              map.rs                                                   │
            $ compare s.jsonl
            ! error: the following required arguments were not provided:
            !   <ENTRY>...
            ! 
            ! Usage: osier sessions compare <SESSION> <ENTRY>...
            ! 
            ! For more information, try '--help'.
            exit 2
        "#]],
    );
}

#[test]
fn narrow_terminal_shows_branches_one_below_the_other() {
    let env = TestEnv::with(SCRIPT);
    let mut command = env.command();
    command.env("COLUMNS", "40").args(["sessions", "compare", "s.jsonl", "00000006"]);
    let output = CommandOutput::from_output(command.output().unwrap());
    assert!(output.out.lines().all(|line| line.chars().count() <= 40), "{}", output.out);
    expect![[r#"
        Common ancestor: 00000002
        [fast]
        0000000b: 4 messages, 220 tokens, $0.220

        user: "with a tree"
        assistant: "planting"
        [write: map.rs]
        assistant: "the tree is fast"

        changed:
          map.rs

        with a map
        00000006: 4 messages, 220 tokens, $0.220

        user: "with a map"
        assistant: "mapping"
        [write: map.rs]
        assistant: "the map is slow"

        changed:
          map.rs

        Changed in both: map.rs
    "#]]
    .assert_eq(&output.out);
}

#[test]
fn json_has_both_sides() {
    let compared = TestEnv::with(SCRIPT).json("compare s.jsonl 00000006");
    assert_eq!(compared["commonId"], "00000002");
    assert_eq!(compared["left"]["label"], "fast");
    assert_eq!(compared["right"]["tipId"], "00000006");
    assert_eq!(compared["right"]["messages"], 4);
    assert_eq!(compared["modifiedByBoth"], json!(["map.rs"]));
}

#[test]
fn graft_adds_the_conclusion_of_another_branch() {
    let env = TestEnv::with(SCRIPT);
    env.check(
        &["graft s.jsonl 00000006", "tree s.jsonl", "context s.jsonl", "graft s.jsonl 00000002", "graft s.jsonl 0000000f"],
        expect![[r#"
            $ graft s.jsonl 00000006
            <1>
            ! Grafted the conclusion of branch 00000006
            $ tree s.jsonl
            user: "sort the list"
            assistant: "how"
            ├─ user: "with a map"
            │  assistant: "mapping"
            │  [write: map.rs]
            │  assistant: "the map is slow"
            └─ user: "with a tree"
               assistant: "planting"
               [write: map.rs]
               [fast] assistant: "the tree is fast"
               [graft from 00000006]: the map is slow  ← active
            $ context s.jsonl
            ── user
            sort the list
            ── assistant
            how
            ── user
            with a tree
            ── assistant
            planting
            → write {"path":"map.rs"}
            ── toolResult of write
            ok
            ── assistant
            the tree is fast
            ── branchSummary
            Grafted from [entry 00000006]: entries [entry 00000003] to [entry 00000006], branched off at [entry 00000002].

            Asked there:
            - with a map [entry 00000003]

            Concluded there [entry 00000006]:

            the map is slow

            <modified-files>
            map.rs
            </modified-files>
            7 messages
            $ graft s.jsonl 00000002
            ! osier: cannot graft 00000002: it is already on the current path; choose the end of another branch
            exit 1
            $ graft s.jsonl 0000000f
            ! osier: no entry 0000000f in this session; did you mean 00000001, 00000002, 00000003, 00000004, 00000005, …?
            exit 1
        "#]],
    );
    let lines = env.lines("s.jsonl");
    let graft: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!((&graft["type"], &graft["fromId"]), (&json!("branch_summary"), &json!("00000006")));
    assert_eq!(graft["details"]["modifiedFiles"], json!(["map.rs"]));
    assert_eq!(graft["parentId"], "0000000c", "the position did not change: the label was the leaf");
}

#[test]
fn graft_can_be_summarized_by_a_model() {
    let env = TestEnv::with(SCRIPT);
    assert!(env.fails(1, "graft s.jsonl 00000006 --summarize").contains("--model offline"));
    env.fails(2, "graft s.jsonl 00000006 --instructions short");
    let reply = env.json("graft s.jsonl 00000006 --summarize --model offline --instructions 'in short'");
    let lines = env.lines("s.jsonl");
    let graft: Value = serde_json::from_str(lines.last().unwrap()).unwrap();
    assert_eq!(reply, json!({ "entry": graft["id"], "fromId": "00000006", "leafId": graft["id"] }));
    let summary = graft["summary"].as_str().unwrap();
    assert!(summary.starts_with("Grafted from [entry 00000006]") && summary.contains("## Goal"), "{summary}");
}
