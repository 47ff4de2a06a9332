//! A one-shot agent run for an `osier sessions` command: it writes a summary and the entry that holds it. The agent has no
//! tools and asks no questions.

use std::process::ExitCode;

use anyhow::Result;
use futures_util::StreamExt;
use osier_agent::{AgentError, SummaryError, Worker};
use osier_engine::{OneShotAgent, SummaryModel};
use osier_protocol::{ClientCommand, ClientEvent, CommandReply};
use osier_session::Session;

use crate::home::Home;
use crate::out::notice;
use crate::progress::{ProgressLine, show_progress};
use crate::run::progress_lines;
use crate::run::signals::{Signals, TerminationSignal};
use crate::workspace::WorkspaceOptions;

/// The result of a one-shot run.
#[derive(Debug)]
pub(crate) enum OneShotOutcome {
    Reply(CommandReply),
    /// Canceled by a signal. Nothing changed.
    Stopped(ExitCode),
}

/// Runs a command on a session and shows progress while the summary is written.
pub(crate) async fn run(
    session: &Session,
    home: &Home,
    summary: SummaryModel,
    command: ClientCommand,
) -> Result<OneShotOutcome> {
    let workspace = home.workspace_without_tools(&WorkspaceOptions::default());
    let OneShotAgent { worker, model } = home.engine.start_one_shot(session, &workspace, &summary).await?;
    let (reply, signal) = wait_for_reply(&worker, command, &model, home).await?;
    session.sync_if_configured().await?;
    let was_stopped = match &reply {
        Ok(CommandReply::Moved(went)) => went.aborted,
        Err(error) => matches!(error, AgentError::Summary(SummaryError::Canceled)),
        Ok(_) => false,
    };
    if was_stopped {
        notice("Canceled; nothing changed");
        return Ok(OneShotOutcome::Stopped(ExitCode::from(signal.map_or(1, TerminationSignal::exit_code))));
    }
    Ok(OneShotOutcome::Reply(reply?))
}

/// Waits for the reply, and cancels the command on a signal.
async fn wait_for_reply(
    worker: &Worker,
    command: ClientCommand,
    writer: &str,
    home: &Home,
) -> Result<(Result<CommandReply, AgentError>, Option<TerminationSignal>)> {
    let mut signals = Signals::listen()?;
    let mut events = worker.attach(None).await?.events;
    let (mut stopped, mut _progress): (Option<TerminationSignal>, Option<ProgressLine>) = (None, None);
    let sent = worker.send(command);
    tokio::pin!(sent);
    loop {
        tokio::select! {
            reply = &mut sent => return Ok((reply, stopped)),
            signal = signals.next() => match stopped.replace(signal) {
                None => cancel(worker),
                // A second signal: do not wait for the cancellation.
                Some(_) => return Ok((Err(SummaryError::Canceled.into()), stopped)),
            },
            Some(event) = events.next() => match event {
                ClientEvent::SummaryStarted { .. } => {
                    _progress = Some(show_progress(&format!("{writer} is writing the summary")));
                }
                // The caller reports what was stored.
                ClientEvent::Entry(_) | ClientEvent::Moved(_) => {}
                event => progress_lines::progress_line(&event, home.user.as_deref()).iter().for_each(|line| notice(line)),
            },
        }
    }
}

/// The cancellation arrives as the reply to the command itself.
fn cancel(worker: &Worker) {
    let worker = worker.clone();
    tokio::spawn(async move { worker.send(ClientCommand::Cancel).await.map(drop) });
}
