//! A client of the protocol over a WebSocket. It knows frames only as JSON.

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::process::ServerProcess;

pub(crate) struct FrameClient {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    /// The bytes of all frames that have arrived.
    pub(crate) received: usize,
    last_id: u64,
}

impl FrameClient {
    /// Connects without a greeting.
    pub(crate) async fn connect_bare(server: &ServerProcess) -> Result<FrameClient> {
        let mut request = format!("ws://{}/ws", server.address).into_client_request()?;
        if !server.token.is_empty() {
            request.headers_mut().insert("authorization", format!("Bearer {}", server.token).parse()?);
        }
        let (socket, _) = connect_async(request).await?;
        Ok(FrameClient { socket, received: 0, last_id: 0 })
    }

    pub(crate) async fn connect(server: &ServerProcess) -> Result<FrameClient> {
        let mut client = FrameClient::connect_bare(server).await?;
        client.send(&json!({ "type": "hello", "version": 1 })).await?;
        client.next().await?;
        Ok(client)
    }

    async fn send(&mut self, frame: &Value) -> Result<()> {
        self.send_text(&frame.to_string()).await
    }

    pub(crate) async fn send_text(&mut self, text: &str) -> Result<()> {
        Ok(self.socket.send(Message::text(text)).await?)
    }

    /// The text of the next frame.
    pub(crate) async fn next_text(&mut self) -> Result<String> {
        loop {
            if let Message::Text(text) = self.socket.next().await.context("the connection was closed")?? {
                self.received += text.len();
                return Ok(text.as_str().to_owned());
            }
        }
    }

    async fn next(&mut self) -> Result<Value> {
        Ok(serde_json::from_str(&self.next_text().await?)?)
    }

    /// Sends a request, and returns its id and its reply.
    pub(crate) async fn request(&mut self, mut frame: Value) -> Result<(u64, Value)> {
        self.last_id += 1;
        let id = self.last_id;
        frame["id"] = json!(id);
        self.send(&frame).await?;
        loop {
            let reply = self.next().await?;
            match reply["id"].as_u64() {
                Some(answered) if answered == id && reply["type"] == "error" => bail!("{reply}"),
                Some(answered) if answered == id => return Ok((id, reply)),
                _ => {}
            }
        }
    }

    /// Opens a session. Returns the id of the request and the reference of the session.
    pub(crate) async fn open(&mut self, target: Value) -> Result<(u64, Value)> {
        let (id, reply) = self.request(json!({ "type": "open", "open": target })).await?;
        Ok((id, reply["session"]["session"].clone()))
    }

    pub(crate) async fn attach(&mut self, session: u64) -> Result<()> {
        self.request(json!({ "type": "attach", "session": session })).await.map(drop)
    }
}
