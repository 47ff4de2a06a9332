//! Grafts: the conclusion of another branch on the current path.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use expect_test::{Expect, expect};
use osier_testkit::{ScriptedSession, context_text, draw, fold, random_logs};
use osier_tree::Seq;
use osier_tree::graft::{build_graft, parse_graft};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

#[track_caller]
fn check(script: &str, tip: &str, expected: Expect) {
    let script = ScriptedSession::run(script);
    let text = match build_graft(&script.tree, script.tree.leaf(), script.id(tip), &script.lines) {
        Ok(graft) => graft.text(None),
        Err(error) => format!("refused, {}: {error}", error.code().name()),
    };
    expected.assert_eq(&text);
}

#[test]
fn last_reply_is_the_conclusion_with_links_to_its_entries() {
    check(
        "say Which store?; reply Two ways.; say Try files.; reply I look. calls read notes.md, edit a.rs; result t; result ok
         say And with locks?; reply Files work, with a lock.; label files; move Two ways.; say Try a database.",
        "Files work, with a lock.",
        expect![[r#"
            Grafted from [entry 00000008]: entries [entry 00000003] to [entry 00000008], branched off at [entry 00000002].

            Asked there:
            - Try files. [entry 00000003]
            - And with locks? [entry 00000007]

            Concluded there [entry 00000008]:

            Files work, with a lock.

            <read-files>
            notes.md
            </read-files>

            <modified-files>
            a.rs
            </modified-files>"#]],
    );
}

#[test]
fn latest_summary_is_the_conclusion_if_there_is_no_reply() {
    check(
        r#"say a; reply b; say c; reply calls write x; result ok; compact keep c "It was about x."; bash make; move b"#,
        "make",
        expect![[r#"
            Grafted from [entry 00000007]: entries [entry 00000003] to [entry 00000007], branched off at [entry 00000002].

            Asked there:
            - c [entry 00000003]

            Concluded there [entry 00000006]:

            It was about x.

            <modified-files>
            x
            </modified-files>"#]],
    );
    check(
        "say a; reply b; say c; move b",
        "c",
        expect![[r#"
            Grafted from [entry 00000003]: entries [entry 00000003] to [entry 00000003], branched off at [entry 00000002].

            Asked there:
            - c [entry 00000003]

            The branch has no conclusion."#]],
    );
}

#[test]
fn incomplete_reply_counts_only_if_there_is_no_other() {
    let broken = r#"entry {"type":"message","message":{"role":"assistant","content":[{"type":"text","text":"half"}],"stopReason":"aborted"}}"#;
    check(
        &format!("say a; reply b; {broken}; bash x; move a"),
        "x",
        expect![[r#"
            Grafted from [entry 00000004]: entries [entry 00000002] to [entry 00000004], branched off at [entry 00000001].

            Concluded there [entry 00000002]:

            b"#]],
    );
    check(
        &format!("say a; {broken}; bash x; move a"),
        "x",
        expect![[r#"
            Grafted from [entry 00000003]: entries [entry 00000002] to [entry 00000003], branched off at [entry 00000001].

            Concluded there [entry 00000002], incomplete:

            half"#]],
    );
}

#[test]
fn entries_outside_the_context_are_not_grafted() {
    check(
        r#"say a; reply b; say secret; reply c; reply d; omit secret; omit d; edit c C
           entry {"type":"message","inContext":false,"message":{"role":"user","content":"aside"}}; bash x; move a"#,
        "x",
        expect![[r#"
            Grafted from [entry 0000000a]: entries [entry 00000002] to [entry 0000000a], branched off at [entry 00000001].

            Concluded there [entry 00000004]:

            C"#]],
    );
}

#[test]
fn only_another_branch_can_be_grafted() {
    check(
        "say a; reply b",
        "a",
        expect![
            "refused, nothing_to_graft: cannot graft 00000001: it is already on the current path; choose the end of another branch"
        ],
    );
    check(
        "say a; reply b; say c; move a; delete c",
        "c",
        expect!["refused, entry_hidden: entry 00000003 is in a deleted branch"],
    );
    check(
        "say a; reply b; move a",
        "b",
        expect![[r#"
            Grafted from [entry 00000002]: entries [entry 00000002] to [entry 00000002], branched off at [entry 00000001].

            Concluded there [entry 00000002]:

            b"#]],
    );
    check(
        "say a; root; say b",
        "a",
        expect![[r#"
            Grafted from [entry 00000001]: entries [entry 00000001] to [entry 00000001], with no common ancestor.

            Asked there:
            - a [entry 00000001]

            The branch has no conclusion."#]],
    );
}

#[test]
fn graft_is_one_summary_that_names_the_branch() {
    let mut script =
        ScriptedSession::run("say a; reply b calls edit x; result r; reply found it; move a; reply c");
    let at = script.tree.leaf();
    let graft = build_graft(&script.tree, at, script.id("found it"), &script.lines).unwrap();
    let usage = Map::from_iter([("usage".to_owned(), json!({ "input": 5 }))]);
    let draft = graft.to_draft(&script.tree, at, Some("A model's words."), &usage);
    script.append(&draft, "graft");
    let line: Value = serde_json::from_slice(script.lines.last().unwrap()).unwrap();
    assert_eq!((&line["parentId"], &line["fromId"]), (&json!("00000006"), &json!("00000004")));
    assert_eq!(line["details"], json!({ "readFiles": [], "modifiedFiles": ["x"] }));
    assert_eq!(line["usage"], json!({ "input": 5 }));
    expect![[r#"
        user: "a"
        ├─ assistant: "b"
        │  [edit: x]
        │  assistant: "found it"
        └─ assistant: "c"
           [graft from 00000004]: A model's words.  ← active
        --
        user: a
        assistant: c
        branchSummary: Grafted from [entry 00000004]: entries [entry 00000002] to [entry 00000004], branched off at [entry 00000001]. A model's words. <modified-files> x </modified-files>
    "#]].assert_eq(&format!("{}--\n{}", draw(&script), context_text(&script)));
}

#[test]
fn long_conclusions_are_truncated() {
    let script = ScriptedSession::run(&format!("say a; reply b; say c; reply {}; move b", "x".repeat(9_000)));
    let graft = build_graft(&script.tree, script.tree.leaf(), "00000004", &script.lines).unwrap();
    assert_eq!(graft.text(None).matches('x').count(), 5_999);
}

proptest! {
    #[test]
    fn graft_of_any_log_contains_nothing_of_the_current_path(log in random_logs(false, 1..60)) {
        let tree = fold(&log.entries);
        let leaf = tree.leaf();
        let mut lines = log.entries.clone();
        for seq in tree.path(leaf) {
            let line = String::from_utf8_lossy(&lines[seq.index()]).replace("\"text ", "\"HERE ");
            lines[seq.index()] = line.into_bytes();
        }
        for seq in (0..tree.len()).map(Seq::new) {
            if let Ok(graft) = build_graft(&tree, leaf, tree.id(seq).as_str(), &lines) {
                prop_assert!(!graft.text(None).contains("HERE"));
            }
        }
    }
}

#[test]
fn conclusion_is_parsed_from_the_summary() {
    let script = ScriptedSession::run(
        "say a; reply b calls edit x; result r; say which?; reply Take the list.; move a; reply c",
    );
    let tip = script.id("Take the list.");
    let graft = build_graft(&script.tree, script.tree.leaf(), tip, &script.lines).unwrap();
    for (written, conclusion) in [(None, "Take the list."), (Some("A model's words."), "A model's words.")] {
        let text = graft.text(written);
        let read = parse_graft(&text).unwrap();
        assert_eq!((read.tip, read.conclusion), (tip, conclusion), "{text}");
    }
    assert_eq!(parse_graft("The user tried another branch."), None);
}
