//! Several hosts: the store uses the next one when a host refuses connections, is silent, freezes, or is read-only.

use std::net::TcpListener;
use std::time::Duration;

use osier_store::{Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::Server;

use crate::support::{add, database, hasty, lines, message, session, sql, store_at, within};

/// The URL of the server's database with another host before it.
fn url_after(host: &str, server: &Server, database: &str) -> String {
    let own = format!("127.0.0.1:{}", server.port());
    server.url(database).replace(&own, &format!("{host},{own}"))
}

/// Limits with which a store would wait for minutes if it waited for the first host.
fn long_limits() -> Limits {
    Limits {
        reach: Duration::from_secs(600),
        glance: Duration::from_secs(600),
        answer: Duration::from_secs(600),
        ..hasty()
    }
}

#[tokio::test]
async fn host_that_refuses_connections_is_skipped() {
    let server = Server::shared();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let database = database(server).await;
    let store = store_at(&url_after(&format!("127.0.0.1:{port}"), server, &database), long_limits());
    assert_eq!(within(session(&store, 2)).await.entries, 2);
}

#[tokio::test]
async fn silent_host_is_skipped() {
    let server = Server::shared();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let database = database(server).await;
    let host = silent.local_addr().unwrap().to_string();
    let store = store_at(&url_after(&host, server, &database), long_limits());
    assert_eq!(within(session(&store, 2)).await.entries, 2);
}

#[tokio::test]
async fn error_is_reported_if_no_host_is_reachable() {
    let port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("mysql://osier@127.0.0.1:{},127.0.0.1:{}/x", port(), port());
    let error = store_at(&url, hasty()).find_ids("").await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
}

#[tokio::test]
async fn read_only_host_is_skipped_even_while_it_is_in_use() {
    let (first, second) = (Server::start(&[]).unwrap(), Server::start(&[]).unwrap());
    for server in [&first, &second] {
        sql(server, "CREATE DATABASE osier_two").await;
    }
    let url = url_after(&format!("127.0.0.1:{}", first.port()), &second, "osier_two");
    let store = store_at(&url, hasty());
    let version = session(&store, 2).await;
    assert_eq!(
        lines(&store_at(&first.url("osier_two"), hasty())).await.len(),
        2,
        "the first host is preferred"
    );
    // Like a replication group whose primary changes.
    sql(&first, "SET GLOBAL read_only = 1").await;
    store_at(&second.url("osier_two"), hasty()).create(&crate::support::header("other"), &[]).await.unwrap();
    let missing = add(&store, version, "late").await.unwrap_err();
    assert!(matches!(missing, StoreError::NotFound { .. }), "the second host is used: {missing:?}");
    assert_eq!(store_at(&url, hasty()).find_ids("").await.unwrap(), ["other"]);
    // If both are read-only, they can still be read.
    sql(&second, "SET GLOBAL read_only = 1").await;
    assert_eq!(store_at(&url, hasty()).find_ids("").await.unwrap(), ["one"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn frozen_server_is_detected() {
    let server = Server::start(&[]).unwrap();
    let url = server.url(&database(&server).await);
    let store = store_at(&url, Limits { answer: Duration::from_secs(600), ..hasty() });
    let version = session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    server.freeze().unwrap();
    let error = within(add(&store, version, "meanwhile")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    server.thaw().unwrap();
    let again = async {
        loop {
            match add(&store, version, "meanwhile").await {
                Err(StoreError::Unavailable { .. }) => tokio::task::yield_now().await,
                done => return done.unwrap(),
            }
        }
    };
    assert_eq!(within(again).await.entries, 3);
    assert_eq!(lines(&store).await[2..], [message("meanwhile", "said")]);
}

/// A server that works for longer than the probe interval is not given up.
#[tokio::test]
async fn slow_server_is_not_given_up() {
    let server = Server::shared();
    let database = database(server).await;
    let store = store_at(&server.url(&database), Limits { patience: Duration::ZERO, ..Limits::default() });
    let version = session(&store, 1).await;
    let trigger = format!(
        "CREATE TRIGGER {database}.slow BEFORE INSERT ON {database}.osier_entries FOR EACH ROW SET @slept = SLEEP(4)"
    );
    sql(server, trigger).await;
    assert_eq!(add(&store, version, "slow").await.unwrap().entries, 2);
}
