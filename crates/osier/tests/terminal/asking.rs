//! Nothing is changed before somebody says yes; what was refused is told to the model.

use serde_json::json;

use crate::run_support::Server;
use crate::screen::{READY, open};
use crate::support::World;

#[test]
fn nothing_is_written_before_yes() {
    let world = World::new();
    let mut screen = open(&world, &[]);
    screen.wait_for(READY);
    screen.say("write notes.txt with \"hello\"");
    screen.wait_for("May it do this?");
    screen.wait_for("+hello");
    assert!(!world.path("notes.txt").exists());
    screen.answer("y");
    screen.wait_for("Done: write notes.txt");
    assert_eq!(world.read("notes.txt"), b"hello\n");
    screen.leave();
}

#[test]
fn always_is_remembered_and_no_is_told_with_its_reason() {
    let server = Server::new();
    let world = server.world();
    let mut screen = open(&world, &[]);
    screen.wait_for(READY);
    screen.say("say something");
    server.next().calls("bash", &json!({ "command": "echo one" }));
    screen.wait_for("always `echo`");
    screen.answer("p");
    server.next().calls("bash", &json!({ "command": "echo two words" }));
    let asked = server.next();
    assert!(asked.messages().pop().unwrap().contains("two words"));
    asked.calls("bash", &json!({ "command": "touch no" }));
    screen.wait_for("touch no");
    screen.wait_for("May it do this?");
    screen.insist("n", |text| text.contains("Why not?"));
    screen.say("I do not like it");
    let asked = server.next();
    assert!(asked.messages().pop().unwrap().starts_with("tool: not allowed: I do not like it"));
    asked.answer("All right.");
    screen.wait_for("All right.");
    screen.leave();
    assert!(!world.path("no").exists());
    let allowed = world.json(&format!("config {}", world.session_file().display()));
    assert_eq!(allowed["approvalTools"], json!(["bash:echo"]));
}
