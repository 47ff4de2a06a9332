//! The limits of a gateway, with small numbers and over real sockets.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use osier_engine::{AllowedDirectories, Engine};
use osier_gateway::{Gateway, GatewayConfig, GatewayToken, HostRules, Limits, Server, TokenFile};
use osier_protocol::{ClientError, EngineClient, EngineReply, EngineRequest, OpenRequest, OpenedSession};
use tokio::task::JoinHandle;

/// A test that waits longer fails.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(100);

/// Never answers, or panics.
#[derive(Debug)]
struct StuckEngine;

#[async_trait]
impl EngineClient for StuckEngine {
    async fn call(&self, request: EngineRequest) -> Result<EngineReply, ClientError> {
        match request {
            EngineRequest::Describe => panic!("a bug"),
            _ => std::future::pending().await,
        }
    }

    async fn open(&self, _: OpenRequest) -> Result<Option<OpenedSession>, ClientError> {
        std::future::pending().await
    }
}

struct TestServer {
    address: SocketAddr,
    token: String,
    running: JoinHandle<()>,
    _folder: tempfile::TempDir,
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl TestServer {
    async fn start(limits: Limits) -> TestServer {
        let folder = tempfile::tempdir().unwrap();
        let token = GatewayToken::load_or_create(&folder.path().join("token")).unwrap();
        let server = Server::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = server.address().unwrap();
        let gateway = Gateway::new(GatewayConfig {
            engine: Engine::default(),
            client: Arc::new(StuckEngine),
            token: TokenFile::open(&folder.path().join("token")).unwrap(),
            hosts: HostRules::default(),
            directories: AllowedDirectories::only(&[folder.path().to_owned()]),
            default_store: "file".to_owned(),
            port: address.port(),
            is_secure: false,
            limits,
            web_files: None,
        });
        let running = tokio::spawn(server.run(Arc::new(gateway), std::future::pending()));
        TestServer { address, token: token.reveal().to_owned(), running, _folder: folder }
    }

    fn connect(&self) -> TcpStream {
        let socket = TcpStream::connect(self.address).unwrap();
        socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
        socket
    }

    /// The head of a request with the token.
    fn head(&self, request: &str, headers: &str) -> String {
        format!(
            "{request} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n{headers}\r\n",
            self.token
        )
    }

    /// Everything until the gateway closes the connection.
    async fn exchange(&self, request: String) -> String {
        let mut socket = self.connect();
        let exchange = move || {
            socket.write_all(request.as_bytes()).unwrap();
            read_to_end(&mut socket)
        };
        tokio::task::spawn_blocking(exchange).await.unwrap()
    }
}

fn read_to_end(socket: &mut TcpStream) -> String {
    let mut response = Vec::new();
    match socket.read_to_end(&mut response) {
        Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("the connection does not end"),
        _ => String::from_utf8_lossy(&response).into_owned(),
    }
}

/// Asks for the page on an open connection; false if the gateway closed it.
fn is_served(socket: &mut TcpStream) -> bool {
    let asked = socket.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\n\r\n");
    asked.is_ok() && matches!(socket.read(&mut [0; 15]), Ok(1..))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_connections_than_allowed_are_closed() {
    let server = TestServer::start(Limits { connections: 2, ..Limits::default() }).await;
    let (mut one, mut two) = (server.connect(), server.connect());
    assert!(is_served(&mut one) && is_served(&mut two));
    assert!(!is_served(&mut server.connect()));
    drop(one);
    let deadline = std::time::Instant::now() + TEST_TIMEOUT;
    while !is_served(&mut server.connect()) {
        assert!(std::time::Instant::now() < deadline, "a closed connection makes room");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_web_sockets_than_allowed_are_refused() {
    let server = TestServer::start(Limits { web_sockets: 0, ..Limits::default() }).await;
    let upgrade = "connection: upgrade, close\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
                   sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let response = server.exchange(server.head("GET /ws", upgrade)).await;
    assert!(response.starts_with("HTTP/1.1 429") && response.contains("too_many_requests"), "{response}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn slow_headers_and_bodies_end_the_connection() {
    let server = TestServer::start(Limits { headers: SHORT, pause: SHORT, ..Limits::default() }).await;
    let headers = server.exchange("GET / HTTP/1.1\r\nhost: loc".to_owned()).await;
    assert!(!headers.starts_with("HTTP/1.1 200"), "{headers}");
    let json = "content-type: application/json\r\ncontent-length: 100\r\nconnection: close\r\n";
    let body = server.exchange(server.head("POST /api/sessions", json) + "{").await;
    assert!(body.starts_with("HTTP/1.1 4") && body.contains("invalid_request"), "{body}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_takes_too_long_or_panics_gets_an_error() {
    let server = TestServer::start(Limits { request: SHORT, ..Limits::default() }).await;
    let late = server.exchange(server.head("GET /api/sessions", "connection: close\r\n")).await;
    assert!(late.starts_with("HTTP/1.1 504") && late.contains("\"code\""), "{late}");
    let bug = server.exchange(server.head("GET /api/engine", "connection: close\r\n")).await;
    assert!(bug.starts_with("HTTP/1.1 500") && bug.contains("\"code\":\"failed\""), "{bug}");
    assert!(bug.contains("content-security-policy") && late.contains("content-security-policy"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_has_a_limit() {
    let server = TestServer::start(Limits { body_bytes: 10, ..Limits::default() }).await;
    let json = "content-type: application/json\r\ncontent-length: 20\r\nconnection: close\r\n";
    let response =
        server.exchange(server.head("POST /api/sessions", json) + "{\"title\": \"01234567\"").await;
    assert!(response.starts_with("HTTP/1.1 413"), "{response}");
}
