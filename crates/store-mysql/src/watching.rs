//! Hints that sessions changed, from one small question for all watched sessions of this process, asked about once a
//! second; and the word to other processes that they are open here. Nobody watches: nothing is asked, nothing is said.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use osier_store::{LogVersion, StoreError, Watch};
use rustc_hash::FxHashMap;
use sqlx::{AssertSqlSafe, MySqlConnection, Row};
use tokio::sync::{Mutex as Turn, Notify, watch};

use crate::connections::Connection;
use crate::failure::Failure;
use crate::holding::{self, Holder, padded};
use crate::locks;
use crate::rows::{self, newest, open_mark};
use crate::store::{Inner, attempt};

/// How often is asked while others do something, and when they do not: both within the second that one may wait.
const LIVELY: Duration = Duration::from_millis(350);
const QUIET: Duration = Duration::from_millis(800);

/// How long after a change more of them are expected.
const AFTERWARDS: Duration = Duration::from_secs(10);

/// The longest pause while the server is away.
const AWAY: Duration = Duration::from_secs(5);

/// How often it is said that a session is open before that would run out.
const RENEWALS: u32 = 3;

/// Sessions asked about at once.
const MOST: usize = 256;

/// See the module.
#[derive(Debug)]
pub(crate) struct Watching {
    watched: Mutex<Watched>,
    holder: Holder,
    /// Somebody watches no longer.
    left: Arc<Notify>,
    /// Whoever begins to hold sessions, or lets go of them. One at a time, or the second would undo the first.
    turn: Turn<()>,
}

/// How a process stands to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Others do not know that this process has it open.
    Unknown,
    /// They do.
    Held,
    /// And its row is marked, so it may be behind.
    Marked,
}

#[derive(Debug, Default)]
struct Watched {
    sessions: FxHashMap<String, Seen>,
    /// A task asks.
    asking: bool,
}

#[derive(Debug)]
struct Seen {
    version: Option<LogVersion>,
    /// The state that this process led to when it last appended.
    own: Option<LogVersion>,
    /// Others know that it is open here.
    held: Option<Lease>,
    /// This process has marked its row, which stays so while it is held.
    marked: bool,
    changed: watch::Sender<u64>,
}

/// For how long others know that a session is open here.
#[derive(Debug, Clone, Copy)]
struct Lease {
    since: Instant,
    /// That clock stands still while the machine sleeps; this one may be set.
    by_the_wall: SystemTime,
    length: Duration,
}

impl Lease {
    fn of(hold: Duration) -> Lease {
        // What is on its way when it runs out must not come too late.
        Lease { since: Instant::now(), by_the_wall: SystemTime::now(), length: hold * 2 / RENEWALS }
    }

    fn is_valid(&self) -> bool {
        self.since.elapsed() < self.length && self.by_the_wall.elapsed().is_ok_and(|past| past < self.length)
    }
}

/// Tells that a watch ended.
#[derive(Debug)]
struct Keep(Arc<Notify>);

impl Drop for Keep {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl Inner {
    /// Watches a session, and tells other processes that it is open here.
    pub(crate) async fn watch(self: &Arc<Self>, id: &str) -> Result<Watch, StoreError> {
        let _turn = self.watching.turn.lock().await;
        let ids = [id.to_owned()];
        // Who may only read cannot tell it, and watches all the same.
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

    /// Somebody in this process has the session open.
    pub(crate) fn is_watched(&self, id: &str) -> bool {
        self.watching.watched().sessions.get(id).is_some_and(Seen::is_watched)
    }

    /// How this process stands to a session of this generation.
    pub(crate) fn standing(&self, id: &str, generation: u64) -> Standing {
        let watched = self.watching.watched();
        let is_same = |seen: &&Seen| seen.version.is_some_and(|version| version.generation == generation);
        match watched.sessions.get(id).filter(is_same) {
            Some(seen) if seen.is_watched() && seen.is_held() && seen.marked => Standing::Marked,
            Some(seen) if seen.is_watched() && seen.is_held() => Standing::Held,
            _ => Standing::Unknown,
        }
    }

    /// Notes that this process has marked the session's row.
    pub(crate) fn marked(&self, id: &str, generation: u64) {
        let is_held = self.standing(id, generation) == Standing::Held;
        if let Some(seen) = self.watching.watched().sessions.get_mut(id) {
            seen.marked |= is_held;
        }
    }

    /// Notes that the session's row has no mark.
    pub(crate) fn unmarked(&self, id: &str) {
        if let Some(seen) = self.watching.watched().sessions.get_mut(id) {
            seen.marked = false;
        }
    }

    /// Notes an append of this process: it is no reason to expect more of others.
    pub(crate) fn appended(&self, id: &str, version: LogVersion) {
        if let Some(seen) = self.watching.watched().sessions.get_mut(id) {
            seen.own = Some(version);
        }
    }

    /// See [`osier_store::Store::leave`].
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

    /// Who reads on a server that is read-only anyway does not wait until it is writable.
    async fn hold_over(
        &self,
        connection: &mut Connection,
        ids: &[String],
        seconds: u64,
    ) -> Result<(), Failure> {
        match connection.engine.read_only {
            true => Err(StoreError::Refused {
                store: self.name.clone(),
                why: "it is read-only".to_owned(),
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

    /// Lets go of the sessions that nobody watches any more.
    async fn release_left(self: &Arc<Self>) {
        let turn = self.watching.turn.lock().await;
        let left = self.watching.take_left();
        self.release_watches(&left).await;
        drop(turn);
        // Nobody waits for that, least of all those who watch other sessions.
        let inner = self.clone();
        tokio::spawn(async move { inner.settle(left).await });
    }

    /// Should it fail, what was said runs out.
    async fn release_watches(&self, ids: &[String]) {
        for ids in ids.chunks(MOST) {
            let _ = self.try_release(ids).await;
        }
    }

    async fn try_release(&self, ids: &[String]) -> Result<(), StoreError> {
        attempt!(self, 0, self.brief_tries(), |connection| self.holder().release(connection, ids));
        Ok(())
    }

    /// Brings the rows of sessions up to date that this process does not hold any more, and of some that killed processes
    /// held. Should it fail, somebody who comes later does it.
    async fn settle(&self, mut ids: Vec<String>) {
        if ids.is_empty() {
            return;
        }
        ids.extend(self.abandoned().await.unwrap_or_default());
        for id in ids {
            let slot = self.slot(&id);
            // Whoever appends in this moment may have begun when the session was still held.
            let _nobody = slot.lock().await;
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
    /// Other processes know that it is open here.
    fn is_held(&self) -> bool {
        self.held.as_ref().is_some_and(Lease::is_valid)
    }

    /// Whoever held it no longer for a while knows nothing of its row any more.
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
        Watching { watched: Mutex::default(), holder, left: Arc::default(), turn: Turn::default() }
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

    /// The sessions that nobody watches any more.
    fn take_left(&self) -> Vec<String> {
        self.watched().sessions.extract_if(|_, seen| !seen.is_watched()).map(|(id, _)| id).collect()
    }

    /// The sessions that are watched. None means that nobody asks any more.
    fn ids(&self) -> Vec<String> {
        let mut watched = self.watched();
        watched.asking = !watched.sessions.is_empty();
        watched.sessions.keys().cloned().collect()
    }

    /// The sessions that are watched and were there when last looked at.
    fn present(&self) -> Vec<String> {
        let watched = self.watched();
        let present = watched.sessions.iter().filter(|(_, seen)| seen.version.is_some());
        present.map(|(id, _)| id.clone()).collect()
    }

    /// Tells whoever watches a session that is not as it was. Comes back with whether others changed any.
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
                    // Another session of this name, which nobody knows to be open here.
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
            // If it fails it is tried again as late: who may only read will never succeed.
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

/// The states of sessions, and whether their rows are marked.
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

/// The state of one session. A process that holds it refuses a deletion that did not know yet, or finds nothing.
async fn version(
    connection: &mut MySqlConnection,
    id: &str,
    held: bool,
) -> Result<Option<LogVersion>, Failure> {
    const ASKED: &str = concat!("SELECT s.generation, ", newest!(), " FROM osier_sessions s WHERE s.id = ?");
    if held {
        locks::refuse_removal(connection, id).await?;
    }
    let asked = sqlx::query(ASKED).bind(id);
    Ok(asked.fetch_optional(connection).await?.map(|row| rows::version(&row, 0, 1)).transpose()?)
}
