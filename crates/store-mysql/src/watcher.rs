//! Watches sessions: polls for changes about once a second, with one small query for all watched sessions of this process, and
//! records for other processes that the sessions are open here. While no session is watched, no query runs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use osier_store::{LogVersion, StoreError, Watch};
use rustc_hash::FxHashMap;
use sqlx::{AssertSqlSafe, MySqlConnection, Row};
use tokio::sync::{Mutex as AsyncMutex, Notify, watch};

use crate::attempt_error::AttemptError;
use crate::connection_pool::Connection;
use crate::open_records::{self, Holder, pad_to_power_of_two};
use crate::rows::{self, newest, open_mark};
use crate::store::{StoreInner, retry_until_done};

/// The poll intervals while other processes write, and while they do not. Both stay below the promised second.
const ACTIVE_INTERVAL: Duration = Duration::from_millis(350);
const IDLE_INTERVAL: Duration = Duration::from_millis(800);
const _: () = assert!(ACTIVE_INTERVAL.as_millis() < 1000 && IDLE_INTERVAL.as_millis() < 1000);

/// How long after a change to expect more changes.
const ACTIVE_PERIOD: Duration = Duration::from_secs(10);

/// The maximum poll interval while the server is unreachable.
const MAX_RECONNECT_DELAY: Duration = Duration::from_secs(5);

/// How often the record that a session is open is renewed before it would expire.
const RENEWALS: u32 = 3;

/// The maximum number of sessions per query.
const MAX_SESSIONS_PER_QUERY: usize = 256;

/// The watched sessions of a store.
#[derive(Debug)]
pub(crate) struct SessionWatcher {
    watched: Mutex<WatchedSessions>,
    holder: Holder,
    /// Notified when a watch ends.
    watch_ended: Arc<Notify>,
    /// Serializes recording sessions as open and closed, because otherwise one could undo the other.
    record_lock: AsyncMutex<()>,
}

/// What other processes know about this process and a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OpenState {
    /// It is not recorded that this process has the session open.
    NotRecorded,
    /// It is recorded that this process has the session open.
    Recorded,
    /// In addition, the session's row is marked as open, so it may lag behind the log.
    RecordedAndMarked,
}

#[derive(Debug, Default)]
struct WatchedSessions {
    sessions: FxHashMap<String, WatchedSession>,
    /// The polling task runs.
    is_polling: bool,
}

#[derive(Debug)]
struct WatchedSession {
    version: Option<LogVersion>,
    /// The version after this process's last append.
    own_version: Option<LogVersion>,
    /// How long the record that the session is open here is valid.
    open_record: Option<OpenRecord>,
    /// This process has marked the session's row. The mark stays while the record is valid.
    is_marked: bool,
    /// Other processes were in a queue to append at the last poll.
    has_append_queue: bool,
    changed: watch::Sender<u64>,
}

/// The validity of the record that a session is open here.
#[derive(Debug, Clone, Copy)]
struct OpenRecord {
    since: Instant,
    /// `Instant` stops while the machine sleeps, and the wall clock can be set, so both are checked.
    wall_clock: SystemTime,
    length: Duration,
}

impl OpenRecord {
    fn new(hold: Duration) -> OpenRecord {
        // Shorter than on the server, so that a write in progress at the end arrives before the record expires.
        OpenRecord { since: Instant::now(), wall_clock: SystemTime::now(), length: hold * 2 / RENEWALS }
    }

    fn is_valid(&self) -> bool {
        self.since.elapsed() < self.length && self.wall_clock.elapsed().is_ok_and(|past| past < self.length)
    }
}

/// Notifies the polling task when a watch is dropped.
#[derive(Debug)]
struct WatchGuard(Arc<Notify>);

impl Drop for WatchGuard {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

impl StoreInner {
    /// Watches a session, and records that it is open here.
    pub(crate) async fn watch(self: &Arc<Self>, id: &str) -> Result<Watch, StoreError> {
        let _turn = self.watcher.record_lock.lock().await;
        let record = OpenRecord::new(self.limits.hold_timeout);
        let seconds = self.hold_seconds();
        let (version, record) = match self.open_session(id, seconds).await {
            // A read-only user cannot record that the session is open, but can still watch it.
            Err(StoreError::Refused { .. }) => (self.query_version(id).await?, None),
            opened => (opened?, Some(record)),
        };
        let version = version.ok_or_else(|| self.not_found(id))?;
        Ok(SessionWatcher::add(self, id, version, record))
    }

    async fn open_session(&self, id: &str, seconds: u64) -> Result<Option<LogVersion>, StoreError> {
        Ok(retry_until_done!(self, 0, |connection| async {
            self.check_writable(connection)?;
            self.holder().open(connection, id, seconds).await
        }))
    }

    async fn query_version(&self, id: &str) -> Result<Option<LogVersion>, StoreError> {
        Ok(retry_until_done!(self, 0, |connection| rows::query_version(connection, id)))
    }

    pub(crate) fn holder(&self) -> Holder {
        self.watcher.holder
    }

    /// Whether this process has the session open.
    pub(crate) fn is_watched(&self, id: &str) -> bool {
        self.watcher.lock_watched().sessions.get(id).is_some_and(WatchedSession::is_watched)
    }

    /// What other processes know about this process and this generation of the session.
    pub(crate) fn open_state(&self, id: &str, generation: u64) -> OpenState {
        let watched = self.watcher.lock_watched();
        let is_same = |session: &&WatchedSession| {
            session.version.is_some_and(|version| version.generation == generation)
        };
        match watched.sessions.get(id).filter(is_same) {
            Some(session) if session.is_watched() && session.is_recorded() && session.is_marked => {
                OpenState::RecordedAndMarked
            }
            Some(session) if session.is_watched() && session.is_recorded() => OpenState::Recorded,
            _ => OpenState::NotRecorded,
        }
    }

    /// Records that this process has marked the session's row.
    pub(crate) fn set_marked(&self, id: &str, generation: u64) {
        let is_held = self.open_state(id, generation) == OpenState::Recorded;
        if let Some(session) = self.watcher.lock_watched().sessions.get_mut(id) {
            session.is_marked |= is_held;
        }
    }

    /// Records that the session's row is not marked.
    pub(crate) fn clear_marked(&self, id: &str) {
        if let Some(session) = self.watcher.lock_watched().sessions.get_mut(id) {
            session.is_marked = false;
        }
    }

    /// Whether other processes were in a queue to append at the last poll.
    pub(crate) fn has_append_queue(&self, id: &str) -> bool {
        self.watcher.lock_watched().sessions.get(id).is_some_and(|session| session.has_append_queue)
    }

    /// Records an append of this process, so that polling does not mistake it for activity of others.
    pub(crate) fn record_append(&self, id: &str, version: LogVersion) {
        if let Some(session) = self.watcher.lock_watched().sessions.get_mut(id) {
            session.own_version = Some(version);
        }
    }

    /// See [`osier_store::Store::close`].
    pub(crate) async fn close(&self) {
        let turn = self.watcher.record_lock.lock().await;
        let all: Vec<String> = self.watcher.lock_watched().sessions.drain().map(|(id, _)| id).collect();
        self.release_all_leases().await;
        self.release_watches(&all).await;
        drop(turn);
        self.update_session_rows(all).await;
    }

    async fn record_open(&self, ids: &[String]) -> Result<OpenRecord, StoreError> {
        let (record, seconds) = (OpenRecord::new(self.limits.hold_timeout), self.hold_seconds());
        for ids in ids.chunks(MAX_SESSIONS_PER_QUERY) {
            retry_until_done!(self, 0, |connection| async {
                self.check_writable(connection)?;
                self.holder().record_open(connection, ids, seconds).await
            });
        }
        Ok(record)
    }

    /// Fails at once on a read-only server, instead of retrying until it becomes writable: watching works without the record.
    fn check_writable(&self, connection: &Connection) -> Result<(), AttemptError> {
        match connection.engine.read_only {
            true => Err(StoreError::Refused {
                store: self.name.clone(),
                reason: "the server is read-only".to_owned(),
                advice: "make the server writable",
                source: "read_only".into(),
            }
            .into()),
            false => Ok(()),
        }
    }

    async fn renew_open_records(&self) {
        let _turn = self.watcher.record_lock.lock().await;
        let present = self.watcher.existing_ids();
        let held = self.record_open(&present).await.ok();
        let mut watched = self.watcher.lock_watched();
        for id in present {
            if let Some(session) = watched.sessions.get_mut(&id) {
                session.renew(held);
            }
        }
    }

    /// Releases the sessions that are no longer watched.
    async fn release_unwatched(self: &Arc<Self>) {
        let turn = self.watcher.record_lock.lock().await;
        let left = self.watcher.take_unwatched();
        self.release_watches(&left).await;
        drop(turn);
        // In the background, so that polling of the other sessions continues.
        let inner = self.clone();
        tokio::spawn(async move { inner.update_session_rows(left).await });
    }

    /// If this fails, the records expire.
    async fn release_watches(&self, ids: &[String]) {
        for ids in ids.chunks(MAX_SESSIONS_PER_QUERY) {
            if let Err(error) = self.try_release_watches(ids).await {
                tracing::debug!(%error, "cannot remove the records of open sessions; they expire");
            }
        }
    }

    async fn try_release_watches(&self, ids: &[String]) -> Result<(), StoreError> {
        retry_until_done!(self, 0, self.background_retries(), |connection| self
            .holder()
            .record_closed(connection, ids));
        Ok(())
    }

    /// Updates the rows of sessions that this process has closed, and of some that killed processes had open. If this fails,
    /// a later call does it.
    async fn update_session_rows(&self, mut ids: Vec<String>) {
        if ids.is_empty() {
            return;
        }
        ids.extend(self.find_abandoned().await.unwrap_or_default());
        for id in ids {
            let slot = self.log_state(&id);
            // Waits for a running append, which may have started while the session was still open.
            let _append_lock = slot.lock().await;
            if let Err(error) = self.update_session_row(&id).await {
                tracing::debug!(session = %id, %error, "cannot update the row of a session");
            }
        }
    }

    async fn find_abandoned(&self) -> Result<Vec<String>, StoreError> {
        Ok(retry_until_done!(self, 0, self.background_retries(), |connection| open_records::find_abandoned(
            connection
        )))
    }

    async fn update_session_row(&self, id: &str) -> Result<(), StoreError> {
        retry_until_done!(self, 0, self.background_retries(), |connection| open_records::delete_expired(
            connection, id
        ));
        retry_until_done!(self, 0, self.background_retries(), |connection| open_records::update_session_row(
            connection, id, &self.name
        ));
        Ok(())
    }
}

impl WatchedSession {
    /// Whether the record that the session is open here is still valid.
    fn is_recorded(&self) -> bool {
        self.open_record.as_ref().is_some_and(OpenRecord::is_valid)
    }

    /// Renews the record. If it had expired, another process may have unmarked the row in the meantime.
    fn renew(&mut self, lease: Option<OpenRecord>) {
        self.is_marked &= self.is_recorded();
        self.open_record = lease.or(self.open_record);
    }

    fn is_watched(&self) -> bool {
        self.changed.receiver_count() > 0
    }
}

impl SessionWatcher {
    pub(crate) fn new(holder: Holder) -> SessionWatcher {
        SessionWatcher {
            watched: Mutex::default(),
            holder,
            watch_ended: Arc::default(),
            record_lock: AsyncMutex::default(),
        }
    }

    fn lock_watched(&self) -> MutexGuard<'_, WatchedSessions> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(inner: &Arc<StoreInner>, id: &str, version: LogVersion, held: Option<OpenRecord>) -> Watch {
        let mut watched = inner.watcher.lock_watched();
        let new = || WatchedSession {
            version: Some(version),
            own_version: None,
            open_record: held,
            is_marked: false,
            has_append_queue: false,
            changed: watch::Sender::new(0),
        };
        let session = watched.sessions.entry(id.to_owned()).or_insert_with(new);
        session.renew(held);
        let changed = session.changed.subscribe();
        if !std::mem::replace(&mut watched.is_polling, true) {
            tokio::spawn(poll(inner.clone()));
        }
        Watch::new(changed, Some(Box::new(WatchGuard(inner.watcher.watch_ended.clone()))))
    }

    /// Removes and returns the sessions that are no longer watched.
    fn take_unwatched(&self) -> Vec<String> {
        self.lock_watched()
            .sessions
            .extract_if(|_, session| !session.is_watched())
            .map(|(id, _)| id)
            .collect()
    }

    /// The watched sessions. If there are none, the polling task must end.
    fn watched_ids(&self) -> Vec<String> {
        let mut watched = self.lock_watched();
        watched.is_polling = !watched.sessions.is_empty();
        watched.sessions.keys().cloned().collect()
    }

    /// The watched sessions that existed at the last poll.
    fn existing_ids(&self) -> Vec<String> {
        let watched = self.lock_watched();
        let present = watched.sessions.iter().filter(|(_, session)| session.version.is_some());
        present.map(|(id, _)| id.clone()).collect()
    }

    /// Notifies the watchers of changed sessions. Returns whether other processes changed any.
    fn notify_changes(&self, ids: &[String], now: &FxHashMap<String, PolledSession>) -> bool {
        let mut watched = self.lock_watched();
        let mut any = false;
        for id in ids {
            let Some(session) = watched.sessions.get_mut(id) else { continue };
            let polled = now.get(id).copied();
            let version = polled.map(|polled| polled.version);
            session.is_marked &= polled.is_some_and(|polled| polled.is_marked);
            session.has_append_queue = polled.is_some_and(|polled| polled.has_append_queue);
            if session.version != version {
                let generation = |version: Option<LogVersion>| version.map(|version| version.generation);
                if generation(session.version) != generation(version) {
                    // A new log, for which no open record exists.
                    (session.open_record, session.is_marked) = (None, false);
                }
                session.version = version;
                session.changed.send_modify(|count| *count += 1);
                any |= version != session.own_version;
            }
        }
        any
    }
}

async fn poll(inner: Arc<StoreInner>) {
    let (mut pause, mut changed_at, mut held_at) = (ACTIVE_INTERVAL, Instant::now(), Instant::now());
    loop {
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = inner.watcher.watch_ended.notified() => inner.release_unwatched().await,
        }
        let ids = inner.watcher.watched_ids();
        if ids.is_empty() {
            return;
        }
        if held_at.elapsed() >= inner.limits.hold_timeout / RENEWALS {
            // After a failure, retry only after the usual interval: for a read-only user, this always fails.
            held_at = Instant::now();
            inner.renew_open_records().await;
        }
        let mut changed: Result<bool, StoreError> = Ok(false);
        for ids in ids.chunks(MAX_SESSIONS_PER_QUERY) {
            let now = fetch_versions(&inner, ids).await;
            changed = changed.and_then(|any| Ok(inner.watcher.notify_changes(ids, &now?) || any));
        }
        pause = match changed {
            Err(_) => (pause * 2).min(MAX_RECONNECT_DELAY),
            Ok(true) => {
                changed_at = Instant::now();
                ACTIVE_INTERVAL
            }
            Ok(false) if changed_at.elapsed() < ACTIVE_PERIOD => ACTIVE_INTERVAL,
            Ok(false) => IDLE_INTERVAL,
        };
    }
}

async fn fetch_versions(
    inner: &StoreInner,
    ids: &[String],
) -> Result<FxHashMap<String, PolledSession>, StoreError> {
    Ok(retry_until_done!(inner, 0, |connection| query_versions(connection, ids, inner.holder())))
}

/// What a poll reads of a watched session.
#[derive(Debug, Clone, Copy)]
struct PolledSession {
    version: LogVersion,
    is_marked: bool,
    /// Processes other than this one are in a queue to append.
    has_append_queue: bool,
}

async fn query_versions(
    connection: &mut MySqlConnection,
    ids: &[String],
    holder: Holder,
) -> Result<FxHashMap<String, PolledSession>, AttemptError> {
    let marks = pad_to_power_of_two(ids).map(|_| "?").collect::<Vec<_>>().join(",");
    let (newest, mark) = (newest!(), open_mark!());
    let sql = format!(
        "SELECT s.id, s.generation, {newest}, s.minus_modified = {mark},
         EXISTS (SELECT 1 FROM osier_locks l WHERE l.session = s.id AND l.purpose LIKE 'q%' AND l.holder <> ?
         AND l.expires >= UNIX_TIMESTAMP())
         FROM osier_sessions s WHERE s.id IN ({marks})"
    );
    let mut query = sqlx::query(AssertSqlSafe(sql)).bind(holder.0);
    for id in pad_to_power_of_two(ids) {
        query = query.bind(id);
    }
    let mut versions = FxHashMap::default();
    for row in query.fetch_all(connection).await? {
        let version = rows::read_version(&row, 1, 2)?;
        let (is_marked, has_append_queue) = (row.try_get(3)?, row.try_get(4)?);
        versions.insert(row.try_get(0)?, PolledSession { version, is_marked, has_append_queue });
    }
    Ok(versions)
}
