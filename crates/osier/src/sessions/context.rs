//! `context`: the messages of a place, streamed.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::Session;
use osier_store::{Store, StoreError, each_line};
use osier_tree::entry::read_entry;
use osier_tree::projection::context::{model_of, thinking_of};
use osier_tree::projection::preview;
use osier_tree::scan::Raw;
use osier_tree::walk::Item;
use osier_tree::{ContextPlan, Seq};
use rustc_hash::FxHashMap;
use serde_json::json;

use crate::home::Home;
use crate::out::{Out, Style};
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  osier sessions context 4f89da11\n  osier sessions context x.jsonl --at ade7f3fb --json\n  osier sessions context 4f89da11 --request --json"
)]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The entry to stand at, or `root`; where the session stands if not given
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// What is really sent: calls and results paired, checkpoints marked
    #[arg(long)]
    request: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let target = Target::find(home, &args.session).await?;
    if args.request {
        return request(&args, &target.session(home).await?).await;
    }
    let plan = match &args.at {
        None => {
            let mut heads = target.heads();
            let leaf = heads.leaf().await?;
            heads.context(leaf).await?
        }
        Some(at) => {
            let tree = target.session(home).await?.tree();
            tree.context_entries(reading::place(&tree, Some(at))?)
        }
    };
    let mut out = Out::new();
    if args.json {
        json(&target, &plan, &mut out).await?
    } else {
        text(&target, &plan, &mut out).await?
    }
    out.done()
}

/// The lines of the edits of a plan.
async fn edits(target: &Target, plan: &ContextPlan) -> Result<FxHashMap<Seq, Vec<u8>>> {
    let wanted: Vec<Seq> = plan.items.iter().filter_map(|item| item.edit).collect();
    let mut edits = FxHashMap::default();
    each_line(&*target.store, &target.key, target.opened.version.generation, &wanted, |seq, line| {
        edits.insert(seq, line.to_vec());
        Ok::<_, StoreError>(())
    })
    .await?;
    Ok(edits)
}

/// Hands out the messages of a plan one by one.
pub(crate) async fn each_message(
    target: &Target,
    plan: &ContextPlan,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let edits = edits(target, plan).await?;
    let wanted: Vec<Seq> = plan.items.iter().map(|item| item.seq).collect();
    let mut items = plan.items.iter();
    each_line(&*target.store, &target.key, target.opened.version.generation, &wanted, |_, line| {
        let Some(item): Option<&Item> = items.next() else { return Ok(()) };
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

async fn one_line(target: &Target, seq: Option<Seq>) -> Result<Option<Vec<u8>>> {
    let Some(seq) = seq else { return Ok(None) };
    let mut batch = osier_store::Batch::default();
    target.store.lines(&target.key, target.opened.version.generation, &[seq], &mut batch).await?;
    Ok(batch.get(0).map(<[u8]>::to_vec))
}

/// Writes the members of a context behind an opening brace: `leafId`, `messages`, `thinkingLevel`, `model`.
pub(crate) async fn members(target: &Target, plan: &ContextPlan, out: &mut Out) -> Result<()> {
    let leaf = one_line(target, plan.leaf).await?;
    let leaf = leaf.as_deref().and_then(|line| read_entry(line).ok()).map(|entry| entry.id.into_owned());
    out.raw(format!("\"leafId\":{},\"messages\":[", json!(leaf)).as_bytes())?;
    let mut first = true;
    each_message(target, plan, |message| {
        if !std::mem::take(&mut first) {
            out.raw(b",")?;
        }
        out.raw(String::from_utf8_lossy(message).as_bytes())
    })
    .await?;
    let thinking = one_line(target, plan.thinking).await?;
    let thinking = thinking.as_deref().and_then(|line| read_entry(line).ok());
    let level = thinking.as_ref().and_then(thinking_of).map_or_else(|| json!("off"), |level| value(level));
    let model = one_line(target, plan.model).await?;
    let model = model.as_deref().and_then(|line| read_entry(line).ok());
    let model = model
        .as_ref()
        .and_then(model_of)
        .map(|(provider, id)| json!({ "provider": value(provider), "modelId": value(id) }));
    out.raw(format!("],\"thinkingLevel\":{level},\"model\":{}", json!(model)).as_bytes())
}

fn value(raw: Raw<'_>) -> serde_json::Value {
    raw.text().map_or_else(|| serde_json::from_slice(raw.bytes()).unwrap_or_default(), |text| json!(text))
}

async fn json(target: &Target, plan: &ContextPlan, out: &mut Out) -> Result<()> {
    out.raw(b"{")?;
    members(target, plan, out).await?;
    out.raw(b"}\n")
}

async fn text(target: &Target, plan: &ContextPlan, out: &mut Out) -> Result<()> {
    let mut count = 0;
    each_message(target, plan, |message| {
        count += 1;
        let line = [br#"{"type":"message","id":"x","message":"#, message, b"}"].concat();
        let Ok(entry) = read_entry(&line) else { return Ok(()) };
        let role =
            entry.message.and_then(|message| message.get("role")).and_then(Raw::text).unwrap_or_default();
        let summary = entry.message.and_then(|message| message.get("summary")).and_then(Raw::text);
        let said = summary.map_or_else(|| preview::full_text(&entry), std::borrow::Cow::into_owned);
        out.line(&out.paint(Style::User, &format!("── {}", preview::inert(&role))))?;
        out.line(preview::inert(&said).trim_end())
    })
    .await?;
    if plan.dangling {
        out.line(&out.paint(
            Style::Bad,
            "The compaction keeps from an entry that is not above it; nothing was kept.",
        ))?;
    }
    out.line(&out.paint(Style::Dim, &format!("{count} messages")))
}

async fn request(args: &Args, session: &Session) -> Result<ExitCode> {
    let tree = session.tree();
    let plan = tree.context_entries(reading::place(&tree, args.at.as_deref())?);
    let wanted: Vec<Seq> =
        plan.items.iter().flat_map(|item| std::iter::once(item.seq).chain(item.edit)).collect();
    let lines = reading::lines(session, &wanted).await?;
    let request = tree.request(&plan, &lines, true);
    let mut out = Out::new();
    if args.json {
        let mut value = serde_json::to_value(&request)?;
        value["leafId"] = json!(plan.leaf.map(|seq| tree.id(seq).to_string()));
        out.json(&value)?;
        return out.done();
    }
    for message in &request.messages {
        let role = message["role"].as_str().unwrap_or_default();
        out.line(&out.paint(Style::User, &format!("── {role}")))?;
        match &message["content"] {
            serde_json::Value::String(text) => out.line(&preview::inert(text))?,
            serde_json::Value::Array(blocks) => {
                for block in blocks {
                    let shown = block["text"].as_str().or_else(|| block["thinking"].as_str());
                    let shown = shown.map_or_else(|| block.to_string(), str::to_owned);
                    out.line(&preview::inert(&shown))?;
                }
            }
            other => out.line(&other.to_string())?,
        }
    }
    out.done()
}
