//! `path`: the entries from the root to the leaf.

use std::process::ExitCode;

use anyhow::Result;
use osier_store::each_line;
use osier_tree::Seq;
use osier_tree::entry::read_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::projection::preview::Previews;

use crate::home::Home;
use crate::out::{Out, Style};
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  osier sessions path 4f89da11\n  osier sessions path x.jsonl --at ade7f3fb --json"
)]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The entry at which the path ends, or `root`; where the session stands if not given
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// Print the entries as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let target = Target::find(home, &args.session).await?;
    let path: Vec<Seq> = match &args.at {
        None => {
            let mut heads = target.heads();
            let leaf = heads.leaf().await?;
            heads.path(leaf).await?
        }
        Some(at) => {
            let tree = target.session(home).await?.tree();
            tree.path(reading::place(&tree, Some(at))?)
        }
    };
    let mut out = Out::new();
    let mut previews = Previews::new(None);
    let mut first = true;
    if args.json {
        out.raw(b"[")?;
    }
    each_line(
        &*target.store,
        &target.key,
        target.opened.version.generation,
        &path,
        |_, line| -> Result<()> {
            let Ok(entry) = read_entry(line) else { return Ok(()) };
            if args.json {
                if !std::mem::take(&mut first) {
                    out.raw(b",\n")?;
                }
                return out.raw(&entry_json(&entry));
            }
            let id = out.paint(Style::Dim, &entry.id);
            out.line(&format!("{id}  {}", previews.preview(&entry)))
        },
    )
    .await?;
    if args.json {
        out.raw(b"]\n")?;
    }
    out.done()
}
