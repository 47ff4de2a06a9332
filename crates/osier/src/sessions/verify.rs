//! `verify`: every oddity of a file, found without any cache.

use std::process::ExitCode;

use anyhow::{Context, Result};
use osier_store::file::verify;
use serde_json::json;

use crate::home::Home;
use crate::out::{Out, Style};
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  osier sessions verify 4f89da11\n  osier sessions verify x.jsonl --json\n\nExits with 1 if anything is damaged; what is only unusual is reported and fine."
)]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let target = Target::find(home, &args.session).await?;
    let path = target.opened.file.as_ref().context("only a file can be verified")?;
    let verified = verify(path)?;
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
        for oddity in &verified.oddities {
            let style = if oddity.damage { Style::Bad } else { Style::Dim };
            out.line(&format!("line {}: {}", oddity.line, out.paint(style, &oddity.what)))?;
        }
        let verdict = if verified.is_sound() {
            "sound"
        } else {
            "damaged; everything readable is in use, nothing was changed"
        };
        out.line(&format!("{} entries, {verdict}", verified.tree.len()))?;
    }
    out.done()?;
    Ok(if verified.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
