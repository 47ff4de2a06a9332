//! `osier serve`: sessions over HTTP and WebSockets.

mod tls;
pub(crate) mod token;

use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::Arc;

use anyhow::{Context, Result};
use osier_engine::{AllowedDirectories, KeepWhen};
use osier_extensions::ExtensionMode;
use osier_gateway::{
    Gateway, GatewayConfig, GatewayToken, GrantedAccess, HostRules, Limits, Server, TokenFile,
};
use osier_local_engine::{LocalEngine, LocalEngineOptions};
use serde_json::json;

use crate::closing::close_sessions;
use crate::extensions::{self, ExtensionArgs};
use crate::failure::usage_error;
use crate::home::{Home, env_var};
use crate::layout::sanitize_line;
use crate::output_writer::{OutputWriter, notice};
use crate::run::forbid_memory_dumps;
use crate::run::signals::Signals;
use crate::running_gateway;

pub(crate) const DEFAULT_PORT: u16 = 7433;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier serve                                          only for this machine
  osier serve --open                                   and open the page
  osier serve --host 0.0.0.0 --tls-cert c.pem --tls-key k.pem
  ssh -L 7433:localhost:7433 server                    reach a gateway on another machine

Prints the address and a link that works once and for ten minutes; `osier token link` prints another one.
Programs send the token in gateway-token in Osier's home folder. Only sessions of the directories in the setting
gateway.directories can be opened; by default, those of the current directory. Ctrl-C cancels running turns and
stores their results.")]
pub(crate) struct Args {
    /// Address to listen on; one that other machines can reach needs TLS or --behind-proxy
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Port to listen on; 0 chooses a free one
    #[arg(long, default_value_t = DEFAULT_PORT)]
    port: u16,
    /// Open the page in a browser
    #[arg(long)]
    open: bool,
    /// Replace the token first; everything that was given out with the old one stops working
    #[arg(long)]
    rotate_token: bool,
    /// Certificate chain in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// Private key in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// A proxy in front of the gateway provides TLS and keeps the header Host
    #[arg(long, conflicts_with = "tls_cert")]
    behind_proxy: bool,
    /// Load an extension, a TypeScript or JavaScript file or a folder with one; can be repeated
    #[arg(short = 'e', long = "extension", value_name = "FILE")]
    extensions: Vec<PathBuf>,
    /// Host name that requests may use; repeat for several
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Load no extensions except those of --extension
    #[arg(long)]
    no_extensions: bool,
    /// Print the address and the link as JSON
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Other machines must not send tokens over an open network.
    fn check(&self) -> Result<()> {
        let is_safe = self.host.is_loopback() || self.tls_cert.is_some() || self.behind_proxy;
        if is_safe {
            return Ok(());
        }
        let host = self.host;
        Err(usage_error(format!(
            "--host {host} can be reached from other machines: add --tls-cert and --tls-key, or --behind-proxy if a \
             proxy provides TLS"
        )))
    }

    fn extension_args(&self) -> ExtensionArgs {
        ExtensionArgs { extensions: self.extensions.clone(), no_extensions: self.no_extensions }
    }

    fn is_secure(&self) -> bool {
        self.tls_cert.is_some() || self.behind_proxy
    }

    /// The URL that browsers use.
    fn public_url(&self, address: SocketAddr) -> String {
        match (self.allow_host.first().map(String::as_str), self.behind_proxy) {
            // The proxy listens on the port for https. Its own address is not known here.
            (Some(name), true) => format!("https://{name}"),
            (name, _) => base_url(self.tls_cert.is_some(), name, address),
        }
    }

    fn host_rules(&self) -> HostRules {
        HostRules {
            names: self.allow_host.clone(),
            addresses: !self.host.is_loopback(),
            https: self.is_secure(),
        }
    }
}

pub(crate) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    args.check()?;
    forbid_memory_dumps();
    let token = load_token(&args, &home)?;
    let mut server = Server::bind(SocketAddr::new(args.host, args.port))
        .await
        .with_context(|| format!("cannot listen on {}:{}; try another --port", args.host, args.port))?;
    if let (Some(cert), Some(key)) = (&args.tls_cert, &args.tls_key) {
        server = server.with_tls(tls::server_config(cert, key)?);
    }
    let address = server.address()?;
    let _mark = running_gateway::mark(&home.folder, address.port(), &args.public_url(address))
        .with_context(|| format!("cannot write in {}", home.folder.display()))?;
    let directories = AllowedDirectories::only(&home.gateway_directories());
    let used_links = home.folder.join("gateway-links");
    let (home, _extensions) = extensions::register(home, &args.extension_args(), ExtensionMode::Rpc)?;
    let engine = Arc::new(local_engine(home, directories.clone()));
    let gateway = Arc::new(Gateway::new(GatewayConfig {
        engine: engine.engine(),
        default_store: engine.home().default_store().to_owned(),
        client: engine.clone(),
        token,
        hosts: args.host_rules(),
        directories,
        default_directory: engine.default_directory(),
        used_links,
        port: address.port(),
        is_secure: args.is_secure(),
        limits: Limits::default(),
        web_files: web_files(),
    }));
    let mut signals = Signals::listen()?;
    let link = announce(&args, address, &gateway)?;
    let _page = args.open.then(|| open_browser(&link)).flatten();
    let stop = async {
        signals.next().await;
    };
    server.run(gateway, stop).await;
    close_sessions(&engine.engine()).await;
    Ok(ExitCode::SUCCESS)
}

fn load_token(args: &Args, home: &Home) -> Result<TokenFile> {
    let file = GatewayToken::file(&home.folder);
    Ok(match args.rotate_token {
        true => TokenFile::rotate(&file)?,
        false => TokenFile::open(&file)?,
    })
}

/// The folder with changed files of the page. Only debug builds use it.
fn web_files() -> Option<PathBuf> {
    env_var("OSIER_WEB_FILES").filter(|_| cfg!(debug_assertions)).map(PathBuf::from)
}

fn local_engine(home: Home, directories: AllowedDirectories) -> LocalEngine {
    let options = LocalEngineOptions {
        has_user: true,
        is_shared: true,
        keep: KeepWhen::Used,
        directories,
        ..LocalEngineOptions::default()
    };
    LocalEngine::new(home, options)
}

/// Prints the address and a one-time link. Returns the link.
fn announce(args: &Args, address: SocketAddr, gateway: &Gateway) -> Result<String> {
    let url = args.public_url(address);
    let link = format!("{url}{}", gateway.login_path(GrantedAccess::Full)?);
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&json!({ "url": url, "address": address.to_string(), "link": link }))?;
    } else {
        out.line(&sanitize_line(&format!("Serving on {url}")))?;
        out.line(&sanitize_line(&format!("Open {link}")))?;
        out.line("The link works once, for ten minutes. Ctrl-C stops the gateway.")?;
    }
    out.finish()?;
    Ok(link)
}

/// The URL for browsers on this machine, or with the name that others use.
pub(crate) fn base_url(is_tls: bool, name: Option<&str>, address: SocketAddr) -> String {
    let scheme = if is_tls { "https" } else { "http" };
    let host = match (name, address.ip()) {
        (Some(name), _) => name.to_owned(),
        (None, ip) if ip.is_unspecified() => "localhost".to_owned(),
        (None, IpAddr::V6(ip)) => format!("[{ip}]"),
        (None, ip) => ip.to_string(),
    };
    format!("{scheme}://{host}:{}", address.port())
}

/// Opens a link in the browser of the user. Returns a file that must exist until then.
fn open_browser(link: &str) -> Option<tempfile::TempPath> {
    // Other users can see the arguments of a command. So the browser gets a private file that leads to the link.
    let page = page_with_link(link)
        .map_err(|error| notice(&format!("osier: cannot open a browser: {error}")))
        .ok()?;
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let started = std::process::Command::new(program)
        .arg(AsRef::<Path>::as_ref(&page))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        Ok(mut child) => drop(std::thread::spawn(move || {
            // Without a desktop, the program starts and finds no browser.
            if child.wait().is_ok_and(|status| !status.success()) {
                notice("osier: no browser was opened; open the link yourself");
            }
        })),
        Err(_) => notice(&format!("osier: cannot open a browser: no program {program}")),
    }
    Some(page)
}

fn page_with_link(link: &str) -> std::io::Result<tempfile::TempPath> {
    use std::io::Write;
    let mut file = tempfile::Builder::new().prefix("osier-").suffix(".html").tempfile()?;
    write!(
        file,
        "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url={link}\"><a href=\"{link}\">Osier</a>"
    )?;
    Ok(file.into_temp_path())
}
