//! Accepts connections: limits their number and their time, speaks TLS if configured, and closes them cleanly.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::{Extension, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use osier_wire::{CountedStream, ReceivedBytes};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tower::Layer;

use crate::first_bytes::FirstBytesGuard;
use crate::gateway::Gateway;
use crate::limits::Limits;
use crate::routes;
use crate::stalled::StallGuard;

/// How long to wait after a connection could not be accepted, for example because too many files are open.
const ACCEPT_RETRY: std::time::Duration = std::time::Duration::from_millis(100);
/// How often the token file is read again, to disconnect clients whose access was revoked.
const TOKEN_CHECK: std::time::Duration = std::time::Duration::from_secs(1);
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
        let finished = async {
            connections.graceful.shutdown().await;
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
    graceful: GracefulShutdown,
}

impl Connections {
    fn new(gateway: &Arc<Gateway>, tls: Option<TlsAcceptor>) -> Connections {
        let limits = gateway.limits().clone();
        Connections {
            router: routes::router(gateway.clone()),
            tls,
            free: Arc::new(Semaphore::new(limits.connections)),
            graceful: GracefulShutdown::new(),
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
        let (tls, router, watcher) = (self.tls.clone(), self.router.clone(), self.graceful.watcher());
        let limits = self.limits.clone();
        tokio::spawn(async move {
            let _permit = permit;
            match tls {
                None => serve(stream, router, &limits, watcher).await,
                Some(tls) => match timeout(limits.headers, tls.accept(stream)).await {
                    Ok(Ok(stream)) => serve(stream, router, &limits, watcher).await,
                    _ => tracing::debug!("a TLS handshake failed"),
                },
            }
        });
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    limits: &Limits,
    watcher: hyper_util::server::graceful::Watcher,
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
    let service = TowerToHyperService::new(Extension(received).layer(router));
    let stream = TokioIo::new(FirstBytesGuard::new(stream, limits.headers));
    let connection = builder.serve_connection_with_upgrades(stream, service).into_owned();
    if let Err(error) = watcher.watch(connection).await {
        tracing::debug!(%error, "a connection ended with an error");
    }
}
