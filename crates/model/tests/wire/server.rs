//! A test server that plays scripted responses with full control over chunks, pauses and disconnects. Each connection
//! serves one request, and the requests are recorded.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// A scripted response.
#[derive(Debug, Clone, Default)]
pub(crate) struct ScriptedResponse {
    status: u16,
    headers: Vec<(String, String)>,
    actions: Vec<ResponseAction>,
}

#[derive(Debug, Clone)]
enum ResponseAction {
    /// Sends one chunk of the body.
    Send(Vec<u8>),
    /// Waits for a notification from the test.
    Wait(Arc<Notify>),
    /// Closes the connection without ending the body.
    Cut,
    /// Sends nothing until the client closes the connection.
    Hang,
}

impl ScriptedResponse {
    /// A stream of events, sent in one chunk.
    pub(crate) fn events(body: &str) -> ScriptedResponse {
        ScriptedResponse::stream().send(body)
    }

    /// An empty stream of events.
    pub(crate) fn stream() -> ScriptedResponse {
        ScriptedResponse { status: 200, ..ScriptedResponse::default() }
            .header("content-type", "text/event-stream")
    }

    pub(crate) fn error(status: u16, body: &str) -> ScriptedResponse {
        ScriptedResponse { status, ..ScriptedResponse::default() }
            .header("content-type", "application/json")
            .send(body)
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> ScriptedResponse {
        self.headers.retain(|(known, _)| known != name);
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn send(mut self, bytes: impl AsRef<[u8]>) -> ScriptedResponse {
        self.actions.push(ResponseAction::Send(bytes.as_ref().to_vec()));
        self
    }

    /// Sends the same bytes in chunks of this size.
    pub(crate) fn in_chunks_of(mut self, size: usize) -> ScriptedResponse {
        let split = |action: ResponseAction| match action {
            ResponseAction::Send(bytes) => {
                bytes.chunks(size).map(|chunk| ResponseAction::Send(chunk.to_vec())).collect()
            }
            other => vec![other],
        };
        self.actions = self.actions.into_iter().flat_map(split).collect();
        self
    }

    /// Waits here until the test calls `notify_one`.
    pub(crate) fn wait(mut self, resume: &Arc<Notify>) -> ScriptedResponse {
        self.actions.push(ResponseAction::Wait(resume.clone()));
        self
    }

    pub(crate) fn cut(mut self) -> ScriptedResponse {
        self.actions.push(ResponseAction::Cut);
        self
    }

    pub(crate) fn hang(mut self) -> ScriptedResponse {
        self.actions.push(ResponseAction::Hang);
        self
    }
}

/// A request that the server received.
#[derive(Debug, Clone)]
pub(crate) struct ReceivedRequest {
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Value,
}

impl ReceivedRequest {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

/// A server that plays scripted responses.
#[derive(Debug)]
pub(crate) struct ScriptedServer {
    pub(crate) url: String,
    received: Arc<Mutex<Vec<ReceivedRequest>>>,
    requested: Arc<Notify>,
    hung_up: Arc<Notify>,
}

impl ScriptedServer {
    /// Plays one response per connection, in order. Repeats the last one.
    pub(crate) async fn playing(replies: impl IntoIterator<Item = ScriptedResponse>) -> ScriptedServer {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let received = Arc::new(Mutex::new(Vec::new()));
        let (requested, hung_up) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let replies: Vec<ScriptedResponse> = replies.into_iter().collect();
        let (log, request_arrived, client_left) = (received.clone(), requested.clone(), hung_up.clone());
        tokio::spawn(async move {
            for number in 0.. {
                let Ok((socket, _)) = listener.accept().await else { return };
                socket.set_nodelay(true).unwrap();
                let reply = replies[number.min(replies.len() - 1)].clone();
                let (log, request_arrived, client_left) =
                    (log.clone(), request_arrived.clone(), client_left.clone());
                tokio::spawn(async move {
                    // Some tests close the connection early.
                    let _ = serve(socket, reply, &log, &request_arrived, &client_left).await;
                });
            }
        });
        ScriptedServer { url, received, requested, hung_up }
    }

    pub(crate) fn received(&self) -> Vec<ReceivedRequest> {
        self.received.lock().unwrap().clone()
    }

    /// Waits until a request has arrived.
    pub(crate) async fn request_received(&self) {
        self.requested.notified().await;
    }

    /// Waits until the client closes the connection of a hanging response.
    pub(crate) async fn client_disconnected(&self) {
        tokio::time::timeout(Duration::from_secs(60), self.hung_up.notified())
            .await
            .expect("the client closes the connection");
    }
}

async fn serve(
    mut socket: TcpStream,
    reply: ScriptedResponse,
    log: &Mutex<Vec<ReceivedRequest>>,
    request_arrived: &Notify,
    client_left: &Notify,
) -> std::io::Result<()> {
    let received = read_request(&mut socket).await?;
    log.lock().unwrap().push(received);
    request_arrived.notify_one();
    let mut head =
        format!("HTTP/1.1 {} Played\r\ntransfer-encoding: chunked\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head += &format!("{name}: {value}\r\n");
    }
    socket.write_all(format!("{head}\r\n").as_bytes()).await?;
    for action in reply.actions {
        match action {
            ResponseAction::Send(bytes) if bytes.is_empty() => {}
            ResponseAction::Send(bytes) => {
                let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
                chunk.extend_from_slice(&bytes);
                chunk.extend_from_slice(b"\r\n");
                socket.write_all(&chunk).await?;
                socket.flush().await?;
            }
            ResponseAction::Wait(resume) => resume.notified().await,
            ResponseAction::Cut => return socket.shutdown().await,
            ResponseAction::Hang => {
                let mut byte = [0];
                let _ = socket.read(&mut byte).await;
                client_left.notify_one();
                return Ok(());
            }
        }
    }
    socket.write_all(b"0\r\n\r\n").await?;
    socket.shutdown().await
}

async fn read_request(socket: &mut TcpStream) -> std::io::Result<ReceivedRequest> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 << 10];
    let head_end = loop {
        let read = socket.read(&mut buffer).await?;
        bytes.extend_from_slice(&buffer[..read]);
        if let Some(at) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break at + 4;
        }
        if read == 0 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let mut lines = head.lines();
    let path = lines.next().unwrap_or_default().split(' ').nth(1).unwrap_or_default().to_owned();
    let header =
        |line: &str| line.split_once(": ").map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    let headers: Vec<(String, String)> = lines.filter_map(header).collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, value)| value.parse().unwrap());
    while bytes.len() < head_end + length {
        let read = socket.read(&mut buffer).await?;
        bytes.extend_from_slice(&buffer[..read]);
    }
    let body = serde_json::from_slice(&bytes[head_end..]).unwrap_or(Value::Null);
    Ok(ReceivedRequest { path, headers, body })
}
