//! `compare`: shows two branches side by side.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::reading;
use osier_session::Session;
use osier_tree::Place;
use osier_tree::projection::compare::{Comparison, ComparisonBuilder};

use crate::home::{self, Home};
use crate::layout::sanitize_line;
use crate::out::{Out, TextStyle};
use crate::target;

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
    let session = target::open_session(home, &args.session).await?;
    let tree = session.tree();
    let (left, right) = match args.branches.as_slice() {
        [left, right] => (reading::resolve_place(&tree, Some(left))?, right),
        [right, ..] => (tree.leaf(), right),
        [] => return Ok(ExitCode::FAILURE),
    };
    let right = reading::resolve_place(&tree, Some(right))?;
    let comparison = compare(&session, left, right).await?;
    let mut out = Out::new();
    if args.json {
        out.json(&comparison)?;
        return out.finish();
    }
    for (at, line) in comparison_lines(&comparison).iter().enumerate() {
        let line = if at == 0 { out.paint(TextStyle::Dim, line) } else { line.clone() };
        out.line(&line)?;
    }
    out.finish()
}

pub(crate) async fn compare(session: &Session, left: Place, right: Place) -> Result<Comparison> {
    let tree = session.tree();
    let mut comparing = ComparisonBuilder::new(&tree, left, right);
    reading::feed_lines(session, &mut comparing).await?;
    Ok(comparing.finish())
}

/// The lines for the width of the terminal, sanitized: ids may contain anything.
pub(crate) fn comparison_lines(comparison: &Comparison) -> Vec<String> {
    let lines = comparison.draw(home::columns().unwrap_or(DEFAULT_WIDTH));
    lines.iter().map(|line| sanitize_line(line)).collect()
}
