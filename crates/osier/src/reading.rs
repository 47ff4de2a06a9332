//! Fetching what projections need: lines by batches, previews, whole contexts.

use anyhow::Result;
use osier_session::Session;
use osier_store::StoreError;
use osier_tree::entry::read_entry;
use osier_tree::projection::preview::Previews;
use osier_tree::{Place, Seq, SessionTree};
use rustc_hash::FxHashMap;

/// The lines of some entries, in memory.
pub(crate) type Held = FxHashMap<Seq, Vec<u8>>;

pub(crate) async fn lines(session: &Session, wanted: &[Seq]) -> Result<Held> {
    let mut held = Held::default();
    session
        .each_line(session.version(), wanted, |seq, line| {
            held.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(held)
}

/// The one-line texts of all entries, in log order. A tool result is told by its call, which may be anywhere above it.
pub(crate) async fn previews(
    session: &Session,
    tree: &SessionTree,
    user_home: Option<&str>,
) -> Result<Vec<String>> {
    let all: Vec<Seq> = (0..tree.len()).map(Seq::new).collect();
    let mut previews = Previews::new(user_home);
    let mut texts = Vec::with_capacity(all.len());
    session
        .each_line(session.version(), &all, |_, line| {
            texts.push(read_entry(line).map(|entry| previews.preview(&entry)).unwrap_or_default());
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(texts)
}

/// The entry a person names with `--at`; without it, where the log stands.
pub(crate) fn place(tree: &SessionTree, at: Option<&str>) -> Result<Place> {
    match at {
        None => Ok(tree.leaf()),
        Some("root") => Ok(None),
        Some(id) => Ok(Some(tree.require(id)?)),
    }
}
