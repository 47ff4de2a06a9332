//! Accepts connections: limits their number and their time, speaks TLS if configured, and closes them cleanly.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use osier_wire::{CountedStream, ReceivedBytes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::Layer;

use crate::first_bytes::FirstBytesGuard;
use crate::gateway::Gateway;
use crate::idle::OpenRequests;
use crate::limits::Limits;
use crate::routes;
use crate::stalled::{StallGuard, WrittenBytes};

/// How long to wait after a connection could not be accepted, for example because too many files are open.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);
/// How often the token file is read again, to disconnect clients whose access was revoked.
const TOKEN_CHECK: Duration = Duration::from_secs(1);
/// A client that receives less than this within the time limit of a pause has stopped reading. It is more than answers to pings.
const MIN_PROGRESS: usize = 1024;
/// How many requests one HTTP/2 connection may have at the same time.
const MAX_STREAMS: u32 = 64;

/// A gateway that listens on a port.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    tls: Option<Arc<rustls::ServerConfig>>,
}

impl Server {
    pub async fn bind(address: SocketAddr) -> io::Result<Server> {
        Ok(Server { listener: TcpListener::bind(address).await?, tls: None })
    }

    #[must_use]
    pub fn with_tls(self, tls: Arc<rustls::ServerConfig>) -> Server {
        Server { tls: Some(tls), ..self }
    }

    /// The address, with the port that the system chose if the requested one was 0.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }

    /// Serves until `stop` ends. Then open requests get some time to finish, and WebSockets are closed. Changes that are being
    /// made are finished, unless they take too long.
    pub async fn run(self, gateway: Arc<Gateway>, stop: impl Future<Output = ()>) {
        let connections = Connections::new(&gateway, self.tls.map(TlsAcceptor::from));
        let mut token_check = tokio::time::interval(TOKEN_CHECK);
        tokio::pin!(stop);
        loop {
            tokio::select! {
                () = &mut stop => break,
                _ = token_check.tick() => drop(gateway.token_file().current()),
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) => connections.start(stream),
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        sleep(ACCEPT_RETRY).await;
                    }
                },
            }
        }
        drop(self.listener);
        gateway.closing().cancel();
        gateway.unfinished().close();
        connections.open.close();
        let finished = async {
            connections.open.wait().await;
            gateway.unfinished().wait().await;
        };
        if timeout(gateway.limits().closing, finished).await.is_err() {
            tracing::warn!("some connections did not close in time");
        }
    }
}

/// What all connections share.
struct Connections {
    router: Router,
    tls: Option<TlsAcceptor>,
    limits: Limits,
    free: Arc<Semaphore>,
    open: TaskTracker,
    closing: CancellationToken,
}

impl Connections {
    fn new(gateway: &Arc<Gateway>, tls: Option<TlsAcceptor>) -> Connections {
        let limits = gateway.limits().clone();
        Connections {
            router: routes::router(gateway.clone()),
            tls,
            free: Arc::new(Semaphore::new(limits.connections)),
            open: TaskTracker::new(),
            closing: gateway.closing().clone(),
            limits,
        }
    }

    /// Serves a connection in a task of its own.
    fn start(&self, stream: TcpStream) {
        let Ok(permit) = self.free.clone().try_acquire_owned() else {
            tracing::warn!("too many connections; closed a new one");
            return;
        };
        // Deltas are small, and each should arrive at once.
        let _ = stream.set_nodelay(true);
        let stream = StallGuard::new(stream, self.limits.pause);
        let written = stream.written();
        let (tls, router, closing) = (self.tls.clone(), self.router.clone(), self.closing.clone());
        let limits = self.limits.clone();
        self.open.spawn(async move {
            let _permit = permit;
            match tls {
                None => serve(stream, written, router, &limits, &closing).await,
                Some(tls) => match timeout(limits.headers, tls.accept(stream)).await {
                    Ok(Ok(stream)) => serve(stream, written, router, &limits, &closing).await,
                    _ => tracing::debug!("a TLS handshake failed"),
                },
            }
        });
    }
}

/// Serves a connection until its client closes it, has no requests for a while, or the gateway closes.
async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    written: WrittenBytes,
    router: Router,
    limits: &Limits,
    closing: &CancellationToken,
) {
    let mut builder = Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(limits.headers);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .keep_alive_interval(limits.heartbeat)
        .keep_alive_timeout(limits.heartbeat);
    // A WebSocket on this connection knows from the bytes that its client is alive.
    let received = ReceivedBytes::default();
    let stream = CountedStream::new(stream, received.clone());
    let requests = OpenRequests::default();
    let service = Extension(requests.clone()).layer(Extension(received).layer(router));
    let service = TowerToHyperService::new(service);
    let stream = TokioIo::new(FirstBytesGuard::new(stream, limits.headers));
    let mut connection = std::pin::pin!(builder.serve_connection_with_upgrades(stream, service));
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
        () = requests.wait_until_idle(limits.pause) => {
            connection.as_mut().graceful_shutdown();
            finish_writing(connection, &written, limits.pause).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
    }
}

/// Waits for the end of a connection that was asked to close, while its client receives the rest of a response. `None` if the
/// client ignores the request.
async fn finish_writing<C: Future>(
    mut connection: std::pin::Pin<&mut C>,
    written: &WrittenBytes,
    limit: Duration,
) -> Option<C::Output> {
    loop {
        let before = written.get();
        if let Ok(ended) = timeout(limit, &mut connection).await {
            return Some(ended);
        }
        if written.get() - before < MIN_PROGRESS {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};
    use tokio::time::Instant;

    use super::*;

    /// Serves one connection with this router.
    fn serve_one(router: Router, limits: Limits) -> DuplexStream {
        let (client, server) = tokio::io::duplex(4096);
        let stream = StallGuard::new(server, limits.pause);
        let written = stream.written();
        tokio::spawn(async move { serve(stream, written, router, &limits, &CancellationToken::new()).await });
        client
    }

    fn page(text: String) -> Router {
        let router = Router::new().route("/", get(async || text));
        router.layer(axum::middleware::from_fn(crate::idle::count_request))
    }

    /// Sends this and nothing more. Returns what the server sends until it ends the connection, and how long that took.
    async fn exchange(router: Router, limits: Limits, sent: &[u8]) -> (String, Duration) {
        let (mut client, start) = (serve_one(router, limits), Instant::now());
        client.write_all(sent).await.unwrap();
        let mut received = Vec::new();
        client.read_to_end(&mut received).await.unwrap();
        (String::from_utf8_lossy(&received).into_owned(), start.elapsed())
    }

    #[tokio::test(start_paused = true)]
    async fn slow_headers_and_bodies_end_the_connection() {
        let (headers, took) =
            exchange(page(String::new()), Limits::default(), b"GET / HTTP/1.1\r\nhost: loc").await;
        assert!(!headers.starts_with("HTTP/1.1 200"), "{headers}");
        assert_eq!(took.as_secs(), Limits::default().headers.as_secs());
        let gateway = routes::tests::gateway();
        let token = gateway.token_file().current().token.reveal().to_owned();
        let request = format!(
            "POST /api/sessions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
             content-type: application/json\r\ncontent-length: 100\r\nconnection: close\r\n\r\n{{"
        );
        let (body, took) = exchange(routes::router(gateway), Limits::default(), request.as_bytes()).await;
        assert!(body.starts_with("HTTP/1.1 4") && body.contains("invalid_request"), "{body}");
        assert_eq!(took.as_secs(), Limits::default().pause.as_secs());
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_requests_ends_whatever_version_of_http_it_speaks() {
        // Without other limits, which end such a connection too.
        let hour = Duration::from_secs(3600);
        let limits = Limits { headers: hour, heartbeat: hour, ..Limits::default() };
        let settings = "\0\0\0\u{4}\0\0\0\0\0";
        let http2 = format!("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{settings}");
        let (http2, took) = exchange(page(String::new()), limits.clone(), http2.as_bytes()).await;
        assert!(!http2.is_empty() && took < hour, "the gateway speaks HTTP/2: {took:?}");
        let http1 = b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n";
        let (http1, took) = exchange(page(String::new()), limits, http1).await;
        assert!(http1.starts_with("HTTP/1.1 200") && took < hour, "{took:?}: {http1}");
    }

    /// The response is handed over in one piece, long before its client has received it.
    #[tokio::test(start_paused = true)]
    async fn a_response_in_one_piece_is_sent_although_its_client_is_slow() {
        let start = Instant::now();
        let mut client = serve_one(page("x".repeat(1 << 20)), Limits::default());
        client.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        let mut received = 0;
        loop {
            sleep(Duration::from_secs(5)).await;
            match client.read(&mut [0; 4096]).await.unwrap() {
                0 => break,
                bytes => received += bytes,
            }
        }
        assert!(received > 1 << 20, "{received} bytes arrived");
        assert!(start.elapsed() > Duration::from_secs(1000));
    }
}
