//! `fork`: a path copied into a new session. The source is only read.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::Session;
use osier_tree::entry::read_entry;
use osier_tree::projection::preview::{editor_text, inert, one_line, shown_text};
use osier_tree::time::{self, Millis};
use osier_tree::{Place, Seq};
use serde::Serialize;
use serde_json::json;

use super::moving;
use crate::failure::{fail, usage};
use crate::home::Home;
use crate::layout::{age, plain, right};
use crate::out::{Out, Style, remark};
use crate::{reading, target};

/// How much of a message a row shows.
const SHOWN: usize = 80;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions fork 4f89da11                      the path to where it stands
  osier sessions fork 4f89da11 3781a861             the path to that entry, which is the last of it
  osier sessions fork 4f89da11 c55d6ff3             if a user said that: the path before it, to say it differently
  osier sessions fork 4f89da11 --at c55d6ff3        the path to that very entry
  osier sessions fork 4f89da11 --list               the messages one may want to say differently

An entry is chosen as `move` does it. Labels on the path and the settings of the session go along; the session itself stays \
as it is, to the byte, and nothing is summarized. Prints the id of the new session and, if a message was chosen, its text; with \
--list the messages of the path, the newest first.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The entry to begin anew from; where the session stands if not given
    entry: Option<String>,
    /// The path to this very entry, whatever it is
    #[arg(long, value_name = "ENTRY", num_args = 0..=1)]
    at: Option<Option<String>>,
    /// Take that very entry along, whatever it is; the same as --at ENTRY
    #[arg(long, requires = "entry")]
    exact: bool,
    /// List the user's messages on the path instead, the newest first
    #[arg(long, conflicts_with_all = ["entry", "at", "name"])]
    list: bool,
    /// With --list: of all branches
    #[arg(long, requires = "list")]
    all: bool,
    /// The name of the new session
    #[arg(long)]
    name: Option<String>,
    /// Print {session, file, leafId, editorText?}, with --list [{id, timestamp?, text}] as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let source = target::session(home, &args.session).await?;
    let mut out = Out::new();
    if args.list {
        let said = forkable(&source, args.all).await?;
        match args.json {
            true => out.json(&said)?,
            false => list(&said, home.now(), &mut out)?,
        }
        return out.done();
    }
    let (at, text) = match wanted(&args)? {
        None => (source.tree().leaf(), None),
        Some((entry, exact)) => chosen(&source, entry, exact).await?,
    };
    let fork = fork(&source, at, text.is_some(), args.name.as_deref(), home).await?;
    if args.json {
        let (tree, file) = (fork.tree(), fork.file().map(|file| file.display().to_string()));
        let leaf = tree.leaf().map(|seq| tree.id(seq).to_string());
        let mut value = json!({ "session": fork.id(), "file": file, "leafId": leaf });
        if let Some(text) = text {
            value["editorText"] = json!(text);
        }
        out.json(&value)?;
    } else {
        out.line(fork.id())?;
        if let Some(text) = text {
            out.line(&out.paint(Style::User, &inert(&text)))?;
        }
    }
    out.done()
}

/// The entry that is named, and whether that very entry is meant. `ENTRY --at`, without a value, is `ENTRY --exact`.
fn wanted(args: &Args) -> Result<Option<(&str, bool)>> {
    match (args.entry.as_deref(), args.at.as_ref().map(Option::as_deref)) {
        (None, None) => Ok(None),
        (Some(entry), None) => Ok(Some((entry, args.exact))),
        (Some(entry), Some(None)) | (None, Some(Some(entry))) => Ok(Some((entry, true))),
        (None, Some(None)) => Err(usage("--at wants an ENTRY")),
        (Some(_), Some(Some(_))) => Err(usage("give the entry once: as ENTRY or with --at")),
    }
}

/// The end of the path to take along, and the text that returns to the editor.
pub(crate) async fn chosen(source: &Session, entry: &str, exact: bool) -> Result<(Place, Option<String>)> {
    let tree = source.tree();
    if exact {
        return Ok((reading::place(&tree, Some(entry))?, None));
    }
    // Nobody stands in the new session yet, so every choice leads somewhere.
    let landing = moving::landing(&tree, None, entry, false)?;
    let text = moving::editor_text(source, &landing).await?;
    Ok((landing.place, text))
}

/// A new session with the path to a place. One that begins with nothing is made only if there is something to say in it.
pub(crate) async fn fork(
    source: &Session,
    at: Place,
    may_be_empty: bool,
    name: Option<&str>,
    home: &Home,
) -> Result<Session> {
    if at.is_none() && !may_be_empty {
        fail!(
            NothingToFork,
            "there is nothing to fork: the session stands before its first entry; name an ENTRY"
        );
    }
    let env = home.env();
    let store = home.named_store().map_or_else(|| source.store().clone(), |_| home.store());
    let header = source.fork_header(&*store).await?;
    Ok(Session::create_from(store, &header, &mut source.fork_lines(at, name), env).await?)
}

/// A message that a new session can begin before.
#[derive(Debug, Serialize)]
pub(crate) struct Forkable {
    pub(crate) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    timestamp: Option<String>,
    /// What returns to the editor.
    text: String,
    #[serde(skip)]
    time: Option<Millis>,
    /// What people saw.
    #[serde(skip)]
    shown: String,
}

impl Forkable {
    /// How long ago, and what.
    pub(crate) fn row(&self, now: Millis) -> String {
        let age = self.time.map(|then| age(then, now)).unwrap_or_default();
        format!("{}  {}", right(&age, 4), self.shown)
    }
}

/// The user's messages on the path or, with `all`, on every branch that is shown; the newest first.
pub(crate) async fn forkable(session: &Session, all: bool) -> Result<Vec<Forkable>> {
    let (state, at) = session.main().here();
    let tree = &state.tree;
    let said = |seq: &Seq| tree.head(*seq).is_user();
    let seqs: Vec<Seq> = match all {
        false => tree.heads().up(at).filter(said).collect(),
        true => {
            let hidden = tree.hidden();
            let shown = tree.heads().iter().rev().map(|(seq, _)| seq).filter(|seq| !hidden.contains(seq));
            shown.filter(said).collect()
        }
    };
    let lines = reading::lines(session, &seqs).await?;
    let entries = seqs.iter().filter_map(|seq| read_entry(lines.get(seq)?).ok());
    let forkable = entries.map(|entry| {
        let text = editor_text(&entry).unwrap_or_default();
        Forkable {
            id: entry.id.to_string(),
            timestamp: entry.time.map(time::format),
            time: entry.time,
            shown: one_line(&shown_text(&entry), SHOWN),
            text,
        }
    });
    Ok(forkable.collect())
}

fn list(said: &[Forkable], now: Millis, out: &mut Out) -> Result<()> {
    for one in said {
        out.line(&format!("{}  {}", out.paint(Style::Dim, &plain(&one.id)), one.row(now)))?;
    }
    if said.is_empty() {
        remark("no user said anything on this path; --all shows those of other branches");
    }
    Ok(())
}
