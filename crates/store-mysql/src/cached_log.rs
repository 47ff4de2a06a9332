//! The cached state of a log that this process appends to: all heads and the card, so that the next append reads neither.

use std::time::Instant;

use osier_store::{LineBatch, LogVersion};
use osier_tree::entry::parse_entry;
use osier_tree::projection::card::CardFold;
use osier_tree::{Header, Heads, Seq};
use sqlx::MySqlConnection;

use crate::attempt_error::AttemptError;
use crate::log_reader::LogReader;
use crate::rows::{FoldedLog, SessionRow};

/// The cached heads and card of a log.
#[derive(Debug, Clone)]
pub(crate) struct CachedLog {
    /// When the server last confirmed this state.
    pub(crate) confirmed_at: Instant,
    pub(crate) header: Header,
    pub(crate) generation: u64,
    pub(crate) folded: FoldedLog,
    /// The card was folded from all lines, so no entry can make a rebuild necessary.
    pub(crate) has_full_card: bool,
}

impl CachedLog {
    pub(crate) fn version(&self) -> LogVersion {
        LogVersion { generation: self.generation, entries: self.folded.heads.len() }
    }

    /// Loads the log up to the version in its row. Reuses what `before` already contains.
    pub(crate) async fn load(
        connection: &mut MySqlConnection,
        log: LogReader<'_>,
        row: &SessionRow,
        before: Option<&CachedLog>,
    ) -> Result<CachedLog, AttemptError> {
        let header = row.header().unwrap_or_else(|| Header::new(log.session, 0, ""));
        let (confirmed, generation) = (Instant::now(), row.version.generation);
        let same = |cached: &&CachedLog| {
            cached.generation == generation && cached.version().entries <= row.version.entries
        };
        if let Some(before) = before.filter(same).filter(|cached| cached.has_full_card) {
            let folded = before.folded.clone();
            let folded = CachedLog::fold_missing_lines(connection, log, folded, row.version.entries).await?;
            return Ok(CachedLog {
                confirmed_at: confirmed,
                header,
                generation,
                folded: FoldedLog { invalid_lines: row.invalid_lines, ..folded },
                has_full_card: true,
            });
        }
        if row.regular
            && let Some(folded) = CachedLog::from_stored_heads(connection, log, row, before).await?
        {
            return Ok(CachedLog {
                confirmed_at: confirmed,
                header,
                generation,
                folded,
                has_full_card: false,
            });
        }
        let folded = CachedLog::fold_all_lines(connection, log, row.version.entries, &header).await?;
        Ok(CachedLog {
            confirmed_at: confirmed,
            header,
            generation,
            folded: FoldedLog { invalid_lines: row.invalid_lines, ..folded },
            has_full_card: true,
        })
    }

    /// The same log, with a card that is folded from all lines.
    pub(crate) async fn with_full_card(
        &self,
        connection: &mut MySqlConnection,
        log: LogReader<'_>,
    ) -> Result<CachedLog, AttemptError> {
        let folded = CachedLog::fold_all_lines(connection, log, self.version().entries, &self.header).await?;
        let folded = FoldedLog { invalid_lines: self.folded.invalid_lines, ..folded };
        Ok(CachedLog { folded, has_full_card: true, ..self.clone() })
    }

    /// Whether the stored log has the newest cached line at its position.
    pub(crate) async fn is_start_of(
        &self,
        connection: &mut MySqlConnection,
        log: LogReader<'_>,
    ) -> Result<bool, AttemptError> {
        let Some(last) = self.folded.heads.len().checked_sub(1) else { return Ok(true) };
        let stored = log.heads(connection, last, 1).await?.unwrap_or_default();
        let cached = self.folded.heads.get(Seq::new(last)).id;
        // Heads of another version cannot be compared.
        Ok(stored.first().is_none_or(|head| head.id == cached))
    }

    /// Restores the log from stored heads. In a log without contradictions, a head never changes after it is written.
    async fn from_stored_heads(
        connection: &mut MySqlConnection,
        log: LogReader<'_>,
        row: &SessionRow,
        before: Option<&CachedLog>,
    ) -> Result<Option<FoldedLog>, AttemptError> {
        let Some(card) = row.card(log.session, log.store) else { return Ok(None) };
        let entries = row.version.entries;
        let same =
            |cached: &&CachedLog| cached.generation == log.generation && cached.version().entries <= entries;
        let mut heads = before.filter(same).map(|cached| cached.folded.heads.clone()).unwrap_or_default();
        if !heads.is_regular() {
            heads = Heads::default();
        }
        if !log.restore_heads(connection, &mut heads, entries).await? {
            return Ok(None);
        }
        let card = CardFold::resume(card, &heads);
        Ok(Some(FoldedLog { heads, card, invalid_lines: row.invalid_lines }))
    }

    /// Folds all lines.
    pub(crate) async fn fold_all_lines(
        connection: &mut MySqlConnection,
        log: LogReader<'_>,
        entries: usize,
        header: &Header,
    ) -> Result<FoldedLog, AttemptError> {
        CachedLog::fold_missing_lines(connection, log, FoldedLog::new(header, log.store), entries).await
    }

    /// Folds the missing lines up to `entries`.
    async fn fold_missing_lines(
        connection: &mut MySqlConnection,
        log: LogReader<'_>,
        mut folded: FoldedLog,
        entries: usize,
    ) -> Result<FoldedLog, AttemptError> {
        let seqs: Vec<Seq> = (folded.heads.len()..entries).map(Seq::new).collect();
        let (mut rest, mut batch) = (seqs.as_slice(), LineBatch::default());
        while !rest.is_empty() {
            log.lines(connection, rest, &mut batch).await?;
            for line in batch.iter() {
                if let Ok(entry) = parse_entry(line) {
                    folded.fold_entry(&entry);
                }
            }
            rest = &rest[batch.len().max(1)..];
        }
        folded.heads.settle();
        Ok(folded)
    }
}
