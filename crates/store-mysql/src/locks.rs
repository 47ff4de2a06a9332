//! Lock rows: processes that exclude each other write the same row. On one server, the second process waits for the first. In
//! a cluster, each writes on its own node, and one of the transactions fails at commit. Correctness does not depend on waiting.
//!
//! Every process that opens a session, runs a turn in it, or removes it writes the row `use` of that session, and does so in
//! the transaction that also reads whether the others allow it, and writes that it has the session open or removes it. Take two
//! such transactions:
//!
//! - Of two concurrent transactions that write the same row, every engine commits only one. That is what row locks do on one
//!   server, certification does in Galera and Group Replication, and the conflict check does in TiDB. The other one fails, and
//!   starts again.
//! - So one of them, A, commits before the other one, B, writes the row. B has not read anything before it wrote the row,
//!   therefore its reads see everything that A committed, on any server.
//!
//! If A opened the session, B sees that and does not remove it. If A removed it, B does not find it.

use sqlx::{MySqlConnection, Row};

use crate::attempt_error::AttemptError;
use crate::log_creation::random_id;
use crate::open_records::Holder;

/// The usual maximum duration of a lock in seconds. Informational, for people who inspect the table.
const LOCK_SECONDS: u64 = 60;

/// How long a place in a queue is valid unless it is renewed, in seconds.
const QUEUE_SECONDS: u64 = 3;

/// Until the end of the transaction, only this process can start to use the session or remove it. This must be the first
/// statement of the transaction.
pub(crate) async fn lock_use(connection: &mut MySqlConnection, session: &str) -> Result<(), AttemptError> {
    // A new number each time, because a server does not replicate an update that changes nothing.
    let token = random_id();
    let query = sqlx::query(
        "INSERT INTO osier_locks (session, purpose, holder, expires) VALUES (?, 'use', ?, UNIX_TIMESTAMP() + ?)
         ON DUPLICATE KEY UPDATE holder = ?, expires = UNIX_TIMESTAMP() + ?",
    );
    let query = query.bind(session).bind(token).bind(LOCK_SECONDS).bind(token).bind(LOCK_SECONDS);
    query.execute(connection).await?;
    Ok(())
}

/// Joins the queue of processes that append to a session; see `contention.rs`. The purpose of a row starts with the time, so
/// sorting by purpose gives the order of arrival.
pub(crate) async fn join_queue(
    connection: &mut MySqlConnection,
    session: &str,
    holder: Holder,
) -> Result<(), AttemptError> {
    let query = sqlx::query(
        "INSERT INTO osier_locks (session, purpose, holder, expires) VALUES (?,
         CONCAT('q', LPAD(HEX(FLOOR(UNIX_TIMESTAMP(NOW(3)) * 1000)), 11, '0'), LPAD(HEX(?), 4, '0')), ?, UNIX_TIMESTAMP() + ?)",
    );
    let salt = random_id() & 0xffff;
    query.bind(session).bind(salt).bind(holder.0).bind(QUEUE_SECONDS).execute(connection).await?;
    Ok(())
}

pub(crate) async fn first_in_queue(
    connection: &mut MySqlConnection,
    session: &str,
) -> Result<Option<Holder>, AttemptError> {
    let query = sqlx::query(
        "SELECT holder FROM osier_locks WHERE session = ? AND purpose LIKE 'q%' AND expires >= UNIX_TIMESTAMP()
         ORDER BY purpose LIMIT 1",
    );
    let row = query.bind(session).fetch_optional(connection).await?;
    Ok(row.map(|row| row.try_get(0).map(Holder)).transpose()?)
}

/// Renews a place in the queue. `false` if there is none, or another process deleted it after it expired.
pub(crate) async fn stay_in_queue(
    connection: &mut MySqlConnection,
    session: &str,
    holder: Holder,
) -> Result<bool, AttemptError> {
    let query = sqlx::query(
        "UPDATE osier_locks SET expires = UNIX_TIMESTAMP() + ? WHERE session = ? AND purpose LIKE 'q%' AND holder = ?",
    );
    Ok(query.bind(QUEUE_SECONDS).bind(session).bind(holder.0).execute(connection).await?.rows_affected() > 0)
}

/// Leaves the queue. Also deletes expired places.
pub(crate) async fn leave_queue(
    connection: &mut MySqlConnection,
    session: &str,
    holder: Holder,
) -> Result<(), AttemptError> {
    let query = sqlx::query(
        "DELETE FROM osier_locks WHERE session = ? AND purpose LIKE 'q%' AND (holder = ? OR expires < UNIX_TIMESTAMP())",
    );
    query.bind(session).bind(holder.0).execute(connection).await?;
    Ok(())
}

/// Deletes the locks of a session that no longer exists.
pub(crate) async fn delete_locks(
    connection: &mut MySqlConnection,
    session: &str,
) -> Result<(), AttemptError> {
    sqlx::query("DELETE FROM osier_locks WHERE session = ?").bind(session).execute(connection).await?;
    Ok(())
}
