//! The contract over TLS, for a user whom the server lets in no other way and who may do no more than is needed, with the
//! server's certificate checked.

use expect_test::expect;
use osier_store::Store;
use osier_store_mysql::server::Server;

use crate::support::{Fresh, database, encrypted, hasty, store_at, told};

mod contract {
    use super::*;

    osier_store::contract_tests!(Fresh { encrypted: true, ..Fresh::default() });
}

#[tokio::test]
async fn a_server_whose_certificate_is_signed_by_somebody_else_is_refused() {
    let (server, other) = (Server::shared(), Server::start(&[]).unwrap());
    let url = encrypted(server, &database(server).await, &other.authority());
    let error = store_at(&url, hasty()).find_ids("").await.unwrap_err();
    expect![[r#"
        store team refuses: the encrypted connection failed; check ssl-mode and ssl-ca in the store's url and the server's certificate
        caused by: invalid peer certificate: BadSignature"#]]
    .assert_eq(&told(&error));
}

#[tokio::test]
async fn a_user_who_must_come_over_tls_is_told_so() {
    let server = Server::shared();
    let url = server.url(&database(server).await).replace("osier:", "private:") + "?ssl-mode=DISABLED";
    let error = store_at(&url, hasty()).find_ids("").await.unwrap_err();
    expect![[r#"
        store team refuses: it does not let this user in; check user, password, database and ssl-mode in the store's url
        caused by: 1045 (28000): Access denied for user 'private'@'127.0.0.1' (using password: YES)"#]].assert_eq(&told(&error));
}

/// On this machine `0.0.0.0` is this machine, but it is no address that says so.
#[tokio::test]
async fn a_server_that_may_be_elsewhere_is_not_believed_without_a_certificate() {
    let server = Server::shared();
    let url = server.url(&database(server).await).replace("127.0.0.1", "0.0.0.0");
    let error = store_at(&url, hasty()).find_ids("").await.unwrap_err();
    expect![[r#"
        store team refuses: the encrypted connection failed; check ssl-mode and ssl-ca in the store's url and the server's certificate
        caused by: invalid peer certificate: UnknownIssuer"#]]
    .assert_eq(&told(&error));
    store_at(&format!("{url}?ssl-mode=REQUIRED"), hasty()).find_ids("").await.unwrap();
}
