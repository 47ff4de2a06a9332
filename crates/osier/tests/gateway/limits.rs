//! Limits: sizes, junk, slow clients, many clients.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;

use crate::server::{TestGateway, failed, ok};

#[tokio::test]
async fn a_body_that_is_too_large_is_refused() {
    let gateway = TestGateway::start();
    let session = gateway.create().await;
    let prompt = || {
        gateway.request(Method::POST, &format!("{session}/prompt")).header("content-type", "application/json")
    };
    let large = prompt().body(vec![b' '; (32 << 20) + 1]);
    assert_eq!(large.send().await.map_or(413, |response| response.status().as_u16()), 413);
    for junk in ["{", "[]", "null", "\"x\"", "{\"text\": 7}", "\u{0}", "{\"text\":\"a\"} x"] {
        let refused = failed(prompt().body(junk).send().await.unwrap()).await;
        assert_eq!(refused, (400, "invalid_request".to_owned()), "{junk}");
    }
    let deep = format!("{{\"text\":{}", "[".repeat(100_000));
    assert_eq!(failed(prompt().body(deep).send().await.unwrap()).await.0, 400);
    ok(gateway.request(Method::GET, &session).send().await.unwrap()).await;
}

#[tokio::test]
async fn junk_requests_do_no_harm() {
    let gateway = TestGateway::start();
    let long = "a".repeat(1 << 20);
    for junk in [
        "\r\n\r\n",
        "GET\r\n\r\n",
        "GET / HTTP/9.9\r\n\r\n",
        "\u{0}\u{1}\u{2}\r\n\r\n",
        &format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n"),
        &format!("GET / HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n"),
        &format!("GET / HTTP/1.1\r\nhost: localhost\r\n{}\r\n", "x: y\r\n".repeat(10_000)),
        "POST /api/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        "POST /api/sessions HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        "GET /api/sessions/%ff%fe/snapshot HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
        "GET /assets/..%2f..%2fCargo.toml HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n",
    ] {
        let response = gateway.raw(junk);
        assert!(
            !response.starts_with("HTTP/1.1 200") && !response.contains("[package]"),
            "{junk:.40}: {response}"
        );
    }
    gateway.get("/api/sessions").await;
}

#[tokio::test]
async fn a_client_that_sends_nothing_is_disconnected() {
    let gateway = TestGateway::start();
    // All at once, because each takes ten seconds.
    let waiting = ["", "P", "PRI * HTTP/2.0\r\n", "GET / HTTP/1.1\r\nhost: local"].map(|sent| {
        let mut silent = TcpStream::connect(("127.0.0.1", gateway.port())).unwrap();
        silent.write_all(sent.as_bytes()).unwrap();
        silent.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        (sent, silent)
    });
    for (sent, mut silent) in waiting {
        let mut rest = Vec::new();
        // An error means that the time-out of the test has passed.
        silent.read_to_end(&mut rest).unwrap_or_else(|error| panic!("{sent:?}: {error}"));
        assert!(!rest.starts_with(b"HTTP/1.1 200"), "{sent:?}");
    }
}

#[tokio::test]
async fn unknown_routes_and_methods_are_refused() {
    let gateway = TestGateway::start();
    let not_found = gateway.fails(Method::GET, "/api/nothing", json!({})).await;
    assert_eq!(not_found, (404, "invalid_request".to_owned()));
    let status = gateway.request(Method::DELETE, "/api/sessions").send().await.unwrap().status();
    assert_eq!(status, 405);
    let unknown = gateway.fails(Method::GET, "/api/sessions?colour=red", json!({})).await;
    assert_eq!(unknown, (400, "invalid_request".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_append_to_one_session_at_once() {
    let gateway = TestGateway::start();
    let session = gateway.create().await;
    let append = |number: usize| {
        let message = json!({ "message": { "role": "user", "content": number.to_string() } });
        gateway.request(Method::POST, &format!("{session}/messages")).json(&message).send()
    };
    let sent = futures_util::future::join_all((0..32).map(append)).await;
    for response in sent {
        ok(response.unwrap()).await;
    }
    let snapshot = gateway.get(&format!("{session}/snapshot")).await;
    assert_eq!(snapshot["activePath"].as_array().unwrap().len(), 32, "one after the other");
}

#[tokio::test]
async fn errors_say_what_to_do_and_name_no_rust_types() {
    let gateway = TestGateway::start();
    let session = gateway.create().await;
    let message = async |method: Method, path: &str, body: serde_json::Value| {
        let response = gateway.request(method, path).json(&body).send().await.unwrap();
        response.json::<serde_json::Value>().await.unwrap()["message"].as_str().unwrap().to_owned()
    };
    for (text, expected) in [
        (message(Method::GET, "/api/sessions/nothing", json!({})).await, "`GET /api/sessions` lists"),
        (message(Method::GET, &format!("{session}/entries/nothing"), json!({})).await, "/entries` lists"),
        (message(Method::GET, "/api/sessions?limit=many", json!({})).await, "expected a whole number"),
        (message(Method::POST, &format!("{session}/move"), json!(7)).await, "expected an object"),
        (
            message(Method::POST, &format!("{session}/compactions"), json!({ "tokensBefore": -1 })).await,
            "expected a whole number",
        ),
    ] {
        assert!(text.contains(expected), "{text}");
        let rust = ["usize", "u64", "u32", "struct", "enum", "sequence", "Some(", "None"];
        assert!(!rust.iter().any(|name| text.contains(name)), "{text}");
    }
}
