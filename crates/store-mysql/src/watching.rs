//! Hints that sessions changed, from one small question for all watched sessions of this process, asked about once a
//! second. Nobody watches: nothing is asked.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use osier_store::{StoreError, Version, Watch};
use rustc_hash::FxHashMap;
use sqlx::{AssertSqlSafe, MySqlConnection, Row};
use tokio::sync::watch;

use crate::failure::Failure;
use crate::store::{Inner, attempt};

/// How often is asked while something happens, and when nothing does: both within the second that others may wait.
const LIVELY: Duration = Duration::from_millis(350);
const QUIET: Duration = Duration::from_millis(800);

/// How long after a change more of them are expected.
const AFTERWARDS: Duration = Duration::from_secs(10);

/// The longest pause while the server is away.
const AWAY: Duration = Duration::from_secs(5);

/// Sessions asked about at once.
const MOST: usize = 256;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Watching {
    watched: Mutex<Watched>,
}

#[derive(Debug, Default)]
struct Watched {
    sessions: FxHashMap<String, Seen>,
    /// A task asks.
    asking: bool,
}

#[derive(Debug)]
struct Seen {
    version: Option<Version>,
    changed: watch::Sender<u64>,
}

impl Watching {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches a session that is in the state `version`.
    pub(crate) fn add(inner: &Arc<Inner>, id: &str, version: Version) -> Watch {
        let mut watched = inner.watching.watched();
        let new = || Seen { version: Some(version), changed: watch::Sender::new(0) };
        let changed = watched.sessions.entry(id.to_owned()).or_insert_with(new).changed.subscribe();
        if !std::mem::replace(&mut watched.asking, true) {
            tokio::spawn(ask(inner.clone()));
        }
        Watch::new(changed, None)
    }

    /// The sessions that somebody still watches. None means that nobody asks any more.
    fn ids(&self) -> Vec<String> {
        let mut watched = self.watched();
        watched.sessions.retain(|_, seen| seen.changed.receiver_count() > 0);
        watched.asking = !watched.sessions.is_empty();
        watched.sessions.keys().cloned().collect()
    }

    /// Tells whoever watches a session that is not as it was.
    fn compare(&self, ids: &[String], now: &FxHashMap<String, Version>) -> bool {
        let mut watched = self.watched();
        let mut any = false;
        for id in ids {
            let Some(seen) = watched.sessions.get_mut(id) else { continue };
            let version = now.get(id).copied();
            if seen.version != version {
                seen.version = version;
                seen.changed.send_modify(|count| *count += 1);
                any = true;
            }
        }
        any
    }
}

async fn ask(inner: Arc<Inner>) {
    let (mut pause, mut changed_at) = (LIVELY, Instant::now());
    loop {
        tokio::time::sleep(pause).await;
        let ids = inner.watching.ids();
        if ids.is_empty() {
            return;
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

async fn versions_of(inner: &Inner, ids: &[String]) -> Result<FxHashMap<String, Version>, StoreError> {
    Ok(attempt!(inner, 0, |connection| versions(connection, ids)))
}

async fn versions(
    connection: &mut MySqlConnection,
    ids: &[String],
) -> Result<FxHashMap<String, Version>, Failure> {
    let places = ids.len().next_power_of_two();
    let marks = vec!["?"; places].join(",");
    let sql = format!("SELECT id, generation, entries FROM osier_sessions WHERE id IN ({marks})");
    let mut query = sqlx::query(AssertSqlSafe(sql));
    for id in ids.iter().chain(std::iter::repeat_n(&ids[0], places - ids.len())) {
        query = query.bind(id);
    }
    let mut versions = FxHashMap::default();
    for row in query.fetch_all(connection).await? {
        let entries = row.try_get::<u32, _>(2)? as usize;
        versions.insert(row.try_get(0)?, Version { generation: row.try_get(1)?, entries });
    }
    Ok(versions)
}
