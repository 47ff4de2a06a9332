//! `context`: streams the messages that a model would get at a place.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{ContextRequest, StoredSession};
use osier_settings::WorkspaceOptions;
use serde_json::Value;

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

impl Args {
    /// Whether the request is shown, which extensions may change.
    pub(super) fn is_request(&self) -> bool {
        self.request
    }
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let stored = target::find(home, &args.session).await?;
    let mut out = OutputWriter::for_reading(&args.session);
    let at = args.at.as_deref();
    match (args.request, args.json) {
        (true, json) => {
            let workspace = home.workspace_without_tools(&WorkspaceOptions::default());
            let request = home.engine.context_request(&stored, &workspace, at).await?;
            if json { out.json(&request)? } else { write_request(&request, &mut out)? }
        }
        (false, true) => home.engine.write_context_json(&stored, at, |piece| out.raw(piece)).await?,
        (false, false) => write_messages(&stored, at, home, &mut out).await?,
    }
    out.finish()
}

async fn write_messages(
    stored: &StoredSession,
    at: Option<&str>,
    home: &Home,
    out: &mut OutputWriter,
) -> Result<()> {
    let mut messages = 0;
    let write = |message: &[u8]| {
        let message = message_text::parse_message(message);
        messages += usize::from(is_counted(&message));
        message_text::write_message(&message, out)
    };
    if home.engine.for_each_context_message(stored, at, write).await? {
        let odd = "The first kept entry of the compaction is not above it; nothing was kept.";
        out.line(&out.paint(TextStyle::Error, odd))?;
    }
    write_count(messages, out)
}

fn write_request(request: &ContextRequest, out: &mut OutputWriter) -> Result<()> {
    let mut messages = 0;
    for message in &request.messages {
        let message = serde_json::to_value(message)?;
        messages += usize::from(is_counted(&message));
        message_text::write_message(&message, out)?;
    }
    let repairs = &request.repairs;
    if repairs.unanswered_calls + repairs.stray_results > 0 {
        let calls = pluralize(repairs.unanswered_calls, "call without result", "calls without results");
        let results = pluralize(repairs.stray_results, "result without call", "results without calls");
        out.line(&out.paint(TextStyle::Error, &format!("Repaired: {calls}, {results}.")))?;
    }
    write_count(messages, out)
}

fn write_count(messages: usize, out: &mut OutputWriter) -> Result<()> {
    out.line(&out.paint(TextStyle::Dim, &pluralize(messages, "message", "messages")))
}

/// Whether it counts as a message: the system prompt is shown but not counted.
fn is_counted(message: &Value) -> bool {
    message["role"] != "system"
}
