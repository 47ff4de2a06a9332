//! Keys go to the server they belong to, and nowhere else.

use serde_json::json;

use crate::run_support::{KEY, Running, Server, everything_below, osier};
use crate::support::Ran;

fn is_nowhere(ran: &Ran, what: &str) {
    assert!(!ran.out.contains(KEY), "{what}: {}", ran.out);
    assert!(!ran.err.contains(KEY), "{what}: {}", ran.err);
}

#[test]
fn a_key_is_sent_and_never_shown() {
    let echoed = json!({ "error": { "message": format!("Incorrect API key provided: {KEY}. You said \"Bearer {KEY}\".") } });
    for args in
        [&["-p", "hello"][..], &["-p", "--verbose", "hello"], &["--mode", "json", "--verbose", "hello"]]
    {
        let server = Server::new();
        let world = server.world();
        let running = Running::start(osier(&world, args));
        let asked = server.next();
        assert!(asked.head.contains(&format!("Bearer {KEY}")), "{}", asked.head);
        assert!(!asked.body.to_string().contains(KEY));
        asked.refuse(401, &echoed.to_string());
        let ran = running.end();
        assert_eq!(ran.code, 1, "{ran}");
        assert!(ran.err.contains("osier doctor"), "{ran}");
        is_nowhere(&ran, "refused");

        let running = Running::start(osier(&world, &[&["-c"], args].concat()));
        server.next().answer("fine");
        let ran = running.end();
        assert_eq!(ran.code, 0, "{ran}");
        is_nowhere(&ran, "answered");
        assert!(!everything_below(&world).contains(KEY));
    }
}

/// A model that asks the shell for the key does not get it, so it cannot end up in an entry.
#[test]
fn commands_do_not_see_the_keys_of_models() {
    let server = Server::new();
    let world = server.world();
    let mut command = osier(&world, &["--mode", "json", "--approval", "yolo", "hello"]);
    command.env("ANTHROPIC_API_KEY", KEY).env("HARMLESS", "yes");
    let running = Running::start(command);
    server.next().calls("bash", &json!({ "command": "env" }));
    let asked = server.next();
    let seen = asked.messages().pop().unwrap();
    assert!(seen.contains("HARMLESS=yes") && !seen.contains(KEY), "{seen}");
    asked.answer("No key.");
    let ran = running.end();
    assert_eq!(ran.code, 0);
    is_nowhere(&ran, "env");
    assert!(!everything_below(&world).contains(KEY));
}

/// What may be looked at without asking does not include what Osier keeps of keys itself.
#[test]
fn tools_do_not_open_the_files_that_hold_keys() {
    let server = Server::new();
    let world = server.world();
    let file = world.home().join("config.toml");
    let key = world.home().join("keys").join("other");
    std::fs::create_dir(key.parent().unwrap()).unwrap();
    std::fs::write(&key, KEY).unwrap();
    let elsewhere = world.cwd().join("key");
    std::fs::write(&elsewhere, KEY).unwrap();
    let settings = std::fs::read_to_string(&file).unwrap()
        + &format!("[providers.other]\napi_key_file = {elsewhere:?}\nheaders = {{ x-key = \"{KEY}\" }}\n");
    std::fs::write(&file, settings).unwrap();
    let running = Running::start(osier(&world, &["--mode", "json", "--no-session", "look around"]));
    for (name, arguments) in [
        ("read", json!({ "path": file })),
        ("read", json!({ "path": key })),
        ("read", json!({ "path": "key" })),
        ("grep", json!({ "pattern": "sk-", "path": world.home(), "hidden": true })),
        ("grep", json!({ "pattern": "sk-" })),
    ] {
        server.next().calls(name, &arguments);
    }
    let asked = server.next();
    let told = asked.body["messages"].to_string();
    assert!(!told.contains(KEY), "{told}");
    assert_eq!(told.matches("may contain keys").count(), 3, "{told}");
    asked.answer("Nothing.");
    let ran = running.end();
    assert_eq!(ran.code, 0, "{ran}");
    is_nowhere(&ran, "looked for");

    let file = format!("@{}", file.display());
    let ran = Running::start(osier(&world, &["-p", &file, "what is it?"])).end();
    assert_eq!(ran.code, 2, "{ran}");
    is_nowhere(&ran, "said");
}

/// Who lets a model run what it likes lets it read any file. What it prints is stored and sent, so a key in it is hidden.
#[test]
fn a_key_that_a_command_prints_is_hidden() {
    let server = Server::new();
    let world = server.world();
    let key = world.cwd().join("key");
    std::fs::write(&key, KEY).unwrap();
    std::fs::set_permissions(&key, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let file = world.home().join("config.toml");
    let settings = std::fs::read_to_string(&file).unwrap()
        + &format!(
            "[providers.other]\napi = \"openai-completions\"\nbase_url = \"http://127.0.0.1:1\"\napi_key_file = {key:?}\n"
        );
    std::fs::write(&file, settings).unwrap();
    let running = Running::start(osier(&world, &["--mode", "json", "--approval", "yolo", "print it"]));
    let halves = "head -c 5 key; sleep 0.1; tail -c +6 key; echo; cat key; seq 9000; cat key";
    server.next().calls("bash", &json!({ "command": halves }));
    let asked = server.next();
    let seen = asked.messages().pop().unwrap();
    assert!(seen.contains("[key]") && !seen.contains(KEY), "{seen}");
    asked.answer("Hidden.");
    let ran = running.end();
    assert_eq!(ran.code, 0, "{ran}");
    is_nowhere(&ran, "printed");
    std::fs::remove_file(&key).unwrap();
    std::fs::remove_file(&file).unwrap();
    assert!(!everything_below(&world).contains(KEY));
}

/// A model may know a key from somewhere else, say from a file it was shown long ago. The session does not keep it.
#[test]
fn a_reply_that_repeats_a_key_is_stored_without_it() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "hello"]));
    server.next().calls("read", &json!({ "path": format!("{KEY}.txt") }));
    server.next().answer(&format!("Your key is {KEY}."));
    running.end();
    let kept = everything_below(&world);
    assert!(kept.contains("Your key is [key]."), "{kept}");
    assert!(!kept.contains(KEY), "{kept}");
}

/// A program or a person that watches does not see it either, however the reply comes in pieces.
#[test]
fn a_reply_that_repeats_a_key_is_shown_without_it() {
    for (args, expected) in
        [(&["-p", "hello"][..], "Your key is [key].\n"), (&["--mode", "json", "hello"], r#""delta":"[key]""#)]
    {
        let server = Server::new();
        let world = server.world();
        let running = Running::start(osier(&world, args));
        let mut asked = server.next();
        asked.text("Your key is ");
        for ch in KEY.chars() {
            asked.text(&ch.to_string());
        }
        asked.answer(".");
        let ran = running.end();
        assert!(ran.out.contains(expected), "{ran}");
        assert!(!ran.out.contains(&KEY[..KEY.len() - 4]), "{ran}");
        is_nowhere(&ran, "shown");
    }
}

#[test]
fn a_summary_that_repeats_a_key_is_stored_without_it() {
    let server = Server::new();
    let world = server.world();
    let running = Running::start(osier(&world, &["-p", "hello"]));
    server.next().answer("Hello.");
    running.end();
    let session = world.session_file();
    let file = world.home().join("config.toml");
    let settings = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, format!("compaction.keep_recent_tokens = 1\n{settings}")).unwrap();
    let running = Running::start(osier(&world, &["sessions", "compact", session.to_str().unwrap()]));
    server.next().answer(&format!("The key is {KEY}."));
    let ran = running.end();
    is_nowhere(&ran, "summary");
    let kept = everything_below(&world);
    assert!(kept.contains("The key is [key].") && !kept.contains(KEY), "{ran} {kept}");
}
