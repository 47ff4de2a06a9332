//! `delete-branch` and `restore-branch`: append an entry that hides or restores a branch.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::reading;
use osier_protocol::ClientCommand;
use serde_json::json;

use super::moves;
use crate::home::Home;
use crate::layout::{pluralize, sanitize_line};
use crate::one_shot::OneShot;
use crate::output_writer::{OutputWriter, notice};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions delete-branch 4f89da11 c55d6ff3
  osier sessions restore-branch 4f89da11 c55d6ff3

Deleting only hides the branch; `osier sessions gc` removes it from the log. If the current position is inside the branch, it \
moves to above it. Fails for a branch in which another process runs a turn.
Prints the number of affected entries on standard error.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// First entry of the branch
    entry: String,
    /// Print {leafId, entries} as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum BranchAction {
    Delete,
    Restore,
}

pub(crate) async fn run(args: Args, home: &Home, action: BranchAction) -> Result<ExitCode> {
    let one_shot = OneShot::open(home, &args.session).await?;
    let session = one_shot.session();
    let before = session.tree();
    let entry = before.id(reading::resolve_entry(&before, &args.entry)?).to_entry_id();
    let command = match action {
        BranchAction::Delete => ClientCommand::DeleteBranch { entry },
        BranchAction::Restore => ClientCommand::RestoreBranch { entry },
    };
    one_shot.send(command).await?;
    let tree = session.tree();
    let entries = tree.hidden_entries().len().abs_diff(before.hidden_entries().len());
    let leaf = tree.leaf().map(|seq| tree.id(seq).to_string());
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&json!({ "leafId": leaf, "entries": entries }))?;
        return out.finish();
    }
    let entries = pluralize(entries, "entry", "entries");
    notice(&match action {
        BranchAction::Delete => format!("Hid {entries}; undo with `osier sessions restore-branch`"),
        BranchAction::Restore => format!("Restored {entries}"),
    });
    if !tree.same_place(before.leaf(), tree.leaf()) {
        let position =
            moves::leaf_id(&tree).map_or_else(|| "the beginning".to_owned(), |id| sanitize_line(&id));
        notice(&format!("Moved to {position}"));
    }
    out.finish()
}
