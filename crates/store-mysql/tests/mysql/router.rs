//! Proxies between store and server: a router that silently drops connections, as in clouds, and a conflicting commit.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use osier_store::Store;
use osier_store_mysql::Limits;
use osier_store_mysql::server::MariaDbServer;

use crate::support::{append_message, create_database, create_session, read_lines, store_at};

/// The number of the first connection that still works. Data on earlier connections is dropped.
type DroppedBefore = Arc<AtomicUsize>;

/// Starts the router and returns its port.
fn router(server: u16, dropped_before: &DroppedBefore) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let dropped_before = dropped_before.clone();
    std::thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
            let (back, answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let dropped_before = dropped_before.clone();
            std::thread::spawn(move || {
                forward(client, server, || number < dropped_before.load(Ordering::Relaxed));
            });
            std::thread::spawn(move || forward(answers, back, || false));
        }
    });
    port
}

fn forward(mut from: TcpStream, mut to: TcpStream, is_dropped: impl Fn() -> bool) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !is_dropped() && to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_idle_connection_is_not_reused() {
    let (server, dropped_before) = (MariaDbServer::shared(), DroppedBefore::default());
    let port = router(server.port(), &dropped_before);
    let url =
        server.url(&create_database(server).await).replace(&server.port().to_string(), &port.to_string());
    // A store that reused its idle connection would wait for a response until the test fails.
    let limits =
        Limits { max_idle: Duration::ZERO, response_timeout: Duration::from_secs(600), ..Limits::default() };
    let store = store_at(&url, limits);
    store.find_ids("").await.unwrap();
    dropped_before.store(1, Ordering::Relaxed);
    let found = tokio::time::timeout(Duration::from_secs(60), store.find_ids("")).await;
    assert_eq!(found.expect("a response over a new connection").unwrap(), [] as [&str; 0]);
}

/// Starts a proxy that rolls back the first COMMIT and reports a duplicate key, as TiDB may. Returns its port.
fn conflicting_commit(server: u16) -> u16 {
    const COMMIT: &[u8] = b"\x07\0\0\0\x03COMMIT";
    const ROLLBACK: &[u8] = b"\x09\0\0\0\x03ROLLBACK";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let done = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) =
                (client.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
            let (mut back, mut answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let (done, is_changed) = (done.clone(), Arc::new(AtomicUsize::new(0)));
            let changed = is_changed.clone();
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = client.read(&mut bytes) {
                    let mut packet = &bytes[..count];
                    if packet == COMMIT && done.fetch_add(1, Ordering::Relaxed) == 0 {
                        changed.store(1, Ordering::Relaxed);
                        packet = ROLLBACK;
                    }
                    if server.write_all(packet).is_err() {
                        return;
                    }
                }
            });
            std::thread::spawn(move || {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = answers.read(&mut bytes) {
                    let mut error = b"\xff\x26\x04#23000Duplicate entry".to_vec();
                    error.splice(0..0, [error.len() as u8, 0, 0, 1]);
                    let is_changed = is_changed.swap(0, Ordering::Relaxed) == 1;
                    if back.write_all(if is_changed { &error } else { &bytes[..count] }).is_err() {
                        return;
                    }
                }
            });
        }
    });
    port
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn duplicate_key_at_commit_is_retried() {
    let server = MariaDbServer::shared();
    let database = create_database(server).await;
    let version = create_session(&store_at(&server.url(&database), Limits::default()), 1).await;
    let port = conflicting_commit(server.port());
    let url =
        server.url(&database).replace(&server.port().to_string(), &port.to_string()) + "?ssl-mode=DISABLED";
    let store = store_at(&url, Limits::default());
    assert_eq!(append_message(&store, version, "second").await.unwrap().entries, 2);
    assert_eq!(read_lines(&store).await.len(), 2);
}
