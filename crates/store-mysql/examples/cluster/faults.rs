//! Writers on all servers while these are killed, frozen, and brought back: no acknowledged entry is lost or stored twice, and
//! all servers have the same data.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use osier_store::{LogVersion, Store, StoreError};
use osier_store_mysql::server::GaleraCluster;
use osier_store_mysql::{Limits, MySqlStore};

use crate::sessions::{create, lines, message};
use crate::{Result, TestCluster, store_at};

const SESSION: &str = "shared";

/// The number of writers that share one session, and of writers with their own session.
const SHARED_WRITERS: usize = 3;
const SOLO_WRITERS: usize = 3;

/// The result of one writer.
struct WriterResult {
    session: String,
    prefix: String,
    acknowledged: usize,
    longest: Duration,
}

pub(crate) async fn run(
    group: &'static TestCluster,
    cluster: &'static GaleraCluster,
    seconds: u64,
    seed: u64,
) -> Result<()> {
    println!("== {} writers for {seconds} s, with faults (seed {seed})", SHARED_WRITERS + SOLO_WRITERS);
    let database = group.database().await?;
    let first = group.store(0, &database, Limits::default());
    let shared = create(&first, SESSION).await?;
    let ended = Arc::new(AtomicBool::new(false));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..SHARED_WRITERS + SOLO_WRITERS {
        let store = store_at(&group.url_from(writer, &database), Limits::default());
        let (session, version) = match writer < SHARED_WRITERS {
            true => (SESSION.to_owned(), shared),
            false => (format!("own{writer}"), create(&first, &format!("own{writer}")).await?),
        };
        writers.spawn(write(store, session, version, format!("{writer:02}"), ended.clone()));
    }
    let faults = inject_faults(group, cluster, Duration::from_secs(seconds), seed).await;
    ended.store(true, Ordering::Relaxed);
    let mut written = Vec::new();
    while let Some(done) = writers.join_next().await {
        written.push(done??);
    }
    let counts = faults?;
    group.ready().await?;
    let all: usize = written.iter().map(|written| written.acknowledged).sum();
    let longest = written.iter().map(|written| written.longest).max().unwrap_or_default();
    println!("{all} entries acknowledged; {counts}; the longest append took {:.1} s", longest.as_secs_f32());
    check(group, &database, &written).await
}

/// Appends until it is stopped, and retries while no server is available.
async fn write(
    store: MySqlStore,
    session: String,
    mut version: LogVersion,
    prefix: String,
    ended: Arc<AtomicBool>,
) -> Result<WriterResult> {
    let mut written = WriterResult { session, prefix, acknowledged: 0, longest: Duration::ZERO };
    let mut open = store.watch(&written.session).await.ok();
    while !ended.load(Ordering::Relaxed) {
        let line = message(&format!("{}{:06}", written.prefix, written.acknowledged));
        let begin = Instant::now();
        loop {
            match store.append(&written.session, version, std::slice::from_ref(&line)).await {
                Ok(now) => break version = now,
                Err(StoreError::Conflict { now }) => version = now,
                Err(StoreError::Unavailable { .. } | StoreError::Refused { .. }) => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(error) => return Err(format!("{}: {error:?}", written.prefix).into()),
            }
        }
        written.longest = written.longest.max(begin.elapsed());
        written.acknowledged += 1;
        if open.is_none() {
            open = store.watch(&written.session).await.ok();
        }
    }
    store.close().await;
    Ok(written)
}

/// Kills or freezes one server at a time, and brings it back.
async fn inject_faults(
    group: &'static TestCluster,
    cluster: &'static GaleraCluster,
    length: Duration,
    seed: u64,
) -> Result<String> {
    let (begin, mut random) = (Instant::now(), seed);
    let mut counts = HashMap::from([("killed", 0), ("frozen", 0)]);
    while begin.elapsed() < length {
        tokio::time::sleep(Duration::from_millis(500 + next(&mut random) % 1500)).await;
        let number = next(&mut random) as usize % cluster.servers().len();
        let server = &cluster.servers()[number];
        let away = Duration::from_millis(200 + next(&mut random) % 7000);
        if next(&mut random).is_multiple_of(2) {
            *counts.entry("killed").or_default() += 1;
            server.kill()?;
            tokio::time::sleep(away).await;
            tokio::task::spawn_blocking(move || cluster.rejoin(number)).await??;
        } else {
            *counts.entry("frozen").or_default() += 1;
            server.freeze()?;
            tokio::time::sleep(away).await;
            server.thaw()?;
        }
        group.ready().await?;
    }
    Ok(format!("killed a server {} times, froze a server {} times", counts["killed"], counts["frozen"]))
}

/// A small random number generator. The same seed gives the same faults.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

async fn check(group: &'static TestCluster, database: &str, written: &[WriterResult]) -> Result<()> {
    let mut logs: HashMap<&str, Vec<Vec<u8>>> = HashMap::new();
    for number in 0..group.ports.len() {
        let store = group.store(number, database, Limits::default());
        for writer in written {
            let stored = lines(&store, &writer.session).await?;
            let log = logs.entry(&writer.session).or_insert_with(|| stored.clone());
            if *log != stored {
                return Err(format!("server {number} has a different log of {}", writer.session).into());
            }
        }
    }
    for writer in written {
        let own = format!("\"id\":\"{}", writer.prefix);
        let stored = logs[&*writer.session].iter();
        let stored: Vec<_> = stored.filter(|line| String::from_utf8_lossy(line).contains(&own)).collect();
        let expected: Vec<_> =
            (0..writer.acknowledged).map(|at| message(&format!("{}{at:06}", writer.prefix))).collect();
        if !stored.iter().copied().eq(&expected) {
            let counts = format!("{} stored, {} acknowledged", stored.len(), expected.len());
            return Err(format!("writer {} in {}: {counts}", writer.prefix, writer.session).into());
        }
    }
    println!("no entry lost or stored twice; all servers have the same data");
    Ok(())
}
