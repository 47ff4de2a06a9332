//! Concurrent processes on different servers: an open session is not deleted, acknowledged data is visible at once on every
//! server, and a single writer never conflicts with itself.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use osier_store::{Lease, SessionFilter, Store};
use osier_store_mysql::Limits;

use crate::sessions::{create, header, lines, message};
use crate::{Result, TestCluster, deletion_race, store_at};

const LEASES: usize = 100;
const READS: usize = 200;
const APPENDS: usize = 300;

pub(crate) async fn run(test_cluster: &'static TestCluster, deletions: usize) -> Result<()> {
    let database = test_cluster.database().await?;
    let idle = Arc::new(AtomicBool::new(false));
    let load = tokio::spawn(load(test_cluster, database.clone(), idle.clone()));
    let done = async {
        deletion_race::run(test_cluster, &database, deletions).await?;
        leases(test_cluster, &database).await?;
        stale_reads(test_cluster, &database).await?;
        round_robin(test_cluster, &database).await
    };
    let done = done.await;
    idle.store(true, Ordering::Relaxed);
    load.await??;
    done
}

/// Puts load on the servers, so that they lag behind each other.
async fn load(test_cluster: &'static TestCluster, database: String, idle: Arc<AtomicBool>) -> Result<()> {
    let store = test_cluster.store(0, &database, Limits::default());
    let large = message(&"x".repeat(200_000));
    for number in 0.. {
        if idle.load(Ordering::Relaxed) {
            break;
        }
        let id = format!("load{number}");
        store.create(&header(&id), &vec![large.clone(); 4]).await?;
        store.delete(&id).await?;
    }
    Ok(())
}

async fn leases(test_cluster: &'static TestCluster, database: &str) -> Result<()> {
    println!("== acquire a lease of one place on three servers");
    let stores: Vec<_> = (0..3).map(|at| test_cluster.store(at, database, Limits::default())).collect();
    create(&stores[0], "leased").await?;
    let lease = |cursor| Lease {
        session: "leased".to_owned(),
        cursor,
        entry: None,
        branch: None,
        process: 1,
        host: String::new(),
        expires: None,
    };
    for round in 0..LEASES as u64 {
        let requested: Vec<Lease> = (0..3).map(|at| lease(3 * round + at)).collect();
        let attempts =
            stores.iter().zip(&requested).map(|(store, lease)| store.acquire_lease(lease, &|_| true));
        let results = futures_util::future::join_all(attempts).await;
        let acquired = results.iter().filter(|result| result.is_ok()).count();
        if acquired != 1 {
            return Err(format!("round {round}: {acquired} leases of one place: {results:?}").into());
        }
        for (store, lease) in stores.iter().zip(&requested) {
            store.release_lease(lease).await;
        }
    }
    println!("{LEASES} rounds: exactly one of three acquired the lease");
    Ok(())
}

async fn stale_reads(test_cluster: &'static TestCluster, database: &str) -> Result<()> {
    println!("== read from another server what one server acknowledged");
    let (writer, reader) = (
        test_cluster.store(0, database, Limits::default()),
        test_cluster.store(2, database, Limits::default()),
    );
    let mut missed = 0;
    for number in 0..READS {
        let id = format!("read{number}");
        let line = String::from_utf8(message("first"))?.replace("2026-01-01", "2026-01-02");
        writer.create(&header(&id), &[line.into_bytes()]).await?;
        // `--continue` takes the newest session.
        let newest = reader.list(&SessionFilter { limit: Some(1), ..SessionFilter::default() }).await?;
        let is_newest = newest.cards.first().is_some_and(|card| card.id == id);
        let is_found = reader.find_ids(&id).await?.contains(&id);
        missed += usize::from(!is_found || !is_newest);
        writer.delete(&id).await?;
        missed += usize::from(!reader.find_ids(&id).await?.is_empty());
    }
    println!("{missed} stale reads in {READS} rounds");
    if missed == 0 { Ok(()) } else { Err("a read was stale".into()) }
}

/// Starts a proxy that sends each connection to the next server. Returns its port.
fn proxy(ports: Vec<u16>) -> Result<u16> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let port = listener.local_addr()?.port();
    std::thread::spawn(move || {
        for (number, client) in listener.incoming().flatten().enumerate() {
            let Ok(server) = TcpStream::connect(("127.0.0.1", ports[number % ports.len()])) else { continue };
            let (Ok(back), Ok(answers)) = (client.try_clone(), server.try_clone()) else { continue };
            std::thread::spawn(move || pass(client, server));
            std::thread::spawn(move || pass(answers, back));
        }
    });
    Ok(port)
}

fn pass(mut from: TcpStream, mut to: TcpStream) {
    let mut bytes = [0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes) {
        if to.write_all(&bytes[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(std::net::Shutdown::Both);
}

async fn round_robin(test_cluster: &'static TestCluster, database: &str) -> Result<()> {
    println!("== one writer behind a round-robin proxy");
    let own = test_cluster.ports[0].to_string();
    let url = test_cluster.url(0, database).replace(&own, &proxy(test_cluster.ports.clone())?.to_string());
    // No connection is reused.
    let store = store_at(&url, Limits { max_idle: Duration::ZERO, ..Limits::default() });
    let mut version = create(&store, "alone").await?;
    for number in 0..APPENDS {
        version = store.append("alone", version, &[message(&format!("{number:08}"))]).await?;
    }
    let stored = lines(&store, "alone").await?.len();
    println!("{APPENDS} appends, no conflict");
    if stored == APPENDS + 1 { Ok(()) } else { Err(format!("{stored} lines").into()) }
}
