//! Loads a session: builds a tree from its heads, shared with the store or read in pages, and from the few lines that
//! the fold needs. Writes nothing.

use osier_store::{LogVersion, OpenedLog, Store, StoreError, for_each_line};
use osier_tree::entry::{Entry, parse_entry};
use osier_tree::{Head, Heads, Seq, SessionTree};
use rustc_hash::FxHashMap;

/// Heads requested at once.
const HEADS_PER_PAGE: usize = 4032;

/// How often to retry when another process appends during the load.
const MAX_ATTEMPTS: usize = 3;

/// A loaded session.
#[derive(Debug)]
pub(crate) struct LoadedSession {
    pub(crate) opened: OpenedLog,
    pub(crate) tree: SessionTree,
    pub(crate) version: LogVersion,
}

/// Reads a session.
///
/// In a damaged log a new line can change older heads, so heads are valid only if the log did not grow while they
/// were read. If the log keeps growing, the tree is built from the lines, which never change.
pub(crate) async fn load_session(store: &dyn Store, id: &str) -> Result<LoadedSession, StoreError> {
    let mut opened = store.open(id).await?;
    for _ in 0..MAX_ATTEMPTS {
        let version = opened.version;
        let tree = from_heads(store, id, version).await;
        opened = store.open(id).await?;
        match tree {
            Ok(tree) if opened.version == version => return Ok(LoadedSession { opened, tree, version }),
            Ok(_) | Err(StoreError::Replaced) => {}
            Err(error) => return Err(error),
        }
    }
    let version = opened.version;
    let tree = from_lines(store, id, version).await?;
    Ok(LoadedSession { opened, tree, version })
}

async fn from_heads(store: &dyn Store, id: &str, version: LogVersion) -> Result<SessionTree, StoreError> {
    match store.shared_heads(id, version.generation).await? {
        Some(heads) if heads.len() == version.entries => from_shared(store, id, version, heads).await,
        // The log grew since it was opened.
        Some(_) => Err(StoreError::Replaced),
        None => from_pages(store, id, version).await,
    }
}

async fn from_shared(
    store: &dyn Store,
    id: &str,
    version: LogVersion,
    heads: Heads,
) -> Result<SessionTree, StoreError> {
    let seqs = heads.entries_with_folded_body();
    let mut marks: Vec<(Seq, Vec<u8>)> = Vec::with_capacity(seqs.len());
    for_each_line(store, id, version.generation, &seqs, |seq, line| {
        marks.push((seq, line.to_vec()));
        Ok::<_, StoreError>(())
    })
    .await?;
    let marks = marks.iter().filter_map(|(seq, line)| Some((*seq, parse_entry(line).ok()?)));
    Ok(SessionTree::from_heads(heads, marks))
}

async fn from_pages(store: &dyn Store, id: &str, version: LogVersion) -> Result<SessionTree, StoreError> {
    let mut heads: Vec<Head> = Vec::with_capacity(version.entries);
    while heads.len() < version.entries {
        let limit = HEADS_PER_PAGE.min(version.entries - heads.len());
        let page = store.heads(id, version.generation, heads.len(), limit).await?;
        if page.is_empty() {
            return Err(StoreError::NoSuchEntry { seq: heads.len() });
        }
        heads.extend(page);
    }
    let seqs: Vec<Seq> =
        heads.iter().enumerate().filter(|(_, head)| head.needs_line()).map(|(at, _)| Seq::new(at)).collect();
    let mut seen: FxHashMap<Seq, FoldLine> = FxHashMap::default();
    for_each_line(store, id, version.generation, &seqs, |seq, line| {
        seen.insert(seq, FoldLine::read(line)?);
        Ok::<_, StoreError>(())
    })
    .await?;
    Ok(SessionTree::restore(heads, |seq| seen.get(&seq).and_then(FoldLine::entry)))
}

async fn from_lines(store: &dyn Store, id: &str, version: LogVersion) -> Result<SessionTree, StoreError> {
    let mut tree = SessionTree::default();
    let seqs: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
    for_each_line(store, id, version.generation, &seqs, |_, line| {
        let entry = parse_entry(line).map_err(|_| StoreError::Replaced)?;
        tree.append(&entry, 0, u32::try_from(line.len()).unwrap_or(u32::MAX));
        Ok::<_, StoreError>(())
    })
    .await?;
    Ok(tree)
}

/// The part of a line that the fold needs. In a log with long ids it needs every line, so only marks keep their
/// bodies.
enum FoldLine {
    FullLine(Vec<u8>),
    Fields(Box<Entry<'static>>),
}

impl FoldLine {
    fn read(line: &[u8]) -> Result<FoldLine, StoreError> {
        let entry = parse_entry(line).map_err(|_| StoreError::Replaced)?;
        if entry.kind.folds_body() {
            return Ok(FoldLine::FullLine(line.to_vec()));
        }
        let nothing = parse_entry(br#"{"type":"","id":""}"#).map_err(|_| StoreError::Replaced)?;
        Ok(FoldLine::Fields(Box::new(Entry {
            kind: entry.kind,
            id: entry.id.into_owned().into(),
            parent: entry.parent.map(|parent| parent.into_owned().into()),
            target: entry.target.map(|target| target.into_owned().into()),
            ..nothing
        })))
    }

    fn entry(&self) -> Option<Entry<'_>> {
        match self {
            FoldLine::FullLine(line) => parse_entry(line).ok(),
            FoldLine::Fields(entry) => Some(Entry::clone(entry)),
        }
    }
}
