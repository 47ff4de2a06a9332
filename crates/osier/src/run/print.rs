//! `-p`: sends one prompt, prints the answer or every event, and exits.
//!
//! Standard output contains only the answer. If the process must end early, it cancels the turn first, so that every tool call
//! has a result and the session can be continued.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use futures_util::FutureExt;
use osier_engine::{AnswerFilter, FollowedEvents, Session};
use osier_local_engine::LocalSession;
use osier_protocol::{
    Client, ClientCommand, ClientEvent, CommandReply, ExtensionEvent, Prompt, PromptTiming, TurnOutcome,
};

use super::args::OutputMode;
use super::progress_lines::{self, DeniedCalls};
use super::signals::{Signals, TerminationSignal};
use super::stdout_writer::StdoutWriter;
use crate::failure::fail;
use crate::hints;
use crate::output_writer::{escape_c1, escape_json, notice};

/// How the run is printed.
#[derive(Debug, Clone, Copy)]
pub(super) struct PrintOptions<'f> {
    pub(super) mode: OutputMode,
    /// Print text as it streams, including text that is not part of the answer.
    pub(super) eager: bool,
    /// Standard output is a terminal.
    pub(super) terminal: bool,
    /// Print progress to standard error.
    pub(super) progress: bool,
    /// The user's home folder, displayed as `~`.
    pub(super) home: Option<&'f str>,
}

/// How a run ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct PrintEnd {
    pub(super) code: ExitCode,
    /// A signal asked not to wait for what still runs.
    pub(super) is_forced: bool,
}

impl PrintEnd {
    fn forced(signal: TerminationSignal) -> PrintEnd {
        PrintEnd { code: ExitCode::from(signal.exit_code()), is_forced: true }
    }
}

/// Sends a prompt and prints the result.
pub(super) async fn run(open: &LocalSession, prompt: Prompt, options: PrintOptions<'_>) -> Result<PrintEnd> {
    let client: Arc<dyn Client> = Arc::new(open.client.clone());
    let session = open.client.live().session();
    let mut follow = FollowedEvents::subscribe(client.clone(), open.start_position).await?;
    for prompt in &follow.returned {
        notice(&format!("osier: this prompt was queued but never sent:\n{}", prompt.text));
    }
    if session.invalid_lines() > 0 {
        let damage = client.status().await?.damage_note().unwrap_or_default();
        notice(&format!("osier: {damage}"));
    }
    let mut signals = Signals::listen()?;
    let mut printer = Printer::new(options);
    printer.print_header(session);
    let sent = client.send(ClientCommand::timed_prompt(prompt, PromptTiming::Now)).await?;
    if sent == CommandReply::Handled {
        // An extension did what the prompt asked for; there is no turn to wait for.
        while let Some(event) = follow.next().now_or_never() {
            printer.handle_event(&event?);
        }
        printer.stdout.flush().await?;
        return Ok(PrintEnd { code: ExitCode::SUCCESS, is_forced: false });
    }
    let mut reason = None;
    let ended = loop {
        tokio::select! {
            signal = signals.next() => match reason.replace(CancelReason::Signal(signal)) {
                None => cancel(&client),
                // A second signal: stop waiting for the turn to end.
                Some(_) => return Ok(PrintEnd::forced(signal)),
            },
            () = printer.stdout.closed(), if reason.is_none() => {
                reason = Some(CancelReason::OutputClosed);
                cancel(&client);
            }
            event = follow.next() => if let Some(end) = printer.handle_event(&event?) { break end },
        }
        if printer.answer.is_withdrawn() && !options.terminal && reason.is_none() {
            reason = Some(CancelReason::ReplyWithdrawn);
            cancel(&client);
        }
    };
    session.sync_if_configured().await?;
    tokio::select! {
        // After a signal the terminal may be closed; a failed write is then not the error to report.
        written = printer.print_rest(&ended) => if !matches!(reason, Some(CancelReason::Signal(_))) { written? },
        signal = signals.next() => return Ok(PrintEnd::forced(signal)),
    }
    Ok(PrintEnd { code: printer.finish(ended, reason)?, is_forced: false })
}

/// Why a turn is canceled early.
#[derive(Debug, Clone, Copy)]
enum CancelReason {
    Signal(TerminationSignal),
    OutputClosed,
    /// The reply broke off after part of it was written to a pipe or file, where it cannot be withdrawn.
    ReplyWithdrawn,
}

/// Requests the cancellation; the end of the turn arrives as an event.
fn cancel(client: &Arc<dyn Client>) {
    let client = client.clone();
    tokio::spawn(async move { client.send(ClientCommand::Cancel).await.map(drop) });
}

/// How a turn ended, as reported by the agent.
struct EndedTurn {
    finished: Option<TurnOutcome>,
    error: Option<String>,
}

struct Printer<'f> {
    options: PrintOptions<'f>,
    stdout: StdoutWriter,
    answer: AnswerFilter,
    denied: DeniedCalls,
}

impl<'f> Printer<'f> {
    fn new(options: PrintOptions<'f>) -> Printer<'f> {
        let answer = AnswerFilter::new(options.eager);
        Printer { options, stdout: StdoutWriter::stdout(), answer, denied: DeniedCalls::default() }
    }

    fn print_header(&self, session: &Session) {
        if self.options.mode == OutputMode::Json {
            self.print_line(String::from_utf8_lossy(&session.header().to_line()).into_owned());
        }
    }

    fn print_line(&self, line: String) {
        let line = if self.options.terminal { escape_json(&line) } else { escape_c1(line) };
        self.stdout.write(line + "\n");
    }

    /// Prints an event. Returns how the turn ended if this event ends it.
    fn handle_event(&mut self, event: &ClientEvent) -> Option<EndedTurn> {
        match self.options.mode {
            OutputMode::Json => self.print_line(event.to_json()),
            OutputMode::Text | OutputMode::Rpc => {
                let text = self.answer.handle_event(event);
                if !text.is_empty() {
                    self.stdout.write(text);
                }
            }
        }
        self.denied.handle_event(event, self.options.home);
        let is_notice = match event {
            // In JSON mode, it is an event on standard output.
            ClientEvent::Extension(ExtensionEvent::Notify { .. }) => self.options.mode == OutputMode::Text,
            event => matches!(event, ClientEvent::Notice { .. } | ClientEvent::Extension(_)),
        };
        if let Some(line) = progress_lines::progress_line(event, self.options.home)
            .filter(|_| self.options.progress || is_notice)
        {
            notice(&line);
        }
        match event {
            ClientEvent::TurnEnded { finished, error } => {
                Some(EndedTurn { finished: *finished, error: error.clone() })
            }
            _ => None,
        }
    }

    /// Prints the part of the answer that is final only when the turn has ended.
    async fn print_rest(&mut self, ended: &EndedTurn) -> std::io::Result<()> {
        if matches!(ended.finished, Some(TurnOutcome::Done | TurnOutcome::CutOff))
            && self.options.mode == OutputMode::Text
        {
            let rest = self.answer.finish();
            self.stdout.write(rest);
        }
        self.stdout.flush().await
    }

    fn finish(self, ended: EndedTurn, reason: Option<CancelReason>) -> Result<ExitCode> {
        if let Some(refused) = self.denied.notice() {
            notice(&refused);
        }
        match (ended.finished, reason) {
            (Some(TurnOutcome::Done), _) => Ok(ExitCode::SUCCESS),
            (Some(TurnOutcome::CutOff), _) => {
                notice(
                    "osier: the answer was cut off at the model's output limit; `osier -c -p 'continue'` requests the rest",
                );
                Ok(ExitCode::SUCCESS)
            }
            (_, Some(CancelReason::Signal(signal))) => Ok(ExitCode::from(signal.exit_code())),
            (_, Some(CancelReason::OutputClosed)) => Ok(ExitCode::SUCCESS),
            (_, Some(CancelReason::ReplyWithdrawn)) => fail!(
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
                fail!(ModelFailed, "{}", hints::with_model_hint(&error))
            }
        }
    }
}
