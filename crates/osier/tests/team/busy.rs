//! Two processes in one session of a team database.

use sqlx::{Connection, Executor, MySqlConnection};

use crate::busy_support::BusySession;
use crate::commands::add_team_store;
use crate::run_support::{ModelServer, RunningCommand, osier_command};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_session_runs_one_turn_at_a_time() {
    let server = ModelServer::new();
    let env = add_team_store(server.env()).await.0;
    let busy = BusySession::new(server, env, &["--store", "team"]);
    let (env, id, question) = (&busy.env, &busy.id, &busy.question);
    busy.fails(&format!("delete-branch {id} {question}"));
    busy.fails(&format!("move {id} {}", busy.entry));
    let output = RunningCommand::start(osier_command(env, &["-c", "-p", "me too"])).wait();
    assert!(output.code == 1 && output.err.contains("the session is busy: process "), "{}", output.err);
    let request = busy.release();
    request.reply("Done.");
    let (id, question) = (busy.id.clone(), busy.question.clone());
    let env = busy.end();
    // A process that has exited holds no lock.
    env.ok(&format!("delete-branch {id} {question}"));
    assert_eq!(env.json(&format!("gc {id}"))["removed"], 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_process_blocks_its_turn_only_until_its_lease_expires() {
    let server = ModelServer::new();
    let (env, url) = add_team_store(server.env()).await;
    let busy = BusySession::new(server, env, &["--store", "team"]);
    let (server, env, id) = busy.kill();
    let output = RunningCommand::start(osier_command(&env, &["-c", "-p", "me too"])).wait();
    assert!(output.code == 1 && output.err.contains("the session is busy: process "), "{}", output.err);
    // Otherwise it expires after 30 seconds.
    let mut connection = MySqlConnection::connect(&url).await.unwrap();
    connection.execute("UPDATE osier_leases SET expires = UNIX_TIMESTAMP() - 1").await.unwrap();
    let running = RunningCommand::start(osier_command(&env, &["-c", "-p", "me too"]));
    let request = server.next_request();
    assert!(request.messages().iter().any(|line| line.contains("interrupted")), "{:#?}", request.messages());
    request.reply("Welcome.");
    let output = running.wait();
    assert_eq!((output.code, output.out.trim()), (0, "Welcome."), "{}", output.err);
    assert_eq!(env.run(&format!("verify {id}")).code, 0);
}
