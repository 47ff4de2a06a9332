//! Logs that grow, written by this process and by others: caches are extended.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use osier_store::Store;
use osier_testkit::RandomLog;

use crate::support::{
    Home, SplitMix64, append, chain, file_of, header, link, read_data, read_data_once, wide_header,
};

/// Appends lines like a program without locks.
fn add(path: &Path, lines: &[Vec<u8>]) {
    let mut file = OpenOptions::new().append(true).open(path).unwrap();
    for line in lines {
        file.write_all(&[line, b"\n".as_slice()].concat()).unwrap();
    }
}

/// Grows a log step by step, alternately by two stores and by a foreign program.
async fn grow(seed: u64, damaged: bool, header: &[u8]) {
    let mut random = SplitMix64(seed);
    let home = Home::new();
    let log = RandomLog::new(seed, 90, damaged);
    let (path, id) = home.put(&file_of(header, &log.lines[..10]));
    let stores = [home.store(), home.store()];
    let mut at = 10;
    while at < log.lines.len() {
        let until = (at + 1 + random.below(20)).min(log.lines.len());
        let lines = &log.lines[at..until];
        at = until;
        let when = format!("seed {seed}, {at} lines");
        match random.below(3) {
            2 => add(&path, lines),
            writer => {
                append(&stores[writer], &id, lines).await.unwrap();
                if random.below(2) == 0 {
                    stores[writer].sync(&id).await.unwrap();
                }
            }
        }
        let expected = read_data_once(&home.uncached_store(), &id).await;
        for store in &stores {
            read_data_once(store, &id)
                .await
                .assert_same(&expected, &format!("{when}, by a store that had it open"));
        }
        read_data_once(&home.store(), &id).await.assert_same(&expected, &format!("{when}, by a new store"));
    }
}

#[tokio::test]
async fn all_readers_agree_on_a_growing_sound_log() {
    for seed in 0..8 {
        grow(seed, false, &wide_header("one")).await;
        grow(seed, false, &header("one").to_line()).await;
    }
}

#[tokio::test]
async fn all_readers_agree_on_a_growing_damaged_log() {
    for seed in 0..16 {
        grow(seed, true, &wide_header("one")).await;
        grow(seed, true, &header("one").to_line()).await;
    }
}

#[tokio::test]
async fn an_index_is_extended_in_place() {
    let home = Home::new();
    let (_, id) = home.put(&file_of(&wide_header("one"), &chain(10)));
    home.store().open(&id).await.unwrap();
    let index = home.cached("index")[0].clone();
    let inode = || index.metadata().unwrap().ino();
    let (before, mut len) = (inode(), index.metadata().unwrap().len());
    for more in [1, 40, 100, 200] {
        let store = home.store();
        let before_append = store.open(&id).await.unwrap().version.entries;
        let lines: Vec<Vec<u8>> = (before_append..before_append + more).map(link).collect();
        append(&store, &id, &lines).await.unwrap();
        store.sync(&id).await.unwrap();
        read_data_once(&home.store(), &id)
            .await
            .assert_same(&read_data_once(&home.uncached_store(), &id).await, "extended");
        assert_eq!(inode(), before, "a new index was written");
        assert!(index.metadata().unwrap().len() >= len);
        len = index.metadata().unwrap().len();
    }
    assert_eq!(len, 4096 * (1 + 351_u64.div_ceil(63)));
}

#[tokio::test]
async fn two_stores_that_extend_one_index_do_not_damage_it() {
    let home = Home::new();
    let (_, id) = home.put(&file_of(&wide_header("one"), &chain(60)));
    let stores = [home.store(), home.store()];
    for at in 60..200 {
        let (one, other) = (&stores[at % 2], &stores[(at + 1) % 2]);
        append(one, &id, &[link(at)]).await.unwrap();
        read_data(other, &id).await;
        // Both stores try to add the same records.
        one.sync(&id).await.unwrap();
        other.sync(&id).await.unwrap();
        if at % 20 == 0 {
            read_data_once(&home.store(), &id)
                .await
                .assert_same(&read_data_once(&home.uncached_store(), &id).await, "extended");
        }
    }
    drop(stores);
    read_data_once(&home.store(), &id)
        .await
        .assert_same(&read_data_once(&home.uncached_store(), &id).await, "at the end");
}
