//! A store that fails: what is in memory is exactly what the store acknowledged.

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use osier_session::{Durability, Env, Error, Event, Session};
use osier_store::{Batch, Deleted, Filter, MemoryStore, Opened, Page, Store, StoreError, Version, Watch};
use osier_tree::projection::card::Card;
use osier_tree::{Head, Header, Seq};

use crate::support::{drain, draw, empty, env, exchange, open, say, says, stands, stored};

/// What goes wrong with the next append.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Trouble {
    /// Nothing is written.
    Full,
    /// The line is written, and then the error comes.
    Late,
    /// It says that somebody was faster, and nobody was.
    Lies,
    NoSync,
}

#[derive(Debug, Default)]
struct Broken {
    inner: MemoryStore,
    trouble: Mutex<Option<Trouble>>,
    syncs: AtomicUsize,
}

impl Broken {
    fn next(&self, trouble: Trouble) {
        *self.trouble.lock().unwrap() = Some(trouble);
    }

    fn syncs(&self) -> usize {
        self.syncs.load(Ordering::Relaxed)
    }

    fn has(&self, trouble: Trouble) -> bool {
        let mut next = self.trouble.lock().unwrap();
        if trouble == Trouble::Lies {
            *next == Some(trouble)
        } else {
            next.take_if(|next| *next == trouble).is_some()
        }
    }
}

fn io_error() -> StoreError {
    StoreError::Io {
        what: "write",
        path: "/disk".into(),
        source: io::Error::from(io::ErrorKind::StorageFull),
    }
}

#[async_trait]
impl Store for Broken {
    fn name(&self) -> &str {
        "broken"
    }
    async fn create(&self, header: &Header, lines: &[Vec<u8>]) -> Result<Opened, StoreError> {
        self.inner.create(header, lines).await
    }
    async fn open(&self, id: &str) -> Result<Opened, StoreError> {
        self.inner.open(id).await
    }
    async fn heads(
        &self,
        id: &str,
        generation: u64,
        after: usize,
        limit: usize,
    ) -> Result<Vec<Head>, StoreError> {
        self.inner.heads(id, generation, after, limit).await
    }
    async fn lines(
        &self,
        id: &str,
        generation: u64,
        wanted: &[Seq],
        batch: &mut Batch,
    ) -> Result<(), StoreError> {
        self.inner.lines(id, generation, wanted, batch).await
    }
    async fn append(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        if self.has(Trouble::Full) {
            return Err(io_error());
        }
        if self.has(Trouble::Lies) {
            return Err(StoreError::Conflict { now: expected });
        }
        let version = self.inner.append(id, expected, lines).await?;
        if self.has(Trouble::Late) { Err(io_error()) } else { Ok(version) }
    }
    async fn sync(&self, id: &str) -> Result<(), StoreError> {
        if self.has(Trouble::NoSync) {
            return Err(io_error());
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
        self.inner.sync(id).await
    }
    async fn watch(&self, id: &str) -> Result<Watch, StoreError> {
        self.inner.watch(id).await
    }
    async fn list(&self, filter: &Filter) -> Result<Page, StoreError> {
        self.inner.list(filter).await
    }
    async fn card(&self, id: &str) -> Result<Card, StoreError> {
        self.inner.card(id).await
    }
    async fn find(&self, prefix: &str) -> Result<Vec<String>, StoreError> {
        self.inner.find(prefix).await
    }
    async fn delete(&self, id: &str) -> Result<Deleted, StoreError> {
        self.inner.delete(id).await
    }
    async fn rewrite(&self, id: &str, expected: Version, lines: &[Vec<u8>]) -> Result<Version, StoreError> {
        self.inner.rewrite(id, expected, lines).await
    }

    async fn rewrite_in_use(
        &self,
        id: &str,
        expected: Version,
        lines: &[Vec<u8>],
    ) -> Result<Version, StoreError> {
        self.inner.rewrite_in_use(id, expected, lines).await
    }
}

async fn session(durability: Durability) -> (Arc<Broken>, Session) {
    let broken = Arc::new(Broken::default());
    let store: Arc<dyn Store> = broken.clone();
    let env = Env { durability, watch: false, ..env("a") };
    (broken, empty(&store, env).await)
}

#[tokio::test]
async fn a_failed_append_leaves_memory_unchanged() {
    let (store, session) = session(Durability::Os).await;
    exchange(&session.main(), "hello").await;
    let (before, drawing) = (session.version(), draw(&session).await);
    let mut events = session.attach(None).await.unwrap().events;
    store.next(Trouble::Full);
    let failed = session.main().commit(says("user", "lost")).await;
    assert!(matches!(failed, Err(Error::Store(StoreError::Io { .. }))));
    assert_eq!((session.version(), draw(&session).await), (before, drawing));
    assert_eq!(drain(&mut events), []);
    say(&session.main(), "user", "once more").await;
}

#[tokio::test]
async fn a_write_that_fails_after_it_reached_the_log_is_a_success() {
    let (store, session) = session(Durability::Always).await;
    let mut events = session.attach(None).await.unwrap().events;
    let draft = session.main().begin_draft().await.unwrap();
    store.next(Trouble::Late);
    let said = stored(session.main().commit(says("user", "x").finishing(&draft)).await);
    assert_eq!((&*said.id, said.existed, session.version().entries), (draft.id(), true, 1));
    assert_eq!(session.main().place(), Some(said.seq));
    assert!(drain(&mut events).iter().any(|event| matches!(event, Event::DraftDropped { .. })));
    let (_, reply) = exchange(&session.main(), "on").await;
    assert_eq!(session.tree().path(Some(reply.seq)).len(), 3, "one path, nothing twice");
    assert_eq!(store.syncs(), 3, "and as durable as the setting asks");
}

#[tokio::test]
async fn a_draft_committed_again_is_not_written_twice() {
    let (_, session) = session(Durability::Os).await;
    let draft = session.main().begin_draft().await.unwrap();
    let first = stored(session.main().commit(says("assistant", "x").finishing(&draft)).await);
    let again = stored(session.main().commit(says("assistant", "x").finishing(&draft)).await);
    assert_eq!((again.seq, again.existed), (first.seq, true));
    let other = stored(session.main().commit(says("assistant", "y").finishing(&draft)).await);
    assert_ne!(other.id, first.id);
    assert_eq!(stands(&session.main()).await, "assistant: y");
}

#[tokio::test]
async fn a_store_that_reports_conflicts_for_nothing_does_not_hang_the_writer() {
    let (store, session) = session(Durability::Os).await;
    store.next(Trouble::Lies);
    assert!(matches!(session.rename("x").await, Err(Error::Contended)));
}

#[tokio::test]
async fn always_syncs_after_every_entry() {
    let (store, session) = session(Durability::Always).await;
    exchange(&session.main(), "hello").await;
    assert_eq!(store.syncs(), 2);
    store.next(Trouble::NoSync);
    let failed = session.main().commit(says("user", "x")).await;
    assert!(matches!(failed, Err(Error::NotDurable { id, .. }) if id == "a0000003"));
    assert_eq!(stands(&session.main()).await, "user: x", "it is written all the same");
}

#[tokio::test]
async fn turn_syncs_at_the_end_of_a_turn_and_before_a_prompt() {
    let (store, session) = session(Durability::Turn).await;
    let turn = session.main().begin_turn().await.unwrap();
    say(&session.main(), "user", "hello").await;
    assert_eq!(store.syncs(), 0);
    session.before_prompt().await.unwrap();
    session.before_prompt().await.unwrap();
    assert_eq!(store.syncs(), 1, "once is enough");
    say(&session.main(), "assistant", "hello").await;
    turn.end().await.unwrap();
    assert_eq!(store.syncs(), 2);
    let turn = session.main().begin_turn().await.unwrap();
    say(&session.main(), "user", "more").await;
    store.next(Trouble::NoSync);
    assert!(matches!(turn.end().await, Err(Error::Store(StoreError::Io { .. }))));
    session.before_prompt().await.unwrap();
    assert_eq!(store.syncs(), 3, "what failed is tried again");
}

#[tokio::test]
async fn os_leaves_it_to_the_system_unless_asked() {
    let (store, session) = session(Durability::Os).await;
    exchange(&session.main(), "hello").await;
    session.before_prompt().await.unwrap();
    session.main().begin_turn().await.unwrap().end().await.unwrap();
    assert_eq!(store.syncs(), 0);
    session.sync().await.unwrap();
    assert_eq!(store.syncs(), 1);
}

#[tokio::test]
async fn what_is_left_unsynced_is_synced_when_the_last_handle_goes() {
    let (store, session) = session(Durability::Turn).await;
    exchange(&session.main(), "hello").await;
    let mut events = session.attach(Some(session.version())).await.unwrap().events;
    drop(session);
    assert_eq!(events.next().await, None);
    assert_eq!(store.syncs(), 1);
}

#[tokio::test]
async fn a_session_that_is_deleted_under_an_open_one_says_so() {
    let (store, session) = session(Durability::Os).await;
    exchange(&session.main(), "hello").await;
    store.delete("s").await.unwrap();
    let failed = session.main().commit(says("user", "x")).await;
    assert!(matches!(failed, Err(Error::Store(StoreError::NotFound { .. }))));
    assert_eq!(session.version().entries, 2, "what was read can still be seen");
    let gone: Arc<dyn Store> = store;
    assert!(Session::open(gone.clone(), "s", env("b")).await.is_err());
    empty(&gone, env("c")).await;
    open(&gone, env("d")).await;
}
