//! `show`: what is known of a session, and its conversation.

use std::process::ExitCode;

use anyhow::Result;
use osier_store::Store;
use osier_tree::projection::preview::one_line;
use osier_tree::projection::transcript::{markdown, transcript, transcript_entries};
use osier_tree::projection::usage::{Meter, format_cost, format_tokens, usage_entries};
use osier_tree::time;

use crate::home::Home;
use crate::out::{Out, Style};
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  osier sessions show 4f89da11\n  osier sessions show x.jsonl --usage\n  osier sessions show x.jsonl --json"
)]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// Tokens and cost, by model and by branch, instead of the conversation
    #[arg(long)]
    usage: bool,
    /// Print the card (with --usage, the usage) as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let target = Target::find(home, &args.session).await?;
    let card = target.store.card(&target.key).await?;
    let mut out = Out::new();
    if args.json && !args.usage {
        out.json(&card)?;
        return out.done();
    }
    let session = target.session(home).await?;
    let tree = session.tree();
    if args.usage {
        let wanted: Vec<_> = usage_entries(&tree).collect();
        let mut meter = Meter::default();
        session
            .each_line(session.version(), &wanted, |seq, line| {
                if let Ok(entry) = osier_tree::entry::read_entry(line) {
                    meter.take(seq, &entry);
                }
                Ok::<_, osier_store::StoreError>(())
            })
            .await?;
        let report = meter.report(&tree, tree.leaf());
        if args.json {
            out.json(&report)?;
        } else {
            out.line(&serde_json::to_string_pretty(&report)?)?;
        }
        return out.done();
    }
    out.line(&out.paint(Style::Bold, &one_line(card.title(), 200)))?;
    let rows = [
        ("id", card.id.clone()),
        ("file", card.file.clone().unwrap_or_default()),
        ("directory", card.cwd.clone()),
        ("created", time::format(card.created)),
        ("modified", time::format(card.modified)),
        (
            "entries",
            format!("{} ({} messages, {} branches)", card.entry_count, card.message_count, card.branches),
        ),
        ("used", format!("{} tokens, {}", format_tokens(card.tokens), format_cost(card.cost))),
        ("leaf", card.leaf_id.clone().unwrap_or_else(|| "before the first entry".to_owned())),
        (
            "parent",
            card.parent_session_id.clone().or_else(|| card.parent_session.clone()).unwrap_or_default(),
        ),
    ];
    for (key, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        out.line(&format!("{}  {}", out.paint(Style::Dim, &format!("{key:>9}")), one_line(value, 500)))?;
    }
    if target.opened.odd_lines > 0 {
        let odd = format!(
            "{} lines of the file are no entries; `osier sessions verify` names them",
            target.opened.odd_lines
        );
        out.line(&out.paint(Style::Bad, &odd))?;
    }
    let lines = reading::lines(&session, &transcript_entries(&tree, tree.leaf())).await?;
    let items = transcript(&tree, tree.leaf(), &lines);
    out.line("")?;
    out.line(&markdown(&items, ""))?;
    out.done()
}
