//! What transactions rely on: opening and removing a session exclude each other, and no error of a cluster is lost.

use std::collections::HashSet;
use std::time::Duration;

use osier_store::{Lease, Store, StoreError};
use osier_store_mysql::server::MariaDbServer;
use osier_store_mysql::{Limits, MySqlStore};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, Row};

use crate::support::{
    admin_connection, append_message, create_database, create_session, message, run_sql, store_at,
    with_test_timeout,
};

fn lease() -> Lease {
    Lease {
        session: "one".to_owned(),
        cursor: 1,
        entry: None,
        branch: None,
        process: 1,
        host: String::new(),
        expires: None,
    }
}

/// A server with a session, and a connection with an open transaction that has locked the use of that session.
async fn locked_session(server: &MariaDbServer) -> (MySqlStore, MySqlConnection) {
    let database = create_database(server).await;
    let store = store_at(&server.url(&database), Limits::default());
    create_session(&store, 2).await;
    let url = server.url(&database).replace("osier:", "admin:");
    let mut other = MySqlConnection::connect(&url).await.unwrap();
    other.execute("START TRANSACTION").await.unwrap();
    other
        .execute("INSERT INTO osier_locks (session, purpose, holder, expires) VALUES ('one', 'use', 7, 0)")
        .await
        .unwrap();
    (store, other)
}

async fn wait_until_blocked(server: &MariaDbServer) {
    let mut admin = admin_connection(server).await;
    let query = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT'";
    while admin.fetch_one(query).await.unwrap().get::<i64, _>(0) == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn session_that_is_deleted_at_the_same_time_cannot_be_opened() {
    let server = MariaDbServer::start(&[]).unwrap();
    for is_turn in [false, true] {
        let (store, mut deletion) = locked_session(&server).await;
        let opener = store.clone();
        let opened = tokio::spawn(async move {
            match is_turn {
                true => opener.acquire_lease(&lease(), &|_| true).await,
                false => opener.watch("one").await.map(drop),
            }
        });
        with_test_timeout(wait_until_blocked(&server)).await;
        deletion.execute("DELETE FROM osier_sessions WHERE id = 'one'").await.unwrap();
        deletion.execute("COMMIT").await.unwrap();
        let error = opened.await.unwrap().unwrap_err();
        assert!(matches!(error, StoreError::NotFound { .. }), "{error:?}");
        for table in ["osier_watches", "osier_leases"] {
            let count = AssertSqlSafe(format!("SELECT COUNT(*) FROM {table}"));
            assert_eq!(deletion.fetch_one(count).await.unwrap().get::<i64, _>(0), 0, "{table}");
        }
    }
}

#[tokio::test]
async fn session_that_is_opened_at_the_same_time_cannot_be_deleted_or_replaced() {
    let server = MariaDbServer::start(&[]).unwrap();
    for is_deletion in [true, false] {
        let (store, mut opening) = locked_session(&server).await;
        let version = store.open("one").await.unwrap().version;
        let remover = store.clone();
        let removed = tokio::spawn(async move {
            match is_deletion {
                true => remover.delete("one").await.map(drop),
                false => remover.rewrite("one", version, &[message("00000000", "said")]).await.map(drop),
            }
        });
        with_test_timeout(wait_until_blocked(&server)).await;
        let insert =
            "INSERT INTO osier_watches (session, holder, expires) VALUES ('one', 7, UNIX_TIMESTAMP() + 30)";
        opening.execute(insert).await.unwrap();
        opening.execute("COMMIT").await.unwrap();
        let error = removed.await.unwrap().unwrap_err();
        assert!(matches!(error, StoreError::Busy { .. }), "{error:?}");
        assert_eq!(store.open("one").await.unwrap().version, version);
    }
}

/// Every operation that uses a transaction, each over a new connection.
async fn run_all_operations(url: &str) {
    let new_store = || store_at(url, Limits::default());
    let version = create_session(&new_store(), 2).await;
    let store = new_store();
    let watch = store.watch("one").await.unwrap();
    let version = append_message(&store, version, "00000002").await.unwrap();
    let version = store.append("one", version, &[]).await.unwrap();
    store.acquire_lease(&lease(), &|_| true).await.unwrap();
    store.release_lease(&lease()).await;
    assert!(new_store().delete("one").await.is_err());
    drop(watch);
    store.close().await;
    new_store().rewrite("one", version, &[message("00000000", "said")]).await.unwrap();
    new_store().inspect_servers().await.unwrap();
    assert!(new_store().delete("one").await.unwrap().deleted);
}

/// The statements that the server has received since its log was cleared: thread, command, text.
async fn logged_statements(server: &MariaDbServer) -> Vec<(u64, String, String)> {
    let query = "SELECT thread_id, command_type, CONVERT(argument USING utf8mb4) FROM mysql.general_log";
    let rows = admin_connection(server).await.fetch_all(query).await.unwrap();
    rows.iter().map(|row| (row.get(0), row.get(1), row.get(2))).collect()
}

/// A deleted branch can change the whole card, so the first attempt reads all lines.
#[tokio::test]
async fn append_that_lost_a_race_reads_only_the_new_lines() {
    let server = MariaDbServer::start(&["--log-output=TABLE"]).unwrap();
    let url = server.url(&create_database(&server).await);
    let (store, other) = (store_at(&url, Limits::default()), store_at(&url, Limits::default()));
    let version = create_session(&other, 300).await;
    let delete_branch = |id: &str| {
        format!(
            r#"{{"type":"custom","id":"{id}","parentId":null,"customType":"osier.delete_branch","data":{{"targetId":"00000007"}}}}"#
        )
        .into_bytes()
    };
    let version = store.append("one", version, &[delete_branch("first")]).await.unwrap();
    append_message(&other, version, "faster").await.unwrap();
    run_sql(&server, "SET GLOBAL general_log = 1").await;
    let lost = store.append("one", version, &[delete_branch("second")]).await.unwrap_err();
    let StoreError::Conflict { now } = lost else { panic!("{lost:?}") };
    store.append("one", now, &[delete_branch("second")]).await.unwrap();
    let statements = logged_statements(&server).await;
    let is_line_read = |(_, command, sql): &&(u64, String, String)| {
        command == "Execute" && sql.starts_with("SELECT seq, line")
    };
    let reads: Vec<_> = statements.iter().filter(is_line_read).map(|(.., sql)| sql).collect();
    assert!(matches!(reads[..], [read] if read.ends_with(" (301)")), "{reads:?}");
}

/// MariaDB with Galera does not report that it rolled back a transaction if that happens while it prepares a `SELECT`.
#[tokio::test]
async fn no_select_is_prepared_inside_a_transaction() {
    let server = MariaDbServer::start(&["--log-output=TABLE"]).unwrap();
    let database = create_database(&server).await;
    run_sql(&server, "SET GLOBAL general_log = 1").await;
    run_all_operations(&server.url(&database)).await;
    let (mut transactions, mut selects) = (HashSet::new(), 0);
    for (thread, command, statement) in logged_statements(&server).await {
        match (command.as_str(), statement.as_str()) {
            ("Query", "START TRANSACTION") => drop(transactions.insert(thread)),
            ("Query", "COMMIT" | "ROLLBACK") => drop(transactions.remove(&thread)),
            ("Prepare", sql) if transactions.contains(&thread) && sql.starts_with("SELECT") => {
                panic!("{sql}")
            }
            ("Execute", sql) if transactions.contains(&thread) && sql.starts_with("SELECT") => selects += 1,
            _ => {}
        }
    }
    assert!(selects > 10, "only {selects} SELECT statements in transactions");
}
