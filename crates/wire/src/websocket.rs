//! Frames as text messages of a WebSocket. A message that cannot be read ends the connection with a close code.

use std::error::Error;
use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use futures_util::{Sink, Stream, StreamExt, future};
use osier_protocol::{ClientError, ErrorCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::UrlError;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode, Uri};
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};
use tokio_tungstenite::{WebSocketStream, client_async_tls_with_config};

use crate::remote::Connector;
use crate::socket_sink::SocketSink;
use crate::transport::{CountedStream, IncomingFrame, MAX_SERVER_FRAME, ReceivedBytes, Transport};

/// Connects to the WebSocket of a gateway.
#[derive(Clone)]
pub struct WebSocketConnector {
    /// `ws://` or `wss://`, with the path of the WebSocket.
    url: String,
    /// The address as the user gave it, for messages.
    address: String,
    /// Sent in the header of the request, never in the URL.
    token: Option<String>,
}

impl fmt::Debug for WebSocketConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebSocketConnector").field("url", &self.url).finish_non_exhaustive()
    }
}

impl WebSocketConnector {
    pub fn new(url: impl Into<String>, token: Option<String>) -> WebSocketConnector {
        let url = url.into();
        WebSocketConnector { address: url.clone(), url, token }
    }

    #[must_use]
    pub fn with_token(self, token: Option<String>) -> WebSocketConnector {
        WebSocketConnector { token, ..self }
    }

    #[must_use]
    pub fn shown_as(self, address: &str) -> WebSocketConnector {
        WebSocketConnector { address: address.to_owned(), ..self }
    }

    pub fn address(&self) -> &str {
        &self.address
    }

    /// Whether something listens there. Nothing is sent.
    pub async fn check_reachable(&self) -> Result<(), ClientError> {
        let reached = connect_tcp(self.request()?.uri()).await;
        reached.map(drop).map_err(|error| connect_error(&self.address, error))
    }

    fn request(&self) -> Result<Request, ClientError> {
        let invalid = |reason: String| ClientError::new(ErrorCode::Usage, reason);
        let mut request = self
            .url
            .as_str()
            .into_client_request()
            .map_err(|error| invalid(format!("cannot connect to {}: {error}", self.address)))?;
        if let Some(token) = &self.token {
            let mut header = HeaderValue::try_from(format!("Bearer {token}"))
                .map_err(|_| invalid("the token has characters that are not allowed".to_owned()))?;
            header.set_sensitive(true);
            request.headers_mut().insert(AUTHORIZATION, header);
        }
        Ok(request)
    }
}

#[async_trait]
impl Connector for WebSocketConnector {
    async fn connect(&self) -> Result<Transport, ClientError> {
        let limits = WebSocketConfig::default()
            .max_message_size(Some(MAX_SERVER_FRAME))
            .max_frame_size(Some(MAX_SERVER_FRAME));
        let (request, received) = (self.request()?, ReceivedBytes::default());
        let socket = connect_tcp(request.uri()).await.map_err(|error| connect_error(&self.address, error))?;
        let socket = CountedStream::new(socket, received.clone());
        match client_async_tls_with_config(request, socket, Some(limits), None).await {
            Ok((socket, _)) => Ok(Transport::websocket(socket).with_received(received)),
            Err(error) => Err(connect_error(&self.address, error)),
        }
    }
}

async fn connect_tcp(url: &Uri) -> Result<TcpStream, SocketError> {
    let host = url.host().ok_or(SocketError::Url(UrlError::NoHostName))?;
    let port = match (url.port_u16(), url.scheme_str()) {
        (Some(port), _) => port,
        (None, Some("wss")) => 443,
        (None, _) => 80,
    };
    // Only URLs have brackets around IPv6 addresses.
    let socket = TcpStream::connect((host.trim_matches(['[', ']']), port)).await?;
    socket.set_nodelay(true)?;
    Ok(socket)
}

/// A gateway that refuses is not asked again; anything else may be temporary.
fn connect_error(url: &str, error: SocketError) -> ClientError {
    let SocketError::Http(response) = &error else {
        return ClientError::new(ErrorCode::ConnectionLost, format!("cannot connect to {url}: {error}"));
    };
    match response.status() {
        StatusCode::UNAUTHORIZED => ClientError::new(
            ErrorCode::Unauthorized,
            format!(
                "{url} does not accept the token; `osier token path` on its machine prints where the right one is"
            ),
        ),
        // It has too many connections now.
        status @ (StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT) => {
            ClientError::new(ErrorCode::ConnectionLost, format!("cannot connect to {url}: {status}"))
        }
        status if status.is_client_error() => ClientError::new(
            ErrorCode::Usage,
            format!(
                "{url} is not a gateway, or does not answer to this host name ({status}); check the URL, or start the gateway with --allow-host"
            ),
        ),
        status => ClientError::new(ErrorCode::ConnectionLost, format!("cannot connect to {url}: {status}")),
    }
}

/// A message of a WebSocket, whatever library reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketMessage {
    Text(String),
    Binary,
    /// A ping or a pong.
    Control,
    Close,
}

/// A message to a WebSocket.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutgoingMessage {
    Text(String),
    /// The end of the connection, with the reason.
    Close(CloseReason),
}

/// Why this side ends a WebSocket. The codes are those of RFC 6455.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloseReason {
    pub code: u16,
    pub text: &'static str,
}

const NOT_TEXT: CloseReason = CloseReason { code: 1007, text: "a text message is not valid UTF-8" };
const TOO_LARGE: CloseReason = CloseReason { code: 1009, text: "a message is too large" };

impl Transport {
    /// Frames as text messages of a WebSocket.
    pub fn websocket<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
        socket: WebSocketStream<S>,
    ) -> Transport {
        Transport::from_socket(socket, socket_message, outgoing_message)
    }

    /// Frames as text messages of a WebSocket of any library. It ends at a close message or an error.
    pub fn from_socket<M: Send + 'static, E: Into<Box<dyn Error + Send + Sync>> + 'static>(
        socket: impl Stream<Item = Result<M, E>> + Sink<M, Error = E> + Send + 'static,
        read: fn(M) -> SocketMessage,
        write: fn(OutgoingMessage) -> M,
    ) -> Transport {
        let (sink, stream) = socket.split();
        let closing = Arc::new(OnceLock::new());
        let sink = SocketSink::new(sink, write, closing.clone());
        let frames = stream.map(move |message| match message.map(read) {
            Ok(message) => incoming_frame(message),
            Err(error) => broken_socket(&*error.into(), &closing),
        });
        let frames = frames
            .take_while(|frame| future::ready(!matches!(frame, SocketFrame::End)))
            .filter_map(|frame| future::ready(frame.into_frame()));
        Transport::new(frames, sink)
    }
}

/// What a message means for the frames.
enum SocketFrame {
    Frame(IncomingFrame),
    Ignored,
    End,
}

impl SocketFrame {
    fn into_frame(self) -> Option<IncomingFrame> {
        match self {
            SocketFrame::Frame(frame) => Some(frame),
            SocketFrame::Ignored | SocketFrame::End => None,
        }
    }
}

fn incoming_frame(message: SocketMessage) -> SocketFrame {
    match message {
        SocketMessage::Text(text) => SocketFrame::Frame(IncomingFrame::Text(text)),
        SocketMessage::Binary => {
            SocketFrame::Frame(IncomingFrame::Invalid("it is a binary message".to_owned()))
        }
        SocketMessage::Control => SocketFrame::Ignored,
        SocketMessage::Close => SocketFrame::End,
    }
}

/// An error ends the connection. If the other side sent what cannot be read, it gets the reason.
fn broken_socket(error: &(dyn Error + 'static), closing: &OnceLock<CloseReason>) -> SocketFrame {
    let Some(reason) = close_reason(error) else { return SocketFrame::End };
    let text = reason.text.to_owned();
    // Only the first error is the reason.
    match closing.set(reason) {
        Ok(()) => SocketFrame::Frame(IncomingFrame::Unreadable(text)),
        Err(_) => SocketFrame::End,
    }
}

fn close_reason(error: &(dyn Error + 'static)) -> Option<CloseReason> {
    match error.downcast_ref::<SocketError>() {
        Some(SocketError::Capacity(_)) => Some(TOO_LARGE),
        Some(SocketError::Utf8(_)) => Some(NOT_TEXT),
        Some(_) => None,
        // The library wraps it.
        None => close_reason(error.source()?),
    }
}

fn socket_message(message: Message) -> SocketMessage {
    match message {
        Message::Text(text) => SocketMessage::Text(text.as_str().to_owned()),
        Message::Binary(_) => SocketMessage::Binary,
        Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => SocketMessage::Control,
        Message::Close(_) => SocketMessage::Close,
    }
}

fn outgoing_message(message: OutgoingMessage) -> Message {
    match message {
        OutgoingMessage::Text(text) => Message::Text(text.into()),
        OutgoingMessage::Close(CloseReason { code, text }) => {
            Message::Close(Some(CloseFrame { code: code.into(), reason: text.into() }))
        }
    }
}
