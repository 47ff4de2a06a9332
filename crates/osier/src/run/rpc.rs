//! `--mode rpc`: a program drives sessions through standard input and output.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use async_trait::async_trait;
use osier_local_engine::{LocalEngine, LocalEngineOptions};
use osier_protocol::{ClientError, EngineClient, NewSessionOptions, OpenRequest, SessionRef};
use osier_rpc::{HtmlExporter, RpcConfig};
use tokio_util::sync::CancellationToken;

use super::args::Args;
use super::export::export_session;
use super::open_target;
use super::signals::Signals;
use super::standard_input::standard_input;
use super::standard_output::standard_output;
use crate::closing::close_sessions;
use crate::extensions::RunExtensions;
use crate::failure::{fail, usage_error};
use crate::home::Home;
use crate::output_writer::notice;
use crate::trust;

pub(super) async fn run(args: Args, home: Home, extensions: RunExtensions) -> Result<ExitCode> {
    if !args.words.is_empty() {
        return Err(usage_error("--mode rpc takes no prompt; send it with the command `prompt`"));
    }
    trust::print_untrusted(&home);
    // A session that is left keeps its queue.
    let options = LocalEngineOptions { keeps_left_turn: true, ..args.engine_options(true) };
    let engine = Arc::new(LocalEngine::new(home, options));
    let served = serve(&args, &engine, &extensions).await;
    close_sessions(&engine.engine()).await;
    served
}

async fn serve(args: &Args, engine: &Arc<LocalEngine>, extensions: &RunExtensions) -> Result<ExitCode> {
    if args.resume == Some(None) {
        return Err(usage_error("--resume needs the ID of a session in RPC mode"));
    }
    let target = open_target::remote_target(args, &**engine).await?;
    let Some(session) = engine.open(OpenRequest { target, leaving: None }).await? else {
        fail!(Cancelled, "an extension refused to open the session")
    };
    let opened = &session.info.session;
    if let Some(live) = engine.engine().live_session(&opened.store, &opened.key) {
        extensions.check(live.session()).await?;
    }
    for text in &session.info.notices {
        notice(&format!("osier: {text}"));
    }
    let (mut signals, stop) = (Signals::listen()?, CancellationToken::new());
    let new_session = NewSessionOptions { name: None, ..open_target::new_session(args) };
    let config = RpcConfig {
        engine: engine.clone(),
        exporter: Arc::new(FileExporter(engine.clone())),
        session,
        new_session,
        stop: stop.clone(),
    };
    let served = osier_rpc::serve(config, standard_input(), standard_output());
    tokio::pin!(served);
    tokio::select! {
        served = &mut served => served?,
        signal = signals.next() => {
            stop.cancel();
            tokio::select! {
                served = &mut served => served?,
                // A second signal: stop waiting for the turn to end.
                _ = signals.next() => {}
            }
            return Ok(ExitCode::from(signal.exit_code()));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Exports the sessions of an engine in this process.
#[derive(Debug)]
struct FileExporter(Arc<LocalEngine>);

#[async_trait]
impl HtmlExporter for FileExporter {
    async fn export_html(&self, session: &SessionRef, file: &str) -> Result<PathBuf, ClientError> {
        Ok(export_session(&self.0, session, Some(file)).await?)
    }
}
