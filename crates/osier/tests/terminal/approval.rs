//! Approval: nothing runs before it is allowed, and the model gets the reason of a refusal.

use serde_json::json;

use crate::run_support::ModelServer;
use crate::screen::{CTRL_D, ESCAPE, READY, open};
use crate::support::TestEnv;

#[test]
fn nothing_is_written_before_it_is_allowed() {
    let env = TestEnv::new();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("write notes.txt with \"hello\"");
    screen.wait_for("Allow ");
    screen.wait_for("+ hello");
    assert!(!env.path("notes.txt").exists());
    screen.answer("y");
    screen.wait_for("Done: write notes.txt");
    assert_eq!(env.read("notes.txt"), b"hello\n");
    screen.quit();
}

#[test]
fn always_is_remembered_and_the_model_gets_the_reason_of_a_refusal() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("say something");
    server.next_request().reply_with_call("bash", &json!({ "command": "echo one" }));
    screen.wait_for("always `echo`");
    screen.answer("p");
    server.next_request().reply_with_call("bash", &json!({ "command": "echo two words" }));
    let request = server.next_request();
    assert!(request.messages().pop().unwrap().contains("two words"));
    request.reply_with_call("bash", &json!({ "command": "touch no" }));
    screen.wait_for("touch no");
    screen.wait_for("Allow ");
    screen.answer_until("n", |text| text.contains("Why not?"));
    screen.submit("I do not like it");
    let request = server.next_request();
    assert!(request.messages().pop().unwrap().starts_with("tool: not allowed: I do not like it"));
    request.reply("All right.");
    screen.wait_for("All right.");
    screen.quit();
    assert!(!env.path("no").exists());
    let allowed = env.json(&format!("config {}", env.session_file().display()));
    assert_eq!(allowed["approvalTools"], json!(["bash:echo"]));
}

#[test]
fn text_typed_while_a_question_is_visible_goes_to_the_draft() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("begin");
    let request = server.next_request();
    screen.press("why any");
    screen.wait_for("> why any");
    request.reply_with_call("bash", &json!({ "command": "touch made" }));
    screen.wait_for("Allow bash to run this command?");
    screen.press("thing y or n");
    screen.wait_for("> why anything y or n");
    assert!(screen.text().contains("Allow bash"), "{}", screen.text());
    assert!(!env.path("made").exists());
    screen.answer("y");
    server.next_request().reply("Made.");
    screen.wait_for("Made.");
    assert!(env.path("made").exists());
    screen.quit();
}

#[test]
fn escape_at_a_question_stops_the_turn_and_quitting_asks_first() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("begin");
    server.next_request().reply_with_call("bash", &json!({ "command": "touch made" }));
    screen.wait_for("Allow bash to run this command?");
    screen.press(CTRL_D);
    screen.wait_for("Quit while a turn is running?");
    screen.press("1");
    screen.wait_gone("Quit while a turn is running?");
    screen.press(ESCAPE);
    screen.wait_gone("Allow bash");
    screen.wait_gone("waiting for your answer");
    screen.submit("and now?");
    let request = server.next_request();
    assert_eq!(request.messages().pop().unwrap(), "user: and now?");
    request.reply("Nothing was made.");
    screen.wait_for("Nothing was made.");
    assert!(!env.path("made").exists());
    screen.quit();
}

/// Osier offers to run a command that the sandbox stopped again, outside the sandbox, and shows why it failed.
#[test]
fn a_command_that_the_sandbox_stopped_runs_outside_after_approval() {
    let server = ModelServer::new();
    let env = server.env();
    if !crate::support::has_sandbox(&env) {
        return;
    }
    let made = env.cwd().parent().unwrap().join("made");
    let command = json!({ "command": "echo x >> ../made && cat ../made" });
    let mut screen = open(&env, &["--approval", "sandbox"]);
    screen.wait_for(READY);
    screen.submit("do it");
    server.next_request().reply_with_call("bash", &json!({ "command": "echo inside > here && cat here" }));
    let request = server.next_request();
    assert_eq!(request.messages().pop().unwrap(), "tool: inside");
    request.reply_with_call("bash", &command);
    screen.wait_for("again, outside the sandbox?");
    screen.wait_for("not accessible in the sandbox: ");
    assert!(!made.exists());
    screen.answer("o");
    let request = server.next_request();
    assert_eq!(request.messages().pop().unwrap(), "tool: x");
    request.reply_with_call("bash", &command);
    let request = server.next_request();
    assert_eq!(request.messages().pop().unwrap(), "tool: x\nx", "the command is always allowed outside");
    request.reply_with_call("bash", &json!({ "command": "touch ../other" }));
    screen.wait_for("touch ../other");
    screen.wait_for("outside the sandbox?");
    screen.answer_until("n", |text| text.contains("Why not?"));
    screen.submit("leave it");
    let request = server.next_request();
    let result = request.messages().pop().unwrap();
    assert!(result.contains("cannot touch") && result.contains("not allowed: leave it"), "{result}");
    request.reply("All right.");
    screen.wait_for("All right.");
    screen.quit();
    assert!(!env.cwd().parent().unwrap().join("other").exists());
    let allowed = env.json(&format!("config {}", env.session_file().display()));
    assert_eq!(allowed["approvalTools"], json!(["outside:echo x >> ../made && cat ../made"]));
}

/// A command that needs what the sandbox denies is asked about once.
#[test]
fn a_command_can_be_allowed_outside_before_it_fails() {
    let server = ModelServer::new();
    let env = server.env();
    if !crate::support::has_sandbox(&env) {
        return;
    }
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("do it");
    let command = json!({ "command": "echo x >> ../made && cat ../made" });
    server.next_request().reply_with_call("bash", &command);
    screen.wait_for("outside the sandbox");
    screen.answer("o");
    let request = server.next_request();
    assert_eq!(request.messages().pop().unwrap(), "tool: x");
    request.reply_with_call("bash", &command);
    let request = server.next_request();
    assert_eq!(request.messages().pop().unwrap(), "tool: x\nx", "not asked again");
    request.reply("Done twice.");
    screen.wait_for("Done twice.");
    screen.quit();
}
