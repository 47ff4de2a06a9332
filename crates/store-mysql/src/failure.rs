//! Maps driver errors to what to do about them: retry, reconnect, or report. The messages never contain an address or a
//! password.

use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

use osier_store::StoreError;
use sqlx::mysql::MySqlDatabaseError;

/// Why an attempt failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Sql(sqlx::Error),
    /// No response within this time.
    Silent(Duration),
    /// The server's `max_allowed_packet` is only this many bytes.
    Narrow(usize),
    /// The password source failed with this hint.
    NoPassword(String),
    /// The server requests the password in clear text over an unverified connection.
    ClearPassword,
    /// The server lacks acknowledged entries of this session. Another server may have them, or this one may get them later.
    Shrunk(String),
    /// An error of the operation itself. The connection is still usable.
    Store(StoreError),
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Failure {
        Failure::Sql(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Failure {
        Failure::Store(error)
    }
}

/// What to do about a failed attempt.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Remedy {
    /// Another transaction interfered: retry.
    Again,
    /// The connection broke or could not be made: reconnect and retry.
    Reconnect,
    /// The server is read-only: retry, also on the other hosts of the URL, because a primary may take over.
    Elsewhere,
    /// Retrying does not help; the user must change something.
    None,
}

const LATER: &str = "stored entries are safe; try again when the server is back";

const WIDER: &str = "set max_allowed_packet to 16M on the server";

const FULL: &[u16] = &[1021, 1114, 1030, 3];

const NOT_READY: &str = "the cluster node is not ready";

const BUSY: &str = "blocked by other transactions";

/// Error numbers of MySQL, MariaDB, Galera, Group Replication, TiDB, and Vitess, with remedy, message, and advice.
const KNOWN: &[(&[u16], Remedy, &str, &str)] = &[
    (
        // 1180, 3101, 8005: the cluster rolled the transaction back at commit. 1062 gets here only from a COMMIT: statements
        // that expect a duplicate key handle it themselves. 1615, 1243, 1412: tables or prepared statements just changed.
        &[1213, 1020, 1062, 1180, 3101, 8002, 8005, 8022, 8028, 9007, 1615, 1243, 1412],
        Remedy::Again,
        BUSY,
        "try again; if this persists, look for a transaction that never ends",
    ),
    (
        &[1205],
        Remedy::Again,
        BUSY,
        "try again; a cluster that is adding or losing a node needs a few seconds; if this persists, look for a transaction that never ends",
    ),
    (&[1053, 1077, 1079, 1927, 1317, 4031], Remedy::Reconnect, "the server closed the connection", LATER),
    (
        // 3100, 3796 to 3799: Group Replication is changing its members. 9001 to 9005: TiDB cannot reach its storage.
        &[1047, 3100, 3796, 3797, 3798, 3799, 9001, 9002, 9003, 9004, 9005],
        Remedy::Reconnect,
        NOT_READY,
        LATER,
    ),
    (&[1158, 1159, 1160, 1161, 1152, 1184], Remedy::Reconnect, "the connection was lost", LATER),
    (
        &[1040, 1203, 1226],
        Remedy::Reconnect,
        "the server has too many connections",
        "close some, or raise max_connections on the server",
    ),
    (
        &[1045, 1044, 1698, 1130, 1227, 3118, 1862, 1820],
        Remedy::None,
        "access denied for this user",
        "check the user, password, database, and ssl-mode in the store's URL",
    ),
    (
        &[1142, 1143],
        Remedy::None,
        "this user lacks privileges",
        "grant SELECT, INSERT, UPDATE, DELETE, CREATE, and ALTER on the database",
    ),
    (
        &[1290, 1792, 1836],
        Remedy::Elsewhere,
        "the server is read-only",
        "make the server writable, or use the primary server in the store's URL",
    ),
    (&[1153, 1162, 1301], Remedy::None, "max_allowed_packet is too small", WIDER),
    (
        FULL,
        Remedy::None,
        "the server's disk is full",
        "delete sessions or free space on the server; nothing was written",
    ),
    (&[1049], Remedy::None, "the database does not exist", "create it: CREATE DATABASE name"),
    (&[1046], Remedy::None, "no database selected", "add /DATABASE to the store's URL"),
    (
        &[1665],
        Remedy::None,
        "the server logs statements instead of rows",
        "set binlog_format to ROW on the server",
    ),
];

impl Failure {
    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            Failure::Sql(error) => match known(error) {
                Some((_, remedy, ..)) => *remedy,
                None if is_broken(error) || is_postponed(error) => Remedy::Reconnect,
                None => Remedy::None,
            },
            Failure::Silent(_) | Failure::Shrunk(_) => Remedy::Reconnect,
            Failure::Narrow(_) | Failure::NoPassword(_) | Failure::ClearPassword | Failure::Store(_) => {
                Remedy::None
            }
        }
    }

    /// The error that the store named `store` returns to its caller.
    pub(crate) fn told(self, store: &str) -> StoreError {
        let store = store.to_owned();
        let remedy = self.remedy();
        let error = match self {
            Failure::Store(error) => return error,
            Failure::Shrunk(id) => {
                return StoreError::Shrunk { path: format!("session {id} in store {store}").into() };
            }
            Failure::Silent(after) => {
                let why = format!("no answer within {} s", after.as_secs_f32());
                return StoreError::Unavailable { store, why, advice: LATER, source: "timed out".into() };
            }
            Failure::NoPassword(hint) => {
                let why = format!("the password is missing: {hint}");
                let advice = "then try again; nothing was sent to the server";
                return StoreError::Refused { store, why, advice, source: "no password".into() };
            }
            Failure::ClearPassword => {
                let why =
                    "the server requests the password in clear text over an unverified connection".to_owned();
                let advice =
                    "set ssl-mode=VERIFY_IDENTITY (and ssl-ca for a private CA) or socket in the store's URL";
                return StoreError::Refused {
                    store,
                    why,
                    advice,
                    source: "the password was not sent".into(),
                };
            }
            Failure::Narrow(bytes) => {
                let why = format!("max_allowed_packet is only {bytes} bytes");
                return StoreError::Refused {
                    store,
                    why,
                    advice: WIDER,
                    source: "max_allowed_packet".into(),
                };
            }
            Failure::Sql(error) => error,
        };
        let (why, advice) = match known(&error) {
            Some((_, _, why, advice)) => ((*why).to_owned(), *advice),
            None => unknown(&error),
        };
        match remedy {
            Remedy::None | Remedy::Elsewhere => {
                StoreError::Refused { store, why, advice, source: cause(error) }
            }
            _ => StoreError::Unavailable { store, why, advice, source: cause(error) },
        }
    }
}

/// The server's error number.
pub(crate) fn number(error: &sqlx::Error) -> Option<u16> {
    let sqlx::Error::Database(error) = error else { return None };
    error.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}

/// The server rejected the user or the password.
pub(crate) fn is_denied(error: &sqlx::Error) -> bool {
    matches!(number(error), Some(1045 | 1698 | 3118))
}

pub(crate) fn is_full(error: &sqlx::Error) -> bool {
    number(error).is_some_and(|number| FULL.contains(&number))
}

/// The table does not exist: the database is empty, or an older version of Osier created the tables.
pub(crate) fn is_missing_table(error: &sqlx::Error) -> bool {
    number(error) == Some(1146)
}

pub(crate) fn is_duplicate(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

fn known(error: &sqlx::Error) -> Option<&'static (&'static [u16], Remedy, &'static str, &'static str)> {
    let number = number(error)?;
    KNOWN.iter().find(|(numbers, ..)| numbers.contains(&number))
}

/// Vitess and TiDB use one number for many errors, and say only in the message that this one is temporary.
fn is_postponed(error: &sqlx::Error) -> bool {
    let later = |error: &dyn sqlx::error::DatabaseError| error.message().contains("try again later");
    number(error) == Some(1105) && error.as_database_error().is_some_and(later)
}

fn is_broken(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed)
        && !is_unencrypted(error)
}

/// The TLS handshake failed.
fn is_unencrypted(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Tls(_) => true,
        sqlx::Error::Io(error) => error.kind() == ErrorKind::InvalidData,
        _ => false,
    }
}

/// The error of the server or the operating system, without the driver's wrapper.
fn cause(error: sqlx::Error) -> Box<dyn Error + Send + Sync> {
    match error {
        sqlx::Error::Database(error) => error.into_error(),
        sqlx::Error::Io(error) => error.into(),
        other => other.into(),
    }
}

fn unknown(error: &sqlx::Error) -> (String, &'static str) {
    match error {
        error if is_unencrypted(error) => (
            "the encrypted connection failed".to_owned(),
            "check ssl-mode and ssl-ca in the store's URL and the server's certificate",
        ),
        // A failed name lookup has no `ErrorKind`.
        sqlx::Error::Io(error) if error.to_string().starts_with("failed to lookup address") => {
            ("host not found".to_owned(), "check the host in the store's URL and the network")
        }
        sqlx::Error::Io(error) => (error.kind().to_string(), LATER),
        error if is_postponed(error) => (NOT_READY.to_owned(), LATER),
        sqlx::Error::Configuration(_) => {
            ("the URL is invalid".to_owned(), "write it as mysql://USER@HOST:PORT/DATABASE")
        }
        sqlx::Error::Protocol(_) => (
            "unexpected response from the server".to_owned(),
            "see the cause, and check the host and port in the store's URL",
        ),
        other => match number(other) {
            Some(number) => (format!("server error {number}"), "see the server's log"),
            None => ("the database driver failed".to_owned(), "see the cause"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;

    #[test]
    fn unknown_host_is_reported() {
        let error = std::io::Error::other("failed to lookup address information: Name or service not known");
        let message = Failure::Sql(sqlx::Error::Io(error)).told("team").to_string();
        assert!(message.contains("host not found; check the host in the store's URL"), "{message}");
    }
}
