//! A few connections that are used again. One comes back only after a call that ended well, so what is lent has no
//! transaction open and no answer pending.

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use secrecy::SecretString;
use sqlx::mysql::MySqlConnectOptions;
use sqlx::{Executor, MySqlConnection, Row};
use tokio::sync::{Mutex as Turn, Semaphore, SemaphorePermit};

use crate::failure::{Failure, is_denied};
use crate::relay;
use crate::settings::{Address, Limits};

/// What the store expects of a session with the server. Each statement counts by itself unless a transaction is begun. Strict, so that nothing is cut off silently; and without locks on
/// gaps, so that writers of one session do not get into each other's way.
const SETUP: [&str; 2] = [
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = 5,
     autocommit = 1
     /*M!100600 , optimizer_switch = 'subquery_cache=off' */",
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
];

/// A server that takes less at once cannot keep a session.
const LEAST_PACKET: u64 = 64 << 10;

/// The most that is sent at once. Rows of TiDB may have 6 MiB, and packets of most servers 16.
const MOST: usize = 4 << 20;

/// See the module.
#[derive(Debug)]
pub(crate) struct Connections {
    address: Address,
    /// As it was last asked for.
    password: Turn<Option<SecretString>>,
    /// With the time at which each was given back, in that order.
    idle: Mutex<Vec<(Instant, Connection)>>,
    trusted: Duration,
    room: Semaphore,
    /// How many bytes the server takes at once.
    packet: AtomicU64,
}

/// A connection to the server.
#[derive(Debug)]
pub(crate) struct Connection {
    driver: MySqlConnection,
    made: Instant,
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
            idle: Mutex::default(),
            trusted: limits.idle,
            room: Semaphore::new(limits.connections.max(1)),
            packet: AtomicU64::new(0),
        }
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
        let options = self.address.options(&self.password).await?;
        match self.connect_with(&options, reach).await {
            Err(Failure::Sql(error)) if is_denied(&error) => {
                *self.password.lock().await = None;
                // Passwords change, and some live for minutes only.
                if !is_old {
                    return Err(error.into());
                }
                let options = self.address.options(&self.password).await?;
                self.connect_with(&options, reach).await
            }
            connected => connected,
        }
    }

    async fn connect_with(
        &self,
        options: &MySqlConnectOptions,
        reach: Duration,
    ) -> Result<Connection, Failure> {
        let connecting = async {
            let mut connection = relay::connect(options).await?;
            for statement in SETUP {
                connection.execute(statement).await?;
            }
            let driver = self.measured(connection).await?;
            Ok(Connection { driver, made: Instant::now() })
        };
        tokio::time::timeout(reach, connecting).await.unwrap_or(Err(Failure::Silent(reach)))
    }

    async fn measured(&self, mut connection: MySqlConnection) -> Result<MySqlConnection, Failure> {
        let row = connection.fetch_one("SELECT CAST(@@max_allowed_packet AS UNSIGNED)").await?;
        let packet: u64 = row.try_get(0)?;
        if packet < LEAST_PACKET {
            return Err(Failure::Narrow(packet as usize));
        }
        self.packet.store(packet, Ordering::Relaxed);
        Ok(connection)
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
