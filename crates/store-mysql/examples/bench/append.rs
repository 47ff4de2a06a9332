//! Measures appends by 1, 8, and 64 concurrent writers, each to its own session or all to one. Rounds of bare inserts and of
//! appends alternate, so that other load on the machine affects both.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use osier_store::{LogVersion, Store, StoreError, Watch};
use osier_store_mysql::MySqlStore;
use sqlx::MySqlConnection;
use tokio::task::JoinSet;

use crate::table::{median, print_row};
use crate::{BenchDatabase, Result, baseline, header, line};

const TARGET: Option<f64> = Some(1.5);

pub(crate) async fn measure(bench: &BenchDatabase, quick: bool) -> Result<()> {
    let (rounds, appends) = if quick { (3, 256) } else { (9, 1024) };
    for (writers, sessions, open) in
        [(1, 1, true), (8, 8, true), (64, 64, true), (8, 1, true), (64, 1, true), (1, 1, false)]
    {
        let least = if writers == sessions { 64 } else { 16 };
        let each = (appends / writers).max(least);
        let mut bare = bare_writers(bench, writers, sessions, open).await?;
        let mut ours = store_writers(bench, writers, sessions, open).await?;
        let (mut floor, mut measured) = (Timings::default(), Timings::default());
        for round in 0..=rounds {
            let (a, b);
            (bare, a) = insert(bare, each).await;
            (ours, b) = append(ours, each).await;
            // The first round only prepares the statements.
            if round > 0 {
                floor.add(a);
                measured.add(b);
            }
        }
        // No target: bare inserts do not conflict but appends to one session do, and an append to a session that is not open
        // also updates its row.
        let without_target = match open {
            false => Some("append to a session that is not open".to_owned()),
            true if writers > sessions => Some(format!("append, {writers} to one session: all / count")),
            true => None,
        };
        if let Some(what) = without_target {
            print_row(&what, measured.share(), floor.share(), None);
            continue;
        }
        let what = format!("append, {writers} at once");
        print_row(&format!("{what}: until it is stored"), measured.latency(), floor.latency(), TARGET);
        print_row(&format!("{what}: all appends / count"), measured.share(), floor.share(), TARGET);
    }
    Ok(())
}

/// The time of each call, and the total time divided by the number of calls.
#[derive(Debug, Default)]
struct Timings {
    calls: Vec<Duration>,
    shares: Vec<Duration>,
}

impl Timings {
    fn add(&mut self, other: Timings) {
        self.calls.extend(other.calls);
        self.shares.extend(other.shares);
    }

    fn latency(&self) -> Duration {
        median(self.calls.clone())
    }

    fn share(&self) -> Duration {
        median(self.shares.clone())
    }
}

struct BareWriter {
    connection: MySqlConnection,
    session: String,
    /// Shared by all writers of the session.
    next: Arc<AtomicUsize>,
}

async fn bare_writers(
    bench: &BenchDatabase,
    writers: usize,
    sessions: usize,
    open: bool,
) -> Result<Vec<BareWriter>> {
    let places: Vec<Arc<AtomicUsize>> = (0..sessions).map(|_| Arc::default()).collect();
    let mut bare = Vec::new();
    for writer in 0..writers {
        let (session, next) = (name(writers, sessions, writer, open), places[writer % sessions].clone());
        bare.push(BareWriter { connection: bench.connect().await?, session, next });
    }
    Ok(bare)
}

fn name(writers: usize, sessions: usize, writer: usize, open: bool) -> String {
    format!("append-{writers}-{sessions}-{}-{open}", writer % sessions)
}

async fn insert(writers: Vec<BareWriter>, each: usize) -> (Vec<BareWriter>, Timings) {
    let all = writers.len() * each;
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for mut writer in writers {
        tasks.spawn(async move {
            let mut calls = Vec::with_capacity(each);
            for _ in 0..each {
                let started = Instant::now();
                let at = writer.next.fetch_add(1, Ordering::Relaxed);
                baseline::insert(&mut writer.connection, &writer.session, at).await.expect("insert a row");
                calls.push(started.elapsed());
            }
            (writer, calls)
        });
    }
    collect_timings(tasks.join_all().await, started, all)
}

struct StoreWriter {
    number: usize,
    store: MySqlStore,
    session: String,
    version: LogVersion,
    /// Keeps the session open.
    _open: Option<Watch>,
}

async fn store_writers(
    bench: &BenchDatabase,
    writers: usize,
    sessions: usize,
    open: bool,
) -> Result<Vec<StoreWriter>> {
    let mut ours = Vec::new();
    for writer in 0..writers {
        let (store, session) = (bench.store(), name(writers, sessions, writer, open));
        let version = match writer < sessions {
            true => store.create(&header(&session), &[]).await?.version,
            false => store.open(&session).await?.version,
        };
        let _open = if open { Some(store.watch(&session).await?) } else { None };
        ours.push(StoreWriter { number: writer, store, session, version, _open });
    }
    Ok(ours)
}

/// Appends an entry, and retries if another writer was faster.
async fn append_one(writer: &mut StoreWriter) {
    loop {
        let mut line = line(writer.version.entries);
        // Each writer appends a different line; otherwise the store would take it for a repeated append.
        let number_at = line.len() - r#"xxxx"}}"#.len();
        line[number_at..number_at + 4].copy_from_slice(format!("{:04}", writer.number).as_bytes());
        match writer.store.append(&writer.session, writer.version, &[line]).await {
            Err(StoreError::Conflict { now }) => writer.version = now,
            appended => break writer.version = appended.expect("append an entry"),
        }
    }
}

async fn append(writers: Vec<StoreWriter>, each: usize) -> (Vec<StoreWriter>, Timings) {
    let all = writers.len() * each;
    let started = Instant::now();
    let mut tasks = JoinSet::new();
    for mut writer in writers {
        tasks.spawn(async move {
            let mut calls = Vec::with_capacity(each);
            for _ in 0..each {
                let started = Instant::now();
                append_one(&mut writer).await;
                calls.push(started.elapsed());
            }
            (writer, calls)
        });
    }
    collect_timings(tasks.join_all().await, started, all)
}

fn collect_timings<W>(done: Vec<(W, Vec<Duration>)>, started: Instant, all: usize) -> (Vec<W>, Timings) {
    let share = started.elapsed() / all as u32;
    let (writers, calls): (Vec<W>, Vec<Vec<Duration>>) = done.into_iter().unzip();
    (writers, Timings { calls: calls.concat(), shares: vec![share] })
}
