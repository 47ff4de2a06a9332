//! Creates a session, or replaces its log. Rows of a generation that no session refers to are invisible, so a long log is
//! written in many short transactions, and a last one makes it visible.

use osier_store::{LogVersion, StoreError};
use osier_tree::{Entry, Header};
use sqlx::{Executor, MySqlConnection};

use crate::attempt_error::{AttemptError, is_duplicate_key};
use crate::deletion;
use crate::locks;
use crate::log_reader::LogReader;
use crate::open_records::{Holder, OPEN_ELSEWHERE_QUERIES};
use crate::rows::{self, CardColumns, EntryTarget, FoldedLog, SessionRow, modified};
use crate::store::StoreInner;
use crate::transaction;

/// The maximum number of lines that are written in a single transaction.
const MAX_SINGLE_TRANSACTION_LINES: usize = 64;

/// A log to create.
#[derive(Debug)]
pub(crate) struct LogCreation<'a> {
    pub(crate) store: &'a StoreInner,
    pub(crate) header: &'a Header,
    pub(crate) folded: &'a FoldedLog,
    pub(crate) entries: &'a [Entry<'a>],
    /// The generation of the lines, if they are already written.
    pub(crate) written_generation: Option<u64>,
    /// The version of the log to replace; `None` for a new session.
    pub(crate) replaces: Option<LogVersion>,
    /// If set, creation fails if any other process has the session open.
    pub(crate) allowed_holder: Option<Holder>,
}

impl LogCreation<'_> {
    /// Runs one attempt. `tried` collects the generations of all attempts.
    pub(crate) async fn run_attempt(
        &self,
        connection: &mut MySqlConnection,
        tried: &mut Vec<u64>,
    ) -> Result<LogVersion, AttemptError> {
        if let Some(version) = self.existing_version(connection, tried).await? {
            return Ok(version);
        }
        let generation = self.written_generation.unwrap_or_else(random_id);
        tried.push(generation);
        let target =
            EntryTarget { session: &self.header.id, generation, part_bytes: self.store.pool.part_bytes() };
        let bytes: usize = self.entries.iter().map(|entry| entry.line.len()).sum();
        let few = self.written_generation.is_none()
            && self.entries.len() <= MAX_SINGLE_TRANSACTION_LINES
            && bytes <= target.part_bytes;
        let many = self.written_generation.is_none() && !few;
        if many {
            deletion::note_leftover(connection, target.session, generation, now_millis()).await?;
            rows::write_entries(connection, target, 0, self.entries, &self.folded.heads).await?;
        }
        let selects = self.allowed_holder.map_or(&[][..], |_| &OPEN_ELSEWHERE_QUERIES);
        transaction::start(connection, selects).await?;
        let named = match self.lock_out_others(connection).await {
            Ok(()) => self.write_session_row(connection, generation).await,
            Err(failure) => Err(failure),
        };
        if !matches!(named, Ok(true)) {
            connection.execute("ROLLBACK").await?;
            if many {
                deletion::delete_generation(connection, target.session, generation).await?;
            }
            named?;
            let before = self.existing_version(connection, tried).await?;
            return before.ok_or_else(|| StoreError::AlreadyExists { id: self.header.id.clone() }.into());
        }
        match few {
            true => rows::write_entries(connection, target, 0, self.entries, &self.folded.heads).await?,
            false => deletion::forget_leftover(connection, target.session, generation).await?,
        }
        connection.execute("COMMIT").await?;
        Ok(LogVersion { generation, entries: self.folded.heads.len() })
    }

    /// The version of the session if an earlier attempt created it without an acknowledgment. Fails if the session is no longer
    /// in the expected state.
    async fn existing_version(
        &self,
        connection: &mut MySqlConnection,
        tried: &[u64],
    ) -> Result<Option<LogVersion>, AttemptError> {
        let row = SessionRow::read(connection, &self.header.id).await?;
        let Some(now) = row.map(|row| row.version) else {
            return match self.replaces {
                Some(_) => Err(self.store.not_found(&self.header.id).into()),
                None => Ok(None),
            };
        };
        match self.replaces {
            _ if tried.contains(&now.generation) => Ok(Some(now)),
            None => Err(StoreError::AlreadyExists { id: self.header.id.clone() }.into()),
            Some(expected) if now == expected => Ok(None),
            Some(expected) if now.generation == expected.generation => {
                Err(StoreError::Conflict { now }.into())
            }
            Some(_) => Err(StoreError::Replaced.into()),
        }
    }

    /// Fails if another process has the session open, unless that is allowed. Otherwise, no process can open it until the end of
    /// the transaction; then it finds the new log.
    async fn lock_out_others(&self, connection: &mut MySqlConnection) -> Result<(), AttemptError> {
        let (Some(holder), id) = (self.allowed_holder, &self.header.id) else { return Ok(()) };
        locks::lock_use(connection, id).await?;
        match holder.is_open_elsewhere(connection, id).await? {
            true => Err(StoreError::Busy { id: id.clone() }.into()),
            false => Ok(()),
        }
    }

    /// Makes the session's row refer to this generation. `false` if another process was faster.
    async fn write_session_row(
        &self,
        connection: &mut MySqlConnection,
        generation: u64,
    ) -> Result<bool, AttemptError> {
        let card = CardColumns::from_card(self.folded.card.card());
        let (entries, odd) = (self.folded.heads.len() as u32, self.folded.invalid_lines as u32);
        let regular = self.folded.heads.is_regular();
        let Some(expected) = self.replaces else {
            let query = sqlx::query(
                "INSERT INTO osier_sessions (generation, entries, odd, regular, card, cost, minus_modified,
                 minus_created, cwd_hash, header, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            );
            let query = query.bind(generation).bind(entries).bind(odd).bind(regular).bind(card.json);
            let query = query.bind(card.cost).bind(card.minus_modified).bind(card.minus_created);
            let query = query.bind(card.cwd_hash).bind(self.header.to_line()).bind(&self.header.id);
            return match query.execute(connection).await {
                Err(error) if is_duplicate_key(&error) => Ok(false),
                done => Ok(done?.rows_affected() == 1),
            };
        };
        let query = sqlx::query(concat!(
            "UPDATE osier_sessions SET header = ?, generation = ?, entries = ?, odd = ?, regular = ?, card = ?, cost = ?,
             minus_modified = ",
            modified!(),
            " WHERE id = ? AND generation = ?"
        ));
        let query = query
            .bind(self.header.to_line())
            .bind(generation)
            .bind(entries)
            .bind(odd)
            .bind(regular)
            .bind(card.json);
        let query = query.bind(card.cost).bind(false).bind(card.minus_modified).bind(&self.header.id);
        let named = query.bind(expected.generation).execute(&mut *connection).await?.rows_affected() == 1;
        Ok(named
            && rows::write_end_marker(connection, &self.header.id, expected.generation, expected.entries)
                .await?)
    }
}

impl LogReader<'_> {
    /// The header of a session whose log is to be replaced.
    pub(crate) async fn header(&self, connection: &mut MySqlConnection) -> Result<Header, AttemptError> {
        let row = SessionRow::read(connection, self.session).await?;
        let row = row.ok_or_else(|| crate::log_reader::not_found(self.store, self.session))?;
        Ok(row.header().unwrap_or_else(|| Header::new(self.session, 0, "")))
    }
}

/// A random number, unique enough to identify a generation, a process, or a lock.
pub(crate) fn random_id() -> u64 {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    // 63 bits, because not every database client supports unsigned numbers.
    u64::from_le_bytes(bytes) >> 1
}

pub(crate) fn now_millis() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map_or(0, |since| since.as_millis() as i64)
}
