//! The store and its state between calls: the connection pool, the logs it writes to, and the watched sessions.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use osier_store::{LogVersion, StoreError};
use rustc_hash::FxHashMap;
use sqlx::MySqlConnection;
use tokio::sync::Mutex as AsyncMutex;

use crate::connections::Connections;
use crate::contention::Contention;
use crate::failure::{Failure, Remedy};
use crate::holding::Holder;
use crate::known::Known;
use crate::leases::HeldLeases;
use crate::listing::Older;
use crate::reading::{Log, not_found};
use crate::rows::SessionRow;
use crate::settings::{Address, Credentials, Limits};
use crate::watching::Watching;
use crate::{making, schema};

/// The number of logs whose state is cached between appends.
const REMEMBERED: usize = 64;

/// Stores sessions in a MySQL or MariaDB database.
#[derive(Clone)]
pub struct MySqlStore {
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub(crate) name: String,
    pub(crate) limits: Limits,
    pub(crate) connections: Connections,
    pub(crate) watching: Watching,
    pub(crate) leases: HeldLeases,
    pub(crate) older: Older,
    prepared: AtomicBool,
    known: Mutex<FxHashMap<String, Slot>>,
    /// The longest version of each log that this process has seen.
    seen: Mutex<FxHashMap<String, LogVersion>>,
}

/// The cached state of a log. Only one append at a time holds it.
#[derive(Debug, Default)]
pub(crate) struct LogState {
    pub(crate) known: Option<Known>,
    pub(crate) contention: Contention,
}

pub(crate) type Slot = Arc<AsyncMutex<LogState>>;

impl MySqlStore {
    /// Creates a store called `name`. It connects and fetches the password on first use, so an unreachable server is not
    /// an error here.
    pub fn new(name: &str, credentials: &Credentials, limits: Limits) -> Result<MySqlStore, StoreError> {
        let inner = Inner {
            name: name.to_owned(),
            limits,
            connections: Connections::new(Address::read(name, credentials)?, &limits),
            watching: Watching::new(Holder(making::random())),
            leases: HeldLeases::default(),
            older: Older::default(),
            prepared: AtomicBool::new(false),
            known: Mutex::default(),
            seen: Mutex::default(),
        };
        Ok(MySqlStore { inner: Arc::new(inner) })
    }
}

impl fmt::Debug for MySqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MySqlStore({})", self.name)
    }
}

impl Inner {
    /// Creates the tables that the database lacks, once per store.
    pub(crate) async fn prepare(&self, connection: &mut MySqlConnection) -> Result<(), Failure> {
        if !self.prepared.load(Ordering::Relaxed) {
            schema::prepare(connection, self.holder()).await?;
            self.prepared.store(true, Ordering::Relaxed);
        }
        Ok(())
    }

    /// Reads the row of a session. Fails if its log was longer when this process last saw it: within a generation a log only
    /// grows, so this server has lost entries or has not received them yet.
    pub(crate) async fn find_row(
        &self,
        connection: &mut MySqlConnection,
        id: &str,
    ) -> Result<Option<SessionRow>, Failure> {
        let before = self.seen().get(id).copied();
        let row = SessionRow::read(connection, id).await?;
        let Some(now) = row.as_ref().map(|row| row.version) else { return Ok(None) };
        if before.is_some_and(|before| before.generation == now.generation && before.entries > now.entries) {
            return Err(Failure::Shrunk(id.to_owned()));
        }
        self.note_length(id, now);
        Ok(row)
    }

    /// Records a version of a log that a server returned or acknowledged.
    pub(crate) fn note_length(&self, id: &str, now: LogVersion) {
        let mut seen = self.seen();
        let before = seen.entry(id.to_owned()).or_insert(now);
        if before.generation != now.generation || before.entries < now.entries {
            *before = now;
        }
    }

    fn seen(&self) -> MutexGuard<'_, FxHashMap<String, LogVersion>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn known(&self) -> MutexGuard<'_, FxHashMap<String, Slot>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn slot(&self, id: &str) -> Slot {
        let mut known = self.known();
        if known.len() >= REMEMBERED && !known.contains_key(id) {
            known.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        known.entry(id.to_owned()).or_default().clone()
    }

    pub(crate) fn forget(&self, id: &str) {
        self.known().remove(id);
        self.seen().remove(id);
    }

    pub(crate) fn log<'a>(&'a self, session: &'a str, generation: u64) -> Log<'a> {
        Log { store: &self.name, session, generation }
    }

    pub(crate) fn not_found(&self, id: &str) -> StoreError {
        not_found(&self.name, id)
    }

    /// Retries for an operation that the caller waits for.
    pub(crate) fn tries(&self) -> Tries<'_> {
        let (reach, patience) = (self.limits.reach, self.limits.patience);
        Tries { inner: self, first_failure: None, pause: Duration::from_millis(5), reach, patience }
    }

    /// Retries for an operation that also runs on other stores: a slow connection must not hold those up.
    pub(crate) fn list_tries(&self) -> Tries<'_> {
        Tries { reach: self.limits.glance, ..self.tries() }
    }

    /// Retries for a background operation: enough to replace a connection that broke long ago.
    pub(crate) fn brief_tries(&self) -> Tries<'_> {
        let patience = self.limits.patience.min(Duration::from_millis(100));
        Tries { patience, ..self.list_tries() }
    }
}

/// Retries one operation until it succeeds, fails permanently, or `retry_timeout` has passed.
#[derive(Debug)]
pub(crate) struct Tries<'a> {
    inner: &'a Inner,
    /// `retry_timeout` counts from here, because the first attempt may have waited long before it failed.
    first_failure: Option<Instant>,
    pause: Duration,
    pub(crate) reach: Duration,
    patience: Duration,
}

impl Tries<'_> {
    /// Runs one attempt that sends `bytes`. Returns `None` if the caller must try again.
    pub(crate) async fn make<T>(
        &mut self,
        bytes: usize,
        attempt: impl Future<Output = Result<T, Failure>>,
    ) -> Result<Option<T>, StoreError> {
        let limits = &self.inner.limits;
        let limit = limits.answer + self.reach + Duration::from_secs((bytes >> 20) as u64);
        let done = tokio::time::timeout(limit, attempt).await.unwrap_or(Err(Failure::Silent(limit)));
        let failure = match done {
            Ok(done) => return Ok(Some(done)),
            Err(failure) => failure,
        };
        let remedy = failure.remedy();
        if matches!(remedy, Remedy::Reconnect | Remedy::Elsewhere) {
            self.inner.connections.forget_idle();
        }
        let since = self.first_failure.get_or_insert_with(Instant::now);
        if remedy == Remedy::None || since.elapsed() >= self.patience {
            return Err(failure.told(&self.inner.name));
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(Duration::from_millis(250));
        Ok(None)
    }
}

/// Runs `$body` over a pooled connection, and retries if the connection broke or other transactions interfered. The body must
/// end its transaction before it fails with `AttemptError::Store`.
macro_rules! attempt {
    ($inner:expr, $bytes:expr, |$connection:ident| $body:expr) => {
        attempt!($inner, $bytes, $inner.tries(), |$connection| $body)
    };
    ($inner:expr, $bytes:expr, $tries:expr, |$connection:ident| $body:expr) => {{
        let mut tries = $tries;
        let reach = tries.reach;
        loop {
            let attempt = async {
                let mut lent = $inner.connections.lend(reach).await?;
                let route = lent.connection.route();
                let work = async {
                    $inner.prepare(&mut lent.connection).await?;
                    let $connection = &mut lent.connection;
                    let done: Result<_, $crate::failure::Failure> = $body.await;
                    done
                };
                let done = $inner.connections.while_alive(route, work).await;
                if matches!(done, Ok(_) | Err($crate::failure::Failure::Store(_))) {
                    lent.give_back();
                }
                done
            };
            if let Some(done) = tries.make($bytes, attempt).await? {
                break done;
            }
        }
    }};
}
pub(crate) use attempt;
