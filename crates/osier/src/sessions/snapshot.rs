//! `snapshot`: streams everything a client needs, from one state of the session.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{KnownRevision, SnapshotOptions};

use crate::home::Home;
use crate::output_writer::OutputWriter;
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions snapshot 4f89da11 --json
  osier sessions snapshot x.jsonl --no-context | jq .activePath
  osier sessions snapshot 4f89da11 --since 120@00000000000a1b2c     only newer entries

Prints one JSON object: schemaVersion, revision (the number of entries), generation (changes after gc), session, entries (all, \
in log order), activePath, childrenByParentId (roots under \"__roots__\"), labelsByEntryId, deletedBranches (their first entries; \
the entries below them appear only in `entries`) and runtimeContext. All parts come from one state of the session, even while \
others append. With --since, adds `since` and `reset`, and `entries` has only the new entries; if the log has no such state, \
`entries` has all of them and `reset` is true.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Omit the runtime context
    #[arg(long)]
    no_context: bool,
    /// Only the entries after this state: its revision and, if known, its generation
    #[arg(long, value_name = "REVISION[@GENERATION]", value_parser = parse_since)]
    since: Option<KnownRevision>,
    /// Print JSON (always on)
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let stored = target::find(home, &args.session).await?;
    let options = SnapshotOptions { without_context: args.no_context, since: args.since };
    let mut out = OutputWriter::for_reading(&args.session);
    home.engine.write_snapshot(&stored, options, |piece| out.raw(piece)).await?;
    out.finish()
}

/// A state as `REVISION` or `REVISION@GENERATION`.
fn parse_since(text: &str) -> Result<KnownRevision, String> {
    let (revision, generation) = match text.split_once('@') {
        Some((revision, generation)) => (revision, Some(generation)),
        None => (text, None),
    };
    let generation = generation.map(|digits| u64::from_str_radix(digits, 16)).transpose();
    match (revision.parse(), generation) {
        (Ok(revision), Ok(generation)) => Ok(KnownRevision { revision, generation }),
        _ => {
            Err("expected REVISION or REVISION@GENERATION, with the values of an earlier snapshot".to_owned())
        }
    }
}
