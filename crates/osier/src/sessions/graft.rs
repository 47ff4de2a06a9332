//! `graft`: what came of another branch, told where the session stands.

use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_agent::{Command, Reply};
use serde_json::json;

use super::moving;
use crate::errand::{self, Came, Writer};
use crate::home::Home;
use crate::layout::plain;
use crate::out::{Out, remark};
use crate::{reading, target};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions graft 4f89da11 0000000a
  osier sessions graft 4f89da11 0000000a --summarize
  osier sessions graft 4f89da11 0000000a --summarize --instructions 'only the numbers'

A branch is named by its last entry. What was asked and concluded there, with links to its entries, becomes one summary below the \
leaf, so the model knows it here; the other branch stays as it is. With --summarize a model writes it. `osier sessions compare` \
shows both first; to take a graft back, `osier sessions move` to before it.
Prints the id of the entry; where it comes from is told on standard error.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The last entry of the other branch
    branch: String,
    /// Let a model sum the branch up, instead of taking its conclusion as it stands
    #[arg(long)]
    summarize: bool,
    /// What the summary should heed besides
    #[arg(long, value_name = "TEXT", requires = "summarize")]
    instructions: Option<String>,
    /// The model that writes the summary
    #[arg(long, value_name = "NAME", requires = "summarize")]
    model: Option<String>,
    /// Print {entry, fromId, leafId} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let session = target::session(home, &args.session).await?;
    let tip = session.tree().id(reading::entry(&session.tree(), &args.branch)?).to_string();
    let writer = match args.summarize {
        true => Writer::Model(args.model.as_deref()),
        false => Writer::None,
    };
    let command = Command::Graft {
        tip: tip.clone(),
        summarize: args.summarize,
        instructions: args.instructions.clone(),
    };
    let entry = match errand::run(&session, home, writer, command).await? {
        Came::Of(Reply::Stored { entry }) => entry,
        Came::Of(_) => bail!("the agent did not answer"),
        Came::Stopped(code) => return moving::stopped(&session, args.json, code),
    };
    let mut out = Out::new();
    if args.json {
        out.json(&json!({ "entry": entry, "fromId": tip, "leafId": entry }))?;
        return out.done();
    }
    remark(&format!("what came of the branch that ends in {} is told here now", plain(&tip)));
    out.line(&plain(&entry))?;
    out.done()
}
