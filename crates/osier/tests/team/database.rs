//! Creates databases on the private server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use osier_store::Store;
use osier_store::contract::Fixture;
use osier_store_mysql::server::MariaDbServer;
use osier_store_mysql::{Credentials, Limits, MySqlStore};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection};
use tokio::sync::OnceCell;

/// Creates a database and returns its URL.
pub(crate) async fn create_database() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("osier_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let server = MariaDbServer::shared();
    let admin = server.url("mysql").replace("osier:", "admin:");
    let mut connection = MySqlConnection::connect(&admin).await.expect("connected");
    connection.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await.expect("database created");
    server.url(&name)
}

/// A new database for each contract test.
#[derive(Debug, Default)]
pub(crate) struct DatabaseFixture(OnceCell<String>);

#[async_trait]
impl Fixture for DatabaseFixture {
    async fn store(&self) -> Arc<dyn Store> {
        let url = self.0.get_or_init(create_database).await;
        let credentials = Credentials::new(url.as_str());
        Arc::new(MySqlStore::new("team", &credentials, Limits::default()).expect("the URL is valid"))
    }
}
