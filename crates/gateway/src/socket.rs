//! The WebSocket: the wire protocol, for browsers and for terminals elsewhere.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::{SinkExt, StreamExt, future};
use osier_protocol::ErrorCode;
use osier_wire::{IncomingFrame, ServeOptions, Transport, serve};

use crate::access::Access;
use crate::error::ApiError;
use crate::gateway::Gateway;

/// How long sessions stay open after a connection broke, so that the client can connect again.
const HOLD_SESSIONS: Duration = Duration::from_secs(30);

/// Upgrades a request to a WebSocket.
pub(crate) async fn connect(
    State(gateway): State<Arc<Gateway>>,
    Extension(access): Extension<Access>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, ApiError> {
    if access != Access::Full {
        return Err(ApiError::forbidden("the token only allows reading one session over HTTP"));
    }
    let permit = gateway.web_sockets().clone().try_acquire_owned();
    let permit = permit.map_err(|_| ApiError::new(ErrorCode::TooManyRequests, "too many WebSockets"))?;
    let limit = gateway.limits().frame_bytes;
    let upgrade = upgrade.max_message_size(limit).max_frame_size(limit);
    Ok(upgrade.on_upgrade(async move |socket| {
        let _permit = permit;
        serve_socket(gateway, socket).await;
    }))
}

async fn serve_socket(gateway: Arc<Gateway>, socket: WebSocket) {
    let options = ServeOptions {
        heartbeat: Some(gateway.limits().heartbeat),
        hold_sessions: HOLD_SESSIONS,
        has_half_close: false,
    };
    let serving = serve(gateway.client().clone(), transport(socket), options);
    tokio::select! {
        _ = serving => {}
        () = gateway.closing().cancelled() => {}
    }
}

/// Frames as text messages.
fn transport(socket: WebSocket) -> Transport {
    let (sink, stream) = socket.split();
    let frames = stream
        .take_while(|message| future::ready(!matches!(message, Err(_) | Ok(Message::Close(_)))))
        .filter_map(|message| future::ready(message.ok().and_then(incoming_frame)));
    let sink = sink
        .sink_map_err(io::Error::other)
        .with(|text: String| future::ready(Ok::<Message, io::Error>(Message::Text(Utf8Bytes::from(text)))));
    Transport::new(frames, sink)
}

fn incoming_frame(message: Message) -> Option<IncomingFrame> {
    match message {
        Message::Text(text) => Some(IncomingFrame::Text(text.as_str().to_owned())),
        Message::Binary(_) => Some(IncomingFrame::Invalid("it is a binary message".to_owned())),
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) => None,
    }
}
