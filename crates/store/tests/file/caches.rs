//! Caches of all sorts: gone, cut, damaged, mixed up or stale, they never change what is told.

use std::fs;
use std::path::PathBuf;

use osier_store::Store;
use osier_testkit::{RandomLog, Script};

use crate::support::{
    Home, Told, append, chain, file_of, header, link, message, told, told_at_once, wide_header,
};

/// A session large enough to be cached, with everything kept that can be kept.
async fn kept(home: &Home, id: &str) -> Told {
    let long = message("longlong", None, 0, &"x".repeat(crate::support::INDEXED));
    let more = Script::run(
        "say hello; reply hi calls read a, bash b; result one; result two; label x; name y; root; say other; \
         compact keep other \"a summary\"; config k=v; move hello; reply elsewhere; spend 7",
    );
    let more =
        more.lines.iter().map(|line| String::from_utf8_lossy(line).replace("\"0000", "\"more").into_bytes());
    let lines = chain(150).into_iter().chain([long]).chain(more).collect::<Vec<_>>();
    home.store().create(&header(id), &lines).await.unwrap();
    told_at_once(&home.store(), id).await
}

/// The cache files of a home with one session: index, card and previews.
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
    let expected = kept(&home, "one").await;
    let open = home.store();
    for (at, cache) in caches(&home).iter().enumerate() {
        fs::remove_file(cache).unwrap();
        told_at_once(&open, "one").await.must_be(&expected, "by one who had it open");
        told_at_once(&home.store(), "one").await.must_be(&expected, "by one who comes new");
        assert_eq!(caches(&home)[at], *cache, "it is kept anew");
    }
    fs::remove_dir_all(home.caches()).unwrap();
    fs::write(home.caches(), "not a folder").unwrap();
    told_at_once(&home.store(), "one").await.must_be(&expected, "where nothing can be kept");
    append(&home.store(), "one", &[link(151)]).await.unwrap();
}

#[tokio::test]
async fn caches_cut_at_any_length_are_noticed() {
    let home = Home::new();
    let expected = kept(&home, "one").await;
    for cache in caches(&home) {
        let whole = fs::read(&cache).unwrap();
        for len in (0..whole.len()).step_by(whole.len() / 40 + 1) {
            fs::write(&cache, &whole[..len]).unwrap();
            let when = format!("{} cut at {len}", cache.display());
            told_at_once(&home.store(), "one").await.must_be(&expected, &when);
        }
    }
}

#[tokio::test]
async fn caches_with_a_wrong_byte_are_noticed() {
    let home = Home::new();
    let expected = kept(&home, "one").await;
    for cache in caches(&home) {
        let whole = fs::read(&cache).unwrap();
        // The first bytes of each cache say what it covers.
        let places = (0..100).step_by(2).chain((100..whole.len()).step_by(whole.len() / 40 + 1));
        for at in places.filter(|at| *at < whole.len()) {
            let mut wrong = whole.clone();
            wrong[at] ^= 1 << (at % 8);
            fs::write(&cache, &wrong).unwrap();
            let when = format!("{} with byte {at} wrong", cache.display());
            told_at_once(&home.store(), "one").await.must_be(&expected, &when);
        }
    }
}

#[tokio::test]
async fn caches_of_another_session_are_noticed() {
    let home = Home::new();
    let other = Home::new();
    let expected = kept(&home, "one").await;
    kept(&other, "one").await;
    append(&other.store(), "one", &[link(150)]).await.unwrap();
    told(&other.store(), "one").await;
    for (cache, other) in caches(&home).into_iter().zip(caches(&other)) {
        fs::copy(&other, &cache).unwrap();
        told_at_once(&home.store(), "one").await.must_be(&expected, &cache.display().to_string());
    }
}

#[tokio::test]
async fn caches_of_a_file_that_was_replaced_are_noticed() {
    let home = Home::new();
    kept(&home, "one").await;
    let path = home.bare().open("one").await.unwrap().file.unwrap();
    let file = String::from_utf8(fs::read(&path).unwrap()).unwrap();
    let times = fs::metadata(&path).unwrap().modified().unwrap();
    // Of the same size, and with the same last line: other text, another id, another kind, another parent.
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
        let expected = told_at_once(&home.bare(), "one").await;
        told_at_once(&home.store(), "one").await.must_be(&expected, &format!("{new} in another file"));
        // The same bytes again, now written over what is there.
        fs::write(&path, &file).unwrap();
        let expected = told_at_once(&home.bare(), "one").await;
        told_at_once(&home.store(), "one").await.must_be(&expected, &format!("{old} in the same file"));
    }
}

#[tokio::test]
async fn every_log_is_told_alike_with_and_without_caches() {
    for seed in 0..60 {
        let home = Home::new();
        let log = RandomLog::new(seed, 60, seed % 2 == 0);
        let (_, id) = home.put(&file_of(&wide_header("one"), &log.lines));
        let expected = told_at_once(&home.bare(), &id).await;
        assert_eq!(expected.lines, log.entries, "seed {seed}");
        told_at_once(&home.store(), &id).await.must_be(&expected, &format!("seed {seed}, first"));
        assert_eq!(home.cached("index").len(), usize::from(expected.entries > 0), "seed {seed}");
        told_at_once(&home.store(), &id).await.must_be(&expected, &format!("seed {seed}, from the caches"));
    }
}

/// A pipe would wait for ever, and a device or a huge file never end.
#[tokio::test]
async fn caches_that_are_no_files_or_huge_are_passed_over() {
    let odd: [fn(&std::path::Path); 3] = [
        |path| assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success()),
        |path| std::os::unix::fs::symlink("/dev/zero", path).unwrap(),
        |path| fs::File::create(path).unwrap().set_len(1 << 40).unwrap(),
    ];
    for (at, odd) in odd.iter().enumerate() {
        let home = Home::new();
        let expected = kept(&home, "one").await;
        for cache in caches(&home) {
            fs::remove_file(&cache).unwrap();
            odd(&cache);
            let when = format!("{} as odd file {at}", cache.display());
            told_at_once(&home.store(), "one").await.must_be(&expected, &when);
        }
        let open = home.caches().join("open");
        fs::create_dir_all(&open).unwrap();
        odd(&open.join("one.0000000000000001.lease"));
        append(&home.store(), "one", &[link(151)]).await.unwrap();
    }
}
