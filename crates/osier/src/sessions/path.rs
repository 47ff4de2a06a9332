//! `path`: lists the entries from the root to the leaf.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::StoredSession;
use osier_tree::Entry;
use osier_tree::projection::preview::Previews;

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
    let mut out = OutputWriter::for_reading(&args.session);
    let at = args.at.as_deref();
    match args.json {
        true => home.engine.write_path_json(&stored, at, |piece| out.raw(piece)).await?,
        false => write_rows(&stored, at, home, &mut out).await?,
    }
    out.finish()
}

async fn write_rows(
    stored: &StoredSession,
    at: Option<&str>,
    home: &Home,
    out: &mut OutputWriter,
) -> Result<()> {
    let columns = home::columns().unwrap_or(usize::MAX);
    let mut previews = Previews::new(home.user.as_deref());
    let write = |entry: &Entry<'_>| {
        let id = sanitize_line(&entry.id);
        let text = truncate(&previews.preview(entry), columns.saturating_sub(width(&id) + 2).max(20));
        out.line(&format!("{}  {text}", out.paint(TextStyle::Dim, &id)))
    };
    home.engine.for_each_path_entry(stored, at, write).await
}
