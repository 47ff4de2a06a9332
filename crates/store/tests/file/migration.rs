//! Files of pi's versions 1 and 2: reading does not change them; the first append replaces them and keeps a backup.

use std::fs;
use std::path::{Path, PathBuf};

use osier_store::file::verify;
use osier_store::{Store, StoreError};
use osier_tree::entry::parse_entry;

use crate::process::{Job, Process};
use crate::support::{Home, append, files_in, lines_of, link, read_data};

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/pi");
    fs::read(folder.join(name)).unwrap()
}

fn ids(lines: &[Vec<u8>]) -> Vec<String> {
    lines.iter().map(|line| parse_entry(line).unwrap().id.into_owned()).collect()
}

fn version_2() -> Vec<u8> {
    let file = String::from_utf8(fixture("v3-1.5.0-v1-migrated.jsonl")).unwrap();
    file.replace("\"version\":3", "\"version\":2")
        .replace("\"role\":\"custom\"", "\"role\":\"hookMessage\"")
        .into_bytes()
}

#[tokio::test]
async fn reading_an_old_file_does_not_change_it_and_always_gives_the_same_ids() {
    for old in [fixture("v1-linear.jsonl"), version_2()] {
        let home = Home::new();
        let (path, id) = home.put(&old);
        let first = read_data(&home.store(), &id).await;
        assert_eq!((first.entries, first.odd), (9, 0));
        read_data(&home.store(), &id).await.assert_same(&first, "read again");
        read_data(&home.uncached_store(), &id).await.assert_same(&first, "without caches");
        assert!(verify(&path).unwrap().is_sound());
        assert_eq!(fs::read(&path).unwrap(), old, "reading changed the file");
        assert_eq!(files_in(path.parent().unwrap()).len(), 1 + usize::from(home.caches().exists()));
    }
}

#[tokio::test]
async fn the_first_append_replaces_an_old_file_and_keeps_a_backup() {
    for (old, suffix) in [(fixture("v1-linear.jsonl"), "v1.bak"), (version_2(), "v2.bak")] {
        let home = Home::new();
        let (path, id) = home.put(&old);
        let store = home.store();
        let before = read_data(&store, &id).await;
        let version = store.open(&id).await.unwrap().version;
        let now = store.append(&id, version, &[link(0)]).await.unwrap();
        assert_eq!(now.entries, 10);
        assert_ne!(now.generation, version.generation);
        assert_eq!(fs::read(home.path(&format!("log.jsonl.{suffix}"))).unwrap(), old);
        let after = read_data(&home.uncached_store(), &id).await;
        assert_eq!(ids(&after.lines)[..9], ids(&before.lines));
        assert_eq!(after.lines[..9], before.lines);
        assert_eq!((after.header.version, &after.header.id), (3, &before.header.id));
        read_data(&store, &id).await.assert_same(&after, "by the writer");
        store.append(&id, now, &[link(1)]).await.unwrap();
        assert!(verify(&path).unwrap().is_sound());
        assert_eq!(backups(&path), 1, "the file is replaced once");
    }
}

fn backups(path: &Path) -> usize {
    let files: Vec<PathBuf> = files_in(path.parent().unwrap());
    files.iter().filter(|file| file.display().to_string().contains(".bak")).count()
}

#[tokio::test]
async fn eight_processes_that_append_to_an_old_file_lose_nothing() {
    for _ in 0..5 {
        let home = Home::new();
        let old = fixture("v1-linear.jsonl");
        let (path, id) = home.put(&old);
        let before = ids(&lines_of(&home.uncached_store(), &id).await);
        let job = |at| Job { per_round: 4, ..Job::new(&home, &id, &format!("w{at:02}")) };
        let mut writers: Vec<Process> = (0..8).map(|at| Process::start(&job(at))).collect();
        writers.iter_mut().for_each(Process::start_round);
        let acked: Vec<String> = writers.into_iter().flat_map(Process::finish).collect();
        assert_eq!(acked.len(), 32);
        let found = verify(&path).unwrap();
        assert!(found.is_sound(), "{:?}", found.issues);
        for id in before.iter().chain(&acked) {
            assert!(found.tree.find(id).is_some(), "{id} is lost");
        }
        assert_eq!(fs::read(home.path("log.jsonl.v1.bak")).unwrap(), old);
        assert_eq!(backups(&path), 1, "the file is replaced once");
    }
}

#[tokio::test]
async fn an_old_file_that_grows_while_open_is_read_again() {
    let home = Home::new();
    let old = String::from_utf8(fixture("v1-linear.jsonl")).unwrap();
    let lines: Vec<&str> = old.split_inclusive('\n').collect();
    let (path, id) = home.put(lines[..6].concat().as_bytes());
    let store = home.store();
    let opened = store.open(&id).await.unwrap().version;
    assert_eq!(opened.entries, 5);
    fs::write(&path, &old).unwrap();
    let late = store.append(&id, opened, &[link(0)]).await;
    assert!(matches!(late, Err(StoreError::Conflict { .. } | StoreError::Replaced)), "{late:?}");
    read_data(&store, &id).await.assert_same(&read_data(&home.uncached_store(), &id).await, "after it grew");
    append(&store, &id, &[link(0)]).await.unwrap();
    assert_eq!(lines_of(&home.uncached_store(), &id).await.len(), 10);
    assert_eq!(fs::read(home.path("log.jsonl.v1.bak")).unwrap(), old.as_bytes());
}

/// When pi opens the file, it rewrites it in place with its own ids.
#[tokio::test]
async fn an_old_file_that_pi_migrates_while_open_is_another_log() {
    let home = Home::new();
    let (path, id) = home.put(&fixture("v1-linear.jsonl"));
    let store = home.store();
    let opened = store.open(&id).await.unwrap().version;
    fs::write(&path, fixture("v3-1.5.0-v1-migrated.jsonl")).unwrap();
    let late = store.append(&id, opened, &[link(0)]).await;
    assert!(matches!(late, Err(StoreError::Replaced)), "{late:?}");
    assert_ne!(store.open(&id).await.unwrap().version.generation, opened.generation);
    read_data(&store, &id)
        .await
        .assert_same(&read_data(&home.uncached_store(), &id).await, "after pi migrated it");
    append(&store, &id, &[link(0)]).await.unwrap();
    assert!(lines_of(&home.uncached_store(), &id).await.len() == 10 && backups(&path) == 0);
}

#[tokio::test]
async fn garbage_collection_migrates_an_old_file() {
    let home = Home::new();
    let (path, id) = home.put(&fixture("v1-linear.jsonl"));
    let store = home.store();
    let before = lines_of(&store, &id).await;
    let version = store.open(&id).await.unwrap().version;
    store.rewrite(&id, version, &before[..8]).await.unwrap();
    let after = read_data(&home.uncached_store(), &id).await;
    assert_eq!((after.header.version, after.lines), (3, before[..8].to_vec()));
    assert!(verify(&path).unwrap().is_sound());
    assert_eq!(fs::read(home.path("log.jsonl.bak")).unwrap(), fixture("v1-linear.jsonl"));
}

#[tokio::test]
async fn reading_a_missing_entry_of_an_old_file_is_an_error() {
    let home = Home::new();
    let (_, id) = home.put(&fixture("v1-linear.jsonl"));
    let store = home.store();
    let version = store.open(&id).await.unwrap().version;
    let mut batch = osier_store::LineBatch::default();
    let line = store.lines(&id, version.generation, &[osier_tree::Seq::new(9)], &mut batch).await;
    assert!(matches!(line, Err(StoreError::NoSuchEntry { seq: 9 })), "{line:?}");
}
