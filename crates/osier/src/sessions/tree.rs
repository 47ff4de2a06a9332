//! `tree`: shows the whole tree as text or as JSON.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::Session;
use osier_tree::projection::outline::{Filter, Glyphs, Options, Order, Outline};
use osier_tree::{Place, Seq, SessionTree};

use super::nodes::{self, Form};
use crate::failure::usage;
use crate::home::{self, Home};
use crate::layout::{fit, plain, width};
use crate::out::{Out, Style};
use crate::{reading, target};

/// The minimum width of a text, even if it is deeply indented.
const TEXT: usize = 20;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions tree 4f89da11
  osier sessions tree 4f89da11 --ids --filter user-only
  osier sessions tree x.jsonl --search 'json flag'
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
    /// Also show deleted branches
    #[arg(long)]
    deleted: bool,
    /// Show the id of each entry
    #[arg(long)]
    ids: bool,
    /// Print JSON: nodes with their children; the filters do not apply
    #[arg(long)]
    json: bool,
    /// With --json: one row per entry instead of nested nodes
    #[arg(long, requires = "json")]
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
        Some(name) => Filter::named(name).ok_or_else(|| {
            let names = Filter::ALL.map(Filter::name).join(", ");
            usage(format!("no filter {name:?}; the filters are {names}"))
        })?,
    };
    let session = target::session(home, &args.session).await?;
    let tree = session.tree();
    let leaf = reading::place(&tree, args.at.as_deref())?;
    let mut out = Out::new();
    if args.json {
        let form = if args.flat { Form::Flat } else { Form::Nested };
        nodes::write(&session, leaf, args.deleted, form, &mut out).await?;
        return out.done();
    }
    let order = match args.order {
        Some(BranchOrder::Oldest) => Order::OldestFirst,
        None if !args.active_first && !home.settings.screen.active_first => Order::OldestFirst,
        _ => Order::ActiveFirst,
    };
    let options =
        Options { filter, search: args.search.clone(), order, deleted: args.deleted, ..Options::default() };
    let names = if args.ids { Names::Ids } else { Names::None };
    draw(&session, leaf, &options, names, home, &mut out).await?;
    out.done()
}

/// How rows are named.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Names {
    None,
    Ids,
    /// Numbers starting at 1, and ids.
    Numbers,
}

/// Draws the tree and returns the entries of its rows.
pub(crate) async fn draw(
    session: &Session,
    leaf: Place,
    options: &Options,
    names: Names,
    home: &Home,
    out: &mut Out,
) -> Result<Vec<Seq>> {
    let tree = session.tree();
    let texts = reading::previews(session).await?;
    let outline = Outline::new(&tree, leaf, options, &|seq: Seq| texts.get(seq));
    let columns = home::columns().unwrap_or(usize::MAX);
    if leaf.is_none() && !outline.rows.is_empty() {
        out.line(&format!("(the beginning){}", out.paint(Style::Active, "  ← active")))?;
    }
    for (at, row) in outline.rows.iter().enumerate() {
        let text = texts.get(row.seq);
        let text = reading::at_home(&text, home.user.as_deref());
        let id = match names {
            Names::None => String::new(),
            Names::Ids | Names::Numbers => format!("{}  ", plain(tree.id(row.seq).as_str())),
        };
        let number = if names == Names::Numbers { format!("{:>3} ", at + 1) } else { String::new() };
        let line = drawn(&tree, &outline, at, &text, &id, columns.saturating_sub(width(&number)), out);
        out.line(&format!("{}{line}", out.paint(Style::Dim, &number)))?;
    }
    if outline.rows.is_empty() {
        out.line(if tree.is_empty() { "(empty)" } else { "(no entries match this filter)" })?;
    }
    Ok(outline.rows.iter().map(|row| row.seq).collect())
}

/// One row, with its text cut to the remaining width.
fn drawn(
    tree: &SessionTree,
    outline: &Outline,
    at: usize,
    text: &str,
    id: &str,
    columns: usize,
    out: &Out,
) -> String {
    let row = &outline.rows[at];
    let pieces = outline.pieces(at, text, Glyphs::Plain);
    let deleted = if row.deleted { "  deleted" } else { "" };
    let taken: usize =
        [&pieces.prefix, id, &pieces.label, pieces.active, deleted].into_iter().map(width).sum();
    let text = fit(pieces.text, columns.saturating_sub(taken).max(TEXT));
    let text = if tree.head(row.seq).is_user() { out.paint(Style::User, &text) } else { text };
    [
        out.paint(Style::Dim, &pieces.prefix),
        out.paint(Style::Dim, id),
        out.paint(Style::Label, &pieces.label),
        text,
        out.paint(Style::Active, pieces.active),
        out.paint(Style::Bad, deleted),
    ]
    .concat()
}
