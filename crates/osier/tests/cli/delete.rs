//! `delete`: one session, several, and open ones.

use std::fs;
use std::sync::Arc;

use osier_session::{Session, SessionEnv};
use osier_store::FileStore;
use osier_testkit::{ScriptedSession, expect};
use serde_json::json;

use crate::support::TestEnv;

/// Creates a session of this directory whose last message is this many days old.
fn create_aged_session(env: &TestEnv, id: &str, days: i64) {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as i64;
    let then = now - days * 86_400_000;
    let time = osier_tree::time::format(then);
    let file = String::from_utf8(ScriptedSession::run(&format!("say {id}")).file()).unwrap();
    let file = file
        .replace("5e551011-0000-4000-8000-000000000001", &format!("{id}-0000"))
        .replace("2026-01-01T00:00:00.000Z", &time)
        .replace("1767225600000", &then.to_string())
        .replace("\"/code\"", &json!(env.cwd()).to_string());
    let folder = FileStore::new(env.home().join("sessions"), None).session_folder(&env.cwd());
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(format!("{}_{id}-0000.jsonl", time.replace([':', '.'], "-"))), file).unwrap();
}

fn remaining_sessions(env: &TestEnv) -> Vec<String> {
    let cards = env.json("list --subagents");
    cards.as_array().unwrap().iter().map(|card| card["shortId"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn delete_needs_confirmation() {
    let env = TestEnv::new();
    let id = env.json("append hello")["session"].as_str().unwrap().to_owned();
    env.check(
        &[&format!("delete {}", &id[..8])],
        expect![[r#"
        $ delete <1>
        ! <1>   now  hello
        ! osier: cannot ask for confirmation without a terminal; add --yes to delete
        exit 2
    "#]],
    );
    assert_eq!(remaining_sessions(&env).len(), 1);
    env.check(
        &[&format!("delete {} --yes", &id[..8]), "list"],
        expect![[r#"
            $ delete <1> --yes
            ! <1>   now  hello
            ! Deleted 1 session (1 entry)
            $ list
            ! no sessions in this directory; --all includes other directories
        "#]],
    );
    assert_eq!(env.session_files().len(), 0);
    env.check(
        &[&format!("delete {id} --yes"), &format!("delete {} --yes --json", &id[..8]), "delete zz --yes"],
        expect![[r#"
            $ delete <1> --yes
            ! no session <1>; it may already be deleted
            $ delete <1> --yes --json
            [{"session":"<1>","agentId":null,"store":null,"deleted":false,"counts":{"sessions":0,"entries":0}}]
            $ delete zz --yes
            ! osier: no session zz; `osier sessions list --all` lists the sessions
            exit 1
        "#]],
    );
}

#[test]
fn file_is_deleted_by_its_path_and_a_missing_file_is_an_error() {
    let env = TestEnv::with("say a; reply b");
    let delete_report = env.json("delete s.jsonl s.jsonl --yes");
    assert_eq!(
        delete_report,
        json!([{
            "session": "5e551011-0000-4000-8000-000000000001",
            "agentId": "main",
            "store": "file",
            "deleted": true,
            "counts": { "sessions": 1, "entries": 2 },
        }])
    );
    assert!(!env.path("s.jsonl").exists());
    assert_eq!(env.fails(1, "delete s.jsonl --yes"), "osier: no file s.jsonl\n");
}

#[test]
fn unknown_session_among_several_deletes_none() {
    let env = TestEnv::with("say a");
    env.fails(1, "delete s.jsonl nowhere.jsonl --yes");
    assert!(env.path("s.jsonl").exists());
}

#[test]
fn old_sessions_are_listed_then_deleted() {
    let env = TestEnv::new();
    create_aged_session(&env, "aaaaaaaa", 1);
    create_aged_session(&env, "bbbbbbbb", 40);
    create_aged_session(&env, "cccccccc", 400);
    let output = env.run("delete --older-than 30d");
    assert_eq!(output.code, 2);
    let rows: Vec<&str> = output.err.lines().collect();
    assert_eq!(
        rows,
        [
            "bbbbbbbb    5w  bbbbbbbb",
            "cccccccc    1y  cccccccc",
            "osier: cannot ask for confirmation without a terminal; add --yes to delete"
        ]
    );
    assert_eq!(remaining_sessions(&env).len(), 3);
    let output = env.run("delete --older-than 30d --yes");
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.err.ends_with("\nDeleted 2 sessions (2 entries)\n"), "{}", output.err);
    assert_eq!(remaining_sessions(&env), ["aaaaaaaa"]);
    assert_eq!(env.json("delete --older-than 30d --yes"), json!([]));
}

#[test]
fn recent_fork_of_an_old_session_is_kept() {
    let env = TestEnv::new();
    create_aged_session(&env, "bbbbbbbb", 40);
    let fork = env.ok("fork bbbbbbbb").trim().to_owned();
    env.ok("delete --older-than 30d --yes");
    assert_eq!(remaining_sessions(&env), [&fork[..8]]);
}

/// A process that has a session open holds a shared lock on it.
#[tokio::test]
async fn open_sessions_are_kept() {
    let env = TestEnv::new();
    create_aged_session(&env, "bbbbbbbb", 40);
    create_aged_session(&env, "cccccccc", 400);
    let store = Arc::new(FileStore::new(env.home().join("sessions"), Some(env.home().join("cache"))));
    let open = Session::open(store, "bbbbbbbb-0000", SessionEnv::default()).await.unwrap();
    let output = env.run("delete --older-than 30d --yes");
    assert_eq!(output.code, 0, "{}", output.err);
    assert!(output.err.contains("is open in another process"), "{}", output.err);
    assert_eq!(remaining_sessions(&env), ["bbbbbbbb"]);
    let output = env.run("delete bbbbbbbb --yes");
    assert_eq!(output.code, 1, "keeping a named session is a failure");
    assert_eq!(env.json("delete bbbbbbbb --yes --force")[0]["deleted"], json!(true));
    let failed = open.rename("too late").await.unwrap_err();
    assert_eq!(failed.code().name(), "session_not_found", "{failed}");
    assert!(env.session_files().is_empty());
}

/// The session of a sub-agent names the call of its parent; a fork names only the parent.
#[test]
fn sub_agent_sessions_are_deleted_with_their_parent_and_forks_are_kept() {
    let env = TestEnv::new();
    create_aged_session(&env, "bbbbbbbb", 1);
    create_aged_session(&env, "cccccccc", 2);
    create_aged_session(&env, "dddddddd", 3);
    let fork = env.ok("fork bbbbbbbb").trim().to_owned();
    for (id, parent) in [("cccccccc", "bbbbbbbb-0000"), ("dddddddd", "cccccccc-0000")] {
        let file = env.session_files().into_iter().find(|file| file.to_string_lossy().contains(id)).unwrap();
        let text = fs::read_to_string(&file).unwrap();
        let header = format!(r#""parentSessionId":"{parent}","agentId":"{id}","parentToolCallId":"c","cwd""#);
        fs::write(&file, text.replacen("\"cwd\"", &header, 1)).unwrap();
    }
    let delete_report = env.json("delete bbbbbbbb --yes");
    let agents: Vec<&str> =
        delete_report.as_array().unwrap().iter().map(|one| one["agentId"].as_str().unwrap()).collect();
    assert_eq!(agents, ["main", "cccccccc", "dddddddd"], "parents come first");
    assert_eq!(remaining_sessions(&env), [&fork[..8]]);
}

/// Sub-agents belong to the session in the store, not to a copy of its file.
#[test]
fn deleting_a_copy_by_path_keeps_the_sub_agents_of_the_original() {
    let env = TestEnv::new();
    create_aged_session(&env, "bbbbbbbb", 1);
    create_aged_session(&env, "cccccccc", 2);
    let files = env.session_files();
    let of = |id: &str| files.iter().find(|file| file.to_string_lossy().contains(id)).unwrap().clone();
    let helper = of("cccccccc");
    let text = fs::read_to_string(&helper).unwrap();
    let header = r#""parentSessionId":"bbbbbbbb-0000","agentId":"helper","parentToolCallId":"c","cwd""#;
    fs::write(&helper, text.replacen("\"cwd\"", header, 1)).unwrap();
    fs::copy(of("bbbbbbbb"), env.path("copy.jsonl")).unwrap();
    let delete_report = env.json("delete copy.jsonl --yes");
    assert_eq!(delete_report.as_array().unwrap().len(), 1, "{delete_report}");
    assert!(!env.path("copy.jsonl").exists());
    assert_eq!(remaining_sessions(&env), ["bbbbbbbb", "cccccccc"]);
}

#[test]
fn kept_outputs_go_with_their_session_and_not_with_a_copy_of_it() {
    let server = crate::run_support::ModelServer::new();
    let env = server.env();
    let running = crate::run_support::RunningCommand::start(crate::run_support::osier_command(
        &env,
        &["-p", "--approval", "yolo", "count"],
    ));
    server.next_request().reply_with_call("bash", &serde_json::json!({ "command": "seq 1 50000" }));
    server.next_request().reply("Done.");
    running.wait();
    let kept = || crate::support::files_in(&env.home().join("cache").join("output"));
    assert_eq!(kept().len(), 1);
    let session = env.session_file();
    fs::copy(&session, env.path("copy.jsonl")).unwrap();
    env.ok("delete copy.jsonl --yes");
    assert_eq!(kept().len(), 1);
    env.ok(&format!("delete {} --yes", session.display()));
    assert_eq!(kept(), [] as [std::path::PathBuf; 0]);
}
