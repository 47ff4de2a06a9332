//! `context`: streams the messages that a model would get at a place.

use std::process::ExitCode;

use anyhow::Result;
use osier_agent::PreparedRequest;
use osier_engine::{StoredSession, reading};
use osier_model::{ContentBlock, Message, Request, SystemMessage, ToolSpec, body_text};
use osier_session::ContextReader;
use osier_settings::WorkspaceOptions;
use osier_tree::ContextPlan;
use osier_tree::projection::request::Repairs;
use serde_json::Value;
use serde_json::value::RawValue;

use super::message_text;
use crate::home::Home;
use crate::layout::pluralize;
use crate::output_writer::{OutputWriter, TextStyle};
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions context 4f89da11
  osier sessions context x.jsonl --at ade7f3fb --json
  osier sessions context 4f89da11 --request --json

Prints the messages of the path, oldest first; after a compaction: its summary, what it kept and what followed.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Entry, or `root` [default: the current position]
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// Show the full request: system prompt, paired calls and results, checkpoint marks
    #[arg(long)]
    request: bool,
    /// Print {leafId, messages, thinkingLevel, model} as JSON; with --request {leafId, model, messages, tools, repairs, body}
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let stored = target::find(home, &args.session).await?;
    let mut out = OutputWriter::new();
    if args.request {
        write_request(&args, &stored, home, &mut out).await?;
        return out.finish();
    }
    let plan = context_plan(&args, &stored, home).await?;
    match args.json {
        true => {
            out.raw(b"{")?;
            context_reader(&stored, &plan).write_members(|piece| out.raw(piece)).await?;
            out.raw(b"}\n")?;
        }
        false => write_text(&stored, &plan, &mut out).await?,
    }
    out.finish()
}

/// The entries of the context. The leaf is known from the end of the log; finding an id needs the whole tree.
async fn context_plan(args: &Args, stored: &StoredSession, home: &Home) -> Result<ContextPlan> {
    if let Some(at) = &args.at {
        let tree = target::open(home, stored).await?.tree();
        return Ok(tree.context_entries(reading::resolve_place(&tree, Some(at))?));
    }
    let mut heads = stored.heads();
    let leaf = heads.leaf().await?;
    Ok(heads.context(leaf).await?)
}

fn context_reader<'a>(stored: &'a StoredSession, plan: &'a ContextPlan) -> ContextReader<'a> {
    let generation = stored.opened.version.generation;
    ContextReader { store: &*stored.store, key: &stored.key, generation, plan }
}

async fn write_text(stored: &StoredSession, plan: &ContextPlan, out: &mut OutputWriter) -> Result<()> {
    let mut messages = 0;
    let write = |message: &[u8]| {
        let message = message_text::parse_message(message);
        messages += usize::from(is_counted(&message));
        message_text::write_message(&message, out)
    };
    context_reader(stored, plan).for_each_message(write).await?;
    if plan.dangling {
        let odd = "The first kept entry of the compaction is not above it; nothing was kept.";
        out.line(&out.paint(TextStyle::Error, odd))?;
    }
    out.line(&out.paint(TextStyle::Dim, &pluralize(messages, "message", "messages")))
}

/// A request as JSON. `body` is the exact body of the HTTP request.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct RequestJson<'a> {
    leaf_id: Option<String>,
    model: String,
    messages: &'a [Message],
    tools: &'a [ToolSpec],
    repairs: Repairs,
    body: Option<Box<RawValue>>,
}

async fn write_request(
    args: &Args,
    stored: &StoredSession,
    home: &Home,
    out: &mut OutputWriter,
) -> Result<()> {
    let session = target::open(home, stored).await?;
    let tree = session.tree();
    let at = reading::resolve_place(&tree, args.at.as_deref())?;
    let PreparedRequest { request, repairs } = home
        .engine
        .prepare_request(&session, &home.workspace_without_tools(&WorkspaceOptions::default()), at)
        .await?;
    let messages = messages(&request);
    if args.json {
        return out.json(&RequestJson {
            leaf_id: at.map(|seq| tree.id(seq).to_string()),
            model: request.model.full_name(),
            messages: &messages,
            tools: &request.tools,
            repairs,
            body: body_text(&request).map(RawValue::from_string).transpose()?,
        });
    }
    for message in &messages {
        message_text::write_message(&serde_json::to_value(message)?, out)?;
    }
    if repairs != Default::default() {
        let calls = pluralize(repairs.unanswered_calls, "call without result", "calls without results");
        let results = pluralize(repairs.stray_results, "result without call", "results without calls");
        out.line(&out.paint(TextStyle::Error, &format!("Repaired: {calls}, {results}.")))?;
    }
    // The system prompt is shown but not counted.
    out.line(&out.paint(TextStyle::Dim, &pluralize(request.messages.len(), "message", "messages")))
}

/// Whether it counts as a message: the system prompt is shown but not counted.
fn is_counted(message: &Value) -> bool {
    message["role"] != "system"
}

/// Everything the model reads, in order: the system prompt first.
fn messages(request: &Request) -> Vec<Message> {
    let prompt =
        SystemMessage { content: vec![ContentBlock::text(&request.system)], extra: serde_json::Map::new() };
    let prompt = (!request.system.is_empty()).then_some(Message::System(prompt));
    prompt.into_iter().chain(request.messages.iter().cloned()).collect()
}
