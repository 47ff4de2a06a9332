//! Passwords that come from elsewhere than the url: asked for when they are needed, anew when they changed, never shown.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use expect_test::expect;
use osier_store::Store;
use osier_store_mysql::server::{PASSWORD, Server};
use osier_store_mysql::{Credentials, MySqlStore, Password};
use secrecy::SecretString;

use crate::support::{admin, database, hasty, sql, told};

/// Says one password after the other, the last one again and again, and counts how often it was asked.
#[derive(Clone)]
struct Says(Vec<Result<String, String>>, Arc<AtomicUsize>);

impl Says {
    fn new(words: &[Result<&str, &str>]) -> Says {
        let words = words.iter().map(|word| word.map(String::from).map_err(String::from));
        Says(words.collect(), Arc::default())
    }

    fn asked(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }
}

#[async_trait]
impl Password for Says {
    async fn fetch(&self) -> Result<SecretString, String> {
        let at = self.1.fetch_add(1, Ordering::Relaxed).min(self.0.len() - 1);
        self.0[at].clone().map(SecretString::from)
    }
}

fn store(url: &str, says: &Says) -> MySqlStore {
    let credentials = Credentials::new(url).with_password(says.clone());
    MySqlStore::new("team", &credentials, hasty()).unwrap()
}

/// A url without password.
fn bare(server: &Server, database: &str) -> String {
    server.url(database).replace(&format!(":{PASSWORD}"), "")
}

#[tokio::test]
async fn a_password_is_asked_for_when_it_is_needed_and_once() {
    let server = Server::shared();
    let says = Says::new(&[Ok(PASSWORD)]);
    let store = store(&bare(server, &database(server).await), &says);
    assert_eq!(says.asked(), 0);
    let (one, two) = tokio::join!(store.find_ids(""), store.find_ids("x"));
    assert_eq!((one.unwrap(), two.unwrap(), says.asked()), (vec![], vec![], 1));
}

#[tokio::test]
async fn a_password_that_changed_is_asked_for_again() {
    let (server, name) = (Server::shared(), format!("osier_{}_changing", std::process::id()));
    let user = format!("'{name}'@'127.0.0.1'");
    let database = database(server).await;
    sql(server, format!("CREATE USER {user} IDENTIFIED BY 'one'")).await;
    sql(server, format!("GRANT ALL ON {database}.* TO {user}")).await;
    let says = Says::new(&[Ok("one"), Ok("two")]);
    let store = store(&bare(server, &database).replace("osier@", &format!("{name}@")), &says);
    store.find_ids("").await.unwrap();
    sql(server, format!("ALTER USER {user} IDENTIFIED BY 'two'")).await;
    sqlx::Executor::execute(
        &mut admin(server).await,
        sqlx::AssertSqlSafe(format!("KILL CONNECTION USER {user}")),
    )
    .await
    .unwrap();
    store.find_ids("").await.unwrap();
    assert_eq!(says.asked(), 2);
}

#[tokio::test]
async fn a_wrong_password_from_elsewhere_is_told_and_not_shown() {
    let server = Server::shared();
    let says = Says::new(&[Ok("hunter2")]);
    let store = store(&bare(server, &database(server).await), &says);
    let error = store.find_ids("").await.unwrap_err();
    assert!(!format!("{error:?} {} {store:?}", told(&error)).contains("hunter2"));
    expect![[r#"
        store team refuses: it does not let this user in; check user, password, database and ssl-mode in the store's url
        caused by: 1045 (28000): Access denied for user 'osier'@'127.0.0.1' (using password: YES)"#]]
    .assert_eq(&told(&error));
    assert_eq!(says.asked(), 1, "a server may lock out who tries too often");
}

#[tokio::test]
async fn a_password_that_nobody_knows_is_told_and_can_be_given_later() {
    let server = Server::shared();
    let says = Says::new(&[Err("set TEAM_PASSWORD"), Ok(PASSWORD)]);
    let store = store(&bare(server, &database(server).await), &says);
    expect![[r#"
        store team refuses: its password is missing: set TEAM_PASSWORD; then try again; nothing was sent to the server
        caused by: no password"#]]
    .assert_eq(&told(&store.find_ids("").await.unwrap_err()));
    store.find_ids("").await.unwrap();
}
