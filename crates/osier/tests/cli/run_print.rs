//! `-p`: prints only the answer, as soon as it is final.

use std::io::Write;
use std::process::Stdio;

use osier_testkit::expect;
use rustix::process::Signal;
use serde_json::json;

use crate::run_support::{ModelServer, RunningCommand, TerminalCommand, osier_command};
use crate::support::{CommandOutput, TestEnv};

#[test]
fn without_any_key_the_built_in_model_answers() {
    let env = TestEnv::new();
    env.write("notes.txt", "hello\n");
    let output = env.args(&["-p", "list the files here"]);
    expect![[r#"
        `ls` returned 1 line:

        ```
        notes.txt
        ```

        (This is Osier's offline model: built in, rules instead of a neural network. With an API key, a real model answers.)
    "#]]
    .assert_eq(&output.to_string());
    assert_eq!(env.session_files().len(), 1);
}

fn with_input(env: &TestEnv, args: &[&str], input: &str) -> CommandOutput {
    let mut command = osier_command(env, args);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    CommandOutput::from_output(child.wait_with_output().unwrap())
}

#[test]
fn piped_input_is_part_of_the_prompt() {
    for (args, prompt) in [
        (&["-p", "explain"][..], "user: x = 1\n\nexplain"),
        (&["-p", "explain", "-"], "user: explain\n\nx = 1"),
        (&["-p"], "user: x = 1"),
        (&["explain", "this"], "user: x = 1\n\nexplain this"),
        (&[], "user: x = 1"),
    ] {
        let server = ModelServer::new();
        let env = server.env();
        let (request, output) = std::thread::scope(|scope| {
            let output = scope.spawn(|| with_input(&env, args, "x = 1\n"));
            let request = server.next_request();
            let messages = request.messages();
            request.reply("a number");
            (messages, output.join().unwrap())
        });
        assert_eq!(request, [prompt], "{args:?}");
        assert_eq!(
            output,
            CommandOutput { code: 0, out: "a number\n".into(), err: String::new() },
            "{args:?}"
        );
    }
}

#[test]
fn a_command_of_the_terminal_and_an_unknown_one_are_not_sent_to_the_model() {
    let env = TestEnv::new();
    for (prompt, problem) in [
        ("/undo", "/undo is a command of the terminal; run `osier`"),
        ("/compare 1 2", "/compare is a command of the terminal"),
        ("/nosuch x", "unknown command /nosuch; to send it to the model, put a space before it"),
    ] {
        let output = env.args(&["--model", "offline", "-p", prompt]);
        assert_eq!((output.code, output.out.as_str()), (2, ""), "{output}");
        assert!(output.err.contains(problem), "{output}");
    }
    assert_eq!(env.json("list"), serde_json::json!([]), "nothing is stored");
    for prompt in [" /nosuch x", "/usr/bin is a folder"] {
        assert_eq!(env.args(&["--model", "offline", "-p", prompt]).code, 0, "{prompt}");
    }
}

#[test]
fn files_named_with_an_at_sign_are_attached_in_every_mode() {
    let server = ModelServer::new();
    let env = server.env();
    env.write("src/a.rs", "fn a() {}\n");
    let file = "<file name=\"src/a.rs\">\nfn a() {}\n</file>";
    for (args, question) in [
        (&["-p", "@src/a.rs", "what is it?"][..], "@src/a.rs what is it?"),
        (&["-p", "what is @src/a.rs?"], "what is @src/a.rs?"),
        (&["--mode", "json", "what is", "@src/a.rs"], "what is @src/a.rs"),
    ] {
        let running = RunningCommand::start(osier_command(&env, args));
        let request = server.next_request();
        assert_eq!(request.messages(), [format!("user: {file}\n\n{question}")], "{args:?}");
        request.reply("a function");
        assert_eq!(running.wait().code, 0);
        let card = &env.json("list --limit 1")[0];
        assert_eq!(card["firstMessage"], question, "the title is the question");
        let user = env.ok(&format!("tree {} --ids --filter user-only", card["id"].as_str().unwrap()));
        let moved = env.run(&format!("move {} {}", card["id"].as_str().unwrap(), &user[..8]));
        assert_eq!(moved.out, format!("{question}\n"), "so is the text for the editor");
    }
    let output = env.args(&["-p", "@src/b.rs", "what is it?"]);
    assert_eq!((output.code, output.out.as_str()), (2, ""), "{output}");
    assert!(output.err.starts_with("osier: @src/b.rs: "), "{output}");
}

/// The server sends the next word only after the test has seen the previous one, so nothing can be buffered.
#[test]
fn every_word_is_printed_as_it_arrives() {
    let server = ModelServer::new();
    let env = server.env();
    let mut running = RunningCommand::start(osier_command(&env, &["-p", "--no-tools", "count"]));
    let mut request = server.next_request();
    for word in ["one", " two", " thr", "ee\n", "four"] {
        request.send_text(word);
        assert_eq!(running.out.read_until(word), word);
    }
    request.finish("stop");
    let output = running.wait();
    assert_eq!((output.code, output.out.as_str()), (0, "\n"), "{output:?}");
}

#[test]
fn a_terminal_gets_every_word_even_if_tools_may_follow() {
    let server = ModelServer::new();
    let env = server.env();
    let mut terminal = TerminalCommand::start(osier_command(&env, &["-p", "look"]));
    let mut request = server.next_request();
    for word in ["I", " will", " look."] {
        request.send_text(word);
        terminal.read_until(word);
    }
    request.reply_with_call("ls", &json!({}));
    terminal.read_until("[ls: .]");
    let mut request = server.next_request();
    request.send_text("Nothing");
    terminal.read_until("Nothing");
    request.finish("stop");
    assert_eq!(terminal.wait(), (0, "\n".to_owned()));
}

#[test]
fn a_pipe_gets_only_the_answer() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["-p", "look"]));
    let mut request = server.next_request();
    request.send_text("I will look.");
    request.reply_with_call("ls", &json!({}));
    server.next_request().reply("There is nothing.");
    assert_eq!(
        running.wait(),
        CommandOutput { code: 0, out: "There is nothing.\n".into(), err: String::new() }
    );
}

#[test]
fn verbose_prints_progress() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["-p", "--verbose", "look"]));
    server.next_request().reply_with_call("read", &json!({ "path": "none.txt" }));
    server.next_request().reply("No such file.");
    let output = running.wait();
    assert_eq!((output.code, output.out.as_str()), (0, "No such file.\n"));
    expect![[r#"
        [read: none.txt]
        read: cannot read none.txt: no such file or folder; use find or ls to see what is there
    "#]]
    .assert_eq(&output.err);
}

#[test]
fn denials_name_only_options_that_would_allow_the_call() {
    let server = ModelServer::new();
    let env = server.env();
    for (name, arguments) in [
        ("bash", json!({ "command": "make" })),
        ("write", json!({ "path": "../beside.txt", "content": "" })),
        ("write", json!({ "path": ".git/hooks/post-commit", "content": "" })),
    ] {
        let running = RunningCommand::start(osier_command(&env, &["-p", "--no-session", "do it"]));
        server.next_request().reply_with_call(name, &arguments);
        server.next_request().reply("Then not.");
        let output = running.wait();
        let confined = match name {
            "bash" => "--approval sandbox allows commands in a sandbox, ",
            _ => "",
        };
        assert!(
            output.err.ends_with(&format!("; {confined}--approval yolo allows everything\n")),
            "{output}"
        );
        assert!(!output.err.contains("autoEdit"), "{output}");
    }
}

#[test]
fn an_image_for_a_model_without_images_is_reported() {
    let server = ModelServer::new();
    let env = server.env();
    env.write("dot.gif", GIF);
    let running = RunningCommand::start(osier_command(&env, &["-p", "@dot.gif", "what is it?"]));
    let request = server.next_request();
    assert!(request.messages()[0].contains("which this model cannot see"), "{:?}", request.messages());
    request.reply("I cannot tell.");
    let output = running.wait();
    assert_eq!(output.out, "I cannot tell.\n", "{output}");
    assert_eq!(
        output.err, "local/test does not accept images; the image will be replaced by a placeholder\n",
        "{output}"
    );
}

/// One white pixel.
const GIF: &[u8] = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";

#[test]
fn without_a_user_calls_are_denied_with_the_option_that_allows_them() {
    let server = ModelServer::new();
    let env = server.env();
    let write = json!({ "path": "a.txt", "content": "x\n" });
    let running = RunningCommand::start(osier_command(&env, &["-p", "write it"]));
    server.next_request().reply_with_call("write", &write);
    let request = server.next_request();
    let message = request.messages().pop().unwrap();
    assert!(message.starts_with("tool: not allowed: no user is present to approve it"), "{message}");
    request.reply("Then not.");
    let output = running.wait();
    expect![[r#"
        Then not.
        ! osier: not allowed: [write: a.txt]; --approval autoEdit allows changes to files here, --approval yolo allows everything
    "#]]
    .assert_eq(&output.to_string());
    assert!(!env.path("a.txt").exists());

    let running = RunningCommand::start(osier_command(&env, &["-p", "--approval", "autoEdit", "write it"]));
    server.next_request().reply_with_call("write", &write);
    server.next_request().reply("Done.");
    assert_eq!(running.wait(), CommandOutput { code: 0, out: "Done.\n".into(), err: String::new() });
    assert_eq!(env.read("a.txt"), b"x\n");
}

#[test]
fn a_model_error_is_reported_and_fails() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["-p", "hello"]));
    server.next_request().refuse(400, r#"{"error":{"message":"this is not\u001b[2J understood"}}"#);
    let output = running.wait();
    assert_eq!((output.code, output.out.as_str()), (1, ""), "{output}");
    expect![[r#"
        osier: local rejected the request (status 400). this is not�[2J understood
    "#]]
    .assert_eq(&output.err);
    let output = env.args(&["-p", "--model", "anthropic/claude-opus-5-5", "hello"]);
    assert_eq!((output.code, output.out.as_str()), (1, ""), "{output}");
    assert!(output.err.contains("ANTHROPIC_API_KEY"), "{output}");
}

#[test]
fn an_answer_that_was_cut_off_is_printed_with_a_notice() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["-p", "write a book"]));
    let mut request = server.next_request();
    request.send_text("It was a");
    request.finish("length");
    let output = running.wait();
    assert_eq!((output.code, output.out.as_str()), (0, "It was a\n"), "{output}");
    assert!(output.err.starts_with("osier: the answer was cut off"), "{output}");
}

/// A signal during a command: the command is killed, its call gets a result, and the session can be continued.
#[test]
fn a_signal_cancels_the_turn_and_leaves_a_valid_session() {
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let server = ModelServer::new();
        let env = server.env();
        let mut running =
            RunningCommand::start(osier_command(&env, &["--mode", "json", "--approval", "yolo", "wait"]));
        server.next_request().reply_with_call("bash", &json!({ "command": "echo 'it be''gan'; sleep 1000" }));
        running.out.read_until("it began");
        running.signal(signal);
        let output = running.wait();
        assert_eq!((output.code, output.err.as_str()), (code, ""), "{output:?}");
        let file = env.session_file();
        let file = file.to_str().unwrap();
        assert!(env.ok(&format!("verify {file}")).ends_with("no damage found\n"));
        let running = RunningCommand::start(osier_command(&env, &["-c", "-p", "go on"]));
        let request = server.next_request();
        let messages = request.messages();
        assert_eq!(messages[..2], ["user: wait", "assistant:  →bash"]);
        assert!(messages[2].starts_with("tool: ") && messages[2].contains("canceled"), "{messages:?}");
        assert_eq!(messages[3..], ["user: go on"]);
        request.reply("Gone on.");
        assert_eq!(running.wait().out, "Gone on.\n");
    }
}

#[test]
fn a_signal_during_a_reply_keeps_the_partial_reply() {
    let server = ModelServer::new();
    let env = server.env();
    let mut running = RunningCommand::start(osier_command(&env, &["-p", "--no-tools", "speak"]));
    let mut request = server.next_request();
    request.send_text("Once upon");
    running.out.read_until("Once upon");
    running.signal(Signal::INT);
    request.wait_for_disconnect();
    let output = running.wait();
    assert_eq!((output.code, output.err.as_str()), (130, ""), "{output:?}");
    let file = env.session_file();
    assert!(env.ok(&format!("show {}", file.display())).contains("Once upon"));
}

#[test]
fn a_closed_pipe_cancels_the_turn_without_an_error() {
    let server = ModelServer::new();
    let env = server.env();
    let mut command = osier_command(&env, &["-p", "--no-tools", "speak"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut request = server.next_request();
    request.send_text("Is anybody there?");
    request.wait_for_disconnect();
    assert_eq!(
        CommandOutput::from_output(child.wait_with_output().unwrap()),
        CommandOutput { code: 0, out: String::new(), err: String::new() }
    );
}

#[test]
fn instructions_and_templates_of_user_and_project_are_followed() {
    let server = ModelServer::new();
    let env = server.env();
    env.write(".git/HEAD", "");
    env.write("AGENTS.md", "Use tabs.\n");
    std::fs::create_dir_all(env.home().join("prompts")).unwrap();
    std::fs::write(env.home().join("prompts/fix.md"), "Fix $1, please.").unwrap();
    let args = ["-p", "--append-system-prompt", "Be brief.", "/fix a.rs"];
    let running = RunningCommand::start(osier_command(&env, &args));
    let request = server.next_request();
    let system = request.body["messages"][0]["content"].to_string();
    for part in ["You are Osier", "Use tabs.", "Be brief.", "code"] {
        assert!(system.contains(part), "{part} is not in {system}");
    }
    assert_eq!(request.messages(), ["user: Fix a.rs, please."]);
    request.reply("Fixed.");
    assert_eq!(running.wait().out, "Fixed.\n");
    let running = RunningCommand::start(osier_command(
        &env,
        &["-p", "--system-prompt", "Be a poet.", "--tools", "read,ls", "hi"],
    ));
    let request = server.next_request();
    let system = request.body["messages"][0]["content"].to_string();
    assert!(system.contains("Be a poet.") && !system.contains("You are Osier"), "{system}");
    let tools = request.body["tools"].as_array().unwrap();
    let tools: Vec<&str> = tools.iter().map(|tool| tool["function"]["name"].as_str().unwrap()).collect();
    assert_eq!(tools, ["read", "ls"]);
    request.reply("Roses.");
    assert_eq!(running.wait().out, "Roses.\n");
}

#[test]
fn a_failed_write_of_the_answer_is_an_error() {
    let env = TestEnv::new();
    for mode in ["text", "json"] {
        let mut command = env.command();
        command.args(["-p", "--mode", mode, "--no-session", "hello"]);
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let output = command.stdin(std::process::Stdio::null()).stdout(full).output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{mode}: {message}");
        assert!(message.contains("No space left"), "{mode}: {message}");
    }
}
