//! Scripts write lines in pi's format, the same in every run.

use osier_testkit::{ScriptedSession, check, expect, fold};

#[test]
fn a_script_writes_lines_with_fixed_ids_and_times() {
    let script = ScriptedSession::run("say a; reply calls read x.txt; result ok; label L on a; move a");
    let lines: Vec<_> = script.lines.iter().map(|line| String::from_utf8_lossy(line)).collect();
    expect![[r#"
        {"type":"message","id":"00000001","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{"role":"user","content":[{"type":"text","text":"a"}],"timestamp":1767225600000}}
        {"type":"message","id":"00000002","parentId":"00000001","timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"assistant","content":[{"type":"toolCall","id":"call_2_0","name":"read","arguments":{"path":"x.txt"}}],"api":"anthropic-messages","provider":"anthropic","model":"claude","usage":{"input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"cost":{"input":0.1,"output":0.01,"cacheRead":0,"cacheWrite":0,"total":0.11}},"stopReason":"toolUse","timestamp":1767225601000}}
        {"type":"message","id":"00000003","parentId":"00000002","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"toolResult","toolCallId":"call_2_0","toolName":"read","content":[{"type":"text","text":"ok"}],"isError":false,"timestamp":1767225602000}}
        {"type":"label","id":"00000004","parentId":"00000003","timestamp":"2026-01-01T00:00:03.000Z","targetId":"00000001","label":"L"}
        {"type":"custom","id":"00000005","parentId":"00000001","timestamp":"2026-01-01T00:00:04.000Z","customType":"osier.leaf","data":{"fromId":"00000004","why":"move"}}"#]].assert_eq(&lines.join("\n"));
    assert_eq!(
        script.lines,
        ScriptedSession::run("say a\nreply calls read x.txt\nresult ok; label L on a; move a").lines
    );
}

#[test]
fn an_entry_is_named_by_its_text_and_the_last_one_wins() {
    let script = ScriptedSession::run("say a; reply b; say a");
    assert_eq!((script.id("a"), script.id("b")), ("00000003", "00000002"));
    assert_eq!(script.seq("b").index(), 1);
}

#[test]
fn below_places_the_next_entry_under_any_other() {
    check(
        "say a; reply b; below a; say c; label x on b",
        expect![[r#"
            user: "a"
            ├─ [x] assistant: "b"
            └─ user: "c"  ← active
        "#]],
    );
}

#[test]
fn reopening_and_the_file_give_the_same_session() {
    let script = ScriptedSession::run("say a; reply b; move a; reopen");
    assert_eq!(script.tree.leaf(), Some(script.seq("a")));
    let file = script.file();
    let lines: Vec<Vec<u8>> = file.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    assert_eq!(fold(&lines).leaf(), script.tree.leaf(), "the header and the empty last line are not entries");
}

#[test]
#[should_panic(expected = "the script has no entry \"z\"")]
fn an_invalid_script_panics_with_the_reason() {
    ScriptedSession::run("say a; move z");
}
