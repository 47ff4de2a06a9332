//! Who has a session open, across processes: it is not deleted under anybody, and a killed process keeps it for nobody.

use std::time::Duration;

use osier_store::{DeleteResult, Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::Server;
use sqlx::{AssertSqlSafe, Executor, Row};

use crate::support::{add, admin, database, hasty, session, sql, store_at};

/// How long a test waits for something that must happen.
const LIMIT: Duration = Duration::from_secs(60);

fn is_busy(deleted: &Result<DeleteResult, StoreError>) -> bool {
    matches!(deleted, Err(StoreError::Busy { id }) if id == "one")
}

/// How many processes say that they have a session open, whether that has run out or not.
async fn said(server: &Server, database: &str) -> i64 {
    let asked = format!("SELECT COUNT(*) FROM {database}.osier_watches");
    admin(server).await.fetch_one(AssertSqlSafe(asked)).await.unwrap().get(0)
}

async fn run_out(server: &Server, database: &str) {
    sql(server, format!("UPDATE {database}.osier_watches SET expires = UNIX_TIMESTAMP() - 1")).await;
}

/// Has the session open, and dies without a word.
fn opened_and_killed(url: &str, limits: Limits) {
    let store = store_at(url, limits);
    let process = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let watch = process.block_on(store.watch("one")).unwrap();
    process.shutdown_timeout(LIMIT);
    drop(watch);
}

#[tokio::test]
async fn a_session_that_a_killed_process_had_open_can_be_deleted_after_a_while() {
    let server = Server::shared();
    let database = database(server).await;
    let url = server.url(&database);
    let store = store_at(&url, Limits::default());
    session(&store, 2).await;
    let killed = url.clone();
    tokio::task::spawn_blocking(move || opened_and_killed(&killed, Limits::default())).await.unwrap();
    assert!(is_busy(&store.delete("one").await));
    run_out(server, &database).await;
    assert!(store.delete("one").await.unwrap().deleted);
    assert_eq!(said(server, &database).await, 0);
}

#[tokio::test]
async fn what_a_killed_process_said_runs_out_by_itself() {
    let server = Server::shared();
    let url = server.url(&database(server).await);
    let store = store_at(&url, Limits::default());
    session(&store, 2).await;
    let short = Limits { hold: Duration::from_secs(1), ..Limits::default() };
    tokio::task::spawn_blocking(move || opened_and_killed(&url, short)).await.unwrap();
    let gone = async {
        while is_busy(&store.delete("one").await) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, gone).await.expect("a killed process keeps a session for a minute");
    assert!(matches!(store.open("one").await, Err(StoreError::NotFound { .. })));
}

#[tokio::test]
async fn a_session_stays_open_for_longer_than_what_was_said_at_first() {
    let server = Server::shared();
    let database = database(server).await;
    let short = Limits { hold: Duration::from_secs(1), ..Limits::default() };
    let store = store_at(&server.url(&database), short);
    session(&store, 2).await;
    let _watch = store.watch("one").await.unwrap();
    run_out(server, &database).await;
    let renewed = async {
        let asked =
            format!("SELECT COUNT(*) FROM {database}.osier_watches WHERE expires >= UNIX_TIMESTAMP()");
        let mut admin = admin(server).await;
        while admin.fetch_one(AssertSqlSafe(asked.as_str())).await.unwrap().get::<i64, _>(0) == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LIMIT, renewed).await.expect("nobody says any more that the session is open");
}

#[tokio::test]
async fn a_session_in_use_goes_if_that_is_wanted_and_whoever_has_it_open_finds_it_gone() {
    let server = Server::shared();
    let database = database(server).await;
    let url = server.url(&database);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    let version = session(&store, 2).await;
    let _watch = other.watch("one").await.unwrap();
    let version = add(&other, version, "early").await.unwrap();
    assert!(is_busy(&store.delete("one").await));
    assert!(store.delete_in_use("one").await.unwrap().deleted);
    let error = add(&other, version, "late").await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
}

#[tokio::test]
async fn a_process_that_leaves_says_so_before_it_ends() {
    let server = Server::shared();
    let database = database(server).await;
    let url = server.url(&database);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    session(&store, 2).await;
    let _watch = other.watch("one").await.unwrap();
    assert_eq!(said(server, &database).await, 1);
    other.close().await;
    assert_eq!(said(server, &database).await, 0);
    assert!(store.delete("one").await.unwrap().deleted);
}

#[tokio::test]
async fn what_is_not_there_cannot_be_had_open() {
    let server = Server::shared();
    let database = database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let error = store.watch("one").await.unwrap_err();
    assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
    assert_eq!(said(server, &database).await, 0);
}

/// As it is after an update of Osier: the first one who may bring the tables up to date does so.
#[tokio::test]
async fn an_older_database_is_brought_up_to_date_by_whoever_may() {
    let server = Server::shared();
    let database = database(server).await;
    let version = session(&store_at(&server.url(&database), Limits::default()), 2).await;
    sql(server, format!("DROP TABLE {database}.osier_watches, {database}.osier_leases")).await;
    sql(server, format!("ALTER TABLE {database}.osier_entries DROP COLUMN tally")).await;
    sql(server, format!("DELETE FROM {database}.osier_schema WHERE version > 1")).await;
    let reader = store_at(&server.url(&database).replace("osier:", "reader:"), hasty());
    let refused = reader.open("one").await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused:?}");
    let store = store_at(&server.url(&database), Limits::default());
    let _open = store.watch("one").await.unwrap();
    let version = add(&store, version, "next").await.unwrap();
    assert_eq!(reader.open("one").await.unwrap().version, version);
}

/// Opening a session refuses a deletion that was announced before and did not see it.
#[tokio::test]
async fn opening_a_session_refuses_a_deletion_in_progress() {
    let server = Server::shared();
    let database = database(server).await;
    let url = server.url(&database);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    session(&store, 2).await;
    let announce = format!(
        "INSERT INTO {database}.osier_locks (session, purpose, holder, expires) VALUES ('one', 'removal', 7, 0)"
    );
    sql(server, announce.clone()).await;
    let watch = other.watch("one").await.unwrap();
    let left = format!("SELECT COUNT(*) FROM {database}.osier_locks");
    let left: i64 = admin(server).await.fetch_one(AssertSqlSafe(left)).await.unwrap().get(0);
    assert_eq!(left, 0, "the one who deletes finds its announcement gone");
    assert!(is_busy(&store.delete("one").await));
    drop(watch);
    other.close().await;
    // One that a killed process left is in nobody's way.
    sql(server, announce).await;
    assert!(store.delete("one").await.unwrap().deleted);
}

/// The clock of the server that another process asks may be ahead by up to ten seconds, also just before the next renewal.
#[tokio::test]
async fn a_clock_that_is_ahead_ends_neither_a_hold_nor_a_lease() {
    let server = Server::shared();
    let database = database(server).await;
    let url = server.url(&database);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    session(&store, 2).await;
    let watch = other.watch("one").await.unwrap();
    let (renewal, ahead) = (10, osier_store_mysql::CLOCK_MARGIN - 1);
    sql(server, format!("UPDATE {database}.osier_watches SET expires = expires - {}", renewal + ahead)).await;
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
    sql(server, format!("UPDATE {database}.osier_leases SET expires = expires - {}", renewal + ahead)).await;
    assert_eq!(store.leases("one").await.unwrap().len(), 1);
}
