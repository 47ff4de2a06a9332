//! `osier` on a terminal: runs the interface on a session, and prints at the end how to resume it.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use osier_agent::Worker;
use osier_settings::themes;
use osier_store::{MemoryStore, Store};
use osier_tui::UiSetup;

use super::agent_factory::AgentFactory;
use super::args::Args;
use super::host::{TerminalHost, load_theme, ui_config};
use super::session_selection::SessionSelection;
use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::output_writer;

/// How long a running turn may take to end after you quit.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);

pub(super) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    if home::is_dumb_terminal() {
        return Err(usage_error(
            "cannot draw on this terminal (TERM=dumb); use -p to print the answer: osier -p 'list the files'",
        ));
    }
    let selection = SessionSelection::select(&args, &home).await?;
    selection.run_or_close(async move |selection| run_session(selection, args, home).await).await
}

async fn run_session(selection: SessionSelection, args: Args, home: Home) -> Result<ExitCode> {
    let choose_session = args.resume == Some(None);
    let factory = Arc::new(AgentFactory::new(args, home, &selection, true).await?);
    factory.print_notices();
    for problem in themes::load(&factory.home).problems {
        output_writer::notice(&format!("osier: {}", sanitize_line(&problem)));
    }
    let first = factory.first_prompt().await?;
    let client = factory.connect(&selection.open_deferred(&factory.home).await?).await?;
    let setup = UiSetup {
        config: ui_config(&factory, &factory.home),
        theme: load_theme(&factory.home),
        ask_background: themes::load(&factory.home).theme.is_none() && supports_background_query(),
        first_prompt: Some(first).filter(|prompt| !prompt.is_empty()),
        choose_session,
    };
    let program = Arc::new(TerminalHost::new(factory, client.clone()));
    output_writer::hold_notices();
    let code = osier_tui::run(Arc::new(client), program.clone(), setup).await;
    output_writer::release_notices();
    let code = code?;
    close_session(program.client().worker()).await;
    Ok(ExitCode::from(code))
}

/// The Linux console prints the query for the background color instead of answering it.
fn supports_background_query() -> bool {
    home::env_var("TERM").is_none_or(|term| term != "linux")
}

/// Cancels the running turn, and prints how to resume the session.
async fn close_session(worker: &Worker) {
    // A turn that does not end in time is handled like a crash at the next start.
    let finished = tokio::time::timeout(EXIT_TIMEOUT, worker.finish()).await;
    if worker.has_unstored_results() {
        let reason = match finished {
            Ok(Err(error)) => sanitize_line(&error.to_string()),
            _ => "the store did not answer in time".to_owned(),
        };
        output_writer::notice(&format!("osier: the last results could not be stored and are lost: {reason}"));
    }
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
