//! Inspects the servers of a store for `osier doctor`: the engine, whether this user can write, and unsafe settings.

use std::time::{SystemTime, UNIX_EPOCH};

use osier_store::StoreError;
use rustc_hash::FxHashMap;
use sqlx::{Executor, MySqlConnection, Row};

use crate::attempt_error::AttemptError;
use crate::connection_pool::Connection;
use crate::engine::{Engine, EngineKind};
use crate::store::MySqlStore;
use crate::transaction;

/// The maximum clock difference between servers, in seconds. See `docs/stores.md`.
pub const CLOCK_MARGIN: u64 = 10;

const VARIABLES: &str =
    "SHOW VARIABLES WHERE Variable_name IN ('innodb_flush_log_at_trx_commit', 'sync_binlog', 'log_bin',
     'binlog_format', 'group_replication_single_primary_mode')";

const STATUS: &str = "SHOW STATUS WHERE Variable_name IN ('wsrep_cluster_size', 'wsrep_cluster_status', 'wsrep_local_state_comment')";

/// The result of inspecting one server of a store.
#[derive(Debug)]
pub struct ServerReport {
    /// `HOST:PORT`.
    pub host: String,
    /// The engine, such as `MariaDB 10.11.14, one of 3 nodes of a Galera cluster`.
    pub description: String,
    /// Why this user cannot write to the server.
    pub write_error: Option<StoreError>,
    /// Unsafe settings, each with advice.
    pub warnings: Vec<(String, String)>,
}

impl MySqlStore {
    /// Inspects every server in the store's URL, or returns why it cannot be reached. Changes nothing.
    pub async fn inspect_servers(
        &self,
    ) -> Result<Vec<(String, Result<ServerReport, StoreError>)>, StoreError> {
        let (inner, name) = (&self.inner, &self.inner.name);
        let all = inner.pool.connect_to_each(inner.limits.list_connect_timeout).await;
        let mut reports = Vec::new();
        for (at, connected) in all.map_err(|failure| failure.into_store_error(name))?.into_iter().enumerate()
        {
            let host = inner.pool.address().host_label(at);
            let inspected = async { self.inspect_server(&host, connected?).await };
            let limited = tokio::time::timeout(inner.limits.response_timeout, inspected).await;
            let report = limited.unwrap_or(Err(AttemptError::Timeout(inner.limits.response_timeout)));
            reports.push((host, report.map_err(|failure| failure.into_store_error(name))));
        }
        Ok(reports)
    }

    async fn inspect_server(
        &self,
        host: &str,
        mut connection: Connection,
    ) -> Result<ServerReport, AttemptError> {
        let engine = connection.engine.clone();
        let mut facts = fetch_pairs(&mut connection, VARIABLES).await?;
        facts.extend(fetch_pairs(&mut connection, STATUS).await?);
        let mut warnings = collect_warnings(&engine, &facts);
        warnings.extend(clock_warning(&mut connection).await?);
        let written = match engine.read_only {
            true => Err(StoreError::Refused {
                store: self.inner.name.clone(),
                reason: "the server is read-only".to_owned(),
                advice: "make the server writable, or use the primary server in the store's URL",
                source: "read_only".into(),
            }),
            false => check_writable(&mut connection)
                .await
                .map_err(|failure| failure.into_store_error(&self.inner.name)),
        };
        let what = describe_engine(&engine, &facts);
        Ok(ServerReport { host: host.to_owned(), description: what, write_error: written.err(), warnings })
    }
}

async fn fetch_pairs(
    connection: &mut MySqlConnection,
    query: &'static str,
) -> Result<FxHashMap<String, String>, AttemptError> {
    let mut pairs = FxHashMap::default();
    for row in connection.fetch_all(query).await? {
        pairs.insert(row.try_get::<String, _>(0)?.to_ascii_lowercase(), row.try_get(1)?);
    }
    Ok(pairs)
}

fn describe_engine(engine: &Engine, facts: &FxHashMap<String, String>) -> String {
    let get = |name: &str| facts.get(name).map_or("", String::as_str);
    let number = engine.version.split('-').next().unwrap_or_default();
    match engine.kind {
        EngineKind::MySql => format!("MySQL {number}"),
        EngineKind::MariaDb => format!("MariaDB {number}"),
        EngineKind::Galera => {
            let of = get("wsrep_cluster_size");
            format!("MariaDB {number}, one of {of} nodes of a Galera cluster")
        }
        EngineKind::GroupReplication => match get("group_replication_single_primary_mode") {
            "ON" => format!("MySQL {number}, in a replication group with one primary"),
            _ => format!("MySQL {number}, in a replication group with several primaries"),
        },
        EngineKind::TiDb => format!("TiDB {}", engine.version),
        EngineKind::Vitess => format!("Vitess {}", engine.version),
    }
}

fn collect_warnings(engine: &Engine, facts: &FxHashMap<String, String>) -> Vec<(String, String)> {
    let get = |name: &str| facts.get(name).map_or("", String::as_str);
    let mut warnings = Vec::new();
    let mut warn = |what: String, advice: &str| warnings.push((what, advice.to_owned()));
    let is_cluster = matches!(engine.kind, EngineKind::Galera | EngineKind::GroupReplication);
    match get("innodb_flush_log_at_trx_commit") {
        "" | "1" => {}
        value if is_cluster => warn(
            format!(
                "innodb_flush_log_at_trx_commit is {value}: a power failure of all servers loses the last second"
            ),
            "set it to 1 unless each server has its own power supply",
        ),
        value => warn(
            format!("innodb_flush_log_at_trx_commit is {value}: a power failure can lose the latest entries"),
            "set innodb_flush_log_at_trx_commit = 1",
        ),
    }
    if get("log_bin") == "ON" && !matches!(get("sync_binlog"), "" | "1") {
        warn("sync_binlog is not 1: a replica may lack the latest entries".to_owned(), "set sync_binlog = 1");
    }
    if get("log_bin") == "ON" && get("binlog_format") == "STATEMENT" {
        warn("binlog_format is STATEMENT: nothing can be stored".to_owned(), "set binlog_format = ROW");
    }
    if engine.kind == EngineKind::Galera {
        if !matches!(get("wsrep_cluster_status"), "Primary") {
            warn(
                "the node's part of the cluster has no majority, so it rejects all requests".to_owned(),
                "restart the other nodes",
            );
        }
        if get("wsrep_local_state_comment") != "Synced" {
            warn(
                format!("the node is not in sync: {}", get("wsrep_local_state_comment")),
                "wait until the state is Synced",
            );
        }
        if get("wsrep_cluster_size").parse::<u32>().is_ok_and(|size| size < 3) {
            warn(
                "a cluster of fewer than three nodes stops when one of them fails".to_owned(),
                "add a node or an arbitrator",
            );
        }
    }
    if matches!(engine.kind, EngineKind::TiDb | EngineKind::Vitess) {
        warn("Osier has not been tested on this engine".to_owned(), "see docs/stores.md, and keep a backup");
    }
    warnings
}

/// The record that a session is open expires by the server's clock, so the clocks must not differ by much.
async fn clock_warning(connection: &mut MySqlConnection) -> Result<Option<(String, String)>, AttemptError> {
    let row = connection.fetch_one("SELECT CAST(UNIX_TIMESTAMP() AS UNSIGNED)").await?;
    let (there, here): (u64, _) = (row.try_get(0)?, SystemTime::now().duration_since(UNIX_EPOCH));
    let off = here.unwrap_or_default().as_secs().abs_diff(there);
    Ok((off >= CLOCK_MARGIN).then(|| {
        (
            format!("the server's clock and this machine's clock differ by {off} s"),
            "synchronize both with NTP; the clocks of a cluster must differ by less than 10 s".to_owned(),
        )
    }))
}

/// Inserts a row and rolls back.
async fn check_writable(connection: &mut MySqlConnection) -> Result<(), AttemptError> {
    transaction::start(connection, &[]).await?;
    let written = connection
        .execute("INSERT INTO osier_watches (session, holder, expires) VALUES ('.doctor', 0, 0)")
        .await;
    connection.execute("ROLLBACK").await?;
    written?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use rustc_hash::FxHashMap;

    use super::{collect_warnings, describe_engine};
    use crate::engine::Engine;

    /// The description and the warnings of a server with these variables.
    fn report(variables: &[(&str, &str)]) -> (String, Vec<String>) {
        let pairs: Vec<(String, String)> =
            variables.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let (engine, facts) =
            (Engine::from_variables(&pairs), pairs.into_iter().collect::<FxHashMap<_, _>>());
        let warnings = collect_warnings(&engine, &facts).into_iter().map(|(warning, _)| warning);
        (describe_engine(&engine, &facts), warnings.collect())
    }

    const GALERA: [(&str, &str); 5] = [
        ("version", "10.11.14-MariaDB-0+deb12u2"),
        ("wsrep_on", "ON"),
        ("wsrep_cluster_size", "3"),
        ("wsrep_cluster_status", "Primary"),
        ("wsrep_local_state_comment", "Synced"),
    ];

    #[test]
    fn node_of_a_galera_cluster_is_described() {
        let (description, warnings) = report(&GALERA);
        assert_eq!(description, "MariaDB 10.11.14, one of 3 nodes of a Galera cluster");
        assert!(warnings.is_empty(), "{warnings:?}");
    }

    #[test]
    fn unsafe_states_of_a_galera_node_are_reported() {
        let mut node = GALERA;
        node[2].1 = "1";
        node[3].1 = "non-Primary";
        node[4].1 = "Initialized";
        let (_, warnings) = report(&node);
        for expected in ["no majority", "not in sync: Initialized", "fewer than three nodes"] {
            assert!(warnings.iter().any(|warning| warning.contains(expected)), "{expected}: {warnings:?}");
        }
    }

    #[test]
    fn replication_groups_and_untested_engines_are_described() {
        let group = ("group_replication_group_name", "aa-bb");
        let several = [("version", "9.7.4"), group, ("group_replication_single_primary_mode", "OFF")];
        assert_eq!(report(&several).0, "MySQL 9.7.4, in a replication group with several primaries");
        let (description, warnings) = report(&[("version", "8.0.11-TiDB-v7.5.0")]);
        assert_eq!(description, "TiDB 8.0.11-TiDB-v7.5.0");
        assert_eq!(warnings, ["Osier has not been tested on this engine"]);
    }
}
