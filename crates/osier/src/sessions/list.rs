//! `list`: sessions as cards, forks below what they were forked from.

use std::process::ExitCode;

use anyhow::Result;
use osier_store::{Filter, Store};
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use rustc_hash::FxHashMap;

use super::search::Query;
use crate::home::{self, Home};
use crate::out::{Out, Style, age, fit};

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  osier sessions list\n  osier sessions list --all --search '\"json flag\" parser'\n  osier sessions list --search 're:fix(ed|es)'\n  osier sessions list --json | jq '.[0].id'"
)]
pub(crate) struct Args {
    /// The sessions of all directories, not only of this one
    #[arg(long, short)]
    all: bool,
    /// Words in name, directory or text: fuzzy; \"phrase\"; or re:REGEX
    #[arg(long, short, value_name = "QUERY")]
    search: Option<String>,
    /// Only sessions that have a name
    #[arg(long)]
    named: bool,
    /// At most so many
    #[arg(long, short = 'n', value_name = "COUNT")]
    limit: Option<usize>,
    /// Print cards as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let store = home.store();
    let filter = Filter { cwd: (!args.all).then(|| home.cwd.clone()), ..Filter::default() };
    let page = store.list(&filter).await?;
    let mut cards = page.cards;
    cards.retain(|card| !args.named || card.name.is_some());
    if let Some(query) = &args.search {
        cards = Query::parse(query)?.choose(cards, &*store).await?;
    }
    cards.truncate(args.limit.unwrap_or(usize::MAX));
    for file in &page.unreadable {
        eprintln!("osier: {file}");
    }
    let mut out = Out::new();
    if args.json {
        out.json(&cards)?;
        return out.done();
    }
    let now = jiff::Timestamp::now().as_millisecond();
    let threaded = args.search.is_none();
    for (depth, card) in if threaded { threads(&cards) } else { cards.iter().map(|card| (0, card)).collect() }
    {
        let line = row(&out, card, depth, now, args.all);
        out.line(&line)?;
    }
    if cards.is_empty() {
        let hint = if args.all { "" } else { " in this directory; --all shows those of others" };
        out.line(&format!("no sessions{hint}"))?;
    }
    out.done()
}

fn row(out: &Out, card: &Card, depth: usize, now: i64, all: bool) -> String {
    let counts = format!("{:>4} msg {:>4}", card.message_count, age(card.modified, now));
    let cwd = if all { format!("  {}", one_line(&card.cwd, 60)) } else { String::new() };
    let indent = if depth > 0 { format!("{}└─ ", "   ".repeat(depth - 1)) } else { String::new() };
    let columns = home::width()
        .unwrap_or(100)
        .saturating_sub(8 + 2 + counts.len() + 2 + indent.chars().count() + cwd.len());
    let title = fit(&one_line(card.title(), 200), columns.max(20));
    let title = if card.name.is_some() { out.paint(Style::Bold, &title) } else { title };
    format!(
        "{}  {counts}  {}{title}{}",
        out.paint(Style::Label, &card.short_id),
        out.paint(Style::Dim, &indent),
        out.paint(Style::Dim, &cwd)
    )
}

/// Forks below their parents, as far as those are listed too.
fn threads(cards: &[Card]) -> Vec<(usize, &Card)> {
    let by_id: FxHashMap<&str, usize> =
        cards.iter().enumerate().map(|(at, card)| (card.id.as_str(), at)).collect();
    let by_file: FxHashMap<&str, usize> =
        cards.iter().enumerate().filter_map(|(at, card)| Some((card.file.as_deref()?, at))).collect();
    let parent = |card: &Card| {
        let id = card.parent_session_id.as_deref().and_then(|id| by_id.get(id));
        id.or_else(|| card.parent_session.as_deref().and_then(|file| by_file.get(file))).copied()
    };
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); cards.len()];
    let mut roots = Vec::new();
    for (at, card) in cards.iter().enumerate() {
        match parent(card) {
            // A parent is older than its fork; anything else would be a circle.
            Some(parent) if cards[parent].created <= card.created && parent != at => {
                children[parent].push(at)
            }
            _ => roots.push(at),
        }
    }
    let mut rows = Vec::with_capacity(cards.len());
    let mut seen = vec![false; cards.len()];
    let mut open: Vec<(usize, usize)> = roots.into_iter().rev().map(|at| (0, at)).collect();
    while let Some((depth, at)) = open.pop() {
        if !std::mem::replace(&mut seen[at], true) {
            rows.push((depth, &cards[at]));
            open.extend(children[at].iter().rev().map(|child| (depth + 1, *child)));
        }
    }
    rows.extend(cards.iter().enumerate().filter(|(at, _)| !seen[*at]).map(|(_, card)| (0, card)));
    rows
}
