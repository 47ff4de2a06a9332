//! The token for a gateway: from a variable, a file, the home folder if it is a gateway of this folder, or a question.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use anyhow::{Context, Result};
use osier_gateway::GatewayToken;
use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};

use super::args::Args;
use super::gateway_url::local_port;
use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::running_gateway;

/// The longest file that can be a token.
const MAX_FILE: u64 = 4096;

/// The token; `None` if the user gives an empty one.
pub(super) fn find(args: &Args, home: &Home, url: &str) -> Result<Option<String>> {
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
    ask(url)
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
fn ask(url: &str) -> Result<Option<String>> {
    let (input, mut stderr) = (std::io::stdin(), std::io::stderr());
    if !input.is_terminal() {
        return Err(usage_error("no token for the gateway; set OSIER_TOKEN, or use --token-file FILE"));
    }
    let shown = tcgetattr(&input)?;
    let mut hidden = shown.clone();
    hidden.local_modes.remove(LocalModes::ECHO);
    // Before the question, which a user or a program may answer at once.
    tcsetattr(&input, OptionalActions::Flush, &hidden)?;
    write!(stderr, "Token for {}: ", sanitize_line(url))?;
    stderr.flush()?;
    let mut token = String::new();
    let read = input.lock().read_line(&mut token);
    tcsetattr(&input, OptionalActions::Flush, &shown)?;
    writeln!(stderr)?;
    read?;
    Ok(Some(token.trim().to_owned()).filter(|token| !token.is_empty()))
}
