//! `config`: shows and changes the settings of one session, which are entries in its log.

use std::process::ExitCode;

use anyhow::Result;
use osier_protocol::ClientCommand;
use osier_tree::projection::settings::{parse_setting, settings};
use serde_json::{Map, Value};

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::one_shot::OneShot;
use crate::output_writer::{OutputWriter, TextStyle};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions config 4f89da11
  osier sessions config 4f89da11 approvalMode=autoEdit 'approvalTools=[\"read\"]'
  osier sessions config 4f89da11 --unset summary

A VALUE that is valid JSON is stored as JSON, anything else as text.
Prints all resulting settings of the session, including defaults.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Settings to change
    #[arg(value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Settings to reset to their defaults
    #[arg(long, value_name = "KEY")]
    unset: Vec<String>,
    /// Print all settings as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let set = parse_pairs(&args.set)?;
    let one_shot = OneShot::open(home, &args.session).await?;
    if !set.is_empty() || !args.unset.is_empty() {
        one_shot.send(ClientCommand::SetConfig { set, unset: args.unset }).await?;
    }
    let tree = one_shot.session().tree();
    let all = settings(&tree);
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&all)?;
        return out.finish();
    }
    for (key, value) in &all {
        let changed = tree.marks().settings().contains_key(key);
        let line = sanitize_line(&format!("{key} = {value}"));
        out.line(&if changed { line } else { out.paint(TextStyle::Dim, &line) })?;
    }
    out.finish()
}

/// Parses `KEY=VALUE` arguments.
fn parse_pairs(pairs: &[String]) -> Result<Map<String, Value>> {
    let mut set = Map::new();
    for pair in pairs {
        let (key, text) =
            pair.split_once('=').ok_or_else(|| usage_error(format!("{pair:?} is not KEY=VALUE")))?;
        set.insert(key.to_owned(), parse_setting(key, text));
    }
    Ok(set)
}
