//! The tables, and how they are created and upgraded. New versions only add tables and columns.
//!
//! There are no foreign keys and no auto-increment columns, and every key starts with the session. So the rows of a session
//! can be on one shard, and writers of different sessions never block each other.

use std::time::{Duration, Instant};

use sqlx::{Executor, MySqlConnection, Row};

use crate::attempt_error::{AttemptError, is_duplicate_key, is_missing_table};
use crate::open_records::Holder;

/// The version of the tables below. Increment it whenever you add something.
const SCHEMA_VERSION: u32 = 5;

/// How long to wait for another process that is changing the tables.
const CHANGE_TIMEOUT: Duration = Duration::from_secs(15);

/// Seconds after which a process that is changing a table counts as dead.
const LOCK_SECONDS: u64 = 600;

const UNLOCK_ATTEMPTS: usize = 10;

/// Creates all tables in an empty database. Many processes can run these statements at once, on every node of a cluster.
const TABLES: &[&str] = &[
    "CREATE TABLE IF NOT EXISTS osier_schema (version INT UNSIGNED NOT NULL PRIMARY KEY) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS osier_sessions (
        id VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        generation BIGINT UNSIGNED NOT NULL,
        entries INT UNSIGNED NOT NULL,
        odd INT UNSIGNED NOT NULL,
        regular BOOLEAN NOT NULL,
        header MEDIUMBLOB NOT NULL,
        card MEDIUMBLOB NOT NULL,
        cost DOUBLE NOT NULL,
        cwd_hash BINARY(16) NOT NULL,
        minus_modified BIGINT NOT NULL,
        minus_created BIGINT NOT NULL,
        PRIMARY KEY (id),
        KEY used_last (minus_modified, minus_created, id),
        KEY used_last_here (cwd_hash, minus_modified, minus_created, id)
    ) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS osier_entries (
        session VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        generation BIGINT UNSIGNED NOT NULL,
        seq INT UNSIGNED NOT NULL,
        id VARBINARY(255) NULL,
        parent_id VARBINARY(255) NULL,
        type VARBINARY(255) NULL,
        timestamp BIGINT NULL,
        head VARBINARY(64) NOT NULL,
        line MEDIUMBLOB NOT NULL,
        tally VARBINARY(64) NULL,
        PRIMARY KEY (session, generation, seq),
        KEY heads (session, generation, seq, head)
    ) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS osier_parts (
        session VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        generation BIGINT UNSIGNED NOT NULL,
        seq INT UNSIGNED NOT NULL,
        part INT UNSIGNED NOT NULL,
        bytes MEDIUMBLOB NOT NULL,
        PRIMARY KEY (session, generation, seq, part)
    ) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS osier_leftovers (
        session VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        generation BIGINT UNSIGNED NOT NULL,
        since BIGINT NOT NULL,
        PRIMARY KEY (session, generation)
    ) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS osier_watches (
        session VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        holder BIGINT UNSIGNED NOT NULL,
        expires BIGINT NOT NULL,
        PRIMARY KEY (session, holder)
    ) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS osier_leases (
        session VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        cursor_id BIGINT UNSIGNED NOT NULL,
        expires BIGINT NOT NULL,
        lease MEDIUMBLOB NOT NULL,
        PRIMARY KEY (session, cursor_id)
    ) ENGINE=InnoDB",
    "CREATE TABLE IF NOT EXISTS osier_locks (
        session VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        purpose VARCHAR(16) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        holder BIGINT UNSIGNED NOT NULL,
        expires BIGINT NOT NULL,
        PRIMARY KEY (session, purpose)
    ) ENGINE=InnoDB",
];

/// Columns that tables of earlier versions lack: table, column, definition.
const ADDED_COLUMNS: &[(&str, &str, &str)] = &[("osier_entries", "tally", "VARBINARY(64) NULL")];

/// Creates the tables and columns that the database lacks.
pub(crate) async fn upgrade(connection: &mut MySqlConnection, holder: Holder) -> Result<(), AttemptError> {
    if read_version(connection).await? >= SCHEMA_VERSION {
        return Ok(());
    }
    for statement in TABLES {
        connection.execute(*statement).await?;
    }
    for (table, column, definition) in ADDED_COLUMNS {
        add_column(connection, holder, table, column, definition).await?;
    }
    // Earlier versions of Osier expect one row for each version.
    let done = "INSERT IGNORE INTO osier_schema (version) VALUES (1), (2), (3), (4), (5)";
    connection.execute(done).await?;
    Ok(())
}

async fn read_version(connection: &mut MySqlConnection) -> Result<u32, sqlx::Error> {
    let row =
        connection.fetch_one("SELECT CAST(COALESCE(MAX(version), 0) AS UNSIGNED) FROM osier_schema").await;
    match row {
        Ok(row) => Ok(u32::try_from(row.try_get::<u64, _>(0)?).unwrap_or(u32::MAX)),
        Err(error) if is_missing_table(&error) => Ok(0),
        Err(error) => Err(error),
    }
}

/// Adds a column unless it exists. Two nodes of a cluster must never change a table at the same time, so only the process that
/// holds the lock does it, and the others wait until the column exists.
async fn add_column(
    connection: &mut MySqlConnection,
    holder: Holder,
    table: &str,
    column: &str,
    definition: &str,
) -> Result<(), AttemptError> {
    let started = Instant::now();
    while !has_column(connection, table, column).await? {
        if lock_schema(connection, holder).await? {
            let added = add_missing_column(connection, table, column, definition).await;
            unlock_schema(connection, holder).await;
            return added;
        }
        if started.elapsed() > CHANGE_TIMEOUT {
            return Err(AttemptError::Timeout(CHANGE_TIMEOUT));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(())
}

/// Another process may have added the column before this one got the lock.
async fn add_missing_column(
    connection: &mut MySqlConnection,
    table: &str,
    column: &str,
    definition: &str,
) -> Result<(), AttemptError> {
    if !has_column(connection, table, column).await? {
        let sql = format!("ALTER TABLE {table} ADD COLUMN {column} {definition}");
        connection.execute(sqlx::AssertSqlSafe(sql)).await?;
    }
    Ok(())
}

async fn has_column(
    connection: &mut MySqlConnection,
    table: &str,
    column: &str,
) -> Result<bool, AttemptError> {
    let query = sqlx::query(
        "SELECT 1 FROM information_schema.COLUMNS
         WHERE TABLE_SCHEMA = DATABASE() AND TABLE_NAME = ? AND COLUMN_NAME = ?",
    );
    Ok(query.bind(table).bind(column).fetch_optional(connection).await?.is_some())
}

/// Takes the schema lock. It is a row, so it works on every node of a cluster: if two processes write it at the same time,
/// one of them fails, at the latest when its transaction commits.
async fn lock_schema(connection: &mut MySqlConnection, holder: Holder) -> Result<bool, AttemptError> {
    let insert = sqlx::query(
        "INSERT INTO osier_locks (session, purpose, holder, expires) VALUES ('', 'schema', ?, UNIX_TIMESTAMP() + ?)",
    );
    match insert.bind(holder.0).bind(LOCK_SECONDS).execute(&mut *connection).await {
        Err(error) if is_duplicate_key(&error) => {}
        done => return Ok(done.map(|_| true)?),
    }
    let update = sqlx::query(
        "UPDATE osier_locks SET holder = ?, expires = UNIX_TIMESTAMP() + ?
         WHERE session = '' AND purpose = 'schema' AND expires < UNIX_TIMESTAMP()",
    );
    Ok(update.bind(holder.0).bind(LOCK_SECONDS).execute(connection).await?.rows_affected() == 1)
}

/// Releases the lock. A cluster rolls this back if another node changes a table at the same moment, so it is tried several
/// times. Otherwise, the lock expires.
async fn unlock_schema(connection: &mut MySqlConnection, holder: Holder) {
    for _ in 0..UNLOCK_ATTEMPTS {
        let query =
            sqlx::query("DELETE FROM osier_locks WHERE session = '' AND purpose = 'schema' AND holder = ?");
        if query.bind(holder.0).execute(&mut *connection).await.is_ok() {
            break;
        }
    }
}
