//! WebSockets: each carries the frames of the client protocol, for any number of sessions.

use std::sync::Arc;
use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade};
use axum::http::StatusCode;
use axum::response::Response;
use osier_protocol::ErrorCode;
use osier_wire::{CloseReason, OutgoingMessage, ReceivedBytes, ServeOptions, SocketMessage, Transport};

use crate::access::{RequestAccess, now};
use crate::error::ApiError;
use crate::gateway::Gateway;

/// Speaks the client protocol over a WebSocket.
#[utoipa::path(get, path = "/ws", tag = "engine", operation_id = "connect",
    responses((status = 101, description = "The connection speaks the client protocol, as docs/protocol.md describes it")))]
pub(crate) async fn connect(
    State(gateway): State<Arc<Gateway>>,
    Extension(RequestAccess { access, expires, revoked }): Extension<RequestAccess>,
    Extension(received): Extension<ReceivedBytes>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, ApiError> {
    let upgrade = upgrade.map_err(|rejection| {
        let message = format!("connect to /ws with a WebSocket client: {}", rejection.body_text());
        ApiError::with_status(StatusCode::UPGRADE_REQUIRED, message)
    })?;
    let permit = gateway.web_sockets().clone().try_acquire_owned();
    let permit = permit
        .map_err(|_| ApiError::new(ErrorCode::TooManyRequests, "too many WebSockets; try again later"))?;
    let limits = gateway.limits();
    let engine = gateway.engine_for(&access);
    let stop = gateway.closing().child_token();
    let options = ServeOptions {
        heartbeat: Some(limits.heartbeat),
        held_sessions: Some(gateway.held_sessions().clone()),
        has_half_close: false,
        stop: stop.clone(),
    };
    let unfinished = gateway.unfinished().clone();
    let upgrade = upgrade.max_message_size(limits.frame_bytes).max_frame_size(limits.frame_bytes);
    Ok(upgrade.on_upgrade(async move |socket| {
        let _permit = permit;
        let transport = transport(socket).with_received(received);
        let serving = async move {
            let mut serving = std::pin::pin!(osier_wire::serve(engine, transport, options));
            tokio::select! {
                () = &mut serving => return,
                () = revoked.cancelled() => {}
                () = until(expires) => {}
            }
            stop.cancel();
            serving.await;
        };
        unfinished.track_future(serving).await;
    }))
}

/// Waits until the access of a client expires.
async fn until(expires: Option<u64>) {
    match expires {
        Some(expires) => tokio::time::sleep(Duration::from_millis(expires.saturating_sub(now()))).await,
        None => std::future::pending().await,
    }
}

fn transport(socket: WebSocket) -> Transport {
    Transport::from_socket(socket, socket_message, outgoing_message)
}

fn outgoing_message(message: OutgoingMessage) -> Message {
    match message {
        OutgoingMessage::Text(text) => Message::Text(text.into()),
        OutgoingMessage::Close(CloseReason { code, text }) => {
            Message::Close(Some(CloseFrame { code, reason: text.into() }))
        }
    }
}

fn socket_message(message: Message) -> SocketMessage {
    match message {
        Message::Text(text) => SocketMessage::Text(text.as_str().to_owned()),
        Message::Binary(_) => SocketMessage::Binary,
        Message::Ping(_) | Message::Pong(_) => SocketMessage::Control,
        Message::Close(_) => SocketMessage::Close,
    }
}
