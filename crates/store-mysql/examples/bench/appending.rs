//! Appends by one, 8 and 64 writers at once, each to a session of its own. Rounds of bare inserts and of appends take turns,
//! so that whatever else the machine does hits both.

use std::time::{Duration, Instant};

use osier_store::{Store, Version};
use osier_store_mysql::MySqlStore;
use sqlx::MySqlConnection;
use tokio::task::JoinSet;

use crate::table::{median, row};
use crate::{Bench, Result, floor, header, line};

const TARGET: Option<f64> = Some(1.5);

pub(crate) async fn measure(bench: &Bench, quick: bool) -> Result<()> {
    let (rounds, appends) = if quick { (3, 256) } else { (9, 1024) };
    for writers in [1, 8, 64] {
        let each = (appends / writers).max(16);
        let mut bare = bare_writers(bench, writers).await?;
        let mut ours = store_writers(bench, writers).await?;
        let (mut floor, mut measured) = (Round::default(), Round::default());
        for round in 0..=rounds {
            let (a, b);
            (bare, a) = insert(bare, each).await;
            (ours, b) = append(ours, each).await;
            // The first one is for statements to be prepared.
            if round > 0 {
                floor.add(a);
                measured.add(b);
            }
        }
        row(
            &format!("append, {writers} at once: until it is stored"),
            measured.latency(),
            floor.latency(),
            TARGET,
        );
        row(
            &format!("append, {writers} at once: all appends / count"),
            measured.share(),
            floor.share(),
            TARGET,
        );
    }
    Ok(())
}

/// Times of single calls, and the time of all divided by their number.
#[derive(Debug, Default)]
struct Round {
    calls: Vec<Duration>,
    shares: Vec<Duration>,
}

impl Round {
    fn add(&mut self, other: Round) {
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

struct Bare {
    connection: MySqlConnection,
    session: String,
    at: usize,
}

async fn bare_writers(bench: &Bench, writers: usize) -> Result<Vec<Bare>> {
    let mut bare = Vec::new();
    for writer in 0..writers {
        let session = format!("append-{writers}-{writer}");
        bare.push(Bare { connection: bench.connect().await?, session, at: 0 });
    }
    Ok(bare)
}

async fn insert(writers: Vec<Bare>, each: usize) -> (Vec<Bare>, Round) {
    let all = writers.len() * each;
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for mut writer in writers {
        tasks.spawn(async move {
            let mut calls = Vec::with_capacity(each);
            for _ in 0..each {
                let begin = Instant::now();
                floor::insert(&mut writer.connection, &writer.session, writer.at).await.expect("an insert");
                writer.at += 1;
                calls.push(begin.elapsed());
            }
            (writer, calls)
        });
    }
    collected(tasks.join_all().await, begin, all)
}

struct Ours {
    store: MySqlStore,
    session: String,
    version: Version,
}

async fn store_writers(bench: &Bench, writers: usize) -> Result<Vec<Ours>> {
    let mut ours = Vec::new();
    for writer in 0..writers {
        let (store, session) = (bench.store(), format!("append-{writers}-{writer}"));
        let version = store.create(&header(&session), &[]).await?.version;
        ours.push(Ours { store, session, version });
    }
    Ok(ours)
}

async fn append(writers: Vec<Ours>, each: usize) -> (Vec<Ours>, Round) {
    let all = writers.len() * each;
    let begin = Instant::now();
    let mut tasks = JoinSet::new();
    for mut writer in writers {
        tasks.spawn(async move {
            let mut calls = Vec::with_capacity(each);
            for _ in 0..each {
                let begin = Instant::now();
                let lines = [line(writer.version.entries)];
                let appended = writer.store.append(&writer.session, writer.version, &lines).await;
                writer.version = appended.expect("an append");
                calls.push(begin.elapsed());
            }
            (writer, calls)
        });
    }
    collected(tasks.join_all().await, begin, all)
}

fn collected<W>(done: Vec<(W, Vec<Duration>)>, begin: Instant, all: usize) -> (Vec<W>, Round) {
    let share = begin.elapsed() / all as u32;
    let (writers, calls): (Vec<W>, Vec<Vec<Duration>>) = done.into_iter().unzip();
    (writers, Round { calls: calls.concat(), shares: vec![share] })
}
