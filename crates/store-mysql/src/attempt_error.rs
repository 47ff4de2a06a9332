//! Maps driver errors to what to do about them: retry, reconnect, or report. The messages never contain an address or a
//! password.

use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

use osier_store::StoreError;
use sqlx::mysql::MySqlDatabaseError;

/// Why an attempt failed.
#[derive(Debug)]
pub(crate) enum AttemptError {
    Sql(sqlx::Error),
    /// No response within this time.
    Timeout(Duration),
    /// The server's `max_allowed_packet` is only this many bytes.
    PacketTooSmall(usize),
    /// The password source failed with this hint.
    MissingPassword(String),
    /// The server requests the password in clear text over an unverified connection.
    CleartextPassword,
    /// The server lacks acknowledged entries of this session. Another server may have them, or this one may get them later.
    Shrunk(String),
    /// An error of the operation itself. The connection is still usable.
    Store(StoreError),
}

impl From<sqlx::Error> for AttemptError {
    fn from(error: sqlx::Error) -> AttemptError {
        AttemptError::Sql(error)
    }
}

impl From<StoreError> for AttemptError {
    fn from(error: StoreError) -> AttemptError {
        AttemptError::Store(error)
    }
}

/// What to do about a failed attempt.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Remedy {
    /// Another transaction interfered: retry.
    Retry,
    /// The connection broke or could not be made: reconnect and retry.
    Reconnect,
    /// The server is read-only: retry, also on the other hosts of the URL, because a primary may take over.
    OtherHost,
    /// Retrying does not help; the user must change something.
    None,
}

const TRY_LATER: &str = "stored entries are safe; try again when the server is back";

const RAISE_PACKET_LIMIT: &str = "set max_allowed_packet to 16M on the server";

const DISK_FULL_ERRORS: &[u16] = &[1021, 1114, 1030, 3];

const NOT_READY: &str = "the cluster node is not ready";

const BLOCKED: &str = "blocked by other transactions";

/// Error numbers of MySQL, MariaDB, Galera, Group Replication, TiDB, and Vitess, with remedy, message, and advice.
const KNOWN_ERRORS: &[(&[u16], Remedy, &str, &str)] = &[
    (
        // 1180, 3101, 8005: the cluster rolled the transaction back at commit. 1062 gets here only from a COMMIT: statements
        // that expect a duplicate key handle it themselves. 1615, 1243, 1412: tables or prepared statements just changed.
        &[1213, 1020, 1062, 1180, 3101, 8002, 8005, 8022, 8028, 9007, 1615, 1243, 1412],
        Remedy::Retry,
        BLOCKED,
        "try again; if this persists, look for a transaction that never ends",
    ),
    (
        // Galera also uses this number for a read that waits for the cluster.
        &[1205],
        Remedy::Retry,
        "its cluster is adding or losing a node, or other transactions block it",
        "try again in a few seconds; if this persists, check the nodes of the cluster, and look for a transaction that never ends",
    ),
    (&[1053, 1077, 1079, 1927, 1317, 4031], Remedy::Reconnect, "the server closed the connection", TRY_LATER),
    (
        // 3100, 3796 to 3799: Group Replication is changing its members. 9001 to 9005: TiDB cannot reach its storage.
        &[1047, 3100, 3796, 3797, 3798, 3799, 9001, 9002, 9003, 9004, 9005],
        Remedy::Reconnect,
        NOT_READY,
        TRY_LATER,
    ),
    (&[1158, 1159, 1160, 1161, 1152, 1184], Remedy::Reconnect, "the connection was lost", TRY_LATER),
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
        Remedy::OtherHost,
        "the server is read-only",
        "make the server writable, or use the primary server in the store's URL",
    ),
    (&[1153, 1162, 1301], Remedy::None, "max_allowed_packet is too small", RAISE_PACKET_LIMIT),
    (
        DISK_FULL_ERRORS,
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

impl AttemptError {
    pub(crate) fn remedy(&self) -> Remedy {
        match self {
            AttemptError::Sql(error) => match known_error(error) {
                Some((_, remedy, ..)) => *remedy,
                None if is_connection_error(error) || is_temporary(error) => Remedy::Reconnect,
                None => Remedy::None,
            },
            AttemptError::Timeout(_) | AttemptError::Shrunk(_) => Remedy::Reconnect,
            AttemptError::PacketTooSmall(_)
            | AttemptError::MissingPassword(_)
            | AttemptError::CleartextPassword
            | AttemptError::Store(_) => Remedy::None,
        }
    }

    /// The error that the store named `store` returns to its caller.
    pub(crate) fn into_store_error(self, store: &str) -> StoreError {
        let store = store.to_owned();
        let remedy = self.remedy();
        let error = match self {
            AttemptError::Store(error) => return error,
            AttemptError::Shrunk(id) => {
                return StoreError::Shrunk { path: format!("session {id} in store {store}").into() };
            }
            AttemptError::Timeout(after) => {
                let reason = format!("no answer within {} s", after.as_secs_f32());
                return StoreError::Unavailable {
                    store,
                    reason,
                    advice: TRY_LATER,
                    source: "timed out".into(),
                };
            }
            AttemptError::MissingPassword(hint) => {
                let reason = format!("the password is missing: {hint}");
                let advice = "then try again; nothing was sent to the server";
                return StoreError::Refused { store, reason, advice, source: "no password".into() };
            }
            AttemptError::CleartextPassword => {
                let reason =
                    "the server requests the password in clear text over an unverified connection".to_owned();
                let advice =
                    "set ssl-mode=VERIFY_IDENTITY (and ssl-ca for a private CA) or socket in the store's URL";
                return StoreError::Refused {
                    store,
                    reason,
                    advice,
                    source: "the password was not sent".into(),
                };
            }
            AttemptError::PacketTooSmall(bytes) => {
                let reason = format!("max_allowed_packet is only {bytes} bytes");
                return StoreError::Refused {
                    store,
                    reason,
                    advice: RAISE_PACKET_LIMIT,
                    source: "max_allowed_packet".into(),
                };
            }
            AttemptError::Sql(error) => error,
        };
        let (reason, advice) = match known_error(&error) {
            Some((_, _, reason, advice)) => ((*reason).to_owned(), *advice),
            None => describe_unknown(&error),
        };
        match remedy {
            Remedy::None | Remedy::OtherHost => {
                StoreError::Refused { store, reason, advice, source: error_source(error) }
            }
            _ => StoreError::Unavailable { store, reason, advice, source: error_source(error) },
        }
    }
}

/// The server's error number.
pub(crate) fn error_number(error: &sqlx::Error) -> Option<u16> {
    let sqlx::Error::Database(error) = error else { return None };
    error.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}

/// The server rejected the user or the password.
pub(crate) fn is_access_denied(error: &sqlx::Error) -> bool {
    matches!(error_number(error), Some(1045 | 1698 | 3118))
}

pub(crate) fn is_disk_full(error: &sqlx::Error) -> bool {
    error_number(error).is_some_and(|number| DISK_FULL_ERRORS.contains(&number))
}

/// The table does not exist: the database is empty, or an older version of Osier created the tables.
pub(crate) fn is_missing_table(error: &sqlx::Error) -> bool {
    error_number(error) == Some(1146)
}

pub(crate) fn is_duplicate_key(error: &sqlx::Error) -> bool {
    error.as_database_error().is_some_and(sqlx::error::DatabaseError::is_unique_violation)
}

fn known_error(error: &sqlx::Error) -> Option<&'static (&'static [u16], Remedy, &'static str, &'static str)> {
    let number = error_number(error)?;
    KNOWN_ERRORS.iter().find(|(numbers, ..)| numbers.contains(&number))
}

/// Vitess and TiDB use one number for many errors, and say only in the message that this one is temporary.
fn is_temporary(error: &sqlx::Error) -> bool {
    let later = |error: &dyn sqlx::error::DatabaseError| error.message().contains("try again later");
    error_number(error) == Some(1105) && error.as_database_error().is_some_and(later)
}

fn is_connection_error(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed)
        && !is_tls_error(error)
}

/// The TLS handshake failed.
fn is_tls_error(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Tls(_) => true,
        sqlx::Error::Io(error) => error.kind() == ErrorKind::InvalidData,
        _ => false,
    }
}

/// The error of the server or the operating system, without the driver's wrapper.
fn error_source(error: sqlx::Error) -> Box<dyn Error + Send + Sync> {
    match error {
        sqlx::Error::Database(error) => error.into_error(),
        sqlx::Error::Io(error) => error.into(),
        other => other.into(),
    }
}

fn describe_unknown(error: &sqlx::Error) -> (String, &'static str) {
    match error {
        error if is_tls_error(error) => (
            "the encrypted connection failed".to_owned(),
            "check ssl-mode and ssl-ca in the store's URL and the server's certificate",
        ),
        // A failed name lookup has no `ErrorKind`.
        sqlx::Error::Io(error) if error.to_string().starts_with("failed to lookup address") => {
            ("host not found".to_owned(), "check the host in the store's URL and the network")
        }
        sqlx::Error::Io(error) => (error.kind().to_string(), TRY_LATER),
        error if is_temporary(error) => (NOT_READY.to_owned(), TRY_LATER),
        sqlx::Error::Configuration(_) => {
            ("the URL is invalid".to_owned(), "write it as mysql://USER@HOST:PORT/DATABASE")
        }
        sqlx::Error::Protocol(_) => (
            "unexpected response from the server".to_owned(),
            "see the cause, and check the host and port in the store's URL",
        ),
        other => match error_number(other) {
            Some(number) => (format!("server error {number}"), "see the server's log"),
            None => ("the database driver failed".to_owned(), "see the cause"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::AttemptError;

    #[test]
    fn unknown_host_is_reported() {
        let error = std::io::Error::other("failed to lookup address information: Name or service not known");
        let message = AttemptError::Sql(sqlx::Error::Io(error)).into_store_error("team").to_string();
        assert!(message.contains("host not found; check the host in the store's URL"), "{message}");
    }
}
