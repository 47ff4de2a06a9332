//! Processes on every server upgrade tables of an earlier version at once, while processes of that version write: each of them
//! works afterwards, nothing is lost, and no server leaves the cluster.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use osier_store_mysql::Limits;
use sqlx::{AssertSqlSafe, Executor, Row};

use crate::sessions::{create, lines};
use crate::{Result, TestCluster};

const ROUNDS: usize = 10;

/// How many processes of each server upgrade the tables.
const PROCESSES: usize = 2;

pub(crate) async fn run(test_cluster: &'static TestCluster) -> Result<()> {
    let processes = PROCESSES * test_cluster.ports.len();
    println!("== {processes} processes upgrade the tables, while earlier versions write");
    let mut written = 0;
    for round in 0..ROUNDS {
        written += upgrade(test_cluster).await.map_err(|error| format!("round {round}: {error}"))?;
        test_cluster.ready().await?;
    }
    println!("{ROUNDS} rounds: all tables upgraded, {written} rows of earlier versions kept");
    Ok(())
}

/// One upgrade. Returns how many rows the processes of the earlier version wrote.
async fn upgrade(test_cluster: &'static TestCluster) -> Result<u64> {
    let database = test_cluster.database().await?;
    create(&test_cluster.store(0, &database, Limits::default()), "one").await?;
    let mut admin = test_cluster.admin(0).await?;
    for change in [
        format!("ALTER TABLE {database}.osier_entries DROP COLUMN tally"),
        format!("DROP TABLE {database}.osier_leases"),
        format!("DELETE FROM {database}.osier_schema WHERE version > 2"),
    ] {
        admin.execute(AssertSqlSafe(change)).await?;
    }
    let ended = Arc::new(AtomicBool::new(false));
    let mut writers = tokio::task::JoinSet::new();
    for number in 0..test_cluster.ports.len() {
        writers.spawn(write_rows(test_cluster, number, database.clone(), ended.clone()));
    }
    let mut upgraders = tokio::task::JoinSet::new();
    for number in 0..PROCESSES * test_cluster.ports.len() {
        let store = test_cluster.store(number, &database, Limits::default());
        upgraders.spawn(async move {
            let id = format!("new{number}");
            create(&store, &id).await?;
            lines(&store, &id).await
        });
    }
    let upgraded = upgraders.join_all().await;
    ended.store(true, Ordering::Relaxed);
    let written = writers.join_all().await.into_iter().sum::<Result<u64>>()?;
    upgraded.into_iter().collect::<Result<Vec<_>>>()?;
    check(test_cluster, &database, written).await?;
    Ok(written)
}

/// Inserts rows as an earlier version does. Repeats what a server rolled back because the table was changed.
async fn write_rows(
    test_cluster: &'static TestCluster,
    number: usize,
    database: String,
    ended: Arc<AtomicBool>,
) -> Result<u64> {
    let mut connection = test_cluster.admin(number).await?;
    let mut rows = 0;
    while !ended.load(Ordering::Relaxed) {
        let insert = format!(
            "INSERT INTO {database}.osier_entries (session, generation, seq, head, line) VALUES ('old', {number}, {rows}, '', '')"
        );
        match connection.execute(AssertSqlSafe(insert)).await {
            Ok(_) => rows += 1,
            Err(sqlx::Error::Database(error)) if error.message().contains("try restarting") => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(rows)
}

/// Checks that every server has the new column, all rows, and no lock.
async fn check(test_cluster: &'static TestCluster, database: &str, written: u64) -> Result<()> {
    for number in 0..test_cluster.ports.len() {
        // The store reads causally, so the server is up to date afterwards.
        lines(&test_cluster.store(number, database, Limits::default()), "one").await?;
        let query = format!(
            "SELECT (SELECT COUNT(*) FROM {database}.osier_entries WHERE session = 'old' AND tally IS NULL),
             (SELECT COUNT(*) FROM {database}.osier_locks WHERE session = ''), (SELECT COUNT(*) FROM {database}.osier_schema)"
        );
        let row = test_cluster.admin(number).await?.fetch_one(AssertSqlSafe(query)).await?;
        let (rows, locks, versions) = (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?);
        let (found, expected): ((i64, i64, i64), _) = ((rows, locks, versions), (written as i64, 0, 5));
        if found != expected {
            return Err(format!(
                "server {number} has (rows, locks, versions) {found:?} instead of {expected:?}"
            )
            .into());
        }
    }
    Ok(())
}
