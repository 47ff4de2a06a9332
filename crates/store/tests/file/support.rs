//! Helpers: session files, lines, and everything a store returns about a session.

use std::fs;
use std::path::{Path, PathBuf};

use osier_store::{FileStore, LineBatch, LogVersion, Store, StoreError, for_each_line};
use osier_tree::projection::card::Card;
use osier_tree::{Head, Header, Seq};

/// 2026-01-01.
pub(crate) const DAY_ONE: i64 = 1_767_225_600_000;

/// Files of this size get an index.
pub(crate) const INDEXED: usize = 140 << 10;

/// A temporary folder with sessions and caches.
pub(crate) struct Home {
    folder: tempfile::TempDir,
}

impl Home {
    pub(crate) fn new() -> Home {
        Home { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn sessions(&self) -> PathBuf {
        self.path("sessions")
    }

    pub(crate) fn caches(&self) -> PathBuf {
        self.path("cache")
    }

    /// A new store instance, as another process would have it.
    pub(crate) fn store(&self) -> FileStore {
        FileStore::new(self.sessions(), Some(self.caches()))
    }

    /// A new store instance without caches.
    pub(crate) fn uncached_store(&self) -> FileStore {
        FileStore::new(self.sessions(), None)
    }

    /// Writes a file with these bytes outside the store's folder. Returns its path and session id.
    pub(crate) fn put(&self, bytes: &[u8]) -> (PathBuf, String) {
        let path = self.path("log.jsonl");
        fs::write(&path, bytes).unwrap();
        let id = path.display().to_string();
        (path, id)
    }

    /// The files of a cache, sorted.
    pub(crate) fn cached(&self, folder: &str) -> Vec<PathBuf> {
        files_in(&self.caches().join(folder))
    }
}

/// The files of a folder, sorted.
pub(crate) fn files_in(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

pub(crate) fn header(id: &str) -> Header {
    Header::new(id, DAY_ONE, "/here")
}

/// A header that makes any log large enough for an index.
pub(crate) fn wide_header(id: &str) -> Vec<u8> {
    let pad = "x".repeat(INDEXED);
    format!(r#"{{"type":"session","version":3,"id":"{id}","cwd":"/here","pad":"{pad}"}}"#).into_bytes()
}

/// A user message, `at` seconds after `DAY_ONE`.
pub(crate) fn message(id: &str, parent: Option<&str>, at: usize, text: &str) -> Vec<u8> {
    let parent = parent.map_or_else(|| "null".to_owned(), |parent| format!("\"{parent}\""));
    let time = osier_tree::time::format(DAY_ONE + at as i64 * 1000);
    format!(
        r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"{time}","message":{{"role":"user","content":"{text}"}}}}"#
    )
    .into_bytes()
}

pub(crate) fn id(at: usize) -> String {
    format!("{at:08x}")
}

/// The message at index `at` of a chain.
pub(crate) fn link(at: usize) -> Vec<u8> {
    message(&id(at), at.checked_sub(1).map(id).as_deref(), at, &format!("message {at}"))
}

pub(crate) fn chain(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(link).collect()
}

/// The content of a file with this header and these lines.
pub(crate) fn file_of<L: AsRef<[u8]>>(header: &[u8], lines: &[L]) -> Vec<u8> {
    let mut file = header.to_vec();
    file.push(b'\n');
    for line in lines {
        file.extend_from_slice(line.as_ref());
        file.push(b'\n');
    }
    file
}

/// Everything a store returns about a session.
#[derive(Clone, PartialEq)]
pub(crate) struct SessionData {
    pub(crate) header: Header,
    pub(crate) entries: usize,
    pub(crate) odd: usize,
    pub(crate) heads: Vec<Head>,
    pub(crate) lines: Vec<Vec<u8>>,
    pub(crate) card: Card,
    pub(crate) previews: Vec<String>,
}

impl SessionData {
    /// Panics at the first difference.
    #[track_caller]
    pub(crate) fn assert_same(&self, expected: &SessionData, when: &str) {
        assert_eq!(
            (self.entries, self.odd),
            (expected.entries, expected.odd),
            "entries and odd lines, {when}"
        );
        assert_eq!(self.header, expected.header, "header, {when}");
        for (at, (head, expected)) in self.heads.iter().zip(&expected.heads).enumerate() {
            assert_eq!(head, expected, "head {at}, {when}");
        }
        assert_lines(&self.lines, &expected.lines, when);
        assert_eq!(self.card, expected.card, "card, {when}");
        assert_eq!(self.previews, expected.previews, "previews, {when}");
        assert!(self == expected, "{when}");
    }
}

/// Panics at the first line that differs.
#[track_caller]
pub(crate) fn assert_lines(lines: &[Vec<u8>], expected: &[Vec<u8>], when: &str) {
    let text = |line: &[u8]| String::from_utf8_lossy(&line[..line.len().min(500)]).into_owned();
    for (at, (line, expected)) in lines.iter().zip(expected).enumerate() {
        assert!(line == expected, "line {at}, {when}:\n{}\n{}", text(line), text(expected));
    }
    assert_eq!(lines.len(), expected.len(), "lines, {when}");
}

/// Reads everything, and again if the store reports that earlier answers were wrong.
pub(crate) async fn read_data(store: &dyn Store, id: &str) -> SessionData {
    match try_read_data(store, id).await {
        Err(StoreError::Replaced) => read_data_once(store, id).await,
        data => data.unwrap_or_else(|error| panic!("{error}: {error:?}")),
    }
}

/// Reads everything once.
pub(crate) async fn read_data_once(store: &dyn Store, id: &str) -> SessionData {
    try_read_data(store, id).await.unwrap_or_else(|error| panic!("{error}: {error:?}"))
}

async fn try_read_data(store: &dyn Store, id: &str) -> Result<SessionData, StoreError> {
    let opened = store.open(id).await?;
    let LogVersion { generation, entries } = opened.version;
    let mut heads: Vec<Head> = Vec::new();
    while heads.len() < entries {
        let page = store.heads(id, generation, heads.len(), 100).await?;
        assert!(!page.is_empty(), "{} of {entries} heads", heads.len());
        heads.extend(page);
    }
    let lines = try_lines(store, id, opened.version).await?;
    let card = store.card(id).await?;
    let texts = store.previews(id, opened.version).await?;
    let previews = (0..texts.len()).map(|at| texts.get(Seq::new(at)).into_owned()).collect();
    Ok(SessionData {
        header: opened.header,
        entries,
        odd: opened.invalid_lines,
        heads,
        lines,
        card,
        previews,
    })
}

async fn try_lines(store: &dyn Store, id: &str, version: LogVersion) -> Result<Vec<Vec<u8>>, StoreError> {
    let seqs: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
    let mut lines = Vec::new();
    for_each_line(store, id, version.generation, &seqs, |_, line| {
        lines.push(line.to_vec());
        Ok::<_, StoreError>(())
    })
    .await?;
    Ok(lines)
}

/// The lines of all entries.
pub(crate) async fn lines_of(store: &dyn Store, id: &str) -> Vec<Vec<u8>> {
    let version = store.open(id).await.unwrap().version;
    try_lines(store, id, version).await.unwrap()
}

/// The line of the last entry.
pub(crate) async fn last_line(store: &dyn Store, id: &str) -> Vec<u8> {
    let version = store.open(id).await.unwrap().version;
    let mut batch = LineBatch::default();
    store.lines(id, version.generation, &[Seq::new(version.entries - 1)], &mut batch).await.unwrap();
    batch.get(0).unwrap().to_vec()
}

/// Appends, and retries if another writer appended first.
pub(crate) async fn append(store: &dyn Store, id: &str, lines: &[Vec<u8>]) -> Result<LogVersion, StoreError> {
    let mut expected = store.open(id).await?.version;
    loop {
        match store.append(id, expected, lines).await {
            Err(StoreError::Conflict { now }) => expected = now,
            Err(StoreError::Replaced) => expected = store.open(id).await?.version,
            done => return done,
        }
    }
}

/// A small random number generator.
pub(crate) struct SplitMix64(pub(crate) u64);

impl SplitMix64 {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % limit.max(1) as u64) as usize
    }
}
