//! Two processes in one session of a team database.

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
