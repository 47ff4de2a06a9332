//! Verifying a log without using any cache.

use std::io::{self, Write};
use std::path::PathBuf;

use osier_store::StoreError;
use osier_store::file::{VerifyIssue, VerifyReport, verify};
use osier_tree::{Head, Seq};
use tempfile::NamedTempFile;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::find::{FoundSession, is_path};
use crate::stored::StoredSession;

/// The result of verifying a session.
#[derive(Debug)]
pub struct VerifiedSession {
    /// The path of the log, if it is a file.
    pub file: Option<PathBuf>,
    pub report: VerifyReport,
}

impl Engine {
    /// Verifies a session. A session named by its path need not be readable as one.
    pub async fn verify(&self, found: FoundSession) -> Result<VerifiedSession, EngineError> {
        if is_path(&found.key) {
            return verify_file(found.key.into());
        }
        let stored = found.read().await?;
        match stored.file() {
            Some(file) => verify_file(file.clone()),
            None => Ok(VerifiedSession { file: None, report: verify_stored(&stored).await? }),
        }
    }
}

fn verify_file(path: PathBuf) -> Result<VerifiedSession, EngineError> {
    let report = verify(&path)?;
    Ok(VerifiedSession { file: Some(path), report })
}

/// Verifies a log in a database as the file that it would be: the header is its first line. In addition, each entry must be
/// there, and the tree that the database keeps must be the one that the lines make.
async fn verify_stored(stored: &StoredSession) -> Result<VerifyReport, EngineError> {
    let (header, version) = (&stored.opened.header, stored.opened.version);
    let mut copy = LogCopy::create()?;
    copy.write_line(header.to_line().as_ref())?;
    let missing = copy.write_entries(stored).await?;
    let mut report = verify(copy.finish()?.path())?;
    let mut add_damage = |line: usize, what: &str| {
        report.issues.push(VerifyIssue { line, damage: true, what: what.to_owned() });
    };
    for seq in &missing {
        add_damage(seq.index() + 2, "the database lacks this entry, or a part of it");
    }
    if missing.is_empty() {
        let kept = stored.store.heads(&stored.key, version.generation, 0, version.entries).await?;
        let expected = report.tree.heads().iter().map(|(_, head)| Head { offset: 0, ..*head });
        if !expected.eq(kept.into_iter().map(|head| Head { offset: 0, ..head })) {
            add_damage(1, "the tree in the database is not the one that the lines make");
        }
    }
    report.issues.sort_by_key(|issue| issue.line);
    Ok(report)
}

/// A temporary file with the lines of a log.
struct LogCopy(NamedTempFile);

impl LogCopy {
    fn create() -> Result<LogCopy, EngineError> {
        let failed = |source| EngineError::CannotWrite { path: "a temporary file".into(), source };
        NamedTempFile::new().map(LogCopy).map_err(failed)
    }

    fn error(&self, source: io::Error) -> EngineError {
        EngineError::CannotWrite { path: self.0.path().to_owned(), source }
    }

    fn write_line(&mut self, line: &[u8]) -> Result<(), EngineError> {
        let written = self.0.write_all(line).and_then(|()| self.0.write_all(b"\n"));
        written.map_err(|source| self.error(source))
    }

    fn finish(mut self) -> Result<NamedTempFile, EngineError> {
        self.0.flush().map_err(|source| self.error(source))?;
        Ok(self.0)
    }

    /// Writes all entries, and an empty line for each one that cannot be read. Returns those.
    async fn write_entries(&mut self, stored: &StoredSession) -> Result<Vec<Seq>, EngineError> {
        let (mut missing, mut next) = (Vec::new(), 0);
        let entries = stored.opened.version.entries;
        while next < entries {
            match self.write_range(stored, next, entries).await {
                (_, Ok(())) => break,
                (written, Err(EngineError::Store(StoreError::NoSuchEntry { seq }))) => {
                    // The entries before the missing one were requested together with it.
                    self.write_range(stored, written, seq).await.1?;
                    self.write_line(b"")?;
                    missing.push(Seq::new(seq));
                    next = seq + 1;
                }
                (_, Err(error)) => return Err(error),
            }
        }
        Ok(missing)
    }

    /// Writes some entries. Also returns the first one that was not written.
    async fn write_range(
        &mut self,
        stored: &StoredSession,
        from: usize,
        to: usize,
    ) -> (usize, Result<(), EngineError>) {
        let seqs: Vec<Seq> = (from..to).map(Seq::new).collect();
        let mut next = from;
        let write = |seq: Seq, line: &[u8]| {
            next = seq.index() + 1;
            self.write_line(line)
        };
        let written = stored.for_each_line(&seqs, write).await;
        (next, written)
    }
}
