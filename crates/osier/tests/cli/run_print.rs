//! `-p`: the answer and nothing but the answer, the moment it is certain.

use std::io::Write;
use std::process::Stdio;

use osier_testkit::expect;
use rustix::process::Signal;
use serde_json::json;

use crate::run_support::{Running, Server, Terminal, osier};
use crate::support::{Ran, World};

#[test]
fn without_any_key_the_built_in_model_answers() {
    let world = World::new();
    world.write("notes.txt", "hello\n");
    let ran = world.args(&["-p", "list the files here"]);
    expect![[r#"
        `ls` returned 1 line:

        ```
        notes.txt
        ```

        (This is Osier's offline model: built in, rules instead of a neural network. Choose a real one with `--model`; `osier models` lists them.)
    "#]]
    .assert_eq(&ran.to_string());
    assert_eq!(world.session_files().len(), 1);
}

fn with_input(world: &World, args: &[&str], input: &str) -> Ran {
    let mut command = osier(world, args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Ran::of(child.wait_with_output().unwrap())
}

#[test]
fn what_is_piped_in_is_said_too() {
    for (args, prompt) in [
        (&["-p", "explain"][..], "user: x = 1\n\nexplain"),
        (&["-p", "explain", "-"], "user: explain\n\nx = 1"),
        (&["-p"], "user: x = 1"),
        (&["explain", "this"], "user: x = 1\n\nexplain this"),
        (&[], "user: x = 1"),
    ] {
        let server = Server::new();
        let world = server.world();
        let (asked, ran) = std::thread::scope(|scope| {
            let ran = scope.spawn(|| with_input(&world, args, "x = 1\n"));
            let asked = server.next();
            let messages = asked.messages();
            asked.answer("a number");
            (messages, ran.join().unwrap())
        });
        assert_eq!(asked, [prompt], "{args:?}");
        assert_eq!(ran, Ran { code: 0, out: "a number\n".into(), err: String::new() }, "{args:?}");
    }
}

#[test]
fn files_named_with_an_at_sign_go_along_in_every_mode() {
    let server = Server::new();
    let world = server.world();
    world.write("src/a.rs", "fn a() {}\n");
    let file = "<file name=\"src/a.rs\">\nfn a() {}\n</file>";
    for (args, question) in [
        (&["-p", "@src/a.rs", "what is it?"][..], "@src/a.rs what is it?"),
        (&["-p", "what is @src/a.rs?"], "what is @src/a.rs?"),
        (&["--mode", "json", "what is", "@src/a.rs"], "what is @src/a.rs"),
    ] {
        let running = Running::start(osier(&world, args));
        let asked = server.next();
        assert_eq!(asked.messages(), [format!("user: {file}\n\n{question}")], "{args:?}");
        asked.answer("a function");
        assert_eq!(running.end().code, 0);
        let card = &world.json("list --limit 1")[0];
        assert_eq!(card["firstMessage"], question, "the title is the question");
        let user = world.ok(&format!("tree {} --ids --filter user-only", card["id"].as_str().unwrap()));
        let moved = world.run(&format!("move {} {}", card["id"].as_str().unwrap(), &user[..8]));
        assert_eq!(moved.out, format!("{question}\n"), "and what returns to the editor");
    }
    let ran = world.args(&["-p", "@src/b.rs", "what is it?"]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{ran}");
    assert!(ran.err.starts_with("osier: @src/b.rs: "), "{ran}");
}

/// The server says the next word only after the test has seen the last one, so nothing can be kept back.
#[test]
fn every_word_is_printed_the_moment_it_arrives() {
    let server = Server::new();
    let world = server.world();
    let mut running = Running::start(osier(&world, &["-p", "--no-tools", "count"]));
    let mut asked = server.next();
    for word in ["one", " two", " thr", "ee\n", "four"] {
        asked.text(word);
        assert_eq!(running.out.until(word), word);
    }
    asked.end("stop");
    let ran = running.end();
    assert_eq!((ran.code, ran.out.as_str()), (0, "\n"), "{ran:?}");
}

#[test]
fn a_person_sees_every_word_also_where_tools_may_follow() {
    let server = Server::new();
    let world = server.world();
    let mut terminal = Terminal::start(osier(&world, &["-p", "look"]));
    let mut asked = server.next();
    for word in ["I", " will", " look."] {
        asked.text(word);
        terminal.until(word);
    }
    asked.calls("ls", &json!({}));
    terminal.until("[ls: .]");
    let mut asked = server.next();
    asked.text("Nothing");
    terminal.until("Nothing");
    asked.end("stop");
    assert_eq!(terminal.end(), (0, "\n".to_owned()));
}

#[test]
fn a_program_gets_the_answer_and_not_what_was_said_on_the_way() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "look"]));
    let mut asked = server.next();
    asked.text("I will look.");
    asked.calls("ls", &json!({}));
    server.next().answer("There is nothing.");
    assert_eq!(running.end(), Ran { code: 0, out: "There is nothing.\n".into(), err: String::new() });
}

#[test]
fn what_goes_on_is_told_if_somebody_wants_to_know() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "--verbose", "look"]));
    server.next().calls("read", &json!({ "path": "none.txt" }));
    server.next().answer("No such file.");
    let ran = running.end();
    assert_eq!((ran.code, ran.out.as_str()), (0, "No such file.\n"));
    expect![[r#"
        [read: none.txt]
        read: cannot read none.txt: no such file or folder; use find or ls to see what is there
    "#]]
    .assert_eq(&ran.err);
}

#[test]
fn only_options_that_would_have_helped_are_named() {
    let server = Server::new();
    let world = server.world();
    for (name, arguments) in [
        ("bash", json!({ "command": "make" })),
        ("write", json!({ "path": "../beside.txt", "content": "" })),
        ("write", json!({ "path": ".git/hooks/post-commit", "content": "" })),
    ] {
        let running = Running::start(osier(&world, &["-p", "--no-session", "do it"]));
        server.next().calls(name, &arguments);
        server.next().answer("Then not.");
        let ran = running.end();
        let confined = match name {
            "bash" => "--approval sandbox allows commands in a sandbox, ",
            _ => "",
        };
        assert!(ran.err.ends_with(&format!("; {confined}--approval yolo allows everything\n")), "{ran}");
        assert!(!ran.err.contains("autoEdit"), "{ran}");
    }
}

#[test]
fn an_image_for_a_model_that_sees_none_is_told() {
    let server = Server::new();
    let world = server.world();
    world.write("dot.gif", GIF);
    let running = Running::start(osier(&world, &["-p", "@dot.gif", "what is it?"]));
    let asked = server.next();
    assert!(asked.messages()[0].contains("which this model cannot see"), "{:?}", asked.messages());
    asked.answer("I cannot tell.");
    let ran = running.end();
    assert_eq!(ran.out, "I cannot tell.\n", "{ran}");
    assert_eq!(
        ran.err, "local/test does not accept images; the image will be replaced by a placeholder\n",
        "{ran}"
    );
}

/// One white point.
const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

#[test]
fn what_nobody_can_approve_is_refused_and_the_flag_that_allows_it_is_named() {
    let server = Server::new();
    let world = server.world();
    let write = json!({ "path": "a.txt", "content": "x\n" });
    let running = Running::start(osier(&world, &["-p", "write it"]));
    server.next().calls("write", &write);
    let asked = server.next();
    let told = asked.messages().pop().unwrap();
    assert!(told.starts_with("tool: not allowed: no user is present to approve it"), "{told}");
    asked.answer("Then not.");
    let ran = running.end();
    expect![[r#"
        Then not.
        ! osier: not allowed: [write: a.txt]; --approval autoEdit allows changes to files here, --approval yolo allows everything
    "#]]
    .assert_eq(&ran.to_string());
    assert!(!world.path("a.txt").exists());

    let running = Running::start(osier(&world, &["-p", "--approval", "autoEdit", "write it"]));
    server.next().calls("write", &write);
    server.next().answer("Done.");
    assert_eq!(running.end(), Ran { code: 0, out: "Done.\n".into(), err: String::new() });
    assert_eq!(world.read("a.txt"), b"x\n");
}

#[test]
fn a_failure_of_the_model_is_told_and_fails() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "hello"]));
    server.next().refuse(400, r#"{"error":{"message":"this is not\u001b[2J understood"}}"#);
    let ran = running.end();
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran}");
    expect![[r#"
        osier: local rejected the request (status 400). this is not�[2J understood
    "#]]
    .assert_eq(&ran.err);
    let ran = world.args(&["-p", "--model", "anthropic/claude-opus-5-5", "hello"]);
    assert_eq!((ran.code, ran.out.as_str()), (1, ""), "{ran}");
    assert!(ran.err.contains("ANTHROPIC_API_KEY"), "{ran}");
}

#[test]
fn an_answer_that_was_cut_off_is_printed_and_told() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "write a book"]));
    let mut asked = server.next();
    asked.text("It was a");
    asked.end("length");
    let ran = running.end();
    assert_eq!((ran.code, ran.out.as_str()), (0, "It was a\n"), "{ran}");
    assert!(ran.err.starts_with("osier: the answer was cut off"), "{ran}");
}

/// Stopped in the middle of a command: it is killed, its call has a result, and the session can be gone on with.
#[test]
fn a_signal_stops_the_turn_and_leaves_a_whole_tree() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let server = Server::new();
        let world = server.world();
        let mut running = Running::start(osier(&world, &["--mode", "json", "--approval", "yolo", "wait"]));
        server.next().calls("bash", &json!({ "command": "echo 'it be''gan'; sleep 1000" }));
        running.out.until("it began");
        running.signal(signal);
        let ran = running.end();
        assert_eq!((ran.code, ran.err.as_str()), (code, ""), "{ran:?}");
        let file = world.session_file();
        let file = file.to_str().unwrap();
        assert!(world.ok(&format!("verify {file}")).ends_with("no damage found\n"));
        let running = Running::start(osier(&world, &["-c", "-p", "go on"]));
        let asked = server.next();
        let messages = asked.messages();
        assert_eq!(messages[..2], ["user: wait", "assistant:  →bash"]);
        assert!(messages[2].starts_with("tool: ") && messages[2].contains("cancelled"), "{messages:?}");
        assert_eq!(messages[3..], ["user: go on"]);
        asked.answer("Gone on.");
        assert_eq!(running.end().out, "Gone on.\n");
    }
}

#[test]
fn a_signal_while_the_model_speaks_keeps_what_it_said() {
    let server = Server::new();
    let world = server.world();
    let mut running = Running::start(osier(&world, &["-p", "--no-tools", "speak"]));
    let mut asked = server.next();
    asked.text("Once upon");
    running.out.until("Once upon");
    running.signal(Signal::INT);
    asked.until_hung_up();
    let ran = running.end();
    assert_eq!((ran.code, ran.err.as_str()), (130, ""), "{ran:?}");
    let file = world.session_file();
    assert!(world.ok(&format!("show {}", file.display())).contains("Once upon"));
}

#[test]
fn a_reader_who_left_stops_the_turn_and_is_no_failure() {
    let server = Server::new();
    let world = server.world();
    let mut command = osier(&world, &["-p", "--no-tools", "speak"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut asked = server.next();
    asked.text("Is anybody there?");
    asked.until_hung_up();
    assert_eq!(
        Ran::of(child.wait_with_output().unwrap()),
        Ran { code: 0, out: String::new(), err: String::new() }
    );
}

#[test]
fn instructions_and_templates_of_user_and_project_are_followed() {
    let server = Server::new();
    let world = server.world();
    world.write(".git/HEAD", "");
    world.write("AGENTS.md", "Use tabs.\n");
    std::fs::create_dir_all(world.home().join("prompts")).unwrap();
    std::fs::write(world.home().join("prompts/fix.md"), "Fix $1, please.").unwrap();
    let args = ["-p", "--append-system-prompt", "Be brief.", "/fix a.rs"];
    let running = Running::start(osier(&world, &args));
    let asked = server.next();
    let system = asked.body["messages"][0]["content"].to_string();
    for part in ["You are Osier", "Use tabs.", "Be brief.", "code"] {
        assert!(system.contains(part), "{part} is not in {system}");
    }
    assert_eq!(asked.messages(), ["user: Fix a.rs, please."]);
    asked.answer("Fixed.");
    assert_eq!(running.end().out, "Fixed.\n");
    let running =
        Running::start(osier(&world, &["-p", "--system-prompt", "Be a poet.", "--tools", "read,ls", "hi"]));
    let asked = server.next();
    let system = asked.body["messages"][0]["content"].to_string();
    assert!(system.contains("Be a poet.") && !system.contains("You are Osier"), "{system}");
    let tools = asked.body["tools"].as_array().unwrap();
    let tools: Vec<&str> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["read", "ls"]);
    asked.answer("Roses.");
    assert_eq!(running.end().out, "Roses.\n");
}

#[test]
fn an_answer_that_cannot_be_written_is_a_failure() {
    let world = World::new();
    for mode in ["text", "json"] {
        let mut command = world.command();
        command.args(["-p", "--mode", mode, "--no-session", "hello"]);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command.stdin(std::process::Stdio::null()).stdout(full).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{mode}: {told}");
        assert!(told.contains("No space left"), "{mode}: {told}");
    }
}
