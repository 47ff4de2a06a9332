//! `entry`: shows one entry.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::reading;
use osier_store::StoreError;
use osier_tree::entry::parse_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::projection::preview::{one_line, sanitize};
use osier_tree::{EntryKind, Seq, SessionTree, time};
use serde_json::Value;

use super::message_text;
use crate::failure::fail;
use crate::home::Home;
use crate::layout::{pad_left, sanitize_line};
use crate::output_writer::{OutputWriter, TextStyle};
use crate::target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions entry 4f89da11 3781a861
  osier sessions entry 4f89da11 3781a861 --json | jq .message

Prints the entry's details, then its message, or its fields as JSON. With --json, prints the entry as stored; a batch of sub-agents \
has the status of its last update.")]
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
    let session = target::open_session(home, &args.session).await?;
    let (state, _) = session.main_cursor().state_and_place();
    let tree = &state.tree;
    let seq = reading::resolve_entry(tree, &args.entry)?;
    let mut line = Vec::new();
    session
        .for_each_current_line(&state, &[seq], |_, current| {
            line = current.to_vec();
            Ok::<_, StoreError>(())
        })
        .await?;
    let Ok(entry) = parse_entry(&line) else {
        fail!(EntryNotFound, "entry {} cannot be read", sanitize_line(&args.entry))
    };
    let mut out = OutputWriter::new();
    let json = entry_json(&entry);
    if args.json {
        out.raw(&json)?;
        out.text("\n")?;
        return out.finish();
    }
    write_details(tree, seq, &mut out)?;
    out.line("")?;
    match entry.message.filter(|_| entry.kind == EntryKind::Message) {
        Some(message) => {
            message_text::write_message(&message_text::parse_message(message.bytes()), &mut out)?;
        }
        None => {
            let value: Value = message_text::parse_message(&json);
            out.line(sanitize(&serde_json::to_string_pretty(&value)?).trim_end())?;
        }
    }
    out.finish()
}

/// Writes the entry's position in the tree, time and label.
fn write_details(tree: &SessionTree, seq: Seq, out: &mut OutputWriter) -> Result<()> {
    let head = tree.head(seq);
    let id = |seq: Seq| sanitize_line(tree.id(seq).as_str());
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
        out.line(&format!("{}  {value}", out.paint(TextStyle::Dim, &pad_left(key, 8))))?;
    }
    Ok(())
}
