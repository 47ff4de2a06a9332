//! One connection of a client: reads its frames, and starts what they request.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, poll};
use osier_protocol::version::check_version;
use osier_protocol::{Client, ClientCommand, ClientError, EngineClient, ErrorCode, PROTOCOL_VERSION};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::ServeOptions;
use super::answers::answer_json;
use super::requests::RequestContext;
use crate::decode::{decode_client_frame, invalid_frame};
use crate::frame::{ClientFrame, ServerFrame};
use crate::heartbeat::{Heartbeat, Silence};
use crate::outbox::Outbox;
use crate::transport::{FrameReader, FrameWriter, IncomingFrame, ReceivedBytes};

/// The most requests of one connection that run at the same time.
const MAX_REQUESTS: usize = 64;

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Connection {
    context: RequestContext,
    requests: JoinSet<()>,
    writing: JoinHandle<io::Result<()>>,
    options: ServeOptions,
    heartbeat: Heartbeat,
}

/// Why the connection ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionEnd {
    /// The client sends no more.
    Read,
    /// The client is gone, or spoke another protocol.
    Closed,
    /// The engine ends the connection.
    Stopped,
}

impl Connection {
    pub(super) fn new(
        engine: Arc<dyn EngineClient>,
        writer: FrameWriter,
        received: ReceivedBytes,
        options: ServeOptions,
    ) -> Connection {
        let (outbox, writing) = Outbox::start(writer);
        let context = RequestContext::new(engine, outbox);
        let heartbeat = Heartbeat::new(options.heartbeat, received);
        Connection { context, requests: JoinSet::new(), writing, options, heartbeat }
    }

    pub(super) async fn run(mut self, mut reader: FrameReader) {
        let end = match self.greet(&mut reader).await {
            true => self.read_requests(&mut reader).await,
            false => ConnectionEnd::Closed,
        };
        self.finish(end).await;
    }

    /// The first frame must be a `hello` of this version.
    async fn greet(&mut self, reader: &mut FrameReader) -> bool {
        let Some(first) = self.first_frame(reader).await else { return false };
        let (reply, is_welcome) = match check_hello(first) {
            Ok(()) => {
                let server = format!("osier {}", env!("CARGO_PKG_VERSION"));
                (ServerFrame::Hello { version: PROTOCOL_VERSION, server }, true)
            }
            Err(error) => (ServerFrame::error(None, error), false),
        };
        self.context.outbox.send(reply.to_json()).await.is_ok() && is_welcome
    }

    async fn first_frame(&mut self, reader: &mut FrameReader) -> Option<IncomingFrame> {
        tokio::select! {
            frame = reader.next() => frame,
            () = self.heartbeat.wait_until_gone() => None,
            () = self.options.stop.cancelled() => None,
        }
    }

    async fn read_requests(&mut self, reader: &mut FrameReader) -> ConnectionEnd {
        self.heartbeat.reset();
        loop {
            let outbox = self.context.outbox.clone();
            // A client that does not read is not read either.
            let next = async {
                outbox.wait_for_room().await;
                reader.next().await
            };
            tokio::select! {
                frame = next => match frame {
                    Some(IncomingFrame::Unreadable(reason)) => {
                        self.reply(ServerFrame::error(None, invalid_frame(&reason))).await;
                        return ConnectionEnd::Closed;
                    }
                    Some(frame) => {
                        self.heartbeat.reset();
                        self.handle_frame(frame).await;
                    }
                    None => return ConnectionEnd::Read,
                },
                Some(_) = self.requests.join_next() => {}
                _ = &mut self.writing => return ConnectionEnd::Closed,
                () = self.options.stop.cancelled() => return ConnectionEnd::Stopped,
                silence = self.heartbeat.wait_for_silence() => match silence {
                    // What the client has sent meanwhile is not read.
                    _ if !outbox.has_room() => self.heartbeat.reset(),
                    Silence::Ask => self.reply(ServerFrame::Ping).await,
                    Silence::Gone => {
                        tracing::debug!("a client is gone");
                        return ConnectionEnd::Closed;
                    }
                },
            }
        }
    }

    async fn handle_frame(&mut self, frame: IncomingFrame) {
        let frame = match frame {
            IncomingFrame::Text(text) => decode_client_frame(&text),
            IncomingFrame::Invalid(reason) | IncomingFrame::Unreadable(reason) => {
                Err((None, invalid_frame(&reason)))
            }
        };
        match frame {
            Ok(ClientFrame::Detach { stream }) => self.context.open.detach(stream),
            Ok(ClientFrame::Close { session }) => self.context.open.close(session),
            Ok(ClientFrame::Pong) => {}
            Ok(ClientFrame::Ping) => self.reply(ServerFrame::Pong).await,
            Ok(ClientFrame::Hello { .. }) => {
                self.reply(ServerFrame::error(None, invalid_frame("a connection has one hello"))).await;
            }
            Ok(request) if self.requests.len() >= MAX_REQUESTS => {
                let error = too_many_requests();
                self.reply(ServerFrame::error(request.id(), error)).await;
            }
            Ok(request) => self.run_task(async move |context| run_request(&context, request).await).await,
            Err((id, error)) => self.reply(ServerFrame::error(id, error)).await,
        }
    }

    /// Queues a reply that needs no work. The next frame is read when there is room again.
    async fn reply(&mut self, frame: ServerFrame) {
        self.run_task(async move |context| {
            let _ = context.outbox.send(frame.to_json()).await;
        })
        .await;
    }

    /// Runs work in a task. Its first step is done here, so that commands start in their order.
    async fn run_task<F: Future<Output = ()> + Send + 'static>(
        &mut self,
        work: impl FnOnce(RequestContext) -> F,
    ) {
        let mut work = Box::pin(work(self.context.clone()));
        if poll!(work.as_mut()).is_pending() {
            self.requests.spawn(work);
        }
    }

    /// Ends the attachments. Commands that run go on.
    async fn finish(mut self, end: ConnectionEnd) {
        let sessions = match end {
            ConnectionEnd::Read if self.options.has_half_close => {
                self.finish_requests().await;
                self.context.open.close_all()
            }
            ConnectionEnd::Stopped => {
                let sessions = self.context.open.close_all();
                while self.requests.join_next().await.is_some() {}
                sessions
            }
            ConnectionEnd::Read | ConnectionEnd::Closed => {
                self.requests.detach_all();
                self.context.open.close_all()
            }
        };
        match &self.options.held_sessions {
            Some(held) => held.hold(sessions),
            None => drop(sessions),
        }
        drop(self.context);
        let waits = self.options.has_half_close || end != ConnectionEnd::Read;
        if !self.writing.is_finished() && waits {
            // What is queued is written, for example why the client was refused.
            let _ = timeout(FLUSH_TIMEOUT, &mut self.writing).await;
        }
        self.writing.abort();
    }

    /// Answers what runs, although the client sends no more. What takes too long is canceled, so that the program ends.
    async fn finish_requests(&mut self) {
        if timeout(FINISH_TIMEOUT, join_all(&mut self.requests)).await.is_ok() {
            return;
        }
        for session in self.context.open.sessions() {
            self.requests.spawn(stop(session.client));
        }
        // What cannot be canceled ends with the connection.
        let _ = timeout(CANCEL_TIMEOUT, join_all(&mut self.requests)).await;
    }
}

/// Ends what runs in a session. Queued prompts stay for the next process.
async fn stop(client: Arc<dyn Client>) {
    // The session may have ended already.
    let _ = client.send(ClientCommand::Stop).await;
}

async fn join_all(requests: &mut JoinSet<()>) {
    while requests.join_next().await.is_some() {}
}

/// How long the last frames may take.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);
/// How long requests may run after the client has closed its side.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);
/// How long they may take to end after they were canceled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

async fn run_request(context: &RequestContext, request: ClientFrame) {
    let id = request.id();
    let mut permit = None;
    let reply = match AssertUnwindSafe(context.handle(request, &mut permit)).catch_unwind().await {
        Ok(Ok(Some(reply))) => reply,
        Ok(Ok(None)) => return,
        Ok(Err(error)) => ServerFrame::error(id, error),
        Err(_) => ServerFrame::error(id, ClientError::new(ErrorCode::Failed, "internal error in the engine")),
    };
    let _ = context.outbox.send(answer_json(id, &reply)).await;
}

fn check_hello(frame: IncomingFrame) -> Result<(), ClientError> {
    match frame {
        IncomingFrame::Text(text) => match decode_client_frame(&text) {
            Ok(ClientFrame::Hello { version, client }) => {
                tracing::debug!(version, client, "a client connects");
                check_version(version)
            }
            Ok(_) => Err(invalid_frame("the first frame must be a hello")),
            Err((_, error)) => Err(error),
        },
        IncomingFrame::Invalid(reason) | IncomingFrame::Unreadable(reason) => Err(invalid_frame(&reason)),
    }
}

fn too_many_requests() -> ClientError {
    let message = format!("{MAX_REQUESTS} requests of this connection are running; wait for a reply");
    ClientError::new(ErrorCode::TooManyRequests, message)
}
