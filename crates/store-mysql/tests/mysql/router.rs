//! A router between store and server that forgets connections without a word, as those of clouds do.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use osier_store::Store;
use osier_store_mysql::Limits;
use osier_store_mysql::server::Server;

use crate::support::{database, store_at};

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
    store.find("").await.unwrap();
    forgotten.store(1, Ordering::Relaxed);
    let found = tokio::time::timeout(Duration::from_secs(60), store.find("")).await;
    assert_eq!(found.expect("an answer over a new connection").unwrap(), [] as [&str; 0]);
}
