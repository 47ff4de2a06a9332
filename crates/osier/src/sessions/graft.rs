//! `graft`: adds the conclusion of another branch below the leaf.

use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_engine::{SummaryModel, reading};
use osier_protocol::{ClientCommand, CommandReply};
use serde_json::json;

use super::moves;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::one_shot::{OneShot, OneShotOutcome};
use crate::output_writer::{OutputWriter, notice};
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions graft 4f89da11 0000000a
  osier sessions graft 4f89da11 0000000a --summarize
  osier sessions graft 4f89da11 0000000a --summarize --instructions 'only the numbers'

Name a branch by its last entry. Adds one summary entry below the leaf, with the request and the conclusion of the branch and links \
to its entries, so that the model knows them here. The other branch stays unchanged. With --summarize, a model writes the summary. \
Use `osier sessions compare` to see both branches first; to undo a graft, `osier sessions move` to before it.
Prints the id of the new entry, and its source on standard error.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Last entry of the other branch
    branch: String,
    /// Let a model summarize the branch, instead of copying its conclusion
    #[arg(long)]
    summarize: bool,
    /// Extra instructions for the summary
    #[arg(long, value_name = "TEXT", requires = "summarize")]
    instructions: Option<String>,
    /// Model that writes the summary
    #[arg(long, value_name = "NAME", requires = "summarize")]
    model: Option<String>,
    /// Print {entry, fromId, leafId} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let live = target::find_and_open(home, &args.session).await?;
    let tree = live.session().tree();
    let tip = tree.id(reading::resolve_entry(&tree, &args.branch)?).to_entry_id();
    let writer = match args.summarize {
        true => SummaryModel::from(args.model.clone()),
        false => SummaryModel::Unused,
    };
    let command = ClientCommand::Graft {
        tip: tip.clone(),
        summarize: args.summarize,
        instructions: args.instructions.clone(),
    };
    let one_shot = OneShot::connect(home, live, &writer).await?;
    let entry = match one_shot.run(command).await? {
        OneShotOutcome::Reply(CommandReply::Stored { entry }) => entry,
        OneShotOutcome::Reply(_) => bail!("the agent sent no reply"),
        OneShotOutcome::Stopped(code) => return moves::print_canceled(one_shot.session(), args.json, code),
    };
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&json!({ "entry": entry, "fromId": tip, "leafId": entry }))?;
        return out.finish();
    }
    notice(&format!("Grafted the conclusion of branch {}", sanitize_line(&tip)));
    out.line(&sanitize_line(&entry))?;
    out.finish()
}
