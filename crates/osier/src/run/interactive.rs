//! `osier` on a terminal: runs the interface on a session, and prints at the end how to resume it.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use osier_engine::Session;
use osier_settings::themes;
use osier_store::{MemoryStore, Store};
use osier_tui::UiSetup;

use super::agent_factory::AgentFactory;
use super::args::Args;
use super::host::{TerminalHost, load_theme, ui_config};
use super::session_selection::SessionSelection;
use crate::closing::close_sessions;
use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::output_writer;

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
    let engine = factory.home.engine.clone();
    let program = Arc::new(TerminalHost::new(factory, client.clone()));
    output_writer::hold_notices();
    let code = osier_tui::run(Arc::new(client), program.clone(), setup).await;
    output_writer::release_notices();
    let client = program.client();
    close_sessions(&engine).await;
    let code = code?;
    print_resume_command(client.live().session()).await;
    Ok(ExitCode::from(code))
}

/// The Linux console prints the query for the background color instead of answering it.
fn supports_background_query() -> bool {
    home::env_var("TERM").is_none_or(|term| term != "linux")
}

/// Prints how to resume the session, if it has messages.
async fn print_resume_command(session: &Session) {
    let is_kept = session.store().name() != MemoryStore::default().name();
    let is_said = session.tree().heads().iter().any(|(_, head)| head.is_message());
    if is_kept && is_said {
        let short = session.store().short_id(session.id()).await.unwrap_or_else(|_| session.id().to_owned());
        // The terminal may be closed already.
        let _ = writeln!(std::io::stdout(), "\nosier --resume {short}");
    }
}
