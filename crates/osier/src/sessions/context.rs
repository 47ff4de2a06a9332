//! `context`: the messages of a place, streamed.

use std::process::ExitCode;

use anyhow::Result;
use osier_store::StoreError;
use osier_tree::entry::read_entry;
use osier_tree::projection::context::{model_of, thinking_of};
use osier_tree::scan::Raw;
use osier_tree::{ContextPlan, Seq};
use rustc_hash::FxHashMap;
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
            members(&target, &plan, &mut out).await?;
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

/// Hands out the messages of a plan one by one.
async fn each_message(
    target: &Target,
    plan: &ContextPlan,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let edits = edits(target, plan).await?;
    let wanted: Vec<Seq> = plan.items.iter().map(|item| item.seq).collect();
    let mut items = plan.items.iter();
    target
        .each_line(&wanted, |_, line| {
            let Some(item) = items.next() else { return Ok(()) };
            let edit = item.edit.and_then(|edit| edits.get(&edit)).map(Vec::as_slice);
            let mut result = Ok(());
            item.messages(line, edit, &mut |message| {
                if result.is_ok() {
                    result = each(message);
                }
            });
            result
        })
        .await
}

/// The lines of the edits of a plan.
async fn edits(target: &Target, plan: &ContextPlan) -> Result<FxHashMap<Seq, Vec<u8>>> {
    let wanted: Vec<Seq> = plan.items.iter().filter_map(|item| item.edit).collect();
    let mut edits = FxHashMap::default();
    target
        .each_line(&wanted, |seq, line| {
            edits.insert(seq, line.to_vec());
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(edits)
}

/// Writes the members of a context behind an opening brace: `leafId`, `messages`, `thinkingLevel`, `model`.
pub(super) async fn members(target: &Target, plan: &ContextPlan, out: &mut Out) -> Result<()> {
    let leaf = match plan.leaf {
        Some(leaf) => json!(read_entry(&target.line(leaf).await?).ok().map(|entry| entry.id.into_owned())),
        None => Value::Null,
    };
    out.raw(format!("\"leafId\":{leaf},\"messages\":[").as_bytes())?;
    let mut first = true;
    each_message(target, plan, |message| {
        if !std::mem::take(&mut first) {
            out.raw(b",")?;
        }
        out.raw(String::from_utf8_lossy(message).as_bytes())
    })
    .await?;
    let (thinking, model) = (thinking(target, plan).await?, model(target, plan).await?);
    out.raw(format!("],\"thinkingLevel\":{thinking},\"model\":{model}").as_bytes())
}

async fn thinking(target: &Target, plan: &ContextPlan) -> Result<Value> {
    let Some(seq) = plan.thinking else { return Ok(json!("off")) };
    let line = target.line(seq).await?;
    let entry = read_entry(&line).ok();
    Ok(entry.as_ref().and_then(thinking_of).map_or_else(|| json!("off"), value))
}

async fn model(target: &Target, plan: &ContextPlan) -> Result<Value> {
    let Some(seq) = plan.model else { return Ok(Value::Null) };
    let line = target.line(seq).await?;
    let entry = read_entry(&line).ok();
    let model = entry.as_ref().and_then(model_of);
    Ok(model
        .map_or(Value::Null, |(provider, id)| json!({ "provider": value(provider), "modelId": value(id) })))
}

fn value(raw: Raw<'_>) -> Value {
    raw.text().map_or_else(|| serde_json::from_slice(raw.bytes()).unwrap_or_default(), |text| json!(text))
}

async fn text(target: &Target, plan: &ContextPlan, out: &mut Out) -> Result<()> {
    let mut messages = 0;
    each_message(target, plan, |message| {
        messages += 1;
        said::write(&said::read(message), out)
    })
    .await?;
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
    out.line(&out.paint(Style::Dim, &count(request.messages.len(), "message", "messages")))
}
