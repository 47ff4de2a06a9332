//! One-line previews of entries.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use expect_test::{Expect, expect};
use osier_testkit::{ScriptedSession, previews};
use osier_tree::entry::parse_entry;
use osier_tree::projection::preview::{Previews, RawToolCall, editor_text, full_text, preview, search_text};
use osier_tree::scan::RawJson;

fn check(script: &str, expected: Expect) {
    expected.assert_eq(&previews(&ScriptedSession::run(script)).join("\n"));
}

/// The preview of a message, given as JSON fields.
fn message(members: &str) -> String {
    let line = format!(r#"{{"type":"message","id":"1","message":{{{members}}}}}"#);
    preview(&parse_entry(line.as_bytes()).unwrap(), |_| None)
}

fn entry(members: &str) -> String {
    preview(&parse_entry(format!(r#"{{"id":"1",{members}}}"#).as_bytes()).unwrap(), |_| None)
}

#[test]
fn messages_show_role_and_text() {
    check(
        "system be good; say a; reply b; bash ls -l; fail it broke; abort; reply calls read x",
        expect![[r#"
            [system]
            user: "a"
            assistant: "b"
            [bash]: ls -l
            assistant: it broke
            assistant: (aborted)
            assistant: (no content)"#]],
    );
}

#[test]
fn results_are_shown_as_their_calls() {
    check(
        "reply calls read x.txt, bash cargo test; result one; error two; reply calls mine arg; result three",
        expect![[r#"
            assistant: (no content)
            [read: x.txt]
            [bash: cargo test]
            assistant: (no content)
            [mine: {"path":"arg"}]"#]],
    );
    assert_eq!(message(r#""role":"toolResult","toolCallId":"gone","toolName":"read""#), "[read]");
    assert_eq!(message(r#""role":"tool""#), "[tool]");
    let line = br#"{"type":"message","id":"1","message":{"role":"toolResult","toolCallId":"c7"}}"#;
    let arguments = RawJson::parse(br#"{"path":"a","offset":3,"limit":2}"#).unwrap();
    let call_of = |id: &str| (id == "c7").then(|| RawToolCall { name: "read".into(), arguments });
    assert_eq!(preview(&parse_entry(line).unwrap(), call_of), "[read: a:3-4]");
}

/// Two writers, and a model that numbers its calls from 1 in each conversation.
#[test]
fn a_result_is_shown_as_the_call_that_it_is_below() {
    let call = |id: &str, path: &str| {
        let block =
            format!(r#"{{"type":"toolCall","id":"ID","name":"read","arguments":{{"path":"{path}"}}}}"#);
        let blocks =
            [block.replace("ID", "call_1"), block.replace("ID", "call_2").replace(path, &format!("{path}2"))];
        let content = blocks.join(",");
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"0","message":{{"role":"assistant","content":[{content}]}}}}"#
        )
    };
    let result = |id: &str, parent: &str, call: &str| {
        format!(
            r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{{"role":"toolResult","toolCallId":"{call}"}}}}"#
        )
    };
    let lines = [
        call("a", "here"),
        call("b", "there"),
        result("a1", "a", "call_1"),
        result("b1", "b", "call_1"),
        result("b2", "b1", "call_2"),
        result("a2", "a1", "call_2"),
        result("x", "nowhere", "call_1"),
    ];
    let mut previews = Previews::new(None);
    let shown: Vec<String> =
        lines.iter().map(|line| previews.preview(&parse_entry(line.as_bytes()).unwrap())).collect();
    assert_eq!(
        shown[2..],
        ["[read: here]", "[read: there]", "[read: there2]", "[read: here2]", "[read: there]"]
    );
}

#[test]
fn a_branch_summary_is_shown_as_plain_text_without_its_preamble() {
    let summary = |text: &str| entry(&format!(r###""type":"branch_summary","summary":"{text}""###));
    let own = r"The user tried another branch of this conversation before coming back here.\nSummary of that branch:\n\n";
    assert_eq!(summary(&format!(r"{own}## Goal\n- a cache\n\n## Progress")), "[branch summary]: a cache");
    assert_eq!(summary(r"The user went away.\nSummary:\n\nIt failed."), "[branch summary]: It failed.");
    assert_eq!(summary(r"The user wants tea.\n\nNo milk."), "[branch summary]: The user wants tea. No milk.");
    assert_eq!(
        summary(r"## Goal\n- a **cache**\n- `less`\n\n## Blocked\n- (none)\n\nSo it failed.\n1. Stop."),
        "[branch summary]: a cache; less So it failed. Stop."
    );
    assert_eq!(summary(r"Done.\n\n<read-files>\na.txt\n</read-files>"), "[branch summary]: Done.");
    assert_eq!(summary("# Alone"), "[branch summary]: Alone");
    assert_eq!(summary(""), "[branch summary]: ");
}

#[test]
fn the_home_directory_is_shown_as_a_tilde() {
    let mut previews = Previews::new(Some("/home/u"));
    let mut last = String::new();
    for line in ScriptedSession::run("reply calls read /home/u/a.txt; result x").lines {
        last = previews.preview(&parse_entry(&line).unwrap());
    }
    assert_eq!(last, "[read: ~/a.txt]");
}

#[test]
fn the_display_text_is_preferred_over_the_model_text() {
    assert_eq!(message(r#""role":"user","content":"long expansion","uiContent":"/fix""#), r#"user: "/fix""#);
    let note = r#"{"type":"message","id":"1","uiContent":"/fix","message":{"role":"user","content":"long"}}"#;
    let note = parse_entry(note.as_bytes()).unwrap();
    assert_eq!(preview(&note, |_| None), r#"user: "/fix""#);
    assert_eq!(search_text(&note), "user  /fix");
    assert_eq!(editor_text(&note).as_deref(), Some("long"));
    assert_eq!(message(r#""role":"assistant","content":"said","uiContent":"/fix""#), r#"assistant: "said""#);
}

#[test]
fn images_without_text_are_counted() {
    assert_eq!(message(r#""role":"user","content":[{"type":"image"}]"#), "user: [image]");
    assert_eq!(message(r#""role":"user","content":[{"type":"image"},{"type":"image"}]"#), "user: [2 images]");
    assert_eq!(
        message(r#""role":"user","content":[{"type":"image"},{"type":"text","text":"a"}]"#),
        r#"user: "a""#
    );
}

#[test]
fn text_is_collapsed_truncated_and_sanitized() {
    let hostile = r#""role":"user","content":"a\n\n  b\u001b]0;x\u0007\u202ec\u001b[31md""#;
    assert_eq!(message(hostile), "user: \"a b\u{fffd}]0;x\u{fffd}\u{fffd}cd\"");
    let long = format!(r#""role":"user","content":"{}""#, "é".repeat(500));
    assert_eq!(message(&long), format!("user: \"{}\"", "é".repeat(200)));
    assert_eq!(entry(r#""type":"custom","customType":"\u001b[2J""#), "[custom: \u{fffd}[2J]");
    assert_eq!(entry(r#""type":"\u009b1m\u2066""#), "[\u{fffd}1m\u{fffd}]");
}

#[test]
fn bookkeeping_entries_have_previews() {
    check(
        r#"say a; model anthropic/claude; thinking high; custom x; note info hello; label L; unlabel a; name title
           omit a; edit a b; spend 5; compact keep a "sum"; summarize left
           entry {"type":"session_info"}; entry {"type":"brand new"}"#,
        expect![[r#"
            user: "a"
            [model: claude]
            [thinking: high]
            [custom: x]
            [info]: hello
            [label: L]
            [label: (cleared)]
            [title: title]
            [context omit: 00000001]
            [context replace: 00000001]
            [usage: warm]
            [compaction: 12k tokens]
            [branch summary]: left
            [title: empty]
            [brand new]"#]],
    );
    assert_eq!(entry(r#""type":"compaction""#), "[compaction]");
    assert_eq!(entry(r#""type":"compaction","tokensBefore":400"#), "[compaction: 0k tokens]");
    assert_eq!(entry(r#""type":"compaction","tokensBefore":1499.9"#), "[compaction: 1k tokens]");
}

#[test]
fn osier_kinds_have_previews() {
    check(
        r#"say a; reply b; say c; move b; undo; redo; backtrack 0 try the other way; config mode=yolo; delete c; restore c
           batch one, two; update one, two completed
           entry {"type":"subagent_batch","content":{"tasks":[{}],"status":"completed"}}
           entry {"type":"subagent_result","content":{"results":[{},{},{}],"status":"failed"}}
           entry {"type":"custom","customType":"osier.config","data":{"set":{"a":[1],"b":"x"},"unset":["c"]}}"#,
        expect![[r#"
            user: "a"
            assistant: "b"
            user: "c"
            [moved]
            [moved: undo]
            [moved: redo]
            [backtrack to checkpoint 0: try the other way]
            [config: mode=yolo]
            [deleted branch]
            [restored branch]
            [subagents: 2 tasks, running]
            [update: completed]
            [subagents: 1 task, completed]
            [subagents: 3 results, failed]
            [config: a=[1], b=x, c unset]"#]],
    );
    let bare = r#""type":"custom_message","customType":"osier.backtrack","content":"note""#;
    assert_eq!(entry(bare), "[backtrack to checkpoint ?: note]");
}

#[test]
fn entries_with_invalid_bodies_have_previews() {
    for members in [
        r#""role":"user""#,
        r#""role":"user","content":7"#,
        r#""role":"assistant","content":[1,null,{"type":7}]"#,
        r#""role":"toolResult","toolCallId":7"#,
        r#""role":"bashExecution""#,
        r#""role":7"#,
        "",
    ] {
        assert!(!message(members).is_empty(), "{members}");
    }
    for kind in osier_tree::EntryKind::ALL {
        let custom = kind.custom_type().unwrap_or("x");
        for clothes in ["custom", "custom_message", kind.name()] {
            let text =
                entry(&format!(r#""type":"{clothes}","customType":"{custom}","data":7,"content":null"#));
            assert!(text.starts_with('[') || text.starts_with("user"), "{text}");
        }
    }
}

#[test]
fn the_editor_gets_the_full_text_of_entries_that_can_be_resent() {
    let texts = |script: &str| {
        let script = ScriptedSession::run(script);
        let texts: Vec<_> =
            script.lines.iter().map(|line| editor_text(&parse_entry(line).unwrap())).collect();
        texts
    };
    assert_eq!(
        texts("say a; reply b; note t c; bash ls"),
        [Some("a".to_owned()), None, Some("c".to_owned()), None]
    );
    assert_eq!(texts("say a; backtrack 0 x")[1], None);
    let blocks = br#"{"type":"message","id":"1","message":{"role":"user","content":[{"type":"text","text":"a\n"},{"type":"image"},{"type":"text","text":" b"}]}}"#;
    assert_eq!(editor_text(&parse_entry(blocks).unwrap()).as_deref(), Some("a\n b"));
}

#[test]
fn the_full_text_of_an_entry_can_be_copied() {
    let script =
        ScriptedSession::run(r#"say a; bash ls; fail broke; compact keep a "sum"; summarize left; label x"#);
    let texts: Vec<_> = script.lines.iter().map(|line| full_text(&parse_entry(line).unwrap())).collect();
    assert_eq!(texts, ["a", "ls", "broke", "sum", "left", ""]);
}

#[test]
fn search_covers_role_kind_and_text() {
    let script = ScriptedSession::run(
        r#"say Hello; bash ls -l; reply b calls read x; result content; compact keep Hello "sum"; summarize left
           model p/id; thinking low; custom state; note info words; label L; name title; omit Hello; backtrack 0 why"#,
    );
    let texts: Vec<_> = script.lines.iter().map(|line| search_text(&parse_entry(line).unwrap())).collect();
    expect![[r#"
        user  Hello
        bashExecution  ls -l
        assistant  b
        toolResult read content
        compaction
        branch summary left
        model id
        thinking low
        custom state
        info words
        label L
        title title
        [context edit omit: 00000001]
        [backtrack to checkpoint 0: why]"#]]
    .assert_eq(&texts.join("\n"));
}
