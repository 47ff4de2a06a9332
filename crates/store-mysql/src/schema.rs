//! The tables, and how they come to be. Steps only ever add.
//!
//! No foreign keys, no counters of the server's own, and every key begins with the session: so the rows of a session can lie
//! on one shard, and writers of different sessions never meet.

use sqlx::{Executor, MySqlConnection, Row};

use crate::failure::{Failure, is_missing_table, is_there_already};

/// Seconds to wait for another process that makes the tables.
const WAIT: u32 = 15;

/// Each step can be done twice: the server cannot undo half of one.
const STEPS: &[&[&str]] = &[
    &[
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
    ],
    &["CREATE TABLE IF NOT EXISTS osier_watches (
        session VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        holder BIGINT UNSIGNED NOT NULL,
        expires BIGINT NOT NULL,
        PRIMARY KEY (session, holder)
    ) ENGINE=InnoDB"],
    &["ALTER TABLE osier_entries ADD COLUMN tally VARBINARY(64) NULL"],
    &["CREATE TABLE IF NOT EXISTS osier_leases (
        session VARCHAR(128) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
        cursor_id BIGINT UNSIGNED NOT NULL,
        expires BIGINT NOT NULL,
        lease MEDIUMBLOB NOT NULL,
        PRIMARY KEY (session, cursor_id)
    ) ENGINE=InnoDB"],
];

/// Makes the tables that are not there yet.
pub(crate) async fn prepare(connection: &mut MySqlConnection) -> Result<(), Failure> {
    if version(connection).await? >= STEPS.len() {
        return Ok(());
    }
    lock(connection).await?;
    let made = steps(connection).await;
    // If that fails the connection is given up, and the lock with it.
    connection.execute("DO RELEASE_LOCK(CONCAT('osier.', SHA1(DATABASE())))").await?;
    made
}

async fn steps(connection: &mut MySqlConnection) -> Result<(), Failure> {
    connection
        .execute("CREATE TABLE IF NOT EXISTS osier_schema (version INT UNSIGNED NOT NULL PRIMARY KEY) ENGINE=InnoDB")
        .await?;
    for (at, step) in STEPS.iter().enumerate().skip(version(connection).await?) {
        for statement in *step {
            match connection.execute(*statement).await {
                Err(error) if is_there_already(&error) => {}
                done => done.map(|_| ())?,
            }
        }
        let done = sqlx::query("INSERT IGNORE INTO osier_schema (version) VALUES (?)").bind(at as u32 + 1);
        done.execute(&mut *connection).await?;
    }
    Ok(())
}

/// How many steps are done.
async fn version(connection: &mut MySqlConnection) -> Result<usize, sqlx::Error> {
    let told =
        connection.fetch_one("SELECT CAST(COALESCE(MAX(version), 0) AS UNSIGNED) FROM osier_schema").await;
    match told {
        Ok(row) => Ok(row.try_get::<u64, _>(0)? as usize),
        Err(error) if is_missing_table(&error) => Ok(0),
        Err(error) => Err(error),
    }
}

/// One process at a time makes tables. The answer counts: a server that gives no lock must not be believed.
async fn lock(connection: &mut MySqlConnection) -> Result<(), Failure> {
    let asked = sqlx::query("SELECT GET_LOCK(CONCAT('osier.', SHA1(DATABASE())), ?)").bind(WAIT);
    let got: Option<i64> = asked.fetch_one(connection).await?.try_get(0)?;
    match got {
        Some(1) => Ok(()),
        _ => Err(Failure::Silent(std::time::Duration::from_secs(WAIT.into()))),
    }
}
