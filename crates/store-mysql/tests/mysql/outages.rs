//! Unreachable servers, broken connections, and conflicting transactions: no acknowledged entry is lost, none is stored twice,
//! and the session continues afterward.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use osier_store::{LogVersion, SessionFilter, Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::MariaDbServer;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use crate::support::{
    admin_connection, append_message, create_database, create_session, error_chain, message, read_lines,
    run_sql, short_limits, store_at, with_test_timeout,
};

fn check(error: &StoreError, expected: Expect) {
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    expected.assert_eq(&error_chain(error));
}

#[tokio::test]
async fn unreachable_server_is_reported() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let store = store_at(&format!("mysql://osier@127.0.0.1:{port}/x"), short_limits());
    check(
        &store.find_ids("").await.unwrap_err(),
        expect![[r#"
            store team cannot be reached: connection refused; stored entries are safe; try again when the server is back
            caused by: Connection refused (os error 111)"#]],
    );
}

/// The clock is paused, so it jumps to the timeout as soon as all tasks wait.
#[tokio::test(start_paused = true)]
async fn silent_server_times_out() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("mysql://osier@127.0.0.1:{}/x", silent.local_addr().unwrap().port());
    let store = store_at(&url, short_limits());
    check(
        &store.open("one").await.unwrap_err(),
        expect![[r#"
        store team cannot be reached: no answer within 2 s; stored entries are safe; try again when the server is back
        caused by: timed out"#]],
    );
    // Listing has a shorter timeout, because it queries several stores at once.
    check(
        &store.list(&SessionFilter::default()).await.unwrap_err(),
        expect![[r#"
        store team cannot be reached: no answer within 1 s; stored entries are safe; try again when the server is back
        caused by: timed out"#]],
    );
}

#[tokio::test]
async fn session_continues_when_the_server_is_back() {
    let server = MariaDbServer::start(&[]).unwrap();
    let store = store_at(&server.url(&create_database(&server).await), short_limits());
    let version = create_session(&store, 3).await;
    let _open = store.watch("one").await.unwrap();
    let version = append_message(&store, version, "before").await.unwrap();
    server.kill().unwrap();
    let error = append_message(&store, version, "meanwhile").await.unwrap_err();
    check(
        &error,
        expect![[r#"
            store team cannot be reached: connection refused; stored entries are safe; try again when the server is back
            caused by: Connection refused (os error 111)"#]],
    );
    assert!(matches!(store.open("one").await, Err(StoreError::Unavailable { .. })));
    server.restart().unwrap();
    let version = append_message(&store, version, "meanwhile").await.unwrap();
    assert_eq!(version.entries, 5);
    let ids = read_lines(&store).await;
    assert_eq!(ids[3..], [message("before", "said"), message("meanwhile", "said")]);
}

/// Appends `count` messages, and retries while the server is unreachable.
async fn write(store: &dyn Store, mut version: LogVersion, writer: usize, count: usize) {
    for at in 0..count {
        let id = format!("{writer:04}{at:04}");
        loop {
            match append_message(store, version, &id).await {
                Ok(now) => break version = now,
                Err(StoreError::Conflict { now }) => version = now,
                Err(StoreError::Unavailable { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_lose_and_repeat_no_entry_when_the_server_crashes() {
    const EACH: usize = 60;
    let server = Arc::new(MariaDbServer::start(&[]).unwrap());
    let url = server.url(&create_database(&server).await);
    let version = create_session(&store_at(&url, short_limits()), 0).await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let store = store_at(&url, short_limits());
        let open = store.watch("one").await.unwrap();
        writers.spawn(async move {
            write(&store, version, writer, EACH).await;
            drop(open);
        });
    }
    let watcher = store_at(&url, short_limits());
    for crash in 1..=3 {
        // Crash in the middle of the work, not before or after it.
        let reached = async {
            while watcher.open("one").await.unwrap().version.entries < crash * EACH {
                tokio::task::yield_now().await;
            }
        };
        let reached = with_test_timeout(reached);
        tokio::pin!(reached);
        loop {
            tokio::select! {
                () = &mut reached => break,
                Some(ended) = writers.join_next() => ended.expect("the writer succeeds"),
            }
        }
        let crashing = server.clone();
        tokio::task::spawn_blocking(move || crashing.kill().and_then(|()| crashing.restart()))
            .await
            .unwrap()
            .unwrap();
    }
    with_test_timeout(writers.join_all()).await;
    let lines = read_lines(&watcher).await;
    assert_eq!(lines.len(), 4 * EACH);
    for writer in 0..4 {
        let expected: Vec<Vec<u8>> =
            (0..EACH).map(|at| message(&format!("{writer:04}{at:04}"), "said")).collect();
        let own = format!("\"id\":\"{writer:04}");
        let own = lines.iter().filter(|line| String::from_utf8_lossy(line).contains(&own));
        assert!(own.eq(&expected), "the lines of writer {writer} or their order changed");
    }
}

/// Starts a transaction that takes the position of the next entry of the session `one`, so that appends wait for it.
async fn block_next_entry(server: &MariaDbServer, database: &str, version: LogVersion) -> MySqlConnection {
    let mut admin = admin_connection(server).await;
    let insert = format!(
        "INSERT INTO {database}.osier_entries (session, generation, seq, head, line) VALUES ('one', {}, {}, '', '')",
        version.generation, version.entries
    );
    admin.execute("START TRANSACTION").await.unwrap();
    admin.execute(AssertSqlSafe(insert)).await.unwrap();
    admin
}

/// A running append.
type Append = tokio::task::JoinHandle<Result<LogVersion, StoreError>>;

/// Waits until the append is blocked on a connection other than `before`, and returns the connection's id.
async fn wait_until_blocked(server: &MariaDbServer, database: &str, append: &mut Append, before: u64) -> u64 {
    let mut admin = admin_connection(server).await;
    let query = format!(
        "SELECT CAST(ID AS UNSIGNED) FROM information_schema.PROCESSLIST WHERE DB = '{database}' AND ID <> {before} \
         AND INFO LIKE 'INSERT INTO osier_entries%'"
    );
    let looking = async {
        loop {
            if let Some(row) = admin.fetch_optional(AssertSqlSafe(query.as_str())).await.unwrap() {
                return row.get(0);
            }
        }
    };
    tokio::select! {
        id = with_test_timeout(looking) => id,
        ended = append => panic!("the append is not blocked: {ended:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn append_survives_a_connection_killed_inside_its_transaction() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let mut other = block_next_entry(server, &database, version).await;
    let writer = store.clone();
    let mut append = tokio::spawn(async move { append_message(&writer, version, "cut").await });
    let first = wait_until_blocked(server, &database, &mut append, 0).await;
    other.execute(AssertSqlSafe(format!("KILL {first}"))).await.unwrap();
    // It continues over another connection.
    wait_until_blocked(server, &database, &mut append, first).await;
    other.execute("ROLLBACK").await.unwrap();
    assert_eq!(append.await.unwrap().unwrap().entries, 3);
    assert_eq!(read_lines(&store).await[2..], [message("cut", "said")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn append_survives_a_deadlock() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = create_session(&store, 200).await;
    let mut other = block_next_entry(server, &database, version).await;
    // The server rolls back the transaction with fewer changes, so this one makes more.
    let more = format!("UPDATE {database}.osier_entries SET type = 'x' WHERE session = 'one'");
    other.execute(AssertSqlSafe(more)).await.unwrap();
    let writer = store.clone();
    let mut append = tokio::spawn(async move { append_message(&writer, version, "stuck").await });
    wait_until_blocked(server, &database, &mut append, 0).await;
    let take = format!("UPDATE {database}.osier_sessions SET odd = 7 WHERE id = 'one'");
    other.execute(AssertSqlSafe(take)).await.expect("the append is rolled back");
    other.execute("ROLLBACK").await.unwrap();
    assert_eq!(append.await.unwrap().unwrap().entries, 201);
    assert_eq!(read_lines(&store).await[200..], [message("stuck", "said")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn transaction_that_never_ends_is_reported() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(
        &server.url(&database),
        Limits { response_timeout: Duration::from_secs(30), ..short_limits() },
    );
    let version = create_session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let mut other = block_next_entry(server, &database, version).await;
    check(
        &append_message(&store, version, "stuck").await.unwrap_err(),
        expect![[r#"
            store team cannot be reached: its cluster is adding or losing a node, or other transactions block it; try again in a few seconds; if this persists, check the nodes of the cluster, and look for a transaction that never ends
            caused by: 1205 (HY000): Lock wait timeout exceeded; try restarting transaction"#]],
    );
    other.execute("ROLLBACK").await.unwrap();
    assert_eq!(append_message(&store, version, "stuck").await.unwrap().entries, 3);
}

/// Statements that must be prepared again, tables that just changed, and cluster nodes that are not ready: each fails twice.
#[tokio::test]
async fn temporary_errors_are_retried() {
    let server = MariaDbServer::shared();
    let again = [1615, 1243, 1412, 1180, 3101, 8002, 8005, 8022, 8028, 9007, 1205];
    let reconnect = [1047, 3100, 1290, 1105, 9001, 9002, 9003, 9004, 9005];
    for number in again.into_iter().chain(reconnect) {
        let database = create_database(server).await;
        let store = store_at(&server.url(&database), Limits::default());
        let version = create_session(&store, 1).await;
        let _open = store.watch("one").await.unwrap();
        // Aria tables are not transactional, so these rows survive a rollback.
        run_sql(server, format!("CREATE TABLE {database}.tries (number INT) ENGINE=Aria")).await;
        let trigger = format!(
            "CREATE TRIGGER {database}.failing BEFORE INSERT ON {database}.osier_entries FOR EACH ROW
             IF (SELECT COUNT(*) FROM {database}.tries) < 2 THEN
                 INSERT INTO {database}.tries VALUES ({number});
                 SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'try again later';
             END IF"
        );
        run_sql(server, trigger).await;
        assert_eq!(append_message(&store, version, "third").await.unwrap().entries, 2, "{number}");
        assert_eq!(read_lines(&store).await.len(), 2);
    }
}

/// The retry timeout counts from the first failure, not from the start of an attempt that waited long before it failed.
#[tokio::test]
async fn failure_after_a_long_wait_is_retried() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), short_limits());
    let version = create_session(&store, 1).await;
    let _open = store.watch("one").await.unwrap();
    run_sql(server, format!("CREATE TABLE {database}.tries (number INT) ENGINE=Aria")).await;
    let trigger = format!(
        "CREATE TRIGGER {database}.failing BEFORE INSERT ON {database}.osier_entries FOR EACH ROW
         IF (SELECT COUNT(*) FROM {database}.tries) < 1 THEN
             INSERT INTO {database}.tries VALUES (1);
             SET @slept = SLEEP(1);
             SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'not now';
         END IF"
    );
    run_sql(server, trigger).await;
    assert!(short_limits().retry_timeout < Duration::from_secs(1));
    assert_eq!(append_message(&store, version, "second").await.unwrap().entries, 2);
}

/// Error 1105 is temporary only if its message says so.
#[tokio::test]
async fn unknown_error_is_reported_without_a_retry() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = create_session(&store, 1).await;
    let trigger = format!(
        "CREATE TRIGGER {database}.failing BEFORE INSERT ON {database}.osier_entries FOR EACH ROW
         SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1105, MESSAGE_TEXT = 'unknown'"
    );
    run_sql(server, trigger).await;
    let error = append_message(&store, version, "second").await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
}
