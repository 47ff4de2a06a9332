//! Entries that are shown, sent or stored differently from their lines.

use osier_testkit::expect;
use serde_json::json;

use crate::support::{TestEnv, ids};

/// A test environment with these entries in `s.jsonl`, each below the one before.
fn with_entries(entries: &[&str]) -> TestEnv {
    let env = TestEnv::new();
    for entry in entries {
        env.ok(&format!("append s.jsonl --entry '{entry}'"));
    }
    env
}

#[test]
fn display_text_is_shown_and_content_is_sent() {
    let env = with_entries(&[
        r#"{"type":"message","id":"00000001","message":{"role":"user","content":"/review expanded to a long prompt","uiContent":"/review"}}"#,
        r#"{"type":"message","id":"00000002","message":{"role":"assistant","content":[{"type":"text","text":"fine"}],"stopReason":"stop"}}"#,
    ]);
    assert_eq!(env.json("context s.jsonl")["messages"][0]["content"], "/review expanded to a long prompt");
    assert_eq!(env.json("show s.jsonl")["firstMessage"], "/review");
    assert_eq!(env.ok("tree s.jsonl").lines().next().unwrap(), "user: \"/review\"");
    let export = env.ok("export s.jsonl");
    assert!(export.contains("\n/review\n") && !export.contains("expanded"), "{export}");
    let shown = env.ok("show s.jsonl");
    assert!(!shown.contains("expanded"), "{shown}");
}

#[test]
fn entries_out_of_context_are_shown_and_never_sent() {
    let env = with_entries(&[
        r#"{"type":"message","message":{"role":"user","content":"a"}}"#,
        r#"{"type":"branch_summary","fromId":"root","summary":"a dead end","inContext":false}"#,
        r#"{"type":"custom_message","customType":"mine","content":"only for people","display":true,"inContext":false}"#,
        r#"{"type":"subagent_batch","content":{"batchId":"b","mode":"parallel","tasks":[{"id":1,"prompt":"p"}],"status":"running"}}"#,
        r#"{"type":"subagent_result","content":{"batchId":"b","status":"completed","results":[]}}"#,
    ]);
    assert_eq!(env.json("context s.jsonl")["messages"].as_array().unwrap().len(), 1);
    assert_eq!(env.json("context s.jsonl --request")["messages"].as_array().unwrap().len(), 1);
    env.check(
        &["tree s.jsonl"],
        expect![[r#"
            $ tree s.jsonl
            user: "a"
            [branch summary]: a dead end
            [mine]: only for people
            [subagents: 1 task, running]
            [subagents: 0 results, completed]  ← active
        "#]],
    );
    let shown = env.ok("show s.jsonl");
    assert_eq!(shown.matches("*Not sent to the model.*").count(), 4, "{shown}");
    assert!(shown.contains("a dead end") && shown.contains("only for people"), "{shown}");
}

/// The batch is stored as running; a later update has its final status.
#[test]
fn finished_sub_agent_batch_is_shown_as_finished_everywhere() {
    let env = with_entries(&[
        r#"{"type":"message","message":{"role":"user","content":"a"}}"#,
        r#"{"type":"subagent_batch","id":"00000002","content":{"batchId":"b","tasks":[{"id":1},{"id":2}],"status":"running"}}"#,
        r#"{"type":"entry_update","targetId":"00000002","status":"failed","payload":{}}"#,
    ]);
    env.check(
        &["tree s.jsonl"],
        expect![[r#"
            $ tree s.jsonl
            user: "a"
            [subagents: 2 tasks, failed]  ← active
        "#]],
    );
    let path = env.ok("path s.jsonl");
    assert!(path.contains("00000002  [subagents: 2 tasks, failed]"), "{path}");
    let snapshot = env.json("snapshot s.jsonl");
    let content = json!({ "batchId": "b", "tasks": [{ "id": 1 }, { "id": 2 }], "status": "failed" });
    assert_eq!(snapshot["entries"][1]["content"], content);
    assert_eq!(env.json("tree s.jsonl --flat")[1]["entry"]["content"], content);
    assert_eq!(env.json("path s.jsonl")[1]["content"], content);
    assert_eq!(env.json("entry s.jsonl 00000002")["content"], content);
    assert!(env.ok("entry s.jsonl 00000002").contains("\"status\": \"failed\""));
    let exported = env.json("export s.jsonl");
    assert_eq!(exported["transcript"][1]["subagents"]["status"], "failed");
    assert!(env.lines("s.jsonl")[2].contains("running"), "nothing is rewritten");
}

/// Entries in the form that `--json` prints can be appended.
#[test]
fn osier_kinds_can_be_appended_as_json_output_shows_them() {
    let env = TestEnv::with(
        "say a; reply b; say c; move b; backtrack 0 another way; config x=1; delete c; restore c",
    );
    let lines = env.lines("s.jsonl");
    let snapshot = env.json("snapshot s.jsonl");
    for (at, entry) in snapshot["entries"].as_array().unwrap().iter().enumerate() {
        env.ok(&format!("append t.jsonl --entry '{entry}'"));
        assert_eq!(env.lines("t.jsonl")[at + 1], lines[at + 1], "{entry}");
        env.ok(&format!("append t.jsonl --entry '{entry}'"));
    }
    assert_eq!(env.lines("t.jsonl").len(), lines.len(), "appending the same entry again changes nothing");
    assert_eq!(env.json("snapshot t.jsonl")["activePath"], snapshot["activePath"]);
}

#[test]
fn osier_kinds_without_required_fields_are_rejected() {
    let env = TestEnv::with("say a; reply b; say c");
    let before = env.read("s.jsonl");
    env.check(
        &[
            r#"append s.jsonl --entry '{"type":"delete_branch"}'"#,
            r#"append s.jsonl --entry '{"type":"delete_branch","targetId":"0000000f"}'"#,
            r#"append s.jsonl --entry '{"type":"restore_branch"}'"#,
            r#"append s.jsonl --entry '{"type":"leaf"}'"#,
            r#"append s.jsonl --entry '{"type":"entry_update","targetId":"00000001","status":"completed"}'"#,
            r#"append s.jsonl --entry '{"type":"config","set":{"approvalMode":null}}'"#,
        ],
        expect![[r#"
            $ append s.jsonl --entry '{"type":"delete_branch"}'
            ! osier: not a valid entry: it needs a `targetId`
            exit 2
            $ append s.jsonl --entry '{"type":"delete_branch","targetId":"0000000f"}'
            ! osier: no entry 0000000f in this session; `osier sessions tree --ids` lists the entries
            exit 1
            $ append s.jsonl --entry '{"type":"restore_branch"}'
            ! osier: not a valid entry: it needs a `targetId`
            exit 2
            $ append s.jsonl --entry '{"type":"leaf"}'
            ! osier: not a valid entry: it needs a `parentId`: the place to move to, or null
            exit 2
            $ append s.jsonl --entry '{"type":"entry_update","targetId":"00000001","status":"completed"}'
            ! osier: entry 00000001 is finished, and a finished entry never changes
            exit 1
            $ append s.jsonl --entry '{"type":"config","set":{"approvalMode":null}}'
            ! osier: the setting "approvalMode" must be default, autoEdit, sandbox or yolo, not null
            exit 2
        "#]],
    );
    assert_eq!(env.read("s.jsonl"), before);
    env.ok(r#"append s.jsonl --entry '{"type":"delete_branch","targetId":"00000003"}'"#);
    assert_eq!(env.json("path s.jsonl").as_array().unwrap().len(), 3, "the leaf moved out of the branch");
    assert_eq!(env.json("snapshot s.jsonl")["deletedBranches"], json!(["00000003"]));
    env.ok(r#"append s.jsonl --entry '{"type":"leaf","parentId":"00000001"}'"#);
    assert_eq!(env.json("context s.jsonl")["messages"].as_array().unwrap().len(), 1);
}

#[test]
fn hidden_custom_message_is_sent_and_shown_only_with_filter_all() {
    let env = TestEnv::with("say a; hidden mine secret; reply b; custom state");
    assert_eq!(env.json("context s.jsonl")["messages"][1]["content"], "secret");
    assert!(!env.ok("tree s.jsonl").contains("secret"));
    assert!(!env.ok("show s.jsonl").contains("secret"));
    assert!(!env.ok("export s.jsonl").contains("secret"));
    assert!(env.ok("tree s.jsonl --filter all").contains("[mine]: secret"));
    assert!(!env.ok("tree s.jsonl").contains("state"));
    assert!(env.ok("tree s.jsonl --filter all").contains("[custom: state]"));
    assert_eq!(env.json("context s.jsonl")["messages"].as_array().unwrap().len(), 3);
}

#[test]
fn tool_role_of_another_program_is_stored_as_tool_result() {
    let env = with_entries(&[
        r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{}}],"stopReason":"toolUse"}}"#,
        r#"{"type":"message","id":"00000002","metadata":{"mine":1},"message":{"role":"tool","toolCallId":"c","toolName":"read","content":"x"}}"#,
    ]);
    let path = env.json("path s.jsonl");
    assert_eq!(path[1]["message"]["role"], "toolResult");
    assert_eq!(path[1]["metadata"], json!({ "mine": 1 }), "the rest of the entry is kept");
    assert_eq!(ids(&path)[1], "00000002");
    assert_eq!(
        env.json("context s.jsonl --request")["repairs"],
        json!({ "unansweredCalls": 0, "strayResults": 0 })
    );
    // The same entry is accepted again.
    env.ok(r#"append s.jsonl --entry '{"type":"message","id":"00000002","metadata":{"mine":1},"message":{"role":"tool","toolCallId":"c","toolName":"read","content":"x"}}'"#);
    assert_eq!(env.json("path s.jsonl").as_array().unwrap().len(), 2);
}

#[test]
fn tool_role_in_a_file_is_kept_and_sent_as_tool_result() {
    let env = TestEnv::with("say a; reply b calls read x");
    let mut file = env.read("s.jsonl");
    file.extend_from_slice(br#"{"type":"message","id":"00000003","parentId":"00000002","timestamp":"2026-01-01T00:00:02.000Z","message":{"role":"tool","toolCallId":"call_2_0","toolName":"read","content":[{"type":"text","text":"c"}]}}"#);
    file.push(b'\n');
    env.write("s.jsonl", file);
    let request = env.json("context s.jsonl --request");
    assert_eq!(request["messages"][2]["role"], "toolResult");
    assert_eq!(request["messages"][2]["content"][1]["text"], "<system>Checkpoint 1</system>");
    assert_eq!(request["repairs"], json!({ "unansweredCalls": 0, "strayResults": 0 }));
    assert_eq!(env.json("path s.jsonl")[2]["message"]["role"], "tool");
}

#[test]
fn system_messages_are_neither_checkpoints_nor_turns() {
    let env = TestEnv::with("system be kind; say a; system be brief; reply b");
    let request = env.json("context s.jsonl --request");
    assert_eq!(request["messages"].to_string().matches("Checkpoint").count(), 1);
    assert_eq!(env.json("show s.jsonl")["firstMessage"], "a");
    assert!(!env.ok("show s.jsonl").contains("be kind"));
}

#[test]
fn unknown_kinds_fields_and_roles_survive_byte_for_byte() {
    let env = TestEnv::with(
        r#"say a; entry {"type":"future","x":{"deep":[1,2.50,"\u00e9"]},"parent":1}; entry {"type":"message","message":{"role":"oracle","content":"?","odd":1e2}}; reply b"#,
    );
    let lines = env.lines("s.jsonl");
    env.ok("label s.jsonl 00000002 odd");
    env.ok("export s.jsonl --format jsonl --output out.jsonl");
    let exported = env.lines("out.jsonl");
    assert_eq!(&exported[1..5], &lines[1..5]);
    let id = env.ok("fork s.jsonl").trim().to_owned();
    assert_eq!(env.json(&format!("path {id}"))[1]["x"], json!({ "deep": [1, 2.5, "é"] }));
    assert_eq!(env.json("context s.jsonl")["messages"].as_array().unwrap().len(), 3);
    assert_eq!(env.json("context s.jsonl --request")["messages"].as_array().unwrap().len(), 2);
}
