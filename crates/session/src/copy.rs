//! Copies a session from one store to another: the same id, the same lines, byte for byte.
//!
//! What is there already must be the beginning of what is copied, or go on from it; so a copy that was cut off goes on, and
//! one that was made is made again without a write. Lines that are no entries stay behind.

use osier_store::{Batch, Opened, Store, StoreError, Version};
use osier_tree::{Header, Seq, header};
use serde::Serialize;

use crate::error::Error;

/// Places asked for at once.
const PAGE: usize = 4096;

/// What came of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Copied {
    pub session: String,
    pub from: String,
    pub to: String,
    /// How many entries are the same in both now.
    pub entries: usize,
    /// How many of them this call wrote.
    pub copied: usize,
    /// Lines of the source that are no entries, and were not copied.
    pub odd_lines: usize,
}

/// See the module. `key` is the name by which `from` knows the session.
pub async fn copy(from: &dyn Store, key: &str, to: &dyn Store) -> Result<Copied, Error> {
    let source = from.open(key).await?;
    let id = source.header.id.as_str();
    let (mut there, mut copied) = begun(from, key, &source, to).await?;
    let mut at = 0;
    while at < source.version.entries {
        let lines = some_lines(from, key, source.version, at).await?;
        let known = lines.len().min(there.entries.saturating_sub(at));
        same(to, id, there, at, &lines[..known]).await?;
        let new = &lines[known..];
        if !new.is_empty() {
            let before = there;
            there = match to.append(id, there, new).await {
                Ok(now) => now,
                // Somebody else copies, or went on in the copy; what came is compared like all the rest.
                Err(StoreError::Conflict { now }) => {
                    there = now;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            same(to, id, there, before.entries, new).await?;
            copied += new.len();
        }
        at += lines.len();
    }
    to.sync(id).await?;
    Ok(Copied {
        session: id.to_owned(),
        from: from.name().to_owned(),
        to: to.name().to_owned(),
        entries: source.version.entries,
        copied,
        odd_lines: source.odd_lines,
    })
}

/// The session in the other store, and how many lines were written: if it is not there it is made, with the first batch. So
/// nobody sees a part of a session that is no longer than that.
async fn begun(
    from: &dyn Store,
    key: &str,
    source: &Opened,
    to: &dyn Store,
) -> Result<(Version, usize), Error> {
    // Old files are migrated as they are read.
    let header = Header { version: header::VERSION, ..source.header.clone() };
    // A store of files would take anything else for a path.
    if !header::is_valid_id(&header.id) {
        return Err(StoreError::InvalidId { id: header.id }.into());
    }
    let there = match to.open(&header.id).await {
        Err(StoreError::NotFound { .. }) => {
            let lines = match source.version.entries {
                0 => Vec::new(),
                _ => some_lines(from, key, source.version, 0).await?,
            };
            match to.create(&header, &lines).await {
                Ok(made) => return Ok((made.version, lines.len())),
                // Somebody else began, or the answer to a first try was lost.
                Err(StoreError::AlreadyExists { .. }) => to.open(&header.id).await?,
                Err(error) => return Err(error.into()),
            }
        }
        there => there?,
    };
    // A copy that an older version of Osier made has only the fields that it knew.
    let known = |header: &Header| Header { others: Vec::new(), ..header.clone() };
    match known(&there.header).line() == known(&header).line() {
        true => Ok((there.version, 0)),
        false => Err(Error::Different { store: to.name().to_owned(), id: header.id, at: None }),
    }
}

/// As many lines from a place on as make a batch; one at least.
async fn some_lines(
    store: &dyn Store,
    key: &str,
    version: Version,
    from: usize,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let wanted: Vec<Seq> = (from..version.entries.min(from + PAGE)).map(Seq::new).collect();
    let mut batch = Batch::default();
    store.lines(key, version.generation, &wanted, &mut batch).await?;
    if batch.is_empty() {
        return Err(StoreError::NoSuchEntry { seq: from });
    }
    Ok(batch.iter().map(<[u8]>::to_vec).collect())
}

/// Reads lines back, and compares them.
async fn same(
    store: &dyn Store,
    id: &str,
    version: Version,
    from: usize,
    lines: &[Vec<u8>],
) -> Result<(), Error> {
    let mut done = 0;
    while done < lines.len() {
        let there = some_lines(store, id, version, from + done).await?;
        let alike = there.iter().zip(&lines[done..]).take_while(|(there, line)| there == line).count();
        done += alike;
        if alike == 0 || alike < there.len() && done < lines.len() {
            let at = Some(from + done);
            return Err(Error::Different { store: store.name().to_owned(), id: id.to_owned(), at });
        }
    }
    Ok(())
}
