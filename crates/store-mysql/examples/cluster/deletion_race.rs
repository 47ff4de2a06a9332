//! A client of one server deletes a session while a client of another server opens it or starts a turn in it: exactly one of
//! the two succeeds, also while servers fail.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use osier_store::{Lease, Store, StoreError};
use osier_store_mysql::{Limits, MySqlStore};

use crate::sessions::create;
use crate::{Result, TestCluster, store_at};

/// If a round takes longer, because no server was available, a record of an open session may have expired.
const MAX_ROUND: Duration = Duration::from_secs(20);

const RETRY_DELAY: Duration = Duration::from_millis(100);

/// How the rounds ended.
#[derive(Debug, Default)]
pub(crate) struct RaceCounts {
    refused: usize,
    deleted: usize,
    /// A server was unavailable, so at least one of the clients got an error.
    interrupted: usize,
    inconsistent: Vec<String>,
}

impl fmt::Display for RaceCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let RaceCounts { refused, deleted, interrupted, inconsistent } = self;
        let inconsistent = inconsistent.len();
        write!(
            f,
            "{refused} refused, {deleted} deleted, {interrupted} interrupted, {inconsistent} inconsistent"
        )
    }
}

impl RaceCounts {
    pub(crate) fn add(&mut self, other: RaceCounts) {
        self.refused += other.refused;
        self.deleted += other.deleted;
        self.interrupted += other.interrupted;
        self.inconsistent.extend(other.inconsistent);
    }

    /// Fails if a session was deleted although it was open, or was neither deleted nor opened.
    pub(crate) fn check(&self) -> Result<()> {
        match self.inconsistent.first() {
            None => Ok(()),
            Some(first) => {
                Err(format!("deleting and opening a session gave inconsistent results: {first}").into())
            }
        }
    }
}

pub(crate) async fn run(test_cluster: &'static TestCluster, database: &str, rounds: usize) -> Result<()> {
    println!("== delete a session while a client of another server opens it or starts a turn");
    let lanes = test_cluster.ports.len();
    let mut running = tokio::task::JoinSet::new();
    for lane in 0..lanes {
        let race = Race::new(test_cluster, database, lane);
        running.spawn(async move {
            let mut counts = RaceCounts::default();
            for round in 0..rounds.div_ceil(lanes) {
                race.run_round(round, &mut counts).await?;
            }
            Result::Ok(counts)
        });
    }
    let mut all = RaceCounts::default();
    while let Some(counts) = running.join_next().await {
        all.add(counts??);
    }
    println!("{all}");
    match all.interrupted {
        0 => all.check(),
        _ => Err("a call failed although all servers were available".into()),
    }
}

/// Runs rounds until `ended` is set, while servers fail.
pub(crate) async fn run_until(
    test_cluster: &'static TestCluster,
    database: String,
    ended: Arc<AtomicBool>,
) -> Result<RaceCounts> {
    let race = Race::new(test_cluster, &database, 0);
    let mut counts = RaceCounts::default();
    for round in 0.. {
        if ended.load(Ordering::Relaxed) {
            break;
        }
        race.run_round(round, &mut counts).await?;
    }
    Ok(counts)
}

/// The clients of one sequence of rounds.
struct Race {
    lane: usize,
    deleter: MySqlStore,
    opener: MySqlStore,
    observer: MySqlStore,
}

impl Race {
    fn new(test_cluster: &TestCluster, database: &str, lane: usize) -> Race {
        let store = |number| store_at(&test_cluster.url_from(number, database), Limits::default());
        Race { lane, deleter: store(lane + 1), opener: store(lane + 2), observer: store(lane) }
    }

    async fn run_round(&self, round: usize, counts: &mut RaceCounts) -> Result<()> {
        let id = format!("race{}x{round}", self.lane);
        // While servers fail, an attempt can return an error and still create the session.
        while create(&self.observer, &id).await.is_err() && !self.session_exists(&id).await? {
            tokio::time::sleep(RETRY_DELAY).await;
        }
        let started = Instant::now();
        let round = match round % 2 {
            0 => {
                let (deleted, watch) = tokio::join!(self.deleter.delete(&id), self.opener.watch(&id));
                let exists = self.session_exists(&id).await?;
                RoundResult { deleted: deleted.map(|result| result.deleted), opened: watch.map(drop), exists }
            }
            _ => {
                let lease = turn(&id, round as u64);
                let acquire = self.opener.acquire_lease(&lease, &|_| true);
                let (deleted, opened) = tokio::join!(self.deleter.delete(&id), acquire);
                let exists = self.session_exists(&id).await?;
                self.opener.release_lease(&lease).await;
                RoundResult { deleted: deleted.map(|result| result.deleted), opened, exists }
            }
        };
        if started.elapsed() > MAX_ROUND {
            counts.interrupted += 1;
        } else {
            round.count(counts);
        }
        Ok(())
    }

    async fn session_exists(&self, id: &str) -> Result<bool> {
        loop {
            match self.observer.find_ids(id).await {
                Err(error) if is_outage(&error) => tokio::time::sleep(RETRY_DELAY).await,
                found => return Ok(found?.iter().any(|found| found == id)),
            }
        }
    }
}

/// The replies to both clients, and whether the session exists afterwards, while it is still open.
#[derive(Debug)]
struct RoundResult {
    deleted: std::result::Result<bool, StoreError>,
    opened: std::result::Result<(), StoreError>,
    exists: bool,
}

impl RoundResult {
    fn count(self, counts: &mut RaceCounts) {
        match (&self.deleted, &self.opened, self.exists) {
            (Err(StoreError::Busy { .. }), Ok(()), true) => counts.refused += 1,
            (Ok(true), Err(StoreError::NotFound { .. }), false) => counts.deleted += 1,
            (Err(deleted), Ok(()), true) if is_outage(deleted) => counts.interrupted += 1,
            (Err(deleted), Err(StoreError::NotFound { .. }), false) if is_outage(deleted) => {
                counts.interrupted += 1;
            }
            (Err(StoreError::Busy { .. }), Err(opened), true) if is_outage(opened) => counts.interrupted += 1,
            (Ok(true), Err(opened), false) if is_outage(opened) => counts.interrupted += 1,
            (Err(deleted), Err(opened), _) if is_outage(deleted) && is_outage(opened) => {
                counts.interrupted += 1;
            }
            _ => counts.inconsistent.push(format!("{self:?}")),
        }
    }
}

fn turn(session: &str, cursor: u64) -> Lease {
    Lease {
        session: session.to_owned(),
        cursor,
        entry: None,
        branch: None,
        process: 1,
        host: String::new(),
        expires: None,
    }
}

fn is_outage(error: &StoreError) -> bool {
    matches!(error, StoreError::Unavailable { .. } | StoreError::Refused { .. })
}
