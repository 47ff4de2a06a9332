//! API keys are sent only to their own server and never shown or stored.

use serde_json::json;

use crate::run_support::{KEY, ModelServer, RunningCommand, home_contents, osier_command};
use crate::support::CommandOutput;

fn assert_no_key(output: &CommandOutput, what: &str) {
    assert!(!output.out.contains(KEY), "{what}: {}", output.out);
    assert!(!output.err.contains(KEY), "{what}: {}", output.err);
}

#[test]
fn a_key_is_sent_and_never_shown() {
    let echoed = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}. You said \"Bearer {KEY}\".") } });
    for args in
        [&["-p", "hello"][..], &["-p", "--verbose", "hello"], &["--mode", "json", "--verbose", "hello"]]
    {
        let server = ModelServer::new();
        let env = server.env();
        let running = RunningCommand::start(osier_command(&env, args));
        let request = server.next_request();
        assert!(request.head.contains(&format!("Bearer {KEY}")), "{}", request.head);
        assert!(!request.body.to_string().contains(KEY));
        request.refuse(401, &echoed.to_string());
        let output = running.wait();
        assert_eq!(output.code, 1, "{output}");
        assert!(output.err.contains("osier doctor"), "{output}");
        assert_no_key(&output, "refused");

        let running = RunningCommand::start(osier_command(&env, &[&["-c"], args].concat()));
        server.next_request().reply("fine");
        let output = running.wait();
        assert_eq!(output.code, 0, "{output}");
        assert_no_key(&output, "answered");
        assert!(!home_contents(&env).contains(KEY));
    }
}

/// A model cannot read the key from the environment of a command, so it cannot end up in an entry.
#[test]
fn commands_do_not_get_api_keys_in_their_environment() {
    let server = ModelServer::new();
    let env = server.env();
    let mut command = osier_command(&env, &["--mode", "json", "--approval", "yolo", "hello"]);
    command.env("ANTHROPIC_API_KEY", KEY).env("HARMLESS", "yes");
    let running = RunningCommand::start(command);
    server.next_request().reply_with_call("bash", &json!({ "command": "env" }));
    let request = server.next_request();
    let last_message = request.messages().pop().unwrap();
    assert!(last_message.contains("HARMLESS=yes") && !last_message.contains(KEY), "{last_message}");
    request.reply("No key.");
    let output = running.wait();
    assert_eq!(output.code, 0);
    assert_no_key(&output, "env");
    assert!(!home_contents(&env).contains(KEY));
}

/// Reads that need no approval do not include Osier's own files with keys.
#[test]
fn tools_do_not_open_files_with_keys() {
    let server = ModelServer::new();
    let env = server.env();
    let file = env.home().join("config.toml");
    let key = env.home().join("keys").join("other");
    std::fs::create_dir(key.parent().unwrap()).unwrap();
    std::fs::write(&key, KEY).unwrap();
    let elsewhere = env.cwd().join("key");
    std::fs::write(&elsewhere, KEY).unwrap();
    let settings = std::fs::read_to_string(&file).unwrap()
        + &format!("[providers.other]\napi_key_file = {elsewhere:?}\nheaders = {{ x-key = \"{KEY}\" }}\n");
    std::fs::write(&file, settings).unwrap();
    let running =
        RunningCommand::start(osier_command(&env, &["--mode", "json", "--no-session", "look around"]));
    for (name, arguments) in [
        ("read", json!({ "path": file })),
        ("read", json!({ "path": key })),
        ("read", json!({ "path": "key" })),
        ("grep", json!({ "pattern": "sk-", "path": env.home(), "hidden": true })),
        ("grep", json!({ "pattern": "sk-" })),
    ] {
        server.next_request().reply_with_call(name, &arguments);
    }
    let request = server.next_request();
    let sent = request.body["messages"].to_string();
    assert!(!sent.contains(KEY), "{sent}");
    assert_eq!(sent.matches("may contain keys").count(), 3, "{sent}");
    request.reply("Nothing.");
    let output = running.wait();
    assert_eq!(output.code, 0, "{output}");
    assert_no_key(&output, "tools");

    let file = format!("@{}", file.display());
    let output = RunningCommand::start(osier_command(&env, &["-p", &file, "what is it?"])).wait();
    assert_eq!(output.code, 2, "{output}");
    assert_no_key(&output, "attached");
}

/// In the mode `yolo` a command can read any file. Its output is stored and sent, so keys in it are redacted.
#[test]
fn keys_in_command_output_are_redacted() {
    let server = ModelServer::new();
    let env = server.env();
    let key = env.cwd().join("key");
    std::fs::write(&key, KEY).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let file = env.home().join("config.toml");
    let settings = std::fs::read_to_string(&file).unwrap()
        + &format!(
            "[providers.other]\napi = \"openai-completions\"\nbase_url = \"http://127.0.0.1:1\"\napi_key_file = {key:?}\n"
        );
    std::fs::write(&file, settings).unwrap();
    let running =
        RunningCommand::start(osier_command(&env, &["--mode", "json", "--approval", "yolo", "print it"]));
    let halves = "head -c 5 key; sleep 0.1; tail -c +6 key; echo; cat key; seq 9000; cat key";
    server.next_request().reply_with_call("bash", &json!({ "command": halves }));
    let request = server.next_request();
    let last_message = request.messages().pop().unwrap();
    assert!(last_message.contains("[key]") && !last_message.contains(KEY), "{last_message}");
    request.reply("Hidden.");
    let output = running.wait();
    assert_eq!(output.code, 0, "{output}");
    assert_no_key(&output, "printed");
    std::fs::remove_file(&key).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(!home_contents(&env).contains(KEY));
}

/// A model may know a key from elsewhere, such as a file it read earlier.
#[test]
fn keys_in_replies_are_redacted_in_the_session() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["-p", "hello"]));
    server.next_request().reply_with_call("read", &json!({ "path": format!("{KEY}.txt") }));
    server.next_request().reply(&format!("Your key is {KEY}."));
    running.wait();
    let kept = home_contents(&env);
    assert!(kept.contains("Your key is [key]."), "{kept}");
    assert!(!kept.contains(KEY), "{kept}");
}

/// The key is redacted even if the reply streams it in pieces.
#[test]
fn keys_in_replies_are_redacted_in_the_output() {
    for (args, expected) in
        [(&["-p", "hello"][..], "Your key is [key].\n"), (&["--mode", "json", "hello"], r#""delta":"[key]""#)]
    {
        let server = ModelServer::new();
        let env = server.env();
        let running = RunningCommand::start(osier_command(&env, args));
        let mut request = server.next_request();
        request.send_text("Your key is ");
        for ch in KEY.chars() {
            request.send_text(&ch.to_string());
        }
        request.reply(".");
        let output = running.wait();
        assert!(output.out.contains(expected), "{output}");
        assert!(!output.out.contains(&KEY[..KEY.len() - 4]), "{output}");
        assert_no_key(&output, "shown");
    }
}

#[test]
fn keys_in_summaries_are_redacted() {
    let server = ModelServer::new();
    let env = server.env();
    let running = RunningCommand::start(osier_command(&env, &["-p", "hello"]));
    server.next_request().reply("Hello.");
    running.wait();
    let session = env.session_file();
    let file = env.home().join("config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("compaction.keep_recent_tokens = 1\n{settings}")).unwrap();
    let running =
        RunningCommand::start(osier_command(&env, &["sessions", "compact", session.to_str().unwrap()]));
    server.next_request().reply(&format!("The key is {KEY}."));
    let output = running.wait();
    assert_no_key(&output, "summary");
    let kept = home_contents(&env);
    assert!(kept.contains("The key is [key].") && !kept.contains(KEY), "{output} {kept}");
}
