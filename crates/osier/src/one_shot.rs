//! A one-shot agent run for an `osier sessions` command: it writes a summary and the entry that holds it. The agent has no
//! tools and asks no questions.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use osier_agent::{
    AgentConfig, AgentError, AgentEvent, Client, ClientCommand, CommandReply, LiveUpdate, PreparedRequest,
    SummaryError, Worker,
};
use osier_engine::reading;
use osier_model::ModelInfo;
use osier_session::Session;
use osier_tools::{CommandEnv, ToolContext, ToolSet};
use osier_tree::Place;

use crate::failure::usage_error;
use crate::home::Home;
use crate::out::notice;
use crate::progress::{ProgressLine, show_progress};
use crate::run::progress_lines;
use crate::run::signals::{Signals, TerminationSignal};
use crate::settings::model_selection::{
    ModelPreferences, find_summary_model, offline_model, select_model, usable_model,
};

/// Which model writes the summary.
#[derive(Debug, Clone, Copy)]
pub(crate) enum SummaryWriter<'n> {
    /// No model is called.
    None,
    /// The model of this name, else the model of the settings, else the model of the session.
    Model(Option<&'n str>),
}

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
    writer: SummaryWriter<'_>,
    command: ClientCommand,
) -> Result<OneShotOutcome> {
    let parts = agent_config(session, home, writer).await?;
    let name = parts.summary_model.as_ref().unwrap_or(&parts.default_model).full_name();
    let worker = Worker::start(session.clone(), parts).await?;
    let (reply, signal) = wait_for_reply(&worker, command, &name, home).await?;
    session.sync_if_configured().await?;
    let was_stopped = match &reply {
        Ok(CommandReply::Navigated(went)) => went.aborted,
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
                AgentEvent::Live(LiveUpdate::SummaryStarted { .. }) => {
                    _progress = Some(show_progress(&format!("{writer} is writing the summary")));
                }
                // The caller reports what was stored.
                AgentEvent::Session(_) => {}
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

async fn agent_config(session: &Session, home: &Home, writer: SummaryWriter<'_>) -> Result<AgentConfig> {
    let models = Arc::new(home.models());
    let registry = models.registry().clone();
    let (summary_model, default) = match writer {
        SummaryWriter::None => (None, offline_model(&registry)),
        SummaryWriter::Model(asked) => match find_summary_model(asked, &home.settings, &registry) {
            Ok(Some(model)) => (Some(model.clone()), model),
            Ok(None) => (None, session_model(session, home, &registry).await?),
            Err(error) if asked.is_some() => return Err(usage_error(error.to_string())),
            Err(error) => return Err(anyhow!(error).context("cannot use the setting summary_model")),
        },
    };
    let keys = Arc::new(home.known_keys(&registry));
    let context =
        ToolContext { secrets: keys, ..ToolContext::new(&home.cwd, home.outputs(), CommandEnv::new([])) };
    let tools = Arc::new(ToolSet::default());
    Ok(AgentConfig {
        summary_model,
        compaction: home.settings.compacting,
        backtracking: false,
        one_shot: true,
        ..AgentConfig::new(models, registry, default, tools, context)
    })
}

/// The request that a prompt at a place of a session sends. Read-only.
pub(crate) async fn request_at(session: &Session, home: &Home, at: Place) -> Result<PreparedRequest> {
    let registry = home.models().registry().clone();
    let default =
        select_model(ModelPreferences::default(), &home.settings, &registry, &home.environment())?.model;
    let parts = AgentConfig {
        default_model: default,
        default_thinking: home.settings.thinking,
        backtracking: home.settings.offers_backtracking(),
        ..agent_config(session, home, SummaryWriter::None).await?
    };
    Ok(Worker::start(session.clone(), parts).await?.request_at(at).await?)
}

/// The model that would answer in this session: the one that users expect to write its summaries.
async fn session_model(
    session: &Session,
    home: &Home,
    registry: &osier_model::Registry,
) -> Result<Arc<ModelInfo>> {
    let of_session = reading::model_on_path(session).await?;
    let surroundings = home.environment();
    if let Some(name) = &of_session {
        return usable_model(name, registry, &surroundings).map_err(|why| {
            anyhow!(
                "cannot write the summary with {name}, the model of this session: {why}; choose another model with \
                 --model, for example --model offline, or permanently with `osier config set summary_model NAME`"
            )
        });
    }
    Ok(select_model(ModelPreferences::default(), &home.settings, registry, &surroundings)?.model)
}
