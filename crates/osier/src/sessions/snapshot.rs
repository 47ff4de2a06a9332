//! `snapshot`: everything a client needs, from one state of the session, streamed.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::{Since, SnapshotAsk};

use crate::home::Home;
use crate::out::Out;
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions snapshot 4f89da11 --json
  osier sessions snapshot x.jsonl --no-context | jq .activePath
  osier sessions snapshot 4f89da11 --since 120@00000000000a1b2c     only what came since

Prints one JSON object: schemaVersion, revision (the number of entries) and generation (another one after gc), session, \
entries (all, in the order of the log), activePath, childrenByParentId (roots under \"__roots__\"), labelsByEntryId, \
deletedBranches (their first entries; what hangs in them is in `entries` only) and runtimeContext. All of it is taken \
from one state of the session, whoever appends meanwhile. With --since also `since` and `reset`, and in `entries` only the \
new ones; if there is no such state of this log, all of them, and `reset` is true.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// Leave out the runtime context
    #[arg(long)]
    no_context: bool,
    /// Only the entries after a state: its revision, and its generation if it is known
    #[arg(long, value_name = "REVISION[@GENERATION]", value_parser = since)]
    since: Option<Since>,
    /// Print JSON; there is no other form
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let session = target::session(home, &args.session).await?;
    let ask = SnapshotAsk { without_context: args.no_context, since: args.since };
    let mut out = Out::new();
    session.snapshot(ask, |piece| out.raw(piece)).await?;
    out.done()
}

/// A state as `REVISION` or `REVISION@GENERATION`.
fn since(text: &str) -> Result<Since, String> {
    let (revision, generation) = match text.split_once('@') {
        Some((revision, generation)) => (revision, Some(generation)),
        None => (text, None),
    };
    let generation = generation.map(|digits| u64::from_str_radix(digits, 16)).transpose();
    match (revision.parse(), generation) {
        (Ok(revision), Ok(generation)) => Ok(Since { revision, generation }),
        _ => {
            Err("give a number of entries, or REVISION@GENERATION, as an earlier snapshot says them"
                .to_owned())
        }
    }
}
