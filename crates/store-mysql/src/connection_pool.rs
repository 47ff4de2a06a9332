//! A small connection pool. A connection returns to the pool only after a call that succeeded, so a pooled connection has no
//! open transaction and no pending response.
//!
//! A store can have several hosts. They are tried in order, and the first that works is used until it fails.

use std::ops::{Deref, DerefMut};
use std::pin::pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use secrecy::SecretString;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{Connection as _, Executor, MySqlConnection};
use tokio::sync::{Mutex as AsyncMutex, Semaphore, SemaphorePermit};

use crate::attempt_error::{AttemptError, Remedy, is_access_denied};
use crate::engine::Engine;
use crate::relay;
use crate::settings::{DatabaseAddress, Limits};

/// A server with a smaller `max_allowed_packet` cannot store sessions.
const MIN_PACKET_BYTES: u64 = 64 << 10;

/// The maximum size of one statement's data. TiDB allows rows of 6 MiB, and most servers allow packets of 16 MiB.
const MAX_PART_BYTES: usize = 4 << 20;

/// After this long without a response, the pool tries the next host, or probes whether a busy server is still alive.
const PROBE_DELAY: Duration = Duration::from_secs(1);

/// The maximum delay between two such probes.
const MAX_PROBE_DELAY: Duration = Duration::from_secs(8);

/// The connection pool of a store.
#[derive(Debug)]
pub(crate) struct ConnectionPool {
    address: DatabaseAddress,
    /// The cached password.
    password: AsyncMutex<Option<SecretString>>,
    /// The host to try first.
    preferred_host: AtomicUsize,
    /// Each with the time it was returned to the pool, oldest first.
    idle: Mutex<Vec<(Instant, Connection)>>,
    max_idle: Duration,
    permits: Semaphore,
    /// The server's `max_allowed_packet`, in bytes.
    max_packet: AtomicU64,
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection {
    driver: MySqlConnection,
    pub(crate) engine: Engine,
    host: usize,
    connected_at: Instant,
    /// How long it took to connect.
    connect_time: Duration,
}

/// A connection in use. Dropping it closes the connection; `release` returns it to the pool.
#[derive(Debug)]
pub(crate) struct PooledConnection<'a> {
    pub(crate) connection: Connection,
    pool: &'a ConnectionPool,
    _permit: SemaphorePermit<'a>,
}

impl ConnectionPool {
    pub(crate) fn new(address: DatabaseAddress, limits: &Limits) -> ConnectionPool {
        ConnectionPool {
            address,
            password: AsyncMutex::default(),
            preferred_host: AtomicUsize::new(0),
            idle: Mutex::default(),
            max_idle: limits.max_idle,
            permits: Semaphore::new(limits.max_connections.max(1)),
            max_packet: AtomicU64::new(0),
        }
    }

    pub(crate) fn address(&self) -> &DatabaseAddress {
        &self.address
    }

    /// Returns an idle connection, or a new one made within `connect_timeout`.
    pub(crate) async fn acquire(
        &self,
        connect_timeout: Duration,
    ) -> Result<PooledConnection<'_>, AttemptError> {
        let waiting = tokio::time::timeout(connect_timeout * 4, self.permits.acquire());
        let room = waiting.await.map_err(|_| AttemptError::Timeout(connect_timeout * 4))?;
        let _room = room.map_err(|_| AttemptError::Sql(sqlx::Error::PoolClosed))?;
        let connection = match self.take_idle() {
            Some(connection) => connection,
            None => self.connect(connect_timeout).await?,
        };
        Ok(PooledConnection { connection, pool: self, _permit: _room })
    }

    async fn connect(&self, connect_timeout: Duration) -> Result<Connection, AttemptError> {
        let is_old = self.password.lock().await.is_some();
        match self.connect_to_any(connect_timeout).await {
            Err(AttemptError::Sql(error)) if is_access_denied(&error) => {
                *self.password.lock().await = None;
                // Passwords change, and some are valid only for minutes.
                if !is_old {
                    return Err(error.into());
                }
                self.connect_to_any(connect_timeout).await
            }
            connected => connected,
        }
    }

    /// Connects to the first host, in order, that is reachable and writable. While the next host is tried, a silent one can
    /// still respond. A read-only host is used only if there is no other.
    async fn connect_to_any(&self, connect_timeout: Duration) -> Result<Connection, AttemptError> {
        let hosts = self.address.connect_options(&self.password).await?;
        let first = self.preferred_host.load(Ordering::Relaxed);
        let mut left = (0..hosts.len()).map(|at| (first + at) % hosts.len());
        let mut running = FuturesUnordered::new();
        let (mut read_only, mut failure) = (None, None);
        loop {
            let next = left.next();
            running.extend(next.map(|host| self.connect_to(host, &hosts[host], connect_timeout)));
            if running.is_empty() {
                break;
            }
            let answer = match left.len() {
                0 => running.next().await,
                _ => tokio::time::timeout(PROBE_DELAY, running.next()).await.unwrap_or(None),
            };
            match answer {
                None => {}
                Some(Ok(connection)) if connection.engine.read_only && hosts.len() > 1 => {
                    read_only = read_only.or(Some(connection));
                }
                Some(Ok(connection)) => {
                    let before = self.preferred_host.swap(connection.host, Ordering::Relaxed);
                    if before != connection.host {
                        tracing::info!(from = before, to = connection.host, "using another host of the URL");
                    }
                    tracing::debug!(host = connection.host, took = ?connection.connect_time, "connected");
                    return Ok(connection);
                }
                Some(Err(refused)) if refused.remedy() == Remedy::None => return Err(refused),
                Some(Err(other)) => {
                    tracing::debug!(remedy = ?other.remedy(), "cannot connect");
                    failure = Some(other);
                }
            }
        }
        read_only.ok_or(failure.unwrap_or(AttemptError::Timeout(connect_timeout)))
    }

    /// Connects to this host only.
    pub(crate) async fn connect_to(
        &self,
        host: usize,
        options: &MySqlConnectOptions,
        connect_timeout: Duration,
    ) -> Result<Connection, AttemptError> {
        let connecting = async {
            let started = Instant::now();
            let mut driver = relay::connect(options).await?;
            let engine = Engine::detect(&mut driver).await?;
            if engine.max_packet < MIN_PACKET_BYTES {
                return Err(AttemptError::PacketTooSmall(engine.max_packet as usize));
            }
            for statement in engine.setup_statements() {
                driver.execute(statement).await?;
            }
            self.max_packet.store(engine.max_packet, Ordering::Relaxed);
            let made = Instant::now();
            Ok(Connection { driver, engine, host, connected_at: made, connect_time: made - started })
        };
        tokio::time::timeout(connect_timeout, connecting)
            .await
            .unwrap_or(Err(AttemptError::Timeout(connect_timeout)))
    }

    /// Connects to each host, for callers that inspect all of them.
    pub(crate) async fn connect_to_each(
        &self,
        connect_timeout: Duration,
    ) -> Result<Vec<Result<Connection, AttemptError>>, AttemptError> {
        let hosts = self.address.connect_options(&self.password).await?;
        let connecting =
            hosts.iter().enumerate().map(|(at, options)| self.connect_to(at, options, connect_timeout));
        Ok(futures_util::future::join_all(connecting).await)
    }

    /// Runs `work` over a connection to `host` for as long as that host is alive. A frozen or disconnected server is
    /// detected because it does not respond on a new connection either.
    pub(crate) async fn run_while_alive<T>(
        &self,
        (host, took): (usize, Duration),
        work: impl Future<Output = Result<T, AttemptError>>,
    ) -> Result<T, AttemptError> {
        let probe_timeout = PROBE_DELAY.max(took * 3);
        let done = tokio::select! {
            biased;
            done = pin!(work) => done,
            () = self.wait_until_silent(host, probe_timeout) => Err(AttemptError::Timeout(probe_timeout)),
        };
        if let Err(failure) = &done
            && matches!(failure.remedy(), Remedy::Reconnect | Remedy::OtherHost)
        {
            let next = (host + 1) % self.address.host_count();
            let _ = self.preferred_host.compare_exchange(host, next, Ordering::Relaxed, Ordering::Relaxed);
        }
        done
    }

    async fn wait_until_silent(&self, host: usize, probe_timeout: Duration) {
        let mut pause = probe_timeout;
        loop {
            tokio::time::sleep(pause).await;
            if !self.probe_host(host, probe_timeout).await {
                return;
            }
            pause = (pause * 2).min(MAX_PROBE_DELAY.max(probe_timeout));
        }
    }

    async fn probe_host(&self, host: usize, probe_timeout: Duration) -> bool {
        let Ok(hosts) = self.address.connect_options(&self.password).await else { return true };
        let asking = async {
            match relay::connect(&hosts[host]).await {
                Ok(connection) => drop(connection.close().await),
                Err(AttemptError::Sql(sqlx::Error::Io(_))) => return false,
                // A server that rejects the connection is alive.
                Err(_) => {}
            }
            true
        };
        tokio::time::timeout(probe_timeout, asking).await.unwrap_or(false)
    }

    /// Takes the most recently used connection. If even that one was idle for too long, closes all.
    fn take_idle(&self) -> Option<Connection> {
        let mut idle = self.lock_idle();
        match idle.pop() {
            Some((since, connection)) if since.elapsed() < self.max_idle => Some(connection),
            _ => {
                idle.clear();
                None
            }
        }
    }

    fn lock_idle(&self) -> std::sync::MutexGuard<'_, Vec<(Instant, Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes all idle connections, because another connection broke.
    pub(crate) fn close_idle(&self) {
        self.lock_idle().clear();
    }

    /// How many bytes of lines one statement can send. Longer lines are split into parts of this size.
    pub(crate) fn part_bytes(&self) -> usize {
        // The other half is for the rest of the packet.
        usize::try_from(self.max_packet.load(Ordering::Relaxed) / 2)
            .unwrap_or(MAX_PART_BYTES)
            .min(MAX_PART_BYTES)
    }
}

impl Connection {
    /// Whether the connection was already open at that time. A newer connection may lead to another server, such as a
    /// replica that took over and lacks the latest entries.
    pub(crate) fn was_open_at(&self, time: Instant) -> bool {
        self.connected_at < time
    }

    /// The host, and how long it took to connect to it.
    pub(crate) fn host_and_connect_time(&self) -> (usize, Duration) {
        (self.host, self.connect_time)
    }
}

impl Deref for Connection {
    type Target = MySqlConnection;

    fn deref(&self) -> &MySqlConnection {
        &self.driver
    }
}

impl DerefMut for Connection {
    fn deref_mut(&mut self) -> &mut MySqlConnection {
        &mut self.driver
    }
}

impl PooledConnection<'_> {
    pub(crate) fn release(self) {
        self.pool.lock_idle().push((Instant::now(), self.connection));
    }
}
