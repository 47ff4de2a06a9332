//! A few connections that are used again. One comes back only after a call that ended well, so what is lent has no
//! transaction open and no answer pending.
//!
//! A store may have several hosts. They are tried in order; the one that answers is used until it fails.

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
use tokio::sync::{Mutex as Turn, Semaphore, SemaphorePermit};

use crate::engine::Engine;
use crate::failure::{Failure, Remedy, is_denied};
use crate::relay;
use crate::settings::{Address, Limits};

/// A server that takes less at once cannot keep a session.
const LEAST_PACKET: u64 = 64 << 10;

/// The most that is sent at once. Rows of TiDB may have 6 MiB, and packets of most servers 16.
const MOST: usize = 4 << 20;

/// After so long without an answer the next host is tried, or a server that is at work is asked whether it still lives.
const SILENCE: Duration = Duration::from_secs(1);

/// The longest pause between two such questions.
const LONGEST_SILENCE: Duration = Duration::from_secs(8);

/// See the module.
#[derive(Debug)]
pub(crate) struct Connections {
    address: Address,
    /// As it was last asked for.
    password: Turn<Option<SecretString>>,
    /// The host to try first.
    preferred: AtomicUsize,
    /// With the time at which each was given back, in that order.
    idle: Mutex<Vec<(Instant, Connection)>>,
    trusted: Duration,
    room: Semaphore,
    /// How many bytes the server takes at once.
    packet: AtomicU64,
}

/// A connection to a server.
#[derive(Debug)]
pub(crate) struct Connection {
    driver: MySqlConnection,
    pub(crate) engine: Engine,
    host: usize,
    made: Instant,
    /// How long it took to make it.
    took: Duration,
}

/// A connection in use. It is closed unless it is given back.
#[derive(Debug)]
pub(crate) struct Lent<'a> {
    pub(crate) connection: Connection,
    all: &'a Connections,
    _room: SemaphorePermit<'a>,
}

impl Connections {
    pub(crate) fn new(address: Address, limits: &Limits) -> Connections {
        Connections {
            address,
            password: Turn::default(),
            preferred: AtomicUsize::new(0),
            idle: Mutex::default(),
            trusted: limits.idle,
            room: Semaphore::new(limits.connections.max(1)),
            packet: AtomicU64::new(0),
        }
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    /// A connection, made within `reach` if none is idle.
    pub(crate) async fn lend(&self, reach: Duration) -> Result<Lent<'_>, Failure> {
        let waiting = tokio::time::timeout(reach * 4, self.room.acquire());
        let room = waiting.await.map_err(|_| Failure::Silent(reach * 4))?;
        let _room = room.map_err(|_| Failure::Sql(sqlx::Error::PoolClosed))?;
        let connection = match self.idle_one() {
            Some(connection) => connection,
            None => self.connect(reach).await?,
        };
        Ok(Lent { connection, all: self, _room })
    }

    async fn connect(&self, reach: Duration) -> Result<Connection, Failure> {
        let is_old = self.password.lock().await.is_some();
        match self.connect_to_any(reach).await {
            Err(Failure::Sql(error)) if is_denied(&error) => {
                *self.password.lock().await = None;
                // Passwords change, and some live for minutes only.
                if !is_old {
                    return Err(error.into());
                }
                self.connect_to_any(reach).await
            }
            connected => connected,
        }
    }

    /// The first host that can be reached and written to, in order. One that is silent is not given up when the next one
    /// is tried. A host that is read-only is taken if there is no other.
    async fn connect_to_any(&self, reach: Duration) -> Result<Connection, Failure> {
        let hosts = self.address.options(&self.password).await?;
        let first = self.preferred.load(Ordering::Relaxed);
        let mut left = (0..hosts.len()).map(|at| (first + at) % hosts.len());
        let mut running = FuturesUnordered::new();
        let (mut read_only, mut failure) = (None, None);
        loop {
            let next = left.next();
            running.extend(next.map(|host| self.connect_to(host, &hosts[host], reach)));
            if running.is_empty() {
                break;
            }
            let answer = match left.len() {
                0 => running.next().await,
                _ => tokio::time::timeout(SILENCE, running.next()).await.unwrap_or(None),
            };
            match answer {
                None => {}
                Some(Ok(connection)) if connection.engine.read_only && hosts.len() > 1 => {
                    read_only = read_only.or(Some(connection));
                }
                Some(Ok(connection)) => {
                    self.preferred.store(connection.host, Ordering::Relaxed);
                    return Ok(connection);
                }
                Some(Err(refused)) if refused.remedy() == Remedy::None => return Err(refused),
                Some(Err(other)) => failure = Some(other),
            }
        }
        read_only.ok_or(failure.unwrap_or(Failure::Silent(reach)))
    }

    /// A connection to one host, and no other.
    pub(crate) async fn connect_to(
        &self,
        host: usize,
        options: &MySqlConnectOptions,
        reach: Duration,
    ) -> Result<Connection, Failure> {
        let connecting = async {
            let begin = Instant::now();
            let mut driver = relay::connect(options).await?;
            let engine = Engine::ask(&mut driver).await?;
            if engine.packet < LEAST_PACKET {
                return Err(Failure::Narrow(engine.packet as usize));
            }
            for statement in engine.setup() {
                driver.execute(statement).await?;
            }
            self.packet.store(engine.packet, Ordering::Relaxed);
            let made = Instant::now();
            Ok(Connection { driver, engine, host, made, took: made - begin })
        };
        tokio::time::timeout(reach, connecting).await.unwrap_or(Err(Failure::Silent(reach)))
    }

    /// Connects to each host, for callers that inspect all of them.
    pub(crate) async fn connect_to_each(
        &self,
        reach: Duration,
    ) -> Result<Vec<Result<Connection, Failure>>, Failure> {
        let hosts = self.address.options(&self.password).await?;
        let connecting = hosts.iter().enumerate().map(|(at, options)| self.connect_to(at, options, reach));
        Ok(futures_util::future::join_all(connecting).await)
    }

    /// Does some work over a connection to `host` for as long as that host lives. A server that is frozen or cut off is
    /// noticed because it does not answer on a new connection either.
    pub(crate) async fn while_alive<T>(
        &self,
        (host, took): (usize, Duration),
        work: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let patience = SILENCE.max(took * 3);
        let done = tokio::select! {
            biased;
            done = pin!(work) => done,
            () = self.until_silent(host, patience) => Err(Failure::Silent(patience)),
        };
        if let Err(failure) = &done
            && matches!(failure.remedy(), Remedy::Reconnect | Remedy::Elsewhere)
        {
            let next = (host + 1) % self.address.host_count();
            let _ = self.preferred.compare_exchange(host, next, Ordering::Relaxed, Ordering::Relaxed);
        }
        done
    }

    async fn until_silent(&self, host: usize, patience: Duration) {
        let mut pause = patience;
        loop {
            tokio::time::sleep(pause).await;
            if !self.answers(host, patience).await {
                return;
            }
            pause = (pause * 2).min(LONGEST_SILENCE.max(patience));
        }
    }

    async fn answers(&self, host: usize, patience: Duration) -> bool {
        let Ok(hosts) = self.address.options(&self.password).await else { return true };
        let asking = async {
            match relay::connect(&hosts[host]).await {
                Ok(connection) => drop(connection.close().await),
                Err(Failure::Sql(sqlx::Error::Io(_))) => return false,
                // Also a refusal is a sign of life.
                Err(_) => {}
            }
            true
        };
        tokio::time::timeout(patience, asking).await.unwrap_or(false)
    }

    /// The connection that was used last, unless that is too long ago for it and hence for all.
    fn idle_one(&self) -> Option<Connection> {
        let mut idle = self.idle();
        match idle.pop() {
            Some((since, connection)) if since.elapsed() < self.trusted => Some(connection),
            _ => {
                idle.clear();
                None
            }
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<(Instant, Connection)>> {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets connections that broke with another one.
    pub(crate) fn forget_idle(&self) {
        self.idle().clear();
    }

    /// How many bytes of lines may be sent at once; longer lines lie in parts of this size.
    pub(crate) fn part(&self) -> usize {
        // The other half is for what stands around them.
        usize::try_from(self.packet.load(Ordering::Relaxed) / 2).unwrap_or(MOST).min(MOST)
    }
}

impl Connection {
    /// Whether it led to the server at that time already. A new connection may lead to another server, such as a replica
    /// that took over and lacks what came last.
    pub(crate) fn was_there(&self, time: Instant) -> bool {
        self.made < time
    }

    /// The host it leads to, and how long it took to reach it.
    pub(crate) fn route(&self) -> (usize, Duration) {
        (self.host, self.took)
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

impl Lent<'_> {
    pub(crate) fn give_back(self) {
        self.all.idle().push((Instant::now(), self.connection));
    }
}
