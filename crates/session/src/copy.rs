//! Copies a session from one store to another: the same id, the same lines, byte for byte.
//!
//! An existing session in the target store must be a prefix or a continuation of the source. So an interrupted copy
//! can be resumed, and repeating a finished copy writes nothing. Lines that are not valid entries are not copied.

use osier_store::{LineBatch, LogVersion, OpenedLog, Store, StoreError};
use osier_tree::{Header, Seq, header};
use serde::Serialize;

use crate::error::SessionError;

/// Entries requested at once.
const PAGE: usize = 4096;

/// The result of a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CopyReport {
    pub session: String,
    pub from: String,
    pub to: String,
    /// The number of entries that are now in both stores.
    pub entries: usize,
    /// The number of entries that this call wrote.
    pub copied: usize,
    /// The number of lines of the source that are not valid entries and were not copied.
    pub odd_lines: usize,
}

/// Copies a session. `key` is its id in `from`.
pub async fn copy_session(from: &dyn Store, key: &str, to: &dyn Store) -> Result<CopyReport, SessionError> {
    let source = from.open(key).await?;
    let id = source.header.id.as_str();
    let (mut there, mut copied) = open_or_create(from, key, &source, to).await?;
    let mut at = 0;
    while at < source.version.entries {
        let lines = read_batch(from, key, source.version, at).await?;
        let known = lines.len().min(there.entries.saturating_sub(at));
        compare_lines(to, id, there, at, &lines[..known]).await?;
        let new = &lines[known..];
        if !new.is_empty() {
            let before = there;
            there = match to.append(id, there, new).await {
                Ok(now) => now,
                // Another process also copies or appended to the copy. Its lines are compared like the others.
                Err(StoreError::Conflict { now }) => {
                    there = now;
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            compare_lines(to, id, there, before.entries, new).await?;
            copied += new.len();
        }
        at += lines.len();
    }
    to.sync(id).await?;
    Ok(CopyReport {
        session: id.to_owned(),
        from: from.name().to_owned(),
        to: to.name().to_owned(),
        entries: source.version.entries,
        copied,
        odd_lines: source.invalid_lines,
    })
}

/// Opens the session in the target store, or creates it with the first batch. Returns its version and the number of
/// lines written. So a session that fits in one batch is never visible partially.
async fn open_or_create(
    from: &dyn Store,
    key: &str,
    source: &OpenedLog,
    to: &dyn Store,
) -> Result<(LogVersion, usize), SessionError> {
    // Files of old versions are migrated when they are read.
    let header = Header { version: header::FORMAT_VERSION, ..source.header.clone() };
    // The file store would interpret any other id as a path.
    if !header::is_valid_id(&header.id) {
        return Err(StoreError::InvalidId { id: header.id }.into());
    }
    let there = match to.open(&header.id).await {
        Err(StoreError::NotFound { .. }) => {
            let lines = match source.version.entries {
                0 => Vec::new(),
                _ => read_batch(from, key, source.version, 0).await?,
            };
            match to.create(&header, &lines).await {
                Ok(made) => return Ok((made.version, lines.len())),
                // Another process created it, or the reply to an earlier attempt was lost.
                Err(StoreError::AlreadyExists { .. }) => to.open(&header.id).await?,
                Err(error) => return Err(error.into()),
            }
        }
        there => there?,
    };
    // A copy made by an older version of Osier has only the fields known to that version.
    let known = |header: &Header| Header { unknown_fields: Vec::new(), ..header.clone() };
    match known(&there.header).to_line() == known(&header).to_line() {
        true => Ok((there.version, 0)),
        false => Err(SessionError::CopyConflict { store: to.name().to_owned(), id: header.id, at: None }),
    }
}

/// Reads a batch of lines starting at `from`; at least one.
async fn read_batch(
    store: &dyn Store,
    key: &str,
    version: LogVersion,
    from: usize,
) -> Result<Vec<Vec<u8>>, StoreError> {
    let seqs: Vec<Seq> = (from..version.entries.min(from + PAGE)).map(Seq::new).collect();
    let mut batch = LineBatch::default();
    store.lines(key, version.generation, &seqs, &mut batch).await?;
    if batch.is_empty() {
        return Err(StoreError::NoSuchEntry { seq: from });
    }
    Ok(batch.iter().map(<[u8]>::to_vec).collect())
}

/// Reads lines and compares them with `lines`.
async fn compare_lines(
    store: &dyn Store,
    id: &str,
    version: LogVersion,
    from: usize,
    lines: &[Vec<u8>],
) -> Result<(), SessionError> {
    let mut done = 0;
    while done < lines.len() {
        let there = read_batch(store, id, version, from + done).await?;
        let equal = there.iter().zip(&lines[done..]).take_while(|(there, line)| there == line).count();
        done += equal;
        if equal == 0 || equal < there.len() && done < lines.len() {
            let at = Some(from + done);
            return Err(SessionError::CopyConflict { store: store.name().to_owned(), id: id.to_owned(), at });
        }
    }
    Ok(())
}
