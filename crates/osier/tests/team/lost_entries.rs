//! A server that lost acknowledged entries: the user sees that on the screen, and nothing is written.

use osier_store_mysql::server::MariaDbServer;
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection};

use crate::commands::{add_team_store_at, create};
use crate::run_support::ModelServer;
use crate::screen::{READY, open};

const TABLES: &[&str] = &["osier_sessions", "osier_entries"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lost_entries_are_shown_on_the_screen_and_nothing_is_overwritten() {
    let (server, model) = (MariaDbServer::start(&[]).unwrap(), ModelServer::new());
    create(&server, "osier_team").await;
    let env = add_team_store_at(model.env(), &server.url("osier_team"));
    let mut screen = open(&env, &["--store", "team"]);
    screen.wait_for(READY);
    screen.submit("hello");
    model.next_request().reply("Hello you.");
    screen.wait_for("Hello you.");
    let id = env.json("list")[0]["id"].as_str().unwrap().to_owned();
    let before = env.json(&format!("path {id}"));
    // A replica that lags, and takes over.
    let url = server.url("osier_team").replace("osier:", "admin:");
    let mut admin = MySqlConnection::connect(&url).await.unwrap();
    for table in TABLES {
        admin
            .execute(AssertSqlSafe(format!("CREATE TABLE copy_{table} AS SELECT * FROM {table}")))
            .await
            .unwrap();
    }
    screen.submit("and more");
    model.next_request().reply("More of it.");
    screen.wait_for("More of it.");
    for table in TABLES {
        admin.execute(AssertSqlSafe(format!("DELETE FROM {table}"))).await.unwrap();
        admin
            .execute(AssertSqlSafe(format!("INSERT INTO {table} SELECT * FROM copy_{table}")))
            .await
            .unwrap();
    }
    server.kill().unwrap();
    server.restart().unwrap();
    screen.submit("are you there?");
    screen.wait_for("in store team became shorter");
    // The prompt is back in the editor.
    screen.press("\x15");
    screen.quit();
    assert!(
        env.json(&format!("path {id}")) == before,
        "nothing was written in the place of the lost entries"
    );
}
