//! Servers that reject requests: each error names the store, the reason, and a fix, and the store works again after the fix.

use expect_test::{Expect, expect};
use osier_store::{Store, StoreError};
use osier_store_mysql::server::{MariaDbServer, PASSWORD};
use osier_store_mysql::{Credentials, Limits, MySqlStore};

use crate::support::{
    append_message, create_database, create_session, error_chain, message, read_lines, run_sql, short_limits,
    store_at,
};

fn check(error: &StoreError, expected: Expect) {
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    expected.assert_eq(&error_chain(error));
}

#[tokio::test]
async fn wrong_password_is_reported_but_not_shown() {
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await).replace(PASSWORD, "hunter2");
    let store = store_at(&url, short_limits());
    let error = store.find_ids("").await.unwrap_err();
    assert!(!format!("{error:?} {error} {store:?}").contains("hunter2"));
    check(
        &error,
        expect![[r#"
            cannot use store team: access denied for this user; check the user, password, database, and ssl-mode in the store's URL
            caused by: 1045 (28000): Access denied for user 'osier'@'127.0.0.1' (using password: YES)"#]],
    );
}

#[tokio::test]
async fn missing_database_is_reported() {
    let url = MariaDbServer::shared().url("osier_nowhere");
    check(
        &store_at(&url, short_limits()).find_ids("").await.unwrap_err(),
        expect![[r#"
            cannot use store team: the database does not exist; create it: CREATE DATABASE name
            caused by: 1049 (42000): Unknown database 'osier_nowhere'"#]],
    );
    let url = MariaDbServer::shared().url("");
    check(
        &store_at(&url, short_limits()).find_ids("").await.unwrap_err(),
        expect![[r#"
            cannot use store team: no database selected; add /DATABASE to the store's URL
            caused by: 1046 (3D000): No database selected"#]],
    );
}

#[tokio::test]
async fn invalid_url_is_reported_but_not_shown() {
    let url = format!("mysql://osier:{PASSWORD}@127.0.0.1:port/x");
    let error = MySqlStore::new("team", &Credentials::new(url), short_limits()).unwrap_err();
    check(
        &error,
        expect![[r#"
        cannot use store team: the URL is invalid; write it as mysql://USER@HOST:PORT/DATABASE
        caused by: error with configuration: invalid port number
        caused by: invalid port number"#]],
    );
}

#[tokio::test]
async fn read_only_user_can_read_and_sees_which_privileges_are_missing() {
    let server = MariaDbServer::shared();
    let url = server.url(&create_database(server).await);
    let version = create_session(&store_at(&url, short_limits()), 3).await;
    let reader = store_at(&url.replace("osier:", "reader:"), short_limits());
    assert_eq!(read_lines(&reader).await.len(), 3);
    check(
        &append_message(&reader, version, "later").await.unwrap_err(),
        expect![[r#"
            cannot use store team: this user lacks privileges; grant SELECT, INSERT, UPDATE, DELETE, CREATE, and ALTER on the database
            caused by: 1142 (42000): UPDATE command denied to user 'reader'@'127.0.0.1' for table `osier_N`.`osier_sessions`"#]],
    );
    let empty = server.url(&create_database(server).await).replace("osier:", "reader:");
    check(
        &store_at(&empty, short_limits()).find_ids("").await.unwrap_err(),
        expect![[r#"
            cannot use store team: this user lacks privileges; grant SELECT, INSERT, UPDATE, DELETE, CREATE, and ALTER on the database
            caused by: 1142 (42000): CREATE command denied to user 'reader'@'127.0.0.1' for table `osier_N`.`osier_schema`"#]],
    );
}

#[tokio::test]
async fn read_only_server_can_be_read_and_written_again_when_it_is_writable() {
    let server = MariaDbServer::start(&[]).unwrap();
    let store = store_at(&server.url(&create_database(&server).await), short_limits());
    let version = create_session(&store, 3).await;
    let _open = store.watch("one").await.unwrap();
    run_sql(&server, "SET GLOBAL read_only = 1").await;
    check(
        &append_message(&store, version, "later").await.unwrap_err(),
        expect![[r#"
            cannot use store team: the server is read-only; make the server writable, or use the primary server in the store's URL
            caused by: 1290 (HY000): The MariaDB server is running with the --read-only option so it cannot execute this statement"#]],
    );
    assert_eq!(read_lines(&store).await.len(), 3);
    run_sql(&server, "SET GLOBAL read_only = 0").await;
    assert_eq!(append_message(&store, version, "later").await.unwrap().entries, 4);
    assert_eq!(read_lines(&store).await.len(), 4);
}

#[tokio::test]
async fn small_packets_make_more_parts_and_too_small_packets_are_rejected() {
    let server = MariaDbServer::start(&["--max-allowed-packet=1M"]).unwrap();
    let url = server.url(&create_database(&server).await);
    let store = store_at(&url, Limits::default());
    let version = create_session(&store, 1).await;
    let huge = message("huge", &"0123456789".repeat(500_000));
    let version = store.append("one", version, std::slice::from_ref(&huge)).await.unwrap();
    assert!(read_lines(&store).await[1] == huge, "the line was changed");

    run_sql(&server, "SET GLOBAL max_allowed_packet = 16384").await;
    let later = store_at(&url, short_limits());
    check(
        &append_message(&later, version, "later").await.unwrap_err(),
        expect![[r#"
        cannot use store team: max_allowed_packet is only 16384 bytes; set max_allowed_packet to 16M on the server
        caused by: max_allowed_packet"#]],
    );
    run_sql(&server, "SET GLOBAL max_allowed_packet = 16777216").await;
    assert_eq!(append_message(&later, version, "later").await.unwrap().entries, 3);
}

#[tokio::test]
async fn lines_written_in_larger_packets_can_still_be_read() {
    let server = MariaDbServer::start(&["--max-allowed-packet=16M"]).unwrap();
    let url = server.url(&create_database(&server).await);
    let store = store_at(&url, Limits::default());
    let version = create_session(&store, 1).await;
    let huge = message("huge", &"0123456789".repeat(500_000));
    store.append("one", version, std::slice::from_ref(&huge)).await.unwrap();
    run_sql(&server, "SET GLOBAL max_allowed_packet = 1048576").await;
    assert!(read_lines(&store_at(&url, short_limits())).await[1] == huge, "the line was changed");
}

#[tokio::test]
async fn full_disk_is_reported_and_no_acknowledged_entry_is_lost() {
    // All tables are in one file of limited size, which simulates a full disk.
    let file = "--innodb-data-file-path=ibdata1:12M:autoextend:max:24M";
    let server = MariaDbServer::start(&[file, "--innodb-file-per-table=0"]).unwrap();
    let store = store_at(&server.url(&create_database(&server).await), short_limits());
    let large = message("large", &"x".repeat(2 << 20));
    let other = store.create(&crate::support::header("other"), &[large]).await.unwrap().version;
    assert_eq!(other.entries, 1);
    let (mut version, mut acked) = (create_session(&store, 1).await, 1);
    let _open = store.watch("one").await.unwrap();
    let error = loop {
        assert!(acked < 100, "the disk is never full");
        let line = message(&format!("{acked:08}"), &"y".repeat(500_000));
        match store.append("one", version, &[line]).await {
            Ok(now) => (version, acked) = (now, acked + 1),
            Err(error) => break error,
        }
    };
    check(
        &error,
        expect![[r#"
            cannot use store team: the server's disk is full; delete sessions or free space on the server; nothing was written
            caused by: 1114 (HY000): The table 'osier_entries' is full"#]],
    );
    assert_eq!(read_lines(&store).await.len(), acked);
    // The server may have no room for what it must record to delete rows; then the error says so.
    match store.delete("other").await {
        Ok(gone) => assert_eq!((gone.deleted, gone.counts.entries), (true, 1)),
        Err(error) => {
            assert!(
                error_chain(&error).starts_with("cannot use store team: the server's disk is full;"),
                "{error:?}"
            );
        }
    }
    assert_eq!(read_lines(&store).await.len(), acked);
}
