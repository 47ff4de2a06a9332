//! `delete` with several stores.

use std::fs;
use std::sync::Arc;

use osier_session::{Session, SessionEnv};
use osier_store::{FileStore, Store};
use osier_testkit::expect;
use osier_tree::Header;
use serde_json::{Value, json};

use crate::support::TestEnv;
use crate::two_stores::{configure, create_session, two_stores};

fn store(env: &TestEnv, name: &str) -> FileStore {
    match name {
        "file" => FileStore::new(env.home().join("sessions"), Some(env.home().join("cache"))),
        name => FileStore::new(env.home().join("..").join(name), None).with_name(name),
    }
}

/// Creates the session of a sub-agent of `parent` in a store.
async fn create_sub_agent_session(env: &TestEnv, place: &str, id: &str, parent: &str) {
    let header = Header {
        parent_session_id: Some(parent.to_owned()),
        agent_id: Some("helper".to_owned()),
        parent_tool_call_id: Some("call_1".to_owned()),
        ..Header::new(id, 1, env.cwd().to_string_lossy())
    };
    store(env, place).create(&header, &[]).await.unwrap();
}

/// Ids and stores of all sessions, sorted.
fn remaining_sessions(env: &TestEnv) -> Vec<String> {
    let text = |card: &Value| format!("{} {}", card["id"].as_str().unwrap(), card["store"].as_str().unwrap());
    let mut left: Vec<String> =
        env.json("list --all --subagents").as_array().unwrap().iter().map(text).collect();
    left.sort();
    left
}

/// The id determines the store; --store only chooses between copies.
#[test]
fn session_is_deleted_in_its_own_store_whatever_store_is_named() {
    let env = two_stores();
    let (here, there) = (create_session(&env, "here"), create_session(&env, "there --store archive"));
    env.check(
        &[
            &format!("delete {here} --store archive --yes"),
            &format!("delete {} --store file --yes", &there[..8]),
        ],
        expect![[r#"
            $ delete <1> --store archive --yes
            ! osier: <1> is in file, not in archive
            ! <1>  file   now  here
            ! Deleted 1 session (1 entry) from file
            $ delete <2> --store file --yes
            ! osier: <2> is in archive, not in file
            ! <2>  archive   now  there
            ! Deleted 1 session (1 entry) from archive
        "#]],
    );
    assert_eq!(remaining_sessions(&env), [] as [&str; 0]);
    let here = create_session(&env, "here");
    env.ok(&format!("rename {here} Mine --store archive"));
    assert_eq!(env.json(&format!("show {here}"))["name"], "Mine");
    let delete_report = env.json(&format!("delete {here} --store archive --yes"));
    assert_eq!((&delete_report[0]["store"], &delete_report[0]["deleted"]), (&json!("file"), &json!(true)));
}

#[test]
fn named_store_selects_the_copy_to_delete() {
    let env = two_stores();
    let id = create_session(&env, "hello");
    env.ok(&format!("copy {id} --to archive"));
    env.check(
        &[
            &format!("delete {id} --yes"),
            &format!("delete {id} --store archive --yes"),
            "delete abcdef01 --store archive --yes",
            "delete abcdef01 --store archive --yes --json",
            "delete zz --store archive --yes",
        ],
        expect![[r#"
            $ delete <1> --yes
            ! osier: session <1> is in the stores file and archive; choose one with --store
            exit 1
            $ delete <1> --store archive --yes
            ! <1>  archive   now  hello
            ! Deleted 1 session (1 entry) from archive
            $ delete <2> --store archive --yes
            ! no session <2>; it may already be deleted
            $ delete <2> --store archive --yes --json
            [{"session":"<2>","agentId":null,"store":null,"deleted":false,"counts":{"sessions":0,"entries":0}}]
            $ delete zz --store archive --yes
            ! osier: no session zz; `osier sessions list --all` lists the sessions
            exit 1
        "#]],
    );
    assert_eq!(remaining_sessions(&env), [format!("{id} file")]);
}

/// A file with another name is found by its header.
#[test]
fn renamed_file_is_deleted_whatever_store_is_named() {
    let env = two_stores();
    let id = create_session(&env, "hello");
    let file = env.session_files().remove(0);
    fs::rename(&file, file.with_file_name("mine.jsonl")).unwrap();
    let delete_report = env.json(&format!("delete {id} --store archive --yes"));
    assert_eq!((&delete_report[0]["store"], &delete_report[0]["deleted"]), (&json!("file"), &json!(true)));
    assert_eq!(remaining_sessions(&env), [] as [&str; 0]);
}

/// Configures a store whose port is closed.
fn configure_dead_server(env: &TestEnv) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    configure(env, &format!("[stores.team]\nurl = 'mysql://me@127.0.0.1:{port}/osier'\ntimeout = 1\n"));
}

#[test]
fn with_an_unavailable_store_only_a_full_id_is_deleted() {
    let env = TestEnv::new();
    let id = create_session(&env, "hello");
    configure_dead_server(&env);
    let output = env.fails(1, &format!("delete {id} --store team --yes"));
    assert!(output.starts_with("osier: store team cannot be reached: "), "a copy may be there: {output}");
    let output = env.fails(1, &format!("delete {} --yes", &id[..8]));
    let begins = "osier: <1> is ambiguous: store team is unavailable and may contain another match; give the full id, or choose a store with --store: ";
    assert!(env.with_stable_names(&output).starts_with(begins), "{output}");
    assert_eq!(env.session_files().len(), 1);
    let named = env.json(&format!("delete {} --store file --yes", &id[..8]));
    assert_eq!(named[0]["deleted"], true, "the store was named");
    let id = create_session(&env, "again --store file");
    let run_output = env.run(&format!("delete {id} --yes"));
    assert!(run_output.err.ends_with("\nDeleted 1 session (1 entry) from file\n"), "{}", run_output.err);
    assert_eq!(run_output.err.matches("team").count(), 1, "reported once: {}", run_output.err);
}

#[test]
fn unavailable_store_is_reported_when_the_session_is_found() {
    let env = TestEnv::new();
    let id = create_session(&env, "hello");
    configure_dead_server(&env);
    let output = env.run(&format!("path {}", &id[..8]));
    assert_eq!(output.code, 0);
    assert!(output.err.starts_with("osier: store team cannot be reached: "), "{}", output.err);
}

#[tokio::test]
async fn sub_agents_are_deleted_with_the_copy_in_their_store() {
    let env = two_stores();
    let id = create_session(&env, "hello");
    env.ok(&format!("copy {id} --to archive"));
    create_sub_agent_session(&env, "file", "helper-here", &id).await;
    create_sub_agent_session(&env, "archive", "helper-there", &id).await;
    let delete_report = env.json(&format!("delete {id} --store archive --yes"));
    let delete_report: Vec<&Value> =
        delete_report.as_array().unwrap().iter().map(|one| &one["session"]).collect();
    assert_eq!(delete_report, [&json!(id), &json!("helper-there")]);
    assert_eq!(remaining_sessions(&env), [format!("{id} file"), "helper-here file".to_owned()]);
}

/// A sub-agent's session names the store of its parent, which may be another one than its own.
#[tokio::test]
async fn sub_agents_are_deleted_in_whatever_store_they_are() {
    let env = two_stores();
    let id = create_session(&env, "hello");
    for (place, helper, of) in
        [("archive", "helper-there", &*id), ("file", "below-here", "helper-there"), ("file", "other", "none")]
    {
        let in_store = if of == "helper-there" { "archive" } else { "file" };
        let header = Header {
            parent_session_id: Some(of.to_owned()),
            parent_store: Some(in_store.to_owned()),
            agent_id: Some("helper".to_owned()),
            parent_tool_call_id: Some("call_1".to_owned()),
            ..Header::new(helper, 1, env.cwd().to_string_lossy())
        };
        store(&env, place).create(&header, &[]).await.unwrap();
    }
    env.ok(&format!("delete {id} --yes"));
    assert_eq!(remaining_sessions(&env), ["other file"]);
}

#[tokio::test]
async fn fork_is_kept_when_the_session_changes_its_agent() {
    let env = TestEnv::new();
    let id = create_session(&env, "hello");
    let before = env.ok(&format!("fork {id}")).trim().to_owned();
    env.ok(&format!("config {id} agentId=bot"));
    let after = env.ok(&format!("fork {id}")).trim().to_owned();
    create_sub_agent_session(&env, "file", "helper", &id).await;
    let delete_report = env.json(&format!("delete {id} --yes"));
    let delete_report: Vec<&Value> =
        delete_report.as_array().unwrap().iter().map(|one| &one["session"]).collect();
    assert_eq!(delete_report, [&json!(id), &json!("helper")]);
    let mut forks = [format!("{before} file"), format!("{after} file")];
    forks.sort();
    assert_eq!(remaining_sessions(&env), forks);
}

#[tokio::test]
async fn open_session_keeps_its_sub_agents() {
    let env = TestEnv::new();
    let id = create_session(&env, "hello");
    create_sub_agent_session(&env, "file", "helper", &id).await;
    create_sub_agent_session(&env, "file", "below", "helper").await;
    let open = Session::open(Arc::new(store(&env, "file")), &id, SessionEnv::default()).await.unwrap();
    let run_output = env.run(&format!("delete {id} --yes"));
    assert_eq!(run_output.code, 1);
    assert!(
        run_output.err.contains("osier: kept helper, because its parent session was kept\n"),
        "{}",
        run_output.err
    );
    assert_eq!(env.session_files().len(), 3);
    drop(open);
}

/// The order documented in docs/json.md.
#[tokio::test]
async fn json_lists_named_sessions_then_sub_agents_then_missing_ones() {
    let env = TestEnv::new();
    let (first, second) = (create_session(&env, "one"), create_session(&env, "two"));
    create_sub_agent_session(&env, "file", "helper", &second).await;
    let delete_report = env.json(&format!("delete abcdef01 {second} {first} --yes"));
    let delete_report: Vec<&Value> =
        delete_report.as_array().unwrap().iter().map(|one| &one["session"]).collect();
    assert_eq!(delete_report, [&json!(second), &json!(first), &json!("helper"), &json!("abcdef01")]);
}

#[test]
fn older_than_applies_to_the_home_folder_unless_a_store_is_named() {
    let env = two_stores();
    let (here, there) = (create_session(&env, "here"), create_session(&env, "there --store archive"));
    let deleted = |line: &str| {
        let delete_report = env.json(&format!("delete --older-than 0h --all --yes {line}"));
        delete_report.as_array().unwrap().iter().map(|one| one["session"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(deleted(""), [json!(here)]);
    assert_eq!(remaining_sessions(&env), [format!("{there} archive")]);
    assert_eq!(deleted("--store archive"), [json!(there)]);
}
