//! Connections inside the process.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use async_trait::async_trait;
use osier_engine::ContractEngine;
use osier_protocol::{Client, ClientError, EngineClient, ErrorCode, OpenRequest};
use osier_wire::{
    Connector, HeldSessions, MAX_CLIENT_FRAME, MAX_SERVER_FRAME, RemoteEngine, RemoteOptions, ServeOptions,
    Transport, serve,
};
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex, split};
use tokio_util::sync::CancellationToken;

use crate::bad_connection::BadConnection;

/// The bytes that a pipe holds.
const PIPE: usize = 64 << 10;

/// An engine that accepts connections over pipes, and can cut them.
#[derive(Debug)]
pub(crate) struct PipeServer {
    pub(crate) engine: Arc<ContractEngine>,
    state: Mutex<PipeState>,
    held: HeldSessions,
}

#[derive(Debug, Default)]
struct PipeState {
    /// Cuts the current connection.
    cut: CancellationToken,
    /// The bytes after which the next connection is cut, in both directions together.
    budget: Option<usize>,
    connections: usize,
    /// New connections are refused.
    is_down: bool,
}

impl PipeServer {
    pub(crate) async fn start() -> Arc<PipeServer> {
        let engine = Arc::new(ContractEngine::new().await);
        let held = HeldSessions::new(Duration::from_secs(60), 10);
        Arc::new(PipeServer { engine, state: Mutex::default(), held })
    }

    /// Cuts the current connection.
    pub(crate) fn cut(&self) {
        self.state.lock().unwrap().cut.cancel();
    }

    pub(crate) fn set_down(&self, is_down: bool) {
        self.state.lock().unwrap().is_down = is_down;
    }

    pub(crate) fn connections(&self) -> usize {
        self.state.lock().unwrap().connections
    }

    /// The client's end of a new connection that is served.
    pub(crate) fn accept(&self) -> BreakableStream {
        let (near, far) = duplex(PIPE);
        let mut state = self.state.lock().unwrap();
        state.cut = CancellationToken::new();
        state.connections += 1;
        let limit = Arc::new(Mutex::new(state.budget));
        let far = BreakableStream { stream: far, cut: state.cut.clone(), limit: limit.clone() };
        let near = BreakableStream { stream: near, cut: state.cut.clone(), limit };
        let (reader, writer) = split(far);
        let transport = Transport::lines(reader, writer, MAX_CLIENT_FRAME);
        let held_sessions = Some(self.held.clone());
        let options = ServeOptions { held_sessions, ..ServeOptions::default() };
        tokio::spawn(serve(self.engine.clone(), transport, options));
        near
    }

    pub(crate) async fn remote(self: &Arc<Self>) -> RemoteEngine {
        let connector = Arc::new(PipeConnector(self.clone()));
        RemoteEngine::connect(connector, quick_options()).await.unwrap()
    }
}

impl BadConnection for PipeServer {
    fn engine(&self) -> &ContractEngine {
        &self.engine
    }

    fn cut(&self) {
        PipeServer::cut(self);
    }

    fn cut_after(&self, bytes: Option<usize>) {
        self.state.lock().unwrap().budget = bytes;
    }
}

/// Options without delays.
pub(crate) fn quick_options() -> RemoteOptions {
    let delay = Duration::from_millis(1);
    RemoteOptions { heartbeat: None, first_delay: delay, max_delay: delay, ..RemoteOptions::default() }
}

pub(crate) async fn open(engine: &RemoteEngine) -> Arc<dyn Client> {
    engine.open(OpenRequest::default()).await.unwrap().unwrap().client
}

#[derive(Debug)]
struct PipeConnector(Arc<PipeServer>);

#[async_trait]
impl Connector for PipeConnector {
    async fn connect(&self) -> Result<Transport, ClientError> {
        if self.0.state.lock().unwrap().is_down {
            return Err(ClientError::new(ErrorCode::ConnectionLost, "nobody listens"));
        }
        let (reader, writer) = split(self.0.accept());
        Ok(Transport::lines(reader, writer, MAX_SERVER_FRAME))
    }
}

/// A pipe that can be cut at any byte.
#[derive(Debug)]
pub(crate) struct BreakableStream {
    stream: DuplexStream,
    cut: CancellationToken,
    limit: Arc<Mutex<Option<usize>>>,
}

impl BreakableStream {
    fn is_cut(&self) -> bool {
        self.cut.is_cancelled()
    }

    /// How many of these bytes may still pass.
    fn allowed(&self, wanted: usize) -> usize {
        self.limit.lock().unwrap().map_or(wanted, |left| left.min(wanted))
    }

    fn count(&self, bytes: usize) {
        if let Some(left) = self.limit.lock().unwrap().as_mut() {
            *left = left.saturating_sub(bytes);
            if *left == 0 {
                self.cut.cancel();
            }
        }
    }
}

impl AsyncRead for BreakableStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.is_cut() {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        let poll = Pin::new(&mut self.stream).poll_read(cx, buf);
        if poll.is_pending() {
            // The cut must wake the reader.
            let (cut, waker) = (self.cut.clone(), cx.waker().clone());
            tokio::spawn(async move {
                cut.cancelled().await;
                waker.wake();
            });
        }
        poll
    }
}

impl AsyncWrite for BreakableStream {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.is_cut() {
            return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
        }
        let allowed = self.allowed(buf.len());
        let poll = Pin::new(&mut self.stream).poll_write(cx, &buf[..allowed]);
        if let Poll::Ready(Ok(count)) = &poll {
            self.count(*count);
        }
        poll
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}
