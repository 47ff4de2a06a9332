//! Watches sessions: polls for changes about once a second, with one small query for all watched sessions of this process, and
//! records for other processes that the sessions are open here. While no session is watched, no query runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use osier_store::{LogVersion, StoreError, Watch};
use rustc_hash::FxHashMap;
use sqlx::{AssertSqlSafe, MySqlConnection, Row};
use tokio::sync::{Mutex as AsyncMutex, Notify, watch};

use crate::connections::Connection;
use crate::failure::Failure;
use crate::holding::{self, Holder, padded};
use crate::locks;
use crate::rows::{self, newest, open_mark};
use crate::store::{Inner, attempt};

/// The poll intervals while other processes write, and while they do not. Both stay below the promised second.
const LIVELY: Duration = Duration::from_millis(350);
const QUIET: Duration = Duration::from_millis(800);

/// How long after a change to expect more changes.
const AFTERWARDS: Duration = Duration::from_secs(10);

/// The maximum poll interval while the server is unreachable.
const AWAY: Duration = Duration::from_secs(5);

/// How often the record that a session is open is renewed before it would expire.
const RENEWALS: u32 = 3;

/// The maximum number of sessions per query.
const MOST: usize = 256;

/// The watched sessions of a store.
#[derive(Debug)]
pub(crate) struct Watching {
    watched: Mutex<Watched>,
    holder: Holder,
    /// Notified when a watch ends.
    left: Arc<Notify>,
    /// Serializes recording sessions as open and closed, because otherwise one could undo the other.
    turn: AsyncMutex<()>,
}

/// What other processes know about this process and a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is not recorded that this process has the session open.
    Unknown,
    /// It is recorded that this process has the session open.
    Held,
    /// In addition, the session's row is marked as open, so it may lag behind the log.
    Marked,
}

#[derive(Debug, Default)]
struct Watched {
    sessions: FxHashMap<String, Seen>,
    /// The polling task runs.
    asking: bool,
}

#[derive(Debug)]
struct Seen {
    version: Option<LogVersion>,
    /// The version after this process's last append.
    own: Option<LogVersion>,
    /// How long the record that the session is open here is valid.
    held: Option<Lease>,
    /// This process has marked the session's row. The mark stays while the record is valid.
    marked: bool,
    changed: watch::Sender<u64>,
}

/// The validity of the record that a session is open here.
#[derive(Debug, Clone, Copy)]
struct Lease {
    since: Instant,
    /// `Instant` stops while the machine sleeps, and the wall clock can be set, so both are checked.
    by_the_wall: SystemTime,
    length: Duration,
}

impl Lease {
    fn of(hold: Duration) -> Lease {
        // Shorter than on the server, so that a write in progress at the end arrives before the record expires.
        Lease { since: Instant::now(), by_the_wall: SystemTime::now(), length: hold * 2 / RENEWALS }
    }

    fn is_valid(&self) -> bool {
        self.since.elapsed() < self.length && self.by_the_wall.elapsed().is_ok_and(|past| past < self.length)
    }
}

/// Notifies the polling task when a watch is dropped.
#[derive(Debug)]
struct Keep(Arc<Notify>);

impl Drop for Keep {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Inner {
    /// Watches a session, and records that it is open here.
    pub(crate) async fn watch(self: &Arc<Self>, id: &str) -> Result<Watch, StoreError> {
        let _turn = self.watching.turn.lock().await;
        let ids = [id.to_owned()];
        // A read-only user cannot record it, but can still watch.
        let held = self.hold(&ids).await.ok();
        match attempt!(self, 0, |connection| version(connection, id, held.is_some())) {
            Some(version) => Ok(Watching::add(self, id, version, held)),
            None => {
                self.release_watches(&ids).await;
                Err(self.not_found(id))
            }
        }
    }

    pub(crate) fn holder(&self) -> Holder {
        self.watching.holder
    }

    /// Whether this process has the session open.
    pub(crate) fn is_watched(&self, id: &str) -> bool {
        self.watching.watched().sessions.get(id).is_some_and(Seen::is_watched)
    }

    /// What other processes know about this process and this generation of the session.
    pub(crate) fn standing(&self, id: &str, generation: u64) -> Standing {
        let watched = self.watching.watched();
        let is_same = |seen: &&Seen| seen.version.is_some_and(|version| version.generation == generation);
        match watched.sessions.get(id).filter(is_same) {
            Some(seen) if seen.is_watched() && seen.is_held() && seen.marked => Standing::Marked,
            Some(seen) if seen.is_watched() && seen.is_held() => Standing::Held,
            _ => Standing::Unknown,
        }
    }

    /// Records that this process has marked the session's row.
    pub(crate) fn marked(&self, id: &str, generation: u64) {
        let is_held = self.standing(id, generation) == Standing::Held;
        if let Some(seen) = self.watching.watched().sessions.get_mut(id) {
            seen.marked |= is_held;
        }
    }

    /// Records that the session's row is not marked.
    pub(crate) fn unmarked(&self, id: &str) {
        if let Some(seen) = self.watching.watched().sessions.get_mut(id) {
            seen.marked = false;
        }
    }

    /// Records an append of this process, so that polling does not mistake it for activity of others.
    pub(crate) fn appended(&self, id: &str, version: LogVersion) {
        if let Some(seen) = self.watching.watched().sessions.get_mut(id) {
            seen.own = Some(version);
        }
    }

    /// See [`osier_store::Store::close`].
    pub(crate) async fn leave(&self) {
        let turn = self.watching.turn.lock().await;
        let all: Vec<String> = self.watching.watched().sessions.drain().map(|(id, _)| id).collect();
        self.release_all().await;
        self.release_watches(&all).await;
        drop(turn);
        self.settle(all).await;
    }

    async fn hold(&self, ids: &[String]) -> Result<Lease, StoreError> {
        let (lease, seconds) = (Lease::of(self.limits.hold), self.limits.hold.as_secs().max(1));
        for ids in ids.chunks(MOST) {
            attempt!(self, 0, |connection| self.hold_over(connection, ids, seconds));
        }
        Ok(lease)
    }

    /// Fails at once on a read-only server, instead of retrying until it becomes writable: watching works without the record.
    async fn hold_over(
        &self,
        connection: &mut Connection,
        ids: &[String],
        seconds: u64,
    ) -> Result<(), Failure> {
        match connection.engine.read_only {
            true => Err(StoreError::Refused {
                store: self.name.clone(),
                why: "the server is read-only".to_owned(),
                advice: "make the server writable",
                source: "read_only".into(),
            }
            .into()),
            false => self.holder().hold(connection, ids, seconds).await,
        }
    }

    async fn renew(&self) {
        let _turn = self.watching.turn.lock().await;
        let present = self.watching.present();
        let held = self.hold(&present).await.ok();
        let mut watched = self.watching.watched();
        for id in present {
            if let Some(seen) = watched.sessions.get_mut(&id) {
                seen.hold(held);
            }
        }
    }

    /// Releases the sessions that are no longer watched.
    async fn release_left(self: &Arc<Self>) {
        let turn = self.watching.turn.lock().await;
        let left = self.watching.take_left();
        self.release_watches(&left).await;
        drop(turn);
        // In the background, so that polling of the other sessions continues.
        let inner = self.clone();
        tokio::spawn(async move { inner.settle(left).await });
    }

    /// If this fails, the records expire.
    async fn release_watches(&self, ids: &[String]) {
        for ids in ids.chunks(MOST) {
            let _ = self.try_release(ids).await;
        }
    }

    async fn try_release(&self, ids: &[String]) -> Result<(), StoreError> {
        attempt!(self, 0, self.brief_tries(), |connection| self.holder().release(connection, ids));
        Ok(())
    }

    /// Updates the rows of sessions that this process has closed, and of some that killed processes had open. If this fails,
    /// a later call does it.
    async fn settle(&self, mut ids: Vec<String>) {
        if ids.is_empty() {
            return;
        }
        ids.extend(self.abandoned().await.unwrap_or_default());
        for id in ids {
            let slot = self.slot(&id);
            // Waits for a running append, which may have started while the session was still open.
            let _append_lock = slot.lock().await;
            let _ = self.settle_one(&id).await;
        }
    }

    async fn abandoned(&self) -> Result<Vec<String>, StoreError> {
        Ok(attempt!(self, 0, self.brief_tries(), |connection| holding::abandoned(connection)))
    }

    async fn settle_one(&self, id: &str) -> Result<(), StoreError> {
        attempt!(self, 0, self.brief_tries(), |connection| holding::release_dead(connection, id));
        attempt!(self, 0, self.brief_tries(), |connection| holding::settle(connection, id, &self.name));
        Ok(())
    }
}

impl Seen {
    /// Whether the record that the session is open here is still valid.
    fn is_held(&self) -> bool {
        self.held.as_ref().is_some_and(Lease::is_valid)
    }

    /// Renews the record. If it had expired, another process may have unmarked the row in the meantime.
    fn hold(&mut self, lease: Option<Lease>) {
        self.marked &= self.is_held();
        self.held = lease.or(self.held);
    }

    fn is_watched(&self) -> bool {
        self.changed.receiver_count() > 0
    }
}

impl Watching {
    pub(crate) fn new(holder: Holder) -> Watching {
        Watching { watched: Mutex::default(), holder, left: Arc::default(), turn: AsyncMutex::default() }
    }

    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(inner: &Arc<Inner>, id: &str, version: LogVersion, held: Option<Lease>) -> Watch {
        let mut watched = inner.watching.watched();
        let new = || Seen {
            version: Some(version),
            own: None,
            held,
            marked: false,
            changed: watch::Sender::new(0),
        };
        let seen = watched.sessions.entry(id.to_owned()).or_insert_with(new);
        seen.hold(held);
        let changed = seen.changed.subscribe();
        if !std::mem::replace(&mut watched.asking, true) {
            tokio::spawn(ask(inner.clone()));
        }
        Watch::new(changed, Some(Box::new(Keep(inner.watching.left.clone()))))
    }

    /// Removes and returns the sessions that are no longer watched.
    fn take_left(&self) -> Vec<String> {
        self.watched().sessions.extract_if(|_, seen| !seen.is_watched()).map(|(id, _)| id).collect()
    }

    /// The watched sessions. If there are none, the polling task must end.
    fn ids(&self) -> Vec<String> {
        let mut watched = self.watched();
        watched.asking = !watched.sessions.is_empty();
        watched.sessions.keys().cloned().collect()
    }

    /// The watched sessions that existed at the last poll.
    fn present(&self) -> Vec<String> {
        let watched = self.watched();
        let present = watched.sessions.iter().filter(|(_, seen)| seen.version.is_some());
        present.map(|(id, _)| id.clone()).collect()
    }

    /// Notifies the watchers of changed sessions. Returns whether other processes changed any.
    fn compare(&self, ids: &[String], now: &FxHashMap<String, (LogVersion, bool)>) -> bool {
        let mut watched = self.watched();
        let mut any = false;
        for id in ids {
            let Some(seen) = watched.sessions.get_mut(id) else { continue };
            let (version, is_marked) = now.get(id).copied().unzip();
            seen.marked &= is_marked.unwrap_or_default();
            if seen.version != version {
                let generation = |version: Option<LogVersion>| version.map(|version| version.generation);
                if generation(seen.version) != generation(version) {
                    // A new log, for which no open record exists.
                    (seen.held, seen.marked) = (None, false);
                }
                seen.version = version;
                seen.changed.send_modify(|count| *count += 1);
                any |= version != seen.own;
            }
        }
        any
    }
}

async fn ask(inner: Arc<Inner>) {
    let (mut pause, mut changed_at, mut held_at) = (LIVELY, Instant::now(), Instant::now());
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = inner.watching.left.notified() => inner.release_left().await,
        }
        let ids = inner.watching.ids();
        if ids.is_empty() {
            return;
        }
        if held_at.elapsed() >= inner.limits.hold / RENEWALS {
            // After a failure, retry only after the usual interval: for a read-only user, this always fails.
            held_at = Instant::now();
            inner.renew().await;
        }
        let mut changed: Result<bool, StoreError> = Ok(false);
        for ids in ids.chunks(MOST) {
            let now = versions_of(&inner, ids).await;
            changed = changed.and_then(|any| Ok(inner.watching.compare(ids, &now?) || any));
        }
        pause = match changed {
            Err(_) => (pause * 2).min(AWAY),
            Ok(true) => {
                changed_at = Instant::now();
                LIVELY
            }
            Ok(false) if changed_at.elapsed() < AFTERWARDS => LIVELY,
            Ok(false) => QUIET,
        };
    }
}

async fn versions_of(
    inner: &Inner,
    ids: &[String],
) -> Result<FxHashMap<String, (LogVersion, bool)>, StoreError> {
    Ok(attempt!(inner, 0, |connection| versions(connection, ids)))
}

/// The versions of sessions, and whether their rows are marked.
async fn versions(
    connection: &mut MySqlConnection,
    ids: &[String],
) -> Result<FxHashMap<String, (LogVersion, bool)>, Failure> {
    let marks = padded(ids).map(|_| "?").collect::<Vec<_>>().join(",");
    let (newest, mark) = (newest!(), open_mark!());
    let sql = format!(
        "SELECT s.id, s.generation, {newest}, s.minus_modified = {mark} FROM osier_sessions s WHERE s.id IN ({marks})"
    );
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for id in padded(ids) {
        query = query.bind(id);
    }
    let mut versions = FxHashMap::default();
    for row in query.fetch_all(connection).await? {
        versions.insert(row.try_get(0)?, (rows::version(&row, 1, 2)?, row.try_get(3)?));
    }
    Ok(versions)
}

/// The version of one session. If `held`, first cancels a deletion that did not see that the session is open here.
async fn version(
    connection: &mut MySqlConnection,
    id: &str,
    held: bool,
) -> Result<Option<LogVersion>, Failure> {
    const ASKED: &str = concat!("SELECT s.generation, ", newest!(), " FROM osier_sessions s WHERE s.id = ?");
    if held {
        locks::refuse_removal(connection, id).await?;
    }
    let query = sqlx::query(ASKED).bind(id);
    Ok(query.fetch_optional(connection).await?.map(|row| rows::version(&row, 0, 1)).transpose()?)
}
