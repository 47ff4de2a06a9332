//! The `Store` implementation.

use std::time::Instant;

use async_trait::async_trait;
use osier_store::{
    DeleteResult, Lease, LeaseConflictFn, LineBatch, LineSource, LogVersion, OpenedLog, SessionFilter,
    SessionPage, Store, StoreError, Watch,
};
use osier_tree::projection::card::Card;
use osier_tree::{Head, Header, Heads, Seq, header};
use sqlx::MySqlConnection;

use crate::append::AppendRequest;
use crate::attempt_error::AttemptError;
use crate::cached_log::CachedLog;
use crate::log_creation::LogCreation;
use crate::open_records::Holder;
use crate::rows::{FoldedLog, SessionRow};
use crate::store::{MySqlStore, StoreInner, retry_until_done};
use crate::streamed_creation::StreamedCreation;
use crate::{deletion, listing};

impl StoreInner {
    async fn session_row(&self, id: &str) -> Result<SessionRow, StoreError> {
        if !header::is_valid_id(id) {
            return Err(self.not_found(id));
        }
        Ok(retry_until_done!(self, 0, |connection| self.read_row(connection, id)))
    }

    async fn read_row(&self, connection: &mut MySqlConnection, id: &str) -> Result<SessionRow, AttemptError> {
        Ok(self.find_row(connection, id).await?.ok_or_else(|| self.not_found(id))?)
    }

    async fn read_lines(
        &self,
        id: &str,
        generation: u64,
        seqs: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError> {
        let log = self.log_reader(id, generation);
        retry_until_done!(self, LineBatch::FULL_BYTES, |connection| log.lines(connection, seqs, batch));
        Ok(())
    }

    async fn open_log(&self, id: &str) -> Result<OpenedLog, StoreError> {
        let row = self.session_row(id).await?;
        let reason = "its row has no session header";
        let header = row.header().ok_or_else(|| StoreError::NotASession { path: id.into(), reason })?;
        Ok(OpenedLog { header, version: row.version, invalid_lines: row.invalid_lines, file: None })
    }

    /// Rebuilds heads and card from the lines, because another version of Osier wrote them.
    async fn rebuild_log(&self, id: &str, generation: u64) -> Result<CachedLog, StoreError> {
        let row = self.session_row(id).await?;
        if row.version.generation != generation {
            return Err(StoreError::Replaced);
        }
        let mut row = row;
        row.regular = false;
        let log = self.log_reader(id, generation);
        Ok(retry_until_done!(self, 0, |connection| CachedLog::load(connection, log, &row, None)))
    }

    /// The heads that the next append needs. `None` if that would require reading all lines.
    async fn cached_heads(&self, id: &str, generation: u64) -> Result<Option<Heads>, StoreError> {
        let slot = self.log_state(id);
        let cached = &mut slot.lock().await.cached;
        let row = self.session_row(id).await?;
        if row.version.generation != generation {
            return Err(StoreError::Replaced);
        }
        if cached.as_ref().is_none_or(|cached| cached.version() != row.version) {
            if !row.regular {
                return Ok(None);
            }
            let (log, before) = (self.log_reader(id, generation), cached.as_ref());
            let now = retry_until_done!(self, 0, |connection| CachedLog::load(connection, log, &row, before));
            *cached = Some(now);
        }
        Ok(cached.as_ref().map(|cached| cached.folded.heads.clone()))
    }

    pub(crate) async fn create_log(&self, creation: &LogCreation<'_>) -> Result<LogVersion, StoreError> {
        let bytes: usize = creation.entries.iter().map(|entry| entry.line.len()).sum();
        let mut tried = Vec::new();
        Ok(retry_until_done!(self, bytes, |connection| creation.run_attempt(connection, &mut tried)))
    }

    /// Caches the state of a new session for the next append.
    async fn cache_created(&self, header: &Header, version: LogVersion, folded: FoldedLog) -> OpenedLog {
        let (header, odd_lines, generation) = (header.clone(), folded.invalid_lines, version.generation);
        let cached = CachedLog {
            confirmed_at: Instant::now(),
            header: header.clone(),
            generation,
            folded,
            has_full_card: true,
        };
        self.record_version(&header.id, version);
        self.log_state(&header.id).lock().await.cached = Some(cached);
        OpenedLog { header, version, invalid_lines: odd_lines, file: None }
    }

    /// Whether this or another process has the session open.
    async fn is_in_use(&self, id: &str) -> Result<bool, StoreError> {
        let elsewhere =
            retry_until_done!(self, 0, |connection| self.holder().is_open_elsewhere(connection, id));
        Ok(elsewhere || self.is_watched(id))
    }

    async fn rewrite(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
        allowed_holder: Option<Holder>,
    ) -> Result<LogVersion, StoreError> {
        if !header::is_valid_id(id) {
            return Err(self.not_found(id));
        }
        let header = self.read_header(id, expected.generation).await?;
        let header = Header { rewrite_count: header.rewrite_count + 1, ..header };
        let mut folded = FoldedLog::new(&header, &self.name);
        let entries = folded.fold_lines(lines);
        let creation = LogCreation {
            store: self,
            header: &header,
            folded: &folded,
            entries: &entries,
            written_generation: None,
            replaces: Some(expected),
            allowed_holder,
        };
        self.create_log(&creation).await
    }

    /// Deletes a session. With an `allowed_holder`, fails if any other process has it open.
    async fn delete(&self, id: &str, allowed_holder: Option<Holder>) -> Result<DeleteResult, StoreError> {
        let mut found = None;
        if header::is_valid_id(id) {
            retry_until_done!(self, 0, |connection| deletion::delete_session(
                connection,
                id,
                allowed_holder,
                &mut found
            ));
            self.forget_log(id);
            // The session is deleted. If this fails, the next deletion removes the leftovers.
            if let Err(error) = self.finish_deletions(id).await {
                tracing::debug!(session = id, %error, "cannot remove what a deletion left");
            }
        }
        let counts = found.unwrap_or_default();
        Ok(DeleteResult { deleted: found.is_some(), store: self.name.clone(), counts })
    }

    async fn finish_deletions(&self, id: &str) -> Result<(), StoreError> {
        retry_until_done!(self, 0, |connection| deletion::finish_deletions(connection, id));
        Ok(())
    }

    async fn read_header(&self, id: &str, generation: u64) -> Result<Header, StoreError> {
        let log = self.log_reader(id, generation);
        Ok(retry_until_done!(self, 0, |connection| log.header(connection)))
    }
}

#[async_trait]
impl Store for MySqlStore {
    fn name(&self) -> &str {
        &self.inner.name
    }

    fn kind(&self) -> &'static str {
        "mysql"
    }

    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<OpenedLog, StoreError> {
        if !header::is_valid_id(&header.id) {
            return Err(StoreError::InvalidId { id: header.id.clone() });
        }
        let mut folded = FoldedLog::new(header, self.name());
        let entries = folded.fold_lines(lines);
        let creation = LogCreation {
            store: &self.inner,
            header,
            folded: &folded,
            entries: &entries,
            written_generation: None,
            replaces: None,
            allowed_holder: None,
        };
        let version = self.inner.create_log(&creation).await?;
        Ok(self.inner.cache_created(header, version, folded).await)
    }

    async fn create_from(
        &self,
        header: &Header,
        lines: &mut dyn LineSource,
    ) -> Result<OpenedLog, StoreError> {
        if !header::is_valid_id(&header.id) {
            return Err(StoreError::InvalidId { id: header.id.clone() });
        }
        let mut streamed = StreamedCreation::new(&self.inner, header);
        let version = streamed.run(lines).await?;
        Ok(self.inner.cache_created(header, version, streamed.folded).await)
    }

    async fn open(&self, id: &str) -> Result<OpenedLog, StoreError> {
        self.inner.open_log(id).await
    }

    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        let log = self.inner.log_reader(id, generation);
        match retry_until_done!(self.inner, 0, |connection| log.heads(connection, after, limit)) {
            Some(heads) => Ok(heads),
            None => {
                let cached = self.inner.rebuild_log(id, generation).await?;
                Ok(cached.folded.heads.iter_from(after).take(limit).map(|(_, head)| *head).collect())
            }
        }
    }

    async fn shared_heads(&self, id: &str, generation: u64) -> Result<Option<Heads>, StoreError> {
        self.inner.cached_heads(id, generation).await
    }

    async fn lines(
        &self,
        id: &str,
        generation: u64,
        seqs: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError> {
        let read = self.inner.read_lines(id, generation, seqs, batch).await;
        if let Err(StoreError::NoSuchEntry { .. }) = read {
            // Reports a log that is shorter than it was.
            self.inner.session_row(id).await?;
        }
        read
    }

    async fn append(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        if !header::is_valid_id(id) {
            return Err(self.inner.not_found(id));
        }
        let slot = self.inner.log_state(id);
        let mut state = slot.lock().await;
        let append = AppendRequest { store: &self.inner, id, expected, lines };
        let version = self.inner.append_in_turn(append, &mut state).await?;
        self.inner.record_append(id, version);
        Ok(version)
    }

    /// With default server settings, a commit is on disk when the server acknowledges it.
    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        self.inner.session_row(id).await.map(drop)
    }

    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        if !header::is_valid_id(id) {
            return Err(self.inner.not_found(id));
        }
        self.inner.watch(id).await
    }

    /// Bounded by the same timeout as listing, so that it does not delay exit.
    async fn close(&self) {
        let limit = self.inner.limits.list_connect_timeout;
        if tokio::time::timeout(limit, self.inner.close()).await.is_err() {
            tracing::warn!(store = %self.inner.name, "cannot say goodbye to the database; its records of this process expire");
        }
    }

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError> {
        Ok(retry_until_done!(self.inner, 0, self.inner.list_retries(), |connection| listing::list_sessions(
            connection,
            self.name(),
            filter,
            &self.inner.extra_rows
        )))
    }

    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        let row = self.inner.session_row(id).await?;
        match row.card(id, self.name()) {
            Some(card) => Ok(card),
            None => {
                let cached = self.inner.rebuild_log(id, row.version.generation).await?;
                Ok(cached.folded.card.card().clone())
            }
        }
    }

    async fn find_ids(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        Ok(retry_until_done!(self.inner, 0, self.inner.list_retries(), |connection| listing::find_ids(
            connection, prefix
        )))
    }

    async fn is_in_use(&self, id: &str) -> Result<bool, StoreError> {
        self.inner.is_in_use(id).await
    }

    async fn delete(&self, id: &str) -> Result<DeleteResult, StoreError> {
        match self.inner.is_watched(id) {
            true => Err(StoreError::Busy { id: id.to_owned() }),
            false => self.inner.delete(id, Some(self.inner.holder())).await,
        }
    }

    /// A process that has the session open gets `NotFound` on its next call.
    async fn delete_in_use(&self, id: &str) -> Result<DeleteResult, StoreError> {
        self.inner.delete(id, None).await
    }

    async fn acquire_lease(&self, lease: &Lease, is_conflict: LeaseConflictFn<'_>) -> Result<(), StoreError> {
        self.inner.acquire_lease(lease, is_conflict).await
    }

    fn may_have_expired(&self, lease: &Lease) -> bool {
        self.inner.may_have_expired(lease)
    }

    async fn release_lease(&self, lease: &Lease) {
        self.inner.release_lease(lease).await;
    }

    async fn leases(&self, id: &str) -> Result<Vec<Lease>, StoreError> {
        self.inner.leases(id).await
    }

    async fn rewrite(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        match self.inner.is_in_use(id).await? {
            true => Err(StoreError::Busy { id: id.to_owned() }),
            false => self.inner.rewrite(id, expected, lines, Some(self.inner.holder())).await,
        }
    }

    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        self.inner.rewrite(id, expected, lines, None).await
    }
}
