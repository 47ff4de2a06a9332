//! Starts transactions.
//!
//! A cluster rolls a transaction back if another node commits a conflicting one first. The next statement then fails, and the
//! store tries again. MariaDB 10.11 loses that error if the rollback happens while it prepares a `SELECT`: the remaining
//! statements succeed, each on its own, although everything before them is undone. So a transaction prepares its `SELECT`
//! statements before it starts. Prepared statements stay in the connection's cache, so this costs no additional round trip.

use sqlx::{Executor, MySqlConnection, SqlStr};

use crate::attempt_error::AttemptError;

/// Starts a transaction that runs these `SELECT` statements, and no others.
pub(crate) async fn start(
    connection: &mut MySqlConnection,
    selects: &[&'static str],
) -> Result<(), AttemptError> {
    for select in selects {
        connection.prepare(SqlStr::from_static(select)).await?;
    }
    connection.execute("START TRANSACTION").await?;
    Ok(())
}
