//! `demo`: a small session to explore, made anew in a folder of its own.

use std::process::ExitCode;

use anyhow::Result;
use osier_store::Store;
use osier_tree::Header;
use osier_tree::projection::card::short_id;

use crate::home::Home;
use crate::out::{Out, Style};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Print only the id of the session
    #[arg(long)]
    quiet: bool,
}

/// Two ways to add a flag, a dead end with its summary, labels: enough to see what a tree is good for.
const LINES: &str = include_str!("demo.jsonl");

pub(crate) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    let env = home.env();
    let store = home.store();
    let header = Header::new(env.ids.session(), env.clock.now(), home.cwd.to_string_lossy());
    let lines: Vec<Vec<u8>> = LINES.lines().map(|line| line.as_bytes().to_vec()).collect();
    let opened = store.create(&header, &lines).await?;
    let id = short_id(&header.id);
    let mut out = Out::new();
    if args.quiet {
        out.line(&header.id)?;
        return out.done();
    }
    let file = opened.file.map(|file| file.display().to_string()).unwrap_or_default();
    out.line(&format!("A session of {} entries is now in\n  {file}\n", lines.len()))?;
    out.line("It is a plain file, and it is a tree. Try:\n")?;
    let hints = [
        ("tree", "", "the whole tree; ← active is where it stands"),
        ("show", "", "the conversation on the active branch"),
        ("move", " 0000000c", "back before another question; prints its text"),
        ("tree", "", "… and see where it stands now"),
        ("undo", "", "return"),
        ("label", " 0000000d 'good idea'", "name an entry"),
        ("fork", " 00000005", "take the path to it into a session of its own"),
        ("context", "", "what a model would be sent"),
        ("delete", " --yes", "enough"),
    ];
    for (command, rest, what) in hints {
        let call = format!("osier sessions {command} {id}{rest}");
        out.line(&format!("  {:<52} {}", call, out.paint(Style::Dim, what)))?;
    }
    out.done()
}
