//! Rows that two processes write if they must not go on side by side. On one server the second waits for the first. In a
//! cluster each writes on its own server, and the transaction of one of them fails when it ends. Nothing depends on waiting.
//!
//! Opening a session and deleting it have no such row in common, or all who open it would be in each other's way. Both
//! write, commit, and then look: the process that opens it says so and looks for an announced removal; the one that removes it announces
//! that and looks for those who have it open. One of them sees the other. The one that opens it then takes the announcement
//! away, and a removal ends with taking away its own: of these two the first one counts.

use osier_store::StoreError;
use sqlx::MySqlConnection;

use crate::failure::Failure;
use crate::holding::Holder;
use crate::making::random;

/// Seconds after which nobody is still at what a lock is for. Only for people who look at the table.
const USUAL: u64 = 60;

/// From here to the end of the transaction only one process takes leases in a session.
pub(crate) async fn lock_leases(connection: &mut MySqlConnection, session: &str) -> Result<(), Failure> {
    write(connection, session, "lease", random()).await
}

/// Announces that a session is to be deleted or replaced, unless others than `holder` have it open.
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

/// Takes an announcement back, or ends it inside the transaction that removes. `false` if somebody else took it away.
pub(crate) async fn end_removal(
    connection: &mut MySqlConnection,
    session: &str,
    token: u64,
) -> Result<bool, Failure> {
    let query =
        sqlx::query("DELETE FROM osier_locks WHERE session = ? AND purpose = 'removal' AND holder = ?");
    Ok(query.bind(session).bind(token).execute(connection).await?.rows_affected() == 1)
}

/// For a process that has said that the session is open: takes away the announcement of a removal that did not see that. If the
/// removal has happened, the session is gone.
pub(crate) async fn refuse_removal(connection: &mut MySqlConnection, session: &str) -> Result<(), Failure> {
    let asked = sqlx::query("SELECT 1 FROM osier_locks WHERE session = ? AND purpose = 'removal'");
    if asked.bind(session).fetch_optional(&mut *connection).await?.is_some() {
        let query = sqlx::query("DELETE FROM osier_locks WHERE session = ? AND purpose = 'removal'");
        query.bind(session).execute(connection).await?;
    }
    Ok(())
}

/// Clears away the locks of a session that is gone.
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
