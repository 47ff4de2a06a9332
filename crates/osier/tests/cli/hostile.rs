//! A log may contain anything from a model, a tool or a web page. Control characters never reach the terminal.

use std::fs;

use serde_json::json;

use crate::support::{CommandOutput, TestEnv};

/// Clears the screen, sets a title, reverses the text direction, and fakes a message of Osier.
const EVIL: &str =
    "x\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{202e}\u{2066}\r\nosier: all is well\t\u{8}\u{0}y";

fn env() -> TestEnv {
    let entry = |number: usize, mut value: serde_json::Value| {
        let id = |number: usize| format!("{number}{EVIL}");
        value["id"] = json!(id(number));
        value["parentId"] = number.checked_sub(1).map_or(json!(null), |parent| json!(id(parent)));
        value["timestamp"] = json!("2026-01-01T00:00:00.000Z");
        format!("{value}\n")
    };
    let usage = json!({ "input": 1, "output": 1, "totalTokens": 2, "cost": { "total": 1 } });
    let call =
        json!({ "type": "toolCall", "id": EVIL, "name": EVIL, "arguments": { "path": EVIL, EVIL: EVIL } });
    let lines = [
        json!({ "type": "message", "message": { "role": "user", "content": EVIL, "timestamp": 1 } }),
        json!({ "type": "message", "message": { "role": "assistant", "provider": EVIL, "model": EVIL, "stopReason": EVIL, "usage": usage,
            "content": [{ "type": "thinking", "thinking": EVIL }, { "type": "text", "text": EVIL }, call, { "type": EVIL, EVIL: EVIL },
                { "type": "image", "mimeType": EVIL, "data": EVIL }] } }),
        json!({ "type": "message", "message": { "role": "toolResult", "toolCallId": EVIL, "toolName": EVIL, "content": EVIL, "isError": true } }),
        json!({ "type": "message", "message": { "role": "bashExecution", "command": EVIL, "output": EVIL, "fullOutputPath": EVIL, "truncated": true } }),
        json!({ "type": "message", "message": { "role": "assistant", "content": [], "stopReason": "error", "errorMessage": EVIL } }),
        json!({ "type": "message", "message": { "role": EVIL, "content": EVIL } }),
        json!({ "type": "custom_message", "customType": EVIL, "content": EVIL, "display": true }),
        json!({ "type": "custom_message", "customType": "osier.backtrack", "content": EVIL, "display": true,
            "details": { "checkpointId": 0, "note": EVIL, "addendum": EVIL, "originalUserMessage": EVIL, "discarded": 2 } }),
        json!({ "type": "custom", "customType": EVIL, "data": EVIL }),
        json!({ "type": "custom", "customType": "osier.config", "data": { "set": { EVIL: EVIL, "summary": EVIL } } }),
        json!({ "type": "model_change", "provider": EVIL, "modelId": EVIL }),
        json!({ "type": "thinking_level_change", "thinkingLevel": EVIL }),
        json!({ "type": "branch_summary", "fromId": EVIL, "summary": EVIL }),
        json!({ "type": "compaction", "summary": EVIL, "firstKeptEntryId": format!("2{EVIL}"), "tokensBefore": 5, "provider": EVIL,
            "model": EVIL, "details": { "readFiles": [EVIL], "modifiedFiles": [EVIL] } }),
        json!({ "type": "subagent_batch", "content": { "batchId": EVIL, "status": EVIL, "tasks": [EVIL] } }),
        json!({ "type": "label", "targetId": format!("1{EVIL}"), "label": EVIL }),
        json!({ "type": "session_info", "name": EVIL }),
        json!({ "type": EVIL, EVIL: EVIL }),
    ];
    let mut file = json!({ "type": "session", "version": 3, "id": EVIL, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": EVIL,
        "parentSession": EVIL, "parentSessionId": EVIL, "agentId": EVIL })
    .to_string();
    file.push('\n');
    file.extend(lines.into_iter().enumerate().map(|(number, line)| entry(number, line)));
    let env = TestEnv::new();
    env.write("s.jsonl", &file);
    let folder = env.home().join("sessions").join("evil\u{1b}[2J\nfolder");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("evil\u{1b}[2J\nfile.jsonl"), file).unwrap();
    fs::write(folder.join("junk\u{1b}[2J\nfile.jsonl"), "junk").unwrap();
    env
}

fn check_sanitized(line: &str, output: &CommandOutput) {
    for (name, text) in [("stdout", &output.out), ("stderr", &output.err)] {
        let alive = text.chars().find(|ch| {
            ch.is_control() && !matches!(ch, '\n' | '\t')
                || matches!(ch, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        });
        assert_eq!(alive, None, "{line}: {name}: {text}");
    }
    let faked =
        output.err.lines().chain(output.out.lines()).filter(|line| line.starts_with("osier: all is well"));
    // A message may contain such a line; rows and notices must not.
    let shows_messages =
        ["show", "context", "export", "compaction"].iter().any(|command| line.starts_with(command));
    assert_eq!(
        faked.count() > 0,
        shows_messages && !output.out.is_empty() && !line.contains("--usage"),
        "{line}: {output}"
    );
}

#[test]
fn no_command_prints_control_characters_of_a_log() {
    let env = env();
    for line in [
        "show s.jsonl",
        "show s.jsonl --usage",
        "tree s.jsonl",
        "tree s.jsonl --ids --filter all",
        "path s.jsonl",
        "context s.jsonl",
        "context s.jsonl --request",
        "label s.jsonl",
        "config s.jsonl",
        "export s.jsonl",
        "verify s.jsonl",
        "list",
        "list --all",
        "list --all --search owned",
        "gc s.jsonl --dry-run",
        "fork s.jsonl",
        "fork s.jsonl --list",
        "compaction s.jsonl",
        "compare s.jsonl root",
        "compact s.jsonl",
        "show x",
    ] {
        let output = env.run(line);
        check_sanitized(line, &output);
    }
}

#[test]
fn line_breaks_in_a_log_add_no_rows() {
    let env = env();
    let entries = 18;
    assert_eq!(env.ok("path s.jsonl").lines().count(), entries);
    assert_eq!(env.ok("tree s.jsonl --filter all --ids").lines().count(), entries);
    assert_eq!(env.ok("label s.jsonl").lines().count(), 1);
    assert_eq!(env.ok("config s.jsonl").lines().count(), 6);
    assert_eq!(env.ok("list --all").lines().count(), 1);
}

#[test]
fn names_in_errors_are_sanitized() {
    let env = env();
    let id = format!("1{EVIL}");
    for args in [
        ["sessions", "show", EVIL].as_slice(),
        &["sessions", "show", "no\u{1b}[2J\nosier: all is well.jsonl"],
        &["sessions", "tree", "s.jsonl", "--at", "none\u{1b}[2J\nosier: all is well"],
        &["sessions", "label", "s.jsonl", "none\u{1b}[2J", "x"],
        &["sessions", "config", "s.jsonl", "a\u{1b}[2J"],
        &["sessions", "config", "s.jsonl", "approvalMode=\u{1b}[2J\u{202e}"],
        &["sessions", "list", "--search", "re:(\u{1b}[2J"],
        &["sessions", "delete", "--older-than", "\u{1b}[2J"],
        &["sessions", "tree", "s.jsonl", "--filter", "\u{1b}[2J"],
    ] {
        let args: Vec<String> = args.iter().map(|arg| arg.replace('\0', "")).collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let output = env.args(&args);
        assert_ne!(output.code, 0, "{args:?}");
        check_sanitized("error", &output);
    }
    // Commands that change something sanitize their notices too.
    let id = id.replace('\0', "");
    for args in [
        ["sessions", "compaction", "s.jsonl", "--undo", "--yes"].as_slice(),
        &["sessions", "move", "s.jsonl", "root"],
        &["sessions", "undo", "s.jsonl"],
        &["sessions", "delete", "s.jsonl"],
        &["sessions", "append", "s.jsonl", "--entry", &json!({ "type": "custom", "id": id }).to_string()],
    ] {
        check_sanitized("change", &env.args(args));
    }
}
