//! `osier search`: finds sessions by what was said in them, and shows where.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{ListOptions, SessionList};
use osier_tree::projection::card::Card;
use osier_tree::projection::preview::one_line;
use osier_tree::search_query::{MessageHit, SearchDetail};
use serde_json::{Value, json};

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::{format_age, pluralize, sanitize_line};
use crate::output_writer::{OutputWriter, TextStyle, notice};
use crate::progress::show_progress;
use crate::sessions::list::{list_and_show_problems, parse_query};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier search cursor
  osier search '\"json flag\" parser'
  osier search --here -C 3 're:fix(ed|es)'
  osier search cursor --json | jq -r '.[].matches[].entryId'

Prints each session that contains all words, in its name, directory, id or messages: short id, age, title and directory; below \
it, the messages that contain most of the words: entry id, author and the matching lines. Case does not matter, and a word can \
be part of a longer one. Sessions whose name matches come first, then the most recently used.")]
pub(crate) struct Args {
    /// Words, "phrase" or re:REGEX
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,
    /// Only sessions of this directory
    #[arg(long)]
    here: bool,
    /// Also the sessions of sub-agents
    #[arg(long)]
    subagents: bool,
    /// Maximum number of sessions
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 20)]
    limit: usize,
    /// Maximum number of messages per session
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    hits: usize,
    /// Lines to show around each matching line
    #[arg(long, short = 'C', value_name = "COUNT", default_value_t = 0)]
    context: usize,
    /// Only this store
    #[arg(long, value_name = "NAME")]
    pub(crate) store: Option<String>,
    /// Print the results as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    let query = parse_query(&args.words.join(" "))?;
    if query.is_empty() {
        return Err(usage_error("no words to search for".to_owned()));
    }
    let options = ListOptions {
        query: Some(query),
        detail: SearchDetail { max_hits: args.hits, context: args.context },
        subagents: args.subagents,
        limit: Some(args.limit),
        ..home.list_options(!args.here)
    };
    let progress = show_progress("searching the sessions");
    let list = list_and_show_problems(&options, &home).await?;
    drop(progress);
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&json_items(&list))?;
        return out.finish();
    }
    for (at, card) in list.cards.iter().enumerate() {
        let hits = list.hits.get(at).map(Vec::as_slice).unwrap_or_default();
        write_session(card, hits, at > 0, &home, &mut out)?;
    }
    if list.cards.is_empty() {
        notice(&format!("no sessions match {}", sanitize_line(&args.words.join(" "))));
    } else if list.has_more {
        notice(&format!(
            "only {} shown; --limit shows more",
            pluralize(args.limit, "session is", "sessions are")
        ));
    }
    out.finish()
}

/// The JSON output: each session with its matches, then the unavailable stores.
fn json_items(list: &SessionList) -> Vec<Value> {
    let sessions = list.cards.iter().enumerate().map(|(at, card)| {
        json!({ "session": card, "matches": list.hits.get(at).map(Vec::as_slice).unwrap_or_default() })
    });
    let down =
        list.unavailable.iter().map(|down| json!({ "store": down.store, "error": down.error.to_string() }));
    sessions.chain(down).collect()
}

fn write_session(
    card: &Card,
    hits: &[MessageHit],
    is_later: bool,
    home: &Home,
    out: &mut OutputWriter,
) -> Result<()> {
    if is_later {
        out.line("")?;
    }
    let store =
        if home.has_several_stores() { format!("{}  ", sanitize_line(&card.store)) } else { String::new() };
    out.line(&format!(
        "{}  {}  {}  {}",
        out.paint(TextStyle::Label, &sanitize_line(&card.short_id)),
        format_age(card.modified, home.now()),
        out.paint(TextStyle::Bold, &one_line(card.title(), 80)),
        out.paint(TextStyle::Dim, &format!("{store}{}", sanitize_line(&card.cwd))),
    ))?;
    hits.iter().try_for_each(|hit| write_hit(hit, out))
}

/// Writes the lines of a message, marked like the output of grep: `:` after the number of a matching line, `-` after others,
/// and `--` between lines that do not follow each other.
fn write_hit(hit: &MessageHit, out: &mut OutputWriter) -> Result<()> {
    let role = if hit.role == "user" { TextStyle::User } else { TextStyle::Active };
    out.line(&format!(
        "  {}  {}",
        out.paint(TextStyle::Label, &sanitize_line(&hit.entry_id)),
        out.paint(role, &hit.role)
    ))?;
    let digits = hit.lines.last().map_or(0, |line| line.number.to_string().len());
    let mut before = None;
    for line in &hit.lines {
        if before.is_some_and(|before| before + 1 < line.number) {
            out.line(&out.paint(TextStyle::Dim, "    --"))?;
        }
        before = Some(line.number);
        let mark = if line.is_match { ':' } else { '-' };
        let number = out.paint(TextStyle::Dim, &format!("{:>digits$}{mark}", line.number));
        out.line(format!("    {number} {}", line.text).trim_end())?;
    }
    Ok(())
}
