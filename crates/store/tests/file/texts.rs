//! The cache of texts never changes what a search finds: after appends, deleted branches, replaced, truncated and deleted
//! files, damaged caches, and with several processes.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use osier_store::{FileStore, Store};
use osier_tree::projection::card::Card;
use osier_tree::search_query::{MessageMatches, SearchDetail, SearchQuery};
use proptest::prelude::*;

use crate::support::{Home, file_of, header, message};

const QUERIES: [&str; 11] = [
    "cursor",
    "urso",
    "CURSOR page",
    "\"the page\"",
    "光标",
    "标",
    "ς",
    "e",
    "absent",
    "re:^the .*r$",
    "shown",
];
const TEXTS: [&str; 7] =
    ["the cursor", "a page of the parser", "the page  is\\nempty", "光标分页", "ΟΔΟΣ", "{} e", "the absents"];

/// What a search finds in some files, with and without a cache.
fn search(store: &FileStore, files: &[PathBuf], query: &str, max_hits: usize) -> Vec<Option<MessageMatches>> {
    let query = Arc::new(SearchQuery::parse(query).unwrap());
    let card = |path: &PathBuf| Card { file: Some(path.display().to_string()), ..Card::default() };
    let cards: Vec<Card> = files.iter().map(card).collect();
    let detail = SearchDetail { max_hits, context: 1 };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let results = runtime.block_on(store.search_messages(&query, &cards, detail));
    results.unwrap().into_iter().map(Result::ok).collect()
}

/// A store that saves all texts, even of logs that have just changed.
fn caching_store(home: &Home) -> FileStore {
    home.store().with_racy_window(Duration::ZERO)
}

fn assert_same(home: &Home, files: &[PathBuf], when: &str) {
    let cached = caching_store(home);
    for query in QUERIES {
        for max_hits in [0, 2] {
            let expected = search(&home.uncached_store(), files, query, max_hits);
            assert_eq!(search(&cached, files, query, max_hits), expected, "{query} {when}");
        }
    }
}

fn session_path(home: &Home, number: usize) -> PathBuf {
    home.sessions().join("folder").join(format!("{number}.jsonl"))
}

fn texts_cache(home: &Home) -> PathBuf {
    home.caches().join("texts/folder.texts")
}

/// A change of a file, by Osier or by another program.
#[derive(Debug, Clone)]
enum Change {
    Append {
        text: usize,
        is_shown: bool,
    },
    AppendWithoutNewline,
    DeleteBranch,
    /// With an equal length, and with the modification time restored.
    Edit,
    Truncate,
    Replace,
    Remove,
    DamageCache(usize),
    TruncateCache(usize),
    RemoveCache,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        6 => (0..TEXTS.len(), any::<bool>()).prop_map(|(text, is_shown)| Change::Append { text, is_shown }),
        1 => Just(Change::AppendWithoutNewline),
        1 => Just(Change::DeleteBranch),
        1 => Just(Change::Edit),
        1 => Just(Change::Truncate),
        1 => Just(Change::Replace),
        1 => Just(Change::Remove),
        1 => any::<usize>().prop_map(Change::DamageCache),
        1 => any::<usize>().prop_map(Change::TruncateCache),
        1 => Just(Change::RemoveCache),
    ]
}

/// Replaces text by text of equal length, and restores the modification time.
fn edit_in_place(path: &Path, from: &[u8], to: &[u8]) {
    let before = path.metadata().unwrap();
    let mut bytes = fs::read(path).unwrap();
    while let Some(at) = memchr::memmem::find(&bytes, from) {
        bytes[at..at + from.len()].copy_from_slice(to);
    }
    fs::write(path, bytes).unwrap();
    let changed = || path.metadata().map(|now| (now.ctime(), now.ctime_nsec())).unwrap();
    let file = File::options().append(true).open(path).unwrap();
    file.set_modified(before.modified().unwrap()).unwrap();
    // The clock of the file system may be too coarse to distinguish two changes.
    while changed() == (before.ctime(), before.ctime_nsec()) {
        file.set_modified(before.modified().unwrap()).unwrap();
    }
}

/// Applies a change to a session file or to the cache. `step` makes ids and times unique.
fn apply(change: &Change, home: &Home, path: &Path, step: usize) {
    let append = |bytes: &[u8]| {
        if !path.exists() {
            fs::write(path, file_of(&header("x").to_line(), &[] as &[Vec<u8>])).unwrap();
        }
        OpenOptions::new().append(true).open(path).unwrap().write_all(bytes).unwrap();
    };
    let id = format!("{step:08x}");
    let line = |text: &str| [message(&id, None, step, text), b"\n".to_vec()].concat();
    match change {
        Change::Append { text, is_shown } => {
            let line = String::from_utf8(line(TEXTS[*text])).unwrap();
            let shown = if *is_shown { r#""uiContent":"what is shown","message":{"# } else { r#""message":{"# };
            append(line.replace(r#""message":{"#, shown).as_bytes());
        }
        Change::AppendWithoutNewline => append(line("torn cursor").trim_ascii_end()),
        Change::DeleteBranch => append(
            format!(
                "{{\"type\":\"custom\",\"id\":\"{id}\",\"customType\":\"osier.delete_branch\",\"data\":{{\"targetId\":\"{:08x}\"}}}}\n",
                step.saturating_sub(1)
            )
            .as_bytes(),
        ),
        Change::Edit if path.exists() => return edit_in_place(path, b"cursor", b"parser"),
        Change::Truncate if path.exists() => {
            let size = path.metadata().unwrap().len();
            OpenOptions::new().write(true).open(path).unwrap().set_len(size - size / 3).unwrap();
        }
        Change::Replace => {
            let new = home.path("new");
            fs::write(&new, file_of(&header("y").to_line(), &[message(&id, None, step, "a new page")])).unwrap();
            fs::rename(new, path).unwrap();
        }
        Change::Remove => drop(fs::remove_file(path)),
        Change::DamageCache(at) => {
            if let Ok(mut bytes) = fs::read(texts_cache(home))
                && !bytes.is_empty()
            {
                let at = at % bytes.len();
                bytes[at] ^= 1 << (step % 8);
                fs::write(texts_cache(home), bytes).unwrap();
            }
        }
        Change::TruncateCache(at) => {
            if let Ok(bytes) = fs::read(texts_cache(home)) {
                fs::write(texts_cache(home), &bytes[..at % (bytes.len() + 1)]).unwrap();
            }
        }
        Change::RemoveCache => drop(fs::remove_file(texts_cache(home))),
        Change::Edit | Change::Truncate => {}
    }
    // The clock of the file system may be too coarse to distinguish two changes.
    if let Ok(file) = File::options().append(true).open(path) {
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(step as u64)).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_search_with_the_cache_finds_what_a_search_without_it_finds(
        changes in prop::collection::vec((0..3_usize, change(), any::<bool>()), 1..24),
    ) {
        let home = Home::new();
        fs::create_dir_all(home.sessions().join("folder")).unwrap();
        let files: Vec<PathBuf> = (0..3).map(|number| session_path(&home, number)).collect();
        for (step, (number, change, is_searched)) in changes.iter().enumerate() {
            apply(change, &home, &files[*number], step + 1);
            if *is_searched {
                assert_same(&home, &files, &format!("after {step}"));
            }
        }
        assert_same(&home, &files, "at the end");
    }
}

/// Sessions with three messages each.
fn create_sessions(home: &Home, count: usize) -> Vec<PathBuf> {
    fs::create_dir_all(home.sessions().join("folder")).unwrap();
    let files: Vec<PathBuf> = (0..count).map(|number| session_path(home, number)).collect();
    for (number, path) in files.iter().enumerate() {
        let lines =
            [message("a", None, 0, "the cursor"), message("b", Some("a"), 1, &format!("secret{number}"))];
        fs::write(path, file_of(&header("x").to_line(), &lines)).unwrap();
    }
    files
}

fn finds(home: &Home, files: &[PathBuf], query: &str) -> Vec<bool> {
    let results = search(&caching_store(home), files, query, 0);
    results.into_iter().map(|matches| matches.is_some_and(|matches| matches.is_match)).collect()
}

fn cache_contains(home: &Home, text: &str) -> bool {
    memchr::memmem::find(&fs::read(texts_cache(home)).unwrap(), text.as_bytes()).is_some()
}

/// Deletes a session. Returns whether there was one.
fn delete(home: &Home, id: &str) -> bool {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(home.store().delete(id)).unwrap().deleted
}

#[test]
fn a_cached_session_is_not_read_again_until_it_changes() {
    let home = Home::new();
    let files = create_sessions(&home, 3);
    // The texts of each log that is read are added to the cache.
    let cache_size = || texts_cache(&home).metadata().unwrap().len();
    assert_eq!(finds(&home, &files, "secret1"), [false, true, false]);
    let size = cache_size();
    assert_eq!(finds(&home, &files, "secret1"), [false, true, false]);
    assert_eq!(cache_size(), size, "no log was read");
    edit_in_place(&files[1], b"secret1", b"public1");
    assert_eq!(finds(&home, &files, "public1"), [false, true, false]);
    assert!((size + 1..size + size / 2).contains(&cache_size()), "one of three logs was read");
    fs::remove_file(texts_cache(&home)).unwrap();
    assert_eq!(finds(&home, &files, "public1"), [false, true, false], "the cache can be deleted");
}

#[test]
fn a_log_that_was_edited_in_place_and_then_grew_is_read_again() {
    let home = Home::new();
    let files = create_sessions(&home, 1);
    assert_eq!(finds(&home, &files, "secret0"), [true]);
    let more =
        |at: usize| [message(&format!("m{at}"), None, at, &"more ".repeat(100)), b"\n".to_vec()].concat();
    let append = |at| OpenOptions::new().append(true).open(&files[0]).unwrap().write_all(&more(at)).unwrap();
    append(2);
    assert_eq!(finds(&home, &files, "secret0"), [true]);
    edit_in_place(&files[0], b"secret0", b"public0");
    append(3);
    assert_eq!(finds(&home, &files, "secret0"), [false]);
    assert_eq!(finds(&home, &files, "public0"), [true]);
}

#[test]
fn the_texts_of_a_log_that_just_changed_are_not_saved() {
    let home = Home::new();
    let files = create_sessions(&home, 1);
    let store = home.store().with_racy_window(Duration::from_secs(3600));
    assert!(search(&store, &files, "secret0", 0)[0].as_ref().unwrap().is_match);
    assert!(!texts_cache(&home).exists());
    assert_eq!(finds(&home, &files, "secret0"), [true]);
    assert!(cache_contains(&home, "secret0"));
}

#[test]
fn no_text_of_a_deleted_session_remains_in_the_cache() {
    let home = Home::new();
    let files = create_sessions(&home, 3);
    assert_eq!(finds(&home, &files, "secret"), [true; 3]);
    assert!(cache_contains(&home, "secret1"));
    assert!(delete(&home, &files[1].display().to_string()));
    assert!(!cache_contains(&home, "secret1"));
    assert!(cache_contains(&home, "secret0") && cache_contains(&home, "secret2"));
    assert_eq!(finds(&home, &files, "secret"), [true, false, true]);
}

#[test]
fn a_repeated_deletion_erases_what_an_interrupted_one_left() {
    for is_path in [true, false] {
        let home = Home::new();
        let files = create_sessions(&home, 3);
        finds(&home, &files, "secret");
        fs::remove_file(&files[1]).unwrap();
        let id = if is_path { files[1].display().to_string() } else { "1".to_owned() };
        assert!(!delete(&home, &id));
        assert!(!cache_contains(&home, "secret1") && cache_contains(&home, "secret2"));
    }
}

#[test]
fn a_search_removes_the_caches_of_folders_without_logs() {
    let home = Home::new();
    let files = create_sessions(&home, 2);
    finds(&home, &files, "secret");
    let cards = home.caches().join("cards/folder.jsonl");
    fs::create_dir_all(cards.parent().unwrap()).unwrap();
    fs::write(&cards, "secret1").unwrap();
    files.iter().for_each(|file| fs::remove_file(file).unwrap());
    finds(&home, &[], "secret");
    assert!(!texts_cache(&home).exists() && !cards.exists());
}

#[test]
fn a_search_removes_the_texts_of_logs_that_are_gone() {
    let home = Home::new();
    let files = create_sessions(&home, 3);
    finds(&home, &files, "secret");
    fs::remove_file(&files[1]).unwrap();
    assert_eq!(finds(&home, &files, "secret"), [true, false, true]);
    assert!(!cache_contains(&home, "secret1") && cache_contains(&home, "secret2"));
    assert_eq!(home.cached("texts"), [texts_cache(&home)]);
}

#[test]
fn a_torn_record_is_cut_off_and_hides_nothing_from_a_deletion() {
    let home = Home::new();
    let files = create_sessions(&home, 3);
    finds(&home, &files, "secret");
    let cache = File::options().write(true).open(texts_cache(&home)).unwrap();
    cache.set_len(cache.metadata().unwrap().len() - 3).unwrap();
    assert_eq!(finds(&home, &files, "secret"), [true; 3]);
    assert!(delete(&home, &files[2].display().to_string()));
    assert!(!cache_contains(&home, "secret2") && cache_contains(&home, "secret0"));
}

#[test]
fn a_deletion_removes_a_damaged_cache() {
    let home = Home::new();
    let files = create_sessions(&home, 3);
    finds(&home, &files, "secret");
    let cache = File::options().write(true).open(texts_cache(&home)).unwrap();
    cache.set_len(cache.metadata().unwrap().len() - 3).unwrap();
    assert!(delete(&home, &files[2].display().to_string()));
    assert!(!texts_cache(&home).exists());
}

#[test]
fn several_processes_can_search_and_write_at_once() {
    let home = Home::new();
    let files = create_sessions(&home, 40);
    let expected: Vec<bool> = (0..40).map(|number| number == 7).collect();
    std::thread::scope(|scope| {
        for round in 0..4 {
            let (home, files, expected) = (&home, &files, &expected);
            scope.spawn(move || {
                for step in 0..5 {
                    let line = message(&format!("m{round}{step}"), None, step, "more about the page");
                    let line = [line, b"\n".to_vec()].concat();
                    OpenOptions::new().append(true).open(&files[round]).unwrap().write_all(&line).unwrap();
                    assert_eq!(&finds(home, files, "secret7"), expected);
                }
            });
        }
    });
    assert_same(&home, &files, "after all");
}

/// Sessions whose texts are larger than a record: without a deleted branch, and with one at the end.
fn create_long_sessions(home: &Home) -> Vec<PathBuf> {
    let files = create_sessions(home, 2);
    for (number, path) in files.iter().enumerate() {
        let text = |at: usize| format!("word{at} {}", "more about the page ".repeat(4000));
        let mut lines: Vec<Vec<u8>> =
            (0..16).map(|at| message(&format!("m{at}"), None, at, &text(at))).collect();
        if number == 1 {
            let data = r#"{"targetId":"m3"}"#;
            let deletion = r#"{"type":"custom","id":"d","customType":"osier.delete_branch","data":"#;
            lines.push(format!("{deletion}{data}}}").into_bytes());
        }
        fs::write(path, file_of(&header("x").to_line(), &lines)).unwrap();
    }
    files
}

#[test]
fn a_long_session_is_saved_in_several_records_and_not_read_again() {
    let home = Home::new();
    let files = create_long_sessions(&home);
    assert_eq!(finds(&home, &files, "word2"), [true, true]);
    let size = texts_cache(&home).metadata().unwrap().len();
    let names = fs::read(texts_cache(&home)).unwrap();
    for path in &files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let records = memchr::memmem::find_iter(&names, name).count();
        assert!(records > 3, "{records} records of {name}");
    }
    assert_eq!(finds(&home, &files, "word3"), [true, false], "m3 is deleted");
    assert_eq!(finds(&home, &files, "word15"), [true, true]);
    assert_same(&home, &files, "with several records");
    assert_eq!(texts_cache(&home).metadata().unwrap().len(), size, "no log was read again");
}
