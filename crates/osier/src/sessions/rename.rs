//! `rename`: sets or clears the name of a session.

use std::process::ExitCode;

use anyhow::Result;
use osier_protocol::ClientCommand;
use serde_json::json;

use crate::home::Home;
use crate::layout::sanitize_line;
use crate::one_shot::OneShot;
use crate::output_writer::OutputWriter;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions rename 4f89da11 'JSON flag'
  osier sessions rename 4f89da11 ''     clears the name

Prints the new name. The current position does not change.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// New name; empty to clear it
    name: String,
    /// Print {session, name} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let one_shot = OneShot::open(home, &args.session).await?;
    one_shot.send(ClientCommand::Rename { name: args.name }).await?;
    let session = one_shot.session();
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&json!({ "session": session.id(), "name": session.tree().marks().name() }))?;
        return out.finish();
    }
    out.line(&match session.tree().marks().name() {
        Some(name) => format!("Renamed to {}", sanitize_line(name)),
        None => "Removed the name".to_owned(),
    })?;
    out.finish()
}
