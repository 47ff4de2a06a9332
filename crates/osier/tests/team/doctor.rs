//! `osier doctor` with a database among the stores.

use osier_store_mysql::server::{MariaDbServer, PASSWORD};
use osier_testkit::expect;

use crate::commands::{add_team_store_at, create};
use crate::support::TestEnv;

/// The lines about the store `team`. Ports and versions differ between machines.
fn store_lines(env: &TestEnv) -> String {
    let output = env.args(&["doctor"]);
    assert!(!output.out.contains(PASSWORD), "{}", output.out);
    let mut lines = String::new();
    let mut is_team = false;
    for line in output.out.lines() {
        is_team = if line.starts_with(' ') { is_team } else { line.contains("store team") };
        if is_team {
            lines += &format!("{line}\n");
        }
    }
    let ports = regex::Regex::new(r"127\.0\.0\.1:\d+").unwrap();
    let versions = regex::Regex::new(r"MariaDB \d+(\.\d+)+").unwrap();
    let lines = ports.replace_all(&lines, "127.0.0.1:PORT");
    versions.replace_all(&lines, "MariaDB VERSION").into_owned()
}

#[tokio::test]
async fn the_servers_of_a_database_are_described() {
    let server = MariaDbServer::start(&["--innodb-flush-log-at-trx-commit=2"]).unwrap();
    create(&server, "osier_team").await;
    let url = server.url("osier_team");
    let env = add_team_store_at(TestEnv::new(), &url);
    env.ok("append hello --store team");
    expect![[r#"
        ok    store     store team: reachable
        ok    store     store team: 127.0.0.1:PORT is MariaDB VERSION; you can write
        warn  store     store team: 127.0.0.1:PORT: innodb_flush_log_at_trx_commit is 2: a power failure can lose the latest entries
                        → set innodb_flush_log_at_trx_commit = 1
    "#]].assert_eq(&store_lines(&env));
    let reader = url.replace("osier:", "reader:");
    expect![[r#"
        ok    store     store team: reachable
        warn  store     store team: 127.0.0.1:PORT is MariaDB VERSION; you can only read: cannot use store team: this user lacks privileges; grant SELECT, INSERT, UPDATE, DELETE, CREATE, and ALTER on the database
                        → see docs/stores.md
        warn  store     store team: 127.0.0.1:PORT: innodb_flush_log_at_trx_commit is 2: a power failure can lose the latest entries
                        → set innodb_flush_log_at_trx_commit = 1
    "#]].assert_eq(&store_lines(&add_team_store_at(TestEnv::new(), &reader)));
    let own = format!("127.0.0.1:{}", server.port());
    let two = add_team_store_at(TestEnv::new(), &url.replace(&own, &format!("{own},127.0.0.1:1")));
    expect![[r#"
        ok    store     store team: reachable
        ok    store     store team: 127.0.0.1:PORT is MariaDB VERSION; you can write
        warn  store     store team: 127.0.0.1:PORT: innodb_flush_log_at_trx_commit is 2: a power failure can lose the latest entries
                        → set innodb_flush_log_at_trx_commit = 1
        warn  store     store team: 127.0.0.1:PORT: store team cannot be reached: connection refused; stored entries are safe; try again when the server is back
                        → see docs/stores.md
    "#]].assert_eq(&store_lines(&two));
}
