//! `delete` with several stores.

use std::fs;
use std::sync::Arc;

use osier_session::{Session, SessionEnv};
use osier_store::{FileStore, Store};
use osier_testkit::expect;
use osier_tree::Header;
use serde_json::{Value, json};

use crate::support::World;
use crate::two_stores::{configure, create_session, two_stores};

fn store(world: &World, name: &str) -> FileStore {
    match name {
        "file" => FileStore::new(world.home().join("sessions"), Some(world.home().join("cache"))),
        name => FileStore::new(world.home().join("..").join(name), None).with_name(name),
    }
}

/// Creates the session of a sub-agent of `parent` in a store.
async fn create_sub_agent_session(world: &World, place: &str, id: &str, parent: &str) {
    let header = Header {
        parent_session_id: Some(parent.to_owned()),
        agent_id: Some("helper".to_owned()),
        ..Header::new(id, 1, world.cwd().to_string_lossy())
    };
    store(world, place).create(&header, &[]).await.unwrap();
}

/// Ids and stores of all sessions, sorted.
fn remaining_sessions(world: &World) -> Vec<String> {
    let text = |card: &Value| format!("{} {}", card["id"].as_str().unwrap(), card["store"].as_str().unwrap());
    let mut left: Vec<String> = world.json("list --all").as_array().unwrap().iter().map(text).collect();
    left.sort();
    left
}

/// The id determines the store; --store only chooses between copies.
#[test]
fn session_is_deleted_in_its_own_store_whatever_store_is_named() {
    let world = two_stores();
    let (here, there) = (create_session(&world, "here"), create_session(&world, "there --store archive"));
    world.check(
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
    assert_eq!(remaining_sessions(&world), [] as [&str; 0]);
    let here = create_session(&world, "here");
    world.ok(&format!("rename {here} Mine --store archive"));
    assert_eq!(world.json(&format!("show {here}"))["name"], "Mine");
    let gone = world.json(&format!("delete {here} --store archive --yes"));
    assert_eq!((&gone[0]["store"], &gone[0]["deleted"]), (&json!("file"), &json!(true)));
}

#[test]
fn named_store_selects_the_copy_to_delete() {
    let world = two_stores();
    let id = create_session(&world, "hello");
    world.ok(&format!("copy {id} --to archive"));
    world.check(
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
    assert_eq!(remaining_sessions(&world), [format!("{id} file")]);
}

/// A file with another name is found by its header.
#[test]
fn renamed_file_is_deleted_whatever_store_is_named() {
    let world = two_stores();
    let id = create_session(&world, "hello");
    let file = world.session_files().remove(0);
    fs::rename(&file, file.with_file_name("mine.jsonl")).unwrap();
    let gone = world.json(&format!("delete {id} --store archive --yes"));
    assert_eq!((&gone[0]["store"], &gone[0]["deleted"]), (&json!("file"), &json!(true)));
    assert_eq!(remaining_sessions(&world), [] as [&str; 0]);
}

/// Configures a store whose port is closed.
fn configure_dead_server(world: &World) {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    configure(world, &format!("[stores.team]\nurl = 'mysql://me@127.0.0.1:{port}/osier'\ntimeout = 1\n"));
}

#[test]
fn with_an_unavailable_store_only_a_full_id_is_deleted() {
    let world = World::new();
    let id = create_session(&world, "hello");
    configure_dead_server(&world);
    let output = world.fails(1, &format!("delete {id} --store team --yes"));
    assert!(output.starts_with("osier: store team cannot be reached: "), "a copy may be there: {output}");
    let output = world.fails(1, &format!("delete {} --yes", &id[..8]));
    let begins =
        "osier: <1> could also mean a session in team; give the full id, or choose a store with --store: ";
    assert!(world.with_stable_names(&output).starts_with(begins), "{output}");
    assert_eq!(world.session_files().len(), 1);
    let named = world.json(&format!("delete {} --store file --yes", &id[..8]));
    assert_eq!(named[0]["deleted"], true, "the store was named");
    let id = create_session(&world, "again --store file");
    let ran = world.run(&format!("delete {id} --yes"));
    assert!(ran.err.ends_with("\nDeleted 1 session (1 entry) from file\n"), "{}", ran.err);
    assert_eq!(ran.err.matches("team").count(), 1, "reported once: {}", ran.err);
}

#[test]
fn unavailable_store_is_reported_when_the_session_is_found() {
    let world = World::new();
    let id = create_session(&world, "hello");
    configure_dead_server(&world);
    let output = world.run(&format!("path {}", &id[..8]));
    assert_eq!(output.code, 0);
    assert!(output.err.starts_with("osier: store team cannot be reached: "), "{}", output.err);
}

#[tokio::test]
async fn sub_agents_are_deleted_with_the_copy_in_their_store() {
    let world = two_stores();
    let id = create_session(&world, "hello");
    world.ok(&format!("copy {id} --to archive"));
    create_sub_agent_session(&world, "file", "helper-here", &id).await;
    create_sub_agent_session(&world, "archive", "helper-there", &id).await;
    let gone = world.json(&format!("delete {id} --store archive --yes"));
    let gone: Vec<&Value> = gone.as_array().unwrap().iter().map(|one| &one["session"]).collect();
    assert_eq!(gone, [&json!(id), &json!("helper-there")]);
    assert_eq!(remaining_sessions(&world), [format!("{id} file"), "helper-here file".to_owned()]);
}

#[tokio::test]
async fn fork_is_kept_when_the_session_changes_its_agent() {
    let world = World::new();
    let id = create_session(&world, "hello");
    let before = world.ok(&format!("fork {id}")).trim().to_owned();
    world.ok(&format!("config {id} agentId=bot"));
    let after = world.ok(&format!("fork {id}")).trim().to_owned();
    create_sub_agent_session(&world, "file", "helper", &id).await;
    let gone = world.json(&format!("delete {id} --yes"));
    let gone: Vec<&Value> = gone.as_array().unwrap().iter().map(|one| &one["session"]).collect();
    assert_eq!(gone, [&json!(id), &json!("helper")]);
    let mut forks = [format!("{before} file"), format!("{after} file")];
    forks.sort();
    assert_eq!(remaining_sessions(&world), forks);
}

#[tokio::test]
async fn open_session_keeps_its_sub_agents() {
    let world = World::new();
    let id = create_session(&world, "hello");
    create_sub_agent_session(&world, "file", "helper", &id).await;
    create_sub_agent_session(&world, "file", "below", "helper").await;
    let open = Session::open(Arc::new(store(&world, "file")), &id, SessionEnv::default()).await.unwrap();
    let ran = world.run(&format!("delete {id} --yes"));
    assert_eq!(ran.code, 1);
    assert!(ran.err.contains("osier: kept helper, because its parent session was kept\n"), "{}", ran.err);
    assert_eq!(world.session_files().len(), 3);
    drop(open);
}

/// The order documented in docs/json.md.
#[tokio::test]
async fn json_lists_named_sessions_then_sub_agents_then_missing_ones() {
    let world = World::new();
    let (first, second) = (create_session(&world, "one"), create_session(&world, "two"));
    create_sub_agent_session(&world, "file", "helper", &second).await;
    let gone = world.json(&format!("delete abcdef01 {second} {first} --yes"));
    let gone: Vec<&Value> = gone.as_array().unwrap().iter().map(|one| &one["session"]).collect();
    assert_eq!(gone, [&json!(second), &json!(first), &json!("helper"), &json!("abcdef01")]);
}

#[test]
fn older_than_applies_to_the_home_folder_unless_a_store_is_named() {
    let world = two_stores();
    let (here, there) = (create_session(&world, "here"), create_session(&world, "there --store archive"));
    let deleted = |line: &str| {
        let gone = world.json(&format!("delete --older-than 0h --all --yes {line}"));
        gone.as_array().unwrap().iter().map(|one| one["session"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(deleted(""), [json!(here)]);
    assert_eq!(remaining_sessions(&world), [format!("{there} archive")]);
    assert_eq!(deleted("--store archive"), [json!(there)]);
}
