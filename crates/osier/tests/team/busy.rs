//! Two processes in one session of a team database.

use sqlx::{Connection, Executor, MySqlConnection};

use crate::busy_support::BusySession;
use crate::commands::add_team_store;
use crate::run_support::{ModelServer, RunningCommand, osier_command};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_session_runs_one_turn_at_a_time() {
    let server = ModelServer::new();
    let world = add_team_store(server.world()).await.0;
    let busy = BusySession::new(server, world, &["--store", "team"]);
    let (world, id, question) = (&busy.world, &busy.id, &busy.question);
    busy.fails(&format!("delete-branch {id} {question}"));
    busy.fails(&format!("move {id} {}", busy.entry));
    let ran = RunningCommand::start(osier_command(world, &["-c", "-p", "me too"])).wait();
    assert!(ran.code == 1 && ran.err.contains("the session is busy: process "), "{}", ran.err);
    let asked = busy.release();
    asked.reply("Done.");
    let (id, question) = (busy.id.clone(), busy.question.clone());
    let world = busy.end();
    // A process that has exited holds no lock.
    world.ok(&format!("delete-branch {id} {question}"));
    assert_eq!(world.json(&format!("gc {id}"))["removed"], 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_blocks_its_turn_only_until_its_lease_expires() {
    let server = ModelServer::new();
    let (world, url) = add_team_store(server.world()).await;
    let busy = BusySession::new(server, world, &["--store", "team"]);
    let (server, world, id) = busy.kill();
    let ran = RunningCommand::start(osier_command(&world, &["-c", "-p", "me too"])).wait();
    assert!(ran.code == 1 && ran.err.contains("the session is busy: process "), "{}", ran.err);
    // Otherwise it expires after 30 seconds.
    let mut connection = MySqlConnection::connect(&url).await.unwrap();
    connection.execute("UPDATE osier_leases SET expires = UNIX_TIMESTAMP() - 1").await.unwrap();
    let running = RunningCommand::start(osier_command(&world, &["-c", "-p", "me too"]));
    let asked = server.next_request();
    assert!(asked.messages().iter().any(|line| line.contains("interrupted")), "{:#?}", asked.messages());
    asked.reply("Welcome.");
    let ran = running.wait();
    assert_eq!((ran.code, ran.out.trim()), (0, "Welcome."), "{}", ran.err);
    assert_eq!(world.run(&format!("verify {id}")).code, 0);
}
