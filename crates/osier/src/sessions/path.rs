//! `path`: lists the entries from the root to the leaf.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{StoredSession, reading};
use osier_tree::entry::parse_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::projection::preview::Previews;
use osier_tree::{EntryKind, Seq};

use crate::home::{self, Home};
use crate::layout::{sanitize_line, truncate, width};
use crate::output_writer::{OutputWriter, TextStyle};
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions path 4f89da11
  osier sessions path x.jsonl --at ade7f3fb --json

Prints one row per entry, oldest first: its id and one line of text.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Last entry of the path, or `root` [default: the current position]
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// Print the entries as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let stored = target::find(home, &args.session).await?;
    let path = path_entries(&args, &stored, home).await?;
    let mut out = OutputWriter::new();
    match args.json {
        true => write_json(&stored, &path, home, &mut out).await?,
        false => write_rows(&stored, &path, home, &mut out).await?,
    }
    out.finish()
}

/// The leaf is known from the end of the log; finding an id needs the whole tree.
async fn path_entries(args: &Args, stored: &StoredSession, home: &Home) -> Result<Vec<Seq>> {
    if let Some(at) = &args.at {
        let tree = target::open(home, stored).await?.tree();
        return Ok(tree.path(reading::resolve_place(&tree, Some(at))?));
    }
    let mut heads = stored.heads();
    let leaf = heads.leaf().await?;
    Ok(heads.path(leaf).await?)
}

/// Calls `each` with the line of each entry. The session is opened only for a batch of sub-agents, whose latest status may be
/// anywhere in the log.
async fn for_each_line(
    stored: &StoredSession,
    path: &[Seq],
    home: &Home,
    each: impl FnMut(Seq, &[u8]) -> Result<()>,
) -> Result<()> {
    let mut heads = stored.heads();
    for seq in path {
        if heads.get(*seq).await?.kind == EntryKind::SubagentBatch {
            let session = target::open(home, stored).await?;
            return session
                .for_each_current_line(&session.main_cursor().state_and_place().0, path, each)
                .await;
        }
    }
    stored.for_each_line(path, each).await
}

async fn write_json(stored: &StoredSession, path: &[Seq], home: &Home, out: &mut OutputWriter) -> Result<()> {
    let mut first = true;
    out.raw(b"[")?;
    let write = |_: Seq, line: &[u8]| {
        let Ok(entry) = parse_entry(line) else { return Ok(()) };
        if !std::mem::take(&mut first) {
            out.raw(b",\n")?;
        }
        out.raw(&entry_json(&entry))
    };
    for_each_line(stored, path, home, write).await?;
    out.raw(b"]\n")
}

async fn write_rows(stored: &StoredSession, path: &[Seq], home: &Home, out: &mut OutputWriter) -> Result<()> {
    let columns = home::columns().unwrap_or(usize::MAX);
    let mut previews = Previews::new(home.user.as_deref());
    let write = |_: Seq, line: &[u8]| {
        let Ok(entry) = parse_entry(line) else { return Ok(()) };
        let id = sanitize_line(&entry.id);
        let text = truncate(&previews.preview(&entry), columns.saturating_sub(width(&id) + 2).max(20));
        out.line(&format!("{}  {text}", out.paint(TextStyle::Dim, &id)))
    };
    for_each_line(stored, path, home, write).await
}
