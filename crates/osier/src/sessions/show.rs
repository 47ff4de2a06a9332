//! `show`: shows a session's details and its conversation.

use std::process::ExitCode;

use anyhow::Result;
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use osier_tree::projection::transcript::MarkdownWriter;
use osier_tree::projection::usage::{UsageReport, UsageTotals, format_cost, format_tokens};
use osier_tree::time;

use crate::home::Home;
use crate::layout::{align_table, pad_left, pluralize, sanitize_line};
use crate::one_shot::OneShot;
use crate::output_writer::{OutputWriter, TextStyle};
use crate::target;

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
    let mut out = OutputWriter::new();
    if args.usage {
        let one_shot = OneShot::open(home, &args.session).await?;
        let usage = one_shot.client().usage().await?;
        match args.json {
            true => out.json(&usage)?,
            false => write_usage(&usage, &mut out)?,
        }
        return out.finish();
    }
    let stored = target::find(home, &args.session).await?;
    let card = stored.card().await?;
    if args.json {
        out.json(&card)?;
        return out.finish();
    }
    write_card(&card, &mut out)?;
    if stored.opened.invalid_lines > 0 {
        let odd = pluralize(
            stored.opened.invalid_lines,
            "line of the file is not an entry",
            "lines of the file are not entries",
        );
        out.line(&out.paint(TextStyle::Error, &format!("{odd}; run `osier sessions verify` for details")))?;
    }
    let (mut writer, mut begun) = (MarkdownWriter::default(), false);
    let write = |item| {
        if !std::mem::replace(&mut begun, true) {
            out.line("")?;
        }
        out.text(&writer.item(&item))
    };
    home.engine.for_each_transcript_item(&stored, None, write).await?;
    out.finish()
}

fn write_card(card: &Card, out: &mut OutputWriter) -> Result<()> {
    out.line(&out.paint(TextStyle::Bold, &one_line(card.title(), 200)))?;
    let messages = pluralize(card.message_count as usize, "message", "messages");
    let branches = pluralize(card.branches as usize, "branch", "branches");
    let parent = card.parent_session_id.as_ref().or(card.parent_session.as_ref());
    let rows = [
        ("id", sanitize_line(&card.id)),
        ("store", sanitize_line(if card.file.is_none() { &card.store } else { "" })),
        ("file", sanitize_line(card.file.as_deref().unwrap_or_default())),
        ("directory", sanitize_line(&card.cwd)),
        ("created", time::format(card.created)),
        ("modified", time::format(card.modified)),
        ("entries", format!("{} ({messages}, {branches})", card.entry_count)),
        ("used", format!("{} tokens, {}", format_tokens(card.tokens), format_cost(card.cost))),
        ("leaf", sanitize_line(card.leaf_id.as_deref().unwrap_or("before the first entry"))),
        ("parent", sanitize_line(parent.map_or("", String::as_str))),
    ];
    for (key, value) in rows.iter().filter(|(_, value)| !value.is_empty()) {
        out.line(&format!("{}  {value}", out.paint(TextStyle::Dim, &pad_left(key, 9))))?;
    }
    Ok(())
}

fn write_usage(report: &UsageReport, out: &mut OutputWriter) -> Result<()> {
    let heading = ["", "requests", "input", "output", "cache read", "cache write", "tokens", "cost"];
    let mut rows = vec![heading.map(str::to_owned).to_vec()];
    for model in &report.models {
        let names: Vec<&str> =
            [&model.provider, &model.model].into_iter().flatten().map(String::as_str).collect();
        let name = if names.is_empty() { "tools and summaries".to_owned() } else { names.join("/") };
        rows.push(usage_row(&one_line(&name, 60), &model.usage));
    }
    if !report.subagents.is_unused() {
        rows.push(usage_row("sub-agents", &report.subagents));
    }
    for branch in report.branches.iter().filter(|branch| branch.usage != UsageTotals::default()) {
        let state = match (branch.deleted, branch.active) {
            (true, _) => ", deleted",
            (false, true) => ", active",
            (false, false) => "",
        };
        rows.push(usage_row(&format!("branch {}{state}", sanitize_line(&branch.tip)), &branch.usage));
    }
    rows.push(usage_row("path to the leaf", &report.path));
    rows.push(usage_row("session", &report.session));
    let last = rows.len() - 1;
    for (at, line) in align_table(&rows).iter().enumerate() {
        let line = match at {
            0 => out.paint(TextStyle::Dim, line),
            _ if at == last => out.paint(TextStyle::Bold, line),
            _ => line.clone(),
        };
        out.line(&line)?;
    }
    Ok(())
}

fn usage_row(name: &str, usage: &UsageTotals) -> Vec<String> {
    let tokens = [usage.input, usage.output, usage.cache_read, usage.cache_write, usage.total_tokens];
    let mut row = vec![name.to_owned(), usage.requests.to_string()];
    row.extend(tokens.map(format_tokens));
    row.push(format_cost(usage.cost));
    row
}
