//! Where a database is and how patient a store is with it. Never shows the password.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use osier_store::StoreError;
use secrecy::{ExposeSecret, SecretString};
use sqlx::ConnectOptions;
use sqlx::mysql::MySqlConnectOptions;

use crate::failure::Failure;

/// How long a store waits, and how much it takes of the server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For a connection.
    pub reach: Duration,
    /// For an answer; a second more for each MiB that is sent.
    pub answer: Duration,
    /// For a server that is away or busy with other transactions, before the caller is told.
    pub patience: Duration,
    /// Connections at once.
    pub connections: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            reach: Duration::from_secs(5),
            answer: Duration::from_secs(20),
            patience: Duration::from_secs(3),
            connections: 8,
        }
    }
}

/// A database, its user and his password.
#[derive(Clone)]
pub(crate) struct Address {
    options: MySqlConnectOptions,
}

impl Address {
    /// Reads `mysql://USER:PASSWORD@HOST:PORT/DATABASE`. A password given apart counts instead of the one in the url.
    pub(crate) fn read(
        store: &str,
        url: &SecretString,
        password: Option<&SecretString>,
    ) -> Result<Address, StoreError> {
        let read = MySqlConnectOptions::from_str(url.expose_secret());
        let mut options = read.map_err(|error| Failure::Sql(error).told(store))?;
        if let Some(password) = password {
            options = options.password(password.expose_secret());
        }
        // The store says itself what a session needs, in fewer round trips and without what others may not know.
        let plain = options.pipes_as_concat(false).no_engine_substitution(false).timezone(None);
        Ok(Address { options: plain.set_names(false).disable_statement_logging() })
    }

    pub(crate) fn options(&self) -> &MySqlConnectOptions {
        &self.options
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let database = self.options.get_database().unwrap_or("");
        write!(f, "{}:{}/{database}", self.options.get_host(), self.options.get_port())
    }
}
