//! `osier token`: links and tokens for a gateway. They are signed with the token in the home folder, so a running gateway accepts
//! them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;
use osier_gateway::{COOKIE_LIFETIME, GatewayToken, GrantedAccess, login_path, read_only_token};
use osier_protocol::SessionRef;
use serde_json::json;

use super::{DEFAULT_PORT, base_url};
use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::output_writer::{OutputWriter, notice};
use crate::running_gateway;
use crate::target;

const MAX_LIFETIME: Duration = Duration::from_secs(365 * 24 * 60 * 60);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier token link                             a link that logs a browser in, once
  osier token create 4f89da11 --expires 1h     a token that can only read one session
  osier token create 4f89da11 --link           a link that shows only that session
  osier token path

Links and tokens are for gateways that use the same home folder. `osier serve --rotate-token` makes all of them invalid.
Prints the link, the token or the path.")]
pub(crate) struct Args {
    #[command(subcommand)]
    command: TokenCommand,
    /// Print as JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum TokenCommand {
    /// Print a link that logs a browser in; it works once, for ten minutes
    Link(LinkArgs),
    /// Print a token that can only read one session
    Create {
        /// Session: the first characters of its id
        session: String,
        /// How long it is valid: a number and s, m, h or d
        #[arg(long, value_name = "TIME", default_value = "1h", value_parser = parse_lifetime)]
        expires: Duration,
        /// Print a link that gives a browser the token; it works once, for ten minutes
        #[arg(long)]
        link: bool,
        #[command(flatten)]
        address: LinkArgs,
    },
    /// Print the path of the file with the token
    Path,
}

#[derive(Debug, clap::Args)]
struct LinkArgs {
    /// URL of the gateway; by default, that of the one that runs on this machine
    #[arg(long, value_name = "URL", value_parser = parse_url)]
    url: Option<String>,
    /// Port of the gateway on this machine
    #[arg(long, conflicts_with = "url")]
    port: Option<u16>,
}

impl LinkArgs {
    fn link(&self, home: &Home, path: &str) -> Result<String> {
        let url = match (&self.url, self.port) {
            (Some(url), _) => url.clone(),
            (None, Some(port)) => local_url(port),
            (None, None) => running_url(home)?,
        };
        Ok(format!("{}{path}", url.trim_end_matches('/')))
    }
}

fn local_url(port: u16) -> String {
    base_url(false, None, SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port))
}

/// The URL of the gateway of this home folder that runs on this machine.
fn running_url(home: &Home) -> Result<String> {
    match running_gateway::running_urls(&home.folder).as_slice() {
        [url] => Ok(url.clone()),
        [] => {
            let url = local_url(DEFAULT_PORT);
            notice(&format!("osier: no gateway of this home folder is running; the link is for {url}"));
            Ok(url)
        }
        several => Err(usage_error(format!(
            "several gateways are running; choose one with --url: {}",
            sanitize_line(&several.join(", "))
        ))),
    }
}

pub(crate) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    let file = GatewayToken::file(&home.folder);
    let note = link_note(&args.command).filter(|_| !args.json);
    let (field, text) = match args.command {
        TokenCommand::Path => ("path", file.to_string_lossy().into_owned()),
        TokenCommand::Link(address) => {
            let token = GatewayToken::load_or_create(&file)?;
            ("link", address.link(&home, &login_path(&token, GrantedAccess::Full, COOKIE_LIFETIME)?)?)
        }
        TokenCommand::Create { session, expires, link, address } => {
            let token = GatewayToken::load_or_create(&file)?;
            let stored = target::find(&home, &session).await?;
            let session = SessionRef { store: stored.store.name().into(), key: stored.key };
            match link {
                true => {
                    let path = login_path(&token, GrantedAccess::ReadSession(session), expires)?;
                    ("link", address.link(&home, &path)?)
                }
                false => ("token", read_only_token(&token, session, expires)?),
            }
        }
    };
    let mut out = OutputWriter::new();
    match args.json {
        true => out.json(&json!({ field: text }))?,
        false => out.line(&sanitize_line(&text))?,
    }
    let code = out.finish()?;
    note.iter().for_each(|note| notice(note));
    Ok(code)
}

/// How long a link works, which its own text does not show.
fn link_note(command: &TokenCommand) -> Option<String> {
    const ONCE: &str = "The link works once, for ten minutes; a preview in a chat may use it up.";
    match command {
        TokenCommand::Link(_) => Some(ONCE.to_owned()),
        TokenCommand::Create { link: true, expires, .. } => {
            let lifetime = format_lifetime(*expires);
            Some(format!("{ONCE} The browser that opens it can then read the session for {lifetime}."))
        }
        TokenCommand::Create { .. } | TokenCommand::Path => None,
    }
}

fn format_lifetime(lifetime: Duration) -> String {
    let seconds = lifetime.as_secs();
    let units = [(24 * 60 * 60, "d"), (60 * 60, "h"), (60, "m"), (1, "s")];
    let whole = units.iter().find(|(unit, _)| seconds.is_multiple_of(*unit));
    whole.map_or_else(String::new, |(unit, name)| format!("{}{name}", seconds / unit))
}

/// The URL of a gateway, which a browser opens.
fn parse_url(text: &str) -> Result<String, String> {
    let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    match host.is_some_and(|host| host.starts_with(|first: char| first.is_alphanumeric() || first == '[')) {
        true => Ok(text.to_owned()),
        false => Err("give a URL with http:// or https://, such as http://127.0.0.1:7433".to_owned()),
    }
}

fn parse_lifetime(text: &str) -> Result<Duration, String> {
    let wrong = || "give a number and s, m, h or d, such as 90m; at most 365d".to_owned();
    let unit = text.chars().last().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 60 * 60,
        'd' => 24 * 60 * 60,
        _ => return Err(wrong()),
    };
    let count: u32 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let lifetime = Duration::from_secs(u64::from(count) * seconds);
    if lifetime.is_zero() || lifetime > MAX_LIFETIME { Err(wrong()) } else { Ok(lifetime) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_for_a_browser() {
        for url in ["http://127.0.0.1:7433", "https://box.example/osier/", "http://[::1]:7433"] {
            assert_eq!(parse_url(url), Ok(url.to_owned()));
        }
        for wrong in ["ftp://x", "box.example", "http://", "https:///x", "ws://box", ""] {
            assert!(parse_url(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_lifetime_is_a_number_and_a_unit() {
        let seconds = |text| parse_lifetime(text).map(|lifetime| lifetime.as_secs());
        assert_eq!(seconds("90s"), Ok(90));
        assert_eq!(seconds("90m"), Ok(5400));
        assert_eq!(seconds("1h"), Ok(3600));
        assert_eq!(seconds("365d"), Ok(365 * 86_400));
        for same in ["90s", "90m", "1h", "365d"] {
            assert_eq!(parse_lifetime(same).map(format_lifetime), Ok(same.to_owned()));
        }
        for wrong in ["", "h", "0h", "366d", "-1h", "1.5h", "1w", "1é", "99999999999h"] {
            assert!(seconds(wrong).is_err(), "{wrong}");
        }
    }
}
