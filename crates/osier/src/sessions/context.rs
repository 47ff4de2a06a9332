//! `context`: the messages of a place, streamed.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::ContextReader;
use osier_tree::{ContextPlan, Seq};
use serde_json::{Value, json};

use super::said;
use crate::home::Home;
use crate::layout::count;
use crate::out::{Out, Style};
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions context 4f89da11
  osier sessions context x.jsonl --at ade7f3fb --json
  osier sessions context 4f89da11 --request --json

Prints the messages of the path, the oldest first: after a compaction its summary, what it kept and what followed.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The entry to stand at, or `root`; where the session stands if not given
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// What is really sent: calls and results paired, checkpoints marked
    #[arg(long)]
    request: bool,
    /// Print {leafId, messages, thinkingLevel, model} as JSON; with --request {leafId, messages, repairs}
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let target = Target::find(home, &args.session).await?;
    let mut out = Out::new();
    if args.request {
        request(&args, &target, home, &mut out).await?;
        return out.done();
    }
    let plan = plan(&args, &target, home).await?;
    match args.json {
        true => {
            out.raw(b"{")?;
            reader(&target, &plan).members(|piece| out.raw(piece)).await?;
            out.raw(b"}\n")?;
        }
        false => text(&target, &plan, &mut out).await?,
    }
    out.done()
}

/// The entries of the context. Where the session stands is known from the end of the log; an id must be looked for.
async fn plan(args: &Args, target: &Target, home: &Home) -> Result<ContextPlan> {
    if let Some(at) = &args.at {
        let tree = target.session(home).await?.tree();
        return Ok(tree.context_entries(reading::place(&tree, Some(at))?));
    }
    let mut heads = target.heads();
    let leaf = heads.leaf().await?;
    Ok(heads.context(leaf).await?)
}

fn reader<'a>(target: &'a Target, plan: &'a ContextPlan) -> ContextReader<'a> {
    let generation = target.opened.version.generation;
    ContextReader { store: &*target.store, key: &target.key, generation, plan }
}

async fn text(target: &Target, plan: &ContextPlan, out: &mut Out) -> Result<()> {
    let mut messages = 0;
    let write = |message: &[u8]| {
        let message = said::read(message);
        messages += usize::from(counts(&message));
        said::write(&message, out)
    };
    reader(target, plan).each_message(write).await?;
    if plan.dangling {
        let odd = "The compaction keeps from an entry that is not above it; nothing was kept.";
        out.line(&out.paint(Style::Bad, odd))?;
    }
    out.line(&out.paint(Style::Dim, &count(messages, "message", "messages")))
}

async fn request(args: &Args, target: &Target, home: &Home, out: &mut Out) -> Result<()> {
    let session = target.session(home).await?;
    let tree = session.tree();
    let plan = tree.context_entries(reading::place(&tree, args.at.as_deref())?);
    let wanted: Vec<Seq> =
        plan.items.iter().flat_map(|item| std::iter::once(item.seq).chain(item.edit)).collect();
    let lines = reading::lines(&session, &wanted).await?;
    let request = tree.request(&plan, &lines, true);
    if args.json {
        let leaf = plan.leaf.map(|seq| tree.id(seq).to_string());
        return out
            .json(&json!({ "leafId": leaf, "messages": request.messages, "repairs": request.repairs }));
    }
    for message in &request.messages {
        said::write(message, out)?;
    }
    let repairs = request.repairs;
    if repairs != Default::default() {
        let calls = count(repairs.unanswered_calls, "call without result", "calls without results");
        let results = count(repairs.stray_results, "result without call", "results without calls");
        out.line(&out.paint(Style::Bad, &format!("Repaired: {calls}, {results}.")))?;
    }
    let messages = request.messages.iter().filter(|message| counts(message)).count();
    out.line(&out.paint(Style::Dim, &count(messages, "message", "messages")))
}

/// Whether it counts as a message: the system prompt is shown, but does not.
fn counts(message: &Value) -> bool {
    message["role"] != "system"
}
