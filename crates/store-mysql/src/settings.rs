//! Where a database is, who a store is to it, and how patient it is. Never shows a password.
//!
//! A password may stand in the url, or come from elsewhere: whoever makes the store brings a [`Password`], which is asked
//! when a connection needs it and not before. What reads variables and files or runs commands is not here.

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

use crate::failure::Failure;
use crate::shown::without_password;

/// How long a store waits, and how much it takes of the server.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// For a connection.
    pub reach: Duration,
    /// For a connection, when sessions are listed or looked for: others are asked too, and should not be held up.
    pub glance: Duration,
    /// For an answer; a second more for each MiB that is sent.
    pub answer: Duration,
    /// For a server that is away or busy with other transactions, before the caller is told.
    pub patience: Duration,
    /// Connections at once.
    pub connections: usize,
    /// A connection that was not used for so long is not trusted: routers forget those without a word.
    pub idle: Duration,
    /// How long a session still counts as open when the process that has it open was killed. Whole seconds.
    pub hold: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            reach: Duration::from_secs(5),
            glance: Duration::from_secs(2),
            answer: Duration::from_secs(20),
            patience: Duration::from_secs(3),
            connections: 8,
            idle: Duration::from_secs(60),
            hold: Duration::from_secs(30),
        }
    }
}

/// Knows the password of a store. It is asked before the first connection, and again if the server refuses what it said.
#[async_trait]
pub trait Password: Send + Sync {
    /// The password, or why there is none: a hint that says what to do, and holds no secret.
    async fn fetch(&self) -> Result<SecretString, String>;
}

#[async_trait]
impl Password for SecretString {
    async fn fetch(&self) -> Result<SecretString, String> {
        Ok(self.clone())
    }
}

/// Where a database is, and who asks it: `mysql://USER:PASSWORD@HOST:PORT/DATABASE`. Several hosts are separated by commas
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
    password: Option<Arc<dyn Password>>,
}

impl Credentials {
    pub fn new(url: impl Into<SecretString>) -> Credentials {
        Credentials { url: url.into(), password: None }
    }

    /// The password that counts instead of the one in the url.
    pub fn with_password(self, password: impl Password + 'static) -> Credentials {
        Credentials { password: Some(Arc::new(password)), ..self }
    }

    /// The url as anybody may see it.
    pub fn shown(&self) -> String {
        without_password(self.url.expose_secret())
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Credentials").field(&self.shown()).finish()
    }
}

/// A database, as the driver wants to have it.
#[derive(Clone)]
pub(crate) struct Address {
    /// One for each host, in the order in which they are tried.
    hosts: Vec<MySqlConnectOptions>,
    password: Option<Arc<dyn Password>>,
}

impl Address {
    pub(crate) fn read(store: &str, credentials: &Credentials) -> Result<Address, StoreError> {
        let hosts = one_url_per_host(credentials.url.expose_secret());
        let hosts = hosts.iter().map(|url| read_options(url)).collect::<Result<Vec<_>, _>>();
        let hosts = hosts.map_err(|error| Failure::Sql(error).told(store))?;
        Ok(Address { hosts, password: credentials.password.clone() })
    }

    pub(crate) fn host_count(&self) -> usize {
        self.hosts.len()
    }

    /// `HOST:PORT` or the socket.
    pub(crate) fn host(&self, at: usize) -> String {
        match &self.hosts[at] {
            options if options.get_socket().is_some() => "its socket".to_owned(),
            options => format!("{}:{}", options.get_host(), options.get_port()),
        }
    }

    /// What to connect with, for each host. `known` is the password as it was said before; it is kept for the next time.
    pub(crate) async fn options(
        &self,
        known: &tokio::sync::Mutex<Option<SecretString>>,
    ) -> Result<Vec<MySqlConnectOptions>, Failure> {
        let Some(password) = &self.password else { return Ok(self.hosts.clone()) };
        let mut known = known.lock().await;
        if known.is_none() {
            *known = Some(password.fetch().await.map_err(Failure::NoPassword)?);
        }
        let told = known.as_ref().map_or("", |password| password.expose_secret());
        Ok(self.hosts.iter().map(|options| options.clone().password(told)).collect())
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = (0..self.hosts.len()).map(|at| self.host(at)).collect();
        let database = self.hosts.first().and_then(MySqlConnectOptions::get_database).unwrap_or("");
        write!(f, "{}/{database}", hosts.join(","))
    }
}

fn read_options(url: &str) -> Result<MySqlConnectOptions, sqlx::Error> {
    let options = MySqlConnectOptions::from_str(url)?;
    // The store says itself what a session needs, in fewer round trips and without what others may not know.
    let plain = options.pipes_as_concat(false).no_engine_substitution(false).timezone(None);
    let options = plain.set_names(false).disable_statement_logging();
    let stays_here = options.get_socket().is_some() || is_here(options.get_host());
    Ok(match stays_here || says_ssl_mode(url) {
        true => options,
        false => options.ssl_mode(MySqlSslMode::VerifyIdentity),
    })
}

/// The url itself, or one for each host if it names several: `mysql://USER@HOST:PORT,HOST:PORT/DATABASE`.
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

/// Whether whoever reads what goes to a host sits on this machine anyway.
fn is_here(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Whether an url says how far encryption goes.
fn says_ssl_mode(url: &str) -> bool {
    Url::parse(url).is_ok_and(|url| url.query_pairs().any(|(key, _)| key == "ssl-mode" || key == "sslmode"))
}

#[cfg(test)]
mod tests {
    use super::{Address, Credentials};

    #[test]
    fn a_server_elsewhere_must_show_whose_certificate_it_has_unless_the_url_says_otherwise() {
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
            let address = Address::read("team", &Credentials::new(url)).unwrap();
            assert_eq!(format!("{:?}", address.hosts[0].get_ssl_mode()), mode, "{url}");
        }
    }

    #[test]
    fn a_url_may_name_several_hosts_each_with_its_own_rules() {
        let url = "mysql://osier:a,b@db1:1,[2001:db8::1]:2,127.0.0.1/osier?ssl-ca=/x";
        let address = Address::read("team", &Credentials::new(url)).unwrap();
        assert_eq!(format!("{address:?}"), "db1:1,[2001:db8::1]:2,127.0.0.1:3306/osier");
        let modes: Vec<_> = address.hosts.iter().map(|host| format!("{:?}", host.get_ssl_mode())).collect();
        assert_eq!(modes, ["VerifyIdentity", "VerifyIdentity", "Preferred"]);
        assert!(address.hosts.iter().all(|host| host.get_username() == "osier"));
        assert!(Address::read("team", &Credentials::new("mysql://osier@db1,db2:port/osier")).is_err());
    }
}
