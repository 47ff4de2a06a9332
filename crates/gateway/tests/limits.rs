//! The limits of a gateway, with small numbers and over real sockets; and what happens to changes when a client leaves or the
//! gateway ends.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use osier_engine::{AllowedDirectories, Engine};
use osier_gateway::{Gateway, GatewayConfig, GatewayToken, HostRules, Limits, Server, TokenFile};
use osier_protocol::{ClientError, EngineClient, EngineReply, EngineRequest, OpenRequest, OpenedSession};
use osier_wire::{RemoteEngine, RemoteOptions, WebSocketConnector};
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

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

/// Changes a setting when it is told to.
#[derive(Debug)]
struct SlowEngine {
    started: Semaphore,
    may_finish: Semaphore,
    finished: Semaphore,
}

impl SlowEngine {
    fn new() -> Arc<SlowEngine> {
        let [started, may_finish, finished] = [0; 3].map(Semaphore::new);
        Arc::new(SlowEngine { started, may_finish, finished })
    }
}

async fn wait(semaphore: &Semaphore) {
    tokio::time::timeout(TEST_TIMEOUT, semaphore.acquire()).await.expect("it happens").unwrap().forget();
}

#[async_trait]
impl EngineClient for SlowEngine {
    async fn call(&self, _: EngineRequest) -> Result<EngineReply, ClientError> {
        self.started.add_permits(1);
        wait(&self.may_finish).await;
        self.finished.add_permits(1);
        Ok(EngineReply::SettingChanged { notice: "changed".to_owned() })
    }

    async fn open(&self, _: OpenRequest) -> Result<Option<OpenedSession>, ClientError> {
        std::future::pending().await
    }
}

struct TestServer {
    address: SocketAddr,
    token: String,
    stop: CancellationToken,
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
        TestServer::start_with(Arc::new(StuckEngine), limits).await
    }

    async fn start_with(client: Arc<dyn EngineClient>, limits: Limits) -> TestServer {
        let folder = tempfile::tempdir().unwrap();
        let token = GatewayToken::load_or_create(&folder.path().join("token")).unwrap();
        let server = Server::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
        let address = server.address().unwrap();
        let gateway = Gateway::new(GatewayConfig {
            engine: Engine::default(),
            client,
            token: TokenFile::open(&folder.path().join("token")).unwrap(),
            hosts: HostRules::default(),
            directories: AllowedDirectories::only(&[folder.path().to_owned()]),
            default_directory: folder.path().to_owned(),
            used_links: folder.path().join("links"),
            default_store: "file".to_owned(),
            port: address.port(),
            is_secure: false,
            limits,
            web_files: None,
        });
        let stop = CancellationToken::new();
        let running = tokio::spawn(server.run(Arc::new(gateway), stop.clone().cancelled_owned()));
        TestServer { address, token: token.reveal().to_owned(), stop, running, _folder: folder }
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

/// The headers of a WebSocket.
const UPGRADE: &str = "upgrade: websocket\r\nsec-websocket-version: 13\r\n\
                       sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn more_web_sockets_than_allowed_are_refused() {
    let server = TestServer::start(Limits { web_sockets: 0, ..Limits::default() }).await;
    let upgrade = format!("connection: upgrade, close\r\n{UPGRADE}");
    let response = server.exchange(server.head("GET /ws", &upgrade)).await;
    assert!(response.starts_with("HTTP/1.1 429") && response.contains("too_many_requests"), "{response}");
}

/// Like a laptop that has changed the network: its connection stays open, and it answers nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_web_socket_whose_client_answers_no_ping_ends() {
    // The client must have said hello before three of them have passed.
    let heartbeat = Duration::from_secs(1);
    let server = TestServer::start(Limits { heartbeat, ..Limits::default() }).await;
    let mut socket = server.connect();
    let head = server.head("GET /ws", &format!("connection: upgrade\r\n{UPGRADE}"));
    let hello = br#"{"type":"hello","version":1}"#;
    // A text message whose mask is zero.
    let message = [&[0x81, 0x80 | hello.len() as u8, 0, 0, 0, 0], &hello[..]].concat();
    let exchange = move || {
        socket.write_all(head.as_bytes()).unwrap();
        socket.write_all(&message).unwrap();
        read_to_end(&mut socket)
    };
    let received = tokio::task::spawn_blocking(exchange).await.unwrap();
    assert!(received.starts_with("HTTP/1.1 101") && received.contains(r#""type":"hello""#), "{received}");
    assert_eq!(received.matches(r#"{"type":"ping"}"#).count(), 2, "{received}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_takes_too_long_or_panics_gets_an_error() {
    let server = TestServer::start(Limits { request: SHORT, ..Limits::default() }).await;
    let late = server.exchange(server.head("GET /api/sessions", "connection: close\r\n")).await;
    assert!(late.starts_with("HTTP/1.1 504") && late.contains("\"code\""), "{late}");
    let server = TestServer::start(Limits::default()).await;
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

/// Starts a change over HTTP and leaves before it is made.
async fn leave_during_change(server: &TestServer, engine: &SlowEngine) {
    let json = "content-type: application/json\r\ncontent-length: 13\r\n";
    let request = server.head("PUT /api/settings/theme", json) + "{\"value\":\"x\"}";
    let mut socket = server.connect();
    socket.write_all(request.as_bytes()).unwrap();
    wait(&engine.started).await;
    drop(socket);
    // There is room for one connection, so this is answered when the other one has ended.
    let deadline = std::time::Instant::now() + TEST_TIMEOUT;
    while !is_served(&mut server.connect()) {
        assert!(std::time::Instant::now() < deadline, "the connection ends");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_is_made_even_if_its_client_leaves() {
    let engine = SlowEngine::new();
    let limits = Limits { connections: 1, ..Limits::default() };
    let server = TestServer::start_with(engine.clone(), limits).await;
    leave_during_change(&server, &engine).await;
    engine.may_finish.add_permits(1);
    wait(&engine.finished).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_ends_makes_the_changes_that_it_has_started() {
    let engine = SlowEngine::new();
    let limits = Limits { connections: 1, closing: TEST_TIMEOUT, ..Limits::default() };
    let mut server = TestServer::start_with(engine.clone(), limits).await;
    leave_during_change(&server, &engine).await;
    server.stop.cancel();
    engine.may_finish.add_permits(1);
    (&mut server.running).await.unwrap();
    assert_eq!(engine.finished.available_permits(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_gateway_that_ends_answers_the_requests_of_its_web_sockets() {
    let engine = SlowEngine::new();
    let limits = Limits { closing: TEST_TIMEOUT, ..Limits::default() };
    let mut server = TestServer::start_with(engine.clone(), limits).await;
    let url = format!("ws://{}/ws", server.address);
    let connector = Arc::new(WebSocketConnector::new(url, Some(server.token.clone())));
    let remote = RemoteEngine::connect(connector, RemoteOptions::default()).await.unwrap();
    let change = EngineRequest::SetSetting { key: "theme".to_owned(), value: "x".to_owned() };
    let changing = tokio::spawn(async move { remote.call(change).await });
    wait(&engine.started).await;
    server.stop.cancel();
    engine.may_finish.add_permits(1);
    let reply = tokio::time::timeout(TEST_TIMEOUT, changing).await.expect("it is answered").unwrap();
    assert!(matches!(reply, Ok(EngineReply::SettingChanged { .. })), "{reply:?}");
    (&mut server.running).await.unwrap();
}
