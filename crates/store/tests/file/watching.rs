//! Watching a log for changes, which also prevents its deletion.

use std::fs;
use std::time::Duration;

use osier_store::{FileStore, Store, StoreError, Watch};

use crate::process::{Job, Process};
use crate::support::{Home, append, chain, header, link};

/// Waits for notifications wait_for_entries the log has this many entries. Extra notifications are fine.
async fn wait_for_entries(watch: &mut Watch, store: &FileStore, entries: usize) {
    let seen = async {
        while store.open("one").await.unwrap().version.entries != entries {
            watch.changed().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), seen).await.expect("a notification within 60 s");
}

#[tokio::test]
async fn a_watch_reports_appends_of_another_process() {
    let home = Home::new();
    let store = home.store();
    store.create(&header("one"), &[]).await.unwrap();
    let mut watch = store.watch("one").await.unwrap();
    for plain in [false, true] {
        let before = store.open("one").await.unwrap().version.entries;
        let tag = if plain { "aaa" } else { "bbb" };
        let mut process = Process::start(&Job { per_round: 1, plain, ..Job::new(&home, "one", tag) });
        for entries in 1..5 {
            process.start_round();
            wait_for_entries(&mut watch, &store, before + entries).await;
        }
        assert_eq!(process.finish().len(), 4);
    }
}

#[tokio::test]
async fn a_watch_reports_a_rewrite_and_continues_after_it() {
    let home = Home::new();
    let (store, other) = (home.store(), home.store());
    let version = store.create(&header("one"), &chain(3)).await.unwrap().version;
    let mut watch = store.watch("one").await.unwrap();
    other.rewrite_in_use("one", version, &chain(1)).await.unwrap();
    wait_for_entries(&mut watch, &store, 1).await;
    append(&other, "one", &[link(1)]).await.unwrap();
    wait_for_entries(&mut watch, &store, 2).await;
}

#[tokio::test]
async fn a_watch_reports_a_deleted_file() {
    let home = Home::new();
    let store = home.store();
    let path = store.create(&header("one"), &chain(1)).await.unwrap().file.unwrap();
    let mut watch = store.watch("one").await.unwrap();
    fs::remove_file(path).unwrap();
    let seen = async {
        while store.open("one").await.is_ok() {
            watch.changed().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), seen).await.expect("a notification within 60 s");
}

#[tokio::test]
async fn a_watched_session_is_not_deleted() {
    let home = Home::new();
    let (store, other) = (home.store(), home.store());
    let path = store.create(&header("one"), &chain(2)).await.unwrap().file.unwrap();
    let watches = [store.watch("one").await.unwrap(), other.watch("one").await.unwrap()];
    for watch in watches {
        for store in [&store, &other] {
            let refused = store.delete("one").await;
            assert!(matches!(&refused, Err(StoreError::Busy { id }) if id == "one"), "{refused:?}");
        }
        assert!(path.exists());
        drop(watch);
    }
    assert!(other.delete("one").await.unwrap().deleted);
    assert!(!path.exists());
    for folder in ["index", "open", "previews"] {
        assert!(home.cached(folder).is_empty(), "{folder}");
    }
}

/// The system allows few watchers, often 128 for each user.
#[tokio::test]
async fn many_stores_share_a_watcher() {
    let homes: Vec<Home> = (0..200).map(|_| Home::new()).collect();
    let mut watches = Vec::new();
    for home in &homes {
        let store = home.store();
        store.create(&header("one"), &chain(1)).await.unwrap();
        watches.push(store.watch("one").await.unwrap());
    }
    let files = std::fs::read_dir("/proc/self/fd").into_iter().flatten().flatten();
    let links = files.filter_map(|file| std::fs::read_link(file.path()).ok());
    let watchers = links.filter(|link| link.to_string_lossy().contains("inotify")).count();
    assert!(watchers < 10, "{watchers}");
    for (home, watch) in homes.iter().zip(&mut watches) {
        append(&home.store(), "one", &[link(1)]).await.unwrap();
        let seen = tokio::time::timeout(Duration::from_secs(60), watch.changed()).await;
        assert!(seen.is_ok(), "a notification within 60 s");
    }
}

#[tokio::test]
async fn a_folder_with_two_paths_can_be_watched_through_both() {
    let home = Home::new();
    let store = home.store();
    let path = store.create(&header("one"), &chain(1)).await.unwrap().file.unwrap();
    let linked = home.path("linked");
    std::os::unix::fs::symlink(path.parent().unwrap(), &linked).unwrap();
    let linked_id = linked.join(path.file_name().unwrap()).display().to_string();
    let watches = [store.watch("one").await.unwrap(), store.watch(&linked_id).await.unwrap()];
    append(&home.store(), "one", &[link(1)]).await.unwrap();
    for mut watch in watches {
        let seen = tokio::time::timeout(Duration::from_secs(60), watch.changed()).await;
        assert!(seen.is_ok(), "a notification within 60 s");
    }
}
