//! `show`: shows a session's details and its conversation.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::Session;
use osier_store::StoreError;
use osier_tree::entry::read_entry;
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use osier_tree::projection::transcript::MarkdownWriter;
use osier_tree::projection::usage::{Meter, Usage, UsageReport, format_cost, format_tokens, usage_entries};
use osier_tree::{Seq, time};

use crate::home::Home;
use crate::layout::{count, plain, right, table};
use crate::out::{Out, Style};
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions show 4f89da11
  osier sessions show x.jsonl --usage
  osier sessions show x.jsonl --json

Prints name, id, file, directory, times and counts, then the conversation on the active branch as Markdown. With --usage, prints \
tokens and cost by model and by branch, and the totals.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Show tokens and cost, by model and by branch, instead of the conversation
    #[arg(long)]
    usage: bool,
    /// Print the session's card as JSON; with --usage, the usage
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let target = Target::find(home, &args.session).await?;
    let mut out = Out::new();
    if args.usage {
        let report = usage(&target.session(home).await?).await?;
        match args.json {
            true => out.json(&report)?,
            false => write_usage(&report, &mut out)?,
        }
        return out.done();
    }
    let card = target.card().await?;
    if args.json {
        out.json(&card)?;
        return out.done();
    }
    write_card(&card, &mut out)?;
    if target.opened.odd_lines > 0 {
        let odd = count(
            target.opened.odd_lines,
            "line of the file is not an entry",
            "lines of the file are not entries",
        );
        out.line(&out.paint(Style::Bad, &format!("{odd}; run `osier sessions verify` for details")))?;
    }
    let session = target.session(home).await?;
    let (mut writer, mut begun) = (MarkdownWriter::default(), false);
    let write = |item| {
        if !std::mem::replace(&mut begun, true) {
            out.line("")?;
        }
        out.text(&writer.item(&item))
    };
    session.each_item(session.tree().leaf(), write).await?;
    out.done()
}

fn write_card(card: &Card, out: &mut Out) -> Result<()> {
    out.line(&out.paint(Style::Bold, &one_line(card.title(), 200)))?;
    let messages = count(card.message_count as usize, "message", "messages");
    let branches = count(card.branches as usize, "branch", "branches");
    let parent = card.parent_session_id.as_ref().or(card.parent_session.as_ref());
    let rows = [
        ("id", plain(&card.id)),
        ("store", plain(if card.file.is_none() { &card.store } else { "" })),
        ("file", plain(card.file.as_deref().unwrap_or_default())),
        ("directory", plain(&card.cwd)),
        ("created", time::format(card.created)),
        ("modified", time::format(card.modified)),
        ("entries", format!("{} ({messages}, {branches})", card.entry_count)),
        ("used", format!("{} tokens, {}", format_tokens(card.tokens), format_cost(card.cost))),
        ("leaf", plain(card.leaf_id.as_deref().unwrap_or("before the first entry"))),
        ("parent", plain(parent.map_or("", String::as_str))),
    ];
    for (key, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        out.line(&format!("{}  {value}", out.paint(Style::Dim, &right(key, 9))))?;
    }
    Ok(())
}

async fn usage(session: &Session) -> Result<UsageReport> {
    let tree = session.tree();
    let wanted: Vec<Seq> = usage_entries(&tree).collect();
    let mut meter = Meter::default();
    session
        .each_line(session.version(), &wanted, |seq, line| {
            if let Ok(entry) = read_entry(line) {
                meter.take(seq, &entry);
            }
            Ok::<_, StoreError>(())
        })
        .await?;
    Ok(meter.report(&tree, tree.leaf()))
}

fn write_usage(report: &UsageReport, out: &mut Out) -> Result<()> {
    let heading = ["", "requests", "input", "output", "cache read", "cache write", "tokens", "cost"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for model in &report.models {
        let names: Vec<&str> =
            [&model.provider, &model.model].into_iter().flatten().map(String::as_str).collect();
        let name = if names.is_empty() { "tools and summaries".to_owned() } else { names.join("/") };
        rows.push(row(&one_line(&name, 60), &model.usage));
    }
    for branch in report.branches.iter().filter(|branch| branch.usage != Usage::default()) {
        let state = match (branch.deleted, branch.active) {
            (true, _) => ", deleted",
            (false, true) => ", active",
            (false, false) => "",
        };
        rows.push(row(&format!("branch {}{state}", plain(&branch.tip)), &branch.usage));
    }
    rows.push(row("path to the leaf", &report.path));
    rows.push(row("session", &report.session));
    let last = rows.len() - 1;
    for (at, line) in table(&rows).iter().enumerate() {
        let line = match at {
            0 => out.paint(Style::Dim, line),
            _ if at == last => out.paint(Style::Bold, line),
            _ => line.clone(),
        };
        out.line(&line)?;
    }
    Ok(())
}

fn row(name: &str, usage: &Usage) -> Vec<String> {
    let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total_tokens];
    let mut row = vec![name.to_owned(), usage.requests.to_string()];
    row.extend(tokens.map(format_tokens));
    row.push(format_cost(usage.cost));
    row
}
