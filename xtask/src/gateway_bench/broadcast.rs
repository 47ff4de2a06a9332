//! The bare broadcast: an axum server that sends the texts of its first client to all other clients of its WebSocket, and does
//! nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use axum::Router;
use axum::extract::State;
use axum::extract::ws::{Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::get;
use tokio::sync::broadcast;

#[derive(Clone)]
struct Broadcast {
    texts: broadcast::Sender<Utf8Bytes>,
    has_sender: Arc<AtomicBool>,
}

/// Prints the address and serves.
pub(crate) async fn serve() -> Result<()> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("{}", listener.local_addr()?);
    let state = Broadcast { texts: broadcast::Sender::new(1024), has_sender: Arc::default() };
    let app = Router::new().route("/ws", get(connect)).with_state(state);
    Ok(axum::serve(listener, app).await?)
}

async fn connect(State(state): State<Broadcast>, upgrade: WebSocketUpgrade) -> Response {
    let is_sender = !state.has_sender.swap(true, Ordering::Relaxed);
    upgrade.on_upgrade(async move |socket| match is_sender {
        true => read(socket, state.texts).await,
        false => write(socket, state.texts.subscribe()).await,
    })
}

async fn read(mut socket: WebSocket, texts: broadcast::Sender<Utf8Bytes>) {
    while let Some(Ok(message)) = socket.recv().await {
        if let Message::Text(text) = message {
            // There may be no clients.
            let _ = texts.send(text);
        }
    }
}

async fn write(mut socket: WebSocket, mut texts: broadcast::Receiver<Utf8Bytes>) {
    while let Ok(text) = texts.recv().await {
        if socket.send(Message::Text(text)).await.is_err() {
            return;
        }
    }
}
