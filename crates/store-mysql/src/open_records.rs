//! Records which processes have a session open: one row per process, which expires by the server's clock unless it is
//! renewed. So a killed process does not block a deletion for long. This module only keeps the records; deletions check them.
//!
//! A process that appends to a session it has open marks the session's own row. From then on, the row may lag behind the log,
//! until the last process that has the session open updates it.

use osier_store::LogVersion;
use osier_tree::Header;
use osier_tree::projection::card::Card;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use crate::attempt_error::AttemptError;
use crate::cached_log::CachedLog;
use crate::leases;
use crate::locks;
use crate::log_reader::LogReader;
use crate::rows::{self, SessionRow, open_mark};
use crate::transaction;

const OTHER_HOLDER_QUERY: &str =
    "SELECT 1 FROM osier_watches WHERE session = ? AND holder <> ? AND expires >= UNIX_TIMESTAMP() LIMIT 1";

/// The statements of [`Holder::is_open_elsewhere`], for transactions.
pub(crate) const OPEN_ELSEWHERE_QUERIES: [&str; 2] = [leases::LEASES_QUERY, OTHER_HOLDER_QUERY];

const ROW_LOCK_QUERY: &str = "SELECT 1 FROM osier_sessions WHERE id = ? FOR UPDATE";

const ANY_HOLDER_QUERY: &str = "SELECT 1 FROM osier_watches WHERE session = ? LIMIT 1";

/// Identifies a process in the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder(pub(crate) u64);

impl Holder {
    /// Opens a session: records that this process has it open for the next `seconds`, and returns its version. `None` if the
    /// session does not exist. A deletion at the same time either sees the record or was first; see `locks.rs`.
    pub(crate) async fn open(
        self,
        connection: &mut MySqlConnection,
        id: &str,
        seconds: u64,
    ) -> Result<Option<LogVersion>, AttemptError> {
        transaction::start(connection, &[rows::VERSION_QUERY]).await?;
        locks::lock_use(connection, id).await?;
        let version = rows::query_version(connection, id).await?;
        if version.is_some() {
            self.record_open(connection, &[id.to_owned()], seconds).await?;
        }
        connection.execute(if version.is_some() { "COMMIT" } else { "ROLLBACK" }).await?;
        Ok(version)
    }

    /// Records that this process has the sessions open, for the next `seconds`. Only for sessions that it has opened.
    pub(crate) async fn record_open(
        self,
        connection: &mut MySqlConnection,
        ids: &[String],
        seconds: u64,
    ) -> Result<(), AttemptError> {
        let rows =
            pad_to_power_of_two(ids).map(|_| "(?, ?, UNIX_TIMESTAMP() + ?)").collect::<Vec<_>>().join(",");
        let sql = format!(
            "INSERT INTO osier_watches (session, holder, expires) VALUES {rows}
             ON DUPLICATE KEY UPDATE expires = UNIX_TIMESTAMP() + ?"
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for id in pad_to_power_of_two(ids) {
            query = query.bind(id).bind(self.0).bind(seconds);
        }
        query.bind(seconds).execute(connection).await?;
        Ok(())
    }

    /// Deletes these records, and expired ones of other processes. Does not update the sessions' rows.
    pub(crate) async fn record_closed(
        self,
        connection: &mut MySqlConnection,
        ids: &[String],
    ) -> Result<(), AttemptError> {
        let marks = pad_to_power_of_two(ids).map(|_| "?").collect::<Vec<_>>().join(",");
        let sql = format!(
            "DELETE FROM osier_watches WHERE session IN ({marks}) AND (holder = ? OR expires < UNIX_TIMESTAMP())"
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for id in pad_to_power_of_two(ids) {
            query = query.bind(id);
        }
        query.bind(self.0).execute(connection).await?;
        Ok(())
    }

    /// Whether another process has the session open, or any process runs a turn in it.
    pub(crate) async fn is_open_elsewhere(
        self,
        connection: &mut MySqlConnection,
        id: &str,
    ) -> Result<bool, AttemptError> {
        if !leases::read_leases(connection, id).await?.is_empty() {
            return Ok(true);
        }
        let query = sqlx::query(OTHER_HOLDER_QUERY);
        Ok(query.bind(id).bind(self.0).fetch_optional(connection).await?.is_some())
    }
}

/// Updates the row of a session that no process has open any more. A process records that the session is open before it marks
/// the row, so it is either seen here or marks the row later.
pub(crate) async fn update_session_row(
    connection: &mut MySqlConnection,
    id: &str,
    store: &str,
) -> Result<(), AttemptError> {
    let Some(row) = write_card(connection, id, |row| row.card(id, store)).await? else { return Ok(()) };
    // Another version of Osier wrote the card. If the log grows in the meantime, a later call updates the row.
    let log = LogReader { store, session: id, generation: row.version.generation };
    let header = row.header().unwrap_or_else(|| Header::new(id, 0, ""));
    let all = CachedLog::fold_all_lines(connection, log, row.version.entries, &header).await?;
    let card = |now: &SessionRow| (now.version == row.version).then(|| all.card.card().clone());
    write_card(connection, id, card).await.map(drop)
}

/// Writes a card to the row of a session that no process has open. Returns the row if there is no card for it.
async fn write_card(
    connection: &mut MySqlConnection,
    id: &str,
    card: impl FnOnce(&SessionRow) -> Option<Card>,
) -> Result<Option<SessionRow>, AttemptError> {
    transaction::start(connection, &[ROW_LOCK_QUERY, ANY_HOLDER_QUERY, rows::ROW_QUERY]).await?;
    sqlx::query(ROW_LOCK_QUERY).bind(id).fetch_optional(&mut *connection).await?;
    let holder = sqlx::query(ANY_HOLDER_QUERY).bind(id).fetch_optional(&mut *connection).await?;
    let mut row = match holder {
        Some(_) => None,
        None => SessionRow::read(connection, id).await?,
    };
    if let Some(now) = &row
        && let Some(card) = card(now)
    {
        now.write_card(connection, id, &card).await?;
        row = None;
    }
    connection.execute("COMMIT").await?;
    Ok(row)
}

/// Deletes the expired records of killed processes.
pub(crate) async fn delete_expired(connection: &mut MySqlConnection, id: &str) -> Result<(), AttemptError> {
    let query = sqlx::query("DELETE FROM osier_watches WHERE session = ? AND expires < UNIX_TIMESTAMP()");
    query.bind(id).execute(connection).await?;
    Ok(())
}

/// Some sessions that are marked as open, but that no living process has open.
pub(crate) async fn find_abandoned(connection: &mut MySqlConnection) -> Result<Vec<String>, AttemptError> {
    let query = sqlx::query(concat!(
        "SELECT s.id FROM osier_sessions s FORCE INDEX (used_last) WHERE s.minus_modified = ",
        open_mark!(),
        " AND NOT EXISTS (SELECT 1 FROM osier_watches w WHERE w.session = s.id AND w.expires >= UNIX_TIMESTAMP())
         LIMIT 10"
    ));
    let rows = query.fetch_all(connection).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Deletes the records, locks, and leases of a session that no longer exists.
pub(crate) async fn delete_all(connection: &mut MySqlConnection, id: &str) -> Result<(), AttemptError> {
    sqlx::query("DELETE FROM osier_watches WHERE session = ?").bind(id).execute(&mut *connection).await?;
    locks::delete_locks(connection, id).await?;
    leases::delete_leases(connection, id).await
}

/// Repeats ids up to a power of two, so that there are few distinct prepared statements.
pub(crate) fn pad_to_power_of_two(ids: &[String]) -> impl Iterator<Item = &String> {
    ids.iter().cycle().take(ids.len().next_power_of_two())
}
