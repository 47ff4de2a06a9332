//! The chat, on a real terminal.

use osier_testkit::expect;
use rustix::process::Signal;
use serde_json::json;

use crate::run_support::{Server, Terminal, osier};
use crate::support::World;

fn chat(world: &World, args: &[&str]) -> Terminal {
    Terminal::start(osier(world, args))
}

#[test]
fn a_first_conversation_needs_no_key() {
    let world = World::new();
    let mut chat = chat(&world, &[]);
    let greeting = chat.say("write notes.txt with \"hello\"");
    expect![[r#"
        osier in ~/code, with the built-in model offline/offline: it needs no key, and follows simple requests only
        For a real one set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY, or see `osier models`; /help helps

        > "#]].assert_eq(&world.named(&greeting));
    let asked = chat.until("? ");
    let asked = asked + &chat.until("? ");
    expect![[r#"

        I will write `notes.txt`.
        May it do this? [write: notes.txt] (it changes a file)
          creates notes.txt
          --- /dev/null
          +++ b/notes.txt
          @@ -0,0 +1 @@
          +hello
          y: once   a: always write   n: no, or n and why
        ? "#]]
    .assert_eq(&asked);
    chat.type_in("perhaps\n");
    chat.until("y: once   a: always write   n: no, or n and why\r\n? ");
    chat.type_in("y\n");
    expect![[r#"
        y
        [write: notes.txt]

        Done: `write notes.txt`.

        (This is Osier's offline model: built in, rules instead of a neural network. Choose a real one with `--model`; `osier models` lists them.)

        > "#]].assert_eq(&chat.say("/quit"));
    assert_eq!(chat.end().0, 0);
    assert_eq!(world.read("notes.txt"), b"hello\n");
}

#[test]
fn looking_in_leaves_no_session_behind() {
    let world = World::new();
    let mut chat = chat(&world, &[]);
    chat.say("/help");
    chat.say("/session");
    chat.until("nothing was said yet");
    chat.until("> ");
    // Ctrl-D
    chat.type_in("\u{4}");
    assert_eq!(chat.end().0, 0);
    assert!(world.session_files().is_empty());
}

#[test]
fn a_prompt_on_the_command_line_is_said_first() {
    let server = Server::new();
    let world = server.world();
    let mut talk = chat(&world, &["fix", "the", "bug"]);
    let asked = server.next();
    assert_eq!(asked.messages(), ["user: fix the bug"]);
    asked.answer("Fixed.");
    talk.until("Fixed.");
    talk.say("/quit");
    assert_eq!(talk.end().0, 0);

    let mut talk = chat(&world, &["-c", "and", "the", "next"]);
    let seen = talk.until("and the next");
    assert!(seen.contains("user: \"fix the bug\"\nassistant: \"Fixed.\"\n"), "{seen}");
    let asked = server.next();
    assert_eq!(asked.messages(), ["user: fix the bug", "assistant: Fixed.", "user: and the next"]);
    asked.answer("Done.");
    talk.until("Done.");
    talk.say("/quit");
    assert_eq!(talk.end().0, 0);
}

#[test]
fn what_is_typed_while_it_works_steers_or_follows() {
    let server = Server::new();
    let world = server.world();
    let mut chat = chat(&world, &["--approval", "yolo"]);
    chat.say("begin");
    let mut asked = server.next();
    asked.text("I begin.");
    chat.until("I begin.");
    chat.type_in("> and then stop\n");
    chat.until("waiting to be said: 1");
    chat.type_in("not so fast\n");
    chat.until("waiting to be said: 2");
    asked.calls("ls", &json!({}));
    let asked = server.next();
    assert_eq!(asked.messages().pop().unwrap(), "user: not so fast");
    asked.answer("Slower.");
    let asked = server.next();
    assert_eq!(asked.messages().pop().unwrap(), "user: and then stop");
    asked.answer("Stopped.");
    let seen = chat.until("Stopped.");
    assert!(seen.contains("user: \"not so fast\"") && seen.contains("user: \"and then stop\""), "{seen}");
    chat.say("/quit");
    assert_eq!(chat.end().0, 0);
}

#[test]
fn lines_that_come_in_one_go_are_one_text() {
    let server = Server::new();
    let world = server.world();
    let mut chat = chat(&world, &[]);
    chat.until("> ");
    chat.type_in("first\nsecond\nthird\n");
    let asked = server.next();
    assert_eq!(asked.messages(), ["user: first\nsecond\nthird"]);
    asked.answer("Three lines.");
    chat.until("Three lines.");
    chat.say("/quit");
    assert_eq!(chat.end().0, 0);
}

#[test]
fn ctrl_c_stops_the_turn_and_at_the_prompt_it_leaves() {
    let server = Server::new();
    let world = server.world();
    let mut chat = chat(&world, &[]);
    chat.say("tell a story");
    let mut asked = server.next();
    asked.text("Once upon");
    chat.until("Once upon");
    chat.signal(Signal::INT);
    asked.until_hung_up();
    chat.until("stopped\n".replace('\n', "\r\n").as_str());
    chat.say("another one");
    let asked = server.next();
    assert_eq!(asked.messages(), ["user: tell a story", "assistant: Once upon", "user: another one"]);
    asked.answer("The end.");
    chat.until("The end.");
    chat.until("> ");
    chat.signal(Signal::INT);
    chat.until("Ctrl-C again, or Ctrl-D, leaves");
    chat.until("> ");
    chat.signal(Signal::INT);
    assert_eq!(chat.end().0, 130);
}

#[test]
fn a_terminal_that_is_gone_ends_the_turn_whole() {
    let server = Server::new();
    let world = server.world();
    let mut chat = chat(&world, &[]);
    chat.say("tell a story");
    let mut asked = server.next();
    asked.text("Once upon");
    chat.until("Once upon");
    chat.signal(Signal::HUP);
    asked.until_hung_up();
    assert_eq!(chat.end().0, 129);
    let file = world.session_file();
    assert!(world.ok(&format!("verify {}", file.display())).ends_with("sound\n"));
}

#[test]
fn commands_of_the_user_run_and_may_be_kept_from_the_model() {
    let server = Server::new();
    let world = server.world();
    let mut chat = chat(&world, &[]);
    chat.say("!echo seen; exit 3");
    chat.until("exit 3\r\n");
    chat.say("!!echo unseen");
    chat.until("exit 0, and the model will not see it");
    chat.say("what did I do?");
    let asked = server.next();
    let messages = asked.messages().join("\n");
    assert!(messages.contains("seen") && !messages.contains("unseen"), "{messages}");
    asked.answer("You ran a command.");
    chat.until("You ran a command.");
    chat.say("!echo 'it be''gan'; sleep 1000");
    chat.until("it began");
    chat.signal(Signal::INT);
    chat.until("stopped");
    chat.say("/quit");
    assert_eq!(chat.end().0, 0);
}

#[test]
fn always_is_remembered_for_the_session() {
    let server = Server::new();
    let world = server.world();
    let mut chat = chat(&world, &[]);
    chat.say("say something");
    server.next().calls("bash", &json!({ "command": "echo one" }));
    chat.until("p: always `echo`   a: always bash   n: no, or n and why\r\n? ");
    chat.type_in("p\n");
    server.next().calls("bash", &json!({ "command": "echo two words" }));
    let asked = server.next();
    assert!(asked.messages().pop().unwrap().contains("two words"));
    asked.calls("bash", &json!({ "command": "touch no" }));
    chat.until("n: no, or n and why\r\n? ");
    chat.type_in("n I do not like it\n");
    let asked = server.next();
    assert!(asked.messages().pop().unwrap().starts_with("tool: not allowed: I do not like it"));
    asked.answer("All right.");
    chat.until("All right.");
    chat.say("/quit");
    assert_eq!(chat.end().0, 0);
    assert_eq!(
        world.json(&format!("config {}", world.session_file().display()))["approvalTools"],
        json!(["bash:echo"])
    );
}

#[test]
fn slash_commands_do_what_they_say() {
    let server = Server::new();
    let world = server.world();
    let mut chat = chat(&world, &[]);
    chat.say("one");
    server.next().answer("1");
    chat.say("/name Numbers");
    chat.say("/label first");
    chat.say("/thinking low");
    chat.say("/approval autoEdit");
    chat.say("/model offline");
    chat.say("/model");
    chat.say("/tree");
    chat.say("/tre");
    chat.say("/undo");
    let seen = chat.say("/new");
    assert!(seen.contains("there is no move to undo"), "{seen}");
    chat.say("/resume");
    let list = chat.until("/resume ID goes on with one of them");
    let id = list
        .lines()
        .find(|line| line.contains("Numbers"))
        .unwrap()
        .split_whitespace()
        .next()
        .unwrap()
        .to_owned();
    chat.say(&format!("/resume {id}"));
    let seen = chat.say("/name");
    assert!(seen.contains("assistant: \"1\""), "{seen}");
    chat.until("Numbers");
    chat.say("/quit");
    assert_eq!(chat.end().0, 0);
    let file = world.session_file();
    expect![[r#"
        <1>  [model: test]
        <2>  [thinking: medium]
        <3>  [system]
        <4>  user: "one"
        <5>  assistant: "1"
        <6>  [title: Numbers]
        <7>  [label: first]
        <8>  [thinking: low]
        <9>  [config: approvalMode=autoEdit]
        <10>  [model: offline]
    "#]]
    .assert_eq(&world.named(&world.ok(&format!("path {}", file.display()))));
}

#[test]
fn nothing_said_or_printed_reaches_the_terminal_alive() {
    let server = Server::new();
    let world = server.world();
    let mut chat = chat(&world, &["--approval", "yolo"]);
    chat.say("be evil");
    let mut asked = server.next();
    asked.text("x\u{1b}]0;owned\u{7}\u{1b}[2Jy");
    asked.calls("bash", &json!({ "command": "printf '\\033[2Jz'", "\u{1b}[2J": 1 }));
    server.next().answer("done");
    let seen = chat.until("done");
    assert!(!seen.contains('\u{1b}') && !seen.contains('\u{7}'), "{seen:?}");
    chat.say("!printf '\\033[2Jw\\n'");
    let seen = chat.until("exit 0");
    assert!(!seen.contains('\u{1b}'), "{seen:?}");
    chat.say("/quit");
    assert_eq!(chat.end().0, 0);
}
