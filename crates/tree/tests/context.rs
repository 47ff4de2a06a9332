//! The context of a script as a model sees it, one line per message.

use expect_test::{Expect, expect};
use osier_testkit::{ScriptedSession, context_text};

fn check(script: &str, expected: Expect) {
    expected.assert_eq(&context_text(&ScriptedSession::run(script)));
}

#[test]
fn context_is_the_path_to_the_leaf() {
    check(
        "say a; reply b calls read x; result r; reply c; move b; say d",
        expect![[r#"
            user: a
            assistant: b [calls read]
            user: d
        "#]],
    );
}

#[test]
fn marks_moves_and_extension_state_are_not_in_the_context() {
    check(
        "say a; label x; name n; custom state; config a=b; spend 3; reply b; move a; undo; redo",
        expect![[r#"
            user: a
        "#]],
    );
}

#[test]
fn compaction_summary_replaces_the_entries_not_kept() {
    check(
        r#"say a; reply b; say c; reply d; compact keep c "sum"; say e"#,
        expect![[r#"
            compactionSummary: sum
            user: c
            assistant: d
            user: e
        "#]],
    );
    check(
        r#"say a; reply b; compact keep b "one"; say c; compact keep c "two"; say d"#,
        expect![[r#"
            compactionSummary: two
            user: c
            user: d
        "#]],
    );
    check(
        r#"say a; reply b; compact keep b "sum"; say c; move b; say d"#,
        expect![[r#"
            user: a
            assistant: b
            user: d
        "#]],
    );
}

#[test]
fn summaries_notes_and_edits_apply_to_their_branch_only() {
    check(
        "say a; reply b; say c; summarize left at b; say d",
        expect![[r#"
            user: a
            assistant: b
            branchSummary: left
            user: d
        "#]],
    );
    check(
        "say a; reply b; edit a A; omit b; say c",
        expect![[r#"
            user: A
            user: c
        "#]],
    );
    check(
        "say a; reply b; say c; omit a; move b; say d",
        expect![[r#"
            user: a
            assistant: b
            user: d
        "#]],
    );
    check(
        "say a; reply b; hidden t secret; note t shown; backtrack 0 other way",
        expect![[r#"
            user: a
            custom: <system>Note from your future self: other way</system>
        "#]],
    );
}

#[test]
fn entries_outside_the_context_and_unknown_kinds_are_not_sent() {
    check(
        r#"say a; batch one, two
           entry {"type":"custom_message","customType":"t","content":"x","display":true,"inContext":false}
           entry {"type":"branch_summary","summary":"x","fromId":"root","inContext":false}
           entry {"type":"brand new","message":{"role":"user","content":"x"}}"#,
        expect![[r#"
            user: a
        "#]],
    );
}

#[test]
fn deeply_nested_tool_call_is_sent_unchanged() {
    let depth = 130;
    let nested = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    let lines: Vec<Vec<u8>> = vec![
        br#"{"type":"message","id":"00000001","parentId":null,"message":{"role":"user","content":"x"}}"#.to_vec(),
        format!(r#"{{"type":"message","id":"00000002","parentId":"00000001","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"c","name":"t","arguments":{{"a":{nested}}}}}]}}}}"#).into_bytes(),
        br#"{"type":"message","id":"00000003","parentId":"00000002","message":{"role":"toolResult","toolCallId":"c","content":[]}}"#.to_vec(),
    ];
    let mut tree = osier_tree::SessionTree::default();
    tree.extend(lines.iter().map(|line| (osier_tree::entry::parse_entry(line).unwrap(), 0, 0)));
    let request = tree.prepare_request(&tree.context_entries(tree.leaf()), &lines, false);
    assert_eq!(request.messages.len(), 3);
    assert_eq!(request.repairs, Default::default());
}
