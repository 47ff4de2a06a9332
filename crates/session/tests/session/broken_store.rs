//! A failing store: the state in memory is exactly what the store acknowledged.

use std::io;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use osier_session::{Durability, Session, SessionEnv, SessionError, SessionEvent};
use osier_store::intercepted::{InterceptedStore, StoreInterceptor};
use osier_store::{Lease, LogVersion, MemoryStore, Store, StoreError};

use crate::support::{drain, draw, empty, env, exchange, message, open, say, stored, text_at};

/// The fault of the next operation.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    /// Fails, and writes nothing.
    Full,
    /// Fails after the line is written.
    Late,
    /// Reports a conflict that does not exist.
    FalseConflict,
    NoSync,
    /// The lease ended, and another process took it.
    LeaseEnded,
}

type FailingStore = InterceptedStore<FaultInjector>;

#[derive(Debug, Default)]
struct FaultInjector {
    fault: Mutex<Option<Fault>>,
    syncs: AtomicUsize,
}

impl FaultInjector {
    fn next(&self, fault: Fault) {
        *self.fault.lock().unwrap() = Some(fault);
    }

    fn syncs(&self) -> usize {
        self.syncs.load(Ordering::Relaxed)
    }

    fn has(&self, fault: Fault) -> bool {
        let mut next = self.fault.lock().unwrap();
        if fault == Fault::FalseConflict {
            *next == Some(fault)
        } else {
            next.take_if(|next| *next == fault).is_some()
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
impl StoreInterceptor for FaultInjector {
    fn name(&self) -> &str {
        "failing"
    }

    async fn append(
        &self,
        inner: &MemoryStore,
        id: &str,
        expected: LogVersion,
        lines: &[Vec<u8>],
    ) -> Result<LogVersion, StoreError> {
        if self.has(Fault::Full) {
            return Err(io_error());
        }
        if self.has(Fault::FalseConflict) {
            return Err(StoreError::Conflict { now: expected });
        }
        let version = inner.append(id, expected, lines).await?;
        if self.has(Fault::Late) { Err(io_error()) } else { Ok(version) }
    }

    async fn sync(&self, inner: &MemoryStore, id: &str) -> Result<(), StoreError> {
        if self.has(Fault::NoSync) {
            return Err(io_error());
        }
        self.syncs.fetch_add(1, Ordering::Relaxed);
        inner.sync(id).await
    }

    fn may_have_expired(&self, _lease: &Lease) -> bool {
        self.has(Fault::LeaseEnded)
    }
}

async fn session(durability: Durability) -> (Arc<FailingStore>, Session) {
    let failing = Arc::new(FailingStore::default());
    let store: Arc<dyn Store> = failing.clone();
    let env = SessionEnv { durability, watch: false, ..env("a") };
    (failing, empty(&store, env).await)
}

#[tokio::test]
async fn a_turn_whose_lease_was_taken_over_stores_nothing_more() {
    let (store, session) = session(Durability::Os).await;
    let turn = session.main_cursor().begin_turn().await.unwrap();
    say(&session.main_cursor(), "user", "hello").await;
    store.next(Fault::LeaseEnded);
    say(&session.main_cursor(), "assistant", "nobody took the place").await;
    let own = store.leases("s").await.unwrap().remove(0);
    store.release_lease(&own).await;
    let other_lease = Lease { cursor: own.cursor ^ 1, process: 4242, ..own };
    store.acquire_lease(&other_lease, &|_| true).await.unwrap();
    let before = session.version();
    store.next(Fault::LeaseEnded);
    let refused = session.main_cursor().commit(message("user", "too late")).await.unwrap_err();
    assert!(refused.to_string().contains("process 4242"), "{refused}");
    assert_eq!((refused.code().name(), session.version()), ("session_busy", before));
    turn.end().await.unwrap();
}

#[tokio::test]
async fn a_failed_append_leaves_memory_unchanged() {
    let (store, session) = session(Durability::Os).await;
    exchange(&session.main_cursor(), "hello").await;
    let (before, drawing) = (session.version(), draw(&session).await);
    let mut events = session.attach(None).await.unwrap().events;
    store.next(Fault::Full);
    let failed = session.main_cursor().commit(message("user", "lost")).await;
    assert!(matches!(failed, Err(SessionError::Store(StoreError::Io { .. }))));
    assert_eq!((session.version(), draw(&session).await), (before, drawing));
    assert_eq!(drain(&mut events), []);
    say(&session.main_cursor(), "user", "once more").await;
}

#[tokio::test]
async fn a_write_that_fails_after_it_reached_the_log_succeeds() {
    let (store, session) = session(Durability::Always).await;
    let mut events = session.attach(None).await.unwrap().events;
    let draft = session.main_cursor().begin_draft().await.unwrap();
    store.next(Fault::Late);
    let entry = stored(session.main_cursor().commit(message("user", "x").finish_draft(&draft)).await);
    assert_eq!((&*entry.id, entry.existed, session.version().entries), (draft.id(), true, 1));
    assert_eq!(session.main_cursor().position(), Some(entry.seq));
    assert!(drain(&mut events).iter().any(|event| matches!(event, SessionEvent::DraftDropped { .. })));
    let (_, reply) = exchange(&session.main_cursor(), "on").await;
    assert_eq!(session.tree().path(Some(reply.seq)).len(), 3, "one path without duplicates");
    assert_eq!(store.syncs(), 3, "as durable as configured");
}

#[tokio::test]
async fn a_draft_committed_again_is_not_written_twice() {
    let (_, session) = session(Durability::Os).await;
    let draft = session.main_cursor().begin_draft().await.unwrap();
    let first = stored(session.main_cursor().commit(message("assistant", "x").finish_draft(&draft)).await);
    let repeated = stored(session.main_cursor().commit(message("assistant", "x").finish_draft(&draft)).await);
    assert_eq!((repeated.seq, repeated.existed), (first.seq, true));
    let other = stored(session.main_cursor().commit(message("assistant", "y").finish_draft(&draft)).await);
    assert_ne!(other.id, first.id);
    assert_eq!(text_at(&session.main_cursor()).await, "assistant: y");
}

#[tokio::test]
async fn false_conflicts_do_not_hang_the_writer() {
    let (store, session) = session(Durability::Os).await;
    store.next(Fault::FalseConflict);
    assert!(matches!(session.rename("x").await, Err(SessionError::Contended)));
}

#[tokio::test]
async fn durability_always_syncs_after_every_entry() {
    let (store, session) = session(Durability::Always).await;
    exchange(&session.main_cursor(), "hello").await;
    assert_eq!(store.syncs(), 2);
    store.next(Fault::NoSync);
    let failed = session.main_cursor().commit(message("user", "x")).await;
    assert!(matches!(failed, Err(SessionError::NotDurable { id, .. }) if id == "a0000003"));
    assert_eq!(text_at(&session.main_cursor()).await, "user: x", "the entry is written");
}

#[tokio::test]
async fn durability_turn_syncs_at_the_end_of_a_turn_and_before_a_prompt() {
    let (store, session) = session(Durability::Turn).await;
    let turn = session.main_cursor().begin_turn().await.unwrap();
    say(&session.main_cursor(), "user", "hello").await;
    assert_eq!(store.syncs(), 0);
    session.sync_if_configured().await.unwrap();
    session.sync_if_configured().await.unwrap();
    assert_eq!(store.syncs(), 1, "once is enough");
    say(&session.main_cursor(), "assistant", "hello").await;
    turn.end().await.unwrap();
    assert_eq!(store.syncs(), 2);
    let turn = session.main_cursor().begin_turn().await.unwrap();
    say(&session.main_cursor(), "user", "more").await;
    store.next(Fault::NoSync);
    assert!(matches!(turn.end().await, Err(SessionError::Store(StoreError::Io { .. }))));
    session.sync_if_configured().await.unwrap();
    assert_eq!(store.syncs(), 3, "a failed sync is retried");
}

#[tokio::test]
async fn durability_os_syncs_only_on_request() {
    let (store, session) = session(Durability::Os).await;
    exchange(&session.main_cursor(), "hello").await;
    session.sync_if_configured().await.unwrap();
    session.main_cursor().begin_turn().await.unwrap().end().await.unwrap();
    assert_eq!(store.syncs(), 0);
    session.sync().await.unwrap();
    assert_eq!(store.syncs(), 1);
}

#[tokio::test]
async fn unsynced_entries_are_synced_when_the_last_handle_is_dropped() {
    let (store, session) = session(Durability::Turn).await;
    exchange(&session.main_cursor(), "hello").await;
    let mut events = session.attach(Some(session.version())).await.unwrap().events;
    drop(session);
    assert_eq!(events.next().await, None);
    assert_eq!(store.syncs(), 1);
}

#[tokio::test]
async fn committing_to_a_deleted_session_is_an_error() {
    let (store, session) = session(Durability::Os).await;
    exchange(&session.main_cursor(), "hello").await;
    store.delete("s").await.unwrap();
    let failed = session.main_cursor().commit(message("user", "x")).await;
    assert!(matches!(failed, Err(SessionError::Store(StoreError::NotFound { .. }))));
    assert_eq!(session.version().entries, 2, "the entries can still be read");
    let gone: Arc<dyn Store> = store;
    assert!(Session::open(gone.clone(), "s", env("b")).await.is_err());
    empty(&gone, env("c")).await;
    open(&gone, env("d")).await;
}
