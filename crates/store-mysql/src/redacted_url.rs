//! Database URLs for display: parsed by the driver's own rules, without passwords. A user who is asked to trust a server must
//! see the server that is actually used.

use url::{Url, form_urlencoded};

use crate::settings::one_url_per_host;

/// Replaces hidden parts.
const HIDDEN: &str = "…";

/// The options that the driver supports. All others have no effect and may contain a secret, so they are hidden.
const DRIVER_OPTIONS: [&str; 14] = [
    "ssl-mode",
    "sslmode",
    "ssl-ca",
    "sslca",
    "ssl-cert",
    "sslcert",
    "ssl-key",
    "sslkey",
    "socket",
    "charset",
    "collation",
    "timezone",
    "time-zone",
    "statement-cache-capacity",
];

/// The URL of a database with user, host, port, database, and options, but without a password. An `@` in it is always
/// followed by the host. Never fails: a URL that the driver cannot parse is hidden completely.
pub fn without_password(url: &str) -> String {
    let hosts = one_url_per_host(url);
    let Ok(parsed) = hosts.iter().map(|url| Url::parse(url)).collect::<Result<Vec<_>, _>>() else {
        return if url.is_empty() { String::new() } else { HIDDEN.to_owned() };
    };
    let [url, others @ ..] = parsed.as_slice() else { return HIDDEN.to_owned() };
    // An unencoded comma in a password looks like a separator between hosts.
    if !others.is_empty() && url.path().contains('@') {
        return HIDDEN.to_owned();
    }
    let user = match url.username() {
        "" => String::new(),
        user => format!("{user}@"),
    };
    let hosts: Vec<String> = parsed.iter().map(host_and_port).collect();
    format!("{}://{user}{}{}{}", url.scheme(), hosts.join(","), database_path(url), query_string(url))
}

fn host_and_port(url: &Url) -> String {
    let host = url.host_str().filter(|host| !host.is_empty()).unwrap_or("localhost");
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    format!("{host}{port}")
}

fn database_path(url: &Url) -> String {
    let path = url.path().trim_start_matches('/');
    match path.rsplit_once('@') {
        // The end of a password that is not percent-encoded ends up here.
        Some((_, end)) => format!("/{HIDDEN}%40{end}"),
        None if path.is_empty() => String::new(),
        None if url.has_authority() => format!("/{path}"),
        None => format!("/{HIDDEN}"),
    }
}

fn query_string(url: &Url) -> String {
    let known = url.query_pairs().filter(|(key, _)| DRIVER_OPTIONS.contains(&&**key));
    let shown = known.map(|(key, value)| format!("{key}={}", encode_option(&value)));
    let all = shown.collect::<Vec<_>>().join("&");
    if all.is_empty() { all } else { format!("?{all}") }
}

/// A decoded value, encoded again only where a URL requires it.
fn encode_option(value: &str) -> String {
    if value.trim().starts_with("-----BEGIN") {
        return HIDDEN.to_owned();
    }
    let plain = |byte: &u8| byte.is_ascii_graphic() && !b"&#%+@".contains(byte);
    let encoded = |byte: u8| match plain(&byte) {
        true => char::from(byte).to_string(),
        false => form_urlencoded::byte_serialize(&[byte]).collect(),
    };
    value.bytes().map(encoded).collect()
}

#[cfg(test)]
mod tests {
    use std::str::FromStr;

    use sqlx::mysql::MySqlConnectOptions;
    use url::Url;

    use super::without_password;

    #[test]
    fn url_is_shown_without_its_password() {
        for (url, shown) in [
            ("mysql://osier:secret@db.example:3306/osier", "mysql://osier@db.example:3306/osier"),
            ("mysql://osier:se:c@ret@db/osier?ssl-ca=/x&password=secret", "mysql://osier@db/osier?ssl-ca=/x"),
            ("mysql://osier@db/osier?password=sec@ret", "mysql://osier@db/osier"),
            ("mysql://osier@db/osier?secret#secret", "mysql://osier@db/osier"),
            ("mysql://db/?ssl-key=-----BEGIN%20KEY-----secret-----", "mysql://db?ssl-key=…"),
            ("mysql://osier:12/secret@db/osier", "mysql://osier:12/…%40db/osier"),
            ("mysql://osier:se/cret@db/osier", "…"),
            ("mysql://:secret@db", "mysql://db"),
            ("osier:secret@db", "osier://localhost/…%40db"),
            ("osier:secret", "osier://localhost/…"),
            ("mysql:/osier:secret@db", "mysql://localhost/…%40db"),
            ("mysql://osier:se,cret@db1:1,db2/osier?ssl-ca=/x", "mysql://osier@db1:1,db2/osier?ssl-ca=/x"),
            ("mysql://osier:12,se/cret@db/osier", "…"),
            ("mysql://osier:se,cr/et@db/osier", "…"),
            ("secret", "…"),
            ("", ""),
        ] {
            assert_eq!(without_password(url), shown, "{url}");
        }
    }

    #[test]
    fn displayed_url_names_the_server_that_is_used() {
        for (url, shown) in [
            ("mysql://203.0.113.9:3306/x@db.company/osier", "mysql://203.0.113.9:3306/…%40db.company/osier"),
            ("mysql://me@203.0.113.9/osier?x=@db.company/osier", "mysql://me@203.0.113.9/osier"),
            ("mysql://me@203.0.113.9#@db.company/osier", "mysql://me@203.0.113.9"),
            ("mysql://db.company@203.0.113.9/osier", "mysql://db.company@203.0.113.9/osier"),
            ("mysql://db.company%2fosier:x@evil/y", "mysql://db.company%2fosier@evil/y"),
            ("mysql://me@db\t.evil/osier", "mysql://me@db.evil/osier"),
            ("mysql://me@[2001:db8::1]:1/osier", "mysql://me@[2001:db8::1]:1/osier"),
            ("mysql://me@db/osier?%73ocket=%2Ftmp%2fx%0a", "mysql://me@db/osier?socket=/tmp/x%0A"),
            (
                "mysql://me@db/osier?ssl-mode=DIS%41BLED&socket=/a@b",
                "mysql://me@db/osier?ssl-mode=DISABLED&socket=/a%40b",
            ),
            ("mysql:///osier?socket=/run/mysqld.sock", "mysql://localhost/osier?socket=/run/mysqld.sock"),
        ] {
            assert_eq!(without_password(url), shown);
            let read = |url: &str| {
                let options = MySqlConnectOptions::from_str(url).unwrap();
                let (host, user) = (options.get_host().to_owned(), options.get_username().to_owned());
                let tls = format!("{:?}", options.get_ssl_mode());
                (host, options.get_port(), user, options.get_socket().cloned(), tls)
            };
            assert_eq!(read(url), read(shown), "{url}");
            assert!(Url::parse(shown).is_ok());
        }
    }
}
