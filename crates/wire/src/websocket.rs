//! Frames as text messages of a WebSocket.

use std::fmt;
use std::io;

use async_trait::async_trait;
use futures_util::{SinkExt, StreamExt, future};
use osier_protocol::{ClientError, ErrorCode};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::error::UrlError;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::http::header::AUTHORIZATION;
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode, Uri};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};
use tokio_tungstenite::{WebSocketStream, client_async_tls_with_config};

use crate::remote::Connector;
use crate::transport::{CountedStream, IncomingFrame, MAX_SERVER_FRAME, ReceivedBytes, Transport};

/// Connects to the WebSocket of a gateway.
#[derive(Clone)]
pub struct WebSocketConnector {
    /// `ws://` or `wss://`, with the path of the WebSocket.
    url: String,
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
        WebSocketConnector { url: url.into(), token }
    }

    fn request(&self) -> Result<Request, ClientError> {
        let invalid = |reason: String| ClientError::new(ErrorCode::Usage, reason);
        let mut request = self
            .url
            .as_str()
            .into_client_request()
            .map_err(|error| invalid(format!("cannot connect to {}: {error}", self.url)))?;
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
        let socket = connect_tcp(request.uri()).await.map_err(|error| connect_error(&self.url, error))?;
        let socket = CountedStream::new(socket, received.clone());
        match client_async_tls_with_config(request, socket, Some(limits), None).await {
            Ok((socket, _)) => Ok(Transport::websocket(socket).with_received(received)),
            Err(error) => Err(connect_error(&self.url, error)),
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
        StatusCode::UNAUTHORIZED => {
            ClientError::new(ErrorCode::Unauthorized, format!("{url} does not accept the token"))
        }
        status if status.is_client_error() => ClientError::new(
            ErrorCode::Usage,
            format!("{url} is not a gateway, or refuses connections: {status}"),
        ),
        status => ClientError::new(ErrorCode::ConnectionLost, format!("cannot connect to {url}: {status}")),
    }
}

impl Transport {
    /// Frames as text messages of a WebSocket.
    pub fn websocket<S: AsyncRead + AsyncWrite + Send + Unpin + 'static>(
        socket: WebSocketStream<S>,
    ) -> Transport {
        let (sink, stream) = socket.split();
        let frames = stream
            .take_while(|message| future::ready(!matches!(message, Err(_) | Ok(Message::Close(_)))))
            .filter_map(|message| future::ready(message.ok().and_then(incoming_frame)));
        let sink = sink
            .sink_map_err(io::Error::other)
            .with(|text: String| future::ready(Ok::<Message, io::Error>(Message::Text(text.into()))));
        Transport::new(frames, sink)
    }
}

fn incoming_frame(message: Message) -> Option<IncomingFrame> {
    match message {
        Message::Text(text) => Some(IncomingFrame::Text(text.as_str().to_owned())),
        Message::Binary(_) => Some(IncomingFrame::Invalid("it is a binary message".to_owned())),
        Message::Ping(_) | Message::Pong(_) | Message::Close(_) | Message::Frame(_) => None,
    }
}
