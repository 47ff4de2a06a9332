//! Deleting. The session's row goes first, and with it everything that others can see; its lines follow in short
//! transactions, and a note says which are left should this process die in between. The places of the lines stay taken for
//! a day, and the one behind the last: so no late writer stores what nobody would find, however far behind it is.
//!
//! On a full disk there is no room for a note, and deleting is what helps: it goes on without. What should be
//! left then goes when the session is deleted again.

use osier_store::{DeletedCounts, StoreError};
use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use crate::failure::{Failure, is_full};
use crate::holding::{self, Holder};
use crate::locks;
use crate::rows;

/// Rows that are deleted at once.
const MOST_ROWS: u32 = 500;

/// The number of concurrent deletions of one session above which it counts as open elsewhere.
const DELETERS: usize = 8;

/// Milliseconds after which nobody is still writing what was announced.
const DAY: i64 = 24 * 60 * 60 * 1000;

/// Removes a session. With an `allowed_holder`, fails if any other process has it open. `found` keeps what it had,
/// should an attempt be repeated that had worked.
pub(crate) async fn remove(
    connection: &mut MySqlConnection,
    id: &str,
    allowed_holder: Option<Holder>,
    found: &mut Option<DeletedCounts>,
) -> Result<(), Failure> {
    for _ in 0..DELETERS {
        let announced = match allowed_holder {
            Some(holder) => announce(connection, id, holder).await?,
            None => None,
        };
        let deleted = match delete_row(connection, id, announced, found, true).await {
            Err(Failure::Sql(error)) if is_full(&error) => {
                connection.execute("ROLLBACK").await?;
                delete_row(connection, id, announced, found, false).await?
            }
            deleted => deleted?,
        };
        if deleted {
            return Ok(());
        }
    }
    Err(StoreError::Busy { id: id.to_owned() }.into())
}

/// A full disk has no room for an announcement either.
async fn announce(
    connection: &mut MySqlConnection,
    id: &str,
    holder: Holder,
) -> Result<Option<u64>, Failure> {
    match locks::announce_removal(connection, id, holder).await {
        Err(Failure::Sql(error)) if is_full(&error) => {
            match holder.is_open_elsewhere(connection, id).await? {
                true => Err(StoreError::Busy { id: id.to_owned() }.into()),
                false => Ok(None),
            }
        }
        announced => announced.map(Some),
    }
}

/// Finishes the deletion of a session, and some that others began.
pub(crate) async fn tidy(connection: &mut MySqlConnection, id: &str) -> Result<(), Failure> {
    for generation in unseen(connection, id).await? {
        end(connection, id, generation).await?;
    }
    let asked =
        sqlx::query("SELECT session, generation, since FROM osier_leftovers WHERE since < ? LIMIT 10");
    for row in asked.bind(crate::making::now() - DAY).fetch_all(&mut *connection).await? {
        let (session, generation, since): (String, u64, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        match since {
            0 => end(connection, &session, generation).await?,
            _ => sweep(connection, &session, generation).await?,
        }
    }
    Ok(())
}

/// From here on nobody sees the session. With a `note` that its lines are still to go. `false` if the announcement is gone:
/// somebody opened the session or deletes it too.
async fn delete_row(
    connection: &mut MySqlConnection,
    id: &str,
    announced: Option<u64>,
    found: &mut Option<DeletedCounts>,
    note: bool,
) -> Result<bool, Failure> {
    connection.execute("START TRANSACTION").await?;
    let asked = sqlx::query("SELECT generation FROM osier_sessions WHERE id = ? FOR UPDATE").bind(id);
    if let Some(row) = asked.fetch_optional(&mut *connection).await? {
        let generation = row.try_get(0)?;
        if let Some(token) = announced
            && !locks::end_removal(connection, id, token).await?
        {
            connection.execute("ROLLBACK").await?;
            return Ok(false);
        }
        let (mut entries, _) = length(connection, id, generation).await?;
        if note {
            while !rows::write_end(connection, id, generation, entries).await? {
                entries += 1;
            }
            for generation in generations(connection, id).await? {
                // What somebody is making has its note already.
                let query = sqlx::query(
                    "INSERT IGNORE INTO osier_leftovers (session, generation, since) VALUES (?, ?, 0)",
                );
                query.bind(id).bind(generation).execute(&mut *connection).await?;
            }
        }
        sqlx::query("DELETE FROM osier_sessions WHERE id = ?").bind(id).execute(&mut *connection).await?;
        holding::forget(connection, id).await?;
        *found = Some(DeletedCounts { sessions: 1, entries });
    } else {
        locks::forget(connection, id).await?;
    }
    connection.execute("COMMIT").await?;
    Ok(true)
}

/// The generations that have lines.
async fn generations(connection: &mut MySqlConnection, id: &str) -> Result<Vec<u64>, sqlx::Error> {
    let asked =
        sqlx::query("SELECT DISTINCT generation FROM osier_entries FORCE INDEX (heads) WHERE session = ?");
    asked.bind(id).fetch_all(connection).await?.iter().map(|row| row.try_get(0)).collect()
}

/// The generations of a session that is gone, but for those that somebody is writing. The order of the questions matters:
/// whoever makes a session announces its lines before he writes them, and until it has a row.
async fn unseen(connection: &mut MySqlConnection, id: &str) -> Result<Vec<u64>, Failure> {
    let mut all = generations(connection, id).await?;
    let asked = sqlx::query("SELECT generation, since FROM osier_leftovers WHERE session = ?").bind(id);
    for row in asked.fetch_all(&mut *connection).await? {
        let (generation, since): (u64, i64) = (row.try_get(0)?, row.try_get(1)?);
        match since {
            0 if !all.contains(&generation) => all.push(generation),
            0 => {}
            _ => all.retain(|other| *other != generation),
        }
    }
    let asked = sqlx::query("SELECT 1 FROM osier_sessions WHERE id = ?").bind(id);
    let is_back = asked.fetch_optional(connection).await?.is_some();
    Ok(if is_back { Vec::new() } else { all })
}

/// Notes that the lines of a generation are not wanted unless a session comes to name it.
pub(crate) async fn note_unwanted(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
    since: i64,
) -> Result<(), Failure> {
    let query = sqlx::query(
        "INSERT INTO osier_leftovers (session, generation, since) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE since = ?",
    );
    query.bind(session).bind(generation).bind(since).bind(since).execute(connection).await?;
    Ok(())
}

pub(crate) async fn forget(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
) -> Result<(), Failure> {
    let query = sqlx::query("DELETE FROM osier_leftovers WHERE session = ? AND generation = ?");
    query.bind(session).bind(generation).execute(connection).await?;
    Ok(())
}

/// How many lines a log has, and whether the last of them is its end.
async fn length(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
) -> Result<(usize, bool), Failure> {
    let asked = sqlx::query(
        "SELECT seq, head = '' FROM osier_entries WHERE session = ? AND generation = ? ORDER BY seq DESC LIMIT 1",
    );
    match asked.bind(session).bind(generation).fetch_optional(connection).await? {
        Some(row) => Ok((row.try_get::<u32, _>(0)? as usize + 1, row.try_get(1)?)),
        None => Ok((0, false)),
    }
}

/// Deletes what the lines of a generation say that no session names, and lets their places be taken for a day.
async fn end(connection: &mut MySqlConnection, session: &str, generation: u64) -> Result<(), Failure> {
    match blank(connection, session, generation).await {
        // There is no room for empty lines either.
        Err(Failure::Sql(error)) if is_full(&error) => sweep(connection, session, generation).await,
        blanked => blanked,
    }
}

async fn blank(connection: &mut MySqlConnection, session: &str, generation: u64) -> Result<(), Failure> {
    delete(connection, "osier_parts", session, generation).await?;
    let mut from = 0;
    loop {
        let (length, is_ended) = length(connection, session, generation).await?;
        for first in (from..length as u32).step_by(MOST_ROWS as usize) {
            let query = sqlx::query(
                "UPDATE osier_entries SET id = NULL, parent_id = NULL, type = NULL, timestamp = NULL, tally = NULL,
                 head = '', line = '' WHERE session = ? AND generation = ? AND seq >= ? AND seq < ?",
            );
            let query =
                query.bind(session).bind(generation).bind(first).bind(first.saturating_add(MOST_ROWS));
            query.execute(&mut *connection).await?;
        }
        // Nobody saw the end of it, so somebody may have gone on.
        if is_ended || rows::write_end(connection, session, generation, length).await? {
            break;
        }
        from = length as u32;
    }
    note_unwanted(connection, session, generation, crate::making::now()).await
}

/// Deletes the lines of a generation that no session names, and all that is said of it.
pub(crate) async fn sweep(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
) -> Result<(), Failure> {
    delete(connection, "osier_parts", session, generation).await?;
    delete(connection, "osier_entries", session, generation).await?;
    forget(connection, session, generation).await
}

/// Removes the lines of a generation from one on.
pub(crate) async fn cut(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
    from: usize,
) -> Result<(), Failure> {
    for table in ["osier_parts", "osier_entries"] {
        let sql = format!("DELETE FROM {table} WHERE session = ? AND generation = ? AND seq >= ?");
        let query = sqlx::query(AssertSqlSafe(sql)).bind(session).bind(generation);
        query.bind(from as u32).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn delete(
    connection: &mut MySqlConnection,
    table: &str,
    session: &str,
    generation: u64,
) -> Result<(), Failure> {
    let sql = format!("DELETE FROM {table} WHERE session = ? AND generation = ? LIMIT ?");
    loop {
        let query = sqlx::query(AssertSqlSafe(sql.as_str())).bind(session).bind(generation).bind(MOST_ROWS);
        if query.execute(&mut *connection).await?.rows_affected() < u64::from(MOST_ROWS) {
            return Ok(());
        }
    }
}
