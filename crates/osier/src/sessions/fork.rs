//! `fork`: a path copied into a new session. The source is only read.

use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_session::{Env, Session};
use osier_store::Store;
use osier_tree::entry::read_entry;
use osier_tree::{Header, Place, SessionTree};
use serde_json::json;

use crate::home::Home;
use crate::out::Out;
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions fork 4f89da11              the path to where it stands
  osier sessions fork 4f89da11 3781a861     the path to that entry, which is the last of it

Labels on the path and the settings of the session go along; the session itself stays as it is, to the byte.
Prints the id of the new session.")]
pub(crate) struct Args {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// The last entry to take along
    entry: Option<String>,
    /// The name of the new session
    #[arg(long)]
    name: Option<String>,
    /// Print {session, file, leafId} as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) async fn run(args: Args, home: &Home) -> Result<ExitCode> {
    let target = Target::find(home, &args.session).await?;
    let fork = fork(&target, args.entry.as_deref(), args.name.as_deref(), home).await?;
    let tree = fork.tree();
    let mut out = Out::new();
    if args.json {
        let file = fork.file().map(|file| file.display().to_string());
        let leaf = tree.leaf().map(|seq| tree.id(seq).to_string());
        out.json(&json!({ "session": fork.id(), "file": file, "leafId": leaf }))?;
    } else {
        out.line(fork.id())?;
    }
    out.done()
}

/// A new session with the path to an entry, or to where the session stands.
pub(crate) async fn fork(
    target: &Target,
    entry: Option<&str>,
    name: Option<&str>,
    home: &Home,
) -> Result<Session> {
    let source = target.session(home).await?;
    let tree = source.tree();
    let at = reading::place(&tree, entry)?;
    if at.is_none() {
        bail!("there is nothing to fork: the session stands before its first entry; name an ENTRY");
    }
    let env = home.env();
    let mut lines = path(&source, &tree, at, &env).await?;
    if let Some(name) = name {
        lines.push(named(name, &lines, &env));
    }
    let header = header(target, &source, home).await?;
    Ok(Session::create(target.store.clone(), &header, &lines, env).await?)
}

/// The lines of a path as a session of its own.
pub(super) async fn path(source: &Session, tree: &SessionTree, at: Place, env: &Env) -> Result<Vec<Vec<u8>>> {
    let lines = reading::lines(source, &tree.fork_entries(at)).await?;
    let mint = |taken: &dyn Fn(&str) -> bool| {
        std::iter::repeat_with(|| env.ids.entry()).find(|id| !taken(id)).unwrap_or_default()
    };
    Ok(tree.fork(at, &lines, env.clock.now(), mint))
}

/// The line that names the new session, below all others.
fn named(name: &str, lines: &[Vec<u8>], env: &Env) -> Vec<u8> {
    let ids: Vec<String> =
        lines.iter().filter_map(|line| read_entry(line).ok()).map(|entry| entry.id.into_owned()).collect();
    let id = std::iter::repeat_with(|| env.ids.entry()).find(|id| !ids.contains(id)).unwrap_or_default();
    let draft = SessionTree::default().plan_name(name);
    draft.line(&id, ids.last().map(String::as_str), env.clock.now())
}

async fn header(target: &Target, source: &Session, home: &Home) -> Result<Header> {
    let mut header = home.header(&*target.store, &source.header().cwd).await?;
    header.parent_session = source.file().map(|file| file.display().to_string());
    header.parent_session_id = Some(source.id().to_owned());
    header.parent_store = Some(target.store.name().to_owned());
    header.agent_id = source.header().agent_id.clone();
    Ok(header)
}
