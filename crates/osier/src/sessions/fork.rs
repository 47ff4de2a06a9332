//! `fork`: a path copied into a new session. The source is only read.

use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_session::Session;
use osier_store::Store;
use osier_tree::Header;
use serde_json::json;

use crate::home::Home;
use crate::out::Out;
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  osier sessions fork 4f89da11              the path to where it stands\n  osier sessions fork 4f89da11 3781a861     the path to that entry, which is the last of it\n\nPrints the id of the new session."
)]
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
    let source = target.session(home).await?;
    let tree = source.tree();
    let at = reading::place(&tree, args.entry.as_deref())?;
    if at.is_none() {
        bail!("there is nothing to fork: the session stands before its first entry; name an ENTRY");
    }
    let env = home.env();
    let lines = reading::lines(&source, &tree.fork_entries(at)).await?;
    let mint = |taken: &dyn Fn(&str) -> bool| {
        std::iter::repeat_with(|| env.ids.entry()).find(|id| !taken(id)).unwrap_or_default()
    };
    let forked = tree.fork(at, &lines, env.clock.now(), mint);
    let mut header = Header::new(env.ids.session(), env.clock.now(), source.header().cwd.clone());
    header.parent_session = source.file().map(|file| file.display().to_string());
    header.parent_session_id = Some(source.id().to_owned());
    header.parent_store = Some(target.store.name().to_owned());
    header.agent_id = source.header().agent_id.clone();
    let fork = Session::create(target.store.clone(), &header, &forked, env.clone()).await?;
    if let Some(name) = &args.name {
        fork.rename(name).await?;
        fork.before_prompt().await?;
    }
    let tree = fork.tree();
    let mut out = Out::new();
    if args.json {
        let file = fork.file().map(|file| file.display().to_string());
        out.json(&json!({ "session": fork.id(), "file": file, "leafId": tree.leaf().map(|seq| tree.id(seq).to_string()) }))?;
    } else {
        out.line(fork.id())?;
    }
    out.done()
}
