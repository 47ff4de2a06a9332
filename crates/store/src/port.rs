//! The port: what Osier asks of a place that keeps logs.

use std::fmt::Debug;
use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::Previews;
use osier_tree::short_ids::{SESSION_ID_LENGTH, ShortIds, first_eight};
use osier_tree::{Head, Header, Heads, Seq};
use serde::Serialize;
use tokio::sync::watch;

use crate::batch::Batch;
use crate::error::StoreError;
use crate::lease::{InTheWay, Lease};
use crate::paged::each_line;
use crate::texts::Texts;

/// A state of a log. Within one generation a log only grows, so `entries` orders its states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
pub struct Version {
    pub generation: u64,
    /// How many entries the log has: also the seq of the next one.
    pub entries: usize,
}

/// What a store knows of a session at once.
#[derive(Debug, Clone)]
pub struct Opened {
    pub header: Header,
    pub version: Version,
    /// How many lines are no entries; `osier sessions verify` names them.
    pub odd_lines: usize,
    /// Where the log lies, if it is a file.
    pub file: Option<PathBuf>,
}

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only sessions of this working directory.
    pub cwd: Option<PathBuf>,
    pub skip: usize,
    pub limit: Option<usize>,
}

/// Some cards, the session used last first.
#[derive(Debug, Clone, Default)]
pub struct Page {
    pub cards: Vec<Card>,
    /// There are more behind these. How many is not told: a database would have to count them all.
    pub more: bool,
    /// Files in the store's folder that cannot be read as sessions.
    pub unreadable: Vec<String>,
}

/// What deleting removed. Deleting what is not there is no error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Deleted {
    pub deleted: bool,
    pub store: String,
    pub counts: Counts,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Counts {
    pub sessions: usize,
    pub entries: usize,
}

/// Lines that come some at a time.
#[async_trait]
pub trait LineSource: Send {
    /// The next lines; none at the end.
    async fn next_lines(&mut self) -> Result<Vec<Vec<u8>>, StoreError>;
}

/// Tells that a log may have grown. A hint, not a promise: whoever gets it reads on.
#[derive(Debug)]
pub struct Watch {
    changed: watch::Receiver<u64>,
    /// What must live as long as the watch does.
    _keep: Option<Box<dyn Debug + Send + Sync>>,
}

impl Watch {
    pub fn new(changed: watch::Receiver<u64>, keep: Option<Box<dyn Debug + Send + Sync>>) -> Watch {
        Watch { changed, _keep: keep }
    }

    /// Waits for the next hint. Never returns once the store can give no more.
    pub async fn changed(&mut self) {
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Keeps the logs of sessions.
///
/// When `append` or `create` returns `Ok`, the lines survive the death of this process; after `sync`, of the machine.
/// A session is named by its whole id.
#[async_trait]
pub trait Store: Send + Sync + Debug {
    /// The store's name in settings, cards and messages.
    fn name(&self) -> &str;

    /// The same store with no log open, for whoever looks into many sessions: what was opened there is closed when it is
    /// dropped. None if open logs cost nothing.
    fn another(&self) -> Option<Arc<dyn Store>> {
        None
    }

    /// Makes a session with these first lines, whole or not at all.
    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<Opened, StoreError>;

    /// The same with lines that are read as they are written. A store that cannot write them so holds them all.
    async fn create_from(&self, header: &Header, lines: &mut dyn LineSource) -> Result<Opened, StoreError> {
        let mut all = Vec::new();
        loop {
            match lines.next_lines().await? {
                some if some.is_empty() => return self.create(header, &all).await,
                some => all.extend(some),
            }
        }
    }

    /// Where the log of a session with this header would lie, if it were a file.
    fn place(&self, _header: &Header) -> Option<PathBuf> {
        None
    }

    /// Looks at a session. Writes nothing but caches.
    async fn open(&self, id: &str) -> Result<Opened, StoreError>;

    /// At most `limit` heads from place `after` on, references looked up in the log as `open` or `append` last saw it.
    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError>;

    /// All heads of this generation at once, if the store holds them in memory anyway: then nobody needs them a second time.
    async fn shared_heads(&self, _id: &str, _generation: u64) -> Result<Option<Heads>, StoreError> {
        Ok(None)
    }

    /// The lines of these entries, into `batch`, in the order asked for: all, or as many of the first as make about
    /// [`Batch::FULL`] bytes, and at least one. See [`crate::each_line`].
    async fn lines(
        &self,
        id: &str,
        generation: u64,
        wanted: &[Seq],
        batch: &mut Batch,
    ) -> Result<(), StoreError>;

    /// Adds lines at the end, all or none, if the log still is in the state `expected`. Otherwise `Conflict` tells the
    /// state it is in. The answer counts more entries than were given if a program that knows no locks wrote in the same
    /// moment; then read on from `expected` to see where they lie.
    async fn append(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError>;

    /// Returns when everything acknowledged so far would survive a power cut.
    async fn sync(&self, id: &str) -> Result<(), StoreError>;

    /// Hints that a log grew. A session that somebody watches counts as open.
    async fn watch(&self, id: &str) -> Result<Watch, StoreError>;

    /// For the end of a process: nothing is open here any more. What dies without this word may count as open for a while.
    async fn leave(&self) {}

    async fn list(&self, filter: &Filter) -> Result<Page, StoreError>;

    /// The card of one session.
    async fn card(&self, id: &str) -> Result<Card, StoreError>;

    /// The one-line texts of the entries of a log, at least of those that `version` counts. A tool's result is told by its call.
    async fn previews(&self, id: &str, version: Version) -> Result<Texts, StoreError> {
        let all: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
        let (mut previews, mut texts) = (Previews::new(None), Texts::default());
        let take = |_, line: &[u8]| -> Result<(), StoreError> {
            texts.push_line(&mut previews, line);
            Ok(())
        };
        each_line(self, id, version.generation, &all, take).await?;
        Ok(texts)
    }

    /// Whole ids that start with `prefix`, in any case, sorted.
    async fn find(&self, prefix: &str) -> Result<Vec<String>, StoreError>;

    /// The shortest prefix of a session's id, eight characters or more, that names no other session of this store.
    async fn short_id(&self, id: &str) -> Result<String, StoreError> {
        let alike = ShortIds::new(self.find(first_eight(id)).await?);
        Ok(alike.shorten(id, SESSION_ID_LENGTH).to_owned())
    }

    /// Takes a lease, or changes one of the same session and cursor. `Leased` if a lease of another cursor is in the way;
    /// of two that are in each other's way only one is given. A store that cannot know of other processes gives every lease.
    async fn lease(&self, _lease: &Lease, _in_the_way: InTheWay<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    /// Gives a lease back. If that fails, it ends by itself.
    async fn release(&self, _lease: &Lease) {}

    /// The leases that are held in a session, in every process.
    async fn leases(&self, _id: &str) -> Result<Vec<Lease>, StoreError> {
        Ok(Vec::new())
    }

    /// `Busy` if somebody has the session open, here or in another process, as far as the store can know.
    async fn delete(&self, id: &str) -> Result<Deleted, StoreError>;

    /// Puts other lines in the place of a log that still is in the state `expected`, under a new generation, and counts that
    /// in the header. The old log is kept aside. For garbage collection only. `Busy` as for `delete`.
    async fn rewrite(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError>;

    /// The same although somebody has the session open. Every open session starts over with the new log.
    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: Version,
        lines: &[Vec<u8>],
    ) -> Result<Version, StoreError>;
}

impl Filter {
    /// Sorts the cards, the one used last first, and takes the part asked for.
    pub fn page(&self, mut cards: Vec<Card>, unreadable: Vec<String>) -> Page {
        cards.sort_by(|a, b| {
            b.modified.cmp(&a.modified).then_with(|| b.created.cmp(&a.created)).then_with(|| a.id.cmp(&b.id))
        });
        let more = self.limit.is_some_and(|limit| cards.len() > self.skip.saturating_add(limit));
        let cards = cards.into_iter().skip(self.skip).take(self.limit.unwrap_or(usize::MAX)).collect();
        Page { cards, more, unreadable }
    }
}
