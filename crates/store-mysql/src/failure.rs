//! What a failed call of the driver means: try again, come back later, or change something. Says so in words, and never
//! repeats an address or a password.

use std::error::Error;
use std::io::ErrorKind;
use std::time::Duration;

use osier_store::StoreError;
use sqlx::mysql::MySqlDatabaseError;

/// Why an attempt failed.
#[derive(Debug)]
pub(crate) enum Failure {
    Sql(sqlx::Error),
    /// No answer in time.
    Silent(Duration),
    /// The server takes no more than so many bytes at once.
    Narrow(usize),
    /// Whoever knows the password does not say it, and why.
    NoPassword(String),
    /// The server wants the password itself over a connection that is not verified.
    ClearPassword,
    /// The server lacks entries of this session that were acknowledged. Another server may have them, or this one later.
    Shrunk(String),
    /// Not the server's fault; the connection is as good as before.
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

/// What can be done about it.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
pub(crate) enum Remedy {
    /// Another transaction was in the way.
    Again,
    /// The connection is gone, or there was none.
    Reconnect,
    /// The server takes no writes; the one that does may take over soon, or be another one of the store's url.
    Elsewhere,
    /// Somebody has to change something.
    None,
}

const LATER: &str = "what was stored is safe; go on when the server is back";

const WIDER: &str = "set max_allowed_packet on the server to 16M";

const FULL: &[u16] = &[1021, 1114, 1030, 3];

const NOT_READY: &str = "this server of a cluster is not ready";

const BUSY: &str = "other transactions were in the way";

/// Error numbers of MySQL, MariaDB, Galera, Group Replication, TiDB and Vitess, with what they mean and what helps.
const KNOWN: &[(&[u16], Remedy, &str, &str)] = &[
    (
        // 1180, 3101, 8005: the cluster rolled the transaction back at its end. 1062 arrives here only from a COMMIT:
        // statements that may find their key taken handle it themselves. 1615, 1243, 1412: tables or prepared statements
        // are not what they were a moment ago.
        &[1213, 1020, 1062, 1180, 3101, 8002, 8005, 8022, 8028, 9007, 1615, 1243, 1412],
        Remedy::Again,
        BUSY,
        "try again; if it stays so, look for a transaction that never ends",
    ),
    (
        &[1205],
        Remedy::Again,
        BUSY,
        "try again; a cluster that is losing or gaining a server needs some seconds; if it stays so, look for a transaction that never ends",
    ),
    (&[1053, 1077, 1079, 1927, 1317, 4031], Remedy::Reconnect, "the server ended the connection", LATER),
    (
        // 3100, 3796 to 3799: Group Replication is changing its members. 9001 to 9005: TiDB lost sight of its storage.
        &[1047, 3100, 3796, 3797, 3798, 3799, 9001, 9002, 9003, 9004, 9005],
        Remedy::Reconnect,
        NOT_READY,
        LATER,
    ),
    (&[1158, 1159, 1160, 1161, 1152, 1184], Remedy::Reconnect, "the connection broke", LATER),
    (
        &[1040, 1203, 1226],
        Remedy::Reconnect,
        "it has too many connections",
        "close some, or raise max_connections on the server",
    ),
    (
        &[1045, 1044, 1698, 1130, 1227, 3118, 1862, 1820],
        Remedy::None,
        "it does not let this user in",
        "check user, password, database and ssl-mode in the store's url",
    ),
    (
        &[1142, 1143],
        Remedy::None,
        "this user may not do that",
        "grant SELECT, INSERT, UPDATE, DELETE, CREATE and ALTER on the database",
    ),
    (
        &[1290, 1792, 1836],
        Remedy::Elsewhere,
        "it is read-only",
        "make the server writable, or name the primary server in the store's url",
    ),
    (&[1153, 1162, 1301], Remedy::None, "its packets are too small", WIDER),
    (
        FULL,
        Remedy::None,
        "its disk is full",
        "delete sessions or make room on the server; nothing was written",
    ),
    (&[1049], Remedy::None, "it has no such database", "create it: CREATE DATABASE name"),
    (&[1046], Remedy::None, "no database is named", "end the store's url in /DATABASE"),
    (&[1665], Remedy::None, "it logs statements, not rows", "set binlog_format on the server to ROW"),
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

    /// The error that the caller of the store named `store` gets.
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
                return StoreError::Unavailable { store, why, advice: LATER, source: "time is up".into() };
            }
            Failure::NoPassword(hint) => {
                let why = format!("its password is missing: {hint}");
                let advice = "then try again; nothing was sent to the server";
                return StoreError::Refused { store, why, advice, source: "no password".into() };
            }
            Failure::ClearPassword => {
                let why = "it asks for the password in clear text over an unverified connection".to_owned();
                let advice = "set ssl-mode=VERIFY_IDENTITY, and ssl-ca for your own authority, or socket in the store's url";
                return StoreError::Refused {
                    store,
                    why,
                    advice,
                    source: "the password was not sent".into(),
                };
            }
            Failure::Narrow(bytes) => {
                let why = format!("it takes no more than {bytes} bytes at once");
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

/// The number by which the server calls an error.
pub(crate) fn number(error: &sqlx::Error) -> Option<u16> {
    let sqlx::Error::Database(error) = error else { return None };
    error.try_downcast_ref::<MySqlDatabaseError>().map(MySqlDatabaseError::number)
}

/// The server does not believe the password.
pub(crate) fn is_denied(error: &sqlx::Error) -> bool {
    matches!(number(error), Some(1045 | 1698 | 3118))
}

pub(crate) fn is_full(error: &sqlx::Error) -> bool {
    number(error).is_some_and(|number| FULL.contains(&number))
}

/// Another version of Osier made the tables, or nobody yet.
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

/// Vitess and TiDB have one number for many things, and say in words that this one passes.
fn is_postponed(error: &sqlx::Error) -> bool {
    let later = |error: &dyn sqlx::error::DatabaseError| error.message().contains("try again later");
    number(error) == Some(1105) && error.as_database_error().is_some_and(later)
}

fn is_broken(error: &sqlx::Error) -> bool {
    matches!(error, sqlx::Error::Io(_) | sqlx::Error::WorkerCrashed | sqlx::Error::PoolClosed)
        && !is_unencrypted(error)
}

/// The two sides could not agree on an encrypted connection.
fn is_unencrypted(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Tls(_) => true,
        sqlx::Error::Io(error) => error.kind() == ErrorKind::InvalidData,
        _ => false,
    }
}

/// What the server or the system said, without the driver's words around it.
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
            "check ssl-mode and ssl-ca in the store's url and the server's certificate",
        ),
        // The system has no kind for this one.
        sqlx::Error::Io(error) if error.to_string().starts_with("failed to lookup address") => {
            ("its host is not found".to_owned(), "check the host in the store's url, and the network")
        }
        sqlx::Error::Io(error) => (error.kind().to_string(), LATER),
        error if is_postponed(error) => (NOT_READY.to_owned(), LATER),
        sqlx::Error::Configuration(_) => {
            ("its url cannot be used".to_owned(), "write it as mysql://USER@HOST:PORT/DATABASE")
        }
        sqlx::Error::Protocol(_) => (
            "unexpected response from the server".to_owned(),
            "see the cause, and check host and port in the store's url",
        ),
        other => match number(other) {
            Some(number) => (format!("error {number}"), "see the server's log"),
            None => ("the driver failed".to_owned(), "see the cause"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;

    #[test]
    fn a_host_that_is_not_found_is_told_as_such() {
        let error = std::io::Error::other("failed to lookup address information: Name or service not known");
        let told = Failure::Sql(sqlx::Error::Io(error)).told("team").to_string();
        assert!(told.contains("its host is not found; check the host in the store's url"), "{told}");
    }
}
