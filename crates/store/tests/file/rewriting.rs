//! Garbage collection and migration while others write: they replace the file and lose nothing.

use std::fs;
use std::path::Path;

use osier_store::file::verify;
use osier_store::{FileStore, LogVersion, Store, StoreError};
use osier_tree::SessionTree;
use osier_tree::entry::parse_entry;

use crate::process::{Job, Process};
use crate::support::{Home, append, chain, file_of, files_in, header, lines_of, link, message, read_data};

fn fold(lines: &[Vec<u8>]) -> SessionTree {
    let mut tree = SessionTree::default();
    for line in lines {
        tree.append(&parse_entry(line).unwrap(), 0, 0);
    }
    tree
}

/// The result of a garbage collection of the current log.
async fn collected(store: &FileStore, number: usize) -> Result<(LogVersion, Vec<Vec<u8>>), StoreError> {
    let version = store.open("one").await?.version;
    let lines = lines_of(store, "one").await;
    if lines.len() != version.entries {
        return Err(StoreError::Conflict { now: version });
    }
    let tree = fold(&lines);
    let lines = tree.gc(&tree.plan_gc(), &lines, 0, || format!("move{number:04}")).unwrap();
    Ok((version, lines))
}

/// Adds a deleted branch, so that there is something to collect.
async fn add_garbage(store: &FileStore, number: usize) {
    let branch = format!("junk{number:04}");
    let delete = format!(
        r#"{{"type":"custom","id":"dele{number:04}","parentId":"00000000","customType":"osier.delete_branch","data":{{"targetId":"{branch}"}}}}"#
    );
    append(store, "one", &[message(&branch, Some("00000000"), 1, "x"), delete.into_bytes()]).await.unwrap();
}

/// Retries until no other writer interferes.
async fn collect(store: &FileStore, number: usize) -> LogVersion {
    loop {
        let Ok((version, lines)) = collected(store, number).await else { continue };
        match store.rewrite("one", version, &lines).await {
            Ok(new) => {
                assert_ne!(new.generation, version.generation);
                return new;
            }
            Err(StoreError::Conflict { .. } | StoreError::Replaced) => {}
            Err(error) => panic!("{error}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn gc_loses_no_entries_of_running_writers() {
    const ROUNDS: usize = 30;
    let home = Home::new();
    let store = home.store();
    let path = store.create(&header("one"), &chain(1)).await.unwrap().file.unwrap();
    let job = |tag| Job { per_round: 6, sync_every: Some(4), ..Job::new(&home, "one", tag) };
    let mut writers: Vec<Process> = ["aaa", "bbb", "ccc"].map(|tag| Process::start(&job(tag))).into();
    for round in 0..ROUNDS {
        writers.iter_mut().for_each(Process::start_round);
        add_garbage(&store, round).await;
        collect(&store, round).await;
        writers.iter_mut().for_each(|writer| writer.wait_for(6 * (round + 1)));
    }
    let acked: Vec<String> = writers.into_iter().flat_map(Process::finish).collect();
    assert_eq!(acked.len(), 3 * 6 * ROUNDS);
    let found = verify(&path).unwrap();
    assert!(found.is_sound(), "{:?}", found.issues);
    for id in &acked {
        assert!(found.tree.find(id).is_some(), "acknowledged {id} is lost");
    }
    assert!((0..ROUNDS).all(|round| found.tree.find(&format!("junk{round:04}")).is_none()));
    assert_eq!(backups(&path), ROUNDS, "every old file has a backup");
    read_data(&store, "one").await.assert_same(&read_data(&home.uncached_store(), "one").await, "afterwards");
}

fn backups(path: &Path) -> usize {
    let files = files_in(path.parent().unwrap());
    files.iter().filter(|file| file.display().to_string().contains(".jsonl.bak")).count()
}

/// The header of a log that was rewritten `times` times.
fn rewritten(times: u32) -> Vec<u8> {
    osier_tree::Header { rewrite_count: times, ..header("one") }.to_line()
}

#[tokio::test]
async fn the_backup_of_a_rewrite_has_the_same_bytes() {
    let home = Home::new();
    let (path, id) = home.put(&file_of(&header("one").to_line(), &chain(3)));
    let store = home.store();
    let before = fs::read(&path).unwrap();
    let version = store.open(&id).await.unwrap().version;
    store.rewrite(&id, version, &chain(2)).await.unwrap();
    assert_eq!(fs::read(home.path("log.jsonl.bak")).unwrap(), before);
    assert_eq!(fs::read(&path).unwrap(), file_of(&rewritten(1), &chain(2)));
    let version = store.open(&id).await.unwrap().version;
    store.rewrite(&id, version, &chain(1)).await.unwrap();
    assert_eq!(fs::read(home.path("log.jsonl.bak")).unwrap(), before, "an older backup was overwritten");
    assert_eq!(fs::read(home.path("log.jsonl.bak.1")).unwrap(), file_of(&rewritten(1), &chain(2)));
}

#[tokio::test]
async fn a_refused_rewrite_leaves_no_files() {
    let home = Home::new();
    let (_, id) = home.put(&file_of(&header("one").to_line(), &chain(3)));
    let (store, other) = (home.store(), home.store());
    let version = store.open(&id).await.unwrap().version;
    append(&other, &id, &[link(3)]).await.unwrap();
    let before = files_in(&home.path(""));
    let refused = store.rewrite_in_use(&id, version, &chain(1)).await;
    assert!(matches!(refused, Err(StoreError::Conflict { now }) if now.entries == 4), "{refused:?}");
    assert_eq!(files_in(&home.path("")), before);
    assert_eq!(lines_of(&home.uncached_store(), &id).await, chain(4));
}

/// A last line without a newline is either an entry, which a rewrite must not lose, or torn, which must not stop it.
#[tokio::test]
async fn a_rewrite_checks_the_end_of_the_file() {
    let home = Home::new();
    let whole = file_of(&header("one").to_line(), &chain(2));
    let (path, id) = home.put(&whole);
    let store = home.store();
    let version = store.open(&id).await.unwrap().version;
    fs::write(&path, [whole.clone(), link(2)].concat()).unwrap();
    let refused = store.rewrite(&id, version, &chain(1)).await;
    assert!(matches!(refused, Err(StoreError::Conflict { now }) if now.entries == 3), "{refused:?}");
    let torn = [whole.clone(), link(2)[..30].to_vec()].concat();
    let (path, id) = (home.path("torn.jsonl"), home.path("torn.jsonl").display().to_string());
    fs::write(&path, &torn).unwrap();
    let version = store.open(&id).await.unwrap().version;
    store.rewrite(&id, version, &chain(1)).await.unwrap();
    assert_eq!(fs::read(home.path("torn.jsonl.bak")).unwrap(), torn, "the backup contains the torn line");
    assert_eq!(lines_of(&home.uncached_store(), &id).await, chain(1));
}

#[tokio::test]
async fn a_rewrite_through_a_symlink_replaces_the_file_and_keeps_the_link() {
    let home = Home::new();
    let (path, _) = home.put(&file_of(&header("one").to_line(), &chain(3)));
    let link = home.path("link.jsonl");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let id = link.display().to_string();
    let store = home.store();
    let version = store.open(&id).await.unwrap().version;
    store.rewrite(&id, version, &chain(1)).await.unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(fs::read(&path).unwrap(), file_of(&rewritten(1), &chain(1)));
    assert_eq!(fs::read(home.path("log.jsonl.bak")).unwrap(), file_of(&header("one").to_line(), &chain(3)));
}
