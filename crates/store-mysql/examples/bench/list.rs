//! Measures the first page of a list of many sessions.

use std::time::Instant;

use osier_store::{SessionFilter, Store};
use osier_store_mysql::MySqlStore;
use sqlx::{AssertSqlSafe, Executor};
use tokio::task::JoinSet;

use crate::table::{median, print_row};
use crate::{BenchDatabase, Result, baseline, header, line};

const PAGE: usize = 50;

/// The number of recent sessions that are open for writing, in addition to one session of `LONG` lines.
const OPEN: usize = 8;
const LONG: usize = 10_000;

const TARGET: Option<f64> = Some(3.0);

pub(crate) async fn measure(bench: &BenchDatabase, quick: bool) -> Result<()> {
    let count = if quick { 1_000 } else { 10_000 };
    make(bench, count).await?;
    let (store, people) = (bench.store(), bench.store());
    let lines: Vec<Vec<u8>> = (0..LONG).map(line).collect();
    people.create(&header("list-long"), &lines).await?;
    first_page(&store, bench, &format!("first {PAGE} of {count} sessions")).await?;
    let newest = (0..count).rev().step_by(PAGE / OPEN).take(OPEN).map(|at| format!("list-{at}"));
    let mut open = Vec::new();
    for name in newest.chain(["list-long".to_owned()]) {
        open.push(people.watch(&name).await?);
        for number in 0..2 {
            let version = people.open(&name).await?.version;
            people.append(&name, version, &[line(2 * LONG + number)]).await?;
        }
    }
    first_page(&store, bench, &format!("first {PAGE} of {count}, {} being written to", open.len())).await?;
    people.close().await;
    Ok(())
}

/// Measures the first page of all sessions, and of the sessions of one directory.
async fn first_page(store: &MySqlStore, bench: &BenchDatabase, what: &str) -> Result<()> {
    let mut reader = baseline::Reader::new(bench).await?;
    for (where_, cwd) in [("", None), (", of a directory", Some("/here".into()))] {
        let filter = SessionFilter { limit: Some(PAGE), cwd, ..SessionFilter::default() };
        store.list(&filter).await?;
        let (mut floor, mut times) = (Vec::new(), Vec::new());
        // Alternate, so that other load on the machine affects both.
        for _ in 0..300 {
            floor.push(reader.read().await?);
            let started = Instant::now();
            store.list(&filter).await?;
            times.push(started.elapsed());
        }
        print_row(&format!("{what}{where_}"), median(times), median(floor), TARGET);
    }
    Ok(())
}

/// Creates the sessions. Disables flushing meanwhile, because otherwise this would take minutes.
async fn make(bench: &BenchDatabase, count: usize) -> Result<()> {
    const MAKERS: usize = 8;
    flush(bench, 0).await?;
    let mut makers = JoinSet::new();
    for maker in 0..MAKERS {
        let store = bench.store();
        makers.spawn(async move {
            for at in (maker..count).step_by(MAKERS) {
                store.create(&header(&format!("list-{at}")), &[line(at)]).await.expect("create a session");
            }
        });
    }
    makers.join_all().await;
    flush(bench, 1).await
}

async fn flush(bench: &BenchDatabase, when: u8) -> Result<()> {
    let mut admin = <sqlx::MySqlConnection as sqlx::Connection>::connect(&bench.admin).await?;
    admin.execute(AssertSqlSafe(format!("SET GLOBAL innodb_flush_log_at_trx_commit = {when}"))).await?;
    Ok(())
}
