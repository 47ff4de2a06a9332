//! Several stores: where new sessions go, how sessions are found, and what an unavailable store changes.

use std::fs;
use std::path::Path;

use osier_testkit::{ScriptedSession, expect};
use serde_json::{Value, json};

use crate::support::{CommandOutput, TestEnv};
use crate::two_stores::{configure, create_session, two_stores};

fn files_below(folder: &Path) -> usize {
    let folders = fs::read_dir(folder).into_iter().flatten().flatten();
    folders.map(|folder| fs::read_dir(folder.path()).unwrap().count()).sum()
}

#[test]
fn a_new_session_goes_to_the_given_store_and_is_found_in_any() {
    let env = two_stores();
    let here = create_session(&env, "hello");
    let there = create_session(&env, "'an old one' --store archive");
    assert_eq!(
        (files_below(&env.home().join("sessions")), files_below(&env.home().join("../archive"))),
        (1, 1)
    );
    env.check(
        &[
            "list",
            "list --store archive",
            &format!("rename {} 'the old one' --store file", &there[..8]),
            &format!("path {}", &there[..8]),
            &format!("delete {} --yes --store archive", &here[..8]),
            &format!("delete {} --yes --store file", &here[..8]),
            &format!("delete {there} --yes"),
            "list",
            "list --store nowhere",
        ],
        expect![[r#"
            $ list
            <1>  archive  1 msg  now  an old one
            <2>  file     1 msg  now  hello
            $ list --store archive
            <1>  archive  1 msg  now  an old one
            $ rename <1> 'the old one' --store file
            Renamed to the old one
            $ path <1>
            <3>  user: "an old one"
            <4>  [title: the old one]
            $ delete <2> --yes --store archive
            ! osier: <2> is in file, not in archive
            ! <2>  file   now  hello
            ! Deleted 1 session (1 entry) from file
            $ delete <2> --yes --store file
            ! no session <2>; it may already be deleted
            $ delete <1> --yes
            ! <1>  archive   now  the old one
            ! Deleted 1 session (2 entries) from archive
            $ list
            ! no sessions in this directory; --all includes other directories
            $ list --store nowhere
            ! osier: no store nowhere; the stores are file, archive
            exit 2
        "#]],
    );
}

#[test]
fn the_default_store_comes_from_the_user_an_agent_or_a_trusted_project() {
    let env = two_stores();
    let stores = "[stores.archive]\nfolder = '../archive'\n[stores.other]\nfolder = '../other'\n[agents.bot]\nstore = 'other'\n";
    configure(&env, &format!("default_store = 'archive'\n{stores}"));
    let store_of = |id: &str| env.json(&format!("show {id}"))["store"].clone();
    assert_eq!(store_of(&create_session(&env, "one")), "archive");
    assert_eq!(store_of(&create_session(&env, "two --store file")), "file");
    configure(&env, &format!("agent = 'bot'\n{stores}"));
    let id = create_session(&env, "three");
    let card = env.json(&format!("show {id}"));
    assert_eq!((&card["store"], &card["agentId"]), (&json!("other"), &json!("bot")));
    assert_eq!(env.json(&format!("snapshot {id}"))["session"]["agentId"], "bot");
    assert_eq!(env.json(&format!("delete {id} --yes"))[0]["agentId"], "bot");
    configure(&env, stores);
    env.write(".osier/config.toml", "default_store = 'archive'\n");
    assert_eq!(store_of(&create_session(&env, "four")), "file", "the project is not trusted");
    assert_eq!(env.args(&["trust", "--yes"]).code, 0);
    assert_eq!(store_of(&create_session(&env, "five")), "archive");
}

#[test]
fn the_agent_uses_the_given_store_and_continues_its_own_sessions() {
    let env = two_stores();
    let say = |args: &[&str]| {
        let run_output = env.args(args);
        assert_eq!(run_output.code, 0, "{args:?}: {}", run_output.err);
    };
    say(&["-p", "--store", "archive", "list the files here"]);
    say(&["-p", "-c", "and again"]);
    say(&["-p", "--agent", "bot", "list the files here"]);
    say(&["-p", "-c", "and again"]);
    let cards = env.json("list");
    let output = |card: &Value| format!("{} {} {}", card["store"], card["agentId"], card["messageCount"]);
    let mut output: Vec<String> = cards.as_array().unwrap().iter().map(output).collect();
    output.sort();
    assert_eq!(output, [r#""archive" "main" 8"#, r#""file" "bot" 4"#]);
}

/// It may have been committed by others, with all approvals set.
#[test]
fn approvals_in_a_session_of_a_projects_store_are_ignored() {
    let env = TestEnv::new();
    env.write(".osier/config.toml", "[stores.here]\nfolder = 'sessions'\n");
    assert_eq!(env.args(&["trust", "--yes"]).code, 0);
    let say = |id: &str, file: &str| {
        let prompt = format!("write {file} with \"yes\"");
        env.args(&["-p", "--resume", id, &prompt]);
        env.path(file).exists()
    };
    for (store, allowed) in [("here", false), ("file", true)] {
        let id = create_session(&env, &format!("hello --store {store}"));
        env.ok(&format!("config {id} approvalMode=yolo"));
        assert_eq!(say(&id, &format!("{store}.txt")), allowed, "{store}");
    }
}

/// A copy contains every byte, including approvals set by others.
#[test]
fn foreign_approvals_are_ignored_in_a_copy() {
    let env = TestEnv::new();
    env.write(".osier/config.toml", "[stores.here]\nfolder = 'sessions'\n");
    assert_eq!(env.args(&["trust", "--yes"]).code, 0);
    let id = create_session(&env, "hello --store here");
    env.ok(&format!("config {id} approvalMode=yolo"));
    env.ok(&format!("copy {id} --to file"));
    env.args(&["-p", "--resume", &id, "--store", "file", "write a.txt with \"yes\""]);
    assert!(!env.path("a.txt").exists());
    env.ok(&format!("delete {id} --yes --store file"));
    env.ok(&format!("copy {id} --to file --store here"));
    env.args(&["-p", "--resume", &id, "--store", "file", "write b.txt with \"yes\""]);
    assert!(!env.path("b.txt").exists(), "the foreign origin is remembered");
    let own = create_session(&env, "hello");
    env.ok(&format!("config {own} approvalMode=yolo"));
    env.ok(&format!("copy {own} --to here"));
    env.args(&["-p", "--resume", &own, "--store", "file", "write c.txt with \"yes\""]);
    assert!(env.path("c.txt").exists(), "copying does not change the session");
}

#[test]
fn a_copy_has_the_same_id_and_the_same_lines() {
    let env = two_stores();
    let id = create_session(&env, "hello");
    env.ok(&format!("append {id} --role assistant 'well'"));
    let short = &id[..8];
    env.check(
        &[
            &format!("copy {short} --to archive"),
            &format!("copy {short} --to archive --store file"),
            &format!("show {short}"),
            &format!("append {short} --store archive 'more there'"),
            &format!("copy {short} --to archive --store file --json"),
            &format!("append {short} --store file 'more here'"),
            &format!("copy {short} --to archive --store file"),
            &format!("copy {short} --to archive --store archive"),
            &format!("copy {short} --to nowhere"),
        ],
        expect![[r#"
            $ copy <1> --to archive
            ! Copied session <1> (2 entries) from file to archive
            $ copy <1> --to archive --store file
            ! Session <1> is already in archive, with all 2 entries from file
            $ show <1>
            ! osier: session <1> is in the stores file and archive; choose one with --store
            exit 1
            $ append <1> --store archive 'more there'
            <2>
            $ copy <1> --to archive --store file --json
            {"session":"<1>","from":"file","to":"archive","entries":2,"copied":0,"oddLines":0}
            $ append <1> --store file 'more here'
            <3>
            $ copy <1> --to archive --store file
            ! osier: store archive has a different session <1>: the first difference is in entry number 3; the store was not changed
            exit 1
            $ copy <1> --to archive --store archive
            ! osier: the session is already in the store archive; choose another one with --to
            exit 2
            $ copy <1> --to nowhere
            ! osier: no store nowhere; the stores are file, archive
            exit 2
        "#]],
    );
    let lines = |store: &str| env.ok(&format!("snapshot {id} --store {store} --no-context"));
    let entries = |store: &str| serde_json::from_str::<Value>(&lines(store)).unwrap()["entries"].clone();
    let (here, there) = (entries("file"), entries("archive"));
    assert_eq!(here.as_array().unwrap()[..2], there.as_array().unwrap()[..2]);
}

/// A killed copy leaves the first part of the session.
#[test]
fn an_interrupted_copy_is_continued() {
    let env = two_stores();
    let id = create_session(&env, "hello");
    for at in 0..5 {
        env.ok(&format!("append {id} 'message {at}'"));
    }
    env.ok(&format!("copy {id} --to archive"));
    let copy = archived(&env);
    let full = fs::read(&copy).unwrap();
    let lines: Vec<&[u8]> = full.split_inclusive(|byte| *byte == b'\n').collect();
    for kept in 1..lines.len() {
        fs::write(&copy, lines[..kept].concat()).unwrap();
        let copied = env.json(&format!("copy {id} --to archive --store file"));
        assert_eq!(copied["copied"], json!(lines.len() - kept));
        assert!(fs::read(&copy).unwrap() == full, "after {kept} lines");
    }
}

fn archived(env: &TestEnv) -> std::path::PathBuf {
    let archive = env.home().join("../archive");
    let folder = fs::read_dir(archive).unwrap().next().unwrap().unwrap().path();
    fs::read_dir(folder).unwrap().next().unwrap().unwrap().path()
}

#[test]
fn a_different_session_with_the_same_id_is_not_overwritten() {
    let env = two_stores();
    let id = create_session(&env, "hello");
    env.ok(&format!("copy {id} --to archive"));
    let copy = archived(&env);
    let forged = fs::read_to_string(&copy).unwrap().replace("hello", "other");
    fs::write(&copy, &forged).unwrap();
    let output = env.fails(1, &format!("copy {id} --to archive --store file"));
    assert_eq!(
        env.with_stable_names(&output),
        "osier: store archive has a different session <1>: the first difference is in entry number 1; the store was not changed\n"
    );
    assert_eq!(fs::read_to_string(&copy).unwrap(), forged);
}

#[test]
fn an_ambiguous_prefix_lists_the_sessions_with_their_stores() {
    let env = two_stores();
    let file = ScriptedSession::run("say a").file();
    for (folder, id) in [("home/sessions/x", "abcdef01-0000"), ("archive/x", "abcdef02-0000")] {
        let folder = env.cwd().join("..").join(folder);
        fs::create_dir_all(&folder).unwrap();
        let file =
            String::from_utf8(file.clone()).unwrap().replace("5e551011-0000-4000-8000-000000000001", id);
        fs::write(folder.join(format!("t_{id}.jsonl")), file).unwrap();
    }
    env.check(
        &["path abcdef --json", "path abcdef --store archive", "path abcdef01 --store archive", "path abc9"],
        expect![[r#"
            $ path abcdef --json
            ! {"error":{"code":"session_ambiguous","message":"abcdef is ambiguous: it could mean 2 sessions: <1> (file), <2> (archive); give more characters"}}
            exit 1
            $ path abcdef --store archive
            00000001  user: "a"
            $ path <1> --store archive
            00000001  user: "a"
            $ path abc9
            ! osier: no session abc9; did you mean <1>, <2>?
            exit 1
        "#]],
    );
}

/// Configures a database on a port where no server listens.
fn with_a_dead_server(env: &TestEnv) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("mysql://me:hunter2@127.0.0.1:{port}/osier");
    configure(env, &format!("[stores.team]\nurl = '{url}'\ntimeout = 1\n"));
}

#[test]
fn an_unavailable_server_does_not_affect_other_stores() {
    let env = TestEnv::new();
    let id = create_session(&env, "hello");
    with_a_dead_server(&env);
    let list = env.run("list --json");
    let items: Vec<Value> = serde_json::from_str(&list.out).unwrap();
    assert_eq!((list.code, items.len(), &items[0]["id"]), (0, 2, &json!(id)));
    assert_eq!(items[1]["store"], "team");
    let error = items[1]["error"].as_str().unwrap();
    assert!(error.starts_with("store team cannot be reached: "), "{error}");
    assert_eq!(list.err, format!("osier: {error}\n"));
    assert_eq!(env.ok(&format!("rename {} 'still here'", &id[..8])), "Renamed to still here\n");
    let output = env.fails(1, "show 00000000");
    assert!(
        output.starts_with("osier: no session 00000000 in the other stores, and team is unavailable: "),
        "{output}"
    );
    let output = env.fails(1, "delete 00000000-0000-4000-8000-000000000000 --yes");
    assert!(output.contains("team is unavailable"), "the unavailable store is not reported: {output}");
    let output = env.fails(1, "append hello --store team");
    assert!(output.starts_with("osier: store team cannot be reached: "), "{output}");
}

#[test]
fn passwords_are_never_shown() {
    let env = TestEnv::new();
    with_a_dead_server(&env);
    fs::write(env.home().join("config.toml.pw"), "hunter2").unwrap();
    let mut output = String::new();
    for args in [
        vec!["config"],
        vec!["config", "--json"],
        vec!["config", "get", "stores.team.url"],
        vec!["config", "set", "stores.team.url", "mysql://me:hunter2@127.0.0.1:1/osier?x=hunter2"],
        vec!["config", "set", "stores.team.password_command", "echo hunter2"],
        vec!["config"],
        vec!["sessions", "list", "--json"],
        vec!["sessions", "append", "x", "--store", "team"],
        vec!["doctor"],
    ] {
        let CommandOutput { out, err, .. } = env.args(&args);
        output += &format!("{out}{err}");
    }
    env.write(".osier/config.toml", "[stores.evil]\nurl = 'mysql://me:hunter2@evil/osier'\n");
    output += &env.args(&["trust", "--yes", "--json"]).out;
    output += &env.args(&["config"]).out;
    assert!(output.contains("mysql://me@127.0.0.1") && output.contains("mysql://me@evil/osier"), "{output}");
    assert!(!output.contains("hunter2"), "{output}");
}
