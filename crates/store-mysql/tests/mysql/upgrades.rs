//! Tables of an earlier version are upgraded once, by the first process with the required privileges.

use osier_store::{Store, StoreError};
use osier_store_mysql::Limits;
use osier_store_mysql::server::MariaDbServer;
use sqlx::{AssertSqlSafe, Executor, Row};

use crate::support::{
    admin_connection, append_message, create_database, create_session, run_sql, short_limits, store_at,
};

/// Makes the tables those of an earlier version.
async fn downgrade(server: &MariaDbServer, database: &str) {
    run_sql(server, format!("ALTER TABLE {database}.osier_entries DROP COLUMN tally")).await;
    run_sql(server, format!("DELETE FROM {database}.osier_schema WHERE version > 2")).await;
}

/// The numbers of locks and of schema versions.
async fn locks_and_versions(server: &MariaDbServer, database: &str) -> (i64, i64) {
    let query = format!(
        "SELECT (SELECT COUNT(*) FROM {database}.osier_locks), (SELECT COUNT(*) FROM {database}.osier_schema)"
    );
    let row = admin_connection(server).await.fetch_one(AssertSqlSafe(query)).await.unwrap();
    (row.get(0), row.get(1))
}

/// Only one of them changes a table of an earlier version. The lock of a killed process expires.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_processes_can_upgrade_the_tables_at_once() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let url = server.url(&database);
    create_session(&store_at(&url, Limits::default()), 2).await;
    downgrade(server, &database).await;
    let dead = format!(
        "INSERT INTO {database}.osier_locks (session, purpose, holder, expires) VALUES ('', 'schema', 7, UNIX_TIMESTAMP() - 1)"
    );
    run_sql(server, dead).await;
    let mut makers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let store = store_at(&url, Limits::default());
        makers.spawn(async move { store.find_ids("").await.unwrap() });
    }
    makers.join_all().await;
    assert_eq!(locks_and_versions(server, &database).await, (0, 5));
    run_sql(server, format!("SELECT tally FROM {database}.osier_entries")).await;
}

/// Like after an update of Osier: the first user with the required privileges upgrades the tables.
#[tokio::test]
async fn older_database_is_upgraded_by_the_first_user_with_privileges() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let version = create_session(&store_at(&server.url(&database), Limits::default()), 2).await;
    run_sql(server, format!("DROP TABLE {database}.osier_watches, {database}.osier_leases")).await;
    run_sql(server, format!("ALTER TABLE {database}.osier_entries DROP COLUMN tally")).await;
    run_sql(server, format!("DELETE FROM {database}.osier_schema WHERE version > 1")).await;
    let reader = store_at(&server.url(&database).replace("osier:", "reader:"), short_limits());
    let refused = reader.open("one").await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused:?}");
    let store = store_at(&server.url(&database), Limits::default());
    let _open = store.watch("one").await.unwrap();
    let version = append_message(&store, version, "next").await.unwrap();
    assert_eq!(reader.open("one").await.unwrap().version, version);
}

/// A node of a cluster rolls a statement back if another node changes a table at the same moment.
#[tokio::test]
async fn lock_is_released_even_if_that_fails_at_first() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    create_session(&store_at(&server.url(&database), Limits::default()), 2).await;
    downgrade(server, &database).await;
    // Aria tables are not transactional, so this row survives the rollback.
    run_sql(server, format!("CREATE TABLE {database}.tries (number INT) ENGINE=Aria")).await;
    let trigger = format!(
        "CREATE TRIGGER {database}.failing BEFORE DELETE ON {database}.osier_locks FOR EACH ROW
         IF (SELECT COUNT(*) FROM {database}.tries) < 1 THEN
             INSERT INTO {database}.tries VALUES (1);
             SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1213, MESSAGE_TEXT = 'not now';
         END IF"
    );
    run_sql(server, trigger).await;
    store_at(&server.url(&database), Limits::default()).find_ids("").await.unwrap();
    assert_eq!(locks_and_versions(server, &database).await, (0, 5));
}
