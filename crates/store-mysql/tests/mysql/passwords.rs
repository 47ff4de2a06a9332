//! Passwords from a source other than the URL: fetched when needed, fetched again after a change, and never shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use expect_test::expect;
use osier_store::Store;
use osier_store_mysql::server::{MariaDbServer, PASSWORD};
use osier_store_mysql::{Credentials, MySqlStore, PasswordSource};
use secrecy::SecretString;

use crate::support::{admin_connection, create_database, error_chain, run_sql, short_limits};

/// Returns one password after the other, repeating the last one, and counts the calls.
#[derive(Clone)]
struct FakePasswords(Vec<Result<String, String>>, Arc<AtomicUsize>);

impl FakePasswords {
    fn new(results: &[Result<&str, &str>]) -> FakePasswords {
        let results = results.iter().map(|result| result.map(String::from).map_err(String::from));
        FakePasswords(results.collect(), Arc::default())
    }

    fn fetch_count(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl PasswordSource for FakePasswords {
    async fn fetch(&self) -> Result<SecretString, String> {
        let at = self.1.fetch_add(1, Ordering::Relaxed).min(self.0.len() - 1);
        self.0[at].clone().map(SecretString::from)
    }
}

fn store(url: &str, passwords: &FakePasswords) -> MySqlStore {
    let credentials = Credentials::new(url).with_password(passwords.clone());
    MySqlStore::new("team", &credentials, short_limits()).unwrap()
}

/// A URL without password.
fn bare(server: &MariaDbServer, database: &str) -> String {
    server.url(database).replace(&format!(":{PASSWORD}"), "")
}

#[tokio::test]
async fn password_is_fetched_on_first_use_and_only_once() {
    let server = MariaDbServer::shared();
    let passwords = FakePasswords::new(&[Ok(PASSWORD)]);
    let store = store(&bare(server, &create_database(server).await), &passwords);
    assert_eq!(passwords.fetch_count(), 0);
    let (one, two) = tokio::join!(store.find_ids(""), store.find_ids("x"));
    assert_eq!((one.unwrap(), two.unwrap(), passwords.fetch_count()), (vec![], vec![], 1));
}

#[tokio::test]
async fn changed_password_is_fetched_again() {
    let (server, name) = (MariaDbServer::shared(), format!("osier_{}_changing", std::process::id()));
    let user = format!("'{name}'@'127.0.0.1'");
    let database = create_database(server).await;
    run_sql(server, format!("CREATE USER {user} IDENTIFIED BY 'one'")).await;
    run_sql(server, format!("GRANT ALL ON {database}.* TO {user}")).await;
    let passwords = FakePasswords::new(&[Ok("one"), Ok("two")]);
    let store = store(&bare(server, &database).replace("osier@", &format!("{name}@")), &passwords);
    store.find_ids("").await.unwrap();
    run_sql(server, format!("ALTER USER {user} IDENTIFIED BY 'two'")).await;
    sqlx::Executor::execute(
        &mut admin_connection(server).await,
        sqlx::AssertSqlSafe(format!("KILL CONNECTION USER {user}")),
    )
    .await
    .unwrap();
    store.find_ids("").await.unwrap();
    assert_eq!(passwords.fetch_count(), 2);
}

#[tokio::test]
async fn wrong_password_is_reported_but_not_shown() {
    let server = MariaDbServer::shared();
    let passwords = FakePasswords::new(&[Ok("hunter2")]);
    let store = store(&bare(server, &create_database(server).await), &passwords);
    let error = store.find_ids("").await.unwrap_err();
    assert!(!format!("{error:?} {} {store:?}", error_chain(&error)).contains("hunter2"));
    expect![[r#"
        cannot use store team: access denied for this user; check the user, password, database, and ssl-mode in the store's URL
        caused by: 1045 (28000): Access denied for user 'osier'@'127.0.0.1' (using password: YES)"#]]
    .assert_eq(&error_chain(&error));
    assert_eq!(passwords.fetch_count(), 1, "a server may lock out users after too many attempts");
}

#[tokio::test]
async fn missing_password_is_reported_and_can_be_provided_later() {
    let server = MariaDbServer::shared();
    let passwords = FakePasswords::new(&[Err("set TEAM_PASSWORD"), Ok(PASSWORD)]);
    let store = store(&bare(server, &create_database(server).await), &passwords);
    expect![[r#"
        cannot use store team: the password is missing: set TEAM_PASSWORD; then try again; nothing was sent to the server
        caused by: no password"#]]
    .assert_eq(&error_chain(&store.find_ids("").await.unwrap_err()));
    store.find_ids("").await.unwrap();
}
