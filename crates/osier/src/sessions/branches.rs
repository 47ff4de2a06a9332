//! `delete-branch` and `restore-branch`: entries that hide a branch, and show it again.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;

use crate::home::Home;
use crate::out::Out;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  osier sessions delete-branch 4f89da11 c55d6ff3\n  osier sessions restore-branch 4f89da11 c55d6ff3\n\nNothing is removed from the log; `osier sessions gc` does that, on request."
)]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The first entry of the branch
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

pub(crate) async fn run(args: Args, home: &Home, wish: Wish) -> Result<ExitCode> {
    let session = Target::find(home, &args.session).await?.session(home).await?;
    let before = session.tree().hidden().len();
    match wish {
        Wish::Delete => session.delete_branch(&args.entry).await?,
        Wish::Restore => session.restore_branch(&args.entry).await?,
    };
    session.before_prompt().await?;
    let tree = session.tree();
    let count = tree.hidden().len().abs_diff(before);
    let leaf = tree.leaf().map(|seq| tree.id(seq).to_string());
    let mut out = Out::new();
    if args.json {
        out.json(&json!({ "leafId": leaf, "entries": count }))?;
        return out.done();
    }
    let done = if wish == Wish::Delete { "hidden; restore-branch shows them again" } else { "shown again" };
    eprintln!("{count} entries {done}");
    out.done()
}
