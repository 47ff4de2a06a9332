//! Runs the steps of a script.

use osier_tree::backtrack::ADDENDUM_BUDGET;
use osier_tree::entry::parse_entry;
use osier_tree::line_consumer::feed_all;
use osier_tree::projection::preview::tool_calls;
use osier_tree::scan::RawJson;
use osier_tree::{EntryDraft, MessageRole, Place};
use serde_json::{Map, Value, json};

use crate::ScriptedSession;
use crate::message::{assistant_message, expand_size, reply_content, text_content, usage, user_message};

pub(crate) fn run_step(script: &mut ScriptedSession, step: &str) {
    let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
    let rest = rest.trim();
    match word {
        "reopen" => script.reopen(),
        "below" => {
            let place = place(script, rest);
            script.set_next_parent(place);
        }
        "say" | "system" | "bash" | "aside" | "reply" | "fail" | "abort" | "result" | "error" => {
            run_message_step(script, word, rest);
        }
        "label" | "unlabel" | "name" | "config" | "delete" | "restore" | "update" => {
            run_mark_step(script, word, rest);
        }
        "move" | "root" | "undo" | "redo" | "backtrack" | "return" | "summarize" => {
            run_move_step(script, word, rest);
        }
        _ => run_other_step(script, word, rest),
    }
}

fn append_message(script: &mut ScriptedSession, message: &Value, name: &str) {
    let at = script.take_next_parent();
    let message = message.to_string();
    let raw = RawJson::parse(message.as_bytes()).expect("a Value is JSON");
    let draft = expect_plan(script.tree.plan_message(at, raw));
    script.append(&draft, name);
}

fn run_message_step(script: &mut ScriptedSession, word: &str, rest: &str) {
    let now = script.now();
    let (text_part, calls) = match rest.strip_prefix("calls ") {
        Some(calls) => ("", calls),
        None => rest.split_once(" calls ").unwrap_or((rest, "")),
    };
    let made = match word {
        "say" => user_message(rest, now),
        "system" => json!({ "role": "system", "content": expand_size(rest), "timestamp": now }),
        "bash" | "aside" => bash_execution(rest, word == "aside", now),
        "reply" => {
            let stop = if calls.is_empty() { "stop" } else { "toolUse" };
            assistant_message(&reply_content(text_part, calls, script.lines.len()), stop, now)
        }
        "abort" => assistant_message(&json!([]), "aborted", now),
        "fail" => {
            let mut failed = assistant_message(&json!([]), "error", now);
            failed["errorMessage"] = json!(rest);
            failed
        }
        _ => {
            let (id, tool) = unanswered_call(script).expect("no unanswered call on the path");
            let (output, details) = split_details(rest);
            let mut result = json!({
                "role": "toolResult", "toolCallId": id, "toolName": tool, "content": text_content(output),
                "isError": word == "error", "timestamp": now,
            });
            if let Some(details) = details {
                result["details"] = details;
            }
            result
        }
    };
    let name = match word {
        "reply" => text_part,
        "result" | "error" => split_details(rest).0,
        _ => rest,
    };
    append_message(script, &made, name);
}

/// A user command with its exit code. `aside` excludes it from the context.
fn bash_execution(rest: &str, aside: bool, now: i64) -> Value {
    let (command, code) = rest.split_once(" exits ").unwrap_or((rest, "0"));
    let code: i64 = code.parse().expect("bash COMMAND exits N");
    let mut ran = json!({
        "role": "bashExecution", "command": expand_size(command), "output": "ok", "exitCode": code,
        "cancelled": false, "truncated": false, "timestamp": now,
    });
    if aside {
        ran["excludeFromContext"] = json!(true);
    }
    ran
}

fn split_details(rest: &str) -> (&str, Option<Value>) {
    match rest.split_once(" details ") {
        Some((output, details)) => {
            (output, Some(serde_json::from_str(details).expect("details {…} must be JSON")))
        }
        None => (rest, None),
    }
}

/// The oldest call on the path without a result.
fn unanswered_call(script: &ScriptedSession) -> Option<(String, String)> {
    let mut open: Vec<(String, String)> = Vec::new();
    for seq in script.tree.path(script.tree.leaf()) {
        let entry = parse_entry(&script.lines[seq.index()]).expect("every line of a script is an entry");
        open.extend(tool_calls(&entry).into_iter().map(|(id, call)| (id.to_string(), call.name.to_string())));
        if let (MessageRole::ToolResult, Some(message)) = (entry.role, entry.message) {
            let answered = message.get("toolCallId").and_then(RawJson::text);
            open.retain(|(id, _)| Some(&**id) != answered.as_deref());
        }
    }
    open.into_iter().next()
}

fn run_mark_step(script: &mut ScriptedSession, word: &str, rest: &str) {
    let tree = &script.tree;
    let draft = match word {
        "label" => match rest.split_once(" on ") {
            Some((label, target)) => tree.plan_label(script.id(target), Some(label)),
            None => {
                let here = tree.heads().anchor(tree.leaf()).expect("no entry to label");
                tree.plan_label(tree.id(here).as_str(), Some(rest))
            }
        },
        "unlabel" => tree.plan_label(script.id(rest), None),
        "name" => Ok(tree.plan_name(rest)),
        "config" => {
            let (key, value) = rest.split_once('=').expect("config KEY=VALUE");
            let set: Map<String, Value> = Map::from_iter([(key.to_owned(), json!(value))]);
            tree.plan_config(&set, &[])
        }
        "delete" => tree.plan_delete_branch(script.id(rest)),
        "restore" => tree.plan_restore_branch(script.id(rest)),
        _ => {
            let (target, status) = rest.rsplit_once(' ').expect("update X STATUS");
            tree.plan_entry_update(script.id(target), status, &json!({}))
        }
    };
    script.append(&expect_plan(draft), &format!("{word} {rest}"));
}

fn run_move_step(script: &mut ScriptedSession, word: &str, rest: &str) {
    let from = script.take_next_parent();
    let tree = &script.tree;
    let history = tree.move_history();
    let draft = match word {
        "move" => tree.plan_move(from, place(script, rest)).expect("already at this place"),
        "root" => tree.plan_move(from, None).expect("already at this place"),
        "undo" => expect_plan(tree.plan_undo(from, history.back.last().copied())),
        "redo" => expect_plan(tree.plan_redo(from, history.forward.last().copied())),
        "backtrack" | "return" => {
            let (number, note) = rest.split_once(' ').expect("backtrack N NOTE");
            let number: usize = number.parse().expect("the checkpoint must be a number");
            let checkpoint = tree.checkpoints(from)[number];
            match word {
                "backtrack" => tree.plan_backtrack(from, checkpoint, note, "", ""),
                _ => {
                    let mut returning = tree.backtrack_planner(from, checkpoint);
                    feed_all(&mut returning, &script.lines);
                    returning.plan(note, ADDENDUM_BUDGET)
                }
            }
        }
        _ => {
            let (summary, at) = match rest.split_once(" at ") {
                Some((summary, at)) => (summary, place(script, at)),
                None => (rest, from),
            };
            let draft = tree.plan_branch_summary(at, from, &expand_size(summary), &Map::new());
            script.append(&draft, summary);
            return;
        }
    };
    script.append(&draft, &format!("{word} {rest}"));
}

fn run_other_step(script: &mut ScriptedSession, word: &str, rest: &str) {
    let at = script.take_next_parent();
    let tree = &script.tree;
    let pair = || rest.split_once(' ').unwrap_or_else(|| panic!("{word} needs two words, got {rest:?}"));
    let object = |value: Value, name: &str| (plan_object(script, at, &value), name.to_owned());
    let (draft, name) = match word {
        "model" => {
            let (provider, id) = rest.split_once('/').expect("model PROVIDER/ID");
            (expect_plan(tree.plan_model_change(at, provider, id)), rest.to_owned())
        }
        "thinking" => (expect_plan(tree.plan_thinking_level(at, rest)), rest.to_owned()),
        "custom" => (tree.plan_custom(at, rest, None), rest.to_owned()),
        "note" | "hidden" => {
            let (kind, text) = pair();
            (
                tree.plan_custom_message(at, kind, &json!(expand_size(text)), word == "note", None),
                text.to_owned(),
            )
        }
        "omit" => (expect_plan(tree.plan_context_edit(at, script.id(rest), None)), format!("omit {rest}")),
        "edit" => {
            let (target, text) = pair();
            (
                expect_plan(tree.plan_context_edit(at, script.id(target), Some(&json!(expand_size(text))))),
                text.to_owned(),
            )
        }
        "compact" => {
            let keep = rest.strip_prefix("keep ").expect("compact keep X TEXT");
            let (kept, summary) = keep.split_once(' ').expect("compact keep X TEXT");
            let summary = summary.trim_matches('"');
            let draft = tree.plan_compaction(at, summary, script.id(kept), 12_000, &Map::new());
            (expect_plan(draft), summary.to_owned())
        }
        "spend" => {
            let tokens = rest.parse().expect("spend TOKENS");
            let usage = usage(tokens, 0);
            object(
                json!({ "type": "usage", "kind": "warm", "provider": "anthropic", "model": "claude", "usage": usage }),
                "spend",
            )
        }
        "batch" => {
            let tasks: Vec<Value> = rest
                .split(", ")
                .enumerate()
                .map(|(id, prompt)| json!({ "id": id, "prompt": prompt }))
                .collect();
            let content = json!({ "batchId": "b1", "mode": "parallel", "tasks": tasks, "status": "running" });
            object(json!({ "type": "subagent_batch", "content": content }), rest)
        }
        "entry" => object(serde_json::from_str(rest).expect("entry {…} must be JSON"), rest),
        _ => panic!("unknown step {word:?}"),
    };
    script.append(&draft, &name);
}

fn plan_object(script: &ScriptedSession, at: Place, value: &Value) -> EntryDraft {
    let text = value.to_string();
    let raw = RawJson::parse(text.as_bytes()).expect("a Value is JSON");
    expect_plan(script.tree.plan_entry(Some(at), raw))
}

fn place(script: &ScriptedSession, name: &str) -> Place {
    (name != "root").then(|| script.seq(name))
}

fn expect_plan<E: std::fmt::Display>(draft: Result<EntryDraft, E>) -> EntryDraft {
    draft.unwrap_or_else(|error| panic!("cannot run this step: {error}"))
}
