//! `gc`: the log without its deleted branches. The old one is kept: beside the new file, or as rows that nobody sees.

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use osier_store::{Lease, StoreError, Version};
use osier_tree::Seq;
use serde_json::json;

use crate::failure::fail;
use crate::home::Home;
use crate::layout::count;
use crate::out::{Out, remark};
use crate::reading;
use crate::target::Target;

/// How often to begin again because somebody appended meanwhile.
const TRIES: usize = 5;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions gc 4f89da11 --dry-run
  osier sessions gc 4f89da11

The old file stays as NAME.bak; in a database the old rows stay until the session is deleted. Programs that take no lock, \
such as pi, must not be writing to a session's file meanwhile. \
A session that is open in another process is refused; with --force its log is replaced all the same, and the other \
process goes on in the new one. A branch in which another process runs a turn is never removed.
Prints how many entries go and how many stay, to standard error.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// Only tell what would go
    #[arg(long)]
    dry_run: bool,
    /// Also if the session is open in another process
    #[arg(long)]
    force: bool,
    /// Print {removed, kept, added} as JSON
    #[arg(long)]
    json: bool,
}

/// What went, what stayed, and what was added to say what the others had cost and where the session stands.
struct Done {
    removed: usize,
    kept: usize,
    added: usize,
    is_file: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let Done { removed, kept, added, is_file } = patiently(&args, home).await?;
    let mut out = Out::new();
    if args.json {
        out.json(&json!({ "removed": removed, "kept": kept, "added": added }))?;
        return out.done();
    }
    let verb = if args.dry_run { "would go" } else { "removed" };
    remark(&format!("{} {verb}, {kept} stay", count(removed, "entry", "entries")));
    if added > 0 {
        remark(&format!(
            "{} added to say what they cost, or where the session stands",
            count(added, "entry", "entries")
        ));
    }
    if removed > 0 && !args.dry_run {
        remark(match is_file {
            true => "the old file is kept with .bak at its name",
            false => "the old rows stay in the database until the session is deleted",
        });
    }
    out.done()
}

async fn patiently(args: &Args, home: &Home) -> Result<Done> {
    for attempt in 0..TRIES {
        match collect(args, home, attempt == 0).await {
            Err(error) if is_too_late(&error) => {}
            done => return done,
        }
    }
    fail!(Contended, "the session changes again and again; try again when nobody writes to it")
}

fn is_too_late(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(StoreError::Conflict { .. } | StoreError::Replaced))
}

async fn collect(args: &Args, home: &Home, is_first: bool) -> Result<Done> {
    let target = Target::find(home, &args.session).await?;
    let is_file = target.opened.file.is_some();
    if is_first && is_file && !args.dry_run {
        remark("programs that take no lock, such as pi, must not be writing to this session now");
    }
    // Nothing is watched here: this command must not count as having the session open.
    let session = target.session(home).await?;
    let (tree, version) = (session.tree(), session.version());
    if target.opened.odd_lines > 0 || !tree.heads().is_regular() {
        bail!(
            "this log is damaged, and only a sound one is ever rewritten; `osier sessions verify` shows where"
        );
    }
    let plan = tree.plan_gc();
    let removes = |lease: &Lease| {
        let goes = |seq: Seq| !plan.keeps(seq);
        let branch = lease.branch.as_deref().and_then(|id| tree.find(id));
        // Marks of others lie in the branch too, and may go.
        let is_said = |seq: &Seq| goes(*seq) && tree.head(*seq).kind.reaches_context();
        let below = |first: Seq| {
            let mut later = (first.index()..tree.len()).map(Seq::new).filter(is_said);
            later.any(|seq| tree.heads().is_ancestor(first, Some(seq)))
        };
        let entry = lease.entry.as_deref().and_then(|id| tree.find(id));
        entry.is_some_and(goes) || branch.is_some_and(below)
    };
    let mut done = Done { removed: plan.removed(), kept: tree.len() - plan.removed(), added: 0, is_file };
    if !args.dry_run && done.removed > 0 {
        let wanted: Vec<Seq> = plan.lines().collect();
        let lines = reading::lines(&session, &wanted).await?;
        let env = home.env();
        let new = tree.gc(&plan, &lines, env.clock.now(), || env.ids.entry());
        let new = new.context("a line of the log could not be read")?;
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

async fn replace(target: &Target, version: Version, lines: &[Vec<u8>], force: bool) -> Result<()> {
    let (store, key) = (&target.store, &target.key);
    let replaced = match force {
        true => store.rewrite_in_use(key, version, lines).await,
        false => store.rewrite(key, version, lines).await,
    };
    let error = match replaced {
        Ok(_) => return Ok(()),
        Err(StoreError::Busy { id }) => named_holder(target, id).await,
        Err(error) => return Err(error.into()),
    };
    Err(anyhow::Error::new(error).context("cannot remove deleted branches without --force"))
}

/// Somebody has the session open: whoever runs a turn in it, if that is known.
async fn named_holder(target: &Target, id: String) -> StoreError {
    let leases = target.store.leases(&target.key).await.unwrap_or_default();
    match leases.into_iter().next() {
        Some(lease) => StoreError::Leased { lease: Box::new(lease) },
        None => StoreError::Busy { id },
    }
}
