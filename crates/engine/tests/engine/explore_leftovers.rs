//! What dead processes leave of explores: locks, copies without tries, copies of deleted sessions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use osier_engine::{ConfiguredStore, Engine, EngineConfig, ListOptions, LocalClient};
use osier_protocol::{Client, SessionQuery};
use osier_tree::projection::card::Card;

use crate::explore::{Explorer, reconnect};
use crate::support::TestEngine;

#[tokio::test]
async fn a_lock_that_a_dead_process_left_and_others_that_look_are_not_in_the_way() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("read a.txt", &["write a.txt first", "write c.txt second"]).await;
    let folder = PathBuf::from(&explorer.engine.engine.list_explores()[0].folder);
    for name in ["index", "index-1", "index-2", "index-user"] {
        fs::write(folder.join("base.git").join(format!("{name}.lock")), "").unwrap();
    }
    let looks: Vec<_> = (0..8).map(|_| explorer.reports()).collect();
    for reports in futures_util::future::join_all(looks).await {
        assert_eq!(reports[0].tries.iter().map(|one| one.files_changed).collect::<Vec<_>>(), [1, 1]);
    }
    let query = SessionQuery::CompareTries { explore: None, left: 1, right: 2 };
    assert!(explorer.client.query(query).await.is_ok());
    assert!(explorer.keep(1).await.unwrap().kept);
    let temporary = fs::read_dir(folder.join("base.git")).unwrap().flatten();
    let left: Vec<_> =
        temporary.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("index-")), "{left:?}");
}

#[tokio::test]
async fn a_change_of_the_same_size_right_after_the_last_look_is_seen() {
    let explorer = Explorer::in_repository().await;
    let report = explorer.explore("read a.txt", &["write c.txt one"]).await;
    let copy = PathBuf::from(report.tries[0].folder.as_ref().unwrap());
    for text in ["two", "six", "ten"] {
        explorer.reports().await;
        fs::write(copy.join("c.txt"), text).unwrap();
        explorer.keep(1).await.unwrap();
        assert_eq!(explorer.file("c.txt"), text);
        fs::remove_file(explorer.project.join("c.txt")).unwrap();
    }
}

/// Closes the session, so that it can be deleted. Returns the rest.
async fn close_session(explorer: Explorer) -> (TestEngine, String, PathBuf) {
    let Explorer { engine, live, client, .. } = explorer;
    let (id, file) = (live.session().id().to_owned(), live.session().file().unwrap().to_owned());
    let closed = Arc::downgrade(&live);
    drop((live, client));
    while closed.upgrade().is_some() || engine.engine.live_session("file", &id).is_some() {
        tokio::task::yield_now().await;
    }
    (engine, id, file)
}

#[tokio::test]
async fn deleting_again_removes_the_copies_that_an_interrupted_deletion_left() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("answer x", &["", ""]).await;
    let (engine, id, file) = close_session(explorer).await;
    let stored = engine.engine.list_explores().remove(0);
    assert!(!engine.engine.remove_orphaned_explore(&stored, None).await.unwrap(), "its session exists");
    fs::remove_file(file).unwrap();
    let plan = engine.engine.plan_delete_with_missing(Vec::new(), &["other".to_owned()]).await.unwrap();
    engine.engine.delete(&plan, false).await.unwrap();
    assert!(Path::new(&stored.folder).exists());
    // Users know only the beginning of an id.
    let plan = engine.engine.plan_delete_with_missing(Vec::new(), &[id[..8].to_owned()]).await.unwrap();
    assert_eq!(plan.missing, [id]);
    engine.engine.delete(&plan, false).await.unwrap();
    assert!(!Path::new(&stored.folder).exists() && engine.engine.list_explores().is_empty());
}

#[tokio::test]
async fn the_copies_of_a_session_that_no_longer_exists_can_be_removed() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("answer x", &["", ""]).await;
    let (engine, _, file) = close_session(explorer).await;
    fs::remove_file(file).unwrap();
    let stored = engine.engine.list_explores().remove(0);
    assert!(engine.engine.remove_orphaned_explore(&stored, Some(3)).await.is_err());
    assert!(engine.engine.remove_orphaned_explore(&stored, Some(1)).await.unwrap());
    let folder = Path::new(&stored.folder);
    assert!(!folder.join("1").exists() && folder.join("2").exists(), "only the copy of this try");
    assert!(engine.engine.remove_orphaned_explore(&stored, None).await.unwrap());
    assert!(!folder.exists());
}

#[tokio::test]
async fn copies_of_tries_that_never_started_are_removed() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("answer x", &[""]).await;
    let folder = PathBuf::from(&explorer.engine.engine.list_explores()[0].folder);
    let worktrees = folder.parent().unwrap().to_owned();
    let id = folder.file_name().unwrap().to_str().unwrap().to_owned();
    // A process died while it made the copies: there is a record, and nothing in the log.
    let unstarted = worktrees.join("abcd0001");
    assert!(Command::new("cp").arg("-a").args([&folder, &unstarted]).status().unwrap().success());
    let record = fs::read_to_string(folder.join("explore.json")).unwrap();
    let record = record.replace(&id, "abcd0001").replace("\"running\":false", "\"running\":true");
    let record = record.replace("\"started\":true", "\"started\":false");
    fs::write(unstarted.join("explore.json"), record).unwrap();
    // Others died while they removed a folder, or before they wrote its record.
    fs::create_dir_all(worktrees.join("abcd0002.removed/1")).unwrap();
    fs::create_dir_all(worktrees.join("abcd0003/1")).unwrap();
    fs::write(worktrees.join("abcd0003/lock"), "").unwrap();
    let [old, new] = ["abcd0004.new", "abcd0005.new"].map(|name| worktrees.join(name));
    for folder in [&old, &new] {
        fs::create_dir_all(folder.join("1")).unwrap();
        fs::write(folder.join("lock"), "").unwrap();
    }
    let two_hours = std::time::SystemTime::now() - std::time::Duration::from_secs(7200);
    fs::File::open(&old).unwrap().set_modified(two_hours).unwrap();
    let listed: Vec<String> = explorer.engine.engine.list_explores().into_iter().map(|one| one.id).collect();
    assert_eq!(listed.len(), 2, "{listed:?}");
    let session = explorer.live.session().id().to_owned();
    let Explorer { engine, live, client, project } = explorer;
    let closed = Arc::downgrade(&live);
    drop((live, client));
    while closed.upgrade().is_some() {
        tokio::task::yield_now().await;
    }
    let live = engine.open(&session).await;
    let client = reconnect(&engine, &session, &project).await;
    assert!(!unstarted.exists(), "the next agent of the session removes it");
    let explorer = Explorer { engine, project, live, client };
    explorer.explore("answer x", &[""]).await;
    assert!(new.exists() && !old.exists(), "another process may be creating the new one");
    fs::remove_dir_all(new).unwrap();
    let mut left: Vec<_> =
        fs::read_dir(&worktrees).unwrap().flatten().map(|entry| entry.file_name()).collect();
    left.sort();
    let mut expected: Vec<_> =
        explorer.engine.engine.list_explores().iter().map(|one| one.id.clone().into()).collect();
    expected.sort();
    assert_eq!((left.len(), left), (2, expected));
}

/// An engine that also has the store `archive`, which contains a copy of a session. Returns the card of the copy.
async fn with_archived_copy(engine: &TestEngine, file: &Path) -> (Engine, Card) {
    let archive = engine.folder.path().join("archive");
    let relative = file.strip_prefix(engine.folder.path().join("sessions").canonicalize().unwrap());
    let copy = archive.join(relative.unwrap_or(Path::new("copy.jsonl")));
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(file, copy).unwrap();
    let mut config = EngineConfig::clone(engine.engine.config());
    let (name, caches) = ("archive".to_owned(), engine.folder.path().join("cache-archive"));
    config.tool_outputs = Some(engine.folder.path().join("outputs"));
    config.stores.push(ConfiguredStore::Files { name, folder: archive, caches, is_own: false });
    let engine = engine.engine.with_config(config);
    let options = ListOptions { store: Some("archive".to_owned()), ..ListOptions::default() };
    let card = engine.list(&options).await.unwrap().cards.remove(0);
    (engine, card)
}

#[tokio::test]
async fn deleting_a_copy_of_a_session_leaves_the_explores_and_outputs_of_the_original() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("answer x", &["", ""]).await;
    let (engine, id, file) = close_session(explorer).await;
    let (both, copy) = with_archived_copy(&engine, &file).await;
    let outputs = both.config().tool_outputs.clone().unwrap().join(&id);
    fs::create_dir_all(&outputs).unwrap();
    let folder = PathBuf::from(&both.list_explores()[0].folder);
    assert_eq!((&copy.id, &*copy.store), (&id, "archive"));

    let plan = both.plan_delete_with_missing(Vec::new(), std::slice::from_ref(&id)).await.unwrap();
    assert_eq!(both.delete(&plan, false).await.unwrap().deleted.len(), 0, "the id is not missing");
    assert!(folder.exists() && outputs.exists());

    let plan = both.plan_delete(vec![copy]).await.unwrap();
    assert_eq!(both.delete(&plan, false).await.unwrap().deleted.len(), 1);
    assert!(file.exists() && folder.join("1").exists() && outputs.exists());

    let card = engine.find(&id).await.card().await.unwrap();
    let plan = both.plan_delete(vec![card]).await.unwrap();
    assert_eq!(both.delete(&plan, false).await.unwrap().deleted.len(), 1);
    assert!(!folder.exists() && !outputs.exists());
}

#[tokio::test]
async fn deleting_a_session_leaves_the_folder_of_an_explore_that_another_process_uses() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("answer x", &["", ""]).await;
    let (engine, id, _) = close_session(explorer).await;
    let folder = PathBuf::from(&engine.engine.list_explores()[0].folder);
    let lock = fs::File::options().write(true).open(folder.join("lock")).unwrap();
    lock.lock().unwrap();
    let card = engine.find(&id).await.card().await.unwrap();
    let plan = engine.engine.plan_delete(vec![card]).await.unwrap();
    let report = engine.engine.delete(&plan, true).await.unwrap();
    assert_eq!((report.deleted.len(), report.outputs_left.len()), (1, 1));
    assert!(folder.join("1").exists());
    lock.unlock().unwrap();
    let plan = engine.engine.plan_delete_with_missing(Vec::new(), &[id]).await.unwrap();
    engine.engine.delete(&plan, false).await.unwrap();
    assert!(!folder.exists());
}

/// Makes the record of an explore say what it says when a process dies.
fn write_dead_record(folder: &Path, has_started: bool) {
    let file = folder.join("explore.json");
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    (record["running"], record["started"]) = (true.into(), has_started.into());
    fs::write(file, record.to_string()).unwrap();
}

async fn close_client(engine: &TestEngine, client: LocalClient) {
    let key = client.live().session().key().to_owned();
    drop(client);
    while engine.engine.live_session("file", &key).is_some() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn opening_a_copy_of_a_session_leaves_the_copies_of_an_explore_that_died() {
    let explorer = Explorer::in_repository().await;
    explorer.explore("answer first", &["", ""]).await;
    let file = explorer.live.session().file().unwrap().to_owned();
    let backup = explorer.engine.folder.path().join("backup.jsonl");
    fs::copy(&file, &backup).unwrap();
    explorer.explore("answer second", &["", ""]).await;
    let project = explorer.project.clone();
    let (engine, id, _) = close_session(explorer).await;
    let [_, second] = engine.engine.list_explores().try_into().unwrap();
    let folder = PathBuf::from(&second.folder);
    for has_started in [true, false] {
        write_dead_record(&folder, has_started);
        let before = fs::read(folder.join("explore.json")).unwrap();
        let client = reconnect(&engine, backup.to_str().unwrap(), &project).await;
        assert!(folder.join("1").exists() && folder.join("2").exists());
        assert_eq!(fs::read(folder.join("explore.json")).unwrap(), before);
        close_client(&engine, client).await;
        let client = reconnect(&engine, &id, &project).await;
        assert_eq!(folder.join("1").exists(), has_started, "only the original removes what never started");
        close_client(&engine, client).await;
    }
}
