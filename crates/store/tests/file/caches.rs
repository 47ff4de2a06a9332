//! Missing, truncated, damaged, swapped or stale caches never change the results.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use osier_store::Store;
use osier_testkit::{RandomLog, ScriptedSession};

use crate::support::{
    Home, SessionData, append, chain, file_of, header, link, message, read_data, read_data_once, wide_header,
};

/// Creates a session that is large enough for all caches, and fills them.
async fn create_cached(home: &Home, id: &str) -> SessionData {
    let long = message("longlong", None, 0, &"x".repeat(crate::support::INDEXED));
    let more = ScriptedSession::run(
        "say hello; reply hi calls read a, bash b; result one; result two; label x; name y; root; say other; \
         compact keep other \"a summary\"; config k=v; move hello; reply elsewhere; spend 7",
    );
    let more =
        more.lines.iter().map(|line| String::from_utf8_lossy(line).replace("\"0000", "\"more").into_bytes());
    let lines = chain(150).into_iter().chain([long]).chain(more).collect::<Vec<_>>();
    home.store().create(&header(id), &lines).await.unwrap();
    read_data_once(&home.store(), id).await
}

/// The cache files of a home with one session: index, cards and previews.
fn caches(home: &Home) -> [PathBuf; 3] {
    ["index", "cards", "previews"].map(|folder| {
        let files = home.cached(folder);
        assert_eq!(files.len(), 1, "{folder}");
        files[0].clone()
    })
}

#[tokio::test]
async fn caches_can_be_deleted_at_any_time() {
    let home = Home::new();
    let expected = create_cached(&home, "one").await;
    let open = home.store();
    for (at, cache) in caches(&home).iter().enumerate() {
        fs::remove_file(cache).unwrap();
        read_data_once(&open, "one").await.assert_same(&expected, "by a store that had it open");
        read_data_once(&home.store(), "one").await.assert_same(&expected, "by a new store");
        assert_eq!(caches(&home)[at], *cache, "the cache is written again");
    }
    fs::remove_dir_all(home.caches()).unwrap();
    fs::write(home.caches(), "not a folder").unwrap();
    read_data_once(&home.store(), "one").await.assert_same(&expected, "where no cache can be written");
    append(&home.store(), "one", &[link(151)]).await.unwrap();
}

#[tokio::test]
async fn truncated_caches_are_detected() {
    let home = Home::new();
    let expected = create_cached(&home, "one").await;
    for cache in caches(&home) {
        let original = fs::read(&cache).unwrap();
        for len in (0..original.len()).step_by(original.len() / 40 + 1) {
            fs::write(&cache, &original[..len]).unwrap();
            let when = format!("{} cut at {len}", cache.display());
            read_data_once(&home.store(), "one").await.assert_same(&expected, &when);
        }
    }
}

#[tokio::test]
async fn caches_with_a_wrong_byte_are_detected() {
    let home = Home::new();
    let expected = create_cached(&home, "one").await;
    for cache in caches(&home) {
        let original = fs::read(&cache).unwrap();
        // Test the header at the start of each cache more densely.
        let places = (0..100).step_by(2).chain((100..original.len()).step_by(original.len() / 40 + 1));
        for at in places.filter(|at| *at < original.len()) {
            let mut wrong = original.clone();
            wrong[at] ^= 1 << (at % 8);
            fs::write(&cache, &wrong).unwrap();
            let when = format!("{} with byte {at} wrong", cache.display());
            read_data_once(&home.store(), "one").await.assert_same(&expected, &when);
        }
    }
}

#[tokio::test]
async fn caches_of_another_session_are_detected() {
    let home = Home::new();
    let other = Home::new();
    let expected = create_cached(&home, "one").await;
    create_cached(&other, "one").await;
    append(&other.store(), "one", &[link(150)]).await.unwrap();
    read_data(&other.store(), "one").await;
    for (cache, other) in caches(&home).into_iter().zip(caches(&other)) {
        fs::copy(&other, &cache).unwrap();
        read_data_once(&home.store(), "one").await.assert_same(&expected, &cache.display().to_string());
    }
}

#[tokio::test]
async fn caches_of_a_replaced_file_are_detected() {
    let home = Home::new();
    create_cached(&home, "one").await;
    let path = home.uncached_store().open("one").await.unwrap().file.unwrap();
    let file = String::from_utf8(fs::read(&path).unwrap()).unwrap();
    let times = fs::metadata(&path).unwrap().modified().unwrap();
    // Same size and same last line, but other text, another id, another type, another parent.
    for (old, new) in [
        ("message 17\"", "massage 17\""),
        ("\"id\":\"00000095\"", "\"id\":\"99999995\""),
        ("\"type\":\"message\",\"id\":\"00000011\"", "\"type\":\"massage\",\"id\":\"00000011\""),
        ("\"parentId\":\"00000030\"", "\"parentId\":\"00000020\""),
    ] {
        assert_eq!(file.matches(old).count(), 1, "{old}");
        let changed = file.replace(old, new);
        let renamed = path.with_extension("new");
        fs::write(&renamed, &changed).unwrap();
        fs::File::open(&renamed).unwrap().set_modified(times).unwrap();
        fs::rename(&renamed, &path).unwrap();
        let expected = read_data_once(&home.uncached_store(), "one").await;
        read_data_once(&home.store(), "one").await.assert_same(&expected, &format!("{new} in another file"));
        // The original bytes again, written in place.
        fs::write(&path, &file).unwrap();
        let expected = read_data_once(&home.uncached_store(), "one").await;
        read_data_once(&home.store(), "one").await.assert_same(&expected, &format!("{old} in the same file"));
    }
}

#[tokio::test]
async fn every_log_reads_the_same_with_and_without_caches() {
    for seed in 0..60 {
        let home = Home::new();
        let log = RandomLog::new(seed, 60, seed % 2 == 0);
        let (_, id) = home.put(&file_of(&wide_header("one"), &log.lines));
        let expected = read_data_once(&home.uncached_store(), &id).await;
        assert_eq!(expected.lines, log.entries, "seed {seed}");
        read_data_once(&home.store(), &id).await.assert_same(&expected, &format!("seed {seed}, first"));
        assert_eq!(home.cached("index").len(), usize::from(expected.entries > 0), "seed {seed}");
        read_data_once(&home.store(), &id)
            .await
            .assert_same(&expected, &format!("seed {seed}, from the caches"));
    }
}

/// A log that is opened for a tree is read once, for its heads and its previews.
#[tokio::test]
async fn previews_made_while_a_log_is_read_are_the_same() {
    for seed in 0..60 {
        let home = Home::new();
        let log = RandomLog::new(seed, 60, seed % 2 == 0);
        let half = file_of(&wide_header("one"), &log.lines[..log.lines.len() / 2]);
        let whole = file_of(&wide_header("one"), &log.lines);
        let (path, id) = home.put(&half);
        let store = home.store();
        store.expect_previews();
        store.open(&id).await.unwrap();
        if seed % 3 == 0 {
            let mut file = fs::OpenOptions::new().append(true).open(&path).unwrap();
            file.write_all(&whole[half.len()..]).unwrap();
        }
        let expected = read_data_once(&home.uncached_store(), &id).await;
        read_data(&store, &id).await.assert_same(&expected, &format!("seed {seed}"));
        read_data(&home.store(), &id).await.assert_same(&expected, &format!("seed {seed}, from the caches"));
    }
}

/// A pipe would block forever, and a device or a huge file never ends.
#[tokio::test]
async fn caches_that_are_huge_or_not_regular_files_are_ignored() {
    let odd: [fn(&std::path::Path); 3] = [
        |path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success()),
        |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
        |path| fs::File::create(path).unwrap().set_len(1 << 40).unwrap(),
    ];
    for (at, odd) in odd.iter().enumerate() {
        let home = Home::new();
        let expected = create_cached(&home, "one").await;
        for cache in caches(&home) {
            fs::remove_file(&cache).unwrap();
            odd(&cache);
            let when = format!("{} as odd file {at}", cache.display());
            read_data_once(&home.store(), "one").await.assert_same(&expected, &when);
        }
        let open = home.caches().join("open");
        fs::create_dir_all(&open).unwrap();
        odd(&open.join("one.0000000000000001.lease"));
        append(&home.store(), "one", &[link(151)]).await.unwrap();
    }
}
