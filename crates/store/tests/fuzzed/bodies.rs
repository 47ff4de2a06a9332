//! Properties that hold for any file and any index. `fuzz/` calls these with fuzzer input, and the tests in this
//! folder with random bytes.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use osier_store::file::{verify, with_checksums};
use osier_store::{FileStore, PagedHeads, Store, StoreError, for_each_line};
use osier_tree::entry::{ParsedLine, parse_entry, parse_line};
use osier_tree::{Header, Seq, SessionTree};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime starts").block_on(future)
}

/// All lines of a session. `StoreError::Replaced` means that the caller must retry.
async fn lines_of(store: &FileStore, id: &str) -> Result<Vec<Vec<u8>>, StoreError> {
    let version = store.open(id).await?.version;
    let seqs: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
    let mut lines = Vec::new();
    for_each_line(store, id, version.generation, &seqs, |_, line| {
        lines.push(line.to_vec());
        Ok::<_, StoreError>(())
    })
    .await?;
    Ok(lines)
}

fn link(number: usize) -> Vec<u8> {
    let parent = number.checked_sub(1).map_or("null".to_owned(), |above| format!("\"{above:08}\""));
    let head = format!(
        r#"{{"type":"message","id":"{number:08}","parentId":{parent},"timestamp":"2026-01-01T00:00:00.000Z""#
    );
    format!(r#"{head},"message":{{"role":"user","content":"{number}"}}}}"#).into_bytes()
}

/// Any bytes after a header are a log: its entries are the lines that parse as entries, and appending does not change
/// them.
pub(crate) fn log(data: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("log.jsonl");
    let file = [&Header::new("one", 0, "/").to_line(), b"\n".as_slice(), data].concat();
    fs::write(&path, &file).expect("a file is written");
    let expected: Vec<&[u8]> =
        data.split(|byte| *byte == b'\n').filter(|line| parse_entry(line).is_ok()).collect();
    let store = FileStore::new(folder.path(), None);
    let id = path.display().to_string();
    block_on(async {
        assert_eq!(lines_of(&store, &id).await.expect("lines"), expected);
        let version = store.open(&id).await.expect("opens").version;
        store.append(&id, version, &[link(0)]).await.expect("an append");
        let lines = lines_of(&store, &id).await.expect("lines");
        assert!(lines.iter().map(Vec::as_slice).eq(expected.iter().copied().chain([&*link(0)])));
    });
    let after = fs::read(&path).expect("the file is there");
    assert!(after.starts_with(&file) && after.len() - file.len() <= link(0).len() + 2);
    let verified = verify(&path).expect("a log");
    let odd = |line: &[u8]| matches!(parse_line(line), ParsedLine::Invalid(_));
    assert!(
        verified.is_sound()
            || data.split(|byte| *byte == b'\n').any(odd)
            || !verified.tree.heads().is_regular()
    );
}

/// A log and its index, created once.
struct Made {
    _folder: tempfile::TempDir,
    caches: PathBuf,
    id: String,
    index: PathBuf,
    whole: Vec<u8>,
    lines: Vec<Vec<u8>>,
}

fn made() -> &'static Made {
    static MADE: OnceLock<Made> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a folder");
        let (path, caches) = (folder.path().join("log.jsonl"), folder.path().join("cache"));
        let header =
            format!(r#"{{"type":"session","version":3,"id":"one","pad":"{}"}}"#, "x".repeat(140 << 10));
        let lines: Vec<Vec<u8>> = (0..130).map(link).collect();
        let text: Vec<u8> = std::iter::once(header.into_bytes())
            .chain(lines.clone())
            .flat_map(|line| [line, b"\n".to_vec()].concat())
            .collect();
        fs::write(&path, text).expect("a file is written");
        let id = path.display().to_string();
        block_on(FileStore::new(folder.path(), Some(caches.clone())).open(&id)).expect("opens");
        let mut files = fs::read_dir(caches.join("index")).expect("an index is cached");
        let index = files.next().expect("an index is cached").expect("a file").path();
        let whole = fs::read(&index).expect("an index is cached");
        Made { _folder: folder, caches, id, index, whole, lines }
    })
}

/// Any index, even one with correct checksums, gives correct results. The first byte decides whether the checksums
/// are correct. Changes of four bytes follow: two for the position, two for the new bytes.
pub(crate) fn index(data: &[u8]) {
    let made = made();
    let (sealing, changes) = data.split_first().unwrap_or((&0, &[]));
    let mut index = made.whole.clone();
    for change in changes.chunks_exact(4) {
        let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % (index.len() - 1);
        index[at..at + 2].copy_from_slice(&change[2..]);
    }
    let sealing = sealing % 2 == 0;
    fs::write(&made.index, if sealing { with_checksums(index) } else { index }).expect("an index is written");
    let store = FileStore::new("/nowhere", Some(made.caches.clone()));
    block_on(async {
        let lines = match lines_of(&store, &made.id).await {
            Err(StoreError::Replaced) if sealing => lines_of(&store, &made.id).await,
            lines => lines,
        };
        assert!(lines.expect("lines") == made.lines, "another log");
        let store = FileStore::new("/nowhere", Some(made.caches.clone()));
        let version = store.open(&made.id).await.expect("opens").version;
        let mut heads = PagedHeads::new(&store, &made.id, version);
        if let Ok(leaf) = heads.leaf().await {
            drop((heads.path(leaf).await, heads.context(leaf).await));
        }
        if let Ok(heads) = store.heads(&made.id, version.generation, 0, usize::MAX).await {
            let tree = SessionTree::restore(heads, |seq| parse_entry(&made.lines[seq.index()]).ok());
            tree.path(tree.leaf());
            tree.context_entries(tree.leaf());
        }
    });
}
