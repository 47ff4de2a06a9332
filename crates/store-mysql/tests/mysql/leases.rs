//! Leases across processes: the lease of a killed process expires, and the lease of a living process is renewed.

use std::time::Duration;

use osier_store::{Lease, Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::MariaDbServer;
use sqlx::{AssertSqlSafe, Executor, Row};

use crate::support::{admin_connection, create_database, create_session, run_sql, short_limits, store_at};

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

async fn rows(server: &MariaDbServer, database: &str, which: &str) -> i64 {
    let query = format!("SELECT COUNT(*) FROM {database}.osier_leases WHERE {which}");
    admin_connection(server).await.fetch_one(AssertSqlSafe(query)).await.unwrap().get(0)
}

async fn expire_all(server: &MariaDbServer, database: &str) {
    run_sql(server, format!("UPDATE {database}.osier_leases SET expires = UNIX_TIMESTAMP() - 1")).await;
}

#[tokio::test]
async fn lease_of_a_killed_process_can_be_acquired_after_it_expires() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let url = server.url(&database);
    let store = store_at(&url, Limits::default());
    create_session(&store, 2).await;
    let killed = tokio::task::spawn_blocking(move || {
        let store = store_at(&url, Limits::default());
        let process = tokio::runtime::Runtime::new().unwrap();
        process.block_on(store.acquire_lease(&lease(1), &|_| true)).unwrap();
        process.shutdown_timeout(LIMIT);
    });
    killed.await.unwrap();
    let refused = store.acquire_lease(&lease(2), &|_| true).await.unwrap_err();
    assert_eq!(refused.code().name(), "session_busy");
    expire_all(server, &database).await;
    assert!(store.leases("one").await.unwrap().is_empty());
    store.acquire_lease(&lease(2), &|_| true).await.unwrap();
    assert_eq!(rows(server, &database, "TRUE").await, 1, "expired leases are deleted");
    let expires = store.leases("one").await.unwrap()[0].expires;
    assert!(expires.is_some(), "others see when it expires");
    store.close().await;
    assert_eq!(rows(server, &database, "TRUE").await, 0, "closing the store releases all leases");
}

#[tokio::test]
async fn lease_is_renewed_while_it_is_held() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(
        &server.url(&database),
        Limits { hold_timeout: Duration::from_secs(1), ..Limits::default() },
    );
    create_session(&store, 2).await;
    store.acquire_lease(&lease(1), &|_| true).await.unwrap();
    expire_all(server, &database).await;
    let renewed = async {
        while rows(server, &database, "expires >= UNIX_TIMESTAMP()").await == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, renewed).await.expect("the lease is renewed");
    store.release_lease(&lease(1)).await;
    assert_eq!(rows(server, &database, "TRUE").await, 0);
}

/// Otherwise two processes would run turns at the same place.
#[tokio::test]
async fn expired_lease_is_not_renewed_after_another_process_acquires_one() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let url = server.url(&database);
    let limits = Limits { hold_timeout: Duration::from_secs(1), ..Limits::default() };
    let (first, second) = (store_at(&url, limits), store_at(&url, limits));
    create_session(&first, 2).await;
    first.acquire_lease(&lease(1), &|_| true).await.unwrap();
    expire_all(server, &database).await;
    // The first store may renew its lease first; then expire it once more.
    let taken = async {
        while second.acquire_lease(&lease(2), &|_| true).await.is_err() {
            expire_all(server, &database).await;
        }
        while !first.may_have_expired(&lease(1)) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, taken).await.expect("the first store notices that its lease expired");
    let refused = first.acquire_lease(&lease(1), &|_| true).await.unwrap_err();
    let StoreError::Leased { lease: holder } = refused else { panic!("{refused:?}") };
    assert_eq!(holder.cursor, 2);
    second.release_lease(&lease(2)).await;
    first.acquire_lease(&lease(1), &|_| true).await.unwrap();
    assert!(!first.may_have_expired(&lease(1)), "the lease is valid again");
}

/// The clocks of servers differ. The holder must doubt its lease before it expires on any of them.
#[tokio::test]
async fn lease_that_cannot_be_renewed_is_doubted_before_it_expires() {
    let server = MariaDbServer::start(&[]).unwrap();
    let database = create_database(&server).await;
    let limits = Limits { hold_timeout: Duration::from_secs(12), ..short_limits() };
    let store = store_at(&server.url(&database), limits);
    create_session(&store, 2).await;
    store.acquire_lease(&lease(1), &|_| true).await.unwrap();
    run_sql(&server, "SET GLOBAL read_only = 1").await;
    let doubted = async {
        while !store.may_have_expired(&lease(1)) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, doubted).await.expect("the lease is never doubted");
    assert_eq!(rows(&server, &database, "expires >= UNIX_TIMESTAMP()").await, 1);
}
