//! One connection to an engine: requests that wait for their replies, and streams of events.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::{SinkExt, StreamExt};
use osier_protocol::client::AttachedState;
use osier_protocol::{ClientError, ErrorCode, LogPosition, PROTOCOL_VERSION};
use rustc_hash::FxHashMap;
use serde_json::json;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::stream::{StreamReceiver, StreamSender, new_stream};
use super::{Connector, RemoteOptions};
use crate::decode::{decode_server_frame, reply_id};
use crate::frame::{ClientFrame, EventFrame, ServerFrame};
use crate::heartbeat::Heartbeat;
use crate::transport::{FrameReader, FrameWriter, IncomingFrame, MAX_CLIENT_FRAME, Transport};

/// A reply of the engine.
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "a reply is handled at once, never kept")]
pub(super) enum LinkReply {
    Frame(ServerFrame),
    Attached(AttachedState, StreamReceiver),
}

/// See the module documentation.
#[derive(Debug)]
pub(super) struct Link {
    frames: UnboundedSender<String>,
    next_id: AtomicU64,
    waiting: Mutex<WaitingRequests>,
}

#[derive(Debug, Default)]
struct WaitingRequests {
    replies: FxHashMap<u64, WaitingRequest>,
    streams: FxHashMap<u64, StreamSender>,
    is_closed: bool,
}

#[derive(Debug)]
struct WaitingRequest {
    reply: oneshot::Sender<Result<LinkReply, ClientError>>,
    /// Where an attachment starts.
    after: Option<LogPosition>,
}

/// The frames of the engine, and how long it has been silent.
pub(super) struct LinkReader {
    pub(super) frames: FrameReader,
    pub(super) heartbeat: Heartbeat,
}

impl Link {
    /// Connects, and exchanges the versions of the protocol.
    pub(super) async fn connect(
        connector: &dyn Connector,
        options: &RemoteOptions,
    ) -> Result<(Arc<Link>, LinkReader), ClientError> {
        let limit = options.connect_timeout;
        let no_answer = || lost(&format!("no answer within {} seconds", limit.as_secs()));
        timeout(limit, Link::try_connect(connector, options)).await.unwrap_or_else(|_| Err(no_answer()))
    }

    async fn try_connect(
        connector: &dyn Connector,
        options: &RemoteOptions,
    ) -> Result<(Arc<Link>, LinkReader), ClientError> {
        let Transport { mut reader, mut writer, received } = connector.connect().await?;
        let hello = ClientFrame::Hello { version: PROTOCOL_VERSION, client: options.client.clone() };
        writer.send(hello.to_json()).await.map_err(|error| lost(&error.to_string()))?;
        check_hello(reader.next().await)?;
        let (frames, queued) = unbounded_channel();
        tokio::spawn(write_frames(writer, queued));
        let (next_id, waiting) = (AtomicU64::new(1), Mutex::default());
        let heartbeat = Heartbeat::new(options.heartbeat, received);
        Ok((Arc::new(Link { frames, next_id, waiting }), LinkReader { frames: reader, heartbeat }))
    }

    fn lock(&self) -> MutexGuard<'_, WaitingRequests> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    /// Sends a request and waits for its reply.
    pub(super) async fn request(
        self: &Arc<Self>,
        frame: impl FnOnce(u64) -> ClientFrame,
    ) -> Result<LinkReply, ClientError> {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let frame = frame(id);
        let after = match &frame {
            ClientFrame::Attach { after, .. } => *after,
            _ => None,
        };
        let text = frame.to_json();
        if text.len() > MAX_CLIENT_FRAME {
            return Err(too_large(text.len()));
        }
        let (reply, replied) = oneshot::channel();
        {
            let mut waiting = self.lock();
            if waiting.is_closed {
                return Err(super::not_sent("the connection was lost"));
            }
            waiting.replies.insert(id, WaitingRequest { reply, after });
            let _ = self.frames.send(text);
        }
        replied.await.unwrap_or_else(|_| Err(fate_unknown()))
    }

    /// Sends a frame that has no reply. If the connection is lost, it is not needed.
    pub(super) fn notify(&self, frame: &ClientFrame) {
        let _ = self.frames.send(frame.to_json());
    }

    /// Forgets a stream.
    pub(super) fn detach(&self, stream: u64) {
        self.lock().streams.remove(&stream);
    }

    /// Fails everything that waits, because the connection is lost.
    pub(super) fn close(&self) {
        let mut waiting = self.lock();
        waiting.is_closed = true;
        // Without their senders, requests and streams know what happened.
        waiting.replies.clear();
        waiting.streams.clear();
    }

    /// Handles what the engine sent.
    pub(super) fn receive(&self, frame: IncomingFrame) {
        let text = match frame {
            IncomingFrame::Text(text) => text,
            IncomingFrame::Invalid(reason) | IncomingFrame::Unreadable(reason) => {
                tracing::warn!(reason, "the engine sent something that is not a frame");
                return;
            }
        };
        match decode_server_frame(&text) {
            Ok(frame) => self.handle(frame),
            Err(error) => match reply_id(&text) {
                Some(id) => drop(self.answer(id, Err(error))),
                None => tracing::warn!(%error, "the engine sent a frame that is not known here"),
            },
        }
    }

    fn handle(&self, frame: ServerFrame) {
        match frame {
            ServerFrame::Event(frame) => self.pass_on(frame),
            ServerFrame::Ended { stream } => {
                if let Some(stream) = self.lock().streams.remove(&stream) {
                    stream.finish();
                }
            }
            ServerFrame::Attached { id, state } => self.start_stream(id, state),
            ServerFrame::Error { id: Some(id), error } => drop(self.answer(id, Err(error))),
            ServerFrame::Error { id: None, error } => tracing::warn!(%error, "the engine reports an error"),
            ServerFrame::Ping => self.notify(&ClientFrame::Pong),
            ServerFrame::Hello { .. } | ServerFrame::Pong => {}
            ServerFrame::Opened { id, .. } => {
                if !self.answer(id, Ok(LinkReply::Frame(frame))) {
                    self.notify(&ClientFrame::Close { session: id });
                }
            }
            ServerFrame::Called { id, .. }
            | ServerFrame::Sent { id, .. }
            | ServerFrame::Answered { id, .. } => drop(self.answer(id, Ok(LinkReply::Frame(frame)))),
        }
    }

    /// Gives a reply to its request. Returns whether the request still waits for it.
    fn answer(&self, id: u64, reply: Result<LinkReply, ClientError>) -> bool {
        let waiting = self.lock().replies.remove(&id);
        waiting.is_some_and(|waiting| waiting.reply.send(reply).is_ok())
    }

    fn start_stream(&self, id: u64, state: AttachedState) {
        let mut waiting = self.lock();
        let Some(WaitingRequest { reply, after }) = waiting.replies.remove(&id) else { return };
        let (sender, receiver) = new_stream(id, after, &state);
        waiting.streams.insert(id, sender);
        if reply.send(Ok(LinkReply::Attached(state, receiver))).is_err() {
            waiting.streams.remove(&id);
            self.notify(&ClientFrame::Detach { stream: id });
        }
    }

    fn pass_on(&self, frame: EventFrame) {
        let mut waiting = self.lock();
        let Some(stream) = waiting.streams.get_mut(&frame.stream) else { return };
        if !stream.send(frame.event) {
            waiting.streams.remove(&frame.stream);
            self.notify(&ClientFrame::Detach { stream: frame.stream });
        }
    }
}

async fn write_frames(mut writer: FrameWriter, mut queued: UnboundedReceiver<String>) {
    while let Some(frame) = queued.recv().await {
        if writer.feed(frame).await.is_err() {
            return;
        }
        while let Ok(frame) = queued.try_recv() {
            if writer.feed(frame).await.is_err() {
                return;
            }
        }
        if writer.flush().await.is_err() {
            return;
        }
    }
    let _ = writer.close().await;
}

fn check_hello(frame: Option<IncomingFrame>) -> Result<(), ClientError> {
    let Some(IncomingFrame::Text(text)) = frame else {
        return Err(lost("it was closed before the engine said hello"));
    };
    match decode_server_frame(&text)? {
        ServerFrame::Hello { version, .. } => osier_protocol::version::check_version(version),
        ServerFrame::Error { error, .. } => Err(error),
        _ => Err(super::unexpected_reply()),
    }
}

/// A connection that could not be made, or that broke.
pub(super) fn lost(reason: &str) -> ClientError {
    ClientError::new(ErrorCode::ConnectionLost, format!("cannot connect to the engine: {reason}"))
        .with_facts(json!({ "sent": false }))
}

/// A request that every engine would refuse, and end the connection.
fn too_large(bytes: usize) -> ClientError {
    let (size, max) = (bytes.div_ceil(1 << 20), MAX_CLIENT_FRAME >> 20);
    let message =
        format!("cannot send {size} MB in one request: the limit is {max} MB; try smaller images or files");
    ClientError::new(ErrorCode::Usage, message).with_facts(json!({ "sent": false }))
}

/// A request that was sent before the connection broke.
fn fate_unknown() -> ClientError {
    let message = "the connection to the engine was lost before the reply; the request may have run";
    ClientError::new(ErrorCode::ConnectionLost, message).with_facts(json!({ "sent": true }))
}
