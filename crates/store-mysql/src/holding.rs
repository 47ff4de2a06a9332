//! Who has a session open: a row for each process, which runs out by the server's clock unless it is renewed. So a process
//! that was killed is in nobody's way for long. Refuses nothing itself; a deletion asks.
//!
//! Whoever appends to a session that it has open marks the session's own row, which may be behind from then on, until the
//! last one who has it open brings the row up to date.

use osier_tree::Header;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use crate::failure::Failure;
use crate::known::Known;
use crate::leases;
use crate::locks;
use crate::reading::Log;
use crate::rows::{SessionRow, open_mark};

/// A process, as the rows call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Holder(pub(crate) u64);

impl Holder {
    /// Tells others that this process has the sessions open, for some seconds from now on.
    pub(crate) async fn hold(
        self,
        connection: &mut MySqlConnection,
        ids: &[String],
        seconds: u64,
    ) -> Result<(), Failure> {
        let rows = padded(ids).map(|_| "(?, ?, UNIX_TIMESTAMP() + ?)").collect::<Vec<_>>().join(",");
        let sql = format!(
            "INSERT INTO osier_watches (session, holder, expires) VALUES {rows}
             ON DUPLICATE KEY UPDATE expires = UNIX_TIMESTAMP() + ?"
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for id in padded(ids) {
            query = query.bind(id).bind(self.0).bind(seconds);
        }
        query.bind(seconds).execute(connection).await?;
        Ok(())
    }

    /// Takes that back, and clears away what others left there that has run out. The sessions' rows are still to be settled.
    pub(crate) async fn release(
        self,
        connection: &mut MySqlConnection,
        ids: &[String],
    ) -> Result<(), Failure> {
        let marks = padded(ids).map(|_| "?").collect::<Vec<_>>().join(",");
        let sql = format!(
            "DELETE FROM osier_watches WHERE session IN ({marks}) AND (holder = ? OR expires < UNIX_TIMESTAMP())"
        );
        let mut query = sqlx::query(AssertSqlSafe(sql));
        for id in padded(ids) {
            query = query.bind(id);
        }
        query.bind(self.0).execute(connection).await?;
        Ok(())
    }

    /// Whether another process has the session open, or any runs a turn in it.
    pub(crate) async fn is_open_elsewhere(
        self,
        connection: &mut MySqlConnection,
        id: &str,
    ) -> Result<bool, Failure> {
        if !leases::read(connection, id).await?.is_empty() {
            return Ok(true);
        }
        let asked = sqlx::query(
            "SELECT 1 FROM osier_watches WHERE session = ? AND holder <> ? AND expires >= UNIX_TIMESTAMP() LIMIT 1",
        );
        Ok(asked.bind(id).bind(self.0).fetch_optional(connection).await?.is_some())
    }
}

/// Brings the row of a session up to date that nobody has open any more. Whoever marks the row has said before that he has
/// the session open, so he either is seen here or comes after this.
pub(crate) async fn settle(connection: &mut MySqlConnection, id: &str, store: &str) -> Result<(), Failure> {
    connection.execute("START TRANSACTION").await?;
    let lock = sqlx::query("SELECT 1 FROM osier_sessions WHERE id = ? FOR UPDATE").bind(id);
    lock.fetch_optional(&mut *connection).await?;
    let asked = sqlx::query("SELECT 1 FROM osier_watches WHERE session = ? LIMIT 1").bind(id);
    if asked.fetch_optional(&mut *connection).await?.is_none()
        && let Some(row) = SessionRow::read(connection, id).await?
    {
        let card = match row.card(id, store) {
            Some(card) => card,
            None => {
                let log = Log { store, session: id, generation: row.version.generation };
                let header = row.header().unwrap_or_else(|| Header::new(id, 0, ""));
                match Known::from_lines(connection, log, row.version.entries, &header).await {
                    Ok(all) => all.card.card().clone(),
                    Err(failure) => {
                        connection.execute("ROLLBACK").await?;
                        return Err(failure);
                    }
                }
            }
        };
        row.settle(connection, id, &card).await?;
    }
    connection.execute("COMMIT").await?;
    Ok(())
}

/// Clears away what killed processes left there, and has run out.
pub(crate) async fn release_dead(connection: &mut MySqlConnection, id: &str) -> Result<(), Failure> {
    let query = sqlx::query("DELETE FROM osier_watches WHERE session = ? AND expires < UNIX_TIMESTAMP()");
    query.bind(id).execute(connection).await?;
    Ok(())
}

/// Some sessions that are marked, and open by nobody who still lives.
pub(crate) async fn abandoned(connection: &mut MySqlConnection) -> Result<Vec<String>, Failure> {
    let asked = sqlx::query(concat!(
        "SELECT s.id FROM osier_sessions s FORCE INDEX (used_last) WHERE s.minus_modified = ",
        open_mark!(),
        " AND NOT EXISTS (SELECT 1 FROM osier_watches w WHERE w.session = s.id AND w.expires >= UNIX_TIMESTAMP())
         LIMIT 10"
    ));
    let rows = asked.fetch_all(connection).await?;
    Ok(rows.iter().map(|row| row.try_get(0)).collect::<Result<_, _>>()?)
}

/// Clears away all that is said of a session that is gone.
pub(crate) async fn forget(connection: &mut MySqlConnection, id: &str) -> Result<(), Failure> {
    sqlx::query("DELETE FROM osier_watches WHERE session = ?").bind(id).execute(&mut *connection).await?;
    locks::forget(connection, id).await?;
    leases::forget(connection, id).await
}

/// As many as a power of two, so that few statements are prepared.
pub(crate) fn padded(ids: &[String]) -> impl Iterator<Item = &String> {
    ids.iter().cycle().take(ids.len().next_power_of_two())
}
