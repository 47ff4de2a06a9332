//! Leases across processes: that of a killed process ends after a while, that of a living one does not.

use std::time::Duration;

use osier_store::{Lease, Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::Server;
use sqlx::{AssertSqlSafe, Executor, Row};

use crate::support::{admin, database, session, sql, store_at};

/// How long a test waits for something that must happen.
const LIMIT: Duration = Duration::from_secs(60);

fn lease(cursor: u64) -> Lease {
    Lease {
        session: "one".to_owned(),
        cursor,
        entry: None,
        branch: None,
        process: 4242,
        host: "here".to_owned(),
        expires: None,
    }
}

async fn rows(server: &Server, database: &str, which: &str) -> i64 {
    let asked = format!("SELECT COUNT(*) FROM {database}.osier_leases WHERE {which}");
    admin(server).await.fetch_one(AssertSqlSafe(asked)).await.unwrap().get(0)
}

async fn end_all(server: &Server, database: &str) {
    sql(server, format!("UPDATE {database}.osier_leases SET expires = UNIX_TIMESTAMP() - 1")).await;
}

#[tokio::test]
async fn the_lease_of_a_killed_process_is_taken_over_when_it_has_ended() {
    let server = Server::shared();
    let database = database(server).await;
    let url = server.url(&database);
    let store = store_at(&url, Limits::default());
    session(&store, 2).await;
    let killed = tokio::task::spawn_blocking(move || {
        let store = store_at(&url, Limits::default());
        let process = tokio::runtime::Runtime::new().unwrap();
        process.block_on(store.acquire_lease(&lease(1), &|_| true)).unwrap();
        process.shutdown_timeout(LIMIT);
    });
    killed.await.unwrap();
    let refused = store.acquire_lease(&lease(2), &|_| true).await.unwrap_err();
    assert_eq!(refused.code().name(), "session_busy");
    end_all(server, &database).await;
    assert!(store.leases("one").await.unwrap().is_empty());
    store.acquire_lease(&lease(2), &|_| true).await.unwrap();
    assert_eq!(rows(server, &database, "TRUE").await, 1, "what has ended is cleared away");
    let expires = store.leases("one").await.unwrap()[0].expires;
    assert!(expires.is_some(), "others see when it ends");
    store.close().await;
    assert_eq!(rows(server, &database, "TRUE").await, 0, "whoever leaves gives everything back");
}

#[tokio::test]
async fn a_lease_is_renewed_for_as_long_as_it_is_held() {
    let server = Server::shared();
    let database = database(server).await;
    let store =
        store_at(&server.url(&database), Limits { hold: Duration::from_secs(1), ..Limits::default() });
    session(&store, 2).await;
    store.acquire_lease(&lease(1), &|_| true).await.unwrap();
    end_all(server, &database).await;
    let renewed = async {
        while rows(server, &database, "expires >= UNIX_TIMESTAMP()").await == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, renewed).await.expect("nobody renews the lease");
    store.release_lease(&lease(1)).await;
    assert_eq!(rows(server, &database, "TRUE").await, 0);
}

/// Otherwise two processes would run turns at one place.
#[tokio::test]
async fn a_lease_that_ended_and_was_taken_over_does_not_count_again() {
    let server = Server::shared();
    let database = database(server).await;
    let url = server.url(&database);
    let limits = Limits { hold: Duration::from_secs(1), ..Limits::default() };
    let (first, second) = (store_at(&url, limits), store_at(&url, limits));
    session(&first, 2).await;
    first.acquire_lease(&lease(1), &|_| true).await.unwrap();
    end_all(server, &database).await;
    // The first store may be quicker and renew its lease; then it has to end once more.
    let taken = async {
        while second.acquire_lease(&lease(2), &|_| true).await.is_err() {
            end_all(server, &database).await;
        }
        while !first.may_have_expired(&lease(1)) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, taken).await.expect("nobody notices");
    let refused = first.acquire_lease(&lease(1), &|_| true).await.unwrap_err();
    let StoreError::Leased { lease: holder } = refused else { panic!("{refused:?}") };
    assert_eq!(holder.cursor, 2);
    second.release_lease(&lease(2)).await;
    first.acquire_lease(&lease(1), &|_| true).await.unwrap();
    assert!(!first.may_have_expired(&lease(1)), "it counts again");
}
