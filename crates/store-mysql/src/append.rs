//! Appending: one short transaction that writes the lines and updates the card. The key of a line is its position in the log,
//! so a duplicate key tells a writer that another writer was faster. Everything that can be computed in advance is computed
//! before the transaction starts.

use std::time::Instant;

use osier_store::{LineBatch, LogVersion, StoreError};
use osier_tree::entry::parse_entry;
use osier_tree::heads::IdKey;
use osier_tree::{Entry, Heads, Seq};
use sqlx::{Executor, MySqlConnection};

use crate::attempt_error::{AttemptError, is_duplicate_key};
use crate::cached_log::CachedLog;
use crate::connection_pool::Connection;
use crate::contention::Contention;
use crate::locks;
use crate::rows::{self, CardColumns, EntryTarget, FoldedLog, SessionRow, column_bytes, modified};
use crate::store::{LogState, StoreInner};
use crate::tally;
use crate::transaction;
use crate::watcher::OpenState;

/// An append to one session.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AppendRequest<'a> {
    pub(crate) store: &'a StoreInner,
    pub(crate) id: &'a str,
    pub(crate) expected: LogVersion,
    pub(crate) lines: &'a [Vec<u8>],
}

impl AppendRequest<'_> {
    /// Runs one attempt. It can be repeated, whether or not the previous attempt was stored.
    pub(crate) async fn run_attempt(
        &self,
        connection: &mut Connection,
        LogState { cached, contention }: &mut LogState,
    ) -> Result<LogVersion, AttemptError> {
        let is_sure = |cached: &CachedLog| {
            cached.version() == self.expected && connection.was_open_at(cached.confirmed_at)
        };
        if !cached.as_ref().is_some_and(is_sure) {
            let row = self.store.find_row(connection, self.id).await?;
            if let Some(row) = &row {
                self.check_same_log(connection, cached.as_ref(), row).await?;
            }
            match row {
                Some(row) if row.version == self.expected => {
                    let log = self.store.log_reader(self.id, row.version.generation);
                    *cached = Some(CachedLog::load(connection, log, &row, cached.as_ref()).await?);
                }
                row => return self.record_loss(connection, contention, row).await,
            }
        }
        let Some(mut before) = cached.as_ref() else { return Err(StoreError::Replaced.into()) };
        let mut after = before.clone();
        let mut entries = after.folded.fold_lines(self.lines);
        if after.folded.card.needs_rebuild() {
            let log = self.store.log_reader(self.id, before.generation);
            // Cached, so that the next attempt reads only newer lines if another writer is faster now.
            before = cached.insert(before.with_full_card(connection, log).await?);
            after = before.clone();
            entries = after.folded.fold_lines(self.lines);
        }
        if !self.run_transaction(connection, &before.folded, &after.folded, &entries).await? {
            let row = self.store.find_row(connection, self.id).await?;
            return self.record_loss(connection, contention, row).await;
        }
        after.confirmed_at = Instant::now();
        let version = after.version();
        self.store.record_version(self.id, version);
        *cached = Some(after);
        Ok(version)
    }

    /// Fails unless the stored log starts with the cached one. Checked only over a new connection: a server that took over
    /// may lack the latest lines, or have other lines in their place.
    async fn check_same_log(
        &self,
        connection: &mut Connection,
        cached: Option<&CachedLog>,
        row: &SessionRow,
    ) -> Result<(), AttemptError> {
        let Some(cached) = cached else { return Ok(()) };
        if !row.is_marked_open {
            self.store.clear_marked(self.id);
        }
        let in_doubt =
            !connection.was_open_at(cached.confirmed_at) && cached.generation == row.version.generation;
        let log = self.store.log_reader(self.id, row.version.generation);
        match in_doubt && !cached.is_start_of(connection, log).await? {
            true => Err(AttemptError::Shrunk(self.id.to_owned())),
            false => Ok(()),
        }
    }

    /// Runs the transaction. Returns `false` and writes nothing if the session is not in the expected state.
    async fn run_transaction(
        &self,
        connection: &mut Connection,
        before: &FoldedLog,
        after: &FoldedLog,
        entries: &[Entry<'_>],
    ) -> Result<bool, AttemptError> {
        let part = self.store.pool.part_bytes();
        let target = EntryTarget { session: self.id, generation: self.expected.generation, part_bytes: part };
        let open_state = self.store.open_state(self.id, self.expected.generation);
        if open_state == OpenState::RecordedAndMarked
            && let [entry] = entries
            && let Some(tally) = self.build_tally(before, after, entry)
        {
            let seq = Seq::new(self.expected.entries);
            let written =
                rows::write_with_tally(connection, target, seq, entry, &after.heads, &tally).await?;
            // If this took too long, the record that the session is open has expired, and another process may have unmarked its row.
            if written
                && self.store.open_state(self.id, self.expected.generation) != OpenState::RecordedAndMarked
            {
                rows::mark_open(connection, self.id).await?;
            }
            return Ok(written);
        }
        let changed = changed_heads(&before.heads, &after.heads);
        transaction::start(connection, if entries.is_empty() { &[rows::ROW_QUERY] } else { &[] }).await?;
        let mark = open_state == OpenState::Recorded;
        let written = self.write_rows(connection, target, after, entries, &changed, mark).await?;
        connection.execute(if written { "COMMIT" } else { "ROLLBACK" }).await?;
        if written && mark {
            self.store.set_marked(self.id, self.expected.generation);
        }
        Ok(written)
    }

    /// The card update to store with the only line. `None` if it cannot express the whole change, so that the session's row
    /// must be updated as well.
    fn build_tally(
        &self,
        before: &FoldedLog,
        after: &FoldedLog,
        entry: &Entry<'_>,
    ) -> Option<[u8; tally::RECORD_BYTES]> {
        let same_log = before.invalid_lines == after.invalid_lines
            && before.heads.is_regular()
            && after.heads.is_regular();
        let is_short =
            entry.line.len() <= self.store.pool.part_bytes() && column_bytes(Some(&entry.id)).is_some();
        let fits = same_log && is_short;
        if fits { tally::encode(before.card.card(), after.card.card(), &entry.id) } else { None }
    }

    async fn write_rows(
        &self,
        connection: &mut MySqlConnection,
        target: EntryTarget<'_>,
        after: &FoldedLog,
        entries: &[Entry<'_>],
        changed: &[Seq],
        mark: bool,
    ) -> Result<bool, AttemptError> {
        if !self.update_session_row(connection, after, mark).await? {
            return Ok(false);
        }
        if entries.is_empty() {
            let now = SessionRow::read(connection, self.id).await?.map(|row| row.version);
            return Ok(now == Some(self.expected));
        }
        match rows::write_entries(connection, target, self.expected.entries, entries, &after.heads).await {
            Err(AttemptError::Sql(error)) if is_duplicate_key(&error) => return Ok(false),
            written => written?,
        }
        rows::write_heads(connection, target, changed, &after.heads).await?;
        Ok(true)
    }

    /// Updates the session's row. This locks the row until the transaction ends.
    async fn update_session_row(
        &self,
        connection: &mut MySqlConnection,
        after: &FoldedLog,
        mark: bool,
    ) -> Result<bool, AttemptError> {
        let card = CardColumns::from_card(after.card.card());
        let query = sqlx::query(concat!(
            "UPDATE osier_sessions SET entries = ?, odd = ?, regular = ?, card = ?, cost = ?, minus_modified = ",
            modified!(),
            " WHERE id = ? AND generation = ? AND entries <= ?"
        ));
        let query = query.bind(after.heads.len() as u32).bind(after.invalid_lines as u32);
        let query = query.bind(after.heads.is_regular()).bind(card.json).bind(card.cost);
        let query = query.bind(mark).bind(card.minus_modified).bind(self.id);
        let query = query.bind(self.expected.generation).bind(self.expected.entries as u32);
        Ok(query.execute(connection).await?.rows_affected() == 1)
    }

    /// Resolves a conflict. If another process was faster, pauses before the next attempt.
    async fn record_loss(
        &self,
        connection: &mut MySqlConnection,
        contention: &mut Contention,
        row: Option<SessionRow>,
    ) -> Result<LogVersion, AttemptError> {
        let done = self.resolve_conflict(connection, row).await;
        if let Err(AttemptError::Store(StoreError::Conflict { .. })) = &done {
            let queue_exists = locks::first_in_queue(connection, self.id).await?.is_some();
            tokio::time::sleep(contention.record_loss(queue_exists)).await;
        }
        done
    }

    /// Handles a session that is not in the expected state. If these lines are already stored, an earlier attempt succeeded
    /// but its connection broke before the acknowledgment, and this append succeeds.
    async fn resolve_conflict(
        &self,
        connection: &mut MySqlConnection,
        row: Option<SessionRow>,
    ) -> Result<LogVersion, AttemptError> {
        let now = row.ok_or_else(|| self.store.not_found(self.id))?.version;
        if now.generation != self.expected.generation {
            return Err(StoreError::Replaced.into());
        }
        if now.entries > self.expected.entries && self.is_already_stored(connection, now).await? {
            return Ok(now);
        }
        Err(StoreError::Conflict { now }.into())
    }

    /// Whether exactly these lines are stored at the expected position.
    async fn is_already_stored(
        &self,
        connection: &mut MySqlConnection,
        now: LogVersion,
    ) -> Result<bool, AttemptError> {
        let (log, first) = (self.store.log_reader(self.id, now.generation), self.expected.entries);
        let own_entries: Vec<Entry<'_>> =
            self.lines.iter().filter_map(|line| parse_entry(line).ok()).collect();
        let Some(id) = own_entries.first().map(|entry| IdKey::from_id(&entry.id).0) else { return Ok(false) };
        let head = log.heads(connection, first, 1).await?.unwrap_or_default();
        if now.entries < first + own_entries.len() || head.first().is_some_and(|head| head.id != id) {
            return Ok(false);
        }
        let places: Vec<Seq> = (first..first + own_entries.len()).map(Seq::new).collect();
        let (mut at, mut batch) = (0, LineBatch::default());
        while at < places.len() {
            log.lines(connection, &places[at..], &mut batch).await?;
            if !batch.iter().zip(&own_entries[at..]).all(|(line, own_entries)| line == own_entries.line) {
                return Ok(false);
            }
            at += batch.len().max(1);
        }
        Ok(true)
    }
}

/// Earlier heads that changed. That happens only in logs with contradictory lines.
fn changed_heads(before: &Heads, after: &Heads) -> Vec<Seq> {
    if before.is_regular() && after.is_regular() {
        return Vec::new();
    }
    before.iter().filter(|(seq, head)| after.get(*seq) != *head).map(|(seq, _)| seq).collect()
}
