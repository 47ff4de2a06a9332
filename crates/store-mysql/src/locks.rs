//! Lock rows: processes that exclude each other write the same row. On one server, the second process waits for the first. In
//! a cluster, each writes on its own node, and one of the transactions fails at commit. Correctness does not depend on waiting.
//!
//! Opening and deleting a session do not share a lock row, because then processes that open it would block each other.
//! Instead, both write, commit, and then check. The process that opens the session records that, and then looks for an
//! announced removal. The process that removes it announces the removal, and then looks for processes that have it open. At
//! least one sees the other. Opening deletes the announcement, and a removal must delete its own announcement to take effect:
//! whichever deletes it first wins.

use osier_store::StoreError;
use sqlx::MySqlConnection;

use crate::failure::Failure;
use crate::holding::Holder;
use crate::making::random;

/// The usual maximum duration of a lock in seconds. Informational, for people who inspect the table.
const USUAL: u64 = 60;

/// Until the end of the transaction, only this process can acquire leases in the session.
pub(crate) async fn lock_leases(connection: &mut MySqlConnection, session: &str) -> Result<(), Failure> {
    write(connection, session, "lease", random()).await
}

/// Announces that a session will be deleted or replaced. Fails if a process other than `holder` has it open.
pub(crate) async fn announce_removal(
    connection: &mut MySqlConnection,
    session: &str,
    holder: Holder,
) -> Result<u64, Failure> {
    let token = random();
    write(connection, session, "removal", token).await?;
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
) -> Result<bool, Failure> {
    let query =
        sqlx::query("DELETE FROM osier_locks WHERE session = ? AND purpose = 'removal' AND holder = ?");
    Ok(query.bind(session).bind(token).execute(connection).await?.rows_affected() == 1)
}

/// Cancels an announced removal, for a process that has recorded that the session is open. A removal that is already complete
/// is not affected; the session no longer exists then.
pub(crate) async fn refuse_removal(connection: &mut MySqlConnection, session: &str) -> Result<(), Failure> {
    let query = sqlx::query("SELECT 1 FROM osier_locks WHERE session = ? AND purpose = 'removal'");
    if query.bind(session).fetch_optional(&mut *connection).await?.is_some() {
        let query = sqlx::query("DELETE FROM osier_locks WHERE session = ? AND purpose = 'removal'");
        query.bind(session).execute(connection).await?;
    }
    Ok(())
}

/// Deletes the locks of a session that no longer exists.
pub(crate) async fn forget(connection: &mut MySqlConnection, session: &str) -> Result<(), Failure> {
    sqlx::query("DELETE FROM osier_locks WHERE session = ?").bind(session).execute(connection).await?;
    Ok(())
}

async fn write(
    connection: &mut MySqlConnection,
    session: &str,
    purpose: &str,
    holder: u64,
) -> Result<(), Failure> {
    let query = sqlx::query(
        "INSERT INTO osier_locks (session, purpose, holder, expires) VALUES (?, ?, ?, UNIX_TIMESTAMP() + ?)
         ON DUPLICATE KEY UPDATE holder = ?, expires = UNIX_TIMESTAMP() + ?",
    );
    let query = query.bind(session).bind(purpose).bind(holder).bind(USUAL).bind(holder).bind(USUAL);
    query.execute(connection).await?;
    Ok(())
}
