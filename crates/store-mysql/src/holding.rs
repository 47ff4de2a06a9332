//! Who has a session open: a row for each process, which runs out by the server's clock unless it is renewed. So a process
//! that was killed is in nobody's way for long. Refuses nothing itself; a deletion asks.

use sqlx::{AssertSqlSafe, MySqlConnection};

use crate::failure::{Failure, is_missing_table};

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

    /// Takes that back, and clears away what others left there that has run out.
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

    /// Whether another process has the session open.
    pub(crate) async fn is_open_elsewhere(
        self,
        connection: &mut MySqlConnection,
        id: &str,
    ) -> Result<bool, Failure> {
        let asked = sqlx::query(
            "SELECT 1 FROM osier_watches WHERE session = ? AND holder <> ? AND expires >= UNIX_TIMESTAMP() LIMIT 1",
        );
        match asked.bind(id).bind(self.0).fetch_optional(connection).await {
            // Nobody may or could make the table yet, so nobody can say that he has anything open.
            Err(error) if is_missing_table(&error) => Ok(false),
            found => Ok(found?.is_some()),
        }
    }
}

/// Clears away all that is said of a session that is gone.
pub(crate) async fn forget(connection: &mut MySqlConnection, id: &str) -> Result<(), Failure> {
    let query = sqlx::query("DELETE FROM osier_watches WHERE session = ?").bind(id);
    match query.execute(connection).await {
        Err(error) if is_missing_table(&error) => Ok(()),
        done => Ok(done.map(drop)?),
    }
}

/// As many as a power of two, so that few statements are prepared.
pub(crate) fn padded(ids: &[String]) -> impl Iterator<Item = &String> {
    ids.iter().cycle().take(ids.len().next_power_of_two())
}
