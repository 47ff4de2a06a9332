//! Databases on the private server, and stores that use them.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use osier_store::contract::Fixture;
use osier_store::{LogVersion, Store, StoreError};
use osier_store_mysql::server::{MariaDbServer, PASSWORD};
use osier_store_mysql::{Credentials, Limits, MySqlStore};
use osier_tree::{Header, Seq};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection};

/// 2026-01-01.
const DAY_ONE: i64 = 1_767_225_600_000;

/// A name that no other test uses.
pub(crate) fn unique_name() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    format!("osier_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A connection with all privileges.
pub(crate) async fn admin_connection(server: &MariaDbServer) -> MySqlConnection {
    let url = server.url("mysql").replace("osier:", "admin:");
    MySqlConnection::connect(&url).await.expect("connect as admin")
}

pub(crate) async fn run_sql(server: &MariaDbServer, statement: impl Into<String>) {
    admin_connection(server).await.execute(AssertSqlSafe(statement.into())).await.expect("run a statement");
}

/// A new database.
pub(crate) async fn create_database(server: &MariaDbServer) -> String {
    let name = unique_name();
    run_sql(server, format!("CREATE DATABASE {name}")).await;
    name
}

/// Short limits, for tests that wait for a timeout.
pub(crate) fn short_limits() -> Limits {
    Limits {
        connect_timeout: Duration::from_secs(2),
        list_connect_timeout: Duration::from_secs(1),
        response_timeout: Duration::from_secs(5),
        retry_timeout: Duration::from_millis(300),
        max_connections: 4,
        ..Limits::default()
    }
}

/// A test that takes longer than this hangs.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// Fails instead of waiting forever.
pub(crate) async fn with_test_timeout<T>(work: impl Future<Output = T>) -> T {
    tokio::time::timeout(TEST_TIMEOUT, work).await.expect("finish before the test timeout")
}

pub(crate) fn store_at(url: &str, limits: Limits) -> MySqlStore {
    MySqlStore::new("team", &Credentials::new(url), limits).expect("a valid URL")
}

/// A new database on the shared server for each contract rule.
#[derive(Debug, Default)]
pub(crate) struct FreshDatabase {
    pub(crate) url: tokio::sync::OnceCell<String>,
    /// Connect over TLS, and verify the server's certificate.
    pub(crate) encrypted: bool,
}

/// The URL of a user who must connect over TLS.
pub(crate) fn tls_url(server: &MariaDbServer, database: &str, authority: &Path) -> String {
    let url = server.url(database).replace("osier:", "private:");
    format!("{url}?ssl-mode=VERIFY_IDENTITY&ssl-ca={}", authority.display())
}

#[async_trait]
impl Fixture for FreshDatabase {
    async fn store(&self) -> Arc<dyn Store> {
        let server = MariaDbServer::shared();
        let make = || async {
            let database = create_database(server).await;
            match self.encrypted {
                true => tls_url(server, &database, &server.authority()),
                false => server.url(&database),
            }
        };
        Arc::new(store_at(self.url.get_or_init(make).await, Limits::default()))
    }
}

pub(crate) fn header(id: &str) -> Header {
    Header::new(id, DAY_ONE, "/here")
}

pub(crate) fn message(id: &str, text: &str) -> Vec<u8> {
    format!(
        r#"{{"type":"message","id":"{id}","parentId":null,"timestamp":"2026-01-01T00:00:00.000Z","message":{{"role":"user","content":"{text}"}}}}"#
    )
    .into_bytes()
}

/// Creates a session called `one` with `count` messages.
pub(crate) async fn create_session(store: &dyn Store, count: usize) -> LogVersion {
    let lines: Vec<Vec<u8>> = (0..count).map(|at| message(&format!("{at:08}"), "said")).collect();
    store.create(&header("one"), &lines).await.expect("create a session").version
}

pub(crate) async fn append_message(
    store: &dyn Store,
    expected: LogVersion,
    id: &str,
) -> Result<LogVersion, StoreError> {
    store.append("one", expected, &[message(id, "said")]).await
}

/// All lines of the session `one`.
pub(crate) async fn read_lines(store: &dyn Store) -> Vec<Vec<u8>> {
    let version = store.open("one").await.expect("open the session").version;
    let seqs: Vec<Seq> = (0..version.entries).map(Seq::new).collect();
    let mut lines = Vec::new();
    let read = osier_store::for_each_line(store, "one", version.generation, &seqs, |_, line| {
        lines.push(line.to_vec());
        Ok::<_, StoreError>(())
    });
    read.await.expect("read the lines");
    lines
}

/// An error and its causes, as shown to users and in logs. Fails if they contain the password.
pub(crate) fn error_chain(error: &StoreError) -> String {
    let mut text = format!("{error}");
    let mut next = std::error::Error::source(error);
    while let Some(cause) = next {
        text += &format!("\ncaused by: {cause}");
        next = cause.source();
    }
    assert!(!format!("{text}{error:?}").contains(PASSWORD), "the error contains the password: {error:?}");
    // The numbers in the names of databases differ from run to run.
    let numbered = format!("osier_{}_", std::process::id());
    let mut parts = text.split(&numbered);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + "osier_N" + part.trim_start_matches(|ch: char| ch.is_ascii_digit()))
}
