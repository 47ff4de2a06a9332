//! Many writers in one session: every writer gets its turn.

use std::time::{Duration, Instant};

use osier_store::{Store, StoreError};
use osier_store_mysql::{Limits, MySqlStore};

use crate::sessions::{create, message};
use crate::{Result, TestCluster, percentiles};

const WRITERS: usize = 24;

const DURATION: Duration = Duration::from_secs(20);

/// A writer whose append takes longer starves. The numbers of appends differ much more than the times: between two rounds of the
/// queue, the last writer appends as fast as it can.
const MAX_WAIT: Duration = Duration::from_secs(10);

pub(crate) async fn run(test_cluster: &'static TestCluster) -> Result<()> {
    println!("== {WRITERS} writers in one session");
    let database = test_cluster.database().await?;
    create(&test_cluster.store(0, &database, Limits::default()), "crowded").await?;
    let end = Instant::now() + DURATION;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..WRITERS {
        writers.spawn(write(test_cluster.store(writer, &database, Limits::default()), writer, end));
    }
    let mut all: Vec<Vec<Duration>> = Vec::new();
    while let Some(times) = writers.join_next().await {
        all.push(times??);
    }
    let (fewest, most) = (all.iter().map(Vec::len).min(), all.iter().map(Vec::len).max());
    let (fewest, most) = (fewest.unwrap_or_default(), most.unwrap_or_default());
    let times = all.concat();
    let longest = times.iter().max().copied().unwrap_or_default();
    println!("{}; each writer {fewest} to {most}", percentiles(times));
    match fewest > 0 && longest <= MAX_WAIT {
        true => Ok(()),
        false => Err("a writer starved".into()),
    }
}

/// Appends until `end`. Returns how long each append took.
async fn write(store: MySqlStore, writer: usize, end: Instant) -> Result<Vec<Duration>> {
    let (mut version, mut times) = (store.open("crowded").await?.version, Vec::new());
    let _open = store.watch("crowded").await?;
    while Instant::now() < end {
        let line = message(&format!("{writer:02}{:06}", times.len()));
        let started = Instant::now();
        version = loop {
            match store.append("crowded", version, std::slice::from_ref(&line)).await {
                Err(StoreError::Conflict { now }) => version = now,
                done => break done?,
            }
        };
        times.push(started.elapsed());
    }
    store.close().await;
    Ok(times)
}
