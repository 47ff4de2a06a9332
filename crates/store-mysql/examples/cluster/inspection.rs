//! What `osier doctor` reports about a cluster: each of its servers, and a server that is down.

use std::time::{Duration, Instant};

use osier_store_mysql::server::GaleraCluster;
use osier_store_mysql::{Limits, MySqlStore, ServerReport};

use crate::sessions::create;
use crate::{Result, TestCluster, store_at};

const DETECTION_TIMEOUT: Duration = Duration::from_secs(30);
const POLL_INTERVAL: Duration = Duration::from_millis(500);

pub(crate) async fn run(test_cluster: &'static TestCluster, cluster: &'static GaleraCluster) -> Result<()> {
    println!("== inspect the cluster, with and without one server");
    let database = test_cluster.database().await?;
    let store = store_at(&test_cluster.url_from(0, &database), Limits::default());
    create(&store, "one").await?;
    expect(&store, &["one of 3 nodes of a Galera cluster"; 3]).await?;
    cluster.servers()[2].kill()?;
    let texts = ["fewer than three nodes", "fewer than three nodes", "cannot be reached"];
    let started = Instant::now();
    let down = loop {
        match expect(&store, &texts).await {
            // The other servers notice it after a few seconds.
            Err(_) if started.elapsed() < DETECTION_TIMEOUT => tokio::time::sleep(POLL_INTERVAL).await,
            done => break done,
        }
    };
    tokio::task::spawn_blocking(move || cluster.rejoin(2)).await??;
    test_cluster.ready().await?;
    down
}

/// Checks that the report of each server contains a text, and prints the reports.
async fn expect(store: &MySqlStore, texts: &[&str]) -> Result<()> {
    let mut all = Vec::new();
    for ((host, report), text) in store.inspect_servers().await?.into_iter().zip(texts) {
        let shown = match report {
            Ok(ServerReport { write_error: Some(error), .. }) => return Err(error.into()),
            Ok(report) => format!("{} {:?}", report.description, report.warnings),
            Err(error) => error.to_string(),
        };
        if !shown.contains(text) {
            return Err(format!("{host}: expected {text:?}, found {shown}").into());
        }
        all.push(shown);
    }
    println!("{}", all.join("\n"));
    Ok(())
}
