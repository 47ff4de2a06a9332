//! One connection of a client: reads its frames, and starts what they request.

use std::io;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{FutureExt, StreamExt, poll};
use osier_protocol::version::check_version;
use osier_protocol::{ClientError, EngineClient, ErrorCode, PROTOCOL_VERSION};
use tokio::task::{JoinHandle, JoinSet};

use super::ServeOptions;
use super::requests::RequestContext;
use super::sessions::ServedSession;
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
            IncomingFrame::Invalid(reason) => Err((None, invalid_frame(&reason))),
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
                while self.requests.join_next().await.is_some() {}
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
        hold(sessions, self.options.hold_sessions);
        drop(self.context);
        let waits = self.options.has_half_close || end != ConnectionEnd::Read;
        if !self.writing.is_finished() && waits {
            // What is queued is written, for example why the client was refused.
            let _ = tokio::time::timeout(FLUSH_TIMEOUT, &mut self.writing).await;
        }
        self.writing.abort();
    }
}

/// How long the last frames may take.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

async fn run_request(context: &RequestContext, request: ClientFrame) {
    let id = request.id();
    let mut permit = context.permit_answer(&request).await;
    let reply = match AssertUnwindSafe(context.handle(request, &mut permit)).catch_unwind().await {
        Ok(Ok(Some(reply))) => reply,
        Ok(Ok(None)) => return,
        Ok(Err(error)) => ServerFrame::error(id, error),
        Err(_) => ServerFrame::error(id, ClientError::new(ErrorCode::Failed, "internal error in the engine")),
    };
    let _ = context.outbox.send(reply.to_json()).await;
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
        IncomingFrame::Invalid(reason) => Err(invalid_frame(&reason)),
    }
}

fn too_many_requests() -> ClientError {
    let message = format!("{MAX_REQUESTS} requests of this connection are running; wait for a reply");
    ClientError::new(ErrorCode::TooManyRequests, message)
}

/// Keeps sessions open for a while, so that the client can connect again.
fn hold(sessions: Vec<ServedSession>, duration: Duration) {
    if !sessions.is_empty() && !duration.is_zero() {
        tokio::spawn(async move {
            tokio::time::sleep(duration).await;
            drop(sessions);
        });
    }
}
