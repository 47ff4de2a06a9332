//! `list`: lists sessions, with forks below their parents.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Result;
use osier_engine::{ListOptions, SessionList, UnavailableStore};
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use osier_tree::search_query::SearchQuery;
use osier_tree::time::Millis;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};

use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::{format_age, pad_left, pad_right, sanitize_line, truncate, width};
use crate::output_writer::{OutputWriter, TextStyle, notice};
use crate::progress::show_progress;
use crate::stores;

/// The minimum width of a title, even in a narrow terminal.
const MIN_TITLE_WIDTH: usize = 20;

/// The maximum width of a directory.
const MAX_CWD_WIDTH: usize = 40;

/// The maximum indentation level of forks.
const MAX_INDENT: usize = 12;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions list
  osier sessions list --all --search '\"json flag\" parser'
  osier sessions list --search 're:fix(ed|es)'
  osier sessions list --json | jq '.[0].id'

Prints one row per session: short id, store (if there are several), number of messages, age of the last message, name (else \
summary, else first words) and, with --all, the directory. Most recently used first; forks are below their parents. An \
unreachable store is reported on standard error and, with --json, as {store, error} after the sessions.")]
pub(crate) struct Args {
    /// List the sessions of all directories
    #[arg(long, short)]
    all: bool,
    /// Search name, directory and text: fuzzy words, "phrase" or re:REGEX
    #[arg(long, short, value_name = "QUERY")]
    search: Option<String>,
    /// Only sessions with a name
    #[arg(long)]
    named: bool,
    /// Also the sessions of sub-agents, below the session that delegated to them
    #[arg(long)]
    subagents: bool,
    /// Maximum number of sessions
    #[arg(long, short = 'n', value_name = "COUNT")]
    limit: Option<usize>,
    /// Print the sessions as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let query = args.search.as_deref().map(parse_query).transpose()?;
    let SessionList { cards, unavailable, .. } = list(&args, query, home).await?;
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&json_items(&cards, &unavailable))?;
        return out.finish();
    }
    let threads = match args.search {
        None => threads(&cards),
        Some(_) => cards.iter().map(|card| (0, card)).collect(),
    };
    let rows: Vec<ListRow> =
        threads.into_iter().map(|(depth, card)| ListRow::new(card, depth, home.now())).collect();
    write_rows(&rows, ListColumns { stores: home.has_several_stores(), cwds: args.all }, &mut out)?;
    if cards.is_empty() {
        notice(&nothing_found(&args));
    }
    out.finish()
}

/// Parses a query from the command line.
pub(crate) fn parse_query(text: &str) -> Result<Arc<SearchQuery>> {
    let query = SearchQuery::parse(text).map_err(|error| usage_error(error.to_string()))?;
    Ok(Arc::new(query))
}

/// The notice for an empty list.
fn nothing_found(args: &Args) -> String {
    let sessions = if args.named { "named sessions" } else { "sessions" };
    let place = if args.all { "" } else { " in this directory" };
    let query =
        args.search.as_ref().map(|query| format!(" match {}", sanitize_line(query))).unwrap_or_default();
    let hint = if args.all { "" } else { "; --all includes other directories" };
    format!("no {sessions}{place}{query}{hint}")
}

/// The JSON output: the cards, then the unavailable stores.
fn json_items(cards: &[Card], down: &[UnavailableStore]) -> Vec<Value> {
    let cards = cards.iter().map(|card| json!(card));
    cards
        .chain(down.iter().map(
            |UnavailableStore { store, error: reason }| json!({ "store": store, "error": reason.to_string() }),
        ))
        .collect()
}

async fn list(args: &Args, query: Option<Arc<SearchQuery>>, home: &Home) -> Result<SessionList> {
    let _progress = show_progress("reading the sessions");
    let options = ListOptions {
        query,
        named: args.named,
        subagents: args.subagents,
        limit: args.limit,
        ..home.list_options(args.all)
    };
    list_and_show_problems(&options, home).await
}

/// Lists sessions. Reports on standard error what is missing.
pub(crate) async fn list_and_show_problems(options: &ListOptions, home: &Home) -> Result<SessionList> {
    let list = home.engine.list(options).await?;
    for problem in list.unreadable.iter().chain(&list.search_problem) {
        notice(&format!("osier: {}", sanitize_line(problem)));
    }
    stores::show_unavailable(&list.unavailable);
    Ok(list)
}

/// Which optional columns are shown.
#[derive(Clone, Copy)]
struct ListColumns {
    stores: bool,
    cwds: bool,
}

/// A row of the list.
struct ListRow {
    id: String,
    store: String,
    messages: String,
    age: String,
    indent: String,
    title: String,
    is_named: bool,
    cwd: String,
}

impl ListRow {
    fn new(card: &Card, depth: usize, now: Millis) -> ListRow {
        let depth = depth.min(MAX_INDENT);
        ListRow {
            id: sanitize_line(&card.short_id),
            store: sanitize_line(&card.store),
            messages: card.message_count.to_string(),
            age: format_age(card.modified, now),
            indent: if depth > 0 { format!("{}└─ ", "   ".repeat(depth - 1)) } else { String::new() },
            title: one_line(card.title(), 200),
            is_named: card.name.is_some(),
            cwd: sanitize_line(&card.cwd),
        }
    }
}

/// Writes the rows with aligned columns.
fn write_rows(rows: &[ListRow], columns: ListColumns, out: &mut OutputWriter) -> Result<()> {
    let widest = |of: fn(&ListRow) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let ids = widest(|row| width(&row.id));
    let messages = widest(|row| row.messages.len());
    let ages = widest(|row| row.age.len());
    let cwds = if columns.cwds { widest(|row| width(&row.cwd)).min(MAX_CWD_WIDTH) } else { 0 };
    let stores = if columns.stores { widest(|row| width(&row.store)) + 2 } else { 0 };
    let taken = ids + stores + messages + " msg".len() + ages + cwds + 4 * 2;
    let room =
        home::columns().map_or(usize::MAX, |columns| columns.saturating_sub(taken).max(MIN_TITLE_WIDTH));
    let titles = widest(|row| width(&row.indent) + width(&row.title)).min(room);
    for row in rows {
        let left_over = titles.saturating_sub(width(&row.indent));
        let title = truncate(&row.title, left_over.max(1));
        let gap = " ".repeat(left_over.saturating_sub(width(&title)));
        let store =
            if columns.stores { format!("  {}", pad_right(&row.store, stores - 2)) } else { String::new() };
        let line = format!(
            "{}{}  {} msg  {}  {}{}{gap}  {}",
            out.paint(TextStyle::Label, &pad_right(&row.id, ids)),
            out.paint(TextStyle::Dim, &store),
            pad_left(&row.messages, messages),
            pad_left(&row.age, ages),
            out.paint(TextStyle::Dim, &row.indent),
            if row.is_named { out.paint(TextStyle::Bold, &title) } else { title },
            out.paint(TextStyle::Dim, &truncate(&row.cwd, cwds)),
        );
        out.line(line.trim_end())?;
    }
    Ok(())
}

/// Puts forks below their parents, if those are listed too. A thread is placed by its most recently used session.
fn threads(cards: &[Card]) -> Vec<(usize, &Card)> {
    let parents = parents(cards);
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); cards.len()];
    for (at, parent) in parents.iter().enumerate() {
        if let Some(parent) = parent {
            children[*parent].push(at);
        }
    }
    let mut rows = Vec::with_capacity(cards.len());
    let mut seen = vec![false; cards.len()];
    for at in 0..cards.len() {
        let mut open = if seen[at] { Vec::new() } else { vec![(0, root_of(at, &parents))] };
        while let Some((depth, at)) = open.pop() {
            if !std::mem::replace(&mut seen[at], true) {
                rows.push((depth, &cards[at]));
                open.extend(children[at].iter().rev().map(|child| (depth + 1, *child)));
            }
        }
    }
    rows
}

/// For each card, the card it was forked from, which must not be newer.
fn parents(cards: &[Card]) -> Vec<Option<usize>> {
    let numbered = || cards.iter().enumerate();
    let by_id: FxHashMap<&str, usize> = numbered().map(|(at, card)| (card.id.as_str(), at)).collect();
    let by_file: FxHashMap<&str, usize> =
        numbered().filter_map(|(at, card)| Some((card.file.as_deref()?, at))).collect();
    let parent_of = |card: &Card| {
        let id = card.parent_session_id.as_deref().and_then(|id| by_id.get(id));
        let file = || card.parent_session.as_deref().and_then(|file| by_file.get(file));
        id.or_else(file).copied().filter(|parent| cards[*parent].created <= card.created)
    };
    cards.iter().map(parent_of).collect()
}

/// The root of a thread. In a cycle of headers, any of its cards.
fn root_of(at: usize, parents: &[Option<usize>]) -> usize {
    std::iter::successors(Some(at), |at| parents[*at]).take(parents.len()).last().unwrap_or(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn card(id: &str, created: Millis, parent: Option<&str>) -> Card {
        Card { id: id.to_owned(), created, parent_session_id: parent.map(str::to_owned), ..Card::default() }
    }

    fn drawn(cards: &[Card]) -> Vec<String> {
        threads(cards).into_iter().map(|(depth, card)| format!("{}{}", "-".repeat(depth), card.id)).collect()
    }

    #[test]
    fn thread_is_placed_by_its_most_recent_session() {
        let cards =
            [card("b1", 3, Some("b")), card("a", 2, None), card("b", 1, None), card("b2", 4, Some("b1"))];
        assert_eq!(drawn(&cards), ["b", "-b1", "--b2", "a"]);
    }

    #[test]
    fn cyclic_or_unknown_parents_hide_no_session() {
        let cards = [
            card("a", 1, Some("b")),
            card("b", 1, Some("a")),
            card("c", 1, Some("c")),
            card("d", 1, Some("x")),
        ];
        assert_eq!(drawn(&cards), ["b", "-a", "c", "d"]);
    }
}
