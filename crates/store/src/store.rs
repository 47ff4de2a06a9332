//! The `Store` trait: what every store of session logs implements.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::Previews;
use osier_tree::search_query::{MessageMatches, SearchDetail, SearchQuery};
use osier_tree::short_ids::{SESSION_ID_LENGTH, ShortIds, first_eight};
use osier_tree::{Head, Header, Heads, Seq};
use serde::Serialize;
use tokio::sync::watch;

use crate::batch::LineBatch;
use crate::error::StoreError;
use crate::lease::{Lease, LeaseConflictFn};
use crate::paged::for_each_line;
use crate::preview_texts::PreviewTexts;

/// A state of a log. Within one generation a log only grows, so `entries` orders the states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct LogVersion {
    pub generation: u64,
    /// The number of entries, which is also the sequence number of the next entry.
    pub entries: usize,
}

/// What a store knows about a session as soon as it is open.
#[derive(Debug, Clone)]
pub struct OpenedLog {
    pub header: Header,
    pub version: LogVersion,
    /// The number of lines that are not valid entries. `osier sessions verify` lists them.
    pub invalid_lines: usize,
    /// The path of the log, if it is a file.
    pub file: Option<PathBuf>,
}

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Only sessions of this working directory.
    pub cwd: Option<PathBuf>,
    pub skip: usize,
    pub limit: Option<usize>,
}

/// A page of cards, most recently used session first.
#[derive(Debug, Clone, Default)]
pub struct SessionPage {
    pub cards: Vec<Card>,
    /// Whether more cards follow. There is no total, because a database would have to count all rows.
    pub has_more: bool,
    /// Files in the store's folder that cannot be read as sessions.
    pub unreadable: Vec<String>,
}

/// The result of a deletion. Deleting a session that does not exist is not an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeleteResult {
    pub deleted: bool,
    pub store: String,
    pub counts: DeletedCounts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedCounts {
    pub sessions: usize,
    pub entries: usize,
}

/// A source of lines that are read in batches.
#[async_trait]
pub trait LineSource: Send {
    /// The next lines; empty at the end.
    async fn next_lines(&mut self) -> Result<Vec<Vec<u8>>, StoreError>;
}

/// Notifies that a log may have grown. This is a hint: the receiver must read the log to find out.
#[derive(Debug)]
pub struct Watch {
    changed: watch::Receiver<u64>,
    /// A guard that must live as long as the watch.
    _guard: Option<Box<dyn Debug + Send + Sync>>,
}

impl Watch {
    pub fn new(changed: watch::Receiver<u64>, keep: Option<Box<dyn Debug + Send + Sync>>) -> Watch {
        Watch { changed, _guard: keep }
    }

    /// Waits for the next notification. Never returns after the store has stopped sending them.
    pub async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Stores the logs of sessions.
///
/// When `append` or `create` returns `Ok`, the lines survive a crash of this process; after `sync`, they survive a
/// crash of the machine. Methods take the full session id.
#[async_trait]
pub trait Store: Send + Sync + Debug {
    /// The store's name in settings, cards and messages.
    fn name(&self) -> &str;

    /// What it stores sessions in: `file`, `mysql` or `memory`.
    fn kind(&self) -> &'static str;

    /// Another instance of this store with no log open, for callers that read many sessions: dropping it closes the
    /// logs it opened. `None` if open logs cost nothing.
    fn new_instance(&self) -> Option<Arc<dyn Store>> {
        None
    }

    /// Creates a session with these first lines, atomically.
    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<OpenedLog, StoreError>;

    /// Like `create`, but reads the lines while it writes them. The default implementation collects them all in
    /// memory.
    async fn create_from(
        &self,
        header: &Header,
        lines: &mut dyn LineSource,
    ) -> Result<OpenedLog, StoreError> {
        let mut all = Vec::new();
        loop {
            match lines.next_lines().await? {
                some if some.is_empty() => return self.create(header, &all).await,
                some => all.extend(some),
            }
        }
    }

    /// The path that the log of a new session with this header would get, if the store uses files.
    fn planned_file(&self, _header: &Header) -> Option<PathBuf> {
        None
    }

    /// Opens a session for reading. Writes nothing except caches.
    async fn open(&self, id: &str) -> Result<OpenedLog, StoreError>;

    /// At most `limit` heads starting at index `after`, resolved against the log as `open` or `append` last saw it.
    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError>;

    /// All heads of this generation, if the store holds them in memory anyway, so that callers can share them.
    async fn shared_heads(&self, _id: &str, _generation: u64) -> Result<Option<Heads>, StoreError> {
        Ok(None)
    }

    /// Reads the lines of these entries into `batch`, in the requested order. Stops after about [`LineBatch::FULL_BYTES`]
    /// bytes, but returns at least one line. See [`crate::for_each_line`].
    async fn lines(
        &self,
        id: &str,
        generation: u64,
        seqs: &[Seq],
        batch: &mut LineBatch,
    ) -> Result<(), StoreError>;

    /// Appends all lines or none, if the log is still in the state `expected`. Otherwise returns `Conflict` with the
    /// current state. If a program that takes no lock wrote at the same moment, the returned version counts more
    /// entries than were passed; read from `expected` to find out where the lines are.
    async fn append(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError>;

    /// Returns when all acknowledged lines would survive a power failure.
    async fn sync(&self, id: &str) -> Result<(), StoreError>;

    /// Watches a log for growth. A watched session counts as open.
    async fn watch(&self, id: &str) -> Result<Watch, StoreError>;

    /// Closes everything at the end of the process. Without this call, sessions may count as open for a while.
    async fn close(&self) {}

    async fn list(&self, filter: &SessionFilter) -> Result<SessionPage, StoreError>;

    /// The card of one session.
    async fn card(&self, id: &str) -> Result<Card, StoreError>;

    /// Announces that the next log to be opened is for a tree, which needs previews. A store that must read a whole log to open
    /// it then makes them in the same pass.
    fn expect_previews(&self) {}

    /// The one-line previews of the entries of a log, at least of the entries that `version` counts. A tool result is
    /// previewed by its call.
    async fn previews(&self, id: &str, version: LogVersion) -> Result<PreviewTexts, StoreError> {
        let all: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
        let (mut previews, mut texts) = (Previews::new(None), PreviewTexts::default());
        let take = |_, line: &[u8]| -> Result<(), StoreError> {
            texts.push_line(&mut previews, line);
            Ok(())
        };
        for_each_line(self, id, version.generation, &all, take).await?;
        Ok(texts)
    }

    /// Searches the messages of these sessions for what their cards do not match. A deleted session does not match. `None` if
    /// the store has no index of its messages: the caller must read them.
    async fn search_messages(
        &self,
        _query: &Arc<SearchQuery>,
        _cards: &[Card],
        _detail: SearchDetail,
    ) -> Option<Vec<Result<MessageMatches, StoreError>>> {
        None
    }

    /// The full ids that start with `prefix`, ignoring case, sorted.
    async fn find_ids(&self, prefix: &str) -> Result<Vec<String>, StoreError>;

    /// The ids that start with one of these prefixes. One look at the store is enough for all of them.
    async fn find_ids_with_any(&self, prefixes: &[&str]) -> Result<Vec<String>, StoreError> {
        let mut ids = Vec::new();
        for prefix in prefixes {
            ids.extend(self.find_ids(prefix).await?);
        }
        Ok(ids)
    }

    /// The shortest prefix of a session's id, at least eight characters, that is unique in this store.
    async fn short_id(&self, id: &str) -> Result<String, StoreError> {
        let similar = ShortIds::new(self.find_ids(first_eight(id)).await?);
        Ok(similar.shorten(id, SESSION_ID_LENGTH).to_owned())
    }

    /// Acquires a lease, or updates the lease of the same session and cursor. Returns `Leased` if the lease of
    /// another cursor conflicts; of two conflicting leases only one is granted. A store that cannot know about other
    /// processes grants every lease.
    async fn acquire_lease(
        &self,
        _lease: &Lease,
        _in_the_way: LeaseConflictFn<'_>,
    ) -> Result<(), StoreError> {
        Ok(())
    }

    /// Whether a lease may have expired before it was released. It must then be acquired again before the caller relies
    /// on it. Only leases that are renewed can expire.
    fn may_have_expired(&self, _lease: &Lease) -> bool {
        false
    }

    /// Releases a lease. If that fails, the lease expires.
    async fn release_lease(&self, _lease: &Lease) {}

    /// The leases held in a session, by any process.
    async fn leases(&self, _id: &str) -> Result<Vec<Lease>, StoreError> {
        Ok(Vec::new())
    }

    /// Whether this or another process has a session open, as far as the store can know. Then it is not deleted.
    async fn is_in_use(&self, id: &str) -> Result<bool, StoreError>;

    /// Deletes a session. Returns `Busy` if this or another process has it open, as far as the store can know.
    async fn delete(&self, id: &str) -> Result<DeleteResult, StoreError>;

    /// Like `delete`, but also if the session is open. A process that has it open can no longer append to it.
    async fn delete_in_use(&self, id: &str) -> Result<DeleteResult, StoreError> {
        self.delete(id).await
    }

    /// Replaces the lines of a log that is still in the state `expected`, starts a new generation, and increments the
    /// counter in the header. Keeps a backup of the old log. For garbage collection only. Returns `Busy` like
    /// `delete`.
    async fn rewrite(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError>;

    /// Like `rewrite`, but also if the session is open. Every process that has it open reloads the new log.
    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError>;
}

impl SessionFilter {
    /// Sorts the cards, most recently used first, and returns the requested page.
    pub fn paginate(&self, mut cards: Vec<Card>, unreadable: Vec<String>) -> SessionPage {
        cards.sort_by(|a, b| {
            b.modified.cmp(&a.modified).then_with(|| b.created.cmp(&a.created)).then_with(|| a.id.cmp(&b.id))
        });
        let more = self.limit.is_some_and(|limit| cards.len() > self.skip.saturating_add(limit));
        let cards = cards.into_iter().skip(self.skip).take(self.limit.unwrap_or(usize::MAX)).collect();
        SessionPage { cards, has_more: more, unreadable }
    }
}
