//! Lock rows: processes that exclude each other write the same row. On one server, the second process waits for the first. In
//! a cluster, each writes on its own node, and one of the transactions fails at commit. Correctness does not depend on waiting.
//!
//! Opening and deleting a session do not share a lock row, because then processes that open it would block each other.
//! Instead, both write, commit, and then check. The process that opens the session records that, and then looks for an
//! announced removal. The process that removes it announces the removal, and then looks for processes that have it open. At
//! least one sees the other. Opening deletes the announcement, and a removal must delete its own announcement to take effect:
//! whichever deletes it first wins.

use osier_store::StoreError;
use sqlx::{MySqlConnection, Row};

use crate::attempt_error::AttemptError;
use crate::log_creation::random_id;
use crate::open_records::Holder;

/// The usual maximum duration of a lock in seconds. Informational, for people who inspect the table.
const LOCK_SECONDS: u64 = 60;

/// How long a place in a queue is valid unless it is renewed, in seconds.
const QUEUE_SECONDS: u64 = 3;

/// Until the end of the transaction, only this process can acquire leases in the session.
pub(crate) async fn lock_leases(connection: &mut MySqlConnection, session: &str) -> Result<(), AttemptError> {
    write_lock(connection, session, "lease", random_id()).await
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

/// Announces that a session will be deleted or replaced. Fails if a process other than `holder` has it open.
pub(crate) async fn announce_removal(
    connection: &mut MySqlConnection,
    session: &str,
    holder: Holder,
) -> Result<u64, AttemptError> {
    let token = random_id();
    write_lock(connection, session, "removal", token).await?;
    if holder.is_open_elsewhere(connection, session).await? {
        end_removal(connection, session, token).await?;
        return Err(StoreError::Busy { id: session.to_owned() }.into());
    }
    Ok(token)
}

/// Deletes the announcement of a removal, to cancel it or as part of the removal's transaction. `false` if another process
/// already deleted it.
pub(crate) async fn end_removal(
    connection: &mut MySqlConnection,
    session: &str,
    token: u64,
) -> Result<bool, AttemptError> {
    let query =
        sqlx::query("DELETE FROM osier_locks WHERE session = ? AND purpose = 'removal' AND holder = ?");
    Ok(query.bind(session).bind(token).execute(connection).await?.rows_affected() == 1)
}

/// Cancels an announced removal, for a process that has recorded that the session is open. A removal that is already complete
/// is not affected; the session no longer exists then.
pub(crate) async fn cancel_removal(
    connection: &mut MySqlConnection,
    session: &str,
) -> Result<(), AttemptError> {
    let query = sqlx::query("SELECT 1 FROM osier_locks WHERE session = ? AND purpose = 'removal'");
    if query.bind(session).fetch_optional(&mut *connection).await?.is_some() {
        let query = sqlx::query("DELETE FROM osier_locks WHERE session = ? AND purpose = 'removal'");
        query.bind(session).execute(connection).await?;
    }
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

async fn write_lock(
    connection: &mut MySqlConnection,
    session: &str,
    purpose: &str,
    holder: u64,
) -> Result<(), AttemptError> {
    let query = sqlx::query(
        "INSERT INTO osier_locks (session, purpose, holder, expires) VALUES (?, ?, ?, UNIX_TIMESTAMP() + ?)
         ON DUPLICATE KEY UPDATE holder = ?, expires = UNIX_TIMESTAMP() + ?",
    );
    let query =
        query.bind(session).bind(purpose).bind(holder).bind(LOCK_SECONDS).bind(holder).bind(LOCK_SECONDS);
    query.execute(connection).await?;
    Ok(())
}
