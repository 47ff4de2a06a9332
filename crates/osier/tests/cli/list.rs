//! `list`: order, threads, search and titles.

use std::collections::HashSet;
use std::fs;
use std::process::Command;

use osier_testkit::{ScriptedSession, expect};
use serde_json::{Value, json};

use crate::support::{CommandOutput, World};

/// Creates a session and returns its id.
fn create_session(world: &World, line: &str) -> String {
    world.json(&format!("append {line}"))["session"].as_str().unwrap().to_owned()
}

#[test]
fn most_recently_used_session_is_first() {
    let world = World::new();
    let first = create_session(&world, "'the first question'");
    create_session(&world, "--name 'A name' 'the second question'");
    let third = create_session(&world, "'the third question'");
    world.ok(&format!("config {third} 'summary=what it was about'"));
    world.ok(&format!("append {first} --role assistant 'an answer'"));
    world.check(
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
    let world = World::new();
    world.check(
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
    let world = World::new();
    create_session(&world, "'the first question'");
    world.check(
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
    let world = World::new();
    assert_eq!(world.args(&["-p", "--name", "talk", "hello"]).code, 0);
    let card = world.json("list")[0].clone();
    assert_eq!((&card["messageCount"], &card["entryCount"]), (&json!(2), &json!(6)));
    let id = card["id"].as_str().unwrap();
    assert!(world.ok(&format!("show {id}")).contains("6 (2 messages, 1 branch)"));
    for option in ["", " --request"] {
        let context = world.ok(&format!("context {id}{option}"));
        assert!(context.starts_with("── system\n") && context.ends_with("\n2 messages\n"), "{context}");
    }
}

#[test]
fn all_includes_sessions_of_other_directories() {
    let world = World::new();
    create_session(&world, "here");
    fs::create_dir(world.path("sub")).unwrap();
    let mut there = world.command();
    there.current_dir(world.path("sub")).args(["sessions", "append", "there"]);
    assert!(there.output().unwrap().status.success());
    let titles = |line: &str| -> HashSet<String> {
        let cards = world.json(line);
        cards
            .as_array()
            .unwrap()
            .iter()
            .map(|card| card["firstMessage"].as_str().unwrap().to_owned())
            .collect()
    };
    assert!(world.ok("list --all").lines().all(|row| row.contains("  /")), "directories are shown");
    assert!(!world.ok("list").contains("  /"));
    assert_eq!(titles("list"), HashSet::from(["here".to_owned()]));
    assert_eq!(titles("list --all"), HashSet::from(["here".to_owned(), "there".to_owned()]));
}

#[test]
fn forks_are_listed_below_their_parents() {
    let world = World::new();
    let root = create_session(&world, "root");
    let other = create_session(&world, "other");
    let fork = world.ok(&format!("fork {root} --name fork")).trim().to_owned();
    world.ok(&format!("fork {fork} --name 'fork of it'"));
    world.ok(&format!("append {other} 'said last'"));
    world.check(
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
    world.ok(&format!("append {fork} 'said after that'"));
    world.check(
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
    let world = World::new();
    let id = create_session(&world, "--name Talk hello");
    let fork = world.ok(&format!("fork {id}")).trim().to_owned();
    let cards = world.json("list --search Talk");
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
    let forked = world.json(&format!("show {fork}"));
    assert_eq!(forked["parentSession"], card["file"]);
    assert_eq!(forked["parentSessionId"], card["id"]);
    assert_eq!(forked["modified"], card["modified"], "the last message counts, not the fork");
}

#[test]
fn search_is_fuzzy_in_names_and_literal_in_texts() {
    let world = World::new();
    create_session(&world, "--name 'Parser rewrite' 'please rewrite the parser'");
    let second = create_session(&world, "'make it   faster'");
    world.ok(&format!("append {second} --role assistant 'The needle was in the tokenizer.'"));
    create_session(&world, "--name 'About needles' 'something else'");
    let found = |query: &str| -> Vec<String> {
        let cards = world.json(&format!("list --search '{query}'"));
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
    let named = world.json("list --named --search needle");
    assert_eq!(named.as_array().unwrap().len(), 1);
}

fn title(card: &Value) -> &str {
    card.get("name").unwrap_or(&card["firstMessage"]).as_str().unwrap()
}

#[test]
fn short_ids_are_unique_among_sessions_created_at_once() {
    let world = World::new();
    for _ in 0..10 {
        world.run_concurrently(10, &["demo", "--quiet"]);
    }
    let cards = world.json("list");
    let ids: HashSet<&str> =
        cards.as_array().unwrap().iter().map(|card| card["shortId"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 100);
    assert!(ids.iter().all(|id| id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit())));
}

#[test]
fn files_that_are_not_sessions_are_reported_and_skipped() {
    let world = World::new();
    create_session(&world, "hello");
    let folder = world.session_file().parent().unwrap().to_owned();
    fs::write(folder.join("junk.jsonl"), "junk\n").unwrap();
    let ran = world.run("list");
    assert_eq!(ran.code, 0);
    assert_eq!(ran.out.lines().count(), 1);
    assert!(ran.err.contains("junk.jsonl is not a session"), "{}", ran.err);
}

#[test]
fn columns_align_with_wide_characters() {
    let world = World::new();
    let folder = world.home().join("sessions/somewhere");
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
    let mut command = world.command();
    let ran = command.args(["sessions", "list", "--all"]).env("COLUMNS", "60").output().unwrap();
    let out = String::from_utf8(ran.stdout).unwrap();
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
    let world = World::new();
    let folder = world.home().join("sessions/somewhere");
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
    limited.env("HOME", world.cwd()).env("OSIER_HOME", world.home()).current_dir(world.cwd());
    let ran = CommandOutput::from_output(limited.output().unwrap());
    assert_eq!((ran.code, ran.err.as_str(), ran.out.lines().count()), (0, "", 60));
}
