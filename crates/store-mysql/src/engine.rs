//! Detects the kind of server behind a connection, and which session variables it needs. Runs once per connection.

use sqlx::{Executor, MySqlConnection, Row};

use crate::attempt_error::AttemptError;

/// Not every server has all of these variables; `SHOW VARIABLES` omits unknown ones.
const VARIABLES_QUERY: &str =
    "SHOW VARIABLES WHERE Variable_name IN ('version', 'version_comment', 'max_allowed_packet', 'read_only',
     'super_read_only', 'wsrep_on', 'group_replication_group_name', 'group_replication_consistency')";

/// The engines that the store treats differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EngineKind {
    MySql,
    MariaDb,
    Galera,
    GroupReplication,
    TiDb,
    Vitess,
}

/// The database engine behind a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Engine {
    pub kind: EngineKind,
    pub version: String,
    /// The server is configured as read-only.
    pub read_only: bool,
    /// The server's `max_allowed_packet`, in bytes.
    pub(crate) max_packet: u64,
    consistency: String,
}

impl Engine {
    pub(crate) async fn detect(connection: &mut MySqlConnection) -> Result<Engine, AttemptError> {
        let mut variables = Vec::new();
        for row in connection.fetch_all(VARIABLES_QUERY).await? {
            variables.push((row.try_get::<String, _>(0)?, row.try_get::<String, _>(1)?));
        }
        Ok(Engine::from_variables(&variables))
    }

    pub(crate) fn from_variables(variables: &[(String, String)]) -> Engine {
        let get = |name: &str| {
            let found = variables.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
            found.map_or("", |(_, value)| value.as_str())
        };
        let is_on = |name: &str| matches!(get(name).to_ascii_uppercase().as_str(), "ON" | "1");
        let named = format!("{} {}", get("version"), get("version_comment")).to_ascii_lowercase();
        let kind = match () {
            () if named.contains("vitess") => EngineKind::Vitess,
            () if named.contains("tidb") => EngineKind::TiDb,
            () if is_on("wsrep_on") => EngineKind::Galera,
            () if !get("group_replication_group_name").is_empty() => EngineKind::GroupReplication,
            () if named.contains("mariadb") => EngineKind::MariaDb,
            () => EngineKind::MySql,
        };
        Engine {
            kind,
            version: get("version").to_owned(),
            // MariaDB has several read-only modes, each with its own value.
            read_only: ["read_only", "super_read_only"]
                .iter()
                .any(|name| !matches!(get(name), "" | "OFF" | "0")),
            max_packet: get("max_allowed_packet").parse().unwrap_or(u64::MAX),
            consistency: get("group_replication_consistency").to_owned(),
        }
    }

    /// The statements that configure a connection: strict mode, so that nothing is truncated silently; no gap locks, so that
    /// writers of one session do not block each other; and causal reads, which see everything acknowledged before on every
    /// node of a cluster. Vitess needs none of this, and would reserve a connection for each client that sets a variable.
    pub(crate) fn setup_statements(&self) -> Vec<&'static str> {
        if self.kind == EngineKind::Vitess {
            return Vec::new();
        }
        let mut setup = vec![
            "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION', innodb_lock_wait_timeout = 5,
             autocommit = 1 /*M!100600 , optimizer_switch = 'subquery_cache=off' */",
            "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
        ];
        match (self.kind, self.consistency.as_str()) {
            (EngineKind::Galera, _) => setup.push("SET SESSION wsrep_sync_wait = @@wsrep_sync_wait | 1"),
            (EngineKind::GroupReplication, "EVENTUAL" | "BEFORE_ON_PRIMARY_FAILOVER") => {
                setup.push("SET SESSION group_replication_consistency = 'BEFORE'");
            }
            (EngineKind::GroupReplication, "AFTER") => {
                setup.push("SET SESSION group_replication_consistency = 'BEFORE_AND_AFTER'");
            }
            _ => {}
        }
        setup
    }
}

#[cfg(test)]
mod tests {
    use super::{Engine, EngineKind};

    fn engine(variables: &[(&str, &str)]) -> Engine {
        let owned: Vec<_> =
            variables.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        Engine::from_variables(&owned)
    }

    #[test]
    fn engine_is_detected_from_its_variables() {
        for (variables, kind) in [
            (&[("version", "9.7.0")][..], EngineKind::MySql),
            (&[("version", "10.11.14-MariaDB"), ("wsrep_on", "OFF")], EngineKind::MariaDb),
            (&[("version", "10.11.14-MariaDB"), ("wsrep_on", "ON")], EngineKind::Galera),
            (
                &[("version", "8.4.0"), ("group_replication_group_name", "aa-bb")],
                EngineKind::GroupReplication,
            ),
            (&[("version", "8.0.11-TiDB-v7.5.0")], EngineKind::TiDb),
            (&[("version", "8.0.30-Vitess")], EngineKind::Vitess),
        ] {
            assert_eq!(engine(variables).kind, kind, "{variables:?}");
        }
    }

    #[test]
    fn reads_are_causal_where_the_engine_supports_it_and_vitess_gets_no_setup() {
        let sets = |variables: &[(&str, &str)]| engine(variables).setup_statements().join("; ");
        assert!(sets(&[("wsrep_on", "ON")]).contains("wsrep_sync_wait"));
        let group = |consistency| {
            sets(&[("group_replication_group_name", "x"), ("group_replication_consistency", consistency)])
        };
        assert!(group("EVENTUAL").ends_with("'BEFORE'"));
        assert!(group("AFTER").ends_with("'BEFORE_AND_AFTER'"));
        assert!(!group("BEFORE").contains("consistency"));
        assert_eq!(sets(&[("version", "8.0.30-Vitess")]), "");
        assert!(!sets(&[("version", "9.7.0")]).contains("wsrep"));
    }
}
