//! The transcript of a path.
#![allow(clippy::unwrap_used, reason = "test helpers may panic")]

use expect_test::{Expect, expect};
use osier_testkit::ScriptedSession;
use osier_tree::projection::transcript::{TranscriptItem, markdown, transcript, transcript_entries};

fn items(script: &ScriptedSession) -> Vec<TranscriptItem> {
    transcript(&script.tree, script.tree.leaf(), &script.lines)
}

fn check(script: &str, expected: Expect) {
    let items = items(&ScriptedSession::run(script));
    let lines: Vec<String> = items.iter().map(|item| serde_json::to_string(item).unwrap()).collect();
    expected.assert_eq(&lines.join("\n"));
}

fn check_markdown(script: &str, expected: Expect) {
    expected.assert_eq(&markdown(&items(&ScriptedSession::run(script)), "A session"));
}

#[test]
fn a_transcript_has_messages_calls_and_results() {
    check(
        "say a; label first; reply b calls read x.txt; result found; reply c",
        expect![[r#"
            {"id":"00000001","kind":"message","role":"user","time":"2026-01-01T00:00:00.000Z","label":"first","text":"a"}
            {"id":"00000003","kind":"message","role":"assistant","time":"2026-01-01T00:00:02.000Z","text":"b","toolCalls":[{"id":"call_3_0","name":"read","arguments":{"path":"x.txt"}}],"provider":"anthropic","model":"claude","stopReason":"toolUse","usage":{"input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"requests":1,"cost":0.11}}
            {"id":"00000004","kind":"message","role":"toolResult","time":"2026-01-01T00:00:03.000Z","text":"found","toolResult":{"toolCallId":"call_3_0","toolName":"read","isError":false}}
            {"id":"00000005","kind":"message","role":"assistant","time":"2026-01-01T00:00:04.000Z","text":"c","provider":"anthropic","model":"claude","stopReason":"stop","usage":{"input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"requests":1,"cost":0.11}}"#]],
    );
}

#[test]
fn calls_without_a_result_are_interrupted_even_if_ids_repeat() {
    check(
        "say a; reply calls read x, bash y; result one",
        expect![[r#"
            {"id":"00000001","kind":"message","role":"user","time":"2026-01-01T00:00:00.000Z","text":"a"}
            {"id":"00000002","kind":"message","role":"assistant","time":"2026-01-01T00:00:01.000Z","text":"","toolCalls":[{"id":"call_2_0","name":"read","arguments":{"path":"x"}},{"id":"call_2_1","name":"bash","arguments":{"command":"y"},"interrupted":true}],"provider":"anthropic","model":"claude","stopReason":"toolUse","usage":{"input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"requests":1,"cost":0.11}}
            {"id":"00000003","kind":"message","role":"toolResult","time":"2026-01-01T00:00:02.000Z","text":"one","toolResult":{"toolCallId":"call_2_0","toolName":"read","isError":false}}"#]],
    );
    let call = |id: &str| {
        format!(
            r#"entry {{"type":"message","message":{{"role":"assistant","content":[{{"type":"toolCall","id":"{id}","name":"read"}}]}}}}"#
        )
    };
    let result = r#"entry {"type":"message","message":{"role":"toolResult","toolCallId":"0","toolName":"read","content":"x"}}"#;
    let script = ScriptedSession::run(&[&call("0"), result, &call("0")].join(";"));
    let shown: Vec<bool> = items(&script)
        .iter()
        .map(|item| serde_json::to_value(item).unwrap()["toolCalls"][0]["interrupted"] == true)
        .collect();
    assert_eq!(shown, [false, false, true]);
}

#[test]
fn a_transcript_includes_what_a_compaction_hides() {
    check(
        r#"say a; reply b; compact keep b "sum"; say c"#,
        expect![[r#"
            {"id":"00000001","kind":"message","role":"user","time":"2026-01-01T00:00:00.000Z","text":"a"}
            {"id":"00000002","kind":"message","role":"assistant","time":"2026-01-01T00:00:01.000Z","text":"b","provider":"anthropic","model":"claude","stopReason":"stop","usage":{"input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"requests":1,"cost":0.11}}
            {"id":"00000003","kind":"compaction","time":"2026-01-01T00:00:02.000Z","text":"sum","compaction":{"summary":"sum","tokensBefore":12000}}
            {"id":"00000004","kind":"message","role":"user","time":"2026-01-01T00:00:03.000Z","text":"c"}"#]],
    );
}

#[test]
fn marks_moves_system_prompts_and_extension_state_are_omitted() {
    check(
        "system be good; model p/m; thinking low; say a; label x; name n; custom state; config a=b; omit a; spend 3; hidden t secret; move a",
        expect![[
            r#"{"id":"00000004","kind":"message","role":"user","time":"2026-01-01T00:00:03.000Z","label":"x","text":"a"}"#
        ]],
    );
}

#[test]
fn summaries_notes_commands_and_sub_agents_are_included() {
    check(
        r#"say a; reply b; say c; backtrack 0 try again; summarize left; note info hello; bash ls; batch one, two; update one, two completed
           entry {"type":"custom_message","customType":"aside","content":"psst","display":true,"inContext":false}
           entry {"type":"message","message":{"role":"bashExecution","command":"env","output":"x","exitCode":1,"excludeFromContext":true}}
           entry {"type":"subagent_result","content":{"batchId":"b1","status":"completed","results":[{"id":0}]}}"#,
        expect![[r#"
            {"id":"00000001","kind":"message","role":"user","time":"2026-01-01T00:00:00.000Z","text":"a"}
            {"id":"00000004","kind":"backtrack","time":"2026-01-01T00:00:03.000Z","text":"try again","backtrack":{"checkpointId":0,"note":"try again","addendum":"","fromId":"00000003","originalUserMessage":"","discarded":2}}
            {"id":"00000005","kind":"branch_summary","time":"2026-01-01T00:00:04.000Z","text":"left","branchSummary":{"summary":"left","fromId":"00000004"}}
            {"id":"00000006","kind":"custom_message","time":"2026-01-01T00:00:05.000Z","text":"hello","customType":"info","isHookMessage":true}
            {"id":"00000007","kind":"message","role":"bashExecution","time":"2026-01-01T00:00:06.000Z","text":"ls","bash":{"command":"ls","output":"ok","exitCode":0,"cancelled":false,"truncated":false}}
            {"id":"00000008","kind":"subagent_batch","time":"2026-01-01T00:00:07.000Z","text":"","inContext":false,"subagents":{"batchId":"b1","status":"completed","tasks":[{"id":0,"prompt":"one"},{"id":1,"prompt":"two"}]}}
            {"id":"0000000a","kind":"custom_message","time":"2026-01-01T00:00:09.000Z","text":"psst","inContext":false,"customType":"aside","isHookMessage":true}
            {"id":"0000000b","kind":"message","role":"bashExecution","time":"2026-01-01T00:00:10.000Z","text":"env","inContext":false,"bash":{"command":"env","output":"x","exitCode":1,"cancelled":false,"truncated":false}}
            {"id":"0000000c","kind":"subagent_result","time":"2026-01-01T00:00:11.000Z","text":"","inContext":false,"subagents":{"batchId":"b1","status":"completed","results":[{"id":0}]}}"#]],
    );
}

#[test]
fn errors_thinking_images_and_display_texts_are_included() {
    check(
        r#"entry {"type":"message","message":{"role":"user","content":[{"type":"text","text":"long"},{"type":"image"}],"uiContent":"/fix"}}
           entry {"type":"message","message":{"role":"assistant","model":"m","responseModel":"m-2","content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"},{"type":"text","text":"b"}],"stopReason":"error","errorMessage":"broke"}}
           entry {"type":"message","message":{"role":"stranger","content":"hi"}}
           entry {"type":"message","message":{"role":"custom","customType":"old","content":"hook","display":true}}
           entry {"type":"message","message":{"role":"custom","customType":"old","content":"hidden","display":false}}"#,
        expect![[r#"
            {"id":"00000001","kind":"message","role":"user","time":"2026-01-01T00:00:00.000Z","text":"/fix","images":1}
            {"id":"00000002","kind":"message","role":"assistant","time":"2026-01-01T00:00:01.000Z","text":"a\n\nb","thinking":"hm","model":"m-2","stopReason":"error","error":"broke"}
            {"id":"00000003","kind":"message","role":"stranger","time":"2026-01-01T00:00:02.000Z","text":"hi"}
            {"id":"00000004","kind":"message","role":"custom","time":"2026-01-01T00:00:03.000Z","text":"hook","customType":"old","isHookMessage":true}"#]],
    );
}

#[test]
fn transcript_entries_lists_the_needed_lines() {
    let script = ScriptedSession::run("say a; label x; reply b; move a; move b; batch t; update t completed");
    let wanted: Vec<usize> =
        transcript_entries(&script.tree, script.tree.leaf()).iter().map(|seq| seq.index()).collect();
    assert_eq!(wanted, [0, 2, 6, 5], "the messages, the update of the batch, and the batch");
}

#[test]
fn a_session_renders_as_markdown() {
    check_markdown(
        r#"say Please fix it; label start; backtrack 0 Use the other file.; reply Looking. calls read x.txt, bash ls
           result found it; error no such file; bash cargo test; reply Done.; compact keep Done. "We fixed it."
           abort; fail overloaded; note info hello; summarize Tried another way; batch one, two
           reply More. calls bash sleep"#,
        expect![[r##"
            # A session

            ## User [start] · 2026-01-01 00:00

            Please fix it

            ## Backtracked to checkpoint 0 · 2026-01-01 00:00

            Use the other file.

            ## Assistant (claude) · 2026-01-01 00:00

            Looking.

            **Call** `read`

            ```json
            {"path":"x.txt"}
            ```

            **Call** `bash`

            ```json
            {"command":"ls"}
            ```

            **Result** of `read`

            ```
            found it
            ```

            **Error** of `bash`

            ```
            no such file
            ```

            ## Command · 2026-01-01 00:00

            ```console
            $ cargo test
            ok
            ```

            ## Assistant (claude) · 2026-01-01 00:00

            Done.

            ## Compaction of 12000 tokens · 2026-01-01 00:00

            We fixed it.

            ## Assistant (claude) · 2026-01-01 00:00

            *Aborted.*

            ## Assistant (claude) · 2026-01-01 00:00

            **Error:** overloaded

            ## info · 2026-01-01 00:00

            hello

            ## Summary of another branch · 2026-01-01 00:00

            Tried another way

            ## Sub-agents: 2 tasks, running · 2026-01-01 00:00

            *Not sent to the model.*

            1. one
            2. two

            ## Assistant (claude) · 2026-01-01 00:00

            More.

            **Call** `bash` — interrupted, no result

            ```json
            {"command":"sleep"}
            ```
        "##]],
    );
}

#[test]
fn text_cannot_break_the_page() {
    let fence = "```";
    let script = format!(
        r#"entry {{"type":"message","message":{{"role":"assistant","content":[{{"type":"text","text":"open\n{fence}rust\ncode"}}]}}}}
           entry {{"type":"message","message":{{"role":"toolResult","toolName":"a`b","content":"one\n{fence}{fence}\ntwo\u001b[31m red\u001b[2J\u202e"}}}}
           entry {{"type":"message","message":{{"role":"user","content":"~~~\nx\n~~~"}}}}
           entry {{"type":"custom_message","customType":"<b>*x*","content":"said","display":true}}"#
    );
    check_markdown(
        &script,
        expect![[r#"
            # A session

            ## Assistant · 2026-01-01 00:00

            open
            ```rust
            code
            ```

            **Result** of ``a`b``

            ```````
            one
            ``````
            two red�[2J�
            ```````

            ## User · 2026-01-01 00:00

            ~~~
            x
            ~~~

            ## \<b\>\*x\* · 2026-01-01 00:00

            said
        "#]],
    );
}

#[test]
fn tasks_of_sub_agents_render_as_text() {
    check_markdown(
        r#"entry {"type":"subagent_batch","content":{"batchId":"b","status":"completed","tasks":[{"id":"1","agent":"explore","title":"Find *it*","prompt":"p"}]}}
           entry {"type":"subagent_result","content":{"batchId":"b","status":"completed","results":[{"id":"1","agent":"explore","title":"Find *it*","status":"completed","summary":"It is in `a.rs`.\n\n```rust\nfn main() {}","usage":{"totalTokens":1500},"sessionId":"4f89da11"},{"id":"2","agent":"general","title":"Build","status":"cancelled","error":"stopped"}]}}"#,
        expect![[r#"
            # A session

            ## Sub-agents: 1 task, completed · 2026-01-01 00:00

            *Not sent to the model.*

            1. explore: Find \*it\*

            ## Sub-agents: 2 tasks, completed · 2026-01-01 00:00

            *Not sent to the model.*

            **1. explore: Find \*it\***: completed, 1.5k tokens, session 4f89da11

            > It is in `a.rs`.
            >
            > ```rust
            > fn main() {}

            **2. general: Build**: canceled

            **Error:** stopped
        "#]],
    );
}
