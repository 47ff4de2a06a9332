//! `--mode rpc`: a program drives the real sessions of a user through pipes.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use osier_testkit::DamagedTexts;
use serde_json::{Value, json};

use crate::run_support::{ModelServer, osier_command};
use crate::support::{TestEnv, ids};

/// A test that waits longer fails.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// A program that drives `osier` through pipes.
struct RpcProgram {
    osier: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    last_id: usize,
}

impl Drop for RpcProgram {
    fn drop(&mut self) {
        // A test that fails must not leave the program behind.
        let _ = self.osier.kill();
        let _ = self.osier.wait();
    }
}

impl RpcProgram {
    fn start(env: &TestEnv, args: &[&str]) -> RpcProgram {
        let mut command = osier_command(env, &[&["--mode", "rpc"], args].concat());
        let mut osier = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (osier.stdin.take(), BufReader::new(osier.stdout.take().unwrap()));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        RpcProgram { osier, input, lines, last_id: 0 }
    }

    fn read(&mut self) -> Value {
        let line = self.lines.recv_timeout(TEST_TIMEOUT).expect("a line arrives");
        serde_json::from_str(&line).unwrap()
    }

    fn send(&mut self, name: &str, mut fields: Value) -> String {
        self.last_id += 1;
        let id = format!("r{}", self.last_id);
        (fields["id"], fields["type"]) = (json!(id), json!(name));
        writeln!(self.input.as_ref().unwrap(), "{fields}").unwrap();
        id
    }

    /// Sends a command and returns its response.
    fn call(&mut self, name: &str, fields: Value) -> Value {
        let id = self.send(name, fields);
        loop {
            let line = self.read();
            if line["type"] == "response" && line["id"] == id.as_str() {
                return line;
            }
        }
    }

    /// The data of a successful response.
    fn data(&mut self, name: &str, fields: Value) -> Value {
        let response = self.call(name, fields);
        assert_eq!(response["success"], true, "{response}");
        response["data"].clone()
    }

    /// The events up to the first of this type.
    fn until(&mut self, last: &str) -> Vec<Value> {
        let mut events = vec![self.read()];
        while events.last().is_some_and(|event| event["type"] != last) {
            events.push(self.read());
        }
        events
    }

    fn run_prompt(&mut self, fields: Value) -> Vec<Value> {
        self.data("prompt", fields);
        self.until("agent_settled")
    }

    /// The resident memory in kilobytes, and how many files are open.
    fn resources(&self) -> (usize, usize) {
        let process = std::path::PathBuf::from(format!("/proc/{}", self.osier.id()));
        let status = std::fs::read_to_string(process.join("status")).unwrap();
        let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")?.trim().strip_suffix(" kB"));
        (memory.unwrap().parse().unwrap(), std::fs::read_dir(process.join("fd")).unwrap().count())
    }

    /// Ends it like a power failure.
    fn kill(mut self) {
        self.osier.kill().unwrap();
        self.osier.wait().unwrap();
    }

    /// Closes the input. Returns the exit code.
    fn finish(mut self) -> i32 {
        drop(self.input.take());
        self.osier.wait().unwrap().code().unwrap()
    }
}

/// A program with the model without a network.
fn offline(env: &TestEnv) -> RpcProgram {
    RpcProgram::start(env, &["--model", "offline"])
}

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
    assert_eq!(busy["success"], false, "an open session is not deleted: {busy}");
    program.data("close_session", json!({ "sessionId": other }));
    // The engine closes the session in the background.
    let mut deleted = program.call("delete_session", json!({ "session": other }));
    while deleted["code"] == "session_busy" {
        deleted = program.call("delete_session", json!({ "session": other }));
    }
    assert_eq!(deleted["data"]["deleted"], true, "{deleted}");
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
    let created = program.data("create_session", json!({ "title": "plans" }));
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
    let refused = program
        .call("update_entry", json!({ "session": session, "entryId": "aaaaaaaa", "status": "failed" }));
    assert_eq!(refused["code"], "entry_immutable", "{refused}");
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

/// The memory may vary by this much, in kilobytes.
const MEMORY_NOISE: usize = 48 << 10;

#[test]
fn ten_thousand_malformed_lines_change_nothing_and_leave_nothing_behind() {
    let env = TestEnv::new();
    let mut program = offline(&env);
    program.run_prompt(json!({ "message": "say one" }));
    let before_junk = program.data("get_entries", json!({}));
    let lines = [
        r#"{"id":"a","type":"get_state","sessionId":"none"}"#,
        r#"{"id":2,"type":"navigate_tree","targetId":"none","summarize":true}"#,
        r#"{"type":"get_entries","since":"none"}"#,
        r#"{"type":"list_entries","session":"none","after":7,"limit":1000}"#,
        r#"{"type":"compare","left":"none","right":{"deep":[[[["none"]]]]}}"#,
        r#"{"type":"extension_ui_response","id":"ui-1","confirmed":true}"#,
        r#"{"type":"switch_session","sessionPath":"none"}"#,
        r#"{"type":"set_model","provider":"none","modelId":"none"}"#,
    ];
    let mut texts = DamagedTexts::new(0x05EE_D003);
    let mut send = |program: &mut RpcProgram, count: usize| {
        for _ in 0..count {
            let mut line = texts.damage_one_of(&lines);
            line.push(b'\n');
            program.input.as_ref().unwrap().write_all(&line).unwrap();
        }
        program.data("get_state", json!({}))
    };
    send(&mut program, 2500);
    let before = program.resources();
    let state = send(&mut program, 7500);
    let after = program.resources();
    println!("memory: {} kB before, {} kB after", before.0, after.0);
    assert!(after.0 < before.0 + MEMORY_NOISE, "{} kB, {} kB before", after.0, before.0);
    assert_eq!(after.1, before.1, "open files");
    assert_eq!((&state["isStreaming"], &state["messageCount"]), (&json!(false), &json!(3)), "{state}");
    assert_eq!(program.data("get_entries", json!({})), before_junk);
    assert_eq!(program.finish(), 0);
}

#[test]
fn nothing_that_was_acknowledged_is_lost_when_the_program_is_killed() {
    let server = ModelServer::new();
    let env = server.env();
    let mut program = RpcProgram::start(&env, &[]);
    program.data("prompt", json!({ "message": "first" }));
    server.next_request().reply("First reply.");
    program.until("agent_settled");
    let leaf = program.data("get_entries", json!({}))["leafId"].clone();
    program.data("set_label", json!({ "entryId": leaf, "label": "good" }));
    program.data("prompt", json!({ "message": "second" }));
    let mut request = server.next_request();
    request.send_text("Once upon");
    program.until("message_update");
    program.data("steer", json!({ "message": "queued for later" }));
    program.kill();

    let mut program = RpcProgram::start(&env, &["--continue"]);
    let returned = program.until("extension_ui_request").pop().unwrap();
    let expected = (&json!("set_editor_text"), &json!("queued for later"));
    assert_eq!((&returned["method"], &returned["text"]), expected, "{returned}");
    let texts = program.data("get_messages", json!({}))["messages"].to_string();
    for text in ["first", "First reply.", "second"] {
        assert!(texts.contains(text), "{texts}");
    }
    let tree = program.data("get_tree", json!({})).to_string();
    assert!(tree.contains(r#""label":"good""#), "{tree}");
    program.data("prompt", json!({ "message": "third" }));
    let request = server.next_request();
    let messages = request.messages();
    assert_eq!(messages, ["user: first", "assistant: First reply.", "user: second", "user: third"]);
    request.reply("Third reply.");
    program.until("agent_settled");
    assert_eq!(program.finish(), 0);
    let verified = env.ok(&format!("verify {}", env.session_file().display()));
    assert!(verified.ends_with("no damage found\n"), "{verified}");
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
    let is_writing = |request: &crate::run_support::ModelRequest| request.text.contains("Write a file");
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
