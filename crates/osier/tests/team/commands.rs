//! `osier sessions` with a database store.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use osier_store::{FileStore, Store};
use osier_store_mysql::server::{MariaDbServer, PASSWORD};
use osier_store_mysql::{Credentials, Limits, MySqlStore};
use osier_testkit::expect;
use osier_tree::Header;
use serde_json::json;

use crate::database::create_database;
use crate::support::TestEnv;

/// A world with a store `team`, whose password is in a file.
async fn env_with_team() -> TestEnv {
    world_with_team_url().await.0
}

/// The same, with the URL of the store.
pub(crate) async fn world_with_team_url() -> (TestEnv, String) {
    add_team_store(TestEnv::new()).await
}

/// Adds the store `team` to the settings of a world. Returns its URL with the password.
pub(crate) async fn add_team_store(env: TestEnv) -> (TestEnv, String) {
    let url = create_database().await;
    (add_team_store_at(env, &url), url)
}

/// The same, for the database at this URL.
pub(crate) fn add_team_store_at(env: TestEnv, url: &str) -> TestEnv {
    let url = url.replace(&format!(":{PASSWORD}"), "");
    fs::create_dir_all(env.home()).unwrap();
    let (config, password) = (env.home().join("config.toml"), env.home().join("password"));
    fs::write(&password, format!("{PASSWORD}\n")).unwrap();
    fs::set_permissions(&password, fs::Permissions::from_mode(0o600)).unwrap();
    let settings = format!("[stores.team]\nurl = '{url}'\npassword_file = '{}'\n", password.display());
    let before = fs::read_to_string(&config).unwrap_or_default();
    fs::write(config, before + &settings).unwrap();
    env
}

fn new_session(env: &TestEnv, line: &str) -> String {
    env.json(&format!("append {line}"))["session"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_database_session_is_found_and_changed_with_any_store_option() {
    let env = env_with_team().await;
    let id = new_session(&env, "'hello team' --store team");
    let short = &id[..8];
    env.ok(&format!("append {short} --role assistant 'hello you'"));
    env.check(
        &[
            "list",
            &format!("rename {short} 'a talk' --store file"),
            &format!("context {short}"),
            &format!("move {short} root --expect root"),
            &format!("fork {short}"),
            &format!("verify {short}"),
            &format!("delete {short} --yes --store file"),
            &format!("delete {short} --yes --store team"),
            &format!("delete {id} --yes"),
            &format!("show {short}"),
        ],
        expect![[r#"
            $ list
            <1>  team  2 msg  now  hello team
            $ rename <1> 'a talk' --store file
            Renamed to a talk
            $ context <1>
            ── user
            hello team
            ── assistant
            hello you
            2 messages
            $ move <1> root --expect root
            ! osier: the leaf is now <2>; check the new entries, then try again
            exit 1
            $ fork <1>
            <3>
            $ verify <1>
            3 entries, no damage found
            $ delete <1> --yes --store file
            ! osier: <1> is in team, not in file
            ! <1>  team   now  a talk
            ! Deleted 1 session (3 entries) from team
            $ delete <1> --yes --store team
            ! no session <1>; it may already be deleted
            $ delete <1> --yes
            ! no session <1>; it may already be deleted
            $ show <1>
            ! osier: no session <1>; `osier sessions list --all` lists the sessions
            exit 1
        "#]],
    );
}

#[tokio::test]
async fn gc_of_a_database_session_keeps_its_old_rows() {
    let env = env_with_team().await;
    let id = new_session(&env, "hello --store team");
    let entry = env.json(&format!("append {id} more"))["id"].as_str().unwrap().to_owned();
    env.check(
        &[&format!("delete-branch {id} {entry}"), &format!("gc {id} --dry-run"), &format!("gc {id}")],
        expect![[r#"
            $ delete-branch <1> <2>
            ! Hid 1 entry; undo with `osier sessions restore-branch`
            ! Moved to <3>
            $ gc <1> --dry-run
            ! Would remove 2 entries and keep 1
            $ gc <1>
            ! Removed 2 entries, kept 1
            ! The old rows are kept in the database until the session is deleted
        "#]],
    );
}

#[tokio::test]
async fn a_session_copied_to_the_database_and_back_is_byte_identical() {
    let env = env_with_team().await;
    let id = new_session(&env, "hello");
    for at in 0..20 {
        env.ok(&format!("append {id} 'message {at} 🌳'"));
    }
    let file = env.session_files().remove(0);
    let lines = fs::read_to_string(&file).unwrap();
    fs::write(&file, lines.replacen('}', r#","unknown":{"to": "Osier"}}"#, 1)).unwrap();
    let before = fs::read(&file).unwrap();
    env.ok(&format!("copy {id} --to team"));
    env.ok(&format!("append {id} 'said in the team' --store team"));
    assert_eq!(env.json(&format!("copy {id} --to file --store team"))["copied"], 1);
    let after = fs::read(&file).unwrap();
    assert!(after.starts_with(&before) && after.ends_with(b"\n"));
    assert_eq!(env.json(&format!("delete {id} --yes --store file"))[0]["store"], "file");
    assert_eq!(env.json(&format!("copy {id} --to file"))["copied"], 22);
    assert!(fs::read(env.session_files().remove(0)).unwrap() == after);
}

#[tokio::test]
async fn a_database_session_that_is_open_elsewhere_is_not_deleted() {
    let (env, url) = world_with_team_url().await;
    let id = new_session(&env, "hello --store team");
    let elsewhere = MySqlStore::new("team", &Credentials::new(url), Limits::default()).unwrap();
    let _open = elsewhere.watch(&id).await.unwrap();
    env.check(
        &[&format!("delete {id} --yes"), &format!("delete {id} --yes --force")],
        expect![[r#"
            $ delete <1> --yes
            ! <1>  team   now  hello
            ! osier: session <1> is open in another process; close it there first; use --force to delete it anyway
            ! Deleted 0 sessions (0 entries)
            exit 1
            $ delete <1> --yes --force
            ! <1>  team   now  hello
            ! Deleted 1 session (1 entry) from team
        "#]],
    );
}

#[tokio::test]
async fn a_process_that_has_exited_has_no_session_open() {
    let env = env_with_team().await;
    let output = env.args(&["--store", "team", "--model", "offline", "-p", "hello"]);
    assert_eq!(output.code, 0, "{}", output.err);
    let id = env.json("list")[0]["id"].as_str().unwrap().to_owned();
    let output = env.args(&["--resume", &id, "--model", "nosuch", "-p", "hello"]);
    assert_eq!(output.code, 2, "{}", output.err);
    assert_eq!(env.json(&format!("delete {id} --yes"))[0]["deleted"], true);
}

/// Kills a copy several times at different stages; the last copy completes it.
#[tokio::test]
async fn a_killed_copy_can_be_resumed() {
    let (env, url) = world_with_team_url().await;
    let line = |at: usize| json!({ "type": "custom", "customType": "x", "id": format!("{at:08}"), "data": "x".repeat(400_000) });
    let lines: Vec<Vec<u8>> = (0..60).map(|at| line(at).to_string().into_bytes()).collect();
    let files = FileStore::new(env.home().join("sessions"), None);
    files.create(&Header::new("one", 0, "/code"), &lines).await.unwrap();
    let team = MySqlStore::new("team", &Credentials::new(url), Limits::default()).unwrap();
    for enough in [1, 10, 20, 30] {
        let mut copy = env.command();
        copy.args(["sessions", "copy", "one", "--to", "team", "--store", "file"]);
        let mut child = copy.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        while child.try_wait().unwrap().is_none() && entries(&team).await < enough {}
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(entries(&team).await >= enough);
    }
    let before = entries(&team).await;
    let copied = env.json("copy one --to team --store file");
    assert_eq!((&copied["entries"], &copied["copied"]), (&json!(60), &json!(60 - before)));
    let snapshot =
        |store: &str| env.json(&format!("snapshot one --no-context --store {store}"))["entries"].clone();
    assert!(snapshot("file") == snapshot("team"));
}

async fn entries(store: &MySqlStore) -> usize {
    store.open("one").await.map_or(0, |opened| opened.version.entries)
}

/// The server rejects six attempts, so the command waits for at least 0.3 s.
#[tokio::test]
async fn a_command_waits_until_a_server_of_a_cluster_is_ready() {
    let server = MariaDbServer::start(&[]).unwrap();
    create(&server, "osier_late").await;
    let env = add_team_store_at(TestEnv::new(), &server.url("osier_late"));
    let session = new_session(&env, "hello --store team");
    // Aria tables are not transactional, so these rows survive a rollback.
    run_sql(&server, "CREATE TABLE osier_late.tries (number INT) ENGINE=Aria").await;
    let trigger = "CREATE TRIGGER osier_late.failing BEFORE INSERT ON osier_late.osier_entries FOR EACH ROW
         IF (SELECT COUNT(*) FROM osier_late.tries) < 6 THEN
             INSERT INTO osier_late.tries VALUES (1);
             SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1047, MESSAGE_TEXT = 'not ready';
         END IF";
    run_sql(&server, trigger).await;
    env.ok(&format!("append {session} 'and on'"));
}

#[tokio::test]
async fn an_unreachable_server_is_reported_and_commands_work_once_it_is_back() {
    let server = MariaDbServer::start(&[]).unwrap();
    create(&server, "osier_gone").await;
    let env = add_team_store_at(TestEnv::new(), &server.url("osier_gone"));
    let (here, there) = (new_session(&env, "here"), new_session(&env, "there --store team"));
    server.kill().unwrap();
    let list = env.run("list");
    assert_eq!((list.code, list.out.lines().count()), (0, 1));
    assert!(list.err.starts_with("osier: store team cannot be reached: "), "{}", list.err);
    assert!(!list.err.contains(PASSWORD));
    env.ok(&format!("append {here} 'still here'"));
    assert!(env.fails(1, &format!("append {there} x")).contains("team is unavailable"));
    server.restart().unwrap();
    env.ok(&format!("append {there} 'and on'"));
    assert_eq!(env.json("list").as_array().unwrap().len(), 2);
}

pub(crate) async fn create(server: &MariaDbServer, database: &str) {
    run_sql(server, &format!("CREATE DATABASE {database}")).await;
}

async fn run_sql(server: &MariaDbServer, statement: &str) {
    use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection};
    let admin = server.url("mysql").replace("osier:", "admin:");
    let mut connection = MySqlConnection::connect(&admin).await.unwrap();
    connection.execute(AssertSqlSafe(statement)).await.unwrap();
}
