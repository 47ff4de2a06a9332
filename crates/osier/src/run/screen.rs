//! `osier` on a terminal: runs the interface on a session, and prints at the end how to resume it.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use osier_agent::{Client, ClientCommand, Worker};
use osier_store::{MemoryStore, Store};
use osier_tui::UiSetup;

use super::args::Args;
use super::choice::Choice;
use super::desk::Desk;
use super::host::{Program, setting, theme};
use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::out;
use crate::themes;

/// How long a running turn may take to end after you quit.
const PATIENCE: Duration = Duration::from_secs(5);

pub(super) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    if home::is_dumb_terminal() {
        return Err(usage_error(
            "cannot draw on this terminal (TERM=dumb); use -p to print the answer: osier -p 'list the files'",
        ));
    }
    let choice = Choice::make(&args, &home).await?;
    choice.used(async move |choice| run_in(choice, args, home).await).await
}

async fn run_in(choice: Choice, args: Args, home: Home) -> Result<ExitCode> {
    let choose_session = args.resume == Some(None);
    let desk = Arc::new(Desk::new(args, home, &choice, true).await?);
    desk.tell();
    for problem in themes::load(&desk.home).problems {
        out::notice(&format!("osier: {}", sanitize_line(&problem)));
    }
    let first = desk.first().await?;
    let session = choice.open_late(&desk.home).await?;
    let worker = desk.work(&session).await?;
    let setup = UiSetup {
        config: setting(&desk, &desk.home, &worker),
        theme: theme(&desk.home),
        ask_background: themes::load(&desk.home).theme.is_none() && can_be_asked(),
        first_prompt: Some(first).filter(|said| !said.is_empty()),
        choose_session,
    };
    let program = Arc::new(Program::new(desk, worker.clone()));
    drop(session);
    out::hold_notices();
    let code = osier_tui::run(worker, program.clone(), setup).await;
    out::release_notices();
    let code = code?;
    leave(&program.worker()).await;
    Ok(ExitCode::from(code))
}

/// The Linux console prints the query for the background color instead of answering it.
fn can_be_asked() -> bool {
    home::env_var("TERM").is_none_or(|term| term != "linux")
}

/// Cancels the running turn, and prints how to resume the session.
async fn leave(worker: &Worker) {
    // A turn that does not end in time is handled like a crash at the next start.
    let _ = tokio::time::timeout(PATIENCE, worker.send(ClientCommand::Cancel)).await;
    let session = worker.session();
    session.store().close().await;
    let is_kept = session.store().name() != MemoryStore::default().name();
    let is_said = session.tree().heads().iter().any(|(_, head)| head.is_message());
    if is_kept && is_said {
        let short = session.store().short_id(session.id()).await.unwrap_or_else(|_| session.id().to_owned());
        // The terminal may be closed already.
        let _ = writeln!(std::io::stdout(), "\nosier --resume {short}");
    }
}
