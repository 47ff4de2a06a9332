//! The store contract over TLS with a verified certificate, for a user who must use TLS and has only the required privileges.

use expect_test::expect;
use osier_store::Store;
use osier_store_mysql::server::MariaDbServer;

use crate::support::{FreshDatabase, create_database, error_chain, short_limits, store_at, tls_url};

mod contract {
    use super::*;

    osier_store::contract_tests!(FreshDatabase { encrypted: true, ..FreshDatabase::default() });
}

#[tokio::test]
async fn certificate_of_another_authority_is_rejected() {
    let (server, other) = (MariaDbServer::shared(), MariaDbServer::start(&[]).unwrap());
    let url = tls_url(server, &create_database(server).await, &other.authority());
    let error = store_at(&url, short_limits()).find_ids("").await.unwrap_err();
    expect![[r#"
        cannot use store team: the encrypted connection failed; check ssl-mode and ssl-ca in the store's URL and the server's certificate
        caused by: invalid peer certificate: BadSignature"#]]
    .assert_eq(&error_chain(&error));
}

#[tokio::test]
async fn user_who_requires_tls_is_rejected_without_it() {
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await).replace("osier:", "private:") + "?ssl-mode=DISABLED";
    let error = store_at(&url, short_limits()).find_ids("").await.unwrap_err();
    expect![[r#"
        cannot use store team: access denied for this user; check the user, password, database, and ssl-mode in the store's URL
        caused by: 1045 (28000): Access denied for user 'private'@'127.0.0.1' (using password: YES)"#]].assert_eq(&error_chain(&error));
}

/// `0.0.0.0` leads to this machine, but is not a loopback address.
#[tokio::test]
async fn server_without_a_loopback_address_needs_a_verified_certificate() {
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await).replace("127.0.0.1", "0.0.0.0");
    let error = store_at(&url, short_limits()).find_ids("").await.unwrap_err();
    expect![[r#"
        cannot use store team: the encrypted connection failed; check ssl-mode and ssl-ca in the store's URL and the server's certificate
        caused by: invalid peer certificate: UnknownIssuer"#]]
    .assert_eq(&error_chain(&error));
    store_at(&format!("{url}?ssl-mode=REQUIRED"), short_limits()).find_ids("").await.unwrap();
}
