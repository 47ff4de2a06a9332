//! Two real processes in one session: a turn belongs to one of them.

use serde_json::{Value, json};

use crate::busy_support::BusySession;
use crate::run_support::{Running, Server, osier};

const WORKED: [&str; 5] =
    ["user: hello", "assistant: Hi.", "user: work", "assistant:  →bash", "tool: begun\ngone on"];

#[test]
fn gc_does_not_pull_the_log_away_from_a_running_turn() {
    let server = Server::new();
    let world = server.world();
    let busy = BusySession::new(server, world, &[]);
    let (world, id) = (&busy.world, &busy.id);
    world.ok(&format!("delete-branch {id} {}", busy.beside));
    world.ok(&format!("move {id} root"));
    world.ok(&format!("gc {id} --dry-run"));
    let told = busy.fails(&format!("gc {id}"));
    assert!(told.contains("cannot remove deleted branches without --force: "), "{told}");
    let told = world.run(&format!("gc {id} --json")).err;
    assert!(
        told.contains(r#""code":"session_busy""#) || told.contains(r#""code": "session_busy""#),
        "{told}"
    );
    assert_eq!(world.json(&format!("gc {id} --force"))["removed"], 3);
    let asked = busy.release();
    assert_eq!(asked.messages(), WORKED);
    asked.answer("Done.");
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
fn another_process_is_told_who_works_there_and_may_work_elsewhere() {
    let server = Server::new();
    let world = server.world();
    let busy = BusySession::new(server, world, &[]);
    let (world, id, question) = (&busy.world, &busy.id, &busy.question);
    busy.fails(&format!("delete-branch {id} {question}"));
    busy.fails(&format!("delete-branch {id} {}", busy.entry));
    busy.fails(&format!("append {id} 'in between'"));
    busy.fails(&format!("move {id} {question} --exact"));
    busy.fails(&format!("move {id} {}", busy.entry));
    let told = world.fails(1, &format!("move {id} {} --json", busy.entry));
    let error: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    let error = &error["error"];
    assert_eq!(
        [&error["code"], &error["entry"], &error["branch"]],
        [&json!("session_busy"), &json!(busy.entry), &json!(question)],
        "{told}"
    );
    let holder = error["holder"].as_str().unwrap();
    assert!(holder.starts_with(&format!("process {}", error["process"])), "{told}");
    assert!(error["message"].as_str().unwrap().contains(holder), "{told}");
    let ran = Running::start(osier(world, &["-c", "-p", "me too"])).end();
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("the session is busy: process "), "{}", ran.err);
    world.ok(&format!("move {id} root"));
    let elsewhere = Running::start(osier(world, &["-c", "-p", "elsewhere"]));
    let asked = busy.server.next();
    assert_eq!(asked.messages(), ["user: elsewhere"]);
    let working = busy.release();
    assert_eq!(working.messages(), WORKED);
    asked.answer("There.");
    assert_eq!(elsewhere.end().out, "There.\n");
    working.answer("Done.");
    let (id, entry) = (busy.id.clone(), busy.entry.clone());
    let world = busy.end();
    world.ok(&format!("delete-branch {id} {entry}"));
}

/// Programs that know nothing of leases can write that a part of a running turn is deleted.
#[test]
fn gc_never_removes_what_is_below_the_first_entry_of_a_running_turn() {
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
    let told = busy.fails(&format!("gc {id} --force"));
    assert!(told.contains("cannot remove deleted branches: "), "{told}");
    write("osier.restore_branch", "0000fff2");
    let asked = busy.release();
    assert_eq!(asked.messages(), WORKED);
    asked.answer("Done.");
    busy.end();
}

/// The file of a new session is made with the first thing that is said in it.
#[test]
fn the_first_turn_of_a_session_is_its_own_too() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "hello"]));
    let asked = server.next();
    let ran = Running::start(osier(&world, &["-c", "-p", "me too"])).end();
    assert!(
        ran.code == 1 && ran.err.contains(" is running a turn at the start of the session"),
        "{}",
        ran.err
    );
    asked.answer("Hi.");
    assert_eq!(running.end().code, 0);
    let again = Running::start(osier(&world, &["-c", "-p", "me too"]));
    let asked = server.next();
    assert_eq!(asked.messages(), ["user: hello", "assistant: Hi.", "user: me too"]);
    asked.answer("You too.");
    assert_eq!(again.end().code, 0);
}

#[test]
fn the_lease_of_a_killed_process_ends_with_it() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "hello"]));
    let asked = server.next();
    running.signal(rustix::process::Signal::KILL);
    running.end();
    drop(asked);
    let again = Running::start(osier(&world, &["-c", "-p", "go on"]));
    let asked = server.next();
    assert_eq!(asked.messages(), ["user: hello", "user: go on"]);
    asked.answer("Yes.");
    assert_eq!(again.end().code, 0);
}
