//! The prompt history across sessions, and slash commands known from other agents.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::run_support::ModelServer;
use crate::screen::{ESCAPE, READY, UP, open};
use crate::support::TestEnv;

const CTRL_R: &str = "\x12";

#[test]
fn prompts_of_one_session_are_in_the_history_of_the_next() {
    let env = TestEnv::new();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("hello there");
    screen.wait_for("offline model");
    screen.submit(" a secret");
    screen.wait_for("> a secret");
    screen.wait_for("#4");
    screen.quit();
    let file = env.home().join("history.jsonl");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"text\":\"hello there\"}\n");
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.press(UP);
    screen.wait_for("> hello there");
    screen.press("\x15");
    screen.wait_for(READY);
    screen.press(CTRL_R);
    screen.press("THERE");
    screen.wait_for("› hello there");
    screen.press("\r");
    screen.wait_for("> hello there");
    screen.press("\x15");
    screen.wait_for(READY);
    screen.quit();
}

#[test]
fn no_history_is_stored_without_a_session_or_if_disabled() {
    let env = TestEnv::new();
    let mut screen = open(&env, &["--no-session"]);
    screen.wait_for(READY);
    screen.submit("hello there");
    screen.wait_for("offline model");
    screen.quit();
    assert!(!env.home().join("history.jsonl").exists());
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), "prompt_history = false\n").unwrap();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("hello there");
    screen.wait_for("offline model");
    screen.quit();
    assert!(!env.home().join("history.jsonl").exists());
}

#[test]
fn copy_copies_the_last_answer_and_clear_keeps_the_session() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("hello");
    server.next_request().reply("Good morning.");
    screen.wait_for("Good morning.");
    screen.submit("/copy");
    screen.wait_for("Copied 13 characters");
    let bytes = String::from_utf8_lossy(&screen.bytes).into_owned();
    assert!(bytes.contains("\x1b]52;c;R29vZCBtb3JuaW5nLg==\x07"), "{bytes:?}");
    screen.submit("/cost");
    screen.wait_for("current path");
    screen.submit("/export notes.docx");
    screen.wait_for("cannot export to .docx");
    screen.submit("/export notes.html");
    screen.wait_for("notes.html");
    screen.submit("/export");
    screen.wait_for("Exported to");
    screen.submit("/clear");
    screen.wait_for("Started session");
    screen.submit("again");
    let request = server.next_request();
    assert_eq!(request.messages(), ["user: again"]);
    request.reply("Good evening.");
    screen.wait_for("Good evening.");
    screen.submit("/resume");
    screen.wait_for("again  ← current");
    screen.wait_for("hello");
    screen.press(ESCAPE);
    screen.wait_gone("← current");
    screen.quit();
    assert_eq!(env.session_files().len(), 2);
}

/// Only the last entries are on the screen; the long ones before them are exported piece by piece.
#[cfg(target_os = "linux")]
#[test]
fn a_long_conversation_is_exported_in_little_memory() {
    let env = TestEnv::new();
    let header = osier_tree::Header::new("5e551011-0000-4000-8000-000000000009", 0, "/x");
    let mut file = header.to_line();
    let long = "willow ".repeat(16 << 10);
    let mut parent = "null".to_owned();
    for number in 0..550 {
        let text = if number < 400 { long.as_str() } else { "short" };
        let entry = format!(
            r#"{{"type":"message","id":"{number:08x}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"{text}"}}}}"#
        );
        file.extend([b"\n", entry.as_bytes()].concat());
        parent = format!("\"{number:08x}\"");
    }
    file.push(b'\n');
    env.write("long.jsonl", &file);
    let mut screen = open(&env, &["--session", "long.jsonl"]);
    screen.wait_for("> short");
    screen.wait_for("#550");
    let before = screen.most_memory();
    for name in ["copy.md", "copy.jsonl", "copy.html"] {
        screen.submit(&format!("/export {name}"));
        screen.wait_for(&format!("{name}\n"));
        screen.wait_until("the file", |_| env.path(name).exists());
        let written = std::fs::metadata(env.path(name)).unwrap().len() as usize;
        assert!(written * 10 > file.len() * 9, "{name}: {written} of {} bytes", file.len());
    }
    let more = screen.most_memory() - before;
    assert!(more < file.len() / 3, "{more} bytes more for a session of {} bytes", file.len());
    screen.quit();
}

#[test]
fn init_asks_the_model_for_an_agents_file() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("/init tests above all");
    let request = server.next_request();
    let prompt = request.messages().pop().unwrap();
    assert!(
        prompt.starts_with("user: Write an `AGENTS.md` file") && prompt.ends_with("tests above all"),
        "{prompt}"
    );
    request.reply("Written.");
    screen.wait_for("Written.");
    assert!(screen.text().contains("> /init tests above all"), "{}", screen.text());
    screen.quit();
}
