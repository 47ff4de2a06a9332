//! Two processes in one session: only one of them can run a turn on a path.

use serde_json::{Value, json};

use crate::busy_support::BusySession;
use crate::run_support::{Running, Server, osier};

const WORKED: [&str; 5] =
    ["user: hello", "assistant: Hi.", "user: work", "assistant:  →bash", "tool: begun\ngone on"];

#[test]
fn gc_is_refused_during_a_turn_of_another_process_unless_forced() {
    let server = Server::new();
    let world = server.world();
    let busy = BusySession::new(server, world, &[]);
    let (world, id) = (&busy.world, &busy.id);
    world.ok(&format!("delete-branch {id} {}", busy.beside));
    world.ok(&format!("move {id} root"));
    world.ok(&format!("gc {id} --dry-run"));
    let error_text = busy.fails(&format!("gc {id}"));
    assert!(error_text.contains("cannot remove deleted branches without --force: "), "{error_text}");
    let error_text = world.run(&format!("gc {id} --json")).err;
    assert!(
        error_text.contains(r#""code":"session_busy""#) || error_text.contains(r#""code": "session_busy""#),
        "{error_text}"
    );
    assert_eq!(world.json(&format!("gc {id} --force"))["removed"], 3);
    let request = busy.release();
    assert_eq!(request.messages(), WORKED);
    request.answer("Done.");
    let id = busy.id.clone();
    let world = busy.end();
    let shown = world.ok(&format!("tree {id}"));
    assert_eq!(shown.matches("Done.").count(), 1, "{shown}");
    assert!(!shown.contains("Aside."), "{shown}");
    assert_eq!(
        world.json(&format!("path {id}")).as_array().unwrap().last().unwrap()["message"]["content"][0]["text"],
        "Done."
    );
}

#[test]
fn a_busy_session_names_its_holder_and_other_paths_stay_usable() {
    let server = Server::new();
    let world = server.world();
    let busy = BusySession::new(server, world, &[]);
    let (world, id, question) = (&busy.world, &busy.id, &busy.question);
    busy.fails(&format!("delete-branch {id} {question}"));
    busy.fails(&format!("delete-branch {id} {}", busy.entry));
    busy.fails(&format!("append {id} 'in between'"));
    busy.fails(&format!("move {id} {question} --exact"));
    busy.fails(&format!("move {id} {}", busy.entry));
    let error_text = world.fails(1, &format!("move {id} {} --json", busy.entry));
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
    let ran = Running::start(osier(world, &["-c", "-p", "me too"])).end();
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("the session is busy: process "), "{}", ran.err);
    world.ok(&format!("move {id} root"));
    let elsewhere = Running::start(osier(world, &["-c", "-p", "elsewhere"]));
    let request = busy.server.next();
    assert_eq!(request.messages(), ["user: elsewhere"]);
    let working = busy.release();
    assert_eq!(working.messages(), WORKED);
    request.answer("There.");
    assert_eq!(elsewhere.end().out, "There.\n");
    working.answer("Done.");
    let (id, entry) = (busy.id.clone(), busy.entry.clone());
    let world = busy.end();
    world.ok(&format!("delete-branch {id} {entry}"));
}

/// A program that ignores leases can mark part of a running turn as deleted.
#[test]
fn gc_never_removes_entries_of_a_running_turn() {
    let server = Server::new();
    let world = server.world();
    let busy = BusySession::new(server, world, &[]);
    let (world, id) = (&busy.world, &busy.id);
    let path = world.json(&format!("path {id}"));
    let calls = path.as_array().unwrap().last().unwrap()["id"].clone();
    assert_ne!(calls, json!(busy.question));
    let file = world.session_file();
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
    request.answer("Done.");
    busy.end();
}

/// The file of a new session is created with its first message.
#[test]
fn the_first_turn_of_a_session_has_a_lease_too() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "hello"]));
    let request = server.next();
    let ran = Running::start(osier(&world, &["-c", "-p", "me too"])).end();
    assert!(
        ran.code == 1 && ran.err.contains(" is running a turn at the start of the session"),
        "{}",
        ran.err
    );
    request.answer("Hi.");
    assert_eq!(running.end().code, 0);
    let again = Running::start(osier(&world, &["-c", "-p", "me too"]));
    let request = server.next();
    assert_eq!(request.messages(), ["user: hello", "assistant: Hi.", "user: me too"]);
    request.answer("You too.");
    assert_eq!(again.end().code, 0);
}

#[test]
fn the_lease_of_a_killed_process_ends_with_it() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "hello"]));
    let request = server.next();
    running.signal(rustix::process::Signal::KILL);
    running.end();
    drop(request);
    let again = Running::start(osier(&world, &["-c", "-p", "go on"]));
    let request = server.next();
    assert_eq!(request.messages(), ["user: hello", "user: go on"]);
    request.answer("Yes.");
    assert_eq!(again.end().code, 0);
}
