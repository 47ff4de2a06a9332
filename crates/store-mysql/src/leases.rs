//! Leases: one row per running turn, which expires by the server's clock unless it is renewed.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Instant, SystemTime};

use osier_store::{Lease, LeaseConflictFn, StoreError};
use rustc_hash::FxHashMap;
use sqlx::{Executor, MySqlConnection, Row};
use tokio::task::AbortHandle;

use crate::attempt_error::AttemptError;
use crate::locks;
use crate::store::{StoreInner, retry_until_done};
use crate::transaction;

/// How often a lease is renewed before it would expire.
const RENEWALS: u32 = 3;

const SESSION_QUERY: &str = "SELECT 1 FROM osier_sessions WHERE id = ?";

pub(crate) const LEASES_QUERY: &str =
    "SELECT lease, expires FROM osier_leases WHERE session = ? AND expires >= UNIX_TIMESTAMP()";

/// The leases that this process holds, by cursor.
#[derive(Debug, Default)]
pub(crate) struct HeldLeases(Mutex<FxHashMap<u64, HeldLease>>);

#[derive(Debug)]
struct HeldLease {
    lease: Lease,
    renewal_task: AbortHandle,
    /// The time of the last renewal. `Instant` stops while the machine sleeps, and the wall clock can be set, so both are kept.
    renewed_at: (Instant, SystemTime),
    /// It expired, and another process has acquired a lease of the session since.
    is_lost: bool,
}

impl HeldLeases {
    fn lock(&self) -> MutexGuard<'_, FxHashMap<u64, HeldLease>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a lease was renewed, with its current contents.
    fn record_renewal(&self, lease: &Lease, at: (Instant, SystemTime)) {
        if let Some(held) = self.lock().get_mut(&lease.cursor) {
            (held.renewed_at, held.is_lost) = (at, false);
            held.lease.clone_from(lease);
        }
    }
}

fn read_clocks() -> (Instant, SystemTime) {
    (Instant::now(), SystemTime::now())
}

impl StoreInner {
    /// See [`osier_store::Store::acquire_lease`].
    pub(crate) async fn acquire_lease(
        self: &Arc<Self>,
        lease: &Lease,
        is_conflict: LeaseConflictFn<'_>,
    ) -> Result<(), StoreError> {
        let (seconds, now) = (self.hold_seconds(), read_clocks());
        let is_held = self.leases.lock().contains_key(&lease.cursor);
        if is_held && retry_until_done!(self, 0, |connection| extend_lease(connection, lease, seconds)) {
            self.leases.record_renewal(lease, now);
            return Ok(());
        }
        retry_until_done!(self, 0, |connection| self.insert_lease(connection, lease, is_conflict, seconds));
        if is_held {
            self.leases.record_renewal(lease, now);
            return Ok(());
        }
        let renewing = tokio::spawn(renew_periodically(self.clone(), lease.cursor)).abort_handle();
        let held =
            HeldLease { lease: lease.clone(), renewal_task: renewing, renewed_at: now, is_lost: false };
        self.leases.lock().insert(lease.cursor, held);
        Ok(())
    }

    /// See [`osier_store::Store::may_have_expired`].
    pub(crate) fn may_have_expired(&self, lease: &Lease) -> bool {
        self.leases.lock().get(&lease.cursor).is_some_and(|held| {
            let (instant, time) = held.renewed_at;
            let since = instant.elapsed().max(time.elapsed().unwrap_or_default());
            // The rest is the margin for clock differences between servers.
            held.is_lost || since >= self.limits.hold_timeout * (RENEWALS - 1) / RENEWALS
        })
    }

    /// How long an unrenewed lease, or record of an open session, is valid.
    pub(crate) fn hold_seconds(&self) -> u64 {
        self.limits.hold_timeout.as_secs().max(1)
    }

    /// Acquires a lease. Every process that does so, or removes the session, writes the same lock row, so that the second of two
    /// sees what the first did.
    async fn insert_lease(
        &self,
        connection: &mut MySqlConnection,
        lease: &Lease,
        is_conflict: LeaseConflictFn<'_>,
        seconds: u64,
    ) -> Result<(), AttemptError> {
        transaction::start(connection, &[SESSION_QUERY, LEASES_QUERY]).await?;
        locks::lock_use(connection, &lease.session).await?;
        let is_there = session_exists(connection, &lease.session).await?;
        let others = read_leases(connection, &lease.session).await?;
        let other = others.into_iter().find(|other| other.cursor != lease.cursor && is_conflict(other));
        let refusal = match other {
            _ if !is_there => Some(self.not_found(&lease.session)),
            Some(other) => Some(StoreError::Leased { lease: Box::new(other) }),
            None => None,
        };
        if let Some(refusal) = refusal {
            connection.execute("ROLLBACK").await?;
            return Err(refusal.into());
        }
        let query = sqlx::query("DELETE FROM osier_leases WHERE session = ? AND expires < UNIX_TIMESTAMP()");
        query.bind(&lease.session).execute(&mut *connection).await?;
        let query = sqlx::query(
            "INSERT INTO osier_leases (session, cursor_id, expires, lease) VALUES (?, ?, UNIX_TIMESTAMP() + ?, ?)
             ON DUPLICATE KEY UPDATE expires = UNIX_TIMESTAMP() + ?, lease = ?",
        );
        let query = query.bind(&lease.session).bind(lease.cursor).bind(seconds).bind(lease_json(lease));
        query.bind(seconds).bind(lease_json(lease)).execute(&mut *connection).await?;
        connection.execute("COMMIT").await?;
        Ok(())
    }

    pub(crate) async fn release_lease(&self, lease: &Lease) {
        if let Some(held) = self.leases.lock().remove(&lease.cursor) {
            held.renewal_task.abort();
        }
        if let Err(error) = self.try_release_lease(lease).await {
            tracing::warn!(session = %lease.session, %error, "cannot release a lease; it expires");
        }
    }

    async fn try_release_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        retry_until_done!(self, 0, self.background_retries(), |connection| delete_lease(connection, lease));
        Ok(())
    }

    /// Releases all leases before the process exits.
    pub(crate) async fn release_all_leases(&self) {
        let held: Vec<Lease> = self.leases.lock().values().map(|held| held.lease.clone()).collect();
        for lease in held {
            self.release_lease(&lease).await;
        }
    }

    pub(crate) async fn leases(&self, id: &str) -> Result<Vec<Lease>, StoreError> {
        Ok(retry_until_done!(self, 0, |connection| read_leases(connection, id)))
    }

    /// Renews a lease. An expired lease is acquired again only if no other process has acquired a lease of the session since;
    /// whether that lease conflicts is checked when the holder acquires its own again.
    async fn renew_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        let (seconds, now) = (self.hold_seconds(), read_clocks());
        if !retry_until_done!(self, 0, |connection| extend_lease(connection, lease, seconds)) {
            let own: Vec<u64> = self.leases.lock().keys().copied().collect();
            let is_foreign = |other: &Lease| !own.contains(&other.cursor);
            retry_until_done!(self, 0, |connection| self.insert_lease(
                connection,
                lease,
                &is_foreign,
                seconds
            ));
        }
        self.leases.record_renewal(lease, now);
        Ok(())
    }
}

/// Renews a lease until it is released.
async fn renew_periodically(inner: Arc<StoreInner>, cursor: u64) {
    loop {
        tokio::time::sleep(inner.limits.hold_timeout / RENEWALS).await;
        let held = inner.leases.lock().get(&cursor).map(|held| held.lease.clone());
        let Some(lease) = held else { continue };
        // Other errors are temporary; the next round tries again.
        let renewed = inner.renew_lease(&lease).await;
        if let (Err(StoreError::Leased { .. }), Some(held)) = (renewed, inner.leases.lock().get_mut(&cursor))
        {
            held.is_lost = true;
        }
    }
}

async fn session_exists(connection: &mut MySqlConnection, session: &str) -> Result<bool, AttemptError> {
    Ok(sqlx::query(SESSION_QUERY).bind(session).fetch_optional(connection).await?.is_some())
}

/// The leases of a session that have not expired.
pub(crate) async fn read_leases(
    connection: &mut MySqlConnection,
    id: &str,
) -> Result<Vec<Lease>, AttemptError> {
    let mut leases = Vec::new();
    for row in sqlx::query(LEASES_QUERY).bind(id).fetch_all(connection).await? {
        let (json, expires): (Vec<u8>, i64) = (row.try_get(0)?, row.try_get(1)?);
        // A later version of Osier may write leases that this one cannot parse.
        if let Ok(lease) = serde_json::from_slice::<Lease>(&json) {
            leases.push(Lease { expires: Some(expires.saturating_mul(1000)), ..lease });
        }
    }
    Ok(leases)
}

/// Deletes the leases of a session that no longer exists.
pub(crate) async fn delete_leases(connection: &mut MySqlConnection, id: &str) -> Result<(), AttemptError> {
    sqlx::query("DELETE FROM osier_leases WHERE session = ?").bind(id).execute(connection).await?;
    Ok(())
}

/// Renews a lease with its current contents. `false` if it has expired.
async fn extend_lease(
    connection: &mut MySqlConnection,
    lease: &Lease,
    seconds: u64,
) -> Result<bool, AttemptError> {
    let query = sqlx::query(
        "UPDATE osier_leases SET expires = UNIX_TIMESTAMP() + ?, lease = ?
         WHERE session = ? AND cursor_id = ? AND expires >= UNIX_TIMESTAMP()",
    );
    let query = query.bind(seconds).bind(lease_json(lease)).bind(&lease.session).bind(lease.cursor);
    Ok(query.execute(connection).await?.rows_affected() > 0)
}

async fn delete_lease(connection: &mut MySqlConnection, lease: &Lease) -> Result<(), AttemptError> {
    let query = sqlx::query("DELETE FROM osier_leases WHERE session = ? AND cursor_id = ?");
    query.bind(&lease.session).bind(lease.cursor).execute(connection).await?;
    Ok(())
}

fn lease_json(lease: &Lease) -> Vec<u8> {
    serde_json::to_vec(lease).unwrap_or_default()
}
