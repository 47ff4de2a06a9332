//! The cached state of a log that this process appends to: all heads and the card, so that the next append reads neither.

use std::time::Instant;

use osier_store::{LineBatch, LogVersion};
use osier_tree::entry::parse_entry;
use osier_tree::projection::card::CardFold;
use osier_tree::{Header, Heads, Seq};
use sqlx::MySqlConnection;

use crate::failure::Failure;
use crate::reading::Log;
use crate::rows::{Folded, SessionRow};

/// The cached heads and card of a log.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    /// When the server last confirmed this state.
    pub(crate) confirmed: Instant,
    pub(crate) header: Header,
    pub(crate) generation: u64,
    pub(crate) folded: Folded,
    /// The card was folded from all lines, so no entry can make a rebuild necessary.
    pub(crate) complete: bool,
}

impl Known {
    pub(crate) fn version(&self) -> LogVersion {
        LogVersion { generation: self.generation, entries: self.folded.heads.len() }
    }

    /// Loads the log up to the version in its row. Reuses what `before` already contains.
    pub(crate) async fn load(
        connection: &mut MySqlConnection,
        log: Log<'_>,
        row: &SessionRow,
        before: Option<&Known>,
    ) -> Result<Known, Failure> {
        let header = row.header().unwrap_or_else(|| Header::new(log.session, 0, ""));
        let (confirmed, generation) = (Instant::now(), row.version.generation);
        let same =
            |known: &&Known| known.generation == generation && known.version().entries <= row.version.entries;
        if let Some(before) = before.filter(same).filter(|known| known.complete) {
            let folded = before.folded.clone();
            let folded = Known::read_lines(connection, log, folded, row.version.entries).await?;
            return Ok(Known {
                confirmed,
                header,
                generation,
                folded: Folded { odd: row.odd, ..folded },
                complete: true,
            });
        }
        if row.regular
            && let Some(folded) = Known::restored(connection, log, row, before).await?
        {
            return Ok(Known { confirmed, header, generation, folded, complete: false });
        }
        let folded = Known::from_lines(connection, log, row.version.entries, &header).await?;
        Ok(Known { confirmed, header, generation, folded: Folded { odd: row.odd, ..folded }, complete: true })
    }

    /// The same log, with a card that is folded from all lines.
    pub(crate) async fn completed(
        &self,
        connection: &mut MySqlConnection,
        log: Log<'_>,
    ) -> Result<Known, Failure> {
        let folded = Known::from_lines(connection, log, self.version().entries, &self.header).await?;
        let folded = Folded { odd: self.folded.odd, ..folded };
        Ok(Known { folded, complete: true, ..self.clone() })
    }

    /// Whether the stored log has the newest cached line at its position.
    pub(crate) async fn begins(
        &self,
        connection: &mut MySqlConnection,
        log: Log<'_>,
    ) -> Result<bool, Failure> {
        let Some(last) = self.folded.heads.len().checked_sub(1) else { return Ok(true) };
        let stored = log.heads(connection, last, 1).await?.unwrap_or_default();
        let known = self.folded.heads.get(Seq::new(last)).id;
        // Heads of another version cannot be compared.
        Ok(stored.first().is_none_or(|head| head.id == known))
    }

    /// Restores the log from stored heads. In a log without contradictions, a head never changes after it is written.
    async fn restored(
        connection: &mut MySqlConnection,
        log: Log<'_>,
        row: &SessionRow,
        before: Option<&Known>,
    ) -> Result<Option<Folded>, Failure> {
        let Some(card) = row.card(log.session, log.store) else { return Ok(None) };
        let entries = row.version.entries;
        let same = |known: &&Known| known.generation == log.generation && known.version().entries <= entries;
        let mut heads = before.filter(same).map(|known| known.folded.heads.clone()).unwrap_or_default();
        if !heads.is_regular() {
            heads = Heads::default();
        }
        if !log.restore(connection, &mut heads, entries).await? {
            return Ok(None);
        }
        let card = CardFold::resume(card, &heads);
        Ok(Some(Folded { heads, card, odd: row.odd }))
    }

    /// Folds all lines.
    pub(crate) async fn from_lines(
        connection: &mut MySqlConnection,
        log: Log<'_>,
        entries: usize,
        header: &Header,
    ) -> Result<Folded, Failure> {
        Known::read_lines(connection, log, Folded::new(header, log.store), entries).await
    }

    /// Folds the missing lines up to `entries`.
    async fn read_lines(
        connection: &mut MySqlConnection,
        log: Log<'_>,
        mut folded: Folded,
        entries: usize,
    ) -> Result<Folded, Failure> {
        let wanted: Vec<Seq> = (folded.heads.len()..entries).map(Seq::new).collect();
        let (mut rest, mut batch) = (wanted.as_slice(), LineBatch::default());
        while !rest.is_empty() {
            log.lines(connection, rest, &mut batch).await?;
            for line in batch.iter() {
                if let Ok(entry) = parse_entry(line) {
                    folded.take(&entry);
                }
            }
            rest = &rest[batch.len().max(1)..];
        }
        folded.heads.settle();
        Ok(folded)
    }
}
