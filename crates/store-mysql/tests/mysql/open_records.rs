//! Records of which processes have a session open: an open session is not deleted, and records of killed processes expire.

use std::time::Duration;

use osier_store::{DeleteResult, Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::MariaDbServer;
use sqlx::{AssertSqlSafe, Executor, Row};

use crate::support::{admin_connection, append_message, create_database, create_session, run_sql, store_at};

/// How long a test waits for something that must happen.
const LIMIT: Duration = Duration::from_secs(60);

fn is_busy(deleted: &Result<DeleteResult, StoreError>) -> bool {
    matches!(deleted, Err(StoreError::Busy { id }) if id == "one")
}

/// The number of records of open sessions, including expired ones.
async fn count_open_records(server: &MariaDbServer, database: &str) -> i64 {
    let query = format!("SELECT COUNT(*) FROM {database}.osier_watches");
    admin_connection(server).await.fetch_one(AssertSqlSafe(query)).await.unwrap().get(0)
}

async fn expire_open_records(server: &MariaDbServer, database: &str) {
    run_sql(server, format!("UPDATE {database}.osier_watches SET expires = UNIX_TIMESTAMP() - 1")).await;
}

/// Opens the session in a simulated process that is then killed.
fn open_and_kill(url: &str, limits: Limits) {
    let store = store_at(url, limits);
    let process = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let watch = process.block_on(store.watch("one")).unwrap();
    process.shutdown_timeout(LIMIT);
    drop(watch);
}

#[tokio::test]
async fn session_of_a_killed_process_can_be_deleted_after_its_record_expires() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let url = server.url(&database);
    let store = store_at(&url, Limits::default());
    create_session(&store, 2).await;
    let killed = url.clone();
    tokio::task::spawn_blocking(move || open_and_kill(&killed, Limits::default())).await.unwrap();
    assert!(is_busy(&store.delete("one").await));
    expire_open_records(server, &database).await;
    assert!(store.delete("one").await.unwrap().deleted);
    assert_eq!(count_open_records(server, &database).await, 0);
}

#[tokio::test]
async fn record_of_a_killed_process_expires() {
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await);
    let store = store_at(&url, Limits::default());
    create_session(&store, 2).await;
    let short = Limits { hold_timeout: Duration::from_secs(1), ..Limits::default() };
    tokio::task::spawn_blocking(move || open_and_kill(&url, short)).await.unwrap();
    let gone = async {
        while is_busy(&store.delete("one").await) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, gone).await.expect("the record expires within a minute");
    assert!(matches!(store.open("one").await, Err(StoreError::NotFound { .. })));
}

#[tokio::test]
async fn record_is_renewed_while_the_session_is_open() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let short = Limits { hold_timeout: Duration::from_secs(1), ..Limits::default() };
    let store = store_at(&server.url(&database), short);
    create_session(&store, 2).await;
    let _watch = store.watch("one").await.unwrap();
    expire_open_records(server, &database).await;
    let renewed = async {
        let query =
            format!("SELECT COUNT(*) FROM {database}.osier_watches WHERE expires >= UNIX_TIMESTAMP()");
        let mut admin = admin_connection(server).await;
        while admin.fetch_one(AssertSqlSafe(query.as_str())).await.unwrap().get::<i64, _>(0) == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, renewed).await.expect("the record is renewed");
}

#[tokio::test]
async fn forced_deletion_removes_an_open_session_and_later_appends_fail() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let url = server.url(&database);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    let version = create_session(&store, 2).await;
    let _watch = other.watch("one").await.unwrap();
    let version = append_message(&other, version, "early").await.unwrap();
    assert!(is_busy(&store.delete("one").await));
    assert!(store.delete_in_use("one").await.unwrap().deleted);
    let error = append_message(&other, version, "late").await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
}

#[tokio::test]
async fn closing_the_store_deletes_its_records() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let url = server.url(&database);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    create_session(&store, 2).await;
    let _watch = other.watch("one").await.unwrap();
    assert_eq!(count_open_records(server, &database).await, 1);
    other.close().await;
    assert_eq!(count_open_records(server, &database).await, 0);
    assert!(store.delete("one").await.unwrap().deleted);
}

#[tokio::test]
async fn watching_a_missing_session_fails_and_leaves_no_record() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let error = store.watch("one").await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
    assert_eq!(count_open_records(server, &database).await, 0);
}

/// The clock of another server may be ahead by up to ten seconds, even just before the next renewal.
#[tokio::test]
async fn clock_that_is_ahead_does_not_expire_records_or_leases() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let url = server.url(&database);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    create_session(&store, 2).await;
    let watch = other.watch("one").await.unwrap();
    let (renewal, ahead) = (10, osier_store_mysql::CLOCK_MARGIN - 1);
    run_sql(server, format!("UPDATE {database}.osier_watches SET expires = expires - {}", renewal + ahead))
        .await;
    assert!(is_busy(&store.delete("one").await));
    drop(watch);
    other.close().await;
    let lease = osier_store::Lease {
        session: "one".to_owned(),
        cursor: 1,
        entry: None,
        branch: None,
        process: 1,
        host: String::new(),
        expires: None,
    };
    other.acquire_lease(&lease, &|_| true).await.unwrap();
    run_sql(server, format!("UPDATE {database}.osier_leases SET expires = expires - {}", renewal + ahead))
        .await;
    assert_eq!(store.leases("one").await.unwrap().len(), 1);
}
