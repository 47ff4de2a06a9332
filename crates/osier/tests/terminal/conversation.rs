//! Conversations: prompts and answers, steering, stopping, and the user's own commands.

use osier_testkit::expect;
use serde_json::json;

use crate::run_support::ModelServer;
use crate::screen::{CTRL_C, ESCAPE, PLAIN_ESCAPE, READY, open};
use crate::support::TestEnv;

#[test]
fn a_first_conversation_needs_no_api_key_and_prints_how_to_resume() {
    let env = TestEnv::new();
    env.write("notes.txt", "buy milk\n");
    let mut screen = open(&env, &[]);
    screen.wait_for("medium │ #");
    expect![[r#"
        Osier with its built-in model: no key needed, simple requests only.
        For a real model, set ANTHROPIC_API_KEY, OPENAI_API_KEY or GEMINI_API_KEY.
        /tour shows what the tree can do in two minutes, /help lists commands and keys.

        ────────────────────────────────────────────────────────────────────────────────
        > type a message, or /help
        ── / commands · @ files · ! shell · /tour two-minute tour · ctrl+d quit ────────
        ~/code │ offline/offline · medium │ #0 │ <1> │ file
    "#]]
    .assert_eq(&screen.stable_text(&env));
    screen.submit("read notes.txt");
    screen.wait_for("returned 1 line");
    screen.wait_for("#4");
    let end = env.with_stable_names(&screen.quit());
    assert!(end.contains("  buy milk"), "{end}");
    let id =
        env.session_file().file_stem().unwrap().to_string_lossy().rsplit('_').next().unwrap()[..8].to_owned();
    assert!(end.trim_end().ends_with("osier --resume <1>"), "{end}");
    let mut screen = open(&env, &["--resume", &id]);
    screen.wait_for("returned 1 line");
    screen.quit();
}

#[test]
fn quitting_without_a_prompt_leaves_no_session() {
    let env = TestEnv::new();
    let mut screen = open(&env, &["--name", "nothing"]);
    screen.wait_for(READY);
    screen.submit("/thinking low");
    screen.wait_for("low");
    let end = screen.quit();
    assert!(!end.contains("--resume"), "{end}");
    assert!(env.session_files().is_empty());
}

#[test]
fn a_file_mentioned_with_an_at_sign_is_sent_but_not_shown() {
    let server = ModelServer::new();
    let env = server.env();
    env.write("src/a.rs", "fn willow() {}\n");
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("what is (@src/a.rs)?");
    let request = server.next_request();
    let file = "<file name=\"src/a.rs\">\nfn willow() {}\n</file>";
    assert_eq!(request.messages(), [format!("user: {file}\n\nwhat is (@src/a.rs)?")]);
    request.reply("a function");
    screen.wait_for("a function");
    let shown = screen.quit();
    assert!(shown.contains("what is (@src/a.rs)?") && !shown.contains("willow"), "{shown}");
}

#[test]
fn an_answer_is_shown_while_it_streams() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &["fix", "the", "bug"]);
    let mut request = server.next_request();
    assert_eq!(request.messages(), ["user: fix the bug"]);
    request.send_text("I look");
    screen.wait_for("I look");
    request.send_text(" into **it**");
    screen.wait_for("I look into it");
    request.reply(".\n\nFixed.");
    screen.wait_for("Fixed.");
    screen.quit();

    let mut screen = open(&env, &["-c", "and", "the", "next"]);
    let request = server.next_request();
    screen.wait_for("> fix the bug");
    assert_eq!(request.messages().last().unwrap(), "user: and the next");
    request.reply("Done.");
    screen.wait_for("Done.");
    screen.quit();
}

#[test]
fn prompts_during_a_turn_steer_or_follow_up() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &["--approval", "yolo"]);
    screen.wait_for(READY);
    screen.submit("begin");
    let mut request = server.next_request();
    request.send_text("I begin.");
    screen.wait_for("I begin.");
    screen.press("and then stop\x1b\r");
    screen.wait_for("then: and then stop");
    screen.submit("not so fast");
    screen.wait_for("next: not so fast");
    request.reply_with_call("ls", &json!({}));
    let request = server.next_request();
    assert_eq!(request.messages().pop().unwrap(), "user: not so fast");
    request.reply("Slower.");
    let request = server.next_request();
    assert_eq!(request.messages().pop().unwrap(), "user: and then stop");
    request.reply("Stopped.");
    screen.wait_for("Stopped.");
    screen.quit();
}

#[test]
fn escape_stops_the_turn_and_ctrl_c_twice_quits() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("tell a story");
    let mut request = server.next_request();
    request.send_text("Once upon");
    screen.wait_for("Once upon");
    screen.press(PLAIN_ESCAPE);
    request.wait_for_disconnect();
    screen.wait_for("stopped");
    screen.submit("another one");
    let request = server.next_request();
    assert_eq!(request.messages(), ["user: tell a story", "assistant: Once upon", "user: another one"]);
    request.reply("The end.");
    screen.wait_for("The end.");
    screen.press_until(CTRL_C, |text| text.contains("Press ctrl+c again or ctrl+d to quit"));
    screen.press(CTRL_C);
    assert_eq!(screen.wait_for_exit().0, Some(0));
}

#[test]
fn user_commands_can_be_hidden_from_the_model_and_stopped_with_escape() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("!echo se''en; exit 3");
    screen.wait_for("exit 3");
    screen.press("!!echo uns''een");
    screen.press_until("\r", |text| text.contains("unseen"));
    screen.wait_for("#2");
    screen.submit("what did I do?");
    let request = server.next_request();
    let messages = request.messages().join("\n");
    assert!(messages.contains("seen") && !messages.contains("unseen"), "{messages}");
    request.reply("You ran a command.");
    screen.wait_for("You ran a command.");
    screen.submit("!echo 'it be''gan'; sleep 1000");
    screen.wait_for("it began");
    screen.press(ESCAPE);
    screen.wait_for("stopped");
    screen.quit();
}

#[test]
fn user_commands_run_in_the_sandbox_if_the_settings_say_so() {
    for is_sandboxed in [false, true] {
        let env = TestEnv::new();
        if !crate::support::has_sandbox(&env) {
            return;
        }
        std::fs::create_dir_all(env.home()).unwrap();
        let settings = format!("sandbox.user_commands = {is_sandboxed}\n");
        std::fs::write(env.home().join("config.toml"), settings).unwrap();
        let mut screen = open(&env, &[]);
        screen.wait_for(READY);
        screen.submit("!touch ../made; echo be''hind it");
        screen.wait_for("behind it");
        screen.quit();
        assert_eq!(env.cwd().parent().unwrap().join("made").exists(), !is_sandboxed);
    }
}

#[test]
fn a_pasted_image_path_is_sent_as_an_image() {
    let server = ModelServer::new();
    let env = server.env();
    let config = env.home().join("config.toml");
    let settings = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, settings + "images = true\n").unwrap();
    let point = b"GIF89a\x01\x00\x01\x00\x80\x00\x00\xff\xff\xff\x00\x00\x00,\x00\x00\x00\x00\x01\x00\x01\x00\x00\x02\x02D\x01\x00;";
    env.write("dot.gif", point);
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    let path = env.path("dot.gif");
    screen.press(&format!("\x1b[200~{}\x1b[201~", path.display()));
    screen.wait_for("dot.gif");
    screen.submit(" what is it?");
    let request = server.next_request();
    assert!(request.body["messages"].to_string().contains("data:image/"), "{}", request.body["messages"]);
    request.reply("A dot.");
    screen.wait_for("A dot.");
    screen.quit();
}

#[test]
fn a_template_shows_the_typed_command_and_sends_the_expanded_text() {
    let server = ModelServer::new();
    let env = server.env();
    std::fs::create_dir_all(env.home().join("prompts")).unwrap();
    std::fs::write(env.home().join("prompts/fix.md"), "Fix $1 with care.").unwrap();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("/fix a.rs");
    let request = server.next_request();
    assert_eq!(request.messages(), ["user: Fix a.rs with care."]);
    request.reply("Fixed.");
    screen.wait_for("Fixed.");
    assert!(screen.text().contains("> /fix a.rs"), "{}", screen.text());
    assert!(!screen.text().contains("with care"), "{}", screen.text());
    screen.quit();
}
