//! Opens a session file anywhere and prints its path and the size of its context. Writes nothing.
//!
//!     cargo run -p osier-session --example open_and_walk -- session.jsonl

use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use osier_session::{Session, SessionEnv};
use osier_store::{FileStore, StoreError};
use osier_tree::Seq;
use osier_tree::entry::parse_entry;
use osier_tree::projection::Lines;
use osier_tree::projection::preview::Previews;
use rustc_hash::FxHashMap;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("usage: open_and_walk FILE.jsonl")?;
    run(Path::new(&file), &mut std::io::stdout()).await
}

pub(crate) async fn run(file: &Path, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    // A key with a `/` is the path of a file, so the session folder does not matter here.
    let store = Arc::new(FileStore::new(".", None));
    let session = Session::open(store, &FileStore::path_to_id(file)?, SessionEnv::default()).await?;
    let (tree, version) = (session.tree(), session.version());

    // The tree contains heads. Lines are read on demand.
    let path = tree.path(tree.leaf());
    let mut previews = Previews::default();
    let mut rows = Vec::new();
    session
        .for_each_line(version, &path, |seq, line| {
            if let Ok(entry) = parse_entry(line) {
                rows.push(format!("{}  {}", tree.id(seq), previews.preview(&entry)));
            }
            Ok::<_, StoreError>(())
        })
        .await?;
    writeln!(out, "path:\n  {}", rows.join("\n  "))?;

    // Build a context in two steps: select the entries, then read their messages. Each message is part of a stored
    // line.
    let plan = tree.context_entries(tree.leaf());
    let seqs: Vec<Seq> = plan.items.iter().flat_map(|item| [Some(item.seq), item.edit]).flatten().collect();
    let mut lines: FxHashMap<Seq, Vec<u8>> = FxHashMap::default();
    session
        .for_each_line(version, &seqs, |seq, line| {
            lines.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
    let mut messages = Vec::new();
    for item in &plan.items {
        let edit = item.edit.and_then(|edit| lines.line(edit));
        if let Some(line) = lines.line(item.seq) {
            item.emit_messages(line, edit, &mut |message| messages.push(message.len()));
        }
    }
    writeln!(out, "context: {} messages, {} bytes", messages.len(), messages.iter().sum::<usize>())?;
    Ok(())
}
