//! Lists and cards: files are not read twice, and cached cards equal the cards made by reading.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};

use osier_store::{FileStore, SessionFilter, Store};
use osier_testkit::RandomLog;
use osier_tree::projection::card::Card;

use crate::support::{Home, INDEXED, append, chain, file_of, files_in, header, link, message};

async fn list(store: &FileStore) -> BTreeMap<String, Card> {
    let page = store.list(&SessionFilter::default()).await.unwrap();
    assert_eq!(page.unreadable, [] as [&str; 0]);
    assert!(!page.has_more);
    page.cards.into_iter().map(|card| (card.id.clone(), card)).collect()
}

/// Writes many small session files directly.
fn sessions(home: &Home, count: usize) -> PathBuf {
    let folder = home.store().session_folder(Path::new("/here"));
    fs::create_dir_all(&folder).unwrap();
    for at in 0..count {
        let name = format!("s{at:04}");
        let lines = RandomLog::new(at as u64, 5, at % 3 == 0).lines;
        fs::write(folder.join(format!("t_{name}.jsonl")), file_of(&header(&name).to_line(), &lines)).unwrap();
    }
    folder
}

/// Changes a file but keeps its inode, size and modification time.
fn tamper(path: &Path, old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    let bytes = fs::read(path).unwrap();
    let at = bytes
        .windows(old.len())
        .position(|part| part == old.as_bytes())
        .expect("the file contains the old text");
    let mut file = fs::OpenOptions::new().write(true).open(path).unwrap();
    let times = file.metadata().unwrap().modified().unwrap();
    file.seek(std::io::SeekFrom::Start(at as u64)).unwrap();
    file.write_all(new.as_bytes()).unwrap();
    file.set_modified(times).unwrap();
}

#[tokio::test]
async fn a_second_list_of_a_thousand_sessions_reads_none_of_them() {
    let home = Home::new();
    let folder = sessions(&home, 1000);
    let first = list(&home.store()).await;
    assert_eq!(first.len(), 1000);
    assert_eq!(first, list(&home.uncached_store()).await);
    for path in files_in(&folder) {
        tamper(&path, "\"cwd\":\"/here\"", "\"cwd\":\"/read\"");
    }
    assert_eq!(list(&home.store()).await, first, "a file was read again");
    assert!(
        list(&home.uncached_store()).await.values().all(|card| card.cwd == "/read"),
        "the files were changed"
    );
}

#[tokio::test]
async fn a_card_cached_by_a_writer_equals_the_card_of_the_file() {
    for seed in 0..30 {
        let home = Home::new();
        let log = RandomLog::new(seed, 40, seed % 2 == 0);
        let long = message("longlong", None, 0, &"x".repeat(if seed % 3 == 0 { INDEXED } else { 0 }));
        home.store().create(&header("one"), &[long]).await.unwrap();
        for lines in log.lines.chunks(9) {
            let store = home.store();
            append(&store, "one", lines).await.unwrap();
            let expected = home.uncached_store().card("one").await.unwrap();
            assert_eq!(store.card("one").await.unwrap(), expected, "seed {seed}, by the writer");
            drop(store);
            assert_eq!(list(&home.store()).await["one"], expected, "seed {seed}, in a list");
            assert_eq!(home.store().card("one").await.unwrap(), expected, "seed {seed}, by another");
        }
    }
}

#[tokio::test]
async fn the_card_of_a_large_file_that_grew_resumes_the_cached_one() {
    let home = Home::new();
    let long = message("longlong", None, 0, &"x".repeat(INDEXED));
    let lines = [chain(3), vec![long]].concat();
    let path = home.store().create(&header("one"), &lines).await.unwrap().file.unwrap();
    assert_eq!(list(&home.store()).await["one"].first_message, "message 0");
    tamper(&path, "message 0", "never see");
    let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(&[link(3), b"\n".to_vec()].concat()).unwrap();
    let card = list(&home.store()).await["one"].clone();
    assert_eq!(
        (&*card.first_message, card.message_count),
        ("message 0", 5),
        "the start of the file was read again"
    );
    assert_eq!(home.store().card("one").await.unwrap(), card);
    // A file that was rewritten in place did not grow.
    fs::write(&path, [fs::read(&path).unwrap(), file_of(&link(4), &[link(5)])].concat()).unwrap();
    let text = String::from_utf8(fs::read(&path).unwrap()).unwrap().replace("message 3", "a longer one");
    fs::write(&path, text).unwrap();
    assert_eq!(list(&home.store()).await, list(&home.uncached_store()).await);
}

#[tokio::test]
async fn cards_follow_moved_and_deleted_sessions() {
    let home = Home::new();
    let folder = sessions(&home, 20);
    list(&home.store()).await;
    fs::remove_file(folder.join("t_s0003.jsonl")).unwrap();
    fs::rename(folder.join("t_s0004.jsonl"), folder.join("t_s0005.jsonl")).unwrap();
    assert_eq!(list(&home.store()).await, list(&home.uncached_store()).await);
    let moved = Home::new();
    fs::rename(home.sessions(), moved.sessions()).unwrap();
    fs::rename(home.caches(), moved.caches()).unwrap();
    assert_eq!(list(&moved.store()).await, list(&moved.uncached_store()).await, "in another folder");
    assert_eq!(list(&home.store()).await, BTreeMap::new());
}

#[tokio::test]
async fn a_short_list_is_a_prefix_of_the_long_one() {
    let home = Home::new();
    for at in [3, 1, 4, 0, 2] {
        let line = message("11111111", None, at, "x");
        home.store().create(&header(&format!("s{at}")), &[line]).await.unwrap();
    }
    let store = home.store();
    let long = store.list(&SessionFilter::default()).await.unwrap();
    for skip in 0..6 {
        for limit in 0..6 {
            let filter = SessionFilter { skip, limit: Some(limit), ..SessionFilter::default() };
            for store in [&store, &home.uncached_store()] {
                let page = store.list(&filter).await.unwrap();
                let expected: Vec<Card> = long.cards.iter().skip(skip).take(limit).cloned().collect();
                assert_eq!(
                    (page.cards, page.has_more),
                    (expected, skip + limit < 5),
                    "skip {skip}, limit {limit}"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_card_cache_does_not_grow_without_bound() {
    let home = Home::new();
    home.store().create(&header("one"), &[]).await.unwrap();
    for at in 0..200 {
        // A store caches the cards of its sessions when it is dropped.
        append(&home.store(), "one", &[link(at)]).await.unwrap();
    }
    let lines = || fs::read_to_string(&home.cached("cards")[0]).unwrap().lines().count();
    assert!((1..100).contains(&lines()), "{} lines", lines());
    assert_eq!(list(&home.store()).await["one"].entry_count, 200);
    assert_eq!(list(&home.store()).await, list(&home.uncached_store()).await);
}

#[tokio::test]
async fn no_text_of_a_session_survives_its_deletion() {
    let home = Home::new();
    let store = home.store();
    let opened = store.create(&header("one"), &[message("11111111", None, 0, "my secret")]).await.unwrap();
    list(&store).await;
    let now = store
        .rewrite("one", opened.version, &[message("11111111", None, 0, "my secret again")])
        .await
        .unwrap();
    assert_eq!(now.entries, 1);
    drop(store);
    list(&home.store()).await;
    assert!(home.store().delete("one").await.unwrap().deleted);
    let left =
        std::process::Command::new("grep").args(["-rl", "secret"]).arg(home.path("")).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&left.stdout), "");
}

/// Simulates a folder on a file server that does not release: the only thread for blocking work is occupied.
#[test]
fn a_folder_that_does_not_answer_blocks_nothing_else() {
    let home = Home::new();
    sessions(&home, 3);
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (release, waits) = std::sync::mpsc::channel::<()>();
        let occupied = tokio::task::spawn_blocking(move || waits.recv());
        let store = std::sync::Arc::new(home.store());
        let (finds, lists, opens, deletes) = (store.clone(), store.clone(), store.clone(), store.clone());
        let found = tokio::spawn(async move { finds.find_ids("s000").await.unwrap() });
        let listed = tokio::spawn(async move { list(&lists).await });
        let opened = tokio::spawn(async move { opens.open("s0001").await.unwrap() });
        let deleted = tokio::spawn(async move { deletes.delete("missing").await.unwrap() });
        // These tasks cannot make progress, no matter how long they run; this one can.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let done = [found.is_finished(), listed.is_finished(), opened.is_finished(), deleted.is_finished()];
        assert_eq!(done, [false; 4], "a task did not wait for the blocking thread");
        release.send(()).unwrap();
        occupied.await.unwrap().unwrap();
        assert_eq!((found.await.unwrap().len(), listed.await.unwrap().len()), (3, 3));
        assert_eq!((&*opened.await.unwrap().header.id, deleted.await.unwrap().deleted), ("s0001", false));
    });
}
