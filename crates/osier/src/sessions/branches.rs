//! `delete-branch` and `restore-branch`: append an entry that hides or restores a branch.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use super::moving;
use crate::home::Home;
use crate::layout::{count, plain};
use crate::out::{Out, remark};
use crate::{reading, target};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions delete-branch 4f89da11 c55d6ff3
  osier sessions restore-branch 4f89da11 c55d6ff3

Deleting only hides the branch; `osier sessions gc` removes it from the file. If the current position is inside the branch, it \
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
pub(crate) enum Wish {
    Delete,
    Restore,
}

pub(crate) async fn run(args: Args, home: &Home, action: Wish) -> Result<ExitCode> {
    let session = target::session(home, &args.session).await?;
    let before = session.tree();
    let first = before.id(reading::entry(&before, &args.entry)?).to_string();
    match action {
        Wish::Delete => session.delete_branch(&first).await?,
        Wish::Restore => session.restore_branch(&first).await?,
    };
    session.before_prompt().await?;
    let tree = session.tree();
    let entries = tree.hidden().len().abs_diff(before.hidden().len());
    let leaf = tree.leaf().map(|seq| tree.id(seq).to_string());
    let mut out = Out::new();
    if args.json {
        out.json(&json!({ "leafId": leaf, "entries": entries }))?;
        return out.done();
    }
    let entries = count(entries, "entry", "entries");
    remark(&match action {
        Wish::Delete => format!("Hid {entries}; undo with `osier sessions restore-branch`"),
        Wish::Restore => format!("Restored {entries}"),
    });
    if !tree.same_place(before.leaf(), tree.leaf()) {
        let place = moving::place_id(&tree).map_or_else(|| "the beginning".to_owned(), |id| plain(&id));
        remark(&format!("Moved to {place}"));
    }
    out.done()
}
