//! Reads commands and answers them.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::poll;
use osier_protocol::{
    ClientCommand, ClientError, EngineClient, ErrorCode, NewSessionOptions, OpenedSession, SessionRef,
};
use osier_wire::{LineReader, Outbox, line_writer};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::command::{IncomingLine, InvalidRpcRequest, RpcRequest};
use crate::dialogs::DialogResponse;
use crate::input::{CANCEL_TIMEOUT, CommandInput, InputEnd};
use crate::progress::ProgressWriter;
use crate::response::{CommandResult, response_line};
use crate::session::{ExtensionRequest, ExtensionRequests, RpcSession};

/// How many commands may run alongside others. The input waits for one of them to end.
const MAX_ALONGSIDE: usize = 64;

/// A client that takes nothing of the last lines for this long gets no more of them.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest line in bytes. It leaves room for several images.
pub const MAX_LINE: usize = 64 << 20;

/// Exports sessions to files on this machine.
#[async_trait]
pub trait HtmlExporter: Send + Sync + fmt::Debug {
    /// Writes a page with the session. Returns its path.
    async fn export_html(&self, session: &SessionRef, file: &str) -> Result<PathBuf, ClientError>;
}

/// What a server needs.
#[derive(Debug)]
pub struct RpcConfig {
    /// Leaves the turn of a session that the client leaves to the server, which keeps the queue of that session.
    pub engine: Arc<dyn EngineClient>,
    pub exporter: Arc<dyn HtmlExporter>,
    /// The main session.
    pub session: OpenedSession,
    /// The options of sessions that the client creates.
    pub new_session: NewSessionOptions,
    /// Ends the server.
    pub stop: CancellationToken,
}

/// The state that all commands share.
#[derive(Debug)]
pub(crate) struct RpcServer {
    pub(crate) engine: Arc<dyn EngineClient>,
    pub(crate) exporter: Arc<dyn HtmlExporter>,
    pub(crate) new_session: NewSessionOptions,
    pub(crate) output: Outbox,
    pub(crate) requests: ExtensionRequests,
    /// Held while a session takes the place of another one.
    pub(crate) replacing: tokio::sync::Mutex<()>,
    open: Mutex<OpenSessions>,
}

#[derive(Debug)]
struct OpenSessions {
    /// The session of commands that name none.
    main: Arc<RpcSession>,
    /// The sessions that the client opened in addition, by id.
    others: BTreeMap<String, Arc<RpcSession>>,
}

/// Serves a client until it closes the input or the output, or until `stop` is set. At the end of the input, commands that
/// run are answered; those that take too long are canceled first. Then turns that run are canceled, and their events are
/// written. The engine stays open.
pub async fn serve(
    config: RpcConfig,
    input: impl AsyncRead + Send + Unpin,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), ClientError> {
    let RpcConfig { engine, exporter, session, new_session, stop } = config;
    let (output, written) = ProgressWriter::new(output);
    let (output, _writing) = Outbox::start(line_writer(output));
    let (requests, requested) = mpsc::unbounded_channel();
    let main = RpcSession::attach(session, false, 0, output.clone(), requests.clone()).await?;
    let open = Mutex::new(OpenSessions { main: main.session.clone(), others: BTreeMap::new() });
    let server = Arc::new(RpcServer {
        engine,
        exporter,
        new_session,
        output,
        requests,
        replacing: tokio::sync::Mutex::default(),
        open,
    });
    main.start().await;
    let (mut alongside, quit) = (JoinSet::new(), CancellationToken::new());
    let lines = LineReader::new(input, MAX_LINE);
    let run_commands = server.clone().run_commands(lines, &mut alongside, &quit);
    tokio::select! {
        () = run_commands => {}
        () = server.output.closed() => {}
        () = server.follow_requests(requested, &quit) => {}
        () = stop.cancelled() => {}
    }
    // A client that does not read its lines ends with the process.
    let _ = timeout(CANCEL_TIMEOUT, server.end_turns()).await;
    server.stop_events();
    alongside.abort_all();
    server.write_last_lines(written, &stop).await;
    Ok(())
}

/// A command that runs, or something else that is done for a line.
type BoxedRun<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

async fn join_all(commands: &mut JoinSet<()>) {
    while commands.join_next().await.is_some() {}
}

impl RpcServer {
    /// Does what extensions ask for.
    async fn follow_requests(
        &self,
        mut requests: mpsc::UnboundedReceiver<(Arc<RpcSession>, ExtensionRequest)>,
        quit: &CancellationToken,
    ) {
        while let Some((session, request)) = requests.recv().await {
            match request {
                ExtensionRequest::Open(wanted) => self.open_requested(&session, wanted).await,
                ExtensionRequest::Quit => quit.cancel(),
            }
        }
    }

    /// Runs commands until the input ends or an extension asks the server to end, and answers those that still run.
    async fn run_commands<R: AsyncRead + Unpin>(
        self: Arc<Self>,
        lines: LineReader<R>,
        alongside: &mut JoinSet<()>,
        quit: &CancellationToken,
    ) {
        let mut input = CommandInput::new(lines, quit);
        while let Some(line) = input.next().await {
            // A client that does not read its lines must not keep the server from reading the end of the input.
            let run: BoxedRun<'_> = match line {
                Ok(IncomingLine::Command(request)) if input.is_over() => Box::pin(self.refuse_late(request)),
                Ok(IncomingLine::Command(request)) if !request.command.runs_alongside() => {
                    Box::pin(self.clone().run_request(request))
                }
                Ok(IncomingLine::Command(request)) => {
                    self.run_alongside(request, alongside, &mut input).await;
                    continue;
                }
                Ok(IncomingLine::DialogResponse(response)) => Box::pin(self.answer_dialog(response)),
                Err(invalid) => Box::pin(self.refuse_invalid(invalid)),
            };
            self.run_and_read(run, &mut input).await;
        }
        let end = input.end.unwrap_or_else(InputEnd::now);
        self.finish(join_all(alongside), end).await;
    }

    /// Runs a command to its end. It may ask the user, so the answers that arrive meanwhile are used at once; other lines wait.
    async fn run_and_read<'a, R: AsyncRead + Unpin>(
        &'a self,
        mut run: BoxedRun<'a>,
        input: &mut CommandInput<'_, R>,
    ) {
        loop {
            if let Some(end) = input.end {
                return self.finish(run, end).await;
            }
            let line = tokio::select! {
                biased;
                () = &mut run => return,
                line = input.read(), if input.has_room() => line,
            };
            match line {
                Some(Ok(IncomingLine::DialogResponse(response))) => {
                    let both = futures_util::future::join(run, self.answer_dialog(response));
                    run = Box::pin(async move {
                        both.await;
                    });
                }
                Some(line) => input.keep(line),
                None => {}
            }
        }
    }

    /// Runs commands to their end although the client sends no more, and answers nothing that they ask.
    async fn finish(&self, run: impl Future<Output = ()>, end: InputEnd) {
        let mut run = std::pin::pin!(run);
        if timeout_at(end.cancel_at, &mut run).await.is_ok() {
            return;
        }
        let canceling = async {
            for session in self.all_sessions() {
                // It is answered with its own error.
                let _ = session.abort().await;
            }
        };
        // What cannot be canceled ends with the process.
        let _ = timeout_at(end.stop_at, futures_util::future::join(canceling, run)).await;
    }

    /// Cancels the turns that run, and waits until their events are written.
    async fn end_turns(&self) {
        let sessions = self.all_sessions();
        let ending = sessions.iter().map(|session| session.end_turn());
        futures_util::future::join_all(ending).await;
    }

    async fn run_alongside<R: AsyncRead + Unpin>(
        self: &Arc<Self>,
        request: RpcRequest,
        alongside: &mut JoinSet<()>,
        input: &mut CommandInput<'_, R>,
    ) {
        let mut run = Box::pin(self.clone().run_request(request));
        // The first step runs here, so that prompts reach the agent in the order of their lines.
        if poll!(&mut run).is_pending() {
            while alongside.try_join_next().is_some() {}
            if alongside.len() >= MAX_ALONGSIDE {
                // They may all wait for answers of the user.
                let one_ends = Box::pin(async { drop(alongside.join_next().await) });
                self.run_and_read(one_ends, input).await;
            }
            alongside.spawn(run);
        }
    }

    async fn refuse_invalid(&self, invalid: InvalidRpcRequest) {
        self.refuse(invalid.id.as_ref(), &invalid.name, ErrorCode::Usage, &invalid.error).await;
    }

    /// The input ended long ago, and the commands before this one have taken all the time.
    async fn refuse_late(&self, request: RpcRequest) {
        let error = "the input has ended, and earlier commands took too long; the command was not run";
        self.refuse(request.id.as_ref(), &request.name, ErrorCode::Cancelled, error).await;
    }

    async fn refuse(&self, id: Option<&Value>, command: &str, code: ErrorCode, error: &str) {
        let error = ClientError::new(code, error);
        self.respond(id, command, Err(error)).await;
    }

    pub(crate) async fn respond(&self, id: Option<&Value>, command: &str, result: CommandResult) {
        // After the client has closed the output, nobody needs the response.
        let _ = self.output.send(response_line(id, command, result)).await;
    }

    /// An answer to a dialog has no response. Answers to dialogs that are not open are ignored.
    async fn answer_dialog(&self, response: Option<DialogResponse>) {
        let Some(response) = response else { return };
        for session in self.all_sessions() {
            let answered = session.translator.lock().await.dialogs.answer(&response);
            if let Some((question, answer)) = answered {
                // The question may have been withdrawn in the meantime.
                let _ = session.client.send(ClientCommand::Answer { question, answer }).await;
            }
        }
    }

    /// Waits until the client has everything, unless it stops reading, or `stop` is set and it reads too slowly.
    async fn write_last_lines(&self, mut written: watch::Receiver<usize>, stop: &CancellationToken) {
        let stalled = async { while let Ok(Ok(())) = timeout(FLUSH_TIMEOUT, written.changed()).await {} };
        let stopped = async {
            stop.cancelled().await;
            sleep(CANCEL_TIMEOUT).await;
        };
        tokio::select! {
            () = self.output.flush() => {}
            () = stalled => tracing::debug!("the client does not read the last lines"),
            () = stopped => {}
        }
    }

    fn open_sessions(&self) -> MutexGuard<'_, OpenSessions> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn all_sessions(&self) -> Vec<Arc<RpcSession>> {
        let open = self.open_sessions();
        [&open.main].into_iter().chain(open.others.values()).cloned().collect()
    }

    /// The session that a command names; without a name, the main session.
    pub(crate) fn session(&self, id: Option<&str>) -> Result<Arc<RpcSession>, ClientError> {
        let open = self.open_sessions();
        match id {
            None => Ok(open.main.clone()),
            Some(id) if *open.main.info.id == *id => Ok(open.main.clone()),
            Some(id) => open.others.get(id).cloned().ok_or_else(|| {
                ClientError::new(
                    ErrorCode::SessionNotFound,
                    format!("session {id} is not open; see open_session"),
                )
            }),
        }
    }

    /// Puts a session in the place of another one. Returns whether its events are to be written: the client may have it open
    /// already, and the events of a session are written once.
    #[must_use]
    pub(crate) fn replace(&self, old: &RpcSession, new: Arc<RpcSession>) -> bool {
        let mut open = self.open_sessions();
        if open.main.info.id == old.info.id {
            open.main = new.clone();
        } else {
            open.others.remove(&*old.info.id);
        }
        let is_main = open.main.info.id == new.info.id;
        let other = match is_main {
            true => open.others.remove(&*new.info.id),
            false => open.others.insert(new.info.id.to_string(), new.clone()),
        };
        if let Some(other) = other {
            other.stop_events();
        }
        !is_main || Arc::ptr_eq(&open.main, &new)
    }

    pub(crate) fn add(&self, session: Arc<RpcSession>) {
        self.open_sessions().others.insert(session.info.id.to_string(), session);
    }

    pub(crate) fn remove(&self, session: &RpcSession) {
        self.open_sessions().others.remove(&*session.info.id);
    }

    /// Whether a session is the main one.
    pub(crate) fn is_main(&self, session: &RpcSession) -> bool {
        self.open_sessions().main.info.id == session.info.id
    }

    fn stop_events(&self) {
        for session in self.all_sessions() {
            session.stop_events();
        }
    }
}
