//! Fetching what projections need: lines by batches, previews, whole contexts.

use std::borrow::Cow;

use anyhow::Result;
use osier_session::Session;
use osier_store::{StoreError, Texts};
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

/// The one-line texts of all entries, from the store's cache where it has them.
pub(crate) async fn previews(session: &Session) -> Result<Texts> {
    Ok(session.store().previews(session.key(), session.version()).await?)
}

/// A preview with the user's home folder written `~`.
pub(crate) fn at_home<'a>(text: &'a str, home: Option<&str>) -> Cow<'a, str> {
    match home.filter(|home| home.len() > 1 && text.starts_with('[') && text.contains(home)) {
        Some(home) => Cow::Owned(text.replacen(home, "~", 1)),
        None => Cow::Borrowed(text),
    }
}

/// The entry a person names with `--at`; without it, where the log stands.
pub(crate) fn place(tree: &SessionTree, at: Option<&str>) -> Result<Place> {
    match at {
        None => Ok(tree.leaf()),
        Some("root") => Ok(None),
        Some(id) => Ok(Some(tree.require(id)?)),
    }
}
