//! `fork`: copies a path into a new session. The source stays unchanged.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{ForkFrom, ForkRequest, ForkedSession, reading};
use osier_session::Session;
use osier_tree::Seq;
use osier_tree::entry::parse_entry;
use osier_tree::projection::preview::{editor_text, one_line, sanitize, shown_text};
use osier_tree::time::{self, Millis};
use serde::Serialize;
use serde_json::json;

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::{format_age, pad_left, sanitize_line};
use crate::out::{Out, TextStyle, notice};
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
    /// Print {session, file, leafId, editorText?}, with --list [{id, timestamp?, text}] as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let source = target::open_session(home, &args.session).await?;
    let mut out = Out::new();
    if args.list {
        let said = fork_points(&source, args.all).await?;
        match args.json {
            true => out.json(&said)?,
            false => write_list(&said, home.now(), &mut out)?,
        }
        return out.finish();
    }
    let request = ForkRequest {
        from: fork_from(&args)?,
        store: home.named_store().map(str::to_owned),
        name: args.name.clone(),
    };
    let ForkedSession { stored, editor } = home.engine.fork(&source, &request).await?;
    let text = editor.map(|editor| editor.text);
    let id = &stored.opened.header.id;
    if args.json {
        let (tree, file) = (target::open(home, &stored).await?.tree(), stored.file());
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

/// A user message to fork before.
#[derive(Debug, Serialize)]
pub(crate) struct ForkPoint {
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    /// The text for the editor.
    text: String,
    #[serde(skip)]
    time: Option<Millis>,
    /// The text as displayed.
    #[serde(skip)]
    shown: String,
}

impl ForkPoint {
    /// The age and the text.
    pub(crate) fn row(&self, now: Millis) -> String {
        let age = self.time.map(|then| format_age(then, now)).unwrap_or_default();
        format!("{}  {}", pad_left(&age, 4), self.shown)
    }
}

/// The user messages on the path or, with `all`, on every branch that is not deleted; newest first.
pub(crate) async fn fork_points(session: &Session, all: bool) -> Result<Vec<ForkPoint>> {
    let (state, at) = session.main_cursor().state_and_place();
    let tree = &state.tree;
    let said = |seq: &Seq| tree.head(*seq).is_user();
    let seqs: Vec<Seq> = match all {
        false => tree.heads().ancestors(at).filter(said).collect(),
        true => {
            let hidden = tree.hidden_entries();
            let shown = tree.heads().iter().rev().map(|(seq, _)| seq).filter(|seq| !hidden.contains(seq));
            shown.filter(said).collect()
        }
    };
    let lines = reading::read_lines(session, &seqs).await?;
    let entries = seqs.iter().filter_map(|seq| parse_entry(lines.get(seq)?).ok());
    let forkable = entries.map(|entry| {
        let text = editor_text(&entry).unwrap_or_default();
        ForkPoint {
            id: entry.id.to_string(),
            timestamp: entry.time.map(time::format),
            time: entry.time,
            shown: one_line(&shown_text(&entry), MAX_TEXT),
            text,
        }
    });
    Ok(forkable.collect())
}

fn write_list(said: &[ForkPoint], now: Millis, out: &mut Out) -> Result<()> {
    for one in said {
        out.line(&format!("{}  {}", out.paint(TextStyle::Dim, &sanitize_line(&one.id)), one.row(now)))?;
    }
    if said.is_empty() {
        notice("no user messages on this path; --all includes other branches");
    }
    Ok(())
}
