//! Reads heads by range from the covering index, and lines in batches by key. The cost depends on what is requested, not on
//! the length of the log.

use osier_store::{LineBatch, StoreError};
use osier_tree::entry::{EntryKind, EntryReason, MessageParts, MessageRole, flag};
use osier_tree::head_record;
use osier_tree::{Entry, Head, Heads, Seq};
use rustc_hash::FxHashMap;
use sqlx::mysql::MySqlRow;
use sqlx::{AssertSqlSafe, MySqlConnection, Row};

use crate::attempt_error::AttemptError;
use crate::rows::SessionRow;

/// The maximum number of lines per query.
const MAX_LINES: usize = 1024;

/// The maximum number of heads per query. Vitess returns at most 10,000 rows.
const MAX_HEADS: usize = 8192;

/// The maximum number of line parts per query. Vitess returns at most 16 MiB, and a part has up to 4 MiB.
const MAX_PARTS: u32 = 2;

/// Reads the log of one generation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogReader<'a> {
    pub(crate) store: &'a str,
    pub(crate) session: &'a str,
    pub(crate) generation: u64,
}

impl LogReader<'_> {
    /// The heads from position `after` on. `None` if another version of Osier wrote some of them.
    pub(crate) async fn heads(
        &self,
        connection: &mut MySqlConnection,
        after: usize,
        limit: usize,
    ) -> Result<Option<Vec<Head>>, AttemptError> {
        let mut all = Vec::new();
        loop {
            let most = (limit - all.len()).min(MAX_HEADS);
            let Some(page) = self.heads_page(connection, after + all.len(), most).await? else {
                return Ok(None);
            };
            let is_last = page.len() < most;
            all.extend(page);
            if is_last || all.len() == limit {
                return Ok(Some(all));
            }
        }
    }

    async fn heads_page(
        &self,
        connection: &mut MySqlConnection,
        after: usize,
        limit: usize,
    ) -> Result<Option<Vec<Head>>, AttemptError> {
        let query = sqlx::query(
            "SELECT e.head, e.seq FROM osier_sessions s JOIN osier_entries e FORCE INDEX (heads)
             ON e.session = s.id AND e.generation = s.generation
             WHERE s.id = ? AND s.generation = ? AND e.seq >= ? AND e.seq < ? ORDER BY e.seq",
        );
        let query = query.bind(self.session).bind(self.generation).bind(to_u32(after));
        let rows = query.bind(to_u32(after.saturating_add(limit))).fetch_all(&mut *connection).await?;
        if rows.is_empty() {
            self.check_generation(connection).await?;
        }
        let heads = rows.iter().enumerate().map(|(at, row)| match row.try_get::<u32, _>(1)? {
            seq if seq == to_u32(after + at) => Ok(head_record::decode(row.try_get(0)?)),
            _ => Err(StoreError::NoSuchEntry { seq: after + at }.into()),
        });
        heads.collect::<Result<Option<Vec<Head>>, AttemptError>>()
    }

    /// Fails unless the session has a log of this generation.
    async fn check_generation(&self, connection: &mut MySqlConnection) -> Result<SessionRow, AttemptError> {
        let row = SessionRow::read(connection, self.session).await?;
        let row = row.ok_or_else(|| not_found(self.store, self.session))?;
        if row.version.generation == self.generation { Ok(row) } else { Err(StoreError::Replaced.into()) }
    }

    /// See [`osier_store::Store::lines`].
    pub(crate) async fn lines(
        &self,
        connection: &mut MySqlConnection,
        seqs: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), AttemptError> {
        batch.clear();
        let seqs = &seqs[..seqs.len().min(MAX_LINES)];
        let lengths = self.line_lengths(connection, seqs).await?;
        let mut bytes = 0;
        let mut chosen = Vec::new();
        for seq in seqs {
            let Some(length) = lengths.get(&to_u32(seq.index())) else {
                self.check_generation(connection).await?;
                return Err(StoreError::NoSuchEntry { seq: seq.index() }.into());
            };
            if bytes >= LineBatch::FULL_BYTES {
                break;
            }
            bytes += length;
            chosen.push(*seq);
        }
        let lines = self.fetch_lines(connection, &chosen, &lengths).await?;
        for seq in chosen {
            match lines.get(&to_u32(seq.index())) {
                Some(line) => batch.push(line),
                // It was deleted between the two queries.
                None => {
                    self.check_generation(connection).await?;
                    return Err(StoreError::NoSuchEntry { seq: seq.index() }.into());
                }
            }
        }
        Ok(())
    }

    async fn line_lengths(
        &self,
        connection: &mut MySqlConnection,
        seqs: &[Seq],
    ) -> Result<FxHashMap<u32, usize>, AttemptError> {
        let sql = "SELECT e.seq, e.head FROM osier_sessions s JOIN osier_entries e FORCE INDEX (heads)
             ON e.session = s.id AND e.generation = s.generation
             WHERE s.id = ? AND s.generation = ? AND e.seq IN ";
        let mut lengths = FxHashMap::default();
        for row in self.fetch_rows(connection, sql, seqs).await? {
            lengths.insert(row.try_get(0)?, head_record::line_length(row.try_get(1)?));
        }
        Ok(lengths)
    }

    /// Complete lines by position.
    async fn fetch_lines(
        &self,
        connection: &mut MySqlConnection,
        seqs: &[Seq],
        lengths: &FxHashMap<u32, usize>,
    ) -> Result<FxHashMap<u32, Vec<u8>>, AttemptError> {
        let sql = "SELECT seq, line FROM osier_entries WHERE session = ? AND generation = ? AND seq IN ";
        let mut lines: FxHashMap<u32, Vec<u8>> = FxHashMap::default();
        for row in self.fetch_rows(connection, sql, seqs).await? {
            lines.insert(row.try_get(0)?, row.try_get(1)?);
        }
        for (seq, line) in &mut lines {
            let length = lengths.get(seq).copied().unwrap_or_default();
            if line.len() < length {
                self.fetch_parts(connection, *seq, line).await?;
            }
        }
        lines.retain(|seq, line| lengths.get(seq) == Some(&line.len()));
        Ok(lines)
    }

    async fn fetch_parts(
        &self,
        connection: &mut MySqlConnection,
        seq: u32,
        line: &mut Vec<u8>,
    ) -> Result<(), AttemptError> {
        // The first part is in the row of the entry itself.
        let mut from = 1;
        loop {
            let query = sqlx::query(
                "SELECT bytes FROM osier_parts WHERE session = ? AND generation = ? AND seq = ? AND part >= ?
                 ORDER BY part LIMIT ?",
            );
            let query = query.bind(self.session).bind(self.generation).bind(seq).bind(from).bind(MAX_PARTS);
            let rows = query.fetch_all(&mut *connection).await?;
            for row in &rows {
                line.extend_from_slice(row.try_get(0)?);
            }
            if rows.len() < MAX_PARTS as usize {
                return Ok(());
            }
            from += MAX_PARTS;
        }
    }

    /// Queries the rows of some entries. The number of placeholders is a power of two, so that there are few distinct prepared
    /// statements.
    async fn fetch_rows(
        &self,
        connection: &mut MySqlConnection,
        sql: &str,
        seqs: &[Seq],
    ) -> Result<Vec<MySqlRow>, AttemptError> {
        let Some(last) = seqs.last() else { return Ok(Vec::new()) };
        let places = seqs.len().next_power_of_two();
        let sql = format!("{sql} ({})", vec!["?"; places].join(","));
        let mut query = sqlx::query(AssertSqlSafe(sql)).bind(self.session).bind(self.generation);
        for seq in seqs.iter().chain(std::iter::repeat_n(last, places - seqs.len())) {
            query = query.bind(to_u32(seq.index()));
        }
        Ok(query.fetch_all(connection).await?)
    }

    /// Adds the stored heads up to `until`, in a log without contradictions. `false` if the heads must be rebuilt from the
    /// lines.
    pub(crate) async fn restore_heads(
        &self,
        connection: &mut MySqlConnection,
        heads: &mut Heads,
        until: usize,
    ) -> Result<bool, AttemptError> {
        let from = heads.len();
        if from == until {
            return Ok(true);
        }
        let Some(more) = self.heads(connection, from, until - from).await? else { return Ok(false) };
        if more.len() != until - from {
            return Ok(false);
        }
        let ids = match more.iter().any(|head| head.has_flag(flag::LONG_ID)) {
            true => self.fetch_ids(connection, from, until).await?,
            false => FxHashMap::default(),
        };
        for (at, head) in more.into_iter().enumerate() {
            match (head.has_flag(flag::LONG_ID), ids.get(&to_u32(from + at))) {
                (false, _) => heads.restore(head, None),
                (true, Some(id)) => heads.restore(head, Some(&entry_with_id(id))),
                (true, None) => return Ok(false),
            };
        }
        Ok(true)
    }

    async fn fetch_ids(
        &self,
        connection: &mut MySqlConnection,
        from: usize,
        until: usize,
    ) -> Result<FxHashMap<u32, String>, AttemptError> {
        let mut ids = FxHashMap::default();
        for first in (from..until).step_by(MAX_HEADS) {
            let query = sqlx::query(
                "SELECT seq, id FROM osier_entries WHERE session = ? AND generation = ? AND seq >= ? AND seq < ?",
            );
            let last = until.min(first + MAX_HEADS);
            let query = query.bind(self.session).bind(self.generation).bind(to_u32(first)).bind(to_u32(last));
            for row in query.fetch_all(&mut *connection).await? {
                let id: Option<Vec<u8>> = row.try_get(1)?;
                if let Some(id) = id.and_then(|id| String::from_utf8(id).ok()) {
                    ids.insert(row.try_get(0)?, id);
                }
            }
        }
        Ok(ids)
    }
}

pub(crate) fn not_found(store: &str, id: &str) -> StoreError {
    StoreError::NotFound { store: store.to_owned(), id: id.to_owned() }
}

fn to_u32(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

/// An entry that has nothing but an id.
fn entry_with_id(id: &str) -> Entry<'_> {
    Entry {
        line: b"",
        kind: EntryKind::Custom,
        role: MessageRole::None,
        reason: EntryReason::None,
        flags: 0,
        calls: 0,
        id: id.into(),
        parent: None,
        target: None,
        time: None,
        message: None,
        message_parts: MessageParts::default(),
        message_offset: 0,
    }
}
