//! `verify`: checks a session file without using any cache.

use std::process::ExitCode;

use anyhow::Result;
use osier_store::file::{Verified, verify};
use serde_json::json;

use crate::home::Home;
use crate::layout::{count, plain};
use crate::out::{Out, Style};
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions verify 4f89da11
  osier sessions verify x.jsonl --json

Prints each problem with its line number, then the result. Exits with 1 if the file is damaged; unusual but harmless lines are \
reported too. Changes nothing.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Print {session, file, entries, sound, oddities} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let path = target::file(home, &args.session).await?;
    let verified = verify(&path)?;
    let mut out = Out::new();
    if args.json {
        out.json(&json!({
            "session": verified.header.id,
            "file": path.display().to_string(),
            "entries": verified.tree.len(),
            "sound": verified.is_sound(),
            "oddities": verified.oddities,
        }))?;
    } else {
        tell(&verified, &mut out)?;
    }
    out.done()?;
    Ok(if verified.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn tell(verified: &Verified, out: &mut Out) -> Result<()> {
    for oddity in &verified.oddities {
        let style = if oddity.damage { Style::Bad } else { Style::Dim };
        out.line(&format!("line {}: {}", oddity.line, out.paint(style, &plain(&oddity.what))))?;
    }
    let verdict = match verified.is_sound() {
        true => "no damage found",
        false => "damaged; all readable entries are used, and the file is unchanged",
    };
    out.line(&format!("{}, {verdict}", count(verified.tree.len(), "entry", "entries")))
}
