//! `compaction`: shows what a compaction dropped from the context, and moves to before it.

use std::process::ExitCode;

use anyhow::{Result, anyhow};
use osier_engine::reading;
use osier_session::Session;
use osier_tree::entry::parse_entry;
use osier_tree::projection::preview::{Previews, full_text, one_line, sanitize};
use osier_tree::tokens::TokenCount;
use osier_tree::{EntryKind, ErrorCode, MessageRole, Place, Seq, SessionTree, summary, time};
use rustc_hash::FxHashSet;
use serde::Serialize;
use serde_json::Value;

use super::compact::{self, format_tokens_saved};
use super::moves;
use crate::confirm::confirm;
use crate::failure::{coded_error, fail};
use crate::home::{self, Home};
use crate::layout::{pluralize, sanitize_line, truncate, width};
use crate::out::{Out, TextStyle};
use crate::target;

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
    /// Print {entry, tokensBefore, tokensAfter, dropped, …}, with --undo {leafId, moved} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let session = target::open_session(home, &args.session).await?;
    let at = session.tree().leaf();
    let compaction = find_compaction(&session.tree(), at, args.entry.as_deref())?;
    if args.undo {
        return undo(&session, compaction, &args).await;
    }
    let dropped = CompactionReport::read(&session, compaction, home).await?;
    let mut out = Out::new();
    if args.json {
        out.json(&dropped)?;
        return out.finish();
    }
    for (style, line) in dropped.lines(home::columns().unwrap_or(usize::MAX), MAX_SHOWN) {
        out.line(&style.map_or_else(|| line.clone(), |style| out.paint(style, &line)))?;
    }
    out.finish()
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

async fn undo(session: &Session, compaction: Seq, args: &Args) -> Result<ExitCode> {
    let cursor = session.main_cursor();
    let (state, at) = cursor.state_and_place();
    let tree = &state.tree;
    let before = tree.head(compaction).parent;
    let stay = messages_after(tree, at, compaction);
    if stay > 0 && !args.yes {
        let stay = messages_after_text(stay);
        let question = format!("{stay}. Move to before the compaction?");
        if !confirm(&question, &format!("{stay}; add --yes to move to before the compaction anyway"))? {
            fail!(Cancelled, "nothing was changed");
        }
    }
    let outcome = cursor.move_to(before).await?;
    moves::print_outcome(session, moves::move_outcome(&outcome), args.json).await
}

/// How many messages between a compaction and `at` a move to before it leaves behind.
pub(crate) fn messages_after(tree: &SessionTree, at: Place, compaction: Seq) -> usize {
    let left = tree.abandoned_branch(at, tree.head(compaction).parent).entries;
    left.iter().filter(|seq| tree.head(**seq).is_message() && is_conversation(tree, **seq)).count()
}

pub(crate) fn messages_after_text(messages: usize) -> String {
    let verb = if messages == 1 { "stays" } else { "stay" };
    format!("{} after it {verb} on the other branch", pluralize(messages, "message", "messages"))
}

fn no_compaction(text: String) -> anyhow::Error {
    coded_error(ErrorCode::NotACompaction, text)
}

/// A compaction and what it dropped.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CompactionReport {
    entry: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    /// The model that wrote the summary.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    first_kept_entry_id: Option<String>,
    tokens_before: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tokens_before_estimated: bool,
    tokens_after: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    tokens_after_estimated: bool,
    /// The entries that the model got before and no longer gets, oldest first.
    dropped: Vec<DroppedEntry>,
    read_files: Vec<String>,
    modified_files: Vec<String>,
    summary: String,
}

/// One dropped entry.
#[derive(Debug, Serialize)]
struct DroppedEntry {
    id: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    role: &'static str,
    /// One line, sanitized.
    text: String,
}

impl CompactionReport {
    pub(crate) async fn read(session: &Session, compaction: Seq, home: &Home) -> Result<CompactionReport> {
        let tree = session.tree();
        let above = tree.head(compaction).parent;
        let lines = reading::read_lines(session, &[compaction]).await?;
        let line = lines.get(&compaction).map(Vec::as_slice).unwrap_or_default();
        let entry = parse_entry(line).map_err(|_| anyhow!("cannot read the compaction"))?;
        let value: Value = serde_json::from_slice(line).unwrap_or_default();
        let text = |key: &str| value[key].as_str().map(str::to_owned);
        let files = |key: &str| {
            let list = value["details"][key].as_array().into_iter().flatten();
            list.filter_map(Value::as_str).map(|path| one_line(path, 300)).collect()
        };
        let model = text("provider").zip(text("model")).map(|(provider, id)| format!("{provider}/{id}"));
        let before = compact::tokens_before(session, above, value["tokensBefore"].as_u64()).await?;
        let after = reading::context_tokens(session, Some(compaction)).await?;
        Ok(CompactionReport {
            entry: entry.id.to_string(),
            timestamp: entry.time.map(time::format),
            model,
            first_kept_entry_id: text("firstKeptEntryId"),
            tokens_before: before.tokens,
            tokens_before_estimated: before.estimated,
            tokens_after: after.tokens,
            tokens_after_estimated: after.estimated,
            dropped: read_dropped(session, &dropped_seqs(&tree, compaction), home).await?,
            read_files: files("readFiles"),
            modified_files: files("modifiedFiles"),
            summary: full_text(&entry),
        })
    }

    /// The lines with their styles. Shows at most `most` entries at the start and at the end.
    pub(crate) fn lines(&self, columns: usize, most: usize) -> Vec<(Option<TextStyle>, String)> {
        let plainly = |line: String| (None, line);
        let before = TokenCount { tokens: self.tokens_before, estimated: self.tokens_before_estimated };
        let after = TokenCount { tokens: self.tokens_after, estimated: self.tokens_after_estimated };
        let by = self.model.as_ref().map(|model| format!(" by {}", sanitize_line(model))).unwrap_or_default();
        let kept = self.first_kept_entry_id.as_deref().map(sanitize_line).unwrap_or_default();
        let mut lines = vec![
            (Some(TextStyle::Bold), format!("compaction {}{by}", sanitize_line(&self.entry))),
            plainly(format_tokens_saved(before, after)),
            plainly(format!(
                "{} dropped, kept from {kept}",
                pluralize(self.dropped.len(), "entry", "entries")
            )),
        ];
        lines.extend(self.rows(columns, most));
        for (title, files) in [("changed:", &self.modified_files), ("read:", &self.read_files)] {
            if !files.is_empty() {
                lines.push(plainly(format!("{title} {}", files.join(", "))));
            }
        }
        lines.push(plainly(String::new()));
        let summary = sanitize(summary::without_file_lists(&self.summary)).into_owned();
        lines.extend(summary.lines().map(|line| plainly(line.to_owned())));
        lines
    }

    fn rows(&self, columns: usize, most: usize) -> Vec<(Option<TextStyle>, String)> {
        let row = |entry: &DroppedEntry| {
            let id = sanitize_line(&entry.id);
            let text = truncate(&entry.text, columns.saturating_sub(width(&id) + 4).max(20));
            (Some(TextStyle::Dim), format!("  {id}  {text}"))
        };
        let all = self.dropped.len();
        if all / 2 <= most {
            return self.dropped.iter().map(row).collect();
        }
        let between = (Some(TextStyle::Dim), format!("  … {} more (shown with --json)", all - 2 * most));
        let (first, last) = (&self.dropped[..most], &self.dropped[all - most..]);
        first.iter().map(row).chain([between]).chain(last.iter().map(row)).collect()
    }
}

/// The entries of the context before a compaction that are missing after it. The system prompt is sent again, so it does not count.
fn dropped_seqs(tree: &SessionTree, compaction: Seq) -> Vec<Seq> {
    let kept: FxHashSet<Seq> =
        tree.context_entries(Some(compaction)).items.iter().map(|item| item.seq).collect();
    let before = tree.context_entries(tree.head(compaction).parent).items;
    let before = before.iter().map(|item| item.seq).filter(|seq| is_conversation(tree, *seq));
    before.filter(|seq| !kept.contains(seq)).collect()
}

fn is_conversation(tree: &SessionTree, seq: Seq) -> bool {
    tree.head(seq).role != MessageRole::System
}

async fn read_dropped(session: &Session, seqs: &[Seq], home: &Home) -> Result<Vec<DroppedEntry>> {
    let lines = reading::read_lines(session, seqs).await?;
    let mut previews = Previews::new(home.user.as_deref());
    let entries = seqs.iter().filter_map(|seq| parse_entry(lines.get(seq)?).ok());
    let dropped = entries.map(|entry| DroppedEntry {
        id: entry.id.to_string(),
        kind: entry.kind.name(),
        role: entry.role.name(),
        text: previews.preview(&entry),
    });
    Ok(dropped.collect())
}
