//! A router between store and server that forgets connections without a word, as those of clouds do.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use osier_store::Store;
use osier_store_mysql::Limits;
use osier_store_mysql::server::Server;

use crate::support::{add, database, lines, session, store_at};

/// Connections before this one are forgotten: what comes over them leads nowhere.
type Forgotten = Arc<AtomicUsize>;

/// Where the router listens.
fn router(server: u16, forgotten: &Forgotten) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let forgotten = forgotten.clone();
    std::thread::spawn(move || {
        for (number, client) in listener.incoming().enumerate() {
            let (client, server) = (client.unwrap(), TcpStream::connect(("127.0.0.1", server)).unwrap());
            let (back, answers) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            let forgotten = forgotten.clone();
            std::thread::spawn(move || pass(client, server, || number < forgotten.load(Ordering::Relaxed)));
            std::thread::spawn(move || pass(answers, back, || false));
        }
    });
    port
}

fn pass(mut from: TcpStream, mut to: TcpStream, is_forgotten: impl Fn() -> bool) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if !is_forgotten() && to.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_that_was_idle_for_long_is_not_waited_for() {
    let (server, forgotten) = (Server::shared(), Forgotten::default());
    let port = router(server.port(), &forgotten);
    let url = server.url(&database(server).await).replace(&server.port().to_string(), &port.to_string());
    // A store that trusted its idle connection would wait for an answer until the test's end.
    let limits = Limits { idle: Duration::ZERO, answer: Duration::from_secs(600), ..Limits::default() };
    let store = store_at(&url, limits);
    store.find_ids("").await.unwrap();
    forgotten.store(1, Ordering::Relaxed);
    let found = tokio::time::timeout(Duration::from_secs(60), store.find_ids("")).await;
    assert_eq!(found.expect("an answer over a new connection").unwrap(), [] as [&str; 0]);
}

/// Answers the first COMMIT with a duplicate key, as TiDB may, and rolls the transaction back.
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
async fn a_key_that_is_taken_at_the_end_of_a_transaction_is_looked_at_again() {
    let server = Server::shared();
    let database = database(server).await;
    let version = session(&store_at(&server.url(&database), Limits::default()), 1).await;
    let port = conflicting_commit(server.port());
    let url =
        server.url(&database).replace(&server.port().to_string(), &port.to_string()) + "?ssl-mode=DISABLED";
    let store = store_at(&url, Limits::default());
    assert_eq!(add(&store, version, "second").await.unwrap().entries, 2);
    assert_eq!(lines(&store).await.len(), 2);
}
