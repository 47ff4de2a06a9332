//! `gc`: the log without its deleted branches, in a new file. The old one is kept beside it.

use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_store::Store;
use osier_tree::Seq;
use serde_json::json;

use crate::home::Home;
use crate::out::Out;
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions gc 4f89da11 --dry-run
  osier sessions gc 4f89da11

The old file stays as NAME.bak. Programs that take no lock, such as pi, must not be writing to the session meanwhile.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// Only tell what would go
    #[arg(long)]
    dry_run: bool,
    /// Print {removed, kept} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let target = Target::find(home, &args.session).await?;
    let session = target.session(home).await?;
    let (tree, version) = (session.tree(), session.version());
    if target.opened.odd_lines > 0 || !tree.heads().is_regular() {
        bail!(
            "this log is damaged, and only a sound one is ever rewritten; `osier sessions verify` shows where"
        );
    }
    let plan = tree.plan_gc();
    let (removed, kept) = (plan.removed(), tree.len() - plan.removed());
    if !args.dry_run && removed > 0 {
        let wanted: Vec<Seq> = plan.kept().collect();
        let lines = reading::lines(&session, &wanted).await?;
        let env = home.env();
        let new = tree.gc(&plan, &lines, env.clock.now(), || env.ids.entry());
        drop(session);
        target.store.rewrite(&target.key, version, &new).await?;
    }
    let mut out = Out::new();
    if args.json {
        out.json(&json!({ "removed": removed, "kept": kept }))?;
    } else {
        let verb = if args.dry_run { "would go" } else { "removed" };
        eprintln!("{removed} entries {verb}, {kept} stay");
        if removed > 0 && !args.dry_run {
            eprintln!("the old file is kept with .bak at its name");
        }
    }
    out.done()
}
