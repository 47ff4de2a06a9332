//! `--mode rpc --protocol osier`: the frames of Osier's own clients on standard input and output.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use osier_local_engine::LocalEngine;
use osier_wire::{MAX_CLIENT_FRAME, ServeOptions, Transport, serve};

use super::args::Args;
use super::signals::Signals;
use super::standard_input::standard_input;
use super::standard_output::standard_output;
use crate::closing::close_sessions;
use crate::failure::usage_error;
use crate::home::Home;
use crate::trust;

pub(super) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    if !args.words.is_empty() {
        return Err(usage_error("--mode rpc takes no prompt; send it as a command"));
    }
    if let Some(option) = args.session_options().iter().find(|option| **option != "--no-session") {
        return Err(usage_error(format!("{option} has no effect here: clients open sessions themselves")));
    }
    trust::print_untrusted(&home);
    let mut signals = Signals::listen()?;
    let engine = Arc::new(LocalEngine::new(home, args.engine_options(true)));
    let transport = Transport::lines(standard_input(), standard_output(), MAX_CLIENT_FRAME);
    let options = ServeOptions { has_half_close: true, ..ServeOptions::default() };
    let code = tokio::select! {
        () = serve(engine.clone(), transport, options) => ExitCode::SUCCESS,
        signal = signals.next() => ExitCode::from(signal.exit_code()),
    };
    close_sessions(&engine.engine()).await;
    Ok(code)
}
