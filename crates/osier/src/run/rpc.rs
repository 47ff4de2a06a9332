//! `--mode rpc`: a program drives sessions through standard input and output.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, bail};
use osier_engine::KeepWhen;
use osier_local_engine::{LocalEngine, LocalEngineOptions};
use osier_model::ThinkingLevel;
use osier_protocol::{
    EngineClient, EngineReply, EngineRequest, ForkOptions, ForkPosition, NewSessionOptions, OpenRequest,
    OpenTarget, SessionRef,
};
use osier_rpc::RpcConfig;
use osier_tools::ApprovalMode;
use tokio_util::sync::CancellationToken;

use super::args::Args;
use super::signals::Signals;
use super::standard_input::standard_input;
use crate::closing::close_sessions;
use crate::failure::{fail, usage_error};
use crate::home::Home;
use crate::output_writer::notice;
use crate::trust;

pub(super) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    if !args.words.is_empty() {
        return Err(usage_error("--mode rpc takes no prompt; send it with the command `prompt`"));
    }
    trust::print_untrusted(&home);
    let engine = Arc::new(LocalEngine::new(home, engine_options(&args)));
    let served = serve(&args, &engine).await;
    close_sessions(&engine.engine()).await;
    served
}

async fn serve(args: &Args, engine: &Arc<LocalEngine>) -> Result<ExitCode> {
    let target = open_target(args, &**engine).await?;
    let Some(session) = engine.open(OpenRequest { target, leaving: None }).await? else {
        fail!(Cancelled, "an extension refused to open the session")
    };
    for text in &session.info.notices {
        notice(&format!("osier: {text}"));
    }
    let (mut signals, stop) = (Signals::listen()?, CancellationToken::new());
    let new_session = NewSessionOptions { name: None, ..new_session(args) };
    let config = RpcConfig { engine: engine.clone(), session, new_session, stop: stop.clone() };
    let served = osier_rpc::serve(config, standard_input(), tokio::io::stdout());
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

fn engine_options(args: &Args) -> LocalEngineOptions {
    LocalEngineOptions {
        model: args.model.clone(),
        thinking: args.thinking.as_deref().and_then(ThinkingLevel::parse),
        approval: args.approval.as_deref().and_then(ApprovalMode::from_name),
        workspace: args.workspace_options(),
        has_user: true,
        keep: if args.no_session { KeepWhen::Never } else { KeepWhen::Used },
        stays_in_directory: args.cwd.is_some(),
        ..LocalEngineOptions::default()
    }
}

fn new_session(args: &Args) -> NewSessionOptions {
    NewSessionOptions { in_memory: args.no_session, name: args.name.clone(), ..NewSessionOptions::default() }
}

/// The session that the options name.
async fn open_target(args: &Args, engine: &dyn EngineClient) -> Result<OpenTarget> {
    if args.go_on {
        return Ok(OpenTarget::Latest { cwd: None });
    }
    let named = args.session.as_ref().or(args.resume.as_ref().and_then(Option::as_ref));
    if let Some(name) = named {
        return Ok(OpenTarget::Named { name: name.clone() });
    }
    if args.resume.is_some() {
        return Err(usage_error("--resume needs the ID of a session in RPC mode"));
    }
    let Some(word) = &args.fork else { return Ok(OpenTarget::New(new_session(args))) };
    let (word, entry) = match word.rsplit_once('@') {
        Some((word, entry)) if !word.is_empty() && !entry.contains(['/', '.']) => (word, Some(entry)),
        _ => (word.as_str(), None),
    };
    let EngineReply::Found { card } =
        engine.call(EngineRequest::FindSession { name: word.to_owned() }).await?
    else {
        bail!("unexpected reply from the engine")
    };
    let from = entry.map_or(ForkPosition::Current, |entry| ForkPosition::Exactly { entry_id: entry.into() });
    let session = SessionRef::from_card(&card);
    Ok(OpenTarget::Fork(ForkOptions { session, from, store: None, name: args.name.clone() }))
}
