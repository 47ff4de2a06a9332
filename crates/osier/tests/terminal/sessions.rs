//! Other sessions: the list, a new one, copies, sessions of other directories.

use std::fs;

use crate::run_support::Server;
use crate::screen::{ESCAPE, READY, UP, open, with_script};
use crate::support::World;

const SCRIPT: &str = "say one; reply first; say two; reply second";

#[test]
fn resume_without_a_name_begins_with_the_list() {
    let world = World::new();
    let first = world.args(&["-p", "remember the milk"]);
    assert_eq!(first.code, 0, "{}", first.err);
    let mut screen = open(&world, &["--resume"]);
    screen.wait_for("Sessions this directory");
    screen.wait_for("remember the milk");
    screen.press("\r");
    screen.wait_for("> remember the milk");
    screen.wait_gone("Sessions this directory");
    screen.say("/new");
    screen.wait_for(READY);
    screen.say("/resume");
    screen.wait_for("› remember the milk");
    screen.press(ESCAPE);
    screen.wait_gone("Sessions this directory");
    screen.leave();
    assert_eq!(world.session_files().len(), 1, "the new one was only looked at");
}

#[test]
fn a_fork_goes_on_elsewhere_with_the_text_in_the_editor() {
    let server = Server::new();
    let (world, mut screen) = with_script(&server, SCRIPT);
    let before = world.read("s.jsonl");
    screen.wait_for("second");
    screen.say("/fork");
    screen.wait_for("Go on before a message");
    screen.press("n");
    screen.wait_gone("Go on before a message");
    screen.wait_for("> two");
    screen.wait_gone("second");
    screen.press("\r");
    let asked = server.next();
    assert_eq!(asked.messages(), ["user: one", "assistant: first", "user: two"]);
    asked.answer("elsewhere");
    screen.wait_for("elsewhere");
    screen.wait_for("#4");
    screen.say("/branch");
    screen.wait_until("another session", |text| text.contains("elsewhere"));
    screen.say("here");
    server.next().answer("a copy");
    screen.wait_for("a copy");
    screen.leave();
    assert_eq!(world.read("s.jsonl"), before);
    assert_eq!(world.session_files().len(), 2);
    let cards = world.args(&["sessions", "list", "--all", "--json"]);
    assert_eq!(cards.out.matches("\"parentSession\":").count(), 2, "{}", cards.out);
}

#[test]
fn a_session_of_another_directory_is_worked_on_where_it_belongs() {
    let world = World::new();
    fs::create_dir(world.path("there")).unwrap();
    let made = world.args(&["-p", "--cwd", "there", "write made.txt with \"x\"", "--approval", "yolo"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let mut screen = open(&world, &[]);
    screen.wait_for(READY);
    screen.say("/resume");
    screen.wait_for("none; tab looks everywhere");
    screen.press("\t");
    screen.wait_for("made.txt");
    screen.press("\r");
    screen.wait_for("working in");
    screen.wait_for("code/there │");
    screen.press(UP);
    screen.wait_for("> write made.txt");
    screen.press("\x03");
    screen.say("!pwd");
    screen.wait_for("/code/there");
    screen.leave();
}

#[test]
fn what_is_not_kept_leaves_nothing() {
    let server = Server::new();
    let world = server.world();
    let mut screen = open(&world, &["--no-session", "hello"]);
    server.next().answer("Hi.");
    screen.wait_for("Hi.");
    let end = screen.leave();
    assert!(!end.contains("--resume"), "{end}");
    assert!(world.session_files().is_empty());
}
