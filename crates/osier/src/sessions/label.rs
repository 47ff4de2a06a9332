//! `label`: lists, sets and clears labels of entries.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::reading;
use osier_protocol::ClientCommand;
use osier_tree::projection::preview::one_line;
use serde_json::{Map, Value};

use crate::home::Home;
use crate::layout::sanitize_line;
use crate::one_shot::OneShot;
use crate::output_writer::{OutputWriter, TextStyle, notice};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions label 4f89da11                         lists all labels
  osier sessions label 4f89da11 3781a861                shows the label of one entry
  osier sessions label 4f89da11 3781a861 'works here'   sets it
  osier sessions label 4f89da11 3781a861 ''             clears it, like --clear

Prints the resulting labels of the session or of the entry. The current position does not change.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Entry to label; without it, list all labels
    entry: Option<String>,
    /// New label; empty to clear it
    text: Option<String>,
    /// Clear the label
    #[arg(long, conflicts_with = "text", requires = "entry")]
    clear: bool,
    /// Print {entry: label} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let one_shot = OneShot::open(home, &args.session).await?;
    let session = one_shot.session();
    let entry = args.entry.as_deref().map(|word| {
        let tree = session.tree();
        Ok::<_, anyhow::Error>(tree.id(reading::resolve_entry(&tree, word)?).to_string())
    });
    let entry = entry.transpose()?;
    if let Some(entry) = entry.as_ref().filter(|_| args.clear || args.text.is_some()) {
        let command = ClientCommand::Label { entry: Some(entry.as_str().into()), label: args.text.clone() };
        one_shot.send(command).await?;
    }
    let tree = session.tree();
    let wanted = |id: &str| entry.as_deref().is_none_or(|entry| entry == id);
    let labels: Vec<(&str, &str)> = tree.snapshot_labels().filter(|(id, _)| wanted(id)).collect();
    let mut out = OutputWriter::new();
    if args.json {
        let map = labels.iter().map(|(id, label)| ((*id).to_owned(), Value::from(*label)));
        out.json(&map.collect::<Map<_, _>>())?;
        return out.finish();
    }
    for (id, label) in &labels {
        out.line(&format!("{}  {}", sanitize_line(id), out.paint(TextStyle::Label, &one_line(label, 200))))?;
    }
    if labels.is_empty() {
        notice(if args.entry.is_some() { "no label" } else { "no labels" });
    }
    out.finish()
}
