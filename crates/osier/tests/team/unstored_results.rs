//! Results that cannot be stored because the database is gone: Osier reports them, at the latest when you quit.

use osier_store_mysql::server::MariaDbServer;

use crate::commands::{add_team_store_at, create};
use crate::run_support::ModelServer;
use crate::screen::{ESCAPE, READY, open};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn quitting_reports_results_that_could_not_be_stored() {
    let (server, model) = (MariaDbServer::start(&[]).unwrap(), ModelServer::new());
    create(&server, "osier_team").await;
    let env = add_team_store_at(model.env(), &server.url("osier_team"));
    let mut screen = open(&env, &["--store", "team"]);
    screen.wait_for(READY);
    screen.submit("hello");
    let request = model.next_request();
    server.kill().unwrap();
    request.reply("Hello you.");
    screen.wait_for("not stored yet");
    screen.press(ESCAPE);
    screen.wait_for("It is kept in memory");
    let rest = screen.quit();
    assert!(rest.contains("osier: the last results could not be stored and are lost"), "{rest}");
}
