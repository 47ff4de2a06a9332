//! `context`: the messages that a model would get.

use osier_testkit::expect;
use serde_json::{Value, json};

use crate::support::{TestEnv, check, ids};

const COMPACTED: &str = "model anthropic/claude; thinking high; say a; reply b; say c; reply d; compact keep c \"the story so far\"; \
    say e; reply f";

#[test]
fn context_starts_with_the_last_compaction() {
    check(
        COMPACTED,
        &["context s.jsonl"],
        expect![[r#"
        $ context s.jsonl
        ── compactionSummary
        the story so far
        ── user
        c
        ── assistant
        d
        ── user
        e
        ── assistant
        f
        5 messages
    "#]],
    );
    let context = TestEnv::with(COMPACTED).json("context s.jsonl");
    assert_eq!(roles(&context["messages"]), ["compactionSummary", "user", "assistant", "user", "assistant"]);
    assert_eq!(context["leafId"], "00000009");
    assert_eq!(context["thinkingLevel"], "high");
    assert_eq!(context["model"], json!({ "provider": "anthropic", "modelId": "claude" }));
    assert_eq!(context.as_object().unwrap().len(), 4);
}

#[test]
fn every_kind_of_message_is_shown() {
    check(
        "system be kind; say a; reply b calls read x.txt; error no such file; note mine hello; bash ls; fail too busy; abort; \
         summarize a dead end",
        &["context s.jsonl"],
        expect![[r#"
            $ context s.jsonl
            ── system
            be kind
            ── user
            a
            ── assistant
            b
            → read {"path":"x.txt"}
            ── toolResult of read, an error
            no such file
            ── custom mine
            hello
            ── bashExecution
            ls
            ok
            ── assistant, error
            too busy
            ── assistant, aborted
            ── branchSummary
            a dead end
            8 messages
        "#]],
    );
}

#[test]
fn context_at_an_earlier_entry_is_shorter() {
    let env = TestEnv::with(COMPACTED);
    assert_eq!(roles(&env.json("context s.jsonl --at 00000004")["messages"]), ["user", "assistant"]);
    assert_eq!(
        env.json("context s.jsonl --at root"),
        json!({ "leafId": null, "messages": [], "thinkingLevel": "off", "model": null })
    );
    let error = env.fails(1, "context s.jsonl --at 0000000f");
    assert!(error.starts_with("osier: no entry 0000000f in this session; did you mean 00000001"), "{error}");
    env.fails(1, "context s.jsonl --request --at 0000000f");
    env.fails(1, "path s.jsonl --at 0000000f --json");
}

#[test]
fn path_lists_the_entries_of_any_branch() {
    check(
        "say a; reply b calls read x.txt; result c; label good; move b; say d",
        &["path s.jsonl", "path s.jsonl --at 00000003", "path s.jsonl --at root"],
        expect![[r#"
            $ path s.jsonl
            00000001  user: "a"
            00000002  assistant: "b"
            00000006  user: "d"
            $ path s.jsonl --at 00000003
            00000001  user: "a"
            00000002  assistant: "b"
            00000003  [read: x.txt]
            $ path s.jsonl --at root
        "#]],
    );
    let env = TestEnv::with("say a; reply b; move a; say c");
    assert_eq!(ids(&env.json("path s.jsonl")), ["00000001", "00000004"]);
    assert_eq!(ids(&env.json("path s.jsonl --at 00000003")), ["00000001", "00000003"]);
    assert_eq!(env.json("path s.jsonl --at root"), json!([]));
}

#[test]
fn path_json_is_as_stored() {
    let env = TestEnv::with(r#"entry {"type":"future","odd":[1.0,"é"],"n":1e3}"#);
    let line = env.lines("s.jsonl")[1].clone();
    assert_eq!(env.ok("path s.jsonl --json"), format!("[{line}]\n"));
}

#[test]
fn request_pairs_calls_with_results_and_marks_checkpoints() {
    check(
        "say a; reply b calls read x.txt, bash ls; result c; say d; reply e",
        &["context s.jsonl --request", "context s.jsonl --request --json"],
        expect![[r#"
            $ context s.jsonl --request
            ── user
            a
            <system>Checkpoint 0</system>
            ── assistant
            b
            → read {"path":"x.txt"}
            → bash {"command":"ls"}
            ── toolResult of read
            c
            ── toolResult of bash, an error
            This call was interrupted: there is no result.
            ── user
            d
            <system>Checkpoint 1</system>
            ── assistant
            e
            Repaired: 1 call without result, 0 results without calls.
            6 messages
            $ context s.jsonl --request --json
            {"leafId":"00000005","model":"anthropic/claude","messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"<system>Checkpoint 0</system>"}],"timestamp":1767225600000},{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"toolCall","id":"call_2_0","name":"read","arguments":{"path":"x.txt"}},{"type":"toolCall","id":"call_2_1","name":"bash","arguments":{"command":"ls"}}],"api":"anthropic-messages","provider":"anthropic","model":"claude","usage":{"input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"cost":{"input":0.1,"output":0.01,"cacheRead":0.0,"cacheWrite":0.0,"total":0.11}},"stopReason":"toolUse","timestamp":1767225601000},{"role":"toolResult","toolCallId":"call_2_0","toolName":"read","content":[{"type":"text","text":"c"}],"isError":false,"timestamp":1767225602000},{"role":"toolResult","toolCallId":"call_2_1","toolName":"bash","content":[{"type":"text","text":"This call was interrupted: there is no result."}],"isError":true,"timestamp":0},{"role":"user","content":[{"type":"text","text":"d"},{"type":"text","text":"<system>Checkpoint 1</system>"}],"timestamp":1767225603000},{"role":"assistant","content":[{"type":"text","text":"e"}],"api":"anthropic-messages","provider":"anthropic","model":"claude","usage":{"input":100,"output":10,"cacheRead":0,"cacheWrite":0,"totalTokens":110,"cost":{"input":0.1,"output":0.01,"cacheRead":0.0,"cacheWrite":0.0,"total":0.11}},"stopReason":"stop","timestamp":1767225604000}],"tools":[],"repairs":{"unansweredCalls":1,"strayResults":0},"body":{"model":"claude","stream":true,"thinking":{"type":"enabled","budget_tokens":8192},"max_tokens":40192,"tools":[{"name":"read","description":"No longer available.","input_schema":{"type":"object"}},{"name":"bash","description":"No longer available.","input_schema":{"type":"object"},"cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"<system>Checkpoint 0</system>"}]},{"role":"assistant","content":[{"type":"text","text":"b"},{"type":"tool_use","id":"call_2_0","name":"read","input":{"path":"x.txt"}},{"type":"tool_use","id":"call_2_1","name":"bash","input":{"command":"ls"}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_2_0","content":[{"type":"text","text":"c"}]},{"type":"tool_result","tool_use_id":"call_2_1","content":[{"type":"text","text":"This call was interrupted: there is no result."}],"is_error":true,"cache_control":{"type":"ephemeral"}}]},{"role":"user","content":[{"type":"text","text":"d"},{"type":"text","text":"<system>Checkpoint 1</system>","cache_control":{"type":"ephemeral"}}]},{"role":"assistant","content":[{"type":"text","text":"e"}]}]}}
        "#]],
    );
}

#[test]
fn checkpoints_are_counted_over_the_whole_path() {
    let script = "say a; reply b calls read x.txt, bash ls; result c; result d; say e; reply f; compact keep e \"so far\"; say g";
    let request = TestEnv::with(script).json("context s.jsonl --request");
    assert_eq!(checkpoints(&request), [(1, "Checkpoint 2"), (3, "Checkpoint 3")]);
    let request = TestEnv::with(script).json("context s.jsonl --request --at 00000004");
    assert_eq!(checkpoints(&request), [(0, "Checkpoint 0"), (3, "Checkpoint 1")]);
    assert_eq!(request["repairs"], json!({ "unansweredCalls": 0, "strayResults": 0 }));
    assert_eq!(request["leafId"], "00000004");
}

#[test]
fn result_without_a_call_is_not_sent() {
    let stray = r#"{"type":"message","message":{"role":"toolResult","toolCallId":"x","toolName":"read","content":"?"}}"#;
    let env = TestEnv::with(&format!("say a; entry {stray}; reply b"));
    let request = env.json("context s.jsonl --request");
    assert_eq!(roles(&request["messages"]), ["user", "assistant"]);
    assert_eq!(request["repairs"]["strayResults"], 1);
    assert_eq!(roles(&env.json("context s.jsonl")["messages"]), ["user", "toolResult", "assistant"]);
}

#[test]
fn edits_change_what_is_sent_and_nothing_else() {
    let env = TestEnv::with("say a; reply b; say c; omit b; edit a other");
    let messages = &env.json("context s.jsonl")["messages"];
    assert_eq!(roles(messages), ["user", "user"]);
    assert_eq!(messages[0]["content"], "other");
    assert_eq!(ids(&env.json("path s.jsonl")).len(), 5);
}

#[test]
fn compaction_with_an_unknown_first_kept_entry_is_reported() {
    let odd = r#"{"type":"compaction","summary":"lost","firstKeptEntryId":"ffffffff","tokensBefore":1}"#;
    let out = TestEnv::with(&format!("say a; reply b; entry {odd}; say c")).ok("context s.jsonl");
    assert!(out.contains("first kept entry of the compaction is not above it"), "{out}");
}

fn roles(messages: &Value) -> Vec<&str> {
    messages.as_array().unwrap().iter().map(|message| message["role"].as_str().unwrap()).collect()
}

/// The checkpoint marks, always in the last block.
fn checkpoints(request: &Value) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    for (at, message) in request["messages"].as_array().unwrap().iter().enumerate() {
        let blocks = message["content"].as_array().map_or(&[][..], Vec::as_slice);
        for (number, block) in blocks.iter().enumerate() {
            let text = block["text"].as_str().unwrap_or_default();
            if let Some(marker) =
                text.strip_prefix("<system>").and_then(|text| text.strip_suffix("</system>"))
            {
                assert_eq!(number, blocks.len() - 1, "{message}");
                found.push((at, marker));
            }
        }
    }
    found
}
