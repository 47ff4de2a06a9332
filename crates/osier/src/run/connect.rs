//! `--connect URL`: the terminal interface with the sessions of a gateway, here or on another machine.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use osier_protocol::{
    ApprovalMode, Client, ClientCommand, EngineClient, EngineRequest, ErrorCode, OpenRequest, OpenedSession,
    Prompt, ThinkingLevel,
};
use osier_tui::ConnectionStatus;
use osier_wire::{LinkStatus, RemoteEngine, RemoteOptions, WebSocketConnector};
use tokio::sync::watch;

use super::args::Args;
use super::host::TerminalHost;
use super::interactive::{
    check_terminal, print_resume_command, print_theme_problems, run_interface, ui_setup,
};
use super::signals::Signals;
use super::{gateway_token, gateway_url, open_target};
use crate::failure::{fail, usage_error};
use crate::home::Home;
use crate::output_writer::notice;

/// How long the last question to the gateway may take.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

pub(super) async fn run(args: Args, home: Home, address: &str) -> Result<ExitCode> {
    check_terminal()?;
    check_options(&args)?;
    let mut signals = Signals::listen()?;
    let (engine, opened) = tokio::select! {
        // First, because the question for the token explains a signal that ends it.
        biased;
        opened = open_session(&args, &home, address) => opened?,
        signal = signals.next() => return Ok(ExitCode::from(signal.exit_code())),
    };
    for text in &opened.info.notices {
        notice(&format!("osier: {text}"));
    }
    print_theme_problems(&home);
    let first = Prompt::typed(args.words.join(" "));
    let gateway = gateway_url::host(address).to_owned();
    let setup = ui_setup(&args, &home, &opened.info, Some(&gateway), first);
    let (new_session, connection) = (open_target::new_session(&args), watch_connection(&engine));
    let client = opened.client.clone();
    let host =
        Arc::new(TerminalHost::remote(Arc::new(engine), gateway, connection, new_session, home, opened));
    let code = run_interface(client, host.clone(), setup).await?;
    if let Ok(Some(id)) = tokio::time::timeout(EXIT_TIMEOUT, host.resumable_id()).await {
        print_resume_command(&format!("osier --connect {address} --resume {id}"));
    }
    Ok(ExitCode::from(code))
}

/// Connects to the gateway and opens the session that the options name.
async fn open_session(args: &Args, home: &Home, address: &str) -> Result<(RemoteEngine, OpenedSession)> {
    let url = gateway_url::websocket_url(address)?;
    if !gateway_url::is_private(&url) {
        notice(
            "osier: the connection is not encrypted: others on the network can read the token and what you do; \
             use https, or an ssh tunnel",
        );
    }
    let connector = WebSocketConnector::new(&url, None).shown_as(address);
    let token = gateway_token::find(args, home, &url, &connector).await?;
    let connector = Arc::new(connector.with_token(token));
    let engine = RemoteEngine::connect(connector, RemoteOptions::default()).await?;
    check_access(&engine).await?;
    let target = open_target::remote_target(args, &engine).await?;
    let Some(opened) = engine.open(OpenRequest { target, leaving: None }).await? else {
        fail!(Cancelled, "an extension refused to open the session")
    };
    apply_options(args, &*opened.client).await?;
    Ok((engine, opened))
}

/// Refuses a token that can only read: the terminal needs an agent.
async fn check_access(engine: &RemoteEngine) -> Result<()> {
    match engine.call(EngineRequest::Describe).await {
        Err(error) if error.code == ErrorCode::Forbidden => {
            fail!(
                Forbidden,
                "the token can only read one session, and is for browsers and programs; the terminal needs the token of the \
                 gateway (`osier token path` on its machine prints where it is)"
            )
        }
        described => Ok(described.map(drop)?),
    }
}

/// What configures an agent is configured where the agent runs.
fn check_options(args: &Args) -> Result<()> {
    let given = [
        (args.tools.is_some(), "--tools"),
        (args.no_tools, "--no-tools"),
        (args.system_prompt.is_some(), "--system-prompt"),
        (args.append_system_prompt.is_some(), "--append-system-prompt"),
        (args.session.is_some(), "--session"),
    ];
    match given.iter().find(|(is, _)| *is) {
        Some((_, option)) => Err(usage_error(format!("{option} cannot be combined with --connect"))),
        None => Ok(()),
    }
}

/// Applies the options for the model to the session.
async fn apply_options(args: &Args, client: &dyn Client) -> Result<()> {
    if let Some(model) = args.model.clone() {
        client.send(ClientCommand::SetModel { model }).await?;
    }
    if let Some(level) = args.thinking.as_deref().and_then(ThinkingLevel::parse) {
        client.send(ClientCommand::SetThinking { level }).await?;
    }
    if let Some(mode) = args.approval.as_deref().and_then(ApprovalMode::from_name) {
        client.send(ClientCommand::SetApproval { mode }).await?;
    }
    Ok(())
}

/// The text to show while the connection is lost.
fn watch_connection(engine: &RemoteEngine) -> ConnectionStatus {
    let (shown, watched) = watch::channel(None);
    let mut changes = engine.watch();
    tokio::spawn(async move {
        while let Some(status) = changes.next().await {
            let text = match status {
                LinkStatus::Connected => None,
                LinkStatus::Reconnecting { .. } => Some("reconnecting…".to_owned()),
                LinkStatus::Failed(error) => Some(format!("disconnected: {error}")),
            };
            if shown.send(text).is_err() {
                return;
            }
        }
    });
    watched
}
