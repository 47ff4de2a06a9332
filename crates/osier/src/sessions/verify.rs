//! `verify`: checks a log without using any cache.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{FindScope, VerifiedSession, VerifyReport};
use serde_json::json;

use crate::home::Home;
use crate::layout::{pluralize, sanitize_line};
use crate::output_writer::{OutputWriter, TextStyle};
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions verify 4f89da11
  osier sessions verify x.jsonl --json

Prints each problem with its line number, then the result. A session in a database is checked as the file it would be: its header is \
line 1. Exits with 1 if the log is damaged; unusual but harmless lines are reported too. Changes nothing.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Print {session, file, entries, sound, oddities} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let found = target::locate(home, &args.session, FindScope::Any).await?;
    let VerifiedSession { file, report: verified } = home.engine.verify(found).await?;
    let mut out = OutputWriter::new();
    if args.json {
        let file = file.map(|file| file.display().to_string());
        out.json(&json!({
            "session": verified.header.id,
            "file": file,
            "entries": verified.tree.len(),
            "sound": verified.is_sound(),
            "oddities": verified.issues,
        }))?;
    } else {
        write_report(&verified, &mut out)?;
    }
    out.finish()?;
    Ok(if verified.is_sound() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn write_report(verified: &VerifyReport, out: &mut OutputWriter) -> Result<()> {
    for issue in &verified.issues {
        let style = if issue.damage { TextStyle::Error } else { TextStyle::Dim };
        out.line(&format!("line {}: {}", issue.line, out.paint(style, &sanitize_line(&issue.what))))?;
    }
    let verdict = match verified.is_sound() {
        true => "no damage found",
        false => "damaged; all readable entries are used, and the file is unchanged",
    };
    out.line(&format!("{}, {verdict}", pluralize(verified.tree.len(), "entry", "entries")))
}
