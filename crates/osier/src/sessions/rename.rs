//! `rename`: a name for a session.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::home::Home;
use crate::out::Out;
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions rename 4f89da11 'JSON flag'
  osier sessions rename 4f89da11 ''     takes the name away

Prints nothing. Naming a session moves nobody.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The name; empty takes it away
    name: String,
    /// Print {session, name} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let session = target::session(home, &args.session).await?;
    session.rename(&args.name).await?;
    session.before_prompt().await?;
    let mut out = Out::new();
    if args.json {
        out.json(&json!({ "session": session.id(), "name": session.tree().marks().name() }))?;
    }
    out.done()
}
