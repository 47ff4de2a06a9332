//! A custom projection: the number of words per role on a path. It is a pure function, like the projections of the
//! library.
//!
//!     cargo run -p osier-session --example own_projection -- session.jsonl

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use osier_session::{Session, SessionEnv};
use osier_store::{FileStore, StoreError};
use osier_tree::projection::Lines;
use osier_tree::projection::preview::full_text;
use osier_tree::{EntryKind, Place, Seq, SessionTree};
use rustc_hash::FxHashMap;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: own_projection FILE.jsonl")?;
    run(Path::new(&file), &mut std::io::stdout()).await
}

/// First step, from heads alone: selects the lines that the projection needs.
pub(crate) fn word_entries(tree: &SessionTree, at: Place) -> Vec<Seq> {
    tree.path(at).into_iter().filter(|seq| tree.head(*seq).kind == EntryKind::Message).collect()
}

/// Second step, with those lines: counts the words of each role.
pub(crate) fn words(tree: &SessionTree, at: Place, lines: &impl Lines) -> BTreeMap<&'static str, usize> {
    let mut words = BTreeMap::new();
    for seq in word_entries(tree, at) {
        if let Some(entry) = lines.entry(seq) {
            *words.entry(entry.role.name()).or_default() += full_text(&entry).split_whitespace().count();
        }
    }
    words
}

pub(crate) async fn run(file: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let store = Arc::new(FileStore::new(".", None));
    let session = Session::open(store, &FileStore::path_to_id(file)?, SessionEnv::default()).await?;
    let tree = session.tree();
    let mut lines: FxHashMap<Seq, Vec<u8>> = FxHashMap::default();
    session
        .for_each_line(session.version(), &word_entries(&tree, tree.leaf()), |seq, line| {
            lines.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
    for (role, count) in words(&tree, tree.leaf(), &lines) {
        writeln!(out, "{role}: {count} words")?;
    }
    Ok(())
}
