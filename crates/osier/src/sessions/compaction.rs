//! `compaction`: shows what a compaction dropped from the context, and moves to before it.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::reading;
use osier_protocol::query::{CompactionDetails, DroppedEntry};
use osier_protocol::{Client, ClientCommand, EntryId};
use osier_tree::projection::preview::{sanitize, shorten_home};
use osier_tree::{EntryKind, ErrorCode, MessageRole, Place, Seq, SessionTree, summary};
use serde_json::{Map, Value};

use super::compact::format_tokens_saved;
use super::moves;
use crate::confirm::confirm;
use crate::failure::{coded_error, fail};
use crate::home::{self, Home};
use crate::layout::{pluralize, sanitize_line, truncate, width};
use crate::one_shot::OneShot;
use crate::output_writer::{OutputWriter, TextStyle};

/// How many dropped entries are shown at the start and at the end.
const MAX_SHOWN: usize = 8;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions compaction 4f89da11                   the last compaction on the path
  osier sessions compaction 4f89da11 3781a861 --json   any compaction, with all dropped entries
  osier sessions compaction 4f89da11 --undo            move to before it
  osier sessions compaction 4f89da11 --undo --yes      even if there are newer messages

Prints the entries that the model no longer gets, the tokens before and after, the files that the summary mentions, and the \
summary. The entries still exist in the session. --undo moves the leaf to before the compaction; later messages stay on the other \
branch, and if there are any, it asks first. `osier sessions undo` reverts that move.")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Compaction entry [default: the last one on the path]
    entry: Option<String>,
    /// Move to before the compaction
    #[arg(long)]
    undo: bool,
    /// With --undo: do not ask for confirmation
    #[arg(long, short, requires = "undo")]
    yes: bool,
    /// Print {entry, tokensBefore, tokensAfter, dropped, …}, with --undo {leafId, moved, cancelled?} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let one_shot = OneShot::open(home, &args.session).await?;
    let tree = one_shot.session().tree();
    let compaction = find_compaction(&tree, tree.leaf(), args.entry.as_deref())?;
    let entry = tree.id(compaction).to_entry_id();
    if args.undo {
        confirm_undo(&tree, compaction, args.yes)?;
        let command = ClientCommand::UndoCompaction { entry: Some(entry) };
        return moves::move_without_summary(&one_shot, command, args.json).await;
    }
    let details = read_details(one_shot.client(), entry, home).await?;
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&details_json(&details)?)?;
        return out.finish();
    }
    for (style, line) in lines(&details, home::columns().unwrap_or(usize::MAX), MAX_SHOWN) {
        out.line(&style.map_or_else(|| line.clone(), |style| out.paint(style, &line)))?;
    }
    out.finish()
}

/// What a compaction dropped, with `~` for the home folder.
pub(crate) async fn read_details(
    client: &dyn Client,
    entry: EntryId,
    home: &Home,
) -> Result<CompactionDetails> {
    let mut details = client.compaction(Some(entry)).await?;
    for dropped in &mut details.dropped {
        dropped.text = shorten_home(&dropped.text, home.user.as_deref()).into_owned();
    }
    Ok(details)
}

/// The named compaction, or the last one on the path.
pub(crate) fn find_compaction(tree: &SessionTree, at: Place, entry: Option<&str>) -> Result<Seq> {
    let is_one = |seq: &Seq| tree.head(*seq).kind == EntryKind::Compaction;
    let all = || {
        let all = tree.heads().iter().map(|(seq, _)| seq).filter(is_one);
        let ids: Vec<String> = all.map(|seq| sanitize_line(tree.id(seq).as_str())).collect();
        match ids.is_empty() {
            true => "this session has none; `osier sessions compact` creates one".to_owned(),
            false => format!("this session has {}", ids.join(", ")),
        }
    };
    match entry {
        Some(id) => Some(reading::resolve_entry(tree, id)?)
            .filter(is_one)
            .ok_or_else(|| no_compaction(format!("{} is not a compaction; {}", sanitize_line(id), all()))),
        None => at
            .and_then(|seq| tree.head(seq).compaction)
            .ok_or_else(|| no_compaction(format!("no compaction on the path to the leaf; {}", all()))),
    }
}

/// Asks before messages stay behind.
fn confirm_undo(tree: &SessionTree, compaction: Seq, is_confirmed: bool) -> Result<()> {
    let messages = messages_after(tree, tree.leaf(), compaction);
    if messages == 0 || is_confirmed {
        return Ok(());
    }
    let verb = if messages == 1 { "stays" } else { "stay" };
    let stay = format!("{} after it {verb} on the other branch", pluralize(messages, "message", "messages"));
    let question = format!("{stay}. Move to before the compaction?");
    if !confirm(&question, &format!("{stay}; add --yes to move to before the compaction anyway"))? {
        fail!(Cancelled, "nothing was changed");
    }
    Ok(())
}

/// How many messages between a compaction and `at` a move to before it leaves behind.
fn messages_after(tree: &SessionTree, at: Place, compaction: Seq) -> usize {
    let left = tree.abandoned_branch(at, tree.head(compaction).parent).entries;
    left.iter().filter(|seq| is_conversation_message(tree, **seq)).count()
}

fn is_conversation_message(tree: &SessionTree, seq: Seq) -> bool {
    tree.head(seq).is_message() && tree.head(seq).role != MessageRole::System
}

fn no_compaction(text: String) -> anyhow::Error {
    coded_error(ErrorCode::NotACompaction, text)
}

/// The details with the tokens as numbers, each followed by a mark if it is estimated.
fn details_json(details: &CompactionDetails) -> Result<Map<String, Value>> {
    let mut json = Map::new();
    let Value::Object(fields) = serde_json::to_value(details)? else { return Ok(json) };
    for (key, value) in fields {
        let count = match key.as_str() {
            "tokensBefore" => details.tokens_before,
            "tokensAfter" => details.tokens_after,
            _ => {
                json.insert(key, value);
                continue;
            }
        };
        let mark = count.estimated.then(|| (format!("{key}Estimated"), true.into()));
        json.extend([(key, count.tokens.into())].into_iter().chain(mark));
    }
    Ok(json)
}

/// The lines with their styles. Shows at most `max_rows` entries at the start and at the end.
pub(crate) fn lines(
    details: &CompactionDetails,
    columns: usize,
    max_rows: usize,
) -> Vec<(Option<TextStyle>, String)> {
    let plainly = |line: String| (None, line);
    let by = details.model.as_ref().map(|model| format!(" by {}", sanitize_line(model))).unwrap_or_default();
    let kept = details.first_kept_entry_id.as_deref().map(sanitize_line).unwrap_or_default();
    let mut lines = vec![
        (Some(TextStyle::Bold), format!("compaction {}{by}", sanitize_line(&details.entry))),
        plainly(format_tokens_saved(details.tokens_before, details.tokens_after)),
        plainly(format!(
            "{} dropped, kept from {kept}",
            pluralize(details.dropped.len(), "entry", "entries")
        )),
    ];
    lines.extend(rows(&details.dropped, columns, max_rows));
    for (title, files) in [("changed:", &details.modified_files), ("read:", &details.read_files)] {
        if !files.is_empty() {
            lines.push(plainly(format!("{title} {}", files.join(", "))));
        }
    }
    lines.push(plainly(String::new()));
    let summary = sanitize(summary::without_file_lists(&details.summary)).into_owned();
    lines.extend(summary.lines().map(|line| plainly(line.to_owned())));
    lines
}

fn rows(dropped: &[DroppedEntry], columns: usize, max_rows: usize) -> Vec<(Option<TextStyle>, String)> {
    let row = |entry: &DroppedEntry| {
        let id = sanitize_line(&entry.id);
        let text = truncate(&entry.text, columns.saturating_sub(width(&id) + 4).max(20));
        (Some(TextStyle::Dim), format!("  {id}  {text}"))
    };
    let all = dropped.len();
    if all / 2 <= max_rows {
        return dropped.iter().map(row).collect();
    }
    let between = (Some(TextStyle::Dim), format!("  … {} more (shown with --json)", all - 2 * max_rows));
    let (first, last) = (&dropped[..max_rows], &dropped[all - max_rows..]);
    first.iter().map(row).chain([between]).chain(last.iter().map(row)).collect()
}
