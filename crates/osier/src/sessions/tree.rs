//! `tree`: the whole tree, drawn or as JSON.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::Session;
use osier_tree::entry::read_entry;
use osier_tree::projection::json::entry_json;
use osier_tree::projection::outline::{Filter, Glyphs, Options, Order, Outline};
use osier_tree::scan::quote;
use osier_tree::{Seq, SessionTree, time};
use rustc_hash::FxHashSet;
use serde_json::json;

use crate::failure::usage;
use crate::home::{self, Home};
use crate::out::{Out, Style, fit};
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  osier sessions tree 4f89da11\n  osier sessions tree 4f89da11 --filter user-only\n  osier sessions tree x.jsonl --search 'json flag'\n  osier sessions tree x.jsonl --json"
)]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// What to show: default, no-tools, user-only, labeled-only or all
    #[arg(long, default_value = "default")]
    filter: String,
    /// Only entries in whose text or label all these words occur
    #[arg(long, default_value = "", hide_default_value = true)]
    search: String,
    /// Mark this entry as the active one instead of where the session stands
    #[arg(long, value_name = "ENTRY")]
    at: Option<String>,
    /// At each branch point draw the active branch first
    #[arg(long)]
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

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let filter = Filter::named(&args.filter).ok_or_else(|| {
        usage(format!(
            "no filter {:?}; there are default, no-tools, user-only, labeled-only and all",
            args.filter
        ))
    })?;
    let target = Target::find(home, &args.session).await?;
    let session = target.session(home).await?;
    let tree = session.tree();
    let mut out = Out::new();
    if args.json {
        nodes(&session, &tree, args.flat, args.deleted, &mut out).await?;
        return out.done();
    }
    let leaf = reading::place(&tree, args.at.as_deref())?;
    let user_home = home.folder.parent().map(|folder| folder.to_string_lossy().into_owned());
    let texts = reading::previews(&session).await?;
    let order = if args.active_first { Order::ActiveFirst } else { Order::OldestFirst };
    let options =
        Options { filter, search: args.search.clone(), order, deleted: args.deleted, ..Options::default() };
    let outline = Outline::new(&tree, leaf, &options, &|seq: Seq| texts.get(seq).into());
    for (at, row) in outline.rows.iter().enumerate() {
        let text = reading::at_home(texts.get(row.seq), user_home.as_deref());
        let pieces = outline.pieces(at, &text, Glyphs::Plain);
        let columns = home::width()
            .unwrap_or(100)
            .saturating_sub(pieces.prefix.chars().count() + pieces.label.chars().count());
        let mut line = out.paint(Style::Dim, &pieces.prefix);
        if args.ids {
            line += &out.paint(Style::Dim, &format!("{}  ", tree.id(row.seq)));
        }
        line += &out.paint(Style::Label, &pieces.label);
        let text = fit(pieces.text, columns.max(20));
        line += &if tree.head(row.seq).is_user() { out.paint(Style::User, &text) } else { text };
        line += &out.paint(Style::Active, pieces.active);
        if row.deleted {
            line += &out.paint(Style::Bad, "  deleted");
        }
        out.line(&line)?;
    }
    if outline.rows.is_empty() {
        out.line(if tree.is_empty() { "(empty)" } else { "(nothing to show with this filter)" })?;
    }
    out.done()
}

/// One step of writing nested nodes without recursion: a chain may be a million deep.
enum Step {
    Open(Seq),
    Close(Seq),
}

async fn nodes(
    session: &Session,
    tree: &SessionTree,
    flat: bool,
    deleted: bool,
    out: &mut Out,
) -> Result<()> {
    let hidden = if deleted { FxHashSet::default() } else { tree.hidden() };
    let shown =
        |seqs: &[Seq]| -> Vec<Seq> { seqs.iter().copied().filter(|seq| !hidden.contains(seq)).collect() };
    let mut steps = Vec::new();
    let mut open: Vec<Step> = shown(tree.children().roots()).into_iter().rev().map(Step::Open).collect();
    while let Some(step) = open.pop() {
        if let Step::Open(seq) = step {
            open.push(Step::Close(seq));
            open.extend(shown(tree.children().of_entry(seq)).into_iter().rev().map(Step::Open));
        }
        steps.push(step);
    }
    let order: Vec<Seq> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Open(seq) => Some(*seq),
            Step::Close(_) => None,
        })
        .collect();
    let mut steps = steps.into_iter().peekable();
    let mut after_node = false;
    out.raw(b"[")?;
    let close = |steps: &mut std::iter::Peekable<std::vec::IntoIter<Step>>,
                 after: &mut bool,
                 out: &mut Out|
     -> Result<()> {
        while let Some(Step::Close(seq)) = steps.next_if(|step| matches!(step, Step::Close(_))) {
            if !flat {
                out.raw(b"]")?;
                label(tree, seq, out)?;
                out.raw(b"}")?;
            }
            *after = true;
        }
        Ok(())
    };
    session
        .each_line(session.version(), &order, |seq, line| -> Result<()> {
            steps.next();
            if after_node {
                out.raw(b",\n")?;
            }
            out.raw(b"{\"entry\":")?;
            match read_entry(line) {
                Ok(entry) => out.raw(&entry_json(&entry))?,
                Err(_) => out.raw(b"null")?,
            }
            if flat {
                out.raw(format!(",\"depth\":{}", tree.head(seq).depth).as_bytes())?;
                label(tree, seq, out)?;
                out.raw(b"}")?;
            } else {
                out.raw(b",\"children\":[")?;
            }
            after_node = flat;
            close(&mut steps, &mut after_node, out)
        })
        .await?;
    out.raw(b"]\n")
}

fn label(tree: &SessionTree, seq: Seq, out: &mut Out) -> Result<()> {
    let Some(label) = tree.label(seq) else { return Ok(()) };
    let mut text = Vec::new();
    quote(&label.text, &mut text);
    out.raw(b",\"label\":")?;
    out.raw(&text)?;
    match tree.head(label.set_by).time() {
        Some(millis) => out.raw(format!(",\"labelTimestamp\":{}", json!(time::format(millis))).as_bytes()),
        None => Ok(()),
    }
}
