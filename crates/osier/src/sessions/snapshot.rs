//! `snapshot`: everything a client needs, from one state of the session, streamed.

use std::process::ExitCode;

use anyhow::Result;
use osier_store::Store;
use osier_tree::Seq;
use osier_tree::entry::read_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::projection::snapshot::SCHEMA_VERSION;
use serde_json::json;

use super::context;
use crate::home::Home;
use crate::out::Out;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  osier sessions snapshot 4f89da11 --json\n  osier sessions snapshot x.jsonl --no-context"
)]
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
    let card = target.store.card(&target.key).await?;
    let session = target.session(home).await?;
    let (tree, version) = (session.tree(), session.version());
    let mut out = Out::new();
    let start = format!(
        "{{\"schemaVersion\":{SCHEMA_VERSION},\"revision\":{},\"generation\":\"{:016x}\",\"session\":{},\"entries\":[",
        version.entries,
        version.generation,
        tree.snapshot_session(&card),
    );
    out.raw(start.as_bytes())?;
    let all: Vec<Seq> = (0..tree.len()).map(Seq::new).collect();
    let mut first = true;
    session
        .each_line(version, &all, |_, line| -> Result<()> {
            let Ok(entry) = read_entry(line) else { return Ok(()) };
            if !std::mem::take(&mut first) {
                out.raw(b",\n")?;
            }
            out.raw(&entry_json(&entry))
        })
        .await?;
    out.raw(
        format!("],\"activePath\":{},\"childrenByParentId\":{{", json!(tree.snapshot_path())).as_bytes(),
    )?;
    let mut first = true;
    for (parent, children) in tree.snapshot_children() {
        let comma = if std::mem::take(&mut first) { "" } else { "," };
        out.raw(format!("{comma}{}:{}", json!(parent), json!(children)).as_bytes())?;
    }
    let labels: serde_json::Map<_, _> =
        tree.snapshot_labels().map(|(id, label)| (id.to_owned(), json!(label))).collect();
    out.raw(format!("}},\"labelsByEntryId\":{}", json!(labels)).as_bytes())?;
    if !args.no_context {
        let plan = tree.context_entries(tree.leaf());
        out.raw(b",\"runtimeContext\":{")?;
        context::members(&target, &plan, &mut out).await?;
        out.raw(b"}")?;
    }
    out.raw(b"}\n")?;
    out.done()
}
