//! Deletes sessions. The session's row is deleted first, which makes the session invisible. Its lines follow in short
//! transactions; a row in `osier_leftovers` notes which remain in case this process dies in between. The positions of the
//! lines, and the next one, stay taken for a day, so that a late writer gets an error instead of storing lost lines.
//!
//! A full disk has no room for the note, but deleting frees space, so deletion continues without it. Lines that remain then
//! are removed when the session is deleted again.

use osier_store::{DeletedCounts, StoreError};
use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use crate::attempt_error::{AttemptError, is_disk_full};
use crate::locks;
use crate::open_records::{self, Holder, OPEN_ELSEWHERE_QUERIES};
use crate::rows;
use crate::transaction;

/// The maximum number of rows per statement.
const MAX_ROWS: u32 = 500;

const LOCK_QUERY: &str = "SELECT generation FROM osier_sessions WHERE id = ? FOR UPDATE";

const LENGTH_QUERY: &str =
    "SELECT seq, head = '' FROM osier_entries WHERE session = ? AND generation = ? ORDER BY seq DESC LIMIT 1";

const GENERATIONS_QUERY: &str =
    "SELECT DISTINCT generation FROM osier_entries FORCE INDEX (heads) WHERE session = ?";

/// Milliseconds after which no process is still writing the noted lines.
const LEFTOVER_MILLIS: i64 = 24 * 60 * 60 * 1000;

/// Deletes a session. With an `allowed_holder`, fails if any other process has it open. `found` keeps the counts in case a
/// successful attempt is repeated.
pub(crate) async fn delete_session(
    connection: &mut MySqlConnection,
    id: &str,
    allowed_holder: Option<Holder>,
    found: &mut Option<DeletedCounts>,
) -> Result<(), AttemptError> {
    match delete_row(connection, id, allowed_holder, found, true).await {
        Err(AttemptError::Sql(error)) if is_disk_full(&error) => {
            connection.execute("ROLLBACK").await?;
            delete_row(connection, id, allowed_holder, found, false).await
        }
        deleted => deleted,
    }
}

/// Finishes the deletion of a session, and of some sessions whose deletion other processes started.
pub(crate) async fn finish_deletions(connection: &mut MySqlConnection, id: &str) -> Result<(), AttemptError> {
    for generation in leftover_generations(connection, id).await? {
        erase_generation(connection, id, generation).await?;
    }
    let query =
        sqlx::query("SELECT session, generation, since FROM osier_leftovers WHERE since < ? LIMIT 10");
    for row in
        query.bind(crate::log_creation::now_millis() - LEFTOVER_MILLIS).fetch_all(&mut *connection).await?
    {
        let (session, generation, since): (String, u64, i64) =
            (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        match since {
            0 => erase_generation(connection, &session, generation).await?,
            _ => delete_generation(connection, &session, generation).await?,
        }
    }
    Ok(())
}

/// Deletes the session's row, which makes the session invisible. If `has_room` is set, excludes processes that open the session
/// at the same time, and notes that its lines remain. On a full disk, they cannot record that they have it open either.
async fn delete_row(
    connection: &mut MySqlConnection,
    id: &str,
    allowed_holder: Option<Holder>,
    found: &mut Option<DeletedCounts>,
    has_room: bool,
) -> Result<(), AttemptError> {
    let [leases, holders] = OPEN_ELSEWHERE_QUERIES;
    let selects = [LOCK_QUERY, LENGTH_QUERY, GENERATIONS_QUERY, leases, holders];
    transaction::start(connection, &selects).await?;
    if has_room {
        locks::lock_use(connection, id).await?;
    }
    if let Some(row) = sqlx::query(LOCK_QUERY).bind(id).fetch_optional(&mut *connection).await? {
        let generation = row.try_get(0)?;
        if let Some(holder) = allowed_holder
            && holder.is_open_elsewhere(connection, id).await?
        {
            connection.execute("ROLLBACK").await?;
            return Err(StoreError::Busy { id: id.to_owned() }.into());
        }
        let (mut entries, _) = log_length(connection, id, generation).await?;
        if has_room {
            while !rows::write_end_marker(connection, id, generation, entries).await? {
                entries += 1;
            }
            for generation in generations(connection, id).await? {
                // A generation that another process is writing already has its note.
                let query = sqlx::query(
                    "INSERT IGNORE INTO osier_leftovers (session, generation, since) VALUES (?, ?, 0)",
                );
                query.bind(id).bind(generation).execute(&mut *connection).await?;
            }
        }
        sqlx::query("DELETE FROM osier_sessions WHERE id = ?").bind(id).execute(&mut *connection).await?;
        open_records::delete_all(connection, id).await?;
        *found = Some(DeletedCounts { sessions: 1, entries });
    } else {
        locks::delete_locks(connection, id).await?;
    }
    connection.execute("COMMIT").await?;
    Ok(())
}

/// The generations that have lines.
async fn generations(connection: &mut MySqlConnection, id: &str) -> Result<Vec<u64>, sqlx::Error> {
    let query = sqlx::query(GENERATIONS_QUERY);
    query.bind(id).fetch_all(connection).await?.iter().map(|row| row.try_get(0)).collect()
}

/// The generations of a deleted session, except those that a process is writing. The order of the queries matters: a process
/// that creates a session notes its lines before it writes them, and removes the note when the session has a row.
async fn leftover_generations(connection: &mut MySqlConnection, id: &str) -> Result<Vec<u64>, AttemptError> {
    let mut all = generations(connection, id).await?;
    let query = sqlx::query("SELECT generation, since FROM osier_leftovers WHERE session = ?").bind(id);
    for row in query.fetch_all(&mut *connection).await? {
        let (generation, since): (u64, i64) = (row.try_get(0)?, row.try_get(1)?);
        match since {
            0 if !all.contains(&generation) => all.push(generation),
            0 => {}
            _ => all.retain(|other| *other != generation),
        }
    }
    let query = sqlx::query("SELECT 1 FROM osier_sessions WHERE id = ?").bind(id);
    let is_back = query.fetch_optional(connection).await?.is_some();
    Ok(if is_back { Vec::new() } else { all })
}

/// Notes that the lines of a generation are leftovers unless a session refers to it later.
pub(crate) async fn note_leftover(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
    since: i64,
) -> Result<(), AttemptError> {
    let query = sqlx::query(
        "INSERT INTO osier_leftovers (session, generation, since) VALUES (?, ?, ?) ON DUPLICATE KEY UPDATE since = ?",
    );
    query.bind(session).bind(generation).bind(since).bind(since).execute(connection).await?;
    Ok(())
}

pub(crate) async fn forget_leftover(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
) -> Result<(), AttemptError> {
    let query = sqlx::query("DELETE FROM osier_leftovers WHERE session = ? AND generation = ?");
    query.bind(session).bind(generation).execute(connection).await?;
    Ok(())
}

/// The number of lines in a log, and whether the last one is its end marker.
async fn log_length(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
) -> Result<(usize, bool), AttemptError> {
    match sqlx::query(LENGTH_QUERY).bind(session).bind(generation).fetch_optional(connection).await? {
        Some(row) => Ok((row.try_get::<u32, _>(0)? as usize + 1, row.try_get(1)?)),
        None => Ok((0, false)),
    }
}

/// Erases the lines of a generation that no session refers to, but keeps their positions taken for a day.
async fn erase_generation(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
) -> Result<(), AttemptError> {
    match blank_lines(connection, session, generation).await {
        // The disk has no room for empty lines either.
        Err(AttemptError::Sql(error)) if is_disk_full(&error) => {
            delete_generation(connection, session, generation).await
        }
        blanked => blanked,
    }
}

async fn blank_lines(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
) -> Result<(), AttemptError> {
    delete_rows(connection, "osier_parts", session, generation).await?;
    let mut from = 0;
    loop {
        let (length, is_ended) = log_length(connection, session, generation).await?;
        for first in (from..length as u32).step_by(MAX_ROWS as usize) {
            let query = sqlx::query(
                "UPDATE osier_entries SET id = NULL, parent_id = NULL, type = NULL, timestamp = NULL, tally = NULL,
                 head = '', line = '' WHERE session = ? AND generation = ? AND seq >= ? AND seq < ?",
            );
            let query = query.bind(session).bind(generation).bind(first).bind(first.saturating_add(MAX_ROWS));
            query.execute(&mut *connection).await?;
        }
        // If the log has no end marker, a writer may have appended in between.
        if is_ended || rows::write_end_marker(connection, session, generation, length).await? {
            break;
        }
        from = length as u32;
    }
    note_leftover(connection, session, generation, crate::log_creation::now_millis()).await
}

/// Deletes the lines of a generation that no session refers to, and its note.
pub(crate) async fn delete_generation(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
) -> Result<(), AttemptError> {
    delete_rows(connection, "osier_parts", session, generation).await?;
    delete_rows(connection, "osier_entries", session, generation).await?;
    forget_leftover(connection, session, generation).await
}

/// Deletes the lines of a generation from position `from` on.
pub(crate) async fn delete_lines_from(
    connection: &mut MySqlConnection,
    session: &str,
    generation: u64,
    from: usize,
) -> Result<(), AttemptError> {
    for table in ["osier_parts", "osier_entries"] {
        let sql = format!("DELETE FROM {table} WHERE session = ? AND generation = ? AND seq >= ?");
        let query = sqlx::query(AssertSqlSafe(sql)).bind(session).bind(generation);
        query.bind(from as u32).execute(&mut *connection).await?;
    }
    Ok(())
}

async fn delete_rows(
    connection: &mut MySqlConnection,
    table: &str,
    session: &str,
    generation: u64,
) -> Result<(), AttemptError> {
    let sql = format!("DELETE FROM {table} WHERE session = ? AND generation = ? LIMIT ?");
    loop {
        let query = sqlx::query(AssertSqlSafe(sql.as_str())).bind(session).bind(generation).bind(MAX_ROWS);
        if query.execute(&mut *connection).await?.rows_affected() < u64::from(MAX_ROWS) {
            return Ok(());
        }
    }
}
