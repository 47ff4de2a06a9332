//! Servers that are away, connections that break, transactions that collide: nothing acknowledged is lost, nothing is stored
//! twice, and the session goes on.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use expect_test::{Expect, expect};
use osier_store::{LogVersion, SessionFilter, Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::Server;
use sqlx::{AssertSqlSafe, Executor, MySqlConnection, Row};

use crate::support::{add, admin, database, hasty, lines, message, session, sql, store_at, told, within};

fn check(error: &StoreError, expected: Expect) {
    assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    expected.assert_eq(&told(error));
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_at_once() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let store = store_at(&format!("mysql://osier@127.0.0.1:{port}/x"), hasty());
    check(
        &store.find_ids("").await.unwrap_err(),
        expect![[r#"
            store team cannot be reached: connection refused; what was stored is safe; go on when the server is back
            caused by: Connection refused (os error 111)"#]],
    );
}

/// The clock is paused: it jumps to the end of the wait as soon as everybody waits.
#[tokio::test(start_paused = true)]
async fn a_server_that_never_answers_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("mysql://osier@127.0.0.1:{}/x", silent.local_addr().unwrap().port());
    let store = store_at(&url, hasty());
    check(
        &store.open("one").await.unwrap_err(),
        expect![[r#"
        store team cannot be reached: no answer within 2 s; what was stored is safe; go on when the server is back
        caused by: time is up"#]],
    );
    // Lists of several stores are made at once, and the others should not wait for this one.
    check(
        &store.list(&SessionFilter::default()).await.unwrap_err(),
        expect![[r#"
        store team cannot be reached: no answer within 1 s; what was stored is safe; go on when the server is back
        caused by: time is up"#]],
    );
}

#[tokio::test]
async fn a_session_goes_on_when_the_server_is_back() {
    let server = Server::start(&[]).unwrap();
    let store = store_at(&server.url(&database(&server).await), hasty());
    let version = session(&store, 3).await;
    let _open = store.watch("one").await.unwrap();
    let version = add(&store, version, "before").await.unwrap();
    server.kill().unwrap();
    let error = add(&store, version, "meanwhile").await.unwrap_err();
    check(
        &error,
        expect![[r#"
            store team cannot be reached: connection refused; what was stored is safe; go on when the server is back
            caused by: Connection refused (os error 111)"#]],
    );
    assert!(matches!(store.open("one").await, Err(StoreError::Unavailable { .. })));
    server.run().unwrap();
    let version = add(&store, version, "meanwhile").await.unwrap();
    assert_eq!(version.entries, 5);
    let ids = lines(&store).await;
    assert_eq!(ids[3..], [message("before", "said"), message("meanwhile", "said")]);
}

/// Appends `count` messages, again and again while the server is away.
async fn write(store: &dyn Store, mut version: LogVersion, writer: usize, count: usize) {
    for at in 0..count {
        let id = format!("{writer:04}{at:04}");
        loop {
            match add(store, version, &id).await {
                Ok(now) => break version = now,
                Err(StoreError::Conflict { now }) => version = now,
                Err(StoreError::Unavailable { .. }) => tokio::task::yield_now().await,
                Err(error) => panic!("{error:?}"),
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_that_go_on_through_crashes_of_the_server_lose_and_repeat_nothing() {
    const EACH: usize = 60;
    let server = Arc::new(Server::start(&[]).unwrap());
    let url = server.url(&database(&server).await);
    let version = session(&store_at(&url, hasty()), 0).await;
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..4 {
        let store = store_at(&url, hasty());
        let open = store.watch("one").await.unwrap();
        writers.spawn(async move {
            write(&store, version, writer, EACH).await;
            drop(open);
        });
    }
    let watcher = store_at(&url, hasty());
    for crash in 1..=3 {
        // A crash in the middle of the work, not before or after it.
        let reached = async {
            while watcher.open("one").await.unwrap().version.entries < crash * EACH {
                tokio::task::yield_now().await;
            }
        };
        let reached = within(reached);
        tokio::pin!(reached);
        loop {
            tokio::select! {
                () = &mut reached => break,
                Some(ended) = writers.join_next() => ended.expect("a writer fails"),
            }
        }
        let crashing = server.clone();
        tokio::task::spawn_blocking(move || crashing.kill().and_then(|()| crashing.run()))
            .await
            .unwrap()
            .unwrap();
    }
    within(writers.join_all()).await;
    let lines = lines(&watcher).await;
    assert_eq!(lines.len(), 4 * EACH);
    for writer in 0..4 {
        let expected: Vec<Vec<u8>> =
            (0..EACH).map(|at| message(&format!("{writer:04}{at:04}"), "said")).collect();
        let own = format!("\"id\":\"{writer:04}");
        let own = lines.iter().filter(|line| String::from_utf8_lossy(line).contains(&own));
        assert!(own.eq(&expected), "the lines of writer {writer} changed, or their order did");
    }
}

/// A transaction that has the place of the next entry of the session `one`, so that whoever appends waits for it.
async fn in_the_way(server: &Server, database: &str, version: LogVersion) -> MySqlConnection {
    let mut admin = admin(server).await;
    let insert = format!(
        "INSERT INTO {database}.osier_entries (session, generation, seq, head, line) VALUES ('one', {}, {}, '', '')",
        version.generation, version.entries
    );
    admin.execute("START TRANSACTION").await.unwrap();
    admin.execute(AssertSqlSafe(insert)).await.unwrap();
    admin
}

/// An append that runs.
type Append = tokio::task::JoinHandle<Result<LogVersion, StoreError>>;

/// The number of the connection on which an append waits, other than `before`. Each look is a question to the server.
async fn waiting(server: &Server, database: &str, append: &mut Append, before: u64) -> u64 {
    let mut admin = admin(server).await;
    let asked = format!(
        "SELECT CAST(ID AS UNSIGNED) FROM information_schema.PROCESSLIST WHERE DB = '{database}' AND ID <> {before} \
         AND INFO LIKE 'INSERT INTO osier_entries%'"
    );
    let looking = async {
        loop {
            if let Some(row) = admin.fetch_optional(AssertSqlSafe(asked.as_str())).await.unwrap() {
                return row.get(0);
            }
        }
    };
    tokio::select! {
        id = within(looking) => id,
        ended = append => panic!("the append does not wait: {ended:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_is_cut_inside_a_transaction_costs_nothing() {
    let server = Server::shared();
    let database = database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let mut other = in_the_way(server, &database, version).await;
    let writer = store.clone();
    let mut append = tokio::spawn(async move { add(&writer, version, "cut").await });
    let first = waiting(server, &database, &mut append, 0).await;
    other.execute(AssertSqlSafe(format!("KILL {first}"))).await.unwrap();
    // It continues over another connection.
    waiting(server, &database, &mut append, first).await;
    other.execute("ROLLBACK").await.unwrap();
    assert_eq!(append.await.unwrap().unwrap().entries, 3);
    assert_eq!(lines(&store).await[2..], [message("cut", "said")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deadlock_costs_nothing() {
    let server = Server::shared();
    let database = database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = session(&store, 200).await;
    let mut other = in_the_way(server, &database, version).await;
    // Who changed less is the one to give way.
    let more = format!("UPDATE {database}.osier_entries SET type = 'x' WHERE session = 'one'");
    other.execute(AssertSqlSafe(more)).await.unwrap();
    let writer = store.clone();
    let mut append = tokio::spawn(async move { add(&writer, version, "stuck").await });
    waiting(server, &database, &mut append, 0).await;
    let take = format!("UPDATE {database}.osier_sessions SET odd = 7 WHERE id = 'one'");
    other.execute(AssertSqlSafe(take)).await.expect("the append gives way");
    other.execute("ROLLBACK").await.unwrap();
    assert_eq!(append.await.unwrap().unwrap().entries, 201);
    assert_eq!(lines(&store).await[200..], [message("stuck", "said")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_never_ends_is_told() {
    let server = Server::shared();
    let database = database(server).await;
    let store = store_at(&server.url(&database), Limits { answer: Duration::from_secs(30), ..hasty() });
    let version = session(&store, 2).await;
    let _open = store.watch("one").await.unwrap();
    let mut other = in_the_way(server, &database, version).await;
    check(
        &add(&store, version, "stuck").await.unwrap_err(),
        expect![[r#"
            store team cannot be reached: other transactions were in the way; try again; a cluster that is losing or gaining a server needs some seconds; if it stays so, look for a transaction that never ends
            caused by: 1205 (HY000): Lock wait timeout exceeded; try restarting transaction"#]],
    );
    other.execute("ROLLBACK").await.unwrap();
    assert_eq!(add(&store, version, "stuck").await.unwrap().entries, 3);
}

/// Statements that must be prepared anew, tables that just changed, a server of a cluster that just came: each fails twice.
#[tokio::test]
async fn what_passes_by_itself_is_tried_again() {
    let server = Server::shared();
    let again = [1615, 1243, 1412, 1180, 3101, 8005, 1205];
    let reconnect = [1047, 3100, 1290, 1105, 9001, 9002, 9003, 9004, 9005];
    for number in again.into_iter().chain(reconnect) {
        let database = database(server).await;
        let store = store_at(&server.url(&database), Limits::default());
        let version = session(&store, 1).await;
        let _open = store.watch("one").await.unwrap();
        // What is in this table stays there when a transaction fails.
        sql(server, format!("CREATE TABLE {database}.tries (number INT) ENGINE=Aria")).await;
        let trigger = format!(
            "CREATE TRIGGER {database}.failing BEFORE INSERT ON {database}.osier_entries FOR EACH ROW
             IF (SELECT COUNT(*) FROM {database}.tries) < 2 THEN
                 INSERT INTO {database}.tries VALUES ({number});
                 SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {number}, MESSAGE_TEXT = 'try again later';
             END IF"
        );
        sql(server, trigger).await;
        assert_eq!(add(&store, version, "third").await.unwrap().entries, 2, "{number}");
        assert_eq!(lines(&store).await.len(), 2);
    }
}

/// Patience counts from the first failure, not from the beginning of an attempt that waited long before it failed.
#[tokio::test]
async fn a_failure_after_a_long_wait_is_tried_again() {
    let server = Server::shared();
    let database = database(server).await;
    let store = store_at(&server.url(&database), hasty());
    let version = session(&store, 1).await;
    let _open = store.watch("one").await.unwrap();
    sql(server, format!("CREATE TABLE {database}.tries (number INT) ENGINE=Aria")).await;
    let trigger = format!(
        "CREATE TRIGGER {database}.failing BEFORE INSERT ON {database}.osier_entries FOR EACH ROW
         IF (SELECT COUNT(*) FROM {database}.tries) < 1 THEN
             INSERT INTO {database}.tries VALUES (1);
             SET @slept = SLEEP(1);
             SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'not now';
         END IF"
    );
    sql(server, trigger).await;
    assert!(hasty().patience < Duration::from_secs(1));
    assert_eq!(add(&store, version, "second").await.unwrap().entries, 2);
}

/// An unknown error with that number stays one.
#[tokio::test]
async fn an_error_without_a_name_is_told_at_once() {
    let server = Server::shared();
    let database = database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = session(&store, 1).await;
    let trigger = format!(
        "CREATE TRIGGER {database}.failing BEFORE INSERT ON {database}.osier_entries FOR EACH ROW
         SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1105, MESSAGE_TEXT = 'unknown'"
    );
    sql(server, trigger).await;
    let error = add(&store, version, "second").await.unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
}
