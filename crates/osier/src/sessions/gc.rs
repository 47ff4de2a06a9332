//! `gc`: rewrites the log without its deleted branches and keeps the old one: as a backup beside the file, or as hidden rows.

use std::process::ExitCode;

use anyhow::{Error, Result};
use osier_engine::{EngineError, GcOptions, GcReport};
use serde_json::json;

use crate::home::Home;
use crate::layout::pluralize;
use crate::output_writer::{OutputWriter, notice};
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions gc 4f89da11 --dry-run
  osier sessions gc 4f89da11

The old file is kept as NAME.bak; in a database, the old rows are kept until the session is deleted. Programs that do not lock \
the file, such as pi, must not write to the session at the same time. \
Fails if another process has the session open; with --force, replaces its log anyway, and the other process continues with \
the new one. Never removes a branch in which another process runs a turn.
Prints the numbers of removed and kept entries on standard error.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Show what would be removed, without changing anything
    #[arg(long)]
    dry_run: bool,
    /// Rewrite the session even if another process has it open
    #[arg(long)]
    force: bool,
    /// Print {removed, kept, added} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let stored = target::find(home, &args.session).await?;
    let is_file = stored.file().is_some();
    if is_file && !args.dry_run {
        notice("make sure that no program without file locking, such as pi, is writing to this session");
    }
    let options = GcOptions { dry_run: args.dry_run, force: args.force };
    let GcReport { removed, kept, added } = match home.engine.gc(&stored, options).await {
        Err(EngineError::GcInUse { source, can_force: true }) => {
            Err(Error::new(*source).context("cannot remove deleted branches without --force"))?
        }
        done => done?,
    };
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&json!({ "removed": removed, "kept": kept, "added": added }))?;
        return out.finish();
    }
    let removed_entries = pluralize(removed, "entry", "entries");
    notice(&match args.dry_run {
        true => format!("Would remove {removed_entries} and keep {kept}"),
        false => format!("Removed {removed_entries}, kept {kept}"),
    });
    if added > 0 {
        notice(&format!(
            "Added {} to record their cost or the current position",
            pluralize(added, "entry", "entries")
        ));
    }
    if removed > 0 && !args.dry_run {
        notice(match is_file {
            true => "The old file is kept with the suffix .bak",
            false => "The old rows are kept in the database until the session is deleted",
        });
    }
    out.finish()
}
