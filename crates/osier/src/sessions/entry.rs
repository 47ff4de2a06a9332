//! `entry`: shows one entry.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{EntryDetails, EntryLocation};
use osier_protocol::{one_line, sanitize, time};

use super::message_text;
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
    let stored = target::find(home, &args.session).await?;
    let mut out = OutputWriter::for_reading(&args.session);
    let entry = home.engine.entry(&stored, &args.entry).await?;
    if args.json {
        out.raw(&entry.json)?;
        out.text("\n")?;
        return out.finish();
    }
    write_details(&entry, &mut out)?;
    out.line("")?;
    match &entry.message {
        Some(message) => message_text::write_message(&message_text::parse_message(message), &mut out)?,
        None => {
            let value = message_text::parse_message(&entry.json);
            out.line(sanitize(&serde_json::to_string_pretty(&value)?).trim_end())?;
        }
    }
    out.finish()
}

/// Writes the entry's position in the tree, time and label.
fn write_details(entry: &EntryDetails, out: &mut OutputWriter) -> Result<()> {
    let children: Vec<String> = entry.children.iter().map(|child| sanitize_line(child)).collect();
    let place = match entry.location {
        EntryLocation::DeletedBranch => "in a deleted branch",
        EntryLocation::ActivePath => "on the active path",
        EntryLocation::OtherBranch => "on another branch",
    };
    let rows = [
        ("entry", sanitize_line(&entry.id)),
        ("kind", entry.kind.name().to_owned()),
        ("parent", sanitize_line(entry.parent.as_deref().unwrap_or("root"))),
        ("children", children.join(", ")),
        ("time", entry.time.map(time::format).unwrap_or_default()),
        ("label", entry.label.as_ref().map(|label| one_line(label, 200)).unwrap_or_default()),
        ("place", place.to_owned()),
    ];
    for (key, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        out.line(&format!("{}  {value}", out.paint(TextStyle::Dim, &pad_left(key, 8))))?;
    }
    Ok(())
}
