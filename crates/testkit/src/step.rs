//! Runs the steps of a script.

use osier_tree::asking::answer;
use osier_tree::entry::read_entry;
use osier_tree::note::BUDGET;
use osier_tree::projection::preview::calls_of;
use osier_tree::scan::Raw;
use osier_tree::{Draft, Place, Role};
use serde_json::{Map, Value, json};

use crate::Script;
use crate::message::{assistant, reply, sized, text, usage, user};

pub(crate) fn play(script: &mut Script, step: &str) {
    let (word, rest) = step.split_once(' ').unwrap_or((step, ""));
    let rest = rest.trim();
    match word {
        "reopen" => script.reopen(),
        "below" => {
            let place = place(script, rest);
            script.stand_below(place);
        }
        "say" | "system" | "bash" | "aside" | "reply" | "fail" | "abort" | "result" | "error" => {
            said(script, word, rest);
        }
        "label" | "unlabel" | "name" | "config" | "delete" | "restore" | "update" => mark(script, word, rest),
        "move" | "root" | "undo" | "redo" | "backtrack" | "return" | "summarize" => jump(script, word, rest),
        _ => other(script, word, rest),
    }
}

fn message(script: &mut Script, message: &Value, name: &str) {
    let at = script.here();
    let message = message.to_string();
    let raw = Raw::parse(message.as_bytes()).expect("a Value is JSON");
    let draft = planned(script.tree.plan_message(at, raw));
    script.append(&draft, name);
}

fn said(script: &mut Script, word: &str, rest: &str) {
    let now = script.now();
    let (text_part, calls) = match rest.strip_prefix("calls ") {
        Some(calls) => ("", calls),
        None => rest.split_once(" calls ").unwrap_or((rest, "")),
    };
    let made = match word {
        "say" => user(rest, now),
        "system" => json!({ "role": "system", "content": sized(rest), "timestamp": now }),
        "bash" | "aside" => ran(rest, word == "aside", now),
        "reply" => {
            let stop = if calls.is_empty() { "stop" } else { "toolUse" };
            assistant(&reply(text_part, calls, script.lines.len()), stop, now)
        }
        "abort" => assistant(&json!([]), "aborted", now),
        "fail" => {
            let mut failed = assistant(&json!([]), "error", now);
            failed["errorMessage"] = json!(rest);
            failed
        }
        _ => {
            let (id, tool) = open_call(script).expect("no unanswered call on the path");
            let (output, details) = with_details(rest);
            let mut result = json!({
                "role": "toolResult", "toolCallId": id, "toolName": tool, "content": text(output),
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
        "result" | "error" => with_details(rest).0,
        _ => rest,
    };
    message(script, &made, name);
}

/// A user command with its exit code. `aside` excludes it from the context.
fn ran(rest: &str, aside: bool, now: i64) -> Value {
    let (command, code) = rest.split_once(" exits ").unwrap_or((rest, "0"));
    let code: i64 = code.parse().expect("bash COMMAND exits N");
    let mut ran = json!({
        "role": "bashExecution", "command": sized(command), "output": "ok", "exitCode": code,
        "cancelled": false, "truncated": false, "timestamp": now,
    });
    if aside {
        ran["excludeFromContext"] = json!(true);
    }
    ran
}

fn with_details(rest: &str) -> (&str, Option<Value>) {
    match rest.split_once(" details ") {
        Some((output, details)) => {
            (output, Some(serde_json::from_str(details).expect("details {…} must be JSON")))
        }
        None => (rest, None),
    }
}

/// The oldest call on the path without a result.
fn open_call(script: &Script) -> Option<(String, String)> {
    let mut open: Vec<(String, String)> = Vec::new();
    for seq in script.tree.path(script.tree.leaf()) {
        let entry = read_entry(&script.lines[seq.index()]).expect("every line of a script is an entry");
        open.extend(calls_of(&entry).into_iter().map(|(id, call)| (id.to_string(), call.name.to_string())));
        if let (Role::ToolResult, Some(message)) = (entry.role, entry.message) {
            let answered = message.get("toolCallId").and_then(Raw::text);
            open.retain(|(id, _)| Some(&**id) != answered.as_deref());
        }
    }
    open.into_iter().next()
}

fn mark(script: &mut Script, word: &str, rest: &str) {
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
    script.append(&planned(draft), &format!("{word} {rest}"));
}

fn jump(script: &mut Script, word: &str, rest: &str) {
    let from = script.here();
    let tree = &script.tree;
    let history = tree.history();
    let draft = match word {
        "move" => tree.plan_move(from, place(script, rest)).expect("already at this place"),
        "root" => tree.plan_move(from, None).expect("already at this place"),
        "undo" => planned(tree.plan_undo(from, history.back.last().copied())),
        "redo" => planned(tree.plan_redo(from, history.forward.last().copied())),
        "backtrack" | "return" => {
            let (number, note) = rest.split_once(' ').expect("backtrack N NOTE");
            let number: usize = number.parse().expect("the checkpoint must be a number");
            let checkpoint = tree.checkpoints(from)[number];
            match word {
                "backtrack" => tree.plan_backtrack(from, checkpoint, note, "", ""),
                _ => {
                    let mut returning = tree.returning(from, checkpoint);
                    answer(&mut returning, &script.lines);
                    returning.plan(note, BUDGET)
                }
            }
        }
        _ => {
            let (summary, at) = match rest.split_once(" at ") {
                Some((summary, at)) => (summary, place(script, at)),
                None => (rest, from),
            };
            let draft = tree.plan_branch_summary(at, from, &sized(summary), &Map::new());
            script.append(&draft, summary);
            return;
        }
    };
    script.append(&draft, &format!("{word} {rest}"));
}

fn other(script: &mut Script, word: &str, rest: &str) {
    let at = script.here();
    let tree = &script.tree;
    let pair = || rest.split_once(' ').unwrap_or_else(|| panic!("{word} needs two words, got {rest:?}"));
    let object = |value: Value, name: &str| (any(script, at, &value), name.to_owned());
    let (draft, name) = match word {
        "model" => {
            let (provider, id) = rest.split_once('/').expect("model PROVIDER/ID");
            (planned(tree.plan_model_change(at, provider, id)), rest.to_owned())
        }
        "thinking" => (planned(tree.plan_thinking_level(at, rest)), rest.to_owned()),
        "custom" => (tree.plan_custom(at, rest, None), rest.to_owned()),
        "note" | "hidden" => {
            let (kind, text) = pair();
            (tree.plan_custom_message(at, kind, &json!(sized(text)), word == "note", None), text.to_owned())
        }
        "omit" => (planned(tree.plan_context_edit(at, script.id(rest), None)), format!("omit {rest}")),
        "edit" => {
            let (target, text) = pair();
            (
                planned(tree.plan_context_edit(at, script.id(target), Some(&json!(sized(text))))),
                text.to_owned(),
            )
        }
        "compact" => {
            let keep = rest.strip_prefix("keep ").expect("compact keep X TEXT");
            let (kept, summary) = keep.split_once(' ').expect("compact keep X TEXT");
            let summary = summary.trim_matches('"');
            let draft = tree.plan_compaction(at, summary, script.id(kept), 12_000, &Map::new());
            (planned(draft), summary.to_owned())
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

fn any(script: &Script, at: Place, value: &Value) -> Draft {
    let text = value.to_string();
    let raw = Raw::parse(text.as_bytes()).expect("a Value is JSON");
    planned(script.tree.plan_entry(Some(at), raw))
}

fn place(script: &Script, name: &str) -> Place {
    (name != "root").then(|| script.seq(name))
}

fn planned<E: std::fmt::Display>(draft: Result<Draft, E>) -> Draft {
    draft.unwrap_or_else(|error| panic!("cannot run this step: {error}"))
}
