//! `list`: order, threads, search and titles.

use std::collections::HashSet;
use std::fs;
use std::process::Command;

use osier_testkit::{ScriptedSession, expect};
use serde_json::{Value, json};

use crate::support::{CommandOutput, TestEnv};

/// Creates a session and returns its id.
fn create_session(env: &TestEnv, line: &str) -> String {
    env.json(&format!("append {line}"))["session"].as_str().unwrap().to_owned()
}

#[test]
fn most_recently_used_session_is_first() {
    let env = TestEnv::new();
    let first = create_session(&env, "'the first question'");
    create_session(&env, "--name 'A name' 'the second question'");
    let third = create_session(&env, "'the third question'");
    env.ok(&format!("config {third} 'summary=what it was about'"));
    env.ok(&format!("append {first} --role assistant 'an answer'"));
    env.check(
        &["list", "list --limit 1", "list --named"],
        expect![[r#"
        $ list
        <1>  2 msg  now  the first question
        <2>  1 msg  now  what it was about
        <3>  1 msg  now  A name
        $ list --limit 1
        <1>  2 msg  now  the first question
        $ list --named
        <3>  1 msg  now  A name
    "#]],
    );
}

#[test]
fn empty_directory_prints_a_notice() {
    let env = TestEnv::new();
    env.check(
        &["list", "list --all", "list --json"],
        expect![[r#"
        $ list
        ! no sessions in this directory; --all includes other directories
        $ list --all
        ! no sessions
        $ list --json
        []
    "#]],
    );
}

#[test]
fn search_without_matches_prints_a_notice() {
    let env = TestEnv::new();
    create_session(&env, "'the first question'");
    env.check(
        &[
            "list --search willow",
            "list --all --search 'two words'",
            "list --named",
            "list --search willow --json",
        ],
        expect![[r#"
        $ list --search willow
        ! no sessions in this directory match willow; --all includes other directories
        $ list --all --search 'two words'
        ! no sessions match two words
        $ list --named
        ! no named sessions in this directory; --all includes other directories
        $ list --search willow --json
        []
    "#]],
    );
}

/// The agent stores its system prompt as a message in the log, which does not count as a message.
#[test]
fn stored_system_prompt_is_not_counted() {
    let env = TestEnv::new();
    assert_eq!(env.args(&["-p", "--name", "talk", "hello"]).code, 0);
    let card = env.json("list")[0].clone();
    assert_eq!((&card["messageCount"], &card["entryCount"]), (&json!(2), &json!(6)));
    let id = card["id"].as_str().unwrap();
    assert!(env.ok(&format!("show {id}")).contains("6 (2 messages, 1 branch)"));
    for option in ["", " --request"] {
        let context = env.ok(&format!("context {id}{option}"));
        assert!(context.starts_with("── system\n") && context.ends_with("\n2 messages\n"), "{context}");
    }
}

#[test]
fn all_includes_sessions_of_other_directories() {
    let env = TestEnv::new();
    create_session(&env, "here");
    fs::create_dir(env.path("sub")).unwrap();
    let mut there = env.command();
    there.current_dir(env.path("sub")).args(["sessions", "append", "there"]);
    assert!(there.output().unwrap().status.success());
    let titles = |line: &str| -> HashSet<String> {
        let cards = env.json(line);
        cards
            .as_array()
            .unwrap()
            .iter()
            .map(|card| card["firstMessage"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(env.ok("list --all").lines().all(|row| row.contains("  /")), "directories are shown");
    assert!(!env.ok("list").contains("  /"));
    assert_eq!(titles("list"), HashSet::from(["here".to_owned()]));
    assert_eq!(titles("list --all"), HashSet::from(["here".to_owned(), "there".to_owned()]));
}

#[test]
fn forks_are_listed_below_their_parents() {
    let env = TestEnv::new();
    let root = create_session(&env, "root");
    let other = create_session(&env, "other");
    let fork = env.ok(&format!("fork {root} --name fork")).trim().to_owned();
    env.ok(&format!("fork {fork} --name 'fork of it'"));
    env.ok(&format!("append {other} 'said last'"));
    env.check(
        &["list"],
        expect![[r#"
        $ list
        <1>  2 msg  now  other
        <2>  1 msg  now  root
        <3>  1 msg  now  └─ fork
        <4>  1 msg  now     └─ fork of it
    "#]],
    );
    // A thread is placed by its most recently used session.
    env.ok(&format!("append {fork} 'said after that'"));
    env.check(
        &["list", "list --search fork"],
        expect![[r#"
        $ list
        <1>  1 msg  now  root
        <2>  2 msg  now  └─ fork
        <3>  1 msg  now     └─ fork of it
        <4>  2 msg  now  other
        $ list --search fork
        <2>  2 msg  now  fork
        <3>  1 msg  now  fork of it
    "#]],
    );
}

#[test]
fn json_cards_are_complete() {
    let env = TestEnv::new();
    let id = create_session(&env, "--name Talk hello");
    let fork = env.ok(&format!("fork {id}")).trim().to_owned();
    let cards = env.json("list --search Talk");
    let card = cards.as_array().unwrap().iter().find(|card| card["id"] == json!(id)).unwrap();
    let keys: Vec<&String> = card.as_object().unwrap().keys().collect();
    assert_eq!(
        keys,
        [
            "id",
            "shortId",
            "store",
            "file",
            "cwd",
            "agentId",
            "name",
            "firstMessage",
            "messageCount",
            "entryCount",
            "branches",
            "created",
            "modified",
            "leafId",
            "tokens",
            "cost"
        ]
    );
    assert_eq!(card["shortId"], json!(id[..8]));
    let forked = env.json(&format!("show {fork}"));
    assert_eq!(forked["parentSession"], card["file"]);
    assert_eq!(forked["parentSessionId"], card["id"]);
    assert_eq!(forked["modified"], card["modified"], "the last message counts, not the fork");
}

#[test]
fn search_is_fuzzy_in_names_and_literal_in_texts() {
    let env = TestEnv::new();
    create_session(&env, "--name 'Parser rewrite' 'please rewrite the parser'");
    let second = create_session(&env, "'make it   faster'");
    env.ok(&format!("append {second} --role assistant 'The needle was in the tokenizer.'"));
    create_session(&env, "--name 'About needles' 'something else'");
    let found = |query: &str| -> Vec<String> {
        let cards = env.json(&format!("list --search '{query}'"));
        cards.as_array().unwrap().iter().map(|card| title(card).to_owned()).collect()
    };
    assert_eq!(found("prsr"), ["Parser rewrite"]);
    assert_eq!(found("needle"), ["About needles", "make it faster"], "names come first");
    assert_eq!(found("ndle tokenizer"), [] as [&str; 0]);
    assert_eq!(found("needle TOKENIZER"), ["make it faster"]);
    assert_eq!(found("\"was in the\""), ["make it faster"]);
    assert_eq!(found("\"make it faster\""), ["make it faster"]);
    assert_eq!(found("\"in was the\""), [] as [&str; 0]);
    assert_eq!(found("re:needles?\\b"), ["About needles", "make it faster"]);
    assert_eq!(found("re:^the needle"), ["make it faster"]);
    assert_eq!(found("!parser"), [] as [&str; 0]);
    assert_eq!(found(&second[..8]), ["make it faster"]);
    assert_eq!(found("").len(), 3);
    let named = env.json("list --named --search needle");
    assert_eq!(named.as_array().unwrap().len(), 1);
}

fn title(card: &Value) -> &str {
    card.get("name").unwrap_or(&card["firstMessage"]).as_str().unwrap()
}

#[test]
fn short_ids_are_unique_among_sessions_created_at_once() {
    let env = TestEnv::new();
    for _ in 0..10 {
        env.run_concurrently(10, &["demo", "--quiet"]);
    }
    let cards = env.json("list");
    let ids: HashSet<&str> =
        cards.as_array().unwrap().iter().map(|card| card["shortId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 100);
    assert!(ids.iter().all(|id| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
}

#[test]
fn files_that_are_not_sessions_are_reported_and_skipped() {
    let env = TestEnv::new();
    create_session(&env, "hello");
    let folder = env.session_file().parent().unwrap().to_owned();
    fs::write(folder.join("junk.jsonl"), "junk\n").unwrap();
    let output = env.run("list");
    assert_eq!(output.code, 0);
    assert_eq!(output.out.lines().count(), 1);
    assert!(output.err.contains("junk.jsonl is not a session"), "{}", output.err);
}

#[test]
fn columns_align_with_wide_characters() {
    let env = TestEnv::new();
    let folder = env.home().join("sessions/somewhere");
    fs::create_dir_all(&folder).unwrap();
    for (number, name) in [
        "plain",
        "一行一个对象",
        "e\u{301}tude 👨\u{200d}👩\u{200d}👧",
        "a very long name that goes on and on and on",
    ]
    .iter()
    .enumerate()
    {
        let script = format!("say x; name {name}");
        let file = String::from_utf8(ScriptedSession::run(&script).file()).unwrap();
        let id = format!("5e55101{number}-0000-4000-8000-000000000001");
        let file = file.replace("5e551011-0000-4000-8000-000000000001", &id).replace(":1767225", ":4102444");
        fs::write(folder.join(format!("{id}.jsonl")), file).unwrap();
    }
    let mut command = env.command();
    let output = command.args(["sessions", "list", "--all"]).env("COLUMNS", "60").output().unwrap();
    let out = String::from_utf8(output.stdout).unwrap();
    expect![[r#"
        5e551010  1 msg  now  plain                            /code
        5e551011  1 msg  now  一行一个对象                     /code
        5e551012  1 msg  now  étude 👨‍👩‍👧                         /code
        5e551013  1 msg  now  a very long name that goes on …  /code
    "#]]
    .assert_eq(&out);
}

#[test]
fn search_reads_more_sessions_than_the_open_file_limit() {
    let env = TestEnv::new();
    let folder = env.home().join("sessions/somewhere");
    fs::create_dir_all(&folder).unwrap();
    let file = String::from_utf8(ScriptedSession::run("say x; reply the needle").file()).unwrap();
    for number in 100..160 {
        let id = format!("5e551011-0000-4000-8000-000000000{number}");
        let file = file.replace("5e551011-0000-4000-8000-000000000001", &id);
        fs::write(folder.join(format!("{id}.jsonl")), file).unwrap();
    }
    let mut limited = Command::new("sh");
    limited.args(["-c", "ulimit -n 40 && exec \"$@\"", "sh", env!("CARGO_BIN_EXE_osier")]);
    limited.args(["sessions", "list", "--all", "--search", "needle"]);
    limited.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    limited.env("HOME", env.cwd()).env("OSIER_HOME", env.home()).current_dir(env.cwd());
    let output = CommandOutput::from_output(limited.output().unwrap());
    assert_eq!((output.code, output.err.as_str(), output.out.lines().count()), (0, "", 60));
}
