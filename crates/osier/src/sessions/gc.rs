//! `gc`: rewrites the log without its deleted branches and keeps the old one: as a backup beside the file, or as hidden rows.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use osier_store::{Lease, LogVersion, StoreError};
use osier_tree::Seq;
use serde_json::json;

use crate::failure::fail;
use crate::home::Home;
use crate::layout::pluralize;
use crate::out::{Out, notice};
use crate::reading;
use crate::target::SessionTarget;

/// How often to retry if another process appends at the same time.
const MAX_ATTEMPTS: usize = 5;

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

/// The numbers of entries. `added` entries record the cost of removed ones and the current position.
struct GcCounts {
    removed: usize,
    kept: usize,
    added: usize,
    is_file: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let GcCounts { removed, kept, added, is_file } = collect_with_retry(&args, home).await?;
    let mut out = Out::new();
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

async fn collect_with_retry(args: &Args, home: &Home) -> Result<GcCounts> {
    for attempt in 0..MAX_ATTEMPTS {
        match collect(args, home, attempt == 0).await {
            Err(error) if is_conflict(&error) => {}
            done => return done,
        }
    }
    fail!(Contended, "the session keeps changing; try again when no other process writes to it")
}

fn is_conflict(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::Conflict { .. } | StoreError::Replaced))
}

async fn collect(args: &Args, home: &Home, is_first: bool) -> Result<GcCounts> {
    let target = SessionTarget::find(home, &args.session).await?;
    let is_file = target.opened.file.is_some();
    if is_first && is_file && !args.dry_run {
        notice("make sure that no program without file locking, such as pi, is writing to this session");
    }
    // Do not watch the session: this command must not count as having it open.
    let session = target.open_session(home).await?;
    let (tree, version) = (session.tree(), session.version());
    if target.opened.invalid_lines > 0 || !tree.heads().is_regular() {
        bail!("cannot rewrite a damaged log; run `osier sessions verify` for details");
    }
    let plan = tree.plan_gc();
    let removes = |lease: &Lease| {
        let goes = |seq: Seq| !plan.keeps(seq);
        let branch = lease.branch.as_deref().and_then(|id| tree.find(id));
        // Marks of other processes in the branch may be removed.
        let is_said = |seq: &Seq| goes(*seq) && tree.head(*seq).kind.reaches_context();
        let below = |first: Seq| {
            let mut later = (first.index()..tree.len()).map(Seq::new).filter(is_said);
            later.any(|seq| tree.heads().is_ancestor(first, Some(seq)))
        };
        let entry = lease.entry.as_deref().and_then(|id| tree.find(id));
        entry.is_some_and(goes) || branch.is_some_and(below)
    };
    let mut done = GcCounts {
        removed: plan.removed_count(),
        kept: tree.len() - plan.removed_count(),
        added: 0,
        is_file,
    };
    if !args.dry_run && done.removed > 0 {
        let wanted: Vec<Seq> = plan.needed_lines().collect();
        let lines = reading::read_lines(&session, &wanted).await?;
        let env = home.session_env();
        let new = tree.gc(&plan, &lines, env.clock.now(), || env.ids.entry());
        let new = new.context("cannot read a line of the log")?;
        done.added = new.len() - done.kept;
        let leases = target.store.leases(&target.key).await?;
        if let Some(lease) = leases.into_iter().find(removes) {
            let busy = StoreError::Leased { lease: Box::new(lease) };
            return Err(anyhow::Error::new(busy).context("cannot remove deleted branches"));
        }
        replace(&target, version, &new, args.force).await?;
    }
    Ok(done)
}

async fn replace(target: &SessionTarget, version: LogVersion, lines: &[Vec<u8>], force: bool) -> Result<()> {
    let (store, key) = (&target.store, &target.key);
    let replaced = match force {
        true => store.rewrite_in_use(key, version, lines).await,
        false => store.rewrite(key, version, lines).await,
    };
    let error = match replaced {
        Ok(_) => return Ok(()),
        Err(StoreError::Busy { id }) => busy_error(target, id).await,
        Err(error) => return Err(error.into()),
    };
    Err(anyhow::Error::new(error).context("cannot remove deleted branches without --force"))
}

/// The error for a session that is open elsewhere. Names the process that runs a turn, if known.
async fn busy_error(target: &SessionTarget, id: String) -> StoreError {
    let leases = target.store.leases(&target.key).await.unwrap_or_default();
    match leases.into_iter().next() {
        Some(lease) => StoreError::Leased { lease: Box::new(lease) },
        None => StoreError::Busy { id },
    }
}
