//! A one-shot agent run for an `osier sessions` command: it writes a summary and the entry that holds it. The agent has no
//! tools and asks no questions.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Result, anyhow};
use osier_agent::{Client, Command, Error, Event, Live, NoSummary, Parts, PreparedRequest, Reply, Worker};
use osier_model::ModelInfo;
use osier_session::Session;
use osier_tools::{Env, ToolContext, Tools};
use osier_tree::Place;

use crate::failure::usage;
use crate::home::Home;
use crate::out::remark;
use crate::progress::{Waiting, waiting};
use crate::reading;
use crate::run::signals::{Asked, Signals};
use crate::run::told;
use crate::settings::choice::{Wanted, choose, exact, for_summaries, offline};

/// Which model writes the summary.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Writer<'n> {
    /// No model is called.
    None,
    /// The model of this name, else the model of the settings, else the model of the session.
    Model(Option<&'n str>),
}

/// The result of a one-shot run.
#[derive(Debug)]
pub(crate) enum Came {
    Of(Reply),
    /// Canceled by a signal. Nothing changed.
    Stopped(ExitCode),
}

/// Runs a command on a session and shows progress while the summary is written.
pub(crate) async fn run(
    session: &Session,
    home: &Home,
    writer: Writer<'_>,
    command: Command,
) -> Result<Came> {
    let parts = parts(session, home, writer).await?;
    let name = parts.summary_model.as_ref().unwrap_or(&parts.default_model).full_name();
    let worker = Worker::start(session.clone(), parts).await?;
    let (reply, signal) = wait(&worker, command, &name, home).await?;
    session.before_prompt().await?;
    let was_stopped = match &reply {
        Ok(Reply::Navigated(went)) => went.aborted,
        Err(error) => matches!(error, Error::NoSummary(NoSummary::Stopped)),
        Ok(_) => false,
    };
    if was_stopped {
        remark("Canceled; nothing changed");
        return Ok(Came::Stopped(ExitCode::from(signal.map_or(1, Asked::code))));
    }
    Ok(Came::Of(reply?))
}

/// Waits for the reply, and cancels the command on a signal.
async fn wait(
    worker: &Worker,
    command: Command,
    writer: &str,
    home: &Home,
) -> Result<(Result<Reply, Error>, Option<Asked>)> {
    let mut signals = Signals::catch()?;
    let mut events = worker.attach(None).await?.events;
    let (mut stopped, mut _progress): (Option<Asked>, Option<Waiting>) = (None, None);
    let sent = worker.send(command);
    tokio::pin!(sent);
    loop {
        tokio::select! {
            reply = &mut sent => return Ok((reply, stopped)),
            signal = signals.next() => match stopped.replace(signal) {
                None => cancel(worker),
                // A second signal: do not wait for the cancellation.
                Some(_) => return Ok((Err(NoSummary::Stopped.into()), stopped)),
            },
            Some(event) = events.next() => match event {
                Event::Live(Live::SummaryStarted { .. }) => {
                    _progress = Some(waiting(&format!("{writer} is writing the summary")));
                }
                // The caller reports what was stored.
                Event::Session(_) => {}
                event => told::line(&event, home.user.as_deref()).iter().for_each(|line| remark(line)),
            },
        }
    }
}

/// The cancellation arrives as the reply to the command itself.
fn cancel(worker: &Worker) {
    let worker = worker.clone();
    tokio::spawn(async move { worker.send(Command::Cancel).await.map(drop) });
}

async fn parts(session: &Session, home: &Home, writer: Writer<'_>) -> Result<Parts> {
    let models = Arc::new(home.models());
    let registry = models.registry().clone();
    let (summary_model, default) = match writer {
        Writer::None => (None, offline(&registry)),
        Writer::Model(asked) => match for_summaries(asked, &home.settings, &registry) {
            Ok(Some(model)) => (Some(model.clone()), model),
            Ok(None) => (None, usual(session, home, &registry).await?),
            Err(error) if asked.is_some() => return Err(usage(error.to_string())),
            Err(error) => return Err(anyhow!(error).context("cannot use the setting summary_model")),
        },
    };
    let keys = Arc::new(home.known_keys(&registry));
    let context = ToolContext { keys, ..ToolContext::new(&home.cwd, home.outputs(), Env::new([])) };
    let tools = Arc::new(Tools::default());
    Ok(Parts {
        summary_model,
        compacting: home.settings.compacting,
        backtracking: false,
        one_shot: true,
        ..Parts::new(models, registry, default, tools, context)
    })
}

/// The request that a prompt at a place of a session sends. Read-only.
pub(crate) async fn request_at(session: &Session, home: &Home, at: Place) -> Result<PreparedRequest> {
    let registry = home.models().registry().clone();
    let default = choose(Wanted::default(), &home.settings, &registry, &home.surroundings())?.model;
    let parts = Parts {
        default_model: default,
        default_thinking: home.settings.thinking,
        backtracking: home.settings.offers_backtracking(),
        ..parts(session, home, Writer::None).await?
    };
    Ok(Worker::start(session.clone(), parts).await?.request_at(at).await?)
}

/// The model that would answer in this session: the one that users expect to write its summaries.
async fn usual(session: &Session, home: &Home, registry: &osier_model::Registry) -> Result<Arc<ModelInfo>> {
    let of_session = reading::model_on_path(session).await?;
    let surroundings = home.surroundings();
    if let Some(name) = &of_session {
        return exact(name, registry, &surroundings).map_err(|why| {
            anyhow!(
                "cannot write the summary with {name}, the model of this session: {why}; choose another model with \
                 --model, for example --model offline, or permanently with `osier config set summary_model NAME`"
            )
        });
    }
    Ok(choose(Wanted::default(), &home.settings, registry, &surroundings)?.model)
}
