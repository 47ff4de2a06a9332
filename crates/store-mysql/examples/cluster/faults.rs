//! Writers on all servers while one or two of these are killed, frozen or cut off, and come back: no acknowledged entry is lost or stored twice, and
//! all servers have the same data. Meanwhile, no session is deleted while it is open.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use osier_store::{LogVersion, Store, StoreError};
use osier_store_mysql::server::{GaleraCluster, MariaDbServer};
use osier_store_mysql::{Limits, MySqlStore};
use sqlx::{AssertSqlSafe, Executor};

use crate::sessions::{create, lines, message};
use crate::{Result, TestCluster, deletion_race, percentiles, store_at};

const SESSION: &str = "shared";

/// The number of writers that share one session, and of writers with their own session.
const SHARED_WRITERS: usize = 3;
const SOLO_WRITERS: usize = 3;

/// The result of one writer.
struct WriterResult {
    session: String,
    prefix: String,
    acknowledged: usize,
    /// The duration of each append, including retries.
    times: Vec<Duration>,
    longest_call: Duration,
    failed_calls: usize,
}

pub(crate) async fn run(
    test_cluster: &'static TestCluster,
    cluster: &'static GaleraCluster,
    seconds: u64,
    seed: u64,
) -> Result<()> {
    println!("== {} writers for {seconds} s, with faults (seed {seed})", SHARED_WRITERS + SOLO_WRITERS);
    let database = test_cluster.database().await?;
    let first = test_cluster.store(0, &database, Limits::default());
    let shared = create(&first, SESSION).await?;
    let ended = Arc::new(AtomicBool::new(false));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..SHARED_WRITERS + SOLO_WRITERS {
        let store = store_at(&test_cluster.url_from(writer, &database), Limits::default());
        let (session, version) = match writer < SHARED_WRITERS {
            true => (SESSION.to_owned(), shared),
            false => (format!("own{writer}"), create(&first, &format!("own{writer}")).await?),
        };
        writers.spawn(write(store, session, version, format!("{writer:02}"), ended.clone()));
    }
    let races = tokio::spawn(deletion_race::run_until(test_cluster, database.clone(), ended.clone()));
    let faults = inject_faults(test_cluster, cluster, Duration::from_secs(seconds), seed).await;
    ended.store(true, Ordering::Relaxed);
    let mut written = Vec::new();
    while let Some(done) = writers.join_next().await {
        written.push(done??);
    }
    let counts = faults?;
    test_cluster.ready().await?;
    let all: usize = written.iter().map(|written| written.acknowledged).sum();
    println!("{all} entries acknowledged; {counts}");
    for (name, is_shared) in [("one session for all", true), ("a session each", false)] {
        let some: Vec<&WriterResult> =
            written.iter().filter(|one| (one.session == SESSION) == is_shared).collect();
        let times = some.iter().flat_map(|written| written.times.iter().copied()).collect();
        let failed: usize = some.iter().map(|written| written.failed_calls).sum();
        let longest = some.iter().map(|written| written.longest_call).max().unwrap_or_default();
        println!(
            "{name}: {}; {failed} calls failed, the longest call took {:.1} s",
            percentiles(times),
            longest.as_secs_f32()
        );
    }
    let races = races.await??;
    println!("delete a session while it is opened: {races}");
    races.check()?;
    check(test_cluster, &database, &written).await
}

/// Appends until it is stopped, and retries while no server is available.
async fn write(
    store: MySqlStore,
    session: String,
    mut version: LogVersion,
    prefix: String,
    ended: Arc<AtomicBool>,
) -> Result<WriterResult> {
    let mut written = WriterResult {
        session,
        prefix,
        acknowledged: 0,
        times: Vec::new(),
        longest_call: Duration::ZERO,
        failed_calls: 0,
    };
    let mut open = store.watch(&written.session).await.ok();
    while !ended.load(Ordering::Relaxed) {
        let line = message(&format!("{}{:06}", written.prefix, written.acknowledged));
        let started = Instant::now();
        loop {
            let call = Instant::now();
            let appended = store.append(&written.session, version, std::slice::from_ref(&line)).await;
            written.longest_call = written.longest_call.max(call.elapsed());
            match appended {
                Ok(now) => break version = now,
                Err(StoreError::Conflict { now }) => version = now,
                Err(StoreError::Unavailable { .. } | StoreError::Refused { .. }) => {
                    written.failed_calls += 1;
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
                Err(error) => return Err(format!("{}: {error:?}", written.prefix).into()),
            }
        }
        written.times.push(started.elapsed());
        written.acknowledged += 1;
        if open.is_none() {
            open = store.watch(&written.session).await.ok();
        }
    }
    store.close().await;
    Ok(written)
}

/// A fault of one or two servers. Without the other two, the third server has no majority and refuses everything.
#[derive(Debug, Clone, Copy)]
enum Fault {
    Kill,
    Freeze,
    Isolate,
    FreezeTwo,
    IsolateTwo,
}

const FAULTS: &[(Fault, &str)] = &[
    (Fault::Kill, "one killed"),
    (Fault::Freeze, "one frozen"),
    (Fault::Isolate, "one cut off"),
    (Fault::FreezeTwo, "two frozen"),
    (Fault::IsolateTwo, "two cut off"),
];

/// Injects one fault after another until the time is over, each kind in turn.
async fn inject_faults(
    test_cluster: &'static TestCluster,
    cluster: &'static GaleraCluster,
    length: Duration,
    seed: u64,
) -> Result<String> {
    let (started, mut random) = (Instant::now(), seed);
    let first = next(&mut random) as usize;
    let mut counts = vec![0; FAULTS.len()];
    for kind in (first..).map(|number| number % FAULTS.len()) {
        if started.elapsed() >= length {
            break;
        }
        tokio::time::sleep(Duration::from_millis(500 + next(&mut random) % 1500)).await;
        let number = next(&mut random) as usize % cluster.servers().len();
        let away = Duration::from_millis(200 + next(&mut random) % 7000);
        inject_fault(test_cluster, cluster, FAULTS[kind].0, number, away).await?;
        counts[kind] += 1;
        test_cluster.ready().await?;
    }
    let counts: Vec<String> =
        FAULTS.iter().zip(counts).map(|((_, name), count)| format!("{name} {count} times")).collect();
    Ok(counts.join(", "))
}

/// Causes a fault, waits, and ends it.
async fn inject_fault(
    test_cluster: &'static TestCluster,
    cluster: &'static GaleraCluster,
    fault: Fault,
    number: usize,
    away: Duration,
) -> Result<()> {
    let count = if matches!(fault, Fault::FreezeTwo | Fault::IsolateTwo) { 2 } else { 1 };
    let numbers: Vec<usize> = (number..number + count).map(|at| at % cluster.servers().len()).collect();
    let servers: Vec<&MariaDbServer> = numbers.iter().map(|at| &cluster.servers()[*at]).collect();
    match fault {
        Fault::Kill => {
            servers[0].kill()?;
            tokio::time::sleep(away).await;
            tokio::task::spawn_blocking(move || cluster.rejoin(number)).await??;
        }
        Fault::Freeze | Fault::FreezeTwo => {
            servers.iter().try_for_each(|server| server.freeze())?;
            tokio::time::sleep(away).await;
            servers.iter().try_for_each(|server| server.thaw())?;
        }
        Fault::Isolate | Fault::IsolateTwo => {
            // Connect first: an isolated server may refuse connections.
            let mut admins = Vec::new();
            for at in numbers {
                admins.push(test_cluster.admin(at).await?);
            }
            for (option, pause) in [("gmcast.isolate=1", away), ("gmcast.isolate=0", Duration::ZERO)] {
                for admin in &mut admins {
                    let set = format!("SET GLOBAL wsrep_provider_options = '{option}'");
                    admin.execute(AssertSqlSafe(set)).await?;
                }
                tokio::time::sleep(pause).await;
            }
        }
    }
    Ok(())
}

/// A small random number generator. The same seed gives the same faults.
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

async fn check(test_cluster: &'static TestCluster, database: &str, written: &[WriterResult]) -> Result<()> {
    let mut logs: HashMap<&str, Vec<Vec<u8>>> = HashMap::new();
    for number in 0..test_cluster.ports.len() {
        let store = test_cluster.store(number, database, Limits::default());
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
