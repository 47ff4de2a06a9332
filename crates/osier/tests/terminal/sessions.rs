//! Switching sessions: the session list, new sessions, copies, and sessions of other directories.

use std::fs;
use std::net::TcpListener;

use serde_json::json;

use crate::run_support::ModelServer;
use crate::screen::{CTRL_D, ESCAPE, READY, UP, open, with_script};
use crate::support::TestEnv;

const SCRIPT: &str = "say one; reply first; say two; reply second";

#[test]
fn resume_without_an_id_opens_the_session_list() {
    let env = TestEnv::new();
    let first = env.args(&["-p", "remember the milk"]);
    assert_eq!(first.code, 0, "{}", first.err);
    let mut screen = open(&env, &["--resume"]);
    screen.wait_for("Sessions this directory");
    screen.wait_for("remember the milk");
    screen.press("\r");
    screen.wait_for("> remember the milk");
    screen.wait_gone("Sessions this directory");
    screen.wait_for("Resumed session ");
    screen.submit("/new");
    screen.wait_for(READY);
    screen.wait_for("; /resume returns to");
    screen.submit("/resume");
    screen.wait_for("› remember the milk");
    screen.press(ESCAPE);
    screen.wait_gone("Sessions this directory");
    screen.quit();
    assert_eq!(env.session_files().len(), 1, "the new session stayed empty");
}

/// pi creates ids that share a prefix within the same second.
#[test]
fn the_list_shows_as_many_id_digits_as_needed() {
    let env = TestEnv::new();
    let folder = env.home().join("sessions/of-pi");
    fs::create_dir_all(&folder).unwrap();
    for (id, text) in [("019b7ca9-a7f6-74ba", "milk"), ("019b7ca9-a812-7001", "bread")] {
        let header = json!({ "type": "session", "version": 3, "id": id, "cwd": env.cwd() });
        let said = json!({ "type": "message", "id": "00000001", "parentId": null, "message": { "role": "user", "content": text } });
        fs::write(folder.join(format!("2026-01-01_{id}.jsonl")), format!("{header}\n{said}\n")).unwrap();
    }
    let mut screen = open(&env, &["--resume"]);
    screen.wait_for("019b7ca9-a7\n");
    screen.wait_for("019b7ca9-a8\n");
    screen.press("bread");
    screen.wait_gone("milk");
    screen.press("\r");
    screen.wait_for("Resumed session 019b7ca9-a8");
    screen.submit("/resume");
    screen.wait_for("milk");
    screen.press("milk");
    screen.wait_for("› milk");
    screen.press("\x04");
    screen.wait_for("Delete \"milk\" permanently?");
    screen.press(ESCAPE);
    screen.press(ESCAPE);
    screen.press(ESCAPE);
    screen.wait_gone("Sessions this directory");
    let end = screen.quit();
    assert!(end.trim_end().ends_with("osier --resume 019b7ca9-a8"), "{end}");
}

#[test]
fn a_fork_continues_in_a_new_session_with_the_text_in_the_editor() {
    let server = ModelServer::new();
    let (env, mut screen) = with_script(&server, SCRIPT);
    let before = env.read("s.jsonl");
    screen.wait_for("second");
    screen.submit("/fork");
    screen.wait_for("Fork before a message");
    screen.press("n");
    screen.wait_gone("Fork before a message");
    screen.wait_for("> two");
    screen.wait_gone("second");
    screen.wait_for(" from 5e551011");
    screen.press("\r");
    let request = server.next_request();
    assert_eq!(request.messages(), ["user: one", "assistant: first", "user: two"]);
    request.reply("elsewhere");
    screen.wait_for("elsewhere");
    screen.wait_for("#4");
    screen.submit("/branch");
    screen.wait_until("another session", |text| text.contains("elsewhere"));
    screen.submit("here");
    server.next_request().reply("a copy");
    screen.wait_for("a copy");
    screen.quit();
    assert_eq!(env.read("s.jsonl"), before);
    assert_eq!(env.session_files().len(), 2);
    let cards = env.args(&["sessions", "list", "--all", "--json"]);
    assert_eq!(cards.out.matches("\"parentSession\":").count(), 2, "{}", cards.out);
}

#[test]
fn a_session_of_another_directory_runs_in_its_own_directory() {
    let env = TestEnv::new();
    fs::create_dir(env.path("there")).unwrap();
    let made = env.args(&["-p", "--cwd", "there", "write made.txt with \"x\"", "--approval", "yolo"]);
    assert_eq!(made.code, 0, "{}", made.err);
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("/resume");
    screen.wait_for("no sessions here; tab lists all directories");
    screen.press("\t");
    screen.wait_for("made.txt");
    screen.press("\r");
    screen.wait_for("working in");
    screen.wait_for("code/there │");
    screen.press(UP);
    screen.wait_for("> write made.txt");
    screen.press("\x03");
    screen.submit("!pwd");
    screen.wait_for("/code/there");
    screen.quit();
}

#[test]
fn no_session_leaves_no_files() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &["--no-session", "hello"]);
    server.next_request().reply("Hi.");
    screen.wait_for("Hi.");
    let end = screen.quit();
    assert!(!end.contains("--resume"), "{end}");
    assert!(env.session_files().is_empty());
}

fn configure(env: &TestEnv, settings: &str) {
    fs::create_dir_all(env.home()).unwrap();
    fs::write(env.home().join("config.toml"), settings).unwrap();
}

/// A session in the store `file`, and a copy in `archive`, which was used more recently.
fn with_a_copy() -> (TestEnv, String) {
    let env = TestEnv::new();
    configure(&env, "[stores.archive]\nfolder = '../archive'\n");
    let id = env.json("append 'remember the milk'")["session"].as_str().unwrap().to_owned();
    env.ok(&format!("copy {id} --to archive"));
    env.ok(&format!("append {id} --store archive 'and the bread'"));
    (env, id)
}

#[test]
fn the_list_opens_renames_and_deletes_the_selected_one_of_two_copies() {
    let (env, id) = with_a_copy();
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("/resume");
    screen.wait_until("both copies with their stores", |text| {
        text.contains("  archive  ") && text.contains("  file  ")
    });
    screen.press("\r");
    screen.wait_for("and the bread");
    screen.submit("/new");
    screen.wait_for(READY);
    screen.submit("/resume");
    screen.wait_for("  archive  ");
    screen.press("\x12the copy\r");
    screen.wait_for("› the copy");
    screen.press(CTRL_D);
    screen.wait_for("Delete \"the copy\" from archive permanently?");
    screen.press("2");
    screen.wait_gone("the copy");
    screen.wait_for("› remember the milk");
    screen.press(ESCAPE);
    screen.wait_gone("Sessions this directory");
    screen.quit();
    let left = env.json("list");
    let left: Vec<_> =
        left.as_array().unwrap().iter().map(|card| (&card["id"], &card["store"], &card["name"])).collect();
    assert_eq!(left, [(&json!(id), &json!("file"), &json!(null))]);
}

#[test]
fn outputs_kept_for_a_session_are_deleted_with_it_from_the_list() {
    let server = ModelServer::new();
    let env = server.env();
    let mut screen = open(&env, &["--approval", "yolo", "count"]);
    server.next_request().reply_with_call("bash", &json!({ "command": "seq 1 50000" }));
    server.next_request().reply("Counted.");
    screen.wait_for("Counted.");
    let kept = || crate::support::files_in(&env.home().join("cache").join("output"));
    assert_eq!(kept().len(), 1);
    screen.submit("/new");
    screen.wait_for(READY);
    screen.submit("/resume");
    screen.wait_for("› count");
    screen.press(CTRL_D);
    screen.wait_for("Delete \"count\" permanently?");
    screen.press("2");
    screen.wait_for("no sessions here; tab lists all directories");
    screen.press(ESCAPE);
    screen.wait_gone("Sessions this directory");
    screen.quit();
    assert!(env.session_files().is_empty());
    assert_eq!(kept(), [] as [std::path::PathBuf; 0]);
}

/// Configures a store whose server accepts connections and never responds.
fn with_a_silent_server(env: &TestEnv) -> TcpListener {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    configure(env, &format!("[stores.team]\nurl = 'mysql://me:hunter2@127.0.0.1:{port}/osier'\n"));
    listener
}

#[test]
fn opening_a_session_in_an_unresponsive_store_can_be_canceled() {
    let env = TestEnv::new();
    let _server = with_a_silent_server(&env);
    let mut screen = open(&env, &[]);
    screen.wait_for(READY);
    screen.submit("/resume 00000000");
    screen.press("for the other one");
    screen.wait_for("Opening another session… (esc to cancel)");
    screen.press(ESCAPE);
    screen.wait_for("Canceled; still in this session");
    screen.wait_for(READY);
    screen.quit();
}

#[test]
fn the_list_reports_an_unreachable_store() {
    let env = TestEnv::new();
    assert_eq!(env.args(&["-p", "remember the milk"]).code, 0);
    drop(with_a_silent_server(&env));
    let mut screen = open(&env, &["--resume"]);
    screen.wait_for("› remember the milk");
    screen.wait_for("store team cannot be reached");
    screen.press(ESCAPE);
    screen.wait_for(READY);
    screen.quit();
}

#[test]
fn the_list_search_includes_conversations() {
    let env = TestEnv::new();
    let long = env.json("append 'a plan for the zoo'")["session"].as_str().unwrap().to_owned();
    env.ok(&format!("append {long} 'first the purple elephant'"));
    env.ok("append 'remember the milk'");
    let mut screen = open(&env, &["--resume"]);
    screen.wait_for("a plan for the zoo");
    screen.wait_for("remember the milk");
    screen.press("elephant");
    screen.wait_for("› a plan for the zoo");
    screen.wait_gone("remember the milk");
    screen.press("s");
    screen.wait_for("no sessions here; tab lists all directories");
    screen.press("\x7f\x7f");
    screen.wait_for("› a plan for the zoo");
    screen.press(ESCAPE);
    screen.wait_for("remember the milk");
    screen.press("re:purple (elephant|lion)$");
    screen.wait_gone("remember the milk");
    screen.wait_for("› a plan for the zoo");
    screen.press("(");
    screen.wait_for("invalid regular expression: unclosed group");
    screen.press("\x7f");
    screen.wait_for("› a plan for the zoo");
    screen.press("\r");
    screen.wait_for("> first the purple elephant");
    // The tree opens at the message that matches.
    screen.wait_for("Session tree");
    screen.wait_for("user: \"first the purple elephant\"");
    screen.press(ESCAPE);
    screen.wait_gone("Session tree");
    screen.quit();
}

#[test]
fn switching_sessions_during_a_turn_reports_that_it_was_stopped() {
    let server = ModelServer::new();
    let (_world, mut screen) = with_script(&server, SCRIPT);
    screen.wait_for("second");
    screen.submit("three");
    let mut request = server.next_request();
    request.send_text("Well, ");
    screen.wait_for("Well,");
    screen.submit("and this");
    screen.wait_for("next: and this");
    screen.submit("/branch");
    request.wait_for_disconnect();
    screen.wait_for("Stopped the turn in 5e551011");
    screen.wait_for(" from 5e551011");
    screen.wait_for("> and this");
    screen.press("\x03");
    screen.quit();
}

/// Only one of two terminals runs a turn at a position. The prompt of the other one waits in its editor.
#[test]
fn two_terminals_in_one_session_take_turns() {
    let server = ModelServer::new();
    let (env, mut first) = with_script(&server, SCRIPT);
    let mut second = open(&env, &["--session", "s.jsonl"]);
    first.wait_for("second");
    second.wait_for("second");
    first.submit("three");
    let request = server.next_request();
    second.wait_for("Another program continues from here");
    second.submit("and four");
    second.wait_for("> and four");
    second.wait_for("the session is busy: process ");
    request.reply("third");
    second.wait_for("third");
    second.wait_for("> and four");
    second.press("\r");
    let request = server.next_request();
    assert!(request.messages().ends_with(&["assistant: third".into(), "user: and four".into()]));
    request.reply("fourth");
    first.wait_for("fourth");
    env.ok("move s.jsonl root");
    first.wait_for("Another program moved to another entry; you stay here");
    first.wait_for("fourth");
    first.quit();
    second.quit();
}
