//! The address of a database, its credentials, and the time limits of a store. Never displays a password.
//!
//! The password is part of the URL, or comes from a [`PasswordSource`] that the caller provides. The source is called only
//! when a connection needs the password. Reading variables and files and running commands are up to the caller.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use osier_store::StoreError;
use secrecy::{ExposeSecret, SecretString};
use sqlx::ConnectOptions;
use sqlx::mysql::{MySqlConnectOptions, MySqlSslMode};
use url::Url;

use crate::attempt_error::AttemptError;
use crate::redacted_url::without_password;

/// The time limits of a store, and its limit on connections.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long to wait for a connection to list or find sessions. Shorter, because other stores are queried as well.
    pub list_connect_timeout: Duration,
    /// How long to wait for a response, plus one second for each MiB sent.
    pub response_timeout: Duration,
    /// How long to retry while the server is unreachable or blocked by other transactions.
    pub retry_timeout: Duration,
    /// The maximum number of open connections.
    pub max_connections: usize,
    /// A connection that was idle for longer is not reused: routers drop idle connections silently.
    pub max_idle: Duration,
    /// How long a session counts as open after its process was killed, in whole seconds.
    pub hold_timeout: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connect_timeout: Duration::from_secs(5),
            list_connect_timeout: Duration::from_secs(2),
            response_timeout: Duration::from_secs(20),
            retry_timeout: Duration::from_secs(3),
            max_connections: 8,
            max_idle: Duration::from_secs(60),
            hold_timeout: Duration::from_secs(30),
        }
    }
}

/// Supplies the password of a store. Called before the first connection, and again if the server rejects the password.
#[async_trait]
pub trait PasswordSource: Send + Sync {
    /// Returns the password, or a hint that says how to provide it. The hint must not contain a secret.
    async fn fetch(&self) -> Result<SecretString, String>;
}

#[async_trait]
impl PasswordSource for SecretString {
    async fn fetch(&self) -> Result<SecretString, String> {
        Ok(self.clone())
    }
}

/// The URL of a database and its password: `mysql://USER:PASSWORD@HOST:PORT/DATABASE`. Several hosts are separated by commas
/// and tried in order.
///
/// ```
/// # use osier_store_mysql::{Credentials, Limits, MySqlStore};
/// # use secrecy::SecretString;
/// let credentials = Credentials::new("mysql://osier@db.example/osier").with_password(SecretString::from("secret"));
/// assert_eq!(format!("{credentials:?}"), r#"Credentials("mysql://osier@db.example/osier")"#);
/// let store = MySqlStore::new("team", &credentials, Limits::default())?;
/// # Ok::<(), osier_store::StoreError>(())
/// ```
#[derive(Clone)]
pub struct Credentials {
    url: SecretString,
    password: Option<Arc<dyn PasswordSource>>,
}

impl Credentials {
    pub fn new(url: impl Into<SecretString>) -> Credentials {
        Credentials { url: url.into(), password: None }
    }

    /// Sets the password, which overrides the one in the URL.
    pub fn with_password(self, password: impl PasswordSource + 'static) -> Credentials {
        Credentials { password: Some(Arc::new(password)), ..self }
    }

    /// The URL without its password.
    pub fn redacted_url(&self) -> String {
        without_password(self.url.expose_secret())
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Credentials").field(&self.redacted_url()).finish()
    }
}

/// The address of a database, as connection options of the driver.
#[derive(Clone)]
pub(crate) struct DatabaseAddress {
    /// One per host, in the order in which they are tried.
    hosts: Vec<MySqlConnectOptions>,
    password: Option<Arc<dyn PasswordSource>>,
}

impl DatabaseAddress {
    pub(crate) fn parse(store: &str, credentials: &Credentials) -> Result<DatabaseAddress, StoreError> {
        let hosts = one_url_per_host(credentials.url.expose_secret());
        let hosts = hosts.iter().map(|url| parse_options(url)).collect::<Result<Vec<_>, _>>();
        let hosts = hosts.map_err(|error| AttemptError::Sql(error).into_store_error(store))?;
        Ok(DatabaseAddress { hosts, password: credentials.password.clone() })
    }

    pub(crate) fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// `HOST:PORT` or the socket.
    pub(crate) fn host_label(&self, at: usize) -> String {
        match &self.hosts[at] {
            options if options.get_socket().is_some() => "unix socket".to_owned(),
            options => format!("{}:{}", options.get_host(), options.get_port()),
        }
    }

    /// The connection options for each host. `known` caches the password between calls.
    pub(crate) async fn connect_options(
        &self,
        known: &tokio::sync::Mutex<Option<SecretString>>,
    ) -> Result<Vec<MySqlConnectOptions>, AttemptError> {
        let Some(password) = &self.password else { return Ok(self.hosts.clone()) };
        let mut known = known.lock().await;
        if known.is_none() {
            *known = Some(password.fetch().await.map_err(AttemptError::MissingPassword)?);
        }
        let secret = known.as_ref().map_or("", |password| password.expose_secret());
        Ok(self.hosts.iter().map(|options| options.clone().password(secret)).collect())
    }
}

impl fmt::Debug for DatabaseAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = (0..self.hosts.len()).map(|at| self.host_label(at)).collect();
        let database = self.hosts.first().and_then(MySqlConnectOptions::get_database).unwrap_or("");
        write!(f, "{}/{database}", hosts.join(","))
    }
}

fn parse_options(url: &str) -> Result<MySqlConnectOptions, sqlx::Error> {
    let options = MySqlConnectOptions::from_str(url)?;
    // `Engine::setup_statements` configures the connection in fewer round trips and only with options the engine supports.
    let plain = options.pipes_as_concat(false).no_engine_substitution(false).timezone(None);
    let options = plain.set_names(false).disable_statement_logging();
    let stays_here = options.get_socket().is_some() || is_local_host(options.get_host());
    Ok(match stays_here || has_ssl_mode(url) {
        true => options,
        false => options.ssl_mode(MySqlSslMode::VerifyIdentity),
    })
}

/// The URL itself, or one URL per host if it names several: `mysql://USER@HOST:PORT,HOST:PORT/DATABASE`.
pub(crate) fn one_url_per_host(url: &str) -> Vec<String> {
    let split = || {
        let (scheme, rest) = url.split_once("://")?;
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (user, hosts) = authority.rsplit_once('@').map_or(("", authority), |(user, hosts)| (user, hosts));
        let user = if authority.contains('@') { format!("{user}@") } else { String::new() };
        let hosts = hosts.split(',').map(|host| format!("{scheme}://{user}{host}{path}"));
        Some(hosts.collect::<Vec<_>>()).filter(|hosts| hosts.len() > 1)
    };
    split().unwrap_or_else(|| vec![url.to_owned()])
}

/// Whether the host is this machine, so traffic to it never crosses a network.
fn is_local_host(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Whether the URL sets the TLS mode.
fn has_ssl_mode(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.query_pairs().any(|(key, _)| key == "ssl-mode" || key == "sslmode"))
}

#[cfg(test)]
mod tests {
    use super::{Credentials, DatabaseAddress};

    #[test]
    fn remote_host_requires_a_verified_certificate_unless_the_url_sets_ssl_mode() {
        for (url, mode) in [
            ("mysql://osier@db.example/osier", "VerifyIdentity"),
            ("mysql://osier@10.0.0.1/osier?ssl-ca=/x", "VerifyIdentity"),
            ("mysql://osier@localhost.evil/osier", "VerifyIdentity"),
            ("mysql://osier@[2001:db8::1]/osier", "VerifyIdentity"),
            ("mysql://osier@db.example/osier?ssl-mode=REQUIRED", "Required"),
            ("mysql://osier@db.example/osier?sslmode=PREFERRED", "Preferred"),
            ("mysql://osier@db.example/osier?socket=/run/x.sock", "Preferred"),
            ("mysql://osier@Localhost/osier", "Preferred"),
            ("mysql://osier@127.0.0.2:1/osier", "Preferred"),
            ("mysql://osier@[::1]/osier", "Preferred"),
            ("mysql:///osier", "Preferred"),
        ] {
            let address = DatabaseAddress::parse("team", &Credentials::new(url)).unwrap();
            assert_eq!(format!("{:?}", address.hosts[0].get_ssl_mode()), mode, "{url}");
        }
    }

    #[test]
    fn url_with_several_hosts_gives_each_host_its_own_tls_mode() {
        let url = "mysql://osier:a,b@db1:1,[2001:db8::1]:2,127.0.0.1/osier?ssl-ca=/x";
        let address = DatabaseAddress::parse("team", &Credentials::new(url)).unwrap();
        assert_eq!(format!("{address:?}"), "db1:1,[2001:db8::1]:2,127.0.0.1:3306/osier");
        let modes: Vec<_> = address.hosts.iter().map(|host| format!("{:?}", host.get_ssl_mode())).collect();
        assert_eq!(modes, ["VerifyIdentity", "VerifyIdentity", "Preferred"]);
        assert!(address.hosts.iter().all(|host| host.get_username() == "osier"));
        assert!(
            DatabaseAddress::parse("team", &Credentials::new("mysql://osier@db1,db2:port/osier")).is_err()
        );
    }
}
