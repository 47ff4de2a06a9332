//! Several hosts: the store uses the next one when a host refuses connections, is silent, freezes, or is read-only.

use std::net::TcpListener;
use std::time::Duration;

use osier_store::{Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::MariaDbServer;

use crate::support::{
    append_message, create_database, create_session, message, read_lines, run_sql, short_limits, store_at,
    with_test_timeout,
};

/// The URL of the server's database with another host before it.
fn url_after(host: &str, server: &MariaDbServer, database: &str) -> String {
    let own = format!("127.0.0.1:{}", server.port());
    server.url(database).replace(&own, &format!("{host},{own}"))
}

/// Limits with which a store would wait for minutes if it waited for the first host.
fn long_limits() -> Limits {
    Limits {
        connect_timeout: Duration::from_secs(600),
        list_connect_timeout: Duration::from_secs(600),
        response_timeout: Duration::from_secs(600),
        ..short_limits()
    }
}

#[tokio::test]
async fn host_that_refuses_connections_is_skipped() {
    let server = MariaDbServer::shared();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let database = create_database(server).await;
    let store = store_at(&url_after(&format!("127.0.0.1:{port}"), server, &database), long_limits());
    assert_eq!(with_test_timeout(create_session(&store, 2)).await.entries, 2);
}

#[tokio::test]
async fn silent_host_is_skipped() {
    let server = MariaDbServer::shared();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let database = create_database(server).await;
    let host = silent.local_addr().unwrap().to_string();
    let store = store_at(&url_after(&host, server, &database), long_limits());
    assert_eq!(with_test_timeout(create_session(&store, 2)).await.entries, 2);
}

#[tokio::test]
async fn error_is_reported_if_no_host_is_reachable() {
    let port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("mysql://osier@127.0.0.1:{},127.0.0.1:{}/x", port(), port());
    let error = store_at(&url, short_limits()).find_ids("").await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
}

#[tokio::test]
async fn read_only_host_is_skipped_even_while_it_is_in_use() {
    let (first, second) = (MariaDbServer::start(&[]).unwrap(), MariaDbServer::start(&[]).unwrap());
    for server in [&first, &second] {
        run_sql(server, "CREATE DATABASE osier_two").await;
    }
    let url = url_after(&format!("127.0.0.1:{}", first.port()), &second, "osier_two");
    let store = store_at(&url, short_limits());
    let version = create_session(&store, 2).await;
    assert_eq!(
        read_lines(&store_at(&first.url("osier_two"), short_limits())).await.len(),
        2,
        "the first host is preferred"
    );
    // Like a replication group whose primary changes.
    run_sql(&first, "SET GLOBAL read_only = 1").await;
    store_at(&second.url("osier_two"), short_limits())
        .create(&crate::support::header("other"), &[])
        .await
        .unwrap();
    let missing = append_message(&store, version, "late").await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound { .. }), "the second host is used: {missing:?}");
    assert_eq!(store_at(&url, short_limits()).find_ids("").await.unwrap(), ["other"]);
    // If both are read-only, they can still be read.
    run_sql(&second, "SET GLOBAL read_only = 1").await;
    assert_eq!(store_at(&url, short_limits()).find_ids("").await.unwrap(), ["one"]);
}

/// A Galera node without a majority reports error 1047.
#[tokio::test]
async fn host_that_is_not_ready_is_skipped_even_while_it_is_in_use() {
    let (first, second) = (MariaDbServer::start(&[]).unwrap(), MariaDbServer::start(&[]).unwrap());
    for server in [&first, &second] {
        run_sql(server, "CREATE DATABASE osier_two").await;
    }
    let url = url_after(&format!("127.0.0.1:{}", first.port()), &second, "osier_two");
    let store = store_at(&url, short_limits());
    let version = create_session(&store, 2).await;
    run_sql(
        &first,
        "CREATE TRIGGER osier_two.unready BEFORE INSERT ON osier_two.osier_entries FOR EACH ROW
         SIGNAL SQLSTATE '08S01' SET MYSQL_ERRNO = 1047, MESSAGE_TEXT = 'WSREP has not yet prepared node'",
    )
    .await;
    store_at(&second.url("osier_two"), short_limits())
        .create(&crate::support::header("other"), &[])
        .await
        .unwrap();
    let missing = append_message(&store, version, "late").await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound { .. }), "the second host was asked: {missing:?}");
    assert_eq!(store.find_ids("").await.unwrap(), ["other"], "the second host stays in use");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frozen_server_is_detected() {
    let server = MariaDbServer::start(&[]).unwrap();
    let url = server.url(&create_database(&server).await);
    let store = store_at(&url, Limits { response_timeout: Duration::from_secs(600), ..short_limits() });
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    server.freeze().unwrap();
    let error = with_test_timeout(append_message(&store, version, "meanwhile")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    server.thaw().unwrap();
    let again = async {
        loop {
            match append_message(&store, version, "meanwhile").await {
                Err(StoreError::Unavailable { .. }) => tokio::task::yield_now().await,
                done => return done.unwrap(),
            }
        }
    };
    assert_eq!(with_test_timeout(again).await.entries, 3);
    assert_eq!(read_lines(&store).await[2..], [message("meanwhile", "said")]);
}

/// A server that works for longer than the probe interval is not given up.
#[tokio::test]
async fn slow_server_is_not_given_up() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store =
        store_at(&server.url(&database), Limits { retry_timeout: Duration::ZERO, ..Limits::default() });
    let version = create_session(&store, 1).await;
    let trigger = format!(
        "CREATE TRIGGER {database}.slow BEFORE INSERT ON {database}.osier_entries FOR EACH ROW SET @slept = SLEEP(4)"
    );
    run_sql(server, trigger).await;
    assert_eq!(append_message(&store, version, "slow").await.unwrap().entries, 2);
}
