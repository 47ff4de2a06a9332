//! Many malformed requests and frames: the gateway goes on, and keeps neither their connections nor their memory.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use osier_testkit::DamagedTexts;
use tokio_tungstenite::connect_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::run_support::MemoryGrowth;
use crate::server::TestGateway;
use crate::socket_support::{TEST_TIMEOUT, socket_url};

const REQUESTS: usize = 10_000;
const FRAMES: usize = 10_000;
/// How many between two measurements of the memory.
const BATCH: usize = 2500;

/// Sends bytes on a connection of their own, and waits until the gateway has closed it.
fn send(port: u16, bytes: &[u8]) {
    let mut socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(TEST_TIMEOUT)).unwrap();
    // The gateway may close the connection before it has read everything.
    let _ = socket.write_all(bytes);
    let _ = socket.shutdown(Shutdown::Write);
    let mut response = Vec::new();
    if let Err(error) = socket.read_to_end(&mut response) {
        assert_ne!(error.kind(), std::io::ErrorKind::WouldBlock, "the connection ends");
    }
}

#[test]
fn malformed_requests_leave_nothing_behind() {
    let gateway = TestGateway::start();
    let (port, token, mut texts) = (gateway.port(), &gateway.token, DamagedTexts::new(0x05EE_D001));
    let authorized = format!("host: localhost\r\nauthorization: Bearer {token}\r\n");
    let json = "content-type: application/json\r\ncontent-length: 17\r\n\r\n{\"text\": \"hello\"}";
    let requests = [
        "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".to_owned(),
        format!("GET /api/sessions?limit=3 HTTP/1.1\r\n{authorized}\r\n"),
        format!("GET /api/sessions/x/snapshot?since=1 HTTP/1.1\r\n{authorized}\r\n"),
        format!("POST /api/sessions/x/prompt HTTP/1.1\r\n{authorized}{json}"),
        format!(
            "PATCH /api/sessions/x HTTP/1.1\r\n{authorized}transfer-encoding: chunked\r\n\r\n5\r\n{{\"a\":\r\n0\r\n\r\n"
        ),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\x12\x04\0\0\0\0\0".to_owned(),
    ];
    let mut send_some = |count: usize| {
        for _ in 0..count {
            let request = texts.damage_one_of(&requests);
            send(port, &request);
        }
    };
    send_some(BATCH);
    let files = gateway.resources().1;
    send_some(REQUESTS - 2 * BATCH);
    let mut growth = MemoryGrowth::default();
    while !growth.is_flat_at(gateway.resources().0) {
        send_some(BATCH);
    }
    check_files(&gateway, files);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn malformed_frames_leave_nothing_behind() {
    let gateway = TestGateway::start();
    send_frames(&gateway, BATCH).await;
    let files = gateway.resources().1;
    send_frames(&gateway, FRAMES - 2 * BATCH).await;
    let mut growth = MemoryGrowth::default();
    while !growth.is_flat_at(gateway.resources().0) {
        send_frames(&gateway, BATCH).await;
    }
    check_files(&gateway, files);
    gateway.get("/api/sessions").await;
}

/// Sends frames over a few connections, and reads all replies.
async fn send_frames(gateway: &TestGateway, count: usize) {
    let frames = [
        r#"{"type":"hello","version":1}"#,
        r#"{"type":"open","id":1,"open":{"target":{"type":"named","name":"none"}}}"#,
        r#"{"type":"call","id":2,"request":{"type":"find_session","name":"none"}}"#,
        r#"{"type":"send","id":3,"session":1,"command":{"type":"prompt","text":"hi"}}"#,
        r#"{"type":"query","id":4,"session":1,"query":{"type":"path","limit":5}}"#,
        r#"{"type":"attach","id":5,"session":1,"after":{"generation":"0f","entries":3}}"#,
        r#"{"type":"detach","stream":5}"#,
    ];
    let mut texts = DamagedTexts::new(0x05EE_D002 + count as u64);
    for _ in 0..10 {
        let mut request = socket_url(gateway).into_client_request().unwrap();
        let bearer = format!("Bearer {}", gateway.token).parse().unwrap();
        request.headers_mut().insert("authorization", bearer);
        let (socket, _) = connect_async(request).await.unwrap();
        let (mut sink, mut replies) = socket.split();
        let reading = tokio::spawn(async move { while let Some(Ok(_)) = replies.next().await {} });
        let hello = format!(r#"{{"type":"hello","version":{}}}"#, osier_protocol::PROTOCOL_VERSION);
        sink.send(Message::text(hello)).await.unwrap();
        for _ in 0..count / 10 {
            let frame = texts.damage_one_of(&frames);
            let frame = match String::from_utf8(frame) {
                Ok(text) => Message::text(text),
                Err(error) => Message::binary(error.into_bytes()),
            };
            sink.send(frame).await.expect("a malformed frame does not end the connection");
        }
        sink.close().await.unwrap();
        tokio::time::timeout(TEST_TIMEOUT, reading).await.expect("the connection ends").unwrap();
    }
}

/// Waits until no more files are open than before.
fn check_files(gateway: &TestGateway, files: usize) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while gateway.resources().1 > files {
        assert!(Instant::now() < deadline, "{} files are open, {files} before", gateway.resources().1);
        std::thread::yield_now();
    }
}
