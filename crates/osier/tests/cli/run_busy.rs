//! Two processes in one session: only one of them can run a turn on a path.

use serde_json::{Value, json};

use crate::busy_support::BusySession;
use crate::run_support::{ModelServer, RunningCommand, osier_command};

const WORKED: [&str; 5] =
    ["user: hello", "assistant: Hi.", "user: work", "assistant:  →bash", "tool: begun\ngone on"];

#[test]
fn gc_is_refused_during_a_turn_of_another_process_unless_forced() {
    let server = ModelServer::new();
    let env = server.env();
    let busy = BusySession::new(server, env, &[]);
    let (env, id) = (&busy.env, &busy.id);
    env.ok(&format!("delete-branch {id} {}", busy.beside));
    env.ok(&format!("move {id} root"));
    env.ok(&format!("gc {id} --dry-run"));
    let error_text = busy.fails(&format!("gc {id}"));
    assert!(error_text.contains("cannot remove deleted branches without --force: "), "{error_text}");
    let error_text = env.run(&format!("gc {id} --json")).err;
    assert!(
        error_text.contains(r#""code":"session_busy""#) || error_text.contains(r#""code": "session_busy""#),
        "{error_text}"
    );
    assert_eq!(env.json(&format!("gc {id} --force"))["removed"], 3);
    let request = busy.release();
    assert_eq!(request.messages(), WORKED);
    request.reply("Done.");
    let id = busy.id.clone();
    let env = busy.end();
    let shown = env.ok(&format!("tree {id}"));
    assert_eq!(shown.matches("Done.").count(), 1, "{shown}");
    assert!(!shown.contains("Aside."), "{shown}");
    assert_eq!(
        env.json(&format!("path {id}")).as_array().unwrap().last().unwrap()["message"]["content"][0]["text"],
        "Done."
    );
}

#[test]
fn a_busy_session_names_its_holder_and_other_paths_stay_usable() {
    let server = ModelServer::new();
    let env = server.env();
    let busy = BusySession::new(server, env, &[]);
    let (env, id, question) = (&busy.env, &busy.id, &busy.question);
    busy.fails(&format!("delete-branch {id} {question}"));
    busy.fails(&format!("delete-branch {id} {}", busy.entry));
    busy.fails(&format!("append {id} 'in between'"));
    busy.fails(&format!("move {id} {question} --exact"));
    busy.fails(&format!("move {id} {}", busy.entry));
    let error_text = env.fails(1, &format!("move {id} {} --json", busy.entry));
    let error: Value = serde_json::from_str(error_text.lines().last().unwrap()).unwrap();
    let error = &error["error"];
    assert_eq!(
        [&error["code"], &error["entry"], &error["branch"]],
        [&json!("session_busy"), &json!(busy.entry), &json!(question)],
        "{error_text}"
    );
    let holder = error["holder"].as_str().unwrap();
    assert!(holder.starts_with(&format!("process {}", error["process"])), "{error_text}");
    assert!(error["message"].as_str().unwrap().contains(holder), "{error_text}");
    let output = RunningCommand::start(osier_command(env, &["-c", "-p", "me too"])).wait();
    assert_eq!(output.code, 1, "{}", output.err);
    assert!(output.err.contains("the session is busy: process "), "{}", output.err);
    env.ok(&format!("move {id} root"));
    let elsewhere = RunningCommand::start(osier_command(env, &["-c", "-p", "elsewhere"]));
    let request = busy.server.next_request();
    assert_eq!(request.messages(), ["user: elsewhere"]);
    let working = busy.release();
    assert_eq!(working.messages(), WORKED);
    request.reply("There.");
    assert_eq!(elsewhere.wait().out, "There.\n");
    working.reply("Done.");
    let (id, entry) = (busy.id.clone(), busy.entry.clone());
    let env = busy.end();
    env.ok(&format!("delete-branch {id} {entry}"));
}

/// A program that ignores leases can mark part of a running turn as deleted.
#[test]
fn gc_never_removes_entries_of_a_running_turn() {
    let server = ModelServer::new();
    let env = server.env();
    let busy = BusySession::new(server, env, &[]);
    let (env, id) = (&busy.env, &busy.id);
    let path = env.json(&format!("path {id}"));
    let calls = path.as_array().unwrap().last().unwrap()["id"].clone();
    assert_ne!(calls, json!(busy.question));
    let file = env.session_file();
    let write = |custom_type: &str, id: &str| {
        let entry = json!({
            "type": "custom", "customType": custom_type, "id": id, "parentId": busy.entry,
            "timestamp": "2026-01-01T00:00:00.000Z", "data": { "targetId": calls },
        });
        let mut file = std::fs::OpenOptions::new().append(true).open(&file).unwrap();
        std::io::Write::write_all(&mut file, format!("{entry}\n").as_bytes()).unwrap();
    };
    write("osier.delete_branch", "0000fff1");
    let error_text = busy.fails(&format!("gc {id} --force"));
    assert!(error_text.contains("cannot remove deleted branches: "), "{error_text}");
    write("osier.restore_branch", "0000fff2");
    let request = busy.release();
    assert_eq!(request.messages(), WORKED);
    request.reply("Done.");
    busy.end();
}

/// The file of a new session is created with its first message.
#[test]
fn the_first_turn_of_a_session_has_a_lease_too() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["-p", "hello"]));
    let request = server.next_request();
    let output = RunningCommand::start(osier_command(&env, &["-c", "-p", "me too"])).wait();
    let id = env.json("list")[0]["id"].as_str().unwrap().to_owned();
    let path = env.json(&format!("path {id}"));
    let ids = crate::support::ids(&path);
    let is_there = |id: &&str| output.err.contains(&format!(" is running a turn at {id}"));
    assert!(output.code == 1 && ids.iter().any(is_there), "{ids:?}: {}", output.err);
    request.reply("Hi.");
    assert_eq!(running.wait().code, 0);
    let again = RunningCommand::start(osier_command(&env, &["-c", "-p", "me too"]));
    let request = server.next_request();
    assert_eq!(request.messages(), ["user: hello", "assistant: Hi.", "user: me too"]);
    request.reply("You too.");
    assert_eq!(again.wait().code, 0);
}

#[test]
fn the_lease_of_a_killed_process_ends_with_it() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["-p", "hello"]));
    let request = server.next_request();
    running.signal(rustix::process::Signal::KILL);
    running.wait();
    drop(request);
    let again = RunningCommand::start(osier_command(&env, &["-c", "-p", "go on"]));
    let request = server.next_request();
    assert_eq!(request.messages(), ["user: hello", "user: go on"]);
    request.reply("Yes.");
    assert_eq!(again.wait().code, 0);
}
