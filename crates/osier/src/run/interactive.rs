//! `osier` on a terminal: runs the interface on a session, and prints at the end how to resume it.

use std::io::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use osier_local_engine::{LocalEngine, LocalEngineOptions};
use osier_protocol::{Client, OpenedSession, Prompt, SessionInfo};
use osier_settings::themes;
use osier_tui::{Host, UiSetup};

use super::args::Args;
use super::host::TerminalHost;
use super::interface_config::{asks_background, load_theme, ui_config};
use super::{close_on_error, open_target, prompt};
use crate::closing::close_sessions;
use crate::failure::{local_engine_error, usage_error};
use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::output_writer;

pub(super) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    check_terminal()?;
    close_on_error(home, async move |home| run_session(args, home).await).await
}

/// Fails if the interface cannot be drawn.
pub(super) fn check_terminal() -> Result<()> {
    match home::is_dumb_terminal() {
        true => Err(usage_error(
            "cannot draw on this terminal (TERM=dumb); use -p to print the answer: osier -p 'list the files'",
        )),
        false => Ok(()),
    }
}

async fn run_session(args: Args, home: Home) -> Result<ExitCode> {
    let options = LocalEngineOptions { keeps_left_turn: true, ..args.engine_options(true) };
    let engine = Arc::new(LocalEngine::new(home, options));
    let prepared = open_target::prepare(&args, &engine).await?;
    print_theme_problems(&prepared.setup.home);
    let first = prompt::compose_prompt(&args.words, &prepared.setup.workspace.tool_context).await?;
    let session = prepared.open().await.map_err(local_engine_error)?;
    let (info, home) = (session.info(), session.setup.home.clone());
    let setup = ui_setup(&args, &home, &info, None, first);
    let client: Arc<dyn Client> = Arc::new(session.client);
    let opened = OpenedSession { info, client: client.clone() };
    let host = Arc::new(TerminalHost::local(engine.clone(), open_target::new_session(&args), home, opened));
    let code = run_interface(client, host.clone(), setup).await;
    let resumable = host.resumable_id().await;
    close_sessions(&engine.engine()).await;
    let code = code?;
    if let Some(id) = resumable {
        print_resume_command(&format!("osier --resume {id}"));
    }
    Ok(ExitCode::from(code))
}

pub(super) fn print_resume_command(command: &str) {
    // The terminal may be closed already.
    let _ = writeln!(std::io::stdout(), "\n{command}");
}

pub(super) fn print_theme_problems(home: &Home) {
    for problem in themes::load(home).problems {
        output_writer::notice(&format!("osier: {}", sanitize_line(&problem)));
    }
}

pub(super) fn ui_setup(
    args: &Args,
    home: &Home,
    session: &SessionInfo,
    gateway: Option<&str>,
    first: Prompt,
) -> UiSetup {
    UiSetup {
        config: ui_config(home, session, gateway),
        theme: load_theme(home),
        ask_background: asks_background(home),
        first_prompt: Some(first).filter(|prompt| !prompt.is_empty()),
        choose_session: args.resume == Some(None),
    }
}

/// Runs the interface. Notices wait until it has ended.
pub(super) async fn run_interface(
    client: Arc<dyn Client>,
    host: Arc<dyn Host>,
    setup: UiSetup,
) -> Result<u8, osier_tui::TuiError> {
    output_writer::hold_notices();
    let code = osier_tui::run(client, host, setup).await;
    output_writer::release_notices();
    code
}
