//! `snapshot`: everything a client needs, from one state of the session, streamed.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::{Session, State};
use osier_tree::entry::read_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::projection::snapshot::SCHEMA_VERSION;
use osier_tree::{Seq, SessionTree};
use serde_json::{Map, Value, json};

use super::context;
use crate::home::Home;
use crate::out::Out;
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions snapshot 4f89da11 --json
  osier sessions snapshot x.jsonl --no-context | jq .activePath

Prints one JSON object: schemaVersion, revision (the number of entries) and generation (another one after gc), session, \
entries (all, in the order of the log), activePath, childrenByParentId (roots under \"__roots__\"), labelsByEntryId, \
deletedBranches (their first entries; what hangs in them is in `entries` only) and runtimeContext. All of it is taken \
from one state of the session, whoever appends meanwhile.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// Leave out the runtime context
    #[arg(long)]
    no_context: bool,
    /// Print JSON; there is no other form
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let target = Target::find(home, &args.session).await?;
    let session = target.session(home).await?;
    let state = session.state();
    let card = reading::card_of(&session, &state).await?;
    let mut out = Out::new();
    let start = format!(
        "{{\"schemaVersion\":{SCHEMA_VERSION},\"revision\":{},\"generation\":\"{:016x}\",\"session\":{}",
        state.version.entries,
        state.version.generation,
        state.tree.snapshot_session(&card),
    );
    out.raw(start.as_bytes())?;
    entries(&session, &state, &mut out).await?;
    shape(&state.tree, &mut out)?;
    if !args.no_context {
        out.raw(b",\"runtimeContext\":{")?;
        context::members(&target, &state.tree.context_entries(state.tree.leaf()), &mut out).await?;
        out.raw(b"}")?;
    }
    out.raw(b"}\n")?;
    out.done()
}

async fn entries(session: &Session, state: &State, out: &mut Out) -> Result<()> {
    let all: Vec<Seq> = (0..state.version.entries).map(Seq::new).collect();
    let mut first = true;
    out.raw(b",\"entries\":[")?;
    session
        .each_line(state.version, &all, |_, line| -> Result<()> {
            let Ok(entry) = read_entry(line) else { return Ok(()) };
            if !std::mem::take(&mut first) {
                out.raw(b",\n")?;
            }
            out.raw(&entry_json(&entry))
        })
        .await?;
    out.raw(b"]")
}

/// What hangs where, and what it is called.
fn shape(tree: &SessionTree, out: &mut Out) -> Result<()> {
    out.raw(b",\"activePath\":")?;
    out.json(&tree.snapshot_path())?;
    out.raw(b",\"childrenByParentId\":{")?;
    let mut first = true;
    for (parent, children) in tree.snapshot_children() {
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        out.raw(format!("{comma}{}:{}", json!(parent), json!(children)).as_bytes())?;
    }
    let labels: Map<String, Value> =
        tree.snapshot_labels().map(|(id, label)| (id.to_owned(), json!(label))).collect();
    let deleted = json!(tree.snapshot_deleted());
    out.raw(format!("}},\"labelsByEntryId\":{},\"deletedBranches\":{deleted}", json!(labels)).as_bytes())
}
