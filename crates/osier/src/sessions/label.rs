//! `label`: a person's name for an entry.

use std::process::ExitCode;

use anyhow::Result;

use crate::home::Home;
use crate::out::{Out, Style};
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  osier sessions label 4f89da11                        all labels\n  osier sessions label 4f89da11 3781a861 'works here'\n  osier sessions label 4f89da11 3781a861 --clear"
)]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The entry to name; without one all labels are listed
    entry: Option<String>,
    /// The name
    #[arg(required_unless_present_any = ["clear", "entry"], requires = "entry")]
    text: Option<String>,
    /// Take the name away
    #[arg(long, conflicts_with = "text", requires = "entry")]
    clear: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let session = Target::find(home, &args.session).await?.session(home).await?;
    if let Some(entry) = args.entry.as_deref().filter(|_| args.clear || args.text.is_some()) {
        session.label(entry, args.text.as_deref()).await?;
        session.before_prompt().await?;
    }
    let tree = session.tree();
    let wanted = |id: &str| args.entry.as_deref().is_none_or(|entry| entry == id);
    let labels: Vec<(&str, &str)> = tree.snapshot_labels().filter(|(id, _)| wanted(id)).collect();
    let mut out = Out::new();
    if args.json {
        let map: serde_json::Map<_, _> =
            labels.iter().map(|(id, label)| ((*id).to_owned(), (*label).into())).collect();
        out.json(&map)?;
        return out.done();
    }
    for (id, label) in labels {
        let label = osier_tree::projection::preview::one_line(label, 200);
        out.line(&format!("{id}  {}", out.paint(Style::Label, &label)))?;
    }
    out.done()
}
