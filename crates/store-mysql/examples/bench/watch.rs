//! Measures how many queries idle watches cause, by the server's own counter.

use std::time::Duration;

use osier_store::Store;
use sqlx::{Connection, Executor, MySqlConnection, Row};

use crate::table::print_value;
use crate::{BenchDatabase, Result, header, line};

/// The store polls more often in the first seconds after a change.
const SETTLE: Duration = Duration::from_secs(12);
const WATCHED: Duration = Duration::from_secs(20);

pub(crate) async fn measure(bench: &BenchDatabase) -> Result<()> {
    let store = bench.store();
    let mut watches = Vec::new();
    for at in 0..20 {
        let id = format!("watch-{at}");
        store.create(&header(&id), &[line(0)]).await?;
        watches.push(store.watch(&id).await?);
    }
    let mut admin = MySqlConnection::connect(&bench.admin).await?;
    tokio::time::sleep(SETTLE).await;
    let before = query_count(&mut admin).await?;
    tokio::time::sleep(WATCHED).await;
    // One of them is this query itself.
    let count = query_count(&mut admin).await? - before - 1;
    let per_minute = count as f64 * 60.0 / WATCHED.as_secs_f64();
    print_value(&format!("queries per minute, {} idle sessions", watches.len()), &format!("{per_minute:.0}"));
    Ok(())
}

async fn query_count(admin: &mut MySqlConnection) -> Result<u64> {
    let row = admin.fetch_one("SHOW GLOBAL STATUS LIKE 'Questions'").await?;
    Ok(row.try_get::<String, _>(1)?.parse()?)
}
