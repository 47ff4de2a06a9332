//! `tree`: shows the whole tree as text or as JSON.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{JsonLayout, TreeJsonOptions};
use osier_protocol::outline::{Glyphs, Outline, OutlineFilter, OutlineOptions, OutlineStyle, SiblingOrder};
use osier_protocol::{SessionTree, TreeSnapshot};
use osier_tree::projection::preview::shorten_home;

use crate::failure::usage_error;
use crate::home::{self, Home};
use crate::layout::{sanitize_line, truncate, width};
use crate::output_writer::{OutputWriter, TextStyle};
use crate::target;

/// The minimum width of a text, even if it is deeply indented.
const MIN_TEXT_WIDTH: usize = 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions tree 4f89da11
  osier sessions tree 4f89da11 --ids --filter user-only
  osier sessions tree x.jsonl --search 'json flag'
  osier sessions tree x.jsonl --nested
  osier sessions tree x.jsonl --json

Prints one row per entry, with its [label] first. Branches are indented below their branch point, oldest first; ← active marks the \
current position. As JSON, in the same order as pi: [{entry, children, label?, labelTimestamp?}]; with --flat [{entry, depth, \
onPath?, label?, labelTimestamp?}].")]
pub(crate) struct Args {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Entries to show: default, no-tools, user-only, labeled-only or all [default: the setting tree_filter]
    #[arg(long, value_name = "FILTER")]
    filter: Option<String>,
    /// Only entries whose text or label contains all these words
    #[arg(long, default_value = "", hide_default_value = true)]
    search: String,
    /// Mark this entry, or `root`, as active instead of the current position
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// Which branch comes first at a branch point [default: the setting tree_order]
    #[arg(long, value_enum)]
    order: Option<BranchOrder>,
    /// Same as --order active
    #[arg(long, conflicts_with = "order")]
    active_first: bool,
    /// Indent every generation, not only branches [default: the setting tree_style]
    #[arg(long, conflicts_with = "json")]
    nested: bool,
    /// Also show deleted branches
    #[arg(long)]
    deleted: bool,
    /// Show the id of each entry
    #[arg(long)]
    ids: bool,
    /// Print JSON: nodes with their children; the filters do not apply
    #[arg(long)]
    json: bool,
    /// Indent only branches, whatever the setting tree_style says; with --json: one row per entry instead of nested nodes
    #[arg(long, conflicts_with = "nested")]
    flat: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, clap::ValueEnum)]
enum BranchOrder {
    Oldest,
    Active,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let filter = match &args.filter {
        None => home.settings.screen.tree_filter,
        Some(name) => OutlineFilter::from_name(name).ok_or_else(|| {
            let names = OutlineFilter::ALL.map(OutlineFilter::name).join(", ");
            usage_error(format!("no filter {name:?}; the filters are {names}"))
        })?,
    };
    let stored = match args.json {
        true => target::find(home, &args.session).await?,
        false => target::find_for_tree(home, &args.session).await?,
    };
    let mut out = OutputWriter::for_reading(&args.session);
    let at = args.at.as_deref();
    if args.json {
        let layout = if args.flat { JsonLayout::Flat } else { JsonLayout::Nested };
        let options = TreeJsonOptions { at, deleted: args.deleted, layout };
        home.engine.write_tree_json(&stored, options, |piece| out.raw(piece)).await?;
        return out.finish();
    }
    let order = match args.order {
        Some(BranchOrder::Oldest) => SiblingOrder::OldestFirst,
        None if !args.active_first && !home.settings.screen.active_first => SiblingOrder::OldestFirst,
        _ => SiblingOrder::ActiveFirst,
    };
    let options = OutlineOptions {
        filter,
        search: args.search.clone(),
        order,
        show_deleted: args.deleted,
        style: match (args.nested, args.flat) {
            (true, _) => OutlineStyle::Nested,
            (_, true) => OutlineStyle::Flat,
            _ => home.settings.screen.tree_style,
        },
        ..OutlineOptions::default()
    };
    let tree = home.engine.tree(&stored, at).await?;
    draw_tree(&tree, &options, args.ids, home, &mut out)?;
    out.finish()
}

fn draw_tree(
    snapshot: &TreeSnapshot,
    options: &OutlineOptions,
    with_ids: bool,
    home: &Home,
    out: &mut OutputWriter,
) -> Result<()> {
    let TreeSnapshot { tree, leaf, previews, .. } = snapshot;
    let outline = Outline::new(tree, *leaf, options, &|seq| previews.get(seq));
    let columns = home::columns().unwrap_or(usize::MAX);
    if leaf.is_none() && !outline.rows.is_empty() {
        out.line(&format!("(the beginning){}", out.paint(TextStyle::Active, "  ← active")))?;
    }
    for (at, row) in outline.rows.iter().enumerate() {
        let text = previews.get(row.seq);
        let text = shorten_home(&text, home.user.as_deref());
        let id =
            if with_ids { format!("{}  ", sanitize_line(tree.id(row.seq).as_str())) } else { String::new() };
        let line = draw_row(tree, &outline, at, &text, &id, columns, out);
        out.line(&line)?;
    }
    if outline.rows.is_empty() {
        out.line(if tree.is_empty() { "(empty)" } else { "(no entries match this filter)" })?;
    }
    Ok(())
}

/// One row, with its text cut to the remaining width.
fn draw_row(
    tree: &SessionTree,
    outline: &Outline,
    at: usize,
    text: &str,
    id: &str,
    columns: usize,
    out: &OutputWriter,
) -> String {
    let row = &outline.rows[at];
    let pieces = outline.row_parts(at, text, Glyphs::Plain);
    let deleted = if row.deleted { "  deleted" } else { "" };
    let taken: usize =
        [&pieces.prefix, id, &pieces.label, pieces.active, deleted].into_iter().map(width).sum();
    let text = truncate(pieces.text, columns.saturating_sub(taken).max(MIN_TEXT_WIDTH));
    let text = if tree.head(row.seq).is_user() { out.paint(TextStyle::User, &text) } else { text };
    [
        out.paint(TextStyle::Dim, &pieces.prefix),
        out.paint(TextStyle::Dim, id),
        out.paint(TextStyle::Label, &pieces.label),
        text,
        out.paint(TextStyle::Active, pieces.active),
        out.paint(TextStyle::Error, deleted),
    ]
    .concat()
}
