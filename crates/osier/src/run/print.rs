//! `-p`: sends one prompt, prints the answer or every event, and exits.
//!
//! Standard output contains only the answer. If the process must end early, it cancels the turn first, so that every tool call
//! has a result and the session can be continued.

use std::process::ExitCode;

use anyhow::Result;
use osier_agent::{AgentEvent, Client, ClientCommand, LiveUpdate, Prompt, PromptTiming, TurnOutcome, Worker};
use osier_session::Session;

use super::answer::Answer;
use super::args::Mode;
use super::desk::Open;
use super::signals::{Asked, Signals};
use super::sink::Sink;
use super::told::{self, Refused};
use crate::failure::fail;
use crate::out::{escape_json, notice};

/// How the run is printed.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<'f> {
    pub(super) mode: Mode,
    /// Print text as it streams, including text that is not part of the answer.
    pub(super) eager: bool,
    /// Standard output is a terminal.
    pub(super) terminal: bool,
    /// Print progress to standard error.
    pub(super) progress: bool,
    /// The user's home folder, displayed as `~`.
    pub(super) home: Option<&'f str>,
}

/// Sends a prompt and prints the result.
pub(super) async fn run(open: Open, said: Prompt, form: Form<'_>) -> Result<ExitCode> {
    let Open { session, worker, mut follow } = open;
    for said in &follow.returned {
        notice(&format!("osier: this prompt was queued but never sent:\n{}", said.text));
    }
    let mut signals = Signals::catch()?;
    let mut printer = Printer::new(form);
    printer.header(&session);
    let Prompt { text, images, files } = said;
    worker.send(ClientCommand::Prompt { text, images, files, when: PromptTiming::Now }).await?;
    let mut why = None;
    let ended = loop {
        tokio::select! {
            asked = signals.next() => match why.replace(Why::Asked(asked)) {
                None => cancel(&worker),
                // A second signal: stop waiting for the turn to end.
                Some(_) => return Ok(ExitCode::from(asked.code())),
            },
            () = printer.sink.gone(), if why.is_none() => {
                why = Some(Why::NobodyReads);
                cancel(&worker);
            }
            event = follow.next() => if let Some(end) = printer.take(&event?) { break end },
        }
        if printer.answer.is_withdrawn() && !form.terminal && why.is_none() {
            why = Some(Why::Withdrawn);
            cancel(&worker);
        }
    };
    session.sync_if_configured().await?;
    tokio::select! {
        // After a signal the terminal may be closed; a failed write is then not the error to report.
        written = printer.last(&ended) => if !matches!(why, Some(Why::Asked(_))) { written? },
        asked = signals.next() => return Ok(ExitCode::from(asked.code())),
    }
    printer.end(ended, why)
}

/// Why a turn is canceled early.
#[derive(Debug, Clone, Copy)]
enum Why {
    Asked(Asked),
    NobodyReads,
    /// The reply broke off after part of it was written to a pipe or file, where it cannot be withdrawn.
    Withdrawn,
}

/// Requests the cancellation; the end of the turn arrives as an event.
fn cancel(worker: &Worker) {
    let worker = worker.clone();
    tokio::spawn(async move { worker.send(ClientCommand::Cancel).await.map(drop) });
}

/// How a turn ended, as reported by the worker.
struct Ended {
    finished: Option<TurnOutcome>,
    error: Option<String>,
}

struct Printer<'f> {
    form: Form<'f>,
    sink: Sink,
    answer: Answer,
    refused: Refused,
}

impl<'f> Printer<'f> {
    fn new(form: Form<'f>) -> Printer<'f> {
        let answer = Answer::new(form.eager);
        Printer { form, sink: Sink::stdout(), answer, refused: Refused::default() }
    }

    fn header(&self, session: &Session) {
        if self.form.mode == Mode::Json {
            self.line(String::from_utf8_lossy(&session.header().to_line()).into_owned());
        }
    }

    fn line(&self, line: String) {
        let line = if self.form.terminal { escape_json(&line) } else { line };
        self.sink.write(line + "\n");
    }

    /// Prints an event. Returns how the turn ended if this event ends it.
    fn take(&mut self, event: &AgentEvent) -> Option<Ended> {
        match self.form.mode {
            Mode::Json => self.line(event.to_json()),
            Mode::Text => {
                let text = self.answer.take(event);
                if !text.is_empty() {
                    self.sink.write(text);
                }
            }
        }
        self.refused.take(event, self.form.home);
        let is_notice = matches!(event, AgentEvent::Live(LiveUpdate::Notice { .. }));
        if let Some(line) = told::line(event, self.form.home).filter(|_| self.form.progress || is_notice) {
            notice(&line);
        }
        match event {
            AgentEvent::Live(LiveUpdate::TurnEnded { finished, error }) => {
                Some(Ended { finished: *finished, error: error.clone() })
            }
            _ => None,
        }
    }

    /// Prints the part of the answer that is final only when the turn has ended.
    async fn last(&mut self, ended: &Ended) -> std::io::Result<()> {
        if matches!(ended.finished, Some(TurnOutcome::Done | TurnOutcome::CutOff))
            && self.form.mode == Mode::Text
        {
            let rest = self.answer.end();
            self.sink.write(rest);
        }
        self.sink.written().await
    }

    fn end(self, ended: Ended, why: Option<Why>) -> Result<ExitCode> {
        if let Some(refused) = self.refused.told() {
            notice(&refused);
        }
        match (ended.finished, why) {
            (Some(TurnOutcome::Done), _) => Ok(ExitCode::SUCCESS),
            (Some(TurnOutcome::CutOff), _) => {
                notice(
                    "osier: the answer was cut off at the model's output limit; `osier -c -p 'continue'` requests the rest",
                );
                Ok(ExitCode::SUCCESS)
            }
            (_, Some(Why::Asked(asked))) => Ok(ExitCode::from(asked.code())),
            (_, Some(Why::NobodyReads)) => Ok(ExitCode::SUCCESS),
            (_, Some(Why::Withdrawn)) => fail!(
                ModelFailed,
                "the reply broke off after part of it was printed; `osier -c -p 'continue'` continues"
            ),
            (Some(TurnOutcome::StepLimit), None) => fail!(
                StepLimit,
                "{}; `osier -c -p 'continue'` continues, `osier config set max_steps N` raises the limit",
                ended.error.unwrap_or_default()
            ),
            (Some(TurnOutcome::Cancelled), None) => fail!(Cancelled, "the turn was canceled"),
            (Some(TurnOutcome::Failed) | None, None) => {
                let error =
                    ended.error.unwrap_or_else(|| "the model failed without an error message".to_owned());
                fail!(ModelFailed, "{error}")
            }
        }
    }
}
