//! The store and its state between calls: the connection pool, the logs it writes to, and the watched sessions.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use osier_store::{LogVersion, StoreError};
use rustc_hash::FxHashMap;
use sqlx::MySqlConnection;
use tokio::sync::{Mutex as AsyncMutex, OnceCell};

use crate::attempt_error::{AttemptError, Remedy};
use crate::cached_log::CachedLog;
use crate::connection_pool::ConnectionPool;
use crate::contention::Contention;
use crate::leases::HeldLeases;
use crate::listing::ExtraRows;
use crate::log_reader::{LogReader, not_found};
use crate::open_records::Holder;
use crate::rows::SessionRow;
use crate::settings::{Credentials, DatabaseAddress, Limits};
use crate::watcher::SessionWatcher;
use crate::{log_creation, schema};

/// The number of logs whose state is cached between appends.
const MAX_CACHED_LOGS: usize = 64;

/// Stores sessions in a MySQL or MariaDB database.
#[derive(Clone)]
pub struct MySqlStore {
    pub(crate) inner: Arc<StoreInner>,
}

pub(crate) struct StoreInner {
    pub(crate) name: String,
    pub(crate) limits: Limits,
    pub(crate) pool: ConnectionPool,
    pub(crate) watcher: SessionWatcher,
    pub(crate) leases: HeldLeases,
    pub(crate) extra_rows: ExtraRows,
    schema: OnceCell<()>,
    log_states: Mutex<FxHashMap<String, SharedLogState>>,
    /// The longest version of each log that this process has seen.
    seen_versions: Mutex<FxHashMap<String, LogVersion>>,
}

/// The cached state of a log. Only one append at a time holds it.
#[derive(Debug, Default)]
pub(crate) struct LogState {
    pub(crate) cached: Option<CachedLog>,
    pub(crate) contention: Contention,
}

pub(crate) type SharedLogState = Arc<AsyncMutex<LogState>>;

impl MySqlStore {
    /// Creates a store called `name`. It connects and fetches the password on first use, so an unreachable server is not
    /// an error here.
    pub fn new(name: &str, credentials: &Credentials, limits: Limits) -> Result<MySqlStore, StoreError> {
        let inner = StoreInner {
            name: name.to_owned(),
            limits,
            pool: ConnectionPool::new(DatabaseAddress::parse(name, credentials)?, &limits),
            watcher: SessionWatcher::new(Holder(log_creation::random_id())),
            leases: HeldLeases::default(),
            extra_rows: ExtraRows::default(),
            schema: OnceCell::new(),
            log_states: Mutex::default(),
            seen_versions: Mutex::default(),
        };
        Ok(MySqlStore { inner: Arc::new(inner) })
    }
}

impl fmt::Debug for MySqlStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

impl fmt::Debug for StoreInner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MySqlStore({})", self.name)
    }
}

impl StoreInner {
    /// Creates the tables that the database lacks, once per store.
    pub(crate) async fn ensure_schema(&self, connection: &mut MySqlConnection) -> Result<(), AttemptError> {
        self.schema.get_or_try_init(|| schema::upgrade(connection, self.holder())).await?;
        Ok(())
    }

    /// Reads the row of a session. Fails if its log was longer when this process last saw it: within a generation a log only
    /// grows, so this server has lost entries or has not received them yet.
    pub(crate) async fn find_row(
        &self,
        connection: &mut MySqlConnection,
        id: &str,
    ) -> Result<Option<SessionRow>, AttemptError> {
        let before = self.lock_seen_versions().get(id).copied();
        let row = SessionRow::read(connection, id).await?;
        let Some(now) = row.as_ref().map(|row| row.version) else { return Ok(None) };
        if before.is_some_and(|before| before.generation == now.generation && before.entries > now.entries) {
            return Err(AttemptError::Shrunk(id.to_owned()));
        }
        self.record_version(id, now);
        Ok(row)
    }

    /// Records a version of a log that a server returned or acknowledged.
    pub(crate) fn record_version(&self, id: &str, now: LogVersion) {
        let mut seen = self.lock_seen_versions();
        let before = seen.entry(id.to_owned()).or_insert(now);
        if before.generation != now.generation || before.entries < now.entries {
            *before = now;
        }
    }

    fn lock_seen_versions(&self) -> MutexGuard<'_, FxHashMap<String, LogVersion>> {
        self.seen_versions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_log_states(&self) -> MutexGuard<'_, FxHashMap<String, SharedLogState>> {
        self.log_states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn log_state(&self, id: &str) -> SharedLogState {
        let mut known = self.lock_log_states();
        if known.len() >= MAX_CACHED_LOGS && !known.contains_key(id) {
            known.retain(|_, slot| Arc::strong_count(slot) > 1);
        }
        known.entry(id.to_owned()).or_default().clone()
    }

    pub(crate) fn forget_log(&self, id: &str) {
        self.lock_log_states().remove(id);
        self.lock_seen_versions().remove(id);
    }

    pub(crate) fn log_reader<'a>(&'a self, session: &'a str, generation: u64) -> LogReader<'a> {
        LogReader { store: &self.name, session, generation }
    }

    pub(crate) fn not_found(&self, id: &str) -> StoreError {
        not_found(&self.name, id)
    }

    /// Retries for an operation that the caller waits for.
    pub(crate) fn retries(&self) -> Retries<'_> {
        Retries {
            inner: self,
            first_failure: None,
            pause: Duration::from_millis(5),
            connect_timeout: self.limits.connect_timeout,
            retry_timeout: self.limits.retry_timeout,
        }
    }

    /// Retries for an operation that also runs on other stores: a slow connection must not hold those up.
    pub(crate) fn list_retries(&self) -> Retries<'_> {
        Retries { connect_timeout: self.limits.list_connect_timeout, ..self.retries() }
    }

    /// Retries for a background operation: enough to replace a connection that broke long ago.
    pub(crate) fn background_retries(&self) -> Retries<'_> {
        let retry_timeout = self.limits.retry_timeout.min(Duration::from_millis(100));
        Retries { retry_timeout, ..self.list_retries() }
    }
}

/// Retries one operation until it succeeds, fails permanently, or `retry_timeout` has passed.
#[derive(Debug)]
pub(crate) struct Retries<'a> {
    inner: &'a StoreInner,
    /// `retry_timeout` counts from here, because the first attempt may have waited long before it failed.
    first_failure: Option<Instant>,
    pause: Duration,
    pub(crate) connect_timeout: Duration,
    retry_timeout: Duration,
}

impl Retries<'_> {
    /// Runs one attempt that sends `bytes`. Returns `None` if the caller must try again.
    pub(crate) async fn run_attempt<T>(
        &mut self,
        bytes: usize,
        attempt: impl Future<Output = Result<T, AttemptError>>,
    ) -> Result<Option<T>, StoreError> {
        let limits = &self.inner.limits;
        let limit =
            limits.response_timeout + self.connect_timeout + Duration::from_secs((bytes >> 20) as u64);
        let done = tokio::time::timeout(limit, attempt).await.unwrap_or(Err(AttemptError::Timeout(limit)));
        let failure = match done {
            Ok(done) => return Ok(Some(done)),
            Err(failure) => failure,
        };
        let remedy = failure.remedy();
        tracing::debug!(store = %self.inner.name, ?remedy, "an attempt failed");
        if matches!(remedy, Remedy::Reconnect | Remedy::OtherHost) {
            self.inner.pool.close_idle();
        }
        let since = self.first_failure.get_or_insert_with(Instant::now);
        if remedy == Remedy::None || since.elapsed() >= self.retry_timeout {
            let error = failure.into_store_error(&self.inner.name);
            // An answer of the store, such as a conflict, is not a failure of the server.
            if remedy != Remedy::None {
                tracing::warn!(store = %self.inner.name, %error, "the database does not answer");
            }
            return Err(error);
        }
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(Duration::from_millis(250));
        Ok(None)
    }
}

/// Runs `$body` over a pooled connection, and retries if the connection broke or other transactions interfered. The body must
/// end its transaction before it fails with `AttemptError::Store`.
macro_rules! retry_until_done {
    ($inner:expr, $bytes:expr, |$connection:ident| $body:expr) => {
        retry_until_done!($inner, $bytes, $inner.retries(), |$connection| $body)
    };
    ($inner:expr, $bytes:expr, $retries:expr, |$connection:ident| $body:expr) => {{
        let mut retries = $retries;
        let connect_timeout = retries.connect_timeout;
        loop {
            let attempt = async {
                let mut pooled = $inner.pool.acquire(connect_timeout).await?;
                let host = pooled.connection.host_and_connect_time();
                let work = async {
                    $inner.ensure_schema(&mut pooled.connection).await?;
                    let $connection = &mut pooled.connection;
                    let done: Result<_, $crate::attempt_error::AttemptError> = $body.await;
                    done
                };
                let done = $inner.pool.run_while_alive(host, work).await;
                if matches!(done, Ok(_) | Err($crate::attempt_error::AttemptError::Store(_))) {
                    pooled.release();
                }
                done
            };
            if let Some(done) = retries.run_attempt($bytes, attempt).await? {
                break done;
            }
        }
    }};
}
pub(crate) use retry_until_done;
