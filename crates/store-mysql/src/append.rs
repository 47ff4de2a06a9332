//! Appending: one short transaction that writes the lines and updates the card. The key of a line is its position in the log,
//! so a duplicate key tells a writer that another writer was faster. Everything that can be computed in advance is computed
//! before the transaction starts.

use std::time::Instant;

use osier_store::{LineBatch, LogVersion, StoreError};
use osier_tree::entry::parse_entry;
use osier_tree::heads::IdKey;
use osier_tree::{Entry, Heads, Seq};
use sqlx::{Executor, MySqlConnection};

use crate::connections::Connection;
use crate::failure::{Failure, is_duplicate};
use crate::known::Known;
use crate::rows::{self, CardColumns, Folded, Place, SessionRow, modified, short};
use crate::store::{Inner, LogState};
use crate::tally;
use crate::watching::Standing;

/// An append to one session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Append<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) id: &'a str,
    pub(crate) expected: LogVersion,
    pub(crate) lines: &'a [Vec<u8>],
}

impl Append<'_> {
    /// Runs one attempt. It can be repeated, whether or not the previous attempt was stored.
    pub(crate) async fn make(
        &self,
        connection: &mut Connection,
        LogState { known, contention }: &mut LogState,
    ) -> Result<LogVersion, Failure> {
        let is_sure =
            |known: &Known| known.version() == self.expected && connection.was_there(known.confirmed);
        if !known.as_ref().is_some_and(is_sure) {
            let row = self.store.find_row(connection, self.id).await?;
            if let Some(row) = &row {
                self.check_continued(connection, known.as_ref(), row).await?;
            }
            match row {
                Some(row) if row.version == self.expected => {
                    let log = self.store.log(self.id, row.version.generation);
                    *known = Some(Known::load(connection, log, &row, known.as_ref()).await?);
                }
                row => return self.too_late(connection, row).await,
            }
        }
        let Some(mut before) = known.as_ref() else { return Err(StoreError::Replaced.into()) };
        let mut after = before.clone();
        let mut entries = after.folded.take_all(self.lines);
        if after.folded.card.needs_rebuild() {
            let log = self.store.log(self.id, before.generation);
            // Cached, so that the next attempt reads only newer lines if another writer is faster now.
            before = known.insert(before.completed(connection, log).await?);
            after = before.clone();
            entries = after.folded.take_all(self.lines);
        }
        if !self.write(connection, &before.folded, &after.folded, &entries).await? {
            tokio::time::sleep(contention.lost()).await;
            let row = self.store.find_row(connection, self.id).await?;
            return self.too_late(connection, row).await;
        }
        contention.won();
        after.confirmed = Instant::now();
        let version = after.version();
        self.store.note_length(self.id, version);
        *known = Some(after);
        Ok(version)
    }

    /// Fails unless the stored log starts with the cached one. Checked only over a new connection: a server that took over
    /// may lack the latest lines, or have other lines in their place.
    async fn check_continued(
        &self,
        connection: &mut Connection,
        known: Option<&Known>,
        row: &SessionRow,
    ) -> Result<(), Failure> {
        let Some(known) = known else { return Ok(()) };
        if !row.is_marked {
            self.store.unmarked(self.id);
        }
        let in_doubt = !connection.was_there(known.confirmed) && known.generation == row.version.generation;
        let log = self.store.log(self.id, row.version.generation);
        match in_doubt && !known.begins(connection, log).await? {
            true => Err(Failure::Shrunk(self.id.to_owned())),
            false => Ok(()),
        }
    }

    /// Runs the transaction. Returns `false` and writes nothing if the session is not in the expected state.
    async fn write(
        &self,
        connection: &mut Connection,
        before: &Folded,
        after: &Folded,
        entries: &[Entry<'_>],
    ) -> Result<bool, Failure> {
        let part = self.store.connections.part();
        let place = Place { session: self.id, generation: self.expected.generation, part };
        let standing = self.store.standing(self.id, self.expected.generation);
        if standing == Standing::Marked
            && let [entry] = entries
            && let Some(tally) = self.tally(before, after, entry)
        {
            let seq = Seq::new(self.expected.entries);
            let written = rows::write_with_tally(connection, place, seq, entry, &after.heads, &tally).await?;
            // If this took too long, the record that the session is open has expired, and another process may have unmarked its row.
            if written && self.store.standing(self.id, self.expected.generation) != Standing::Marked {
                rows::mark(connection, self.id).await?;
            }
            return Ok(written);
        }
        let changed = changed(&before.heads, &after.heads);
        connection.execute("START TRANSACTION").await?;
        let mark = standing == Standing::Held;
        let written = self.write_all(connection, place, after, entries, &changed, mark).await?;
        connection.execute(if written { "COMMIT" } else { "ROLLBACK" }).await?;
        if written && mark {
            self.store.marked(self.id, self.expected.generation);
        }
        Ok(written)
    }

    /// The card update to store with the only line. `None` if it cannot express the whole change, so that the session's row
    /// must be updated as well.
    fn tally(&self, before: &Folded, after: &Folded, entry: &Entry<'_>) -> Option<[u8; tally::RECORD]> {
        let same_log = before.odd == after.odd && before.heads.is_regular() && after.heads.is_regular();
        let is_short = entry.line.len() <= self.store.connections.part() && short(Some(&entry.id)).is_some();
        let fits = same_log && is_short;
        if fits { tally::of(before.card.card(), after.card.card(), &entry.id) } else { None }
    }

    async fn write_all(
        &self,
        connection: &mut MySqlConnection,
        place: Place<'_>,
        after: &Folded,
        entries: &[Entry<'_>],
        changed: &[Seq],
        mark: bool,
    ) -> Result<bool, Failure> {
        if !self.take_the_row(connection, after, mark).await? {
            return Ok(false);
        }
        if entries.is_empty() {
            let now = SessionRow::read(connection, self.id).await?.map(|row| row.version);
            return Ok(now == Some(self.expected));
        }
        match rows::write(connection, place, self.expected.entries, entries, &after.heads).await {
            Err(Failure::Sql(error)) if is_duplicate(&error) => return Ok(false),
            written => written?,
        }
        rows::write_heads(connection, place, changed, &after.heads).await?;
        Ok(true)
    }

    /// Updates the session's row. This locks the row until the transaction ends.
    async fn take_the_row(
        &self,
        connection: &mut MySqlConnection,
        after: &Folded,
        mark: bool,
    ) -> Result<bool, Failure> {
        let card = CardColumns::of(after.card.card());
        let query = sqlx::query(concat!(
            "UPDATE osier_sessions SET entries = ?, odd = ?, regular = ?, card = ?, cost = ?, minus_modified = ",
            modified!(),
            " WHERE id = ? AND generation = ? AND entries <= ?"
        ));
        let query = query.bind(after.heads.len() as u32).bind(after.odd as u32);
        let query = query.bind(after.heads.is_regular()).bind(card.json).bind(card.cost);
        let query = query.bind(mark).bind(card.minus_modified).bind(self.id);
        let query = query.bind(self.expected.generation).bind(self.expected.entries as u32);
        Ok(query.execute(connection).await?.rows_affected() == 1)
    }

    /// Handles a session that is not in the expected state. If these lines are already stored, an earlier attempt succeeded
    /// but its connection broke before the acknowledgment, and this append succeeds.
    async fn too_late(
        &self,
        connection: &mut MySqlConnection,
        row: Option<SessionRow>,
    ) -> Result<LogVersion, Failure> {
        let now = row.ok_or_else(|| self.store.not_found(self.id))?.version;
        if now.generation != self.expected.generation {
            return Err(StoreError::Replaced.into());
        }
        if now.entries > self.expected.entries && self.is_there(connection, now).await? {
            return Ok(now);
        }
        Err(StoreError::Conflict { now }.into())
    }

    /// Whether exactly these lines are stored at the expected position.
    async fn is_there(&self, connection: &mut MySqlConnection, now: LogVersion) -> Result<bool, Failure> {
        let (log, first) = (self.store.log(self.id, now.generation), self.expected.entries);
        let mine: Vec<Entry<'_>> = self.lines.iter().filter_map(|line| parse_entry(line).ok()).collect();
        let Some(id) = mine.first().map(|entry| IdKey::from_id(&entry.id).0) else { return Ok(false) };
        let head = log.heads(connection, first, 1).await?.unwrap_or_default();
        if now.entries < first + mine.len() || head.first().is_some_and(|head| head.id != id) {
            return Ok(false);
        }
        let places: Vec<Seq> = (first..first + mine.len()).map(Seq::new).collect();
        let (mut at, mut batch) = (0, LineBatch::default());
        while at < places.len() {
            log.lines(connection, &places[at..], &mut batch).await?;
            if !batch.iter().zip(&mine[at..]).all(|(line, mine)| line == mine.line) {
                return Ok(false);
            }
            at += batch.len().max(1);
        }
        Ok(true)
    }
}

/// Earlier heads that changed. That happens only in logs with contradictory lines.
fn changed(before: &Heads, after: &Heads) -> Vec<Seq> {
    if before.is_regular() && after.is_regular() {
        return Vec::new();
    }
    before.iter().filter(|(seq, head)| after.get(*seq) != *head).map(|(seq, _)| seq).collect()
}
