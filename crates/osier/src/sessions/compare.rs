//! `compare`: shows two branches side by side.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::reading;
use osier_protocol::EntryId;

use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::one_shot::OneShot;
use crate::output_writer::{OutputWriter, TextStyle};

/// The total width without a terminal.
const DEFAULT_WIDTH: usize = 120;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions compare 4f89da11 0000000a              the current branch and another one
  osier sessions compare 4f89da11 0000000d 0000000a     any two branches
  osier sessions compare 4f89da11 0000000a --json

Name a branch by its last entry; `osier sessions tree --ids` shows the ids. Prints the messages of each branch after the \
last common entry, its usage, and the files it changed and read: side by side or, on a narrow terminal, one below the other.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Last entries of the two branches; with one, the other is the current branch
    #[arg(required = true, num_args = 1..=2, value_name = "ENTRY")]
    branches: Vec<String>,
    /// Print {commonId, left, right, modifiedByBoth} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let one_shot = OneShot::open(home, &args.session).await?;
    let tree = one_shot.session().tree();
    let branch = |name: Option<&str>| -> Result<EntryId> {
        let position = reading::resolve_place(&tree, name)?;
        Ok(position.map_or_else(|| reading::ROOT.into(), |seq| tree.id(seq).to_entry_id()))
    };
    let (left, right) = match args.branches.as_slice() {
        [left, right] => (branch(Some(left))?, branch(Some(right))?),
        [right, ..] => (branch(None)?, branch(Some(right))?),
        [] => return Ok(ExitCode::FAILURE),
    };
    let comparison = one_shot.client().compare(left, right).await?;
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&comparison)?;
        return out.finish();
    }
    let lines = comparison.draw(home::columns().unwrap_or(DEFAULT_WIDTH));
    for (at, line) in lines.iter().enumerate() {
        // Ids may contain anything.
        let line = sanitize_line(line);
        out.line(&if at == 0 { out.paint(TextStyle::Dim, &line) } else { line })?;
    }
    out.finish()
}
