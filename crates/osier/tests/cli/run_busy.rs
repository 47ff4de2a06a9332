//! Two real processes in one session: a turn belongs to one of them.

use crate::busy_support::Busy;
use crate::run_support::{Running, Server, osier};

const WORKED: [&str; 5] =
    ["user: hello", "assistant: Hi.", "user: work", "assistant:  →bash", "tool: begun\ngone on"];

#[test]
fn gc_does_not_pull_the_log_away_from_a_running_turn() {
    let server = Server::new();
    let world = server.world();
    let busy = Busy::new(server, world, &[]);
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
    let asked = busy.go_on();
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
    let busy = Busy::new(server, world, &[]);
    let (world, id, question) = (&busy.world, &busy.id, &busy.question);
    busy.fails(&format!("delete-branch {id} {question}"));
    busy.fails(&format!("delete-branch {id} {}", busy.entry));
    busy.fails(&format!("append {id} 'in between'"));
    busy.fails(&format!("move {id} {question} --exact"));
    busy.fails(&format!("move {id} {}", busy.entry));
    let ran = Running::start(osier(world, &["-c", "-p", "me too"])).end();
    assert_eq!(ran.code, 1, "{}", ran.err);
    assert!(ran.err.contains("the session is busy: process "), "{}", ran.err);
    world.ok(&format!("move {id} root"));
    let elsewhere = Running::start(osier(world, &["-c", "-p", "elsewhere"]));
    let asked = busy.server.next();
    assert_eq!(asked.messages(), ["user: elsewhere"]);
    let working = busy.go_on();
    assert_eq!(working.messages(), WORKED);
    asked.answer("There.");
    assert_eq!(elsewhere.end().out, "There.\n");
    working.answer("Done.");
    let (id, entry) = (busy.id.clone(), busy.entry.clone());
    let world = busy.end();
    world.ok(&format!("delete-branch {id} {entry}"));
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
