//! Servers that request the password in clear text: they get it only over a socket, or if their certificate is verified.

use std::sync::Arc;

use expect_test::expect;
use osier_store::{Store, StoreError};
use osier_store_mysql::server::{MariaDbServer, PASSWORD};
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use crate::support::{error_chain, short_limits, store_at, with_test_timeout};

const NATIVE: &str = "mysql_native_password";
const CACHING: &str = "caching_sha2_password";
const SHA256: &str = "sha256_password";
const CLEAR: &str = "mysql_clear_password";

/// `caching_sha2_password` does not have the hash cached.
const FULL_AUTHENTICATION: [u8; 2] = [1, 4];

const SSL: u16 = 1 << 11;

fn framed(payload: &[u8], sequence: u8) -> Vec<u8> {
    [&[payload.len() as u8, 0, 0, sequence][..], payload].concat()
}

fn greeting(method: &str, has_tls: bool) -> Vec<u8> {
    let low: u16 = if has_tls { u16::MAX } else { !SSL };
    let fixed = [&low.to_le_bytes()[..], b"\x21\x02\0\xff\xff\x15", &[0; 10]].concat();
    let start = b"\x0a8.0.40\0\x01\0\0\0abcdefgh\0";
    framed(&[&start[..], &fixed, b"ijklmnopqrst\0", method.as_bytes(), b"\0"].concat(), 0)
}

fn switch(method: &str) -> Vec<u8> {
    [b"\xfe", method.as_bytes(), b"\0abcdefghijklmnopqrst\0"].concat()
}

/// Waits for the client's response, sends `request`, and returns everything that the client sends.
async fn authenticate(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: Option<Vec<u8>>) -> Vec<u8> {
    let mut received = vec![0; 4096];
    let count = stream.read(&mut received).await.unwrap_or(0);
    received.truncate(count);
    if let Some(request) = request.filter(|_| count > 0) {
        let sequence = received[3].wrapping_add(1);
        stream.write_all(&framed(&request, sequence)).await.unwrap();
        let mut answer = vec![0; 4096];
        let count = stream.read(&mut answer).await.unwrap_or(0);
        received.extend_from_slice(&answer[..count]);
    }
    received
}

fn certificate() -> TlsAcceptor {
    let folder = MariaDbServer::shared().authority();
    let folder = folder.parent().unwrap();
    let certificates = CertificateDer::pem_file_iter(folder.join("server.pem")).unwrap().map(Result::unwrap);
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(certificates.collect(), key).unwrap();
    TlsAcceptor::from(Arc::new(config))
}

/// Starts a local server for one client. Returns its port, and what it receives.
async fn server(
    first: Vec<u8>,
    request: Option<Vec<u8>>,
    tls: Option<TlsAcceptor>,
) -> (u16, JoinHandle<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let received = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&first).await.unwrap();
        let Some(tls) = tls else { return authenticate(stream, request).await };
        let mut tls_request = [0; 36];
        if stream.read_exact(&mut tls_request).await.is_err() {
            return Vec::new();
        }
        match tls.accept(stream).await {
            Ok(stream) => authenticate(stream, request).await,
            Err(_) => Vec::new(),
        }
    });
    (port, received)
}

fn contains_password(received: &[u8]) -> bool {
    received.windows(PASSWORD.len()).any(|part| part == PASSWORD.as_bytes())
}

async fn connection_error(port: u16, query: &str) -> StoreError {
    let url = format!("mysql://osier:{PASSWORD}@127.0.0.1:{port}/x{query}");
    with_test_timeout(store_at(&url, short_limits()).find_ids("")).await.unwrap_err()
}

#[tokio::test]
async fn greeting_that_requests_the_password_gets_no_response() {
    for method in [CLEAR, SHA256] {
        for (query, has_tls) in [
            ("", false),
            ("?ssl-mode=DISABLED", false),
            ("?ssl-mode=DISABLED", true),
            ("?ssl-mode=PREFERRED", true),
            ("?ssl-mode=REQUIRED", true),
        ] {
            let tls = (has_tls && !query.contains("DISABLED")).then(certificate);
            let (port, received) = server(greeting(method, has_tls), None, tls).await;
            let error = connection_error(port, query).await;
            expect![[r#"
                cannot use store team: the server requests the password in clear text over an unverified connection; set ssl-mode=VERIFY_IDENTITY (and ssl-ca for a private CA) or socket in the store's URL
                caused by: the password was not sent"#]]
            .assert_eq(&error_chain(&error));
            assert_eq!(with_test_timeout(received).await.unwrap(), [0; 0], "{method} {query} {has_tls}");
        }
    }
}

#[tokio::test]
async fn later_request_for_the_password_gets_no_response() {
    let requests = [
        (NATIVE, switch(CLEAR)),
        (NATIVE, [b"\xfe", CLEAR.as_bytes(), b"\0"].concat()),
        (NATIVE, switch(SHA256)),
        (CACHING, switch(CLEAR)),
        (CACHING, FULL_AUTHENTICATION.to_vec()),
    ];
    for (method, request) in requests {
        for (query, tls) in [
            ("", None),
            ("", Some(certificate())),
            ("?ssl-mode=DISABLED", None),
            ("?ssl-mode=REQUIRED", Some(certificate())),
        ] {
            let first = greeting(method, tls.is_some());
            let (port, received) = server(first, Some(request.clone()), tls).await;
            let error = error_chain(&connection_error(port, query).await);
            assert!(
                error.contains("requests the password in clear text"),
                "{method} {request:?} {query}: {error}"
            );
            let received = with_test_timeout(received).await.unwrap();
            assert!(!received.is_empty() && !contains_password(&received), "{method} {request:?} {query}");
        }
    }
}

#[tokio::test]
async fn server_with_a_verified_certificate_gets_the_password() {
    let authority = MariaDbServer::shared().authority();
    let query = format!("?ssl-mode=VERIFY_IDENTITY&ssl-ca={}", authority.display());
    for (method, request) in
        [(CLEAR, None), (NATIVE, Some(switch(CLEAR))), (CACHING, Some(FULL_AUTHENTICATION.to_vec()))]
    {
        let (port, received) = server(greeting(method, true), request, Some(certificate())).await;
        connection_error(port, &query).await;
        assert!(contains_password(&with_test_timeout(received).await.unwrap()), "{method}");
    }
}

#[tokio::test]
async fn server_on_a_socket_gets_the_password() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let received = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(&greeting(CLEAR, false)).await.unwrap();
        authenticate(stream, None).await
    });
    connection_error(1, &format!("?socket={}", path.display())).await;
    assert!(contains_password(&with_test_timeout(received).await.unwrap()));
}

/// The driver would panic on some of them.
#[tokio::test]
async fn malformed_packets_are_reported() {
    let cut = framed(&greeting(NATIVE, false)[4..40], 0);
    for first in [cut, framed(b"", 0), framed(b"\x0a", 0), b"\xff\xff\xff\0GET /".to_vec()] {
        let (port, received) = server(first, None, None).await;
        let error = error_chain(&connection_error(port, "").await);
        assert!(error.contains("malformed handshake"), "{error}");
        assert_eq!(with_test_timeout(received).await.unwrap(), [0; 0]);
    }
    for request in [vec![1], vec![0], vec![0xfe]] {
        let (port, _received) = server(greeting(CACHING, false), Some(request), None).await;
        let error = error_chain(&connection_error(port, "").await);
        assert!(error.contains("malformed handshake"), "{error}");
    }
}

#[tokio::test]
async fn unverified_connections_work_with_and_without_tls() {
    let server = MariaDbServer::shared();
    let database = crate::support::create_database(server).await;
    for query in ["?ssl-mode=DISABLED", "?ssl-mode=REQUIRED"] {
        let store = store_at(&(server.url(&database) + query), short_limits());
        with_test_timeout(store.find_ids("")).await.unwrap();
    }
}
