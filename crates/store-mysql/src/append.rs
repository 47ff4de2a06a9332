//! Appending: one short transaction that holds the session's row, in which the expected state is checked, the lines are
//! written and the card is renewed. All that can be worked out before is worked out before.

use std::sync::atomic::Ordering;

use osier_store::{Batch, StoreError, Version};
use osier_tree::entry::read_entry;
use osier_tree::heads::IdKey;
use osier_tree::{Entry, Heads, Seq};
use sqlx::{Executor, MySqlConnection};

use crate::failure::Failure;
use crate::known::Known;
use crate::procedure::Called;
use crate::rows::{self, CardColumns, Folded, Place, SessionRow};
use crate::store::Inner;

/// An append to one session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Append<'a> {
    pub(crate) store: &'a Inner,
    pub(crate) id: &'a str,
    pub(crate) expected: Version,
    pub(crate) lines: &'a [Vec<u8>],
}

impl Append<'_> {
    /// One attempt. It may be repeated, whatever became of the one before.
    pub(crate) async fn make(
        &self,
        connection: &mut MySqlConnection,
        known: &mut Option<Known>,
    ) -> Result<Version, Failure> {
        if known.as_ref().is_none_or(|known| known.version() != self.expected) {
            let row = SessionRow::read(connection, self.id).await?;
            match row {
                Some(row) if row.version == self.expected => {
                    let log = self.store.log(self.id, row.version.generation);
                    *known = Some(Known::load(connection, log, &row, known.as_ref()).await?);
                }
                row => return self.too_late(connection, row).await,
            }
        }
        let Some(before) = known.as_ref() else { return Err(StoreError::Replaced.into()) };
        let mut after = before.clone();
        let entries = after.folded.take_all(self.lines);
        if after.folded.card.is_doubtful() {
            after.folded.card = self.card_anew(connection, before, &entries).await?;
        }
        let changed = changed(&before.folded.heads, &after.folded.heads);
        if !self.write(connection, &after.folded, &entries, &changed).await? {
            let row = SessionRow::read(connection, self.id).await?;
            return self.too_late(connection, row).await;
        }
        let version = after.version();
        *known = Some(after);
        Ok(version)
    }

    /// The card, made from the first line on.
    async fn card_anew(
        &self,
        connection: &mut MySqlConnection,
        before: &Known,
        more: &[Entry<'_>],
    ) -> Result<osier_tree::projection::card::CardFold, Failure> {
        let log = self.store.log(self.id, before.generation);
        let mut all = Known::from_lines(connection, log, before.version().entries, &before.header).await?;
        more.iter().for_each(|entry| all.take(entry));
        Ok(all.card)
    }

    /// The transaction. `false` if the session is not in the expected state; then nothing is written.
    pub(crate) async fn write(
        &self,
        connection: &mut MySqlConnection,
        after: &Folded,
        entries: &[Entry<'_>],
        changed: &[Seq],
    ) -> Result<bool, Failure> {
        if changed.is_empty()
            && self.store.calls.load(Ordering::Relaxed)
            && let Some(entry) = self.alone(entries)
        {
            match self.call(connection, after, entry).await? {
                Called::Written => return Ok(true),
                Called::NotExpected => return Ok(false),
                called => self.do_without(connection, called).await?,
            }
        }
        let part = self.store.connections.part();
        let place = Place { session: self.id, generation: self.expected.generation, part };
        connection.execute("START TRANSACTION").await?;
        if !self.take_the_row(connection, after).await? {
            connection.execute("ROLLBACK").await?;
            return Ok(false);
        }
        rows::write(connection, place, self.expected.entries, entries, &after.heads).await?;
        rows::write_heads(connection, place, changed, &after.heads).await?;
        connection.execute("COMMIT").await?;
        Ok(true)
    }

    /// Moves the session's row on. Others wait for it until the transaction ends.
    async fn take_the_row(&self, connection: &mut MySqlConnection, after: &Folded) -> Result<bool, Failure> {
        let card = CardColumns::of(after.card.card());
        let query = sqlx::query(
            "UPDATE osier_sessions SET entries = ?, odd = ?, regular = ?, card = ?, cost = ?, minus_modified = ?
             WHERE id = ? AND generation = ? AND entries = ?",
        );
        let query = query.bind(after.heads.len() as u32).bind(after.odd as u32);
        let query = query.bind(after.heads.is_regular()).bind(card.json).bind(card.cost);
        let query = query.bind(card.minus_modified).bind(self.id);
        let query = query.bind(self.expected.generation).bind(self.expected.entries as u32);
        Ok(query.execute(connection).await?.rows_affected() == 1)
    }

    /// The session is in another state. If it is the one that this very append led to, then that was acknowledged by nobody
    /// but happened: the connection broke in between.
    async fn too_late(
        &self,
        connection: &mut MySqlConnection,
        row: Option<SessionRow>,
    ) -> Result<Version, Failure> {
        let now = row.ok_or_else(|| self.store.not_found(self.id))?.version;
        if now.generation != self.expected.generation {
            return Err(StoreError::Replaced.into());
        }
        if now.entries > self.expected.entries && self.is_there(connection, now).await? {
            return Ok(now);
        }
        Err(StoreError::Conflict { now }.into())
    }

    /// Whether these very lines lie where they were to go.
    async fn is_there(&self, connection: &mut MySqlConnection, now: Version) -> Result<bool, Failure> {
        let (log, first) = (self.store.log(self.id, now.generation), self.expected.entries);
        let mine: Vec<Entry<'_>> = self.lines.iter().filter_map(|line| read_entry(line).ok()).collect();
        let Some(id) = mine.first().map(|entry| IdKey::of(&entry.id).0) else { return Ok(false) };
        let head = log.heads(connection, first, 1).await?.unwrap_or_default();
        if now.entries < first + mine.len() || head.first().is_some_and(|head| head.id != id) {
            return Ok(false);
        }
        let places: Vec<Seq> = (first..first + mine.len()).map(Seq::new).collect();
        let (mut at, mut batch) = (0, Batch::default());
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

/// Earlier heads that are not what they were: only lines that contradict others do that.
fn changed(before: &Heads, after: &Heads) -> Vec<Seq> {
    if before.is_regular() && after.is_regular() {
        return Vec::new();
    }
    before.iter().filter(|(seq, head)| after.get(*seq) != *head).map(|(seq, _)| seq).collect()
}
