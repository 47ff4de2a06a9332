//! One command of `osier sessions` on one session, through the agent of the session: the hooks are asked, and a model can write
//! a summary. The agent has no tools and asks no questions.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use futures_util::StreamExt;
use osier_engine::{LiveSession, Session, SummaryModel};
use osier_protocol::{Client, ClientCommand, ClientError, ClientEvent, CommandReply, ErrorCode};

use crate::home::Home;
use crate::output_writer::notice;
use crate::progress::{ProgressLine, show_progress};
use crate::run::progress_lines;
use crate::run::signals::{Signals, TerminationSignal};
use crate::target;

/// A connection to the session that a command names.
#[derive(Debug)]
pub(crate) struct OneShot {
    live: Arc<LiveSession>,
    client: Arc<dyn Client>,
    /// The full name of the model that writes summaries.
    model: String,
    user_folder: Option<String>,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) enum OneShotOutcome {
    Reply(CommandReply),
    /// Canceled by a signal. Nothing changed.
    Stopped(ExitCode),
}

impl OneShot {
    /// Connects to a session for a command that needs no model.
    pub(crate) async fn open(home: &Home, word: &str) -> Result<OneShot> {
        let live = target::find_and_open(home, word).await?;
        OneShot::connect(home, live, &SummaryModel::Unused).await
    }

    /// Connects to a session; `summary` chooses the model that writes a summary.
    pub(crate) async fn connect(
        home: &Home,
        live: Arc<LiveSession>,
        summary: &SummaryModel,
    ) -> Result<OneShot> {
        let (client, model) = home.connect_one_shot(&live, summary).await?;
        Ok(OneShot { live, client: Arc::new(client), model, user_folder: home.user.clone() })
    }

    pub(crate) fn session(&self) -> &Session {
        self.live.session()
    }

    pub(crate) fn client(&self) -> &dyn Client {
        &*self.client
    }

    /// Runs a command that needs no model.
    pub(crate) async fn send(&self, command: ClientCommand) -> Result<CommandReply> {
        let reply = self.client.send(command).await;
        self.session().sync_if_configured().await?;
        Ok(reply?)
    }

    /// Runs a command, and shows progress while a summary is written. A signal cancels it.
    pub(crate) async fn run(&self, command: ClientCommand) -> Result<OneShotOutcome> {
        let (reply, signal) = self.wait_for_reply(command).await?;
        self.session().sync_if_configured().await?;
        let was_stopped = match &reply {
            Ok(CommandReply::Moved(went)) => went.aborted,
            Err(error) => error.code == ErrorCode::Cancelled && signal.is_some(),
            Ok(_) => false,
        };
        if was_stopped {
            notice("Canceled; nothing changed");
            let code = signal.map_or(1, TerminationSignal::exit_code);
            return Ok(OneShotOutcome::Stopped(ExitCode::from(code)));
        }
        Ok(OneShotOutcome::Reply(reply?))
    }

    /// Waits for the reply, and cancels the command on a signal.
    async fn wait_for_reply(
        &self,
        command: ClientCommand,
    ) -> Result<(Result<CommandReply, ClientError>, Option<TerminationSignal>)> {
        let mut signals = Signals::listen()?;
        let mut events = self.client.attach(None).await?.events;
        let (mut stopped, mut _progress): (Option<TerminationSignal>, Option<ProgressLine>) = (None, None);
        let sent = self.client.send(command);
        tokio::pin!(sent);
        loop {
            tokio::select! {
                reply = &mut sent => return Ok((reply, stopped)),
                signal = signals.next() => match stopped.replace(signal) {
                    None => self.cancel(),
                    // A second signal: do not wait for the cancellation.
                    Some(_) => {
                        let canceled = ClientError::new(ErrorCode::Cancelled, "canceled");
                        return Ok((Err(canceled), stopped));
                    }
                },
                Some(event) = events.next() => _progress = self.show_event(&event).or(_progress),
            }
        }
    }

    /// Shows an event. Returns the progress line of a summary, which stays until it is dropped.
    fn show_event(&self, event: &ClientEvent) -> Option<ProgressLine> {
        match event {
            ClientEvent::SummaryStarted { .. } => {
                return Some(show_progress(&format!("{} is writing the summary", self.model)));
            }
            // The caller reports what was stored.
            ClientEvent::Entry(_) | ClientEvent::Moved(_) => {}
            event => progress_lines::progress_line(event, self.user_folder.as_deref())
                .iter()
                .for_each(|line| notice(line)),
        }
        None
    }

    /// The cancellation arrives as the reply to the command itself.
    fn cancel(&self) {
        let client = self.client.clone();
        tokio::spawn(async move { client.send(ClientCommand::Cancel).await.map(drop) });
    }
}
