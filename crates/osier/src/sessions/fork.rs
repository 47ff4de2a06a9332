//! `fork`: copies a path into a new session. The source stays unchanged.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{ForkFrom, ForkRequest, ForkedSession};
use osier_tree::projection::preview::{one_line, sanitize};
use osier_tree::time;
use serde_json::json;

use super::moves::REFUSED;
use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::{format_age, pad_left, sanitize_line};
use crate::one_shot::OneShot;
use crate::output_writer::{OutputWriter, TextStyle, notice};
use crate::target;

/// How many characters of a message a row shows.
const MAX_TEXT: usize = 80;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions fork 4f89da11                      the path to the current position
  osier sessions fork 4f89da11 3781a861             the path up to and including that entry
  osier sessions fork 4f89da11 c55d6ff3             for a user message: the path before it, to rephrase it
  osier sessions fork 4f89da11 --at c55d6ff3        the path including exactly that entry
  osier sessions fork 4f89da11 --list               list the user messages you can fork from

ENTRY works as in `osier sessions move`. Labels on the path and the settings of the session are copied too; the original session stays \
unchanged, and nothing is summarized. Prints the id of the new session and, for a user message, its text; with --list, the user \
messages of the path, newest first.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Entry to fork from [default: the current position]
    entry: Option<String>,
    /// Fork the path including exactly this entry, even a user message
    #[arg(long, value_name = "ENTRY", num_args = 0..=1)]
    at: Option<Option<String>>,
    /// Include exactly ENTRY, even a user message; same as --at ENTRY
    #[arg(long, requires = "entry")]
    exact: bool,
    /// List the user messages on the path instead, newest first
    #[arg(long, conflicts_with_all = ["entry", "at", "name"])]
    list: bool,
    /// With --list: include all branches
    #[arg(long, requires = "list")]
    all: bool,
    /// Name of the new session
    #[arg(long)]
    name: Option<String>,
    /// Print {session, file, leafId, editorText?} or {cancelled}, with --list [{id, timestamp?, text}] as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    if args.list {
        return write_list(&args, home).await;
    }
    let source = target::find_and_open(home, &args.session).await?;
    let mut out = OutputWriter::new();
    let request = ForkRequest {
        from: fork_from(&args)?,
        store: home.named_store().map(str::to_owned),
        name: args.name.clone(),
    };
    let Some(ForkedSession { stored, editor }) = home.engine.fork(source.session(), &request).await? else {
        if args.json {
            out.json(&json!({ "cancelled": true }))?;
        } else {
            notice(REFUSED);
        }
        return out.finish();
    };
    let text = editor.map(|editor| editor.text);
    let id = &stored.opened.header.id;
    if args.json {
        let (tree, file) = (target::open_live(home, &stored).await?.session().tree(), stored.file());
        let leaf = tree.leaf().map(|seq| tree.id(seq).to_string());
        let mut value =
            json!({ "session": id, "file": file.map(|file| file.display().to_string()), "leafId": leaf });
        if let Some(text) = text {
            value["editorText"] = json!(text);
        }
        out.json(&value)?;
    } else {
        out.line(id)?;
        if let Some(text) = text {
            out.line(&out.paint(TextStyle::User, &sanitize(&text)))?;
        }
    }
    out.finish()
}

/// The end of the path. `ENTRY --at`, without a value, means `ENTRY --exact`.
fn fork_from(args: &Args) -> Result<ForkFrom> {
    match (args.entry.clone(), args.at.clone()) {
        (None, None) => Ok(ForkFrom::CurrentPosition),
        (Some(entry), None) if !args.exact => Ok(ForkFrom::Entry(entry)),
        (Some(entry), None | Some(None)) | (None, Some(Some(entry))) => Ok(ForkFrom::Exactly(entry)),
        (None, Some(None)) => Err(usage_error("--at needs an ENTRY")),
        (Some(_), Some(Some(_))) => Err(usage_error("give the entry once: as ENTRY or with --at")),
    }
}

/// The user messages on the path or, with `all`, on every branch that is not deleted; newest first.
async fn write_list(args: &Args, home: &Home) -> Result<ExitCode> {
    let one_shot = OneShot::open(home, &args.session).await?;
    let points = one_shot.client().fork_points(args.all).await?;
    let mut out = OutputWriter::new();
    if args.json {
        let json = points.iter().map(|point| {
            let mut json = json!({ "id": point.id, "timestamp": point.timestamp, "text": point.text });
            if let (None, Some(fields)) = (&point.timestamp, json.as_object_mut()) {
                fields.remove("timestamp");
            }
            json
        });
        out.json(&json.collect::<Vec<_>>())?;
        return out.finish();
    }
    for point in &points {
        let then = point.timestamp.as_deref().and_then(time::parse);
        let age = then.map(|then| format_age(then, home.now())).unwrap_or_default();
        let id = out.paint(TextStyle::Dim, &sanitize_line(&point.id));
        out.line(&format!("{id}  {}  {}", pad_left(&age, 4), one_line(&point.preview, MAX_TEXT)))?;
    }
    if points.is_empty() {
        notice("no user messages on this path; --all includes other branches");
    }
    out.finish()
}
