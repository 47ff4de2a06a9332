//! The procedure of an append: whether it is there or not, works or fails half way, an append is whole or nothing.

use osier_store::{Filter, Store};
use osier_store_mysql::Limits;
use osier_store_mysql::server::Server;
use sqlx::{AssertSqlSafe, Executor, Row};

use crate::support::{add, admin, database, hasty, lines, session, sql, store_at};

/// How many procedures a database has.
async fn procedures(server: &Server, database: &str) -> i64 {
    let asked =
        format!("SELECT COUNT(*) FROM information_schema.routines WHERE routine_schema = '{database}'");
    admin(server).await.fetch_one(AssertSqlSafe(asked)).await.unwrap().get(0)
}

#[tokio::test]
async fn half_of_an_append_whose_procedure_fails_is_never_stored() {
    let server = Server::shared();
    let database = database(server).await;
    let store = store_at(&server.url(&database), hasty());
    let version = session(&store, 1).await;
    // The number of this error is also that of a procedure that is not there.
    let trigger = format!(
        "CREATE TRIGGER {database}.checked BEFORE INSERT ON {database}.osier_entries FOR EACH ROW
         SET NEW.type = {database}.a_function_that_is_not_there()"
    );
    sql(server, trigger).await;
    add(&store, version, "half").await.unwrap_err();
    let other = store_at(&server.url(&database), Limits::default());
    assert_eq!(other.open("one").await.unwrap().version, version);
    assert_eq!(other.list(&Filter::default()).await.unwrap().cards[0].entry_count, 1);
    sql(server, format!("DROP TRIGGER {database}.checked")).await;
    assert_eq!(add(&store, version, "whole").await.unwrap().entries, 2);
    assert_eq!(lines(&other).await.len(), 2);
}

#[tokio::test]
async fn a_database_that_lacks_the_procedure_gets_it_with_the_next_append() {
    let server = Server::shared();
    let database = database(server).await;
    let version = session(&store_at(&server.url(&database), Limits::default()), 1).await;
    assert_eq!(procedures(server, &database).await, 1);
    sql(server, format!("DROP PROCEDURE {database}.osier_append_1")).await;
    let store = store_at(&server.url(&database), Limits::default());
    let version = add(&store, version, "made").await.unwrap();
    assert_eq!(procedures(server, &database).await, 1);
    add(&store, version, "called").await.unwrap();
    assert_eq!(lines(&store).await.len(), 3);
}
