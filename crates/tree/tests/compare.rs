//! Comparison of two branches, side by side.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::fmt::Write;

use expect_test::{Expect, expect};
use osier_testkit::{ScriptedSession, fold, random_logs};
use osier_tree::line_consumer::LineConsumer;
use osier_tree::projection::compare::{Comparison, ComparisonBuilder, compare};
use osier_tree::{Place, Seq};
use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

const BRANCHES: &str = "say Which store?; reply Two ways.
    say Try files.; reply calls read notes.md, edit a.rs; result text; result ok; reply Files work. calls bash make; result ok; label files
    move Two ways.; say 试试数据库 please; reply calls write b.rs, edit a.rs; result ok; result ok; reply The database is slow.";

fn compared(script: &ScriptedSession, left: &str, right: &str) -> Comparison {
    let position = |name: &str| -> Place { (name != "root").then(|| script.seq(name)) };
    compare(&script.tree, position(left), position(right), &script.lines)
}

#[track_caller]
fn check(script: &str, left: &str, right: &str, width: usize, expected: Expect) {
    let drawn = compared(&ScriptedSession::run(script), left, right).draw(width);
    assert!(drawn.iter().all(|line| line.width() <= width), "{drawn:#?}");
    expected.assert_eq(&(drawn.join("\n") + "\n"));
}

#[test]
fn each_side_shows_messages_files_and_cost() {
    check(
        BRANCHES,
        "label files",
        "The database is slow.",
        76,
        expect![[r#"
            Common ancestor: 00000002
            [files]                              │ 试试数据库 please
            00000008: 6 messages, 220 tokens, $… │ 0000000f: 5 messages, 220 tokens, $…
                                                 │
            user: "Try files."                   │ user: "试试数据库 please"
            [read: notes.md]                     │ [write: b.rs]
            [edit: a.rs]                         │ [edit: a.rs]
            assistant: "Files work."             │ assistant: "The database is slow."
            [bash: make]                         │
                                                 │
            changed:                             │ changed:
              a.rs                               │   a.rs
                                                 │   b.rs
            read:                                │
              notes.md                           │

            Changed in both: a.rs
        "#]],
    );
}

#[test]
fn narrow_width_stacks_the_branches() {
    check(
        BRANCHES,
        "Files work.",
        "The database is slow.",
        40,
        expect![[r#"
            Common ancestor: 00000002
            Try files.
            00000007: 5 messages, 220 tokens, $0.220

            user: "Try files."
            [read: notes.md]
            [edit: a.rs]
            assistant: "Files work."

            changed:
              a.rs

            read:
              notes.md

            试试数据库 please
            0000000f: 5 messages, 220 tokens, $0.220

            user: "试试数据库 please"
            [write: b.rs]
            [edit: a.rs]
            assistant: "The database is slow."

            changed:
              a.rs
              b.rs

            Changed in both: a.rs
        "#]],
    );
}

#[test]
fn ancestor_has_an_empty_side_and_unrelated_roots_have_nothing_in_common() {
    check(
        "say a; reply b; say c; reply d",
        "b",
        "d",
        60,
        expect![[r#"
            Common ancestor: 00000002
            no messages                  │ c
            00000002: 0 messages, 0 tok… │ 00000004: 2 messages, 110 t…
                                         │
                                         │ user: "c"
                                         │ assistant: "d"
        "#]],
    );
    check(
        "say a; root; say b",
        "a",
        "b",
        60,
        expect![[r#"
            Common ancestor: the start of the session
            a                            │ b
            00000001: 1 message, 0 toke… │ 00000003: 1 message, 0 toke…
                                         │
            user: "a"                    │ user: "b"
        "#]],
    );
}

#[test]
fn json_has_the_same_data() {
    let script = ScriptedSession::run(
        "say a; reply b calls read x, edit y; result r; result s; move a; reply c; label L; name n",
    );
    let compared = compared(&script, "s", "name n");
    expect![[r#"
        {
          "commonId": "00000001",
          "left": {
            "tipId": "00000004",
            "firstId": "00000002",
            "messages": 3,
            "said": [
              {
                "id": "00000002",
                "kind": "message",
                "role": "assistant",
                "text": "assistant: \"b\""
              },
              {
                "id": "00000003",
                "kind": "message",
                "role": "toolResult",
                "text": "[read: x]"
              },
              {
                "id": "00000004",
                "kind": "message",
                "role": "toolResult",
                "text": "[edit: y]"
              }
            ],
            "leftOut": 0,
            "readFiles": [
              "x"
            ],
            "modifiedFiles": [
              "y"
            ],
            "filesLeftOut": 0,
            "usage": {
              "input": 100,
              "output": 10,
              "cacheRead": 0,
              "cacheWrite": 0,
              "totalTokens": 110,
              "requests": 1,
              "cost": 0.11
            }
          },
          "right": {
            "tipId": "00000006",
            "firstId": "00000006",
            "label": "L",
            "messages": 1,
            "said": [
              {
                "id": "00000006",
                "kind": "message",
                "role": "assistant",
                "text": "assistant: \"c\""
              }
            ],
            "leftOut": 0,
            "readFiles": [],
            "modifiedFiles": [],
            "filesLeftOut": 0,
            "usage": {
              "input": 100,
              "output": 10,
              "cacheRead": 0,
              "cacheWrite": 0,
              "totalTokens": 110,
              "requests": 1,
              "cost": 0.11
            }
          },
          "modifiedByBoth": []
        }"#]]
    .assert_eq(&serde_json::to_string_pretty(&compared).unwrap());
}

#[test]
fn long_branch_shows_its_beginning_and_end() {
    let mut script = "say start; say question".to_owned();
    for number in 0..150 {
        write!(script, "; reply {number} calls read f{number:03}; result r").unwrap();
    }
    let script = ScriptedSession::run(&format!("{script}; move start; reply other"));
    let compared = compared(&script, "149", "other");
    let left = &compared.left;
    assert_eq!((left.said.len(), left.left_out), (100, 200));
    assert_eq!(
        (left.said[0].text.as_str(), left.said[99].text.as_str()),
        ("user: \"question\"", "assistant: \"149\"")
    );
    assert_eq!((left.read_files.len(), left.files_left_out), (100, 50));
    let drawn = compared.draw(80);
    assert!(drawn[5].starts_with("… 200 more …"), "{}", drawn[5]);
    assert!(drawn.iter().any(|line| line.starts_with("  … 50 more")));
}

#[test]
fn control_characters_in_file_names_are_neutralized() {
    let script = ScriptedSession::run(
        r#"say a; entry {"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"edit","arguments":{"path":"x\u001b[2J\ny"}}],"stopReason":"toolUse"}}
           say b; move a; reply c"#,
    );
    let drawn = compared(&script, "b", "c").draw(80).join("\n");
    assert!(!drawn.contains('\x1b') && drawn.contains("  x\u{fffd}[2J y"), "{drawn}");
}

#[test]
fn lines_are_read_in_batches_and_never_twice() {
    let long = "x".repeat(300_000);
    let mut script = "say a".to_owned();
    for _ in 0..10 {
        write!(script, "; reply {long}").unwrap();
    }
    let script = ScriptedSession::run(&format!("{script}; move a; reply c"));
    let mut builder = ComparisonBuilder::new(&script.tree, Some(Seq::new(10)), script.tree.leaf());
    let mut batches = Vec::new();
    while !builder.needed_lines().is_empty() {
        batches.push(builder.needed_lines().len());
        builder.feed(&script.lines);
    }
    assert_eq!(batches, [4, 4, 2, 1]);
    assert_eq!(builder.finish().left.messages, 10);
}

proptest! {
    #[test]
    fn any_two_places_can_be_compared(log in random_logs(true, 1..60), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>(), width in 0usize..120) {
        let tree = fold(&log.entries);
        prop_assume!(!tree.is_empty());
        let position = |index: prop::sample::Index| Some(Seq::new(index.index(tree.len())));
        let one = compare(&tree, position(a), position(b), &log.entries);
        let other = compare(&tree, position(b), position(a), &log.entries);
        prop_assert_eq!((&one.left, &one.right), (&other.right, &other.left));
        prop_assert!(one.draw(width).iter().all(|line| line.width() <= width));
        if tree.same_place(position(a), position(b)) && a.index(tree.len()) == b.index(tree.len()) {
            prop_assert!(one.left.said.is_empty() && one.right.said.is_empty());
        }
    }
}

#[test]
fn files_listed_in_a_branch_summary_do_not_count_for_its_branch() {
    let script = ScriptedSession::run(
        r#"say go; reply ok
        say one; reply calls edit a.rs, read b.rs; result r; result r; reply one done
        move ok; entry {"type":"branch_summary","fromId":"00000006","summary":"It tried one.","details":{"readFiles":["b.rs"],"modifiedFiles":["a.rs"]}}
        say two; reply calls read a.rs, edit c.rs; result r; result r; reply two done"#,
    );
    let compared = compared(&script, "one done", "two done");
    assert_eq!(compared.left.modified_files, ["a.rs"]);
    assert_eq!(compared.right.modified_files, ["c.rs"]);
    assert_eq!(compared.right.read_files, ["a.rs"]);
    assert_eq!(compared.modified_by_both, Vec::<String>::new());
}

#[test]
fn entries_on_one_path_are_not_two_branches() {
    let script = ScriptedSession::run(BRANCHES);
    for (left, right, expected) in [
        ("Files work.", "The database is slow.", false),
        ("Files work.", "Two ways.", true),
        ("Two ways.", "The database is slow.", true),
        ("Two ways.", "Two ways.", true),
        ("root", "Two ways.", true),
    ] {
        assert_eq!(compared(&script, left, right).is_on_one_path(), expected, "{left} and {right}");
    }
}

#[test]
fn a_title_keeps_the_quotes_of_the_prompt() {
    let script = ScriptedSession::run(r#"say go; reply ok; say write "a b"; move ok; say "all of it""#);
    let compared = compared(&script, r#"write "a b""#, r#""all of it""#);
    assert_eq!(compared.left.title(), r#"write "a b""#);
    assert_eq!(compared.right.title(), r#""all of it""#);
}
