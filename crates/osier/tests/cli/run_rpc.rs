//! `--mode rpc`: a program drives the real sessions of a user through pipes.

use std::io::Write;

use serde_json::{Value, json};

use crate::rpc_program::{RpcProgram, offline};
use crate::run_support::{ModelRequest, ModelServer};
use crate::support::{TestEnv, ids};

#[test]
fn sessions_are_listed_searched_renamed_and_deleted() {
    let env = TestEnv::new();
    let mut program = offline(&env);
    program.run_prompt(json!({ "message": "say marmalade" }));
    let main = program.data("get_state", json!({}))["sessionId"].clone();
    let other = program.data("open_session", json!({ "name": "the other" }))["sessionId"].clone();
    program.run_prompt(json!({ "message": "say porridge", "sessionId": other }));

    let listed = program.data("list_sessions", json!({}));
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 2, "{listed}");
    let named = program.data("list_sessions", json!({ "named": true }));
    assert_eq!((&named["sessions"][0]["id"], &named["hasMore"]), (&other, &json!(false)));
    let limited = program.data("list_sessions", json!({ "limit": 1 }));
    assert_eq!((limited["sessions"].as_array().unwrap().len(), &limited["hasMore"]), (1, &json!(true)));

    let found = program.data("search_sessions", json!({ "query": "marmalade" }));
    let ids: Vec<&Value> = found["sessions"].as_array().unwrap().iter().map(|card| &card["id"]).collect();
    assert_eq!(ids, [&main]);
    assert_eq!(program.call("search_sessions", json!({}))["success"], false, "a search needs a query");

    program.data("rename_session", json!({ "session": main, "name": "breakfast" }));
    assert_eq!(program.data("get_state", json!({}))["sessionName"], "breakfast");
    let busy = program.call("delete_session", json!({ "session": other }));
    let close =
        format!("session {} is open here; close it with close_session first", other.as_str().unwrap());
    assert_eq!((&busy["code"], &busy["error"]), (&json!("session_busy"), &json!(close)), "{busy}");
    let main_busy = program.call("delete_session", json!({ "session": main }));
    assert!(main_busy["error"].as_str().unwrap().contains("is the main session"), "{main_busy}");
    program.data("close_session", json!({ "sessionId": other }));
    // The engine closes the session in the background.
    let mut deleted = program.call("delete_session", json!({ "session": other }));
    while deleted["code"] == "session_busy" {
        deleted = program.call("delete_session", json!({ "session": other }));
    }
    assert_eq!(deleted["data"]["deleted"], true, "{deleted}");
    let nothing = json!({ "deleted": false, "store": "", "sessions": 0, "entries": 0 });
    assert_eq!(program.data("delete_session", json!({ "session": other })), nothing);
    assert_eq!(program.data("list_sessions", json!({}))["sessions"].as_array().unwrap().len(), 1);
    assert_eq!(program.call("rename_session", json!({ "session": other, "name": "x" }))["success"], false);
    assert_eq!(program.finish(), 0);
}

#[test]
fn a_snapshot_has_all_entries_or_those_since_a_revision() {
    let env = TestEnv::new();
    let mut program = offline(&env);
    program.run_prompt(json!({ "message": "say one" }));
    let whole = program.data("get_snapshot", json!({ "withoutContext": true }));
    let revision = whole["revision"].as_u64().unwrap();
    assert_eq!(whole["entries"].as_array().unwrap().len() as u64, revision, "{whole}");
    program.run_prompt(json!({ "message": "say two" }));
    let since = json!({ "since": revision, "generation": whole["generation"], "withoutContext": true });
    let rest = program.data("get_snapshot", since);
    let added = rest["revision"].as_u64().unwrap() - revision;
    assert!(added >= 2 && rest["entries"].as_array().unwrap().len() as u64 == added, "{rest}");
    let known = ids(&whole["entries"]);
    assert!(ids(&rest["entries"]).iter().all(|id| !known.contains(id)), "{rest}");
}

/// The operations of a NetaClaw session tree, on sessions that are stored and not open.
#[test]
fn stored_sessions_are_created_changed_and_read() {
    let env = TestEnv::new();
    let mut program = offline(&env);
    let created = program.data("create_session", json!({ "title": "plans", "sessionId": "my-plans" }));
    assert_eq!(created["id"], "my-plans");
    let invalid = program.call("create_session", json!({ "sessionId": "a/b" }));
    assert_eq!((&invalid["success"], &invalid["code"]), (&json!(false), &json!("invalid_id")), "{invalid}");
    assert_eq!((&created["title"], &created["provider"]), (&json!("plans"), &json!("file")), "{created}");
    let session = created["id"].clone();
    let mut call = |name: &str, mut fields: Value| {
        fields["session"] = session.clone();
        program.data(name, fields)
    };
    let hello =
        json!({ "message": { "role": "user", "content": "hello" }, "parentId": null, "entryId": "aaaaaaaa" });
    assert_eq!(call("append_message", hello.clone())["existed"], false);
    assert_eq!(call("append_message", hello)["existed"], true, "it is written once");
    call("append_thinking_level_change", json!({ "thinkingLevel": "low" }));
    let model = call("append_model_change", json!({ "provider": "p", "modelId": "m" }))["id"].clone();
    let compaction = json!({ "summary": "s", "firstKeptEntryId": "aaaaaaaa", "tokensBefore": 7 });
    call("append_compaction", compaction);
    call("append_branch_summary", json!({ "fromId": "aaaaaaaa", "summary": "s" }));
    let note = json!({ "entry": { "type": "custom", "customType": "note", "data": 1 } });
    let last = call("append_entry", note);
    let path = call("get_active_path", json!({}))["entries"].clone();
    assert_eq!(path[0]["id"], "aaaaaaaa");
    assert_eq!(path.as_array().unwrap().last().unwrap()["id"], last["id"]);
    let page = call("list_entries", json!({ "after": 1, "limit": 2 }));
    assert_eq!(
        (page["entries"][0]["id"].clone(), page["next"].clone()),
        (json!("aaaaaaaa"), json!(3)),
        "{page}"
    );
    let updated = call("update_session", json!({ "status": "archived", "title": "old plans" }));
    assert_eq!(
        (&updated["status"], &updated["title"]),
        (&json!("archived"), &json!("old plans")),
        "{updated}"
    );
    assert_eq!(call("get_session", json!({})), updated);
    let branched = call("create_branched_session", json!({ "leafId": model }));
    assert_eq!(branched["leafEntryId"], model);
    call("append_label_change", json!({ "targetId": "aaaaaaaa", "label": "start" }));
    call("append_session_info", json!({ "name": "newest plans" }));
    call("switch_leaf", json!({ "leafId": "aaaaaaaa" }));
    let snapshot = call("get_snapshot", json!({ "withoutContext": true }));
    assert_eq!(
        (&snapshot["session"]["title"], &snapshot["activePath"]),
        (&json!("newest plans"), &json!(["aaaaaaaa"]))
    );
    assert!(snapshot["entries"].to_string().contains(r#""label":"start""#), "{snapshot}");
    call("reset_leaf", json!({ "expectedLeafId": "aaaaaaaa" }));
    assert_eq!(call("get_session", json!({}))["leafEntryId"], Value::Null);
    let refused = program
        .call("update_entry", json!({ "session": session, "entryId": "aaaaaaaa", "status": "failed" }));
    assert_eq!(refused["code"], "entry_immutable", "{refused}");
    let late = json!({ "session": session, "leafId": model, "expectedLeafId": "aaaaaaaa" });
    assert_eq!(program.call("switch_leaf", late)["code"], "leaf_changed");
}

#[test]
fn a_page_of_the_session_is_written() {
    let env = TestEnv::new();
    let mut program = offline(&env);
    program.run_prompt(json!({ "message": "say marmalade" }));
    let path = program.data("export_html", json!({ "outputPath": "page.html" }))["path"].clone();
    let page = std::fs::read_to_string(path.as_str().unwrap()).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("marmalade"), "{}", &page[..100]);
    let again = program.call("export_html", json!({ "outputPath": "page.html" }));
    assert_eq!(again["success"], false, "no file is replaced: {again}");
}

#[test]
fn a_failed_turn_is_resumed_and_a_compaction_undone() {
    let server = ModelServer::new();
    let env = server.env();
    let settings = std::fs::read_to_string(env.home().join("config.toml")).unwrap();
    let settings = format!("compaction.keep_recent_tokens = 20\n{settings}");
    std::fs::write(env.home().join("config.toml"), settings).unwrap();
    let mut program = RpcProgram::start(&env, &[]);
    program.data("prompt", json!({ "message": "first" }));
    server.next_request().refuse(400, r#"{"error":{"message":"no"}}"#);
    let failed = program.until("agent_settled");
    assert!(failed.iter().any(|event| event["message"]["stopReason"] == "error"), "{failed:#?}");
    program.send("resume", json!({}));
    server.next_request().reply(&"again ".repeat(50));
    program.until("agent_settled");
    assert!(
        program.data("get_last_assistant_text", json!({}))["text"].as_str().unwrap().starts_with("again")
    );

    for text in ["second", "third"] {
        program.data("prompt", json!({ "message": text.repeat(40) }));
        server.next_request().reply(&text.repeat(40));
        program.until("agent_settled");
    }
    let before = program.data("get_messages", json!({}))["messages"].as_array().unwrap().len();
    let id = program.send("compact", json!({}));
    // The last turn is cut, so its start is summarized too.
    server.next_request().reply("A summary.");
    server.next_request().reply("The start of the turn.");
    let compacted = program.until("response");
    let compacted = compacted.last().unwrap();
    assert_eq!((&compacted["id"], &compacted["success"]), (&json!(id), &json!(true)), "{compacted}");
    let after = program.data("get_messages", json!({}))["messages"].as_array().unwrap().len();
    assert!(after < before, "{after} of {before}");
    program.data("undo_compaction", json!({}));
    assert_eq!(program.data("get_messages", json!({}))["messages"].as_array().unwrap().len(), before);
}

#[test]
fn the_approval_mode_decides_whether_a_dialog_opens() {
    let server = ModelServer::new();
    let env = server.env();
    let mut program = RpcProgram::start(&env, &[]);
    let write = json!({ "path": "a.txt", "content": "one\n" });
    program.data("prompt", json!({ "message": "write" }));
    server.next_request().reply_with_call("write", &write);
    let asked = program.until("extension_ui_request");
    let refusal =
        json!({ "type": "extension_ui_response", "id": asked.last().unwrap()["id"], "cancelled": true });
    writeln!(program.input.as_ref().unwrap(), "{refusal}").unwrap();
    server.next_request().reply("Then not.");
    program.until("agent_settled");
    assert!(!env.cwd().join("a.txt").exists());

    assert_eq!(program.call("set_approval_mode", json!({ "mode": "reckless" }))["success"], false);
    program.data("set_approval_mode", json!({ "mode": "autoEdit" }));
    program.data("prompt", json!({ "message": "write" }));
    server.next_request().reply_with_call("write", &write);
    server.next_request().reply("Done.");
    let events = program.until("agent_settled");
    assert!(events.iter().all(|event| event["type"] != "extension_ui_request"), "{events:#?}");
    assert_eq!(std::fs::read_to_string(env.cwd().join("a.txt")).unwrap(), "one\n");
}

#[test]
fn tasks_of_sub_agents_are_events_and_the_last_ones_are_the_stored_result() {
    let env = TestEnv::new();
    env.write("a.txt", "marmalade\n");
    let mut program = offline(&env);
    let events = program.run_prompt(json!({ "message": "delegate list .; read a.txt" }));
    let is_task = |event: &&Value| event["type"] == "subagent_task";
    let panels: Vec<&Value> = events.iter().filter(is_task).map(|event| &event["panel"]).collect();
    let batches = program.data("get_subagents", json!({}))["batches"].clone();
    let stored = batches[0]["taskPanels"].as_array().unwrap();
    assert_eq!((stored.len(), &batches[0]["status"]), (2, &json!("completed")));
    for panel in stored {
        let own: Vec<&&Value> = panels.iter().filter(|event| event["taskId"] == panel["taskId"]).collect();
        let statuses: Vec<&Value> = own.iter().map(|event| &event["status"]).collect();
        assert_eq!((statuses[0], statuses[1]), (&json!("queued"), &json!("running")));
        assert_eq!(own.last().map(|event| **event), Some(panel));
    }
    assert!(stored[1]["summary"].as_str().unwrap().contains("marmalade"), "{batches}");
    assert_eq!(program.finish(), 0);
}

#[test]
fn a_task_is_steered_and_all_tasks_are_canceled_and_its_question_names_it() {
    let model = ModelServer::new();
    let env = model.env();
    let mut program = RpcProgram::start(&env, &[]);
    program.send("prompt", json!({ "message": "delegate" }));
    let tasks =
        json!({ "tasks": [{ "prompt": "Write a file", "description": "Write" }, { "prompt": "Wait" }] });
    model.next_request().reply_with_call("task", &tasks);
    let requests = [model.next_request(), model.next_request()];
    let is_writing = |request: &ModelRequest| request.text.contains("Write a file");
    let (writing, waiting): (Vec<_>, Vec<_>) = requests.into_iter().partition(is_writing);
    for request in writing {
        request.reply_with_call("write", &json!({ "path": "made.txt", "content": "x" }));
    }
    let asked = program.until("extension_ui_request").pop().unwrap();
    assert!(asked.to_string().contains("general: Write"), "{asked}");
    let batches = program.data("get_subagents", json!({}))["batches"].clone();
    let task = batches[0]["taskPanels"][0]["taskId"].clone();
    assert_eq!(batches[0]["status"], "running");
    let steered = program.call("steer_task", json!({ "task": task, "message": "Be quick" }));
    assert_eq!(steered["success"], true, "{steered}");
    let steered = program.call("steer_task", json!({ "message": "All of you" }));
    assert_eq!(steered["success"], true, "{steered}");
    let canceled = program.call("cancel_tasks", json!({ "task": "no-such-task" }));
    assert_eq!(
        (&canceled["success"], &canceled["code"]),
        (&json!(false), &json!("task_not_running")),
        "{canceled}"
    );
    let canceled = program.call("cancel_tasks", json!({}));
    assert_eq!(canceled["success"], true, "{canceled}");
    for request in waiting {
        request.wait_for_disconnect();
    }
    model.next_request().reply("Nothing was done.");
    program.until("agent_end");
    let batches = program.data("get_subagents", json!({}))["batches"].clone();
    let statuses: Vec<&Value> =
        batches[0]["taskPanels"].as_array().unwrap().iter().map(|panel| &panel["status"]).collect();
    assert_eq!(statuses, ["cancelled", "cancelled"]);
    assert_eq!(program.finish(), 0);
}

#[test]
fn tries_are_started_listed_compared_and_kept() {
    let model = ModelServer::new();
    let env = model.env();
    env.write("list.txt", "one\n");
    let mut program = RpcProgram::start(&env, &[]);
    let tries = json!([{ "instructions": "mango" }, { "instructions": "papaya" }]);
    let started = program.call("explore", json!({ "action": "start", "text": "Add a line", "tries": tries }));
    assert_eq!(started["success"], true, "{started}");
    for _ in 0..4 {
        let request = model.next_request();
        if request.messages().last().is_some_and(|message| message.starts_with("tool: ")) {
            request.reply("done");
            continue;
        }
        let line = if request.text.contains("mango") { "mango" } else { "papaya" };
        let edits = json!([{ "oldText": "one\n", "newText": format!("{line}\n") }]);
        request.reply_with_call("edit", &json!({ "path": "list.txt", "edits": edits }));
    }
    let is_over =
        |report: &Value| report["tries"].as_array().unwrap().iter().all(|one| one["status"] == "completed");
    while !is_over(&program.until("explore").pop().unwrap()["report"]) {}
    let explores = program.data("get_explores", json!({}))["explores"].clone();
    let files: Vec<&Value> =
        explores[0]["tries"].as_array().unwrap().iter().map(|one| &one["filesChanged"]).collect();
    assert_eq!(files, [1, 1], "{explores}");
    let comparison = program.data("compare_tries", json!({ "left": 1, "right": 2 }));
    let diff = comparison["diff"].as_str().unwrap();
    assert!(diff.contains("-mango") && diff.contains("+papaya"), "{diff}");
    assert_eq!(std::fs::read_to_string(env.path("list.txt")).unwrap(), "one\n");
    let kept = program.call("explore", json!({ "action": "keep", "try": 2 }));
    assert_eq!(kept["success"], true, "{kept}");
    assert_eq!(std::fs::read_to_string(env.path("list.txt")).unwrap(), "papaya\n");
    assert_eq!(program.finish(), 0);
}

/// Starts a turn and queues two prompts behind it.
fn queue_two_prompts(program: &mut RpcProgram, model: &ModelServer, session: &Value) -> ModelRequest {
    program.data("prompt", json!({ "message": "first", "sessionId": session }));
    let running = model.next_request();
    program.data("steer", json!({ "message": "steered", "sessionId": session }));
    program.data("follow_up", json!({ "message": "later", "sessionId": session }));
    running
}

#[test]
fn a_session_that_is_left_keeps_its_queued_prompts() {
    for command in ["new_session", "switch_session", "clone", "fork", "close_session"] {
        let model = ModelServer::new();
        let env = model.env();
        let mut program = RpcProgram::start(&env, &[]);
        let other = program.data("create_session", json!({}))["id"].clone();
        let left = match command {
            "close_session" => program.data("open_session", json!({}))["sessionId"].clone(),
            _ => program.data("get_state", json!({}))["sessionId"].clone(),
        };
        let running = queue_two_prompts(&mut program, &model, &left);
        let points = program.data("get_fork_messages", json!({ "sessionId": left }))["messages"].clone();
        let fields = match command {
            "switch_session" => json!({ "sessionPath": other }),
            "fork" => json!({ "entryId": points[0]["entryId"] }),
            "close_session" => json!({ "sessionId": left }),
            _ => json!({}),
        };
        let reply = program.data(command, fields);
        running.wait_for_disconnect();
        assert_eq!(reply["text"], if command == "fork" { json!("first") } else { Value::Null }, "{command}");
        assert_eq!(program.data("get_state", json!({}))["pendingMessageCount"], 0, "{command}");
        assert_eq!(program.finish(), 0);

        let mut later = RpcProgram::start(&env, &["--resume", left.as_str().unwrap()]);
        let editor = later.until("extension_ui_request").pop().unwrap();
        assert_eq!(
            (&editor["method"], &editor["text"]),
            (&json!("set_editor_text"), &json!("steered\n\nlater")),
            "{command}"
        );
        assert_eq!(later.finish(), 0);
    }
}
