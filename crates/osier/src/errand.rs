//! An agent for one errand that a command of `osier sessions` asks for: a summary, and the one entry that holds it. It has no
//! tools, and there is nobody to ask.

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

/// Who writes what an errand needs.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Writer<'n> {
    /// Nobody: no model is asked.
    None,
    /// The model of this name, or the one of the settings, or that of the session.
    Model(Option<&'n str>),
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Came {
    Of(Reply),
    /// Somebody stopped it. Nothing was changed.
    Stopped(ExitCode),
}

/// Carries out a command on a session, and tells the person who waits that it takes its time.
pub(crate) async fn run(
    session: &Session,
    home: &Home,
    writer: Writer<'_>,
    command: Command,
) -> Result<Came> {
    let parts = parts(session, home, writer).await?;
    let name = parts.summary_model.as_ref().unwrap_or(&parts.default_model).full_name();
    let worker = Worker::start(session.clone(), parts).await?;
    let (reply, asked) = wait(&worker, command, &name, home).await?;
    session.before_prompt().await?;
    let was_stopped = match &reply {
        Ok(Reply::Navigated(went)) => went.aborted,
        Err(error) => matches!(error, Error::NoSummary(NoSummary::Stopped)),
        Ok(_) => false,
    };
    if was_stopped {
        remark("stopped; nothing was changed");
        return Ok(Came::Stopped(ExitCode::from(asked.map_or(1, Asked::code))));
    }
    Ok(Came::Of(reply?))
}

/// Waits for the answer, and stops it if it is asked to.
async fn wait(
    worker: &Worker,
    command: Command,
    writer: &str,
    home: &Home,
) -> Result<(Result<Reply, Error>, Option<Asked>)> {
    let mut signals = Signals::catch()?;
    let mut events = worker.attach(None).await?.events;
    let (mut stopped, mut _telling): (Option<Asked>, Option<Waiting>) = (None, None);
    let sent = worker.send(command);
    tokio::pin!(sent);
    loop {
        tokio::select! {
            reply = &mut sent => return Ok((reply, stopped)),
            asked = signals.next() => match stopped.replace(asked) {
                None => cancel(worker),
                // Asked twice, so it takes too long.
                Some(_) => return Ok((Err(NoSummary::Stopped.into()), stopped)),
            },
            Some(event) = events.next() => match event {
                Event::Live(Live::SummaryStarted { .. }) => {
                    _telling = Some(waiting(&format!("{writer} writes the summary")));
                }
                // What is stored is told by whoever asked for it.
                Event::Session(_) => {}
                event => told::line(&event, home.user.as_deref()).iter().for_each(|line| remark(line)),
            },
        }
    }
}

/// The end is heard as the answer to the command.
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
            Err(error) => return Err(anyhow!(error).context("the setting summary_model")),
        },
    };
    let context = ToolContext::new(&home.cwd, home.folder.join("cache").join("output"), Env::new([]));
    let tools = Arc::new(Tools::default());
    Ok(Parts {
        summary_model,
        compacting: home.settings.compacting,
        backtracking: false,
        one_shot: true,
        ..Parts::new(models, registry, default, tools, context)
    })
}

/// The request that is sent from a place of a session. Writes nothing.
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

/// The model that would answer in this session. A summary by another one is not what somebody would expect.
async fn usual(session: &Session, home: &Home, registry: &osier_model::Registry) -> Result<Arc<ModelInfo>> {
    let of_session = reading::model_on_path(session).await?;
    let surroundings = home.surroundings();
    if let Some(name) = &of_session {
        return exact(name, registry, &surroundings).map_err(|why| {
            anyhow!(
                "{name}, which this session used, cannot be used ({why}); name another one to write the summary with \
                 --model, say --model offline, or for good with `osier config set summary_model NAME`"
            )
        });
    }
    Ok(choose(Wanted::default(), &home.settings, registry, &surroundings)?.model)
}
