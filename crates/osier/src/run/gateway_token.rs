//! The token for a gateway: from a variable, a file, the home folder if it is a gateway of this folder, or a question.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result};
use osier_gateway::GatewayToken;
use osier_wire::WebSocketConnector;
use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use tokio::sync::oneshot;

use super::args::Args;
use super::gateway_url::local_port;
use super::signals::Signals;
use crate::failure::{fail, usage_error};
use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::running_gateway;

/// The longest file that can be a token.
const MAX_FILE: u64 = 4096;

/// The token; `None` if the user gives an empty one.
pub(super) async fn find(
    args: &Args,
    home: &Home,
    url: &str,
    gateway: &WebSocketConnector,
) -> Result<Option<String>> {
    if let Some(file) = &args.token_file {
        return read_file(file).map(Some);
    }
    if let Some(token) = home::env_var("OSIER_TOKEN") {
        return Ok(Some(token.trim().to_owned()));
    }
    let own = GatewayToken::file(&home.folder);
    let is_own = local_port(url).is_some_and(|port| running_gateway::is_marked(&home.folder, port));
    if is_own && own.is_file() {
        return read_file(&own).map(Some);
    }
    if std::io::stdin().is_terminal() {
        gateway.check_reachable().await?;
    }
    ask(gateway.address()).await
}

fn read_file(path: &Path) -> Result<String> {
    let display_path = sanitize_line(&path.to_string_lossy());
    let size = path.metadata().with_context(|| format!("cannot read the token in {display_path}"))?;
    if !size.is_file() || size.len() > MAX_FILE {
        return Err(usage_error(format!("{display_path} is not a file with a token")));
    }
    let token =
        std::fs::read_to_string(path).with_context(|| format!("cannot read the token in {display_path}"))?;
    match token.trim() {
        "" => Err(usage_error(format!("{display_path} is empty"))),
        token => Ok(token.to_owned()),
    }
}

/// Asks for the token without showing what is typed.
async fn ask(url: &str) -> Result<Option<String>> {
    if !std::io::stdin().is_terminal() {
        return Err(usage_error("no token for the gateway; set OSIER_TOKEN, or use --token-file FILE"));
    }
    let mut signals = Signals::listen()?;
    // Before the question, which a user or a program may answer at once.
    let hidden = HiddenInput::start()?;
    let mut stderr = std::io::stderr();
    write!(stderr, "Token for {}: ", sanitize_line(url))?;
    stderr.flush()?;
    let (line, read) = oneshot::channel();
    // A thread that waits for input does not delay the end of the program.
    std::thread::spawn(move || {
        let mut text = String::new();
        let _ = line.send(std::io::stdin().lock().read_line(&mut text).map(|_| text));
    });
    let token = tokio::select! {
        read = read => Some(read),
        _ = signals.next() => None,
    };
    drop(hidden);
    writeln!(stderr)?;
    match token {
        Some(token) => {
            let token = token.context("cannot read the token")??;
            Ok(Some(token.trim().to_owned()).filter(|token| !token.is_empty()))
        }
        None => fail!(Cancelled, "no token for the gateway; set OSIER_TOKEN, or use --token-file FILE"),
    }
}

/// Hides what is typed until it is dropped.
struct HiddenInput {
    shown: Termios,
}

impl HiddenInput {
    fn start() -> Result<HiddenInput> {
        let shown = tcgetattr(std::io::stdin())?;
        let mut hidden = shown.clone();
        hidden.local_modes.remove(LocalModes::ECHO);
        tcsetattr(std::io::stdin(), OptionalActions::Flush, &hidden)?;
        Ok(HiddenInput { shown })
    }
}

impl Drop for HiddenInput {
    fn drop(&mut self) {
        // If the terminal is gone, nothing is shown in it.
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Flush, &self.shown);
    }
}
