//! Reads commands and answers them.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures_util::poll;
use osier_protocol::{
    ClientCommand, ClientError, EngineClient, ErrorCode, NewSessionOptions, OpenedSession, SessionRef,
    plain_json_error,
};
use osier_wire::{IncomingFrame, LineReader, Outbox, line_writer};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::command::{IncomingLine, InvalidRpcRequest, RpcRequest};
use crate::dialogs::DialogResponse;
use crate::response::{CommandResult, response_line};
use crate::session::{ExtensionRequest, ExtensionRequests, RpcSession};

/// How many commands may run alongside others. The input waits for one of them to end.
const MAX_ALONGSIDE: usize = 64;

/// How many lines may wait for a command that runs alone.
const MAX_WAITING: usize = 64;

/// How long a command may run on after the client has closed the input. Then it is canceled.
const END_TIMEOUT: Duration = Duration::from_secs(10);
/// How long it may take to end after that.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

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
/// run are answered; those that take too long are canceled first. The engine stays open, and turns go on.
pub async fn serve(
    config: RpcConfig,
    input: impl AsyncRead + Send + Unpin,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), ClientError> {
    let RpcConfig { engine, exporter, session, new_session, stop } = config;
    let (output, _writing) = Outbox::start(line_writer(output));
    let (requests, requested) = mpsc::unbounded_channel();
    let main = RpcSession::start(session, false, 0, output.clone(), requests.clone()).await?;
    let open = Mutex::new(OpenSessions { main, others: BTreeMap::new() });
    let server = Arc::new(RpcServer {
        engine,
        exporter,
        new_session,
        output,
        requests,
        replacing: tokio::sync::Mutex::default(),
        open,
    });
    let (mut alongside, quit) = (JoinSet::new(), CancellationToken::new());
    let run_commands = async {
        server.clone().read_commands(LineReader::new(input, MAX_LINE), &mut alongside, &quit).await;
        server.finish_commands(&mut alongside).await;
    };
    tokio::select! {
        () = run_commands => {}
        () = server.output.closed() => {}
        () = server.follow_requests(requested, &quit) => {}
        () = stop.cancelled() => {}
    }
    server.stop_events();
    alongside.abort_all();
    if !stop.is_cancelled() {
        server.output.flush().await;
    }
    Ok(())
}

type ParsedLine = Result<IncomingLine, InvalidRpcRequest>;

fn parse_line(line: IncomingFrame) -> ParsedLine {
    let object = match line {
        IncomingFrame::Text(line) => serde_json::from_str(&line).map_err(|error| error.to_string()),
        IncomingFrame::Invalid(reason) | IncomingFrame::Unreadable(reason) => Err(reason),
    };
    let invalid = |reason: String| InvalidRpcRequest {
        id: None,
        name: "parse".to_owned(),
        error: format!("Failed to parse command: {}", plain_json_error(&reason)),
    };
    IncomingLine::parse(object.map_err(invalid)?)
}

/// The lines of the client.
struct CommandInput<'a, R> {
    lines: LineReader<R>,
    /// Lines that were read while a command ran alone.
    waiting: VecDeque<ParsedLine>,
    quit: &'a CancellationToken,
}

impl<R: AsyncRead + Unpin> CommandInput<'_, R> {
    /// The next line. `None` at the end of the input, and when the server ends.
    async fn next(&mut self) -> Option<ParsedLine> {
        match self.waiting.pop_front() {
            Some(line) => Some(line).filter(|_| !self.quit.is_cancelled()),
            None => self.read().await,
        }
    }

    async fn read(&mut self) -> Option<ParsedLine> {
        self.quit.run_until_cancelled(self.lines.next()).await.flatten().map(parse_line)
    }
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

    /// Reads commands until the input ends or an extension asks the server to end.
    async fn read_commands<R: AsyncRead + Unpin>(
        self: Arc<Self>,
        input: LineReader<R>,
        alongside: &mut JoinSet<()>,
        quit: &CancellationToken,
    ) {
        let mut input = CommandInput { lines: input, waiting: VecDeque::new(), quit };
        while let Some(line) = input.next().await {
            match line {
                Ok(IncomingLine::Command(request)) if !request.command.runs_alongside() => {
                    let run = Box::pin(self.clone().run_request(request));
                    self.run_and_read(run, &mut input).await;
                }
                Ok(IncomingLine::Command(request)) => self.run_alongside(request, alongside).await,
                Ok(IncomingLine::DialogResponse(response)) => self.answer_dialog(response).await,
                Err(invalid) => self.refuse(invalid.id.as_ref(), &invalid.name, &invalid.error).await,
            }
        }
    }

    /// Runs a command to its end. It may ask the user, so the answers that arrive meanwhile are used at once; other lines wait.
    async fn run_and_read<R: AsyncRead + Unpin>(
        &self,
        mut run: Pin<Box<impl Future<Output = ()>>>,
        input: &mut CommandInput<'_, R>,
    ) {
        loop {
            let line = tokio::select! {
                biased;
                () = &mut run => return,
                line = input.read(), if input.waiting.len() < MAX_WAITING => line,
            };
            match line {
                Some(Ok(IncomingLine::DialogResponse(response))) => self.answer_dialog(response).await,
                Some(line) => input.waiting.push_back(line),
                None => return self.finish(run).await,
            }
        }
    }

    /// Answers the commands that still run.
    async fn finish_commands(&self, alongside: &mut JoinSet<()>) {
        self.finish(async { while alongside.join_next().await.is_some() {} }).await;
    }

    /// Runs a command to its end although the client sends no more, and answers nothing that it asks.
    async fn finish(&self, run: impl Future<Output = ()>) {
        let mut run = std::pin::pin!(run);
        if timeout(END_TIMEOUT, &mut run).await.is_ok() {
            return;
        }
        let canceling = async {
            for session in self.all_sessions() {
                // It is answered with its own error.
                let _ = session.abort().await;
            }
        };
        // What cannot be canceled ends with the process.
        let _ = timeout(CANCEL_TIMEOUT, futures_util::future::join(canceling, run)).await;
    }

    async fn run_alongside(self: &Arc<Self>, request: RpcRequest, alongside: &mut JoinSet<()>) {
        let mut run = Box::pin(self.clone().run_request(request));
        // The first step runs here, so that prompts reach the agent in the order of their lines.
        if poll!(&mut run).is_pending() {
            while alongside.len() >= MAX_ALONGSIDE {
                alongside.join_next().await;
            }
            while alongside.try_join_next().is_some() {}
            alongside.spawn(run);
        }
    }

    async fn refuse(&self, id: Option<&Value>, command: &str, error: &str) {
        let error = ClientError::new(ErrorCode::Usage, error);
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

    /// Puts a session in the place of another one.
    pub(crate) fn replace(&self, old: &RpcSession, new: Arc<RpcSession>) {
        let mut open = self.open_sessions();
        if open.main.info.id == old.info.id {
            // The client may have opened it beside the main session.
            if let Some(other) = open.others.remove(&*new.info.id) {
                other.stop_events();
            }
            open.main = new;
        } else {
            open.others.remove(&*old.info.id);
            open.others.insert(new.info.id.to_string(), new);
        }
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
