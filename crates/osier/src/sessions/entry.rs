//! `entry`: shows one entry.

use std::process::ExitCode;

use anyhow::Result;
use osier_tree::entry::read_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::projection::preview::{inert, one_line};
use osier_tree::{Kind, Seq, SessionTree, time};
use serde_json::Value;

use super::said;
use crate::failure::fail;
use crate::home::Home;
use crate::layout::{plain, right};
use crate::out::{Out, Style};
use crate::{reading, target};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions entry 4f89da11 3781a861
  osier sessions entry 4f89da11 3781a861 --json | jq .message

Prints the entry's details, then its message, or its fields as JSON. With --json, prints the entry as stored.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Entry id
    entry: String,
    /// Print the entry as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let session = target::session(home, &args.session).await?;
    let tree = session.tree();
    let seq = reading::entry(&tree, &args.entry)?;
    let lines = reading::lines(&session, &[seq]).await?;
    let Some(entry) = lines.get(&seq).and_then(|line| read_entry(line).ok()) else {
        fail!(EntryNotFound, "entry {} cannot be read", plain(&args.entry))
    };
    let mut out = Out::new();
    let json = entry_json(&entry);
    if args.json {
        out.raw(&json)?;
        out.text("\n")?;
        return out.done();
    }
    facts(&tree, seq, &mut out)?;
    out.line("")?;
    match entry.message.filter(|_| entry.kind == Kind::Message) {
        Some(message) => said::write(&said::read(message.bytes()), &mut out)?,
        None => {
            let value: Value = said::read(&json);
            out.line(inert(&serde_json::to_string_pretty(&value)?).trim_end())?;
        }
    }
    out.done()
}

/// Writes the entry's position in the tree, time and label.
fn facts(tree: &SessionTree, seq: Seq, out: &mut Out) -> Result<()> {
    let head = tree.head(seq);
    let id = |seq: Seq| plain(tree.id(seq).as_str());
    let children: Vec<String> = tree.children().of_entry(seq).iter().map(|child| id(*child)).collect();
    let on_path = tree.heads().is_ancestor(seq, tree.leaf());
    let state = match (tree.is_hidden(seq), on_path) {
        (true, _) => "in a deleted branch",
        (false, true) => "on the active path",
        (false, false) => "on another branch",
    };
    let rows = [
        ("entry", id(seq)),
        ("kind", head.kind.name().to_owned()),
        ("parent", head.parent.map_or_else(|| "root".to_owned(), id)),
        ("children", children.join(", ")),
        ("time", head.time().map(time::format).unwrap_or_default()),
        ("label", tree.label(seq).map(|label| one_line(&label.text, 200)).unwrap_or_default()),
        ("place", state.to_owned()),
    ];
    for (key, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        out.line(&format!("{}  {value}", out.paint(Style::Dim, &right(key, 8))))?;
    }
    Ok(())
}
