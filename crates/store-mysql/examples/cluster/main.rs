//! Runs the store on a cluster of three servers, with faults. Fails if an acknowledged entry is lost, stored twice, or different
//! on one of them, or if a contract rule fails.

mod contract;
mod deletion_race;
mod fairness;
mod faults;
mod inspection;
mod races;
mod sessions;
mod upgrade;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use osier_store_mysql::server::{GaleraCluster, MariaDbServer, PASSWORD};
use osier_store_mysql::{Credentials, Limits, MySqlStore};
use sqlx::{AssertSqlSafe, Connection, Executor, MySqlConnection, Row};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

const USAGE: &str =
    "cluster [--seconds N] [--seed N] [--races N] [--ports PORT,PORT,PORT] [contract] [upgrade] [races] [fairness] [inspection] [faults]
--ports: use servers that already run on this machine, with the users osier and admin; skips inspection and faults";

#[tokio::main(flavor = "multi_thread", worker_threads = 4)]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let (mut parts, mut ports) = (Vec::new(), Vec::new());
    let (mut seconds, mut seed, mut races) = (60, 1, 4000);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--seconds" => seconds = words.next().ok_or(USAGE)?.parse()?,
            "--seed" => seed = words.next().ok_or(USAGE)?.parse()?,
            "--races" => races = words.next().ok_or(USAGE)?.parse()?,
            "--ports" => {
                let given = words.next().ok_or(USAGE)?;
                ports = given.split(',').map(str::parse).collect::<std::result::Result<Vec<u16>, _>>()?;
            }
            "contract" | "upgrade" | "races" | "fairness" | "inspection" | "faults" => parts.push(word),
            _ => return Err(USAGE.into()),
        }
    }
    let wanted = |part: &str| parts.is_empty() || parts.iter().any(|wanted| wanted == part);
    let cluster = match ports.is_empty() {
        true => {
            println!("== starting three servers");
            Some(GaleraCluster::start()?)
        }
        false => None,
    };
    if let Some(cluster) = &cluster {
        ports = cluster.servers().iter().map(MariaDbServer::port).collect();
    }
    let test_cluster: &'static TestCluster = Box::leak(Box::new(TestCluster { ports, cluster }));
    // When this process ends, the guards of the servers stop them and remove their data.
    run(test_cluster, wanted, races, (seconds, seed)).await
}

async fn run(
    test_cluster: &'static TestCluster,
    wanted: impl Fn(&str) -> bool,
    races: usize,
    (seconds, seed): (u64, u64),
) -> Result<()> {
    test_cluster.ready().await?;
    if wanted("contract") {
        contract::run(test_cluster).await?;
    }
    if wanted("upgrade") {
        upgrade::run(test_cluster).await?;
    }
    if wanted("races") {
        races::run(test_cluster, races).await?;
    }
    if wanted("fairness") {
        fairness::run(test_cluster).await?;
    }
    let Some(cluster) = &test_cluster.cluster else { return Ok(()) };
    if wanted("inspection") {
        inspection::run(test_cluster, cluster).await?;
    }
    if wanted("faults") {
        faults::run(test_cluster, cluster, seconds, seed).await?;
    }
    Ok(())
}

/// The servers, with helpers to query them directly.
struct TestCluster {
    ports: Vec<u16>,
    /// `None` if this program did not start the servers.
    cluster: Option<GaleraCluster>,
}

impl TestCluster {
    /// The URL of a database on one server.
    fn url(&self, number: usize, database: &str) -> String {
        format!("mysql://osier:{PASSWORD}@{}/{database}", self.host(number))
    }

    fn host(&self, number: usize) -> String {
        format!("127.0.0.1:{}", self.ports[number % self.ports.len()])
    }

    async fn admin(&self, number: usize) -> Result<MySqlConnection> {
        let url = self.url(number, "mysql").replace("osier:", "admin:");
        Ok(MySqlConnection::connect(&url).await?)
    }

    /// Waits until every server has joined the cluster.
    async fn ready(&self) -> Result<()> {
        if self.cluster.is_none() {
            for number in 0..self.ports.len() {
                // After the first login, MySQL caches the user's password hash and no longer requests the password in clear text.
                let _ = MySqlConnection::connect(&self.url(number, "mysql")).await;
            }
            return Ok(());
        }
        for number in 0..self.ports.len() {
            let limit = Duration::from_secs(120);
            tokio::time::timeout(limit, self.synced(number))
                .await
                .map_err(|_| format!("server {number} did not come back"))?;
        }
        Ok(())
    }

    async fn synced(&self, number: usize) {
        let servers = self.ports.len().to_string();
        loop {
            if let Ok(mut admin) = self.admin(number).await {
                let status = |name: &str| format!("SHOW STATUS LIKE '{name}'");
                let state = admin.fetch_one(AssertSqlSafe(status("wsrep_local_state_comment"))).await;
                let size = admin.fetch_one(AssertSqlSafe(status("wsrep_cluster_size"))).await;
                if let (Ok(state), Ok(size)) = (state, size)
                    && state.get::<String, _>(1) == "Synced"
                    && size.get::<String, _>(1) == servers
                {
                    return;
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Creates a database, and waits until all servers have it.
    async fn database(&self) -> Result<String> {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("osier_{}_{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        self.admin(0).await?.execute(AssertSqlSafe(format!("CREATE DATABASE {name}"))).await?;
        for number in 1..self.ports.len() {
            let mut admin = self.admin(number).await?;
            let query = format!("SHOW DATABASES LIKE '{name}'");
            while admin.fetch_optional(AssertSqlSafe(query.as_str())).await?.is_none() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        }
        Ok(name)
    }

    /// A store that uses only one server.
    fn store(&self, number: usize, database: &str, limits: Limits) -> MySqlStore {
        store_at(&self.url(number, database), limits)
    }

    /// The URL of all servers, starting with one of them.
    fn url_from(&self, number: usize, database: &str) -> String {
        let hosts: Vec<String> = (0..self.ports.len()).map(|at| self.host(number + at)).collect();
        self.url(number, database).replace(&self.host(number), &hosts.join(","))
    }
}

fn store_at(url: &str, limits: Limits) -> MySqlStore {
    MySqlStore::new("team", &Credentials::new(url), limits).expect("a valid URL")
}

/// A summary of how long calls took.
fn percentiles(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: usize| {
        let at = (times.len() * share / 100).min(times.len().saturating_sub(1));
        times.get(at).map_or(0.0, |time| time.as_secs_f64() * 1000.0)
    };
    format!(
        "{} appends, median {:.1} ms, p99 {:.0} ms, longest {:.0} ms",
        times.len(),
        at(50),
        at(99),
        at(100)
    )
}
