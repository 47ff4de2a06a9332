//! `demo`: a small session of this directory to explore, made anew each time.

use std::process::ExitCode;

use anyhow::Result;
use osier_tree::time::{self, Millis};
use serde_json::{Value, json};

use crate::home::Home;
use crate::layout::{left, plain};
use crate::out::{Out, Style};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier demo
  osier sessions tree $(osier demo --quiet)

Prints where the session lies and commands to try on it. It is an ordinary session; `osier sessions delete` ends it.")]
pub(crate) struct Args {
    /// Print only the id of the session
    #[arg(long)]
    quiet: bool,
}

/// Two ways to add a flag, a dead end with its summary, labels: enough to see what a tree is good for.
const LINES: &str = include_str!("demo.jsonl");

/// Commands, what follows the session's id in them, and what they are good for.
const HINTS: [(&str, &str, &str); 10] = [
    ("tree", "", "the whole tree; ← active is where it stands"),
    ("show", "", "the conversation on the active branch"),
    ("move", " 0000000c", "back before another question; prints its text"),
    ("tree", " --ids", "… and see where it stands now"),
    ("undo", "", "return"),
    ("label", " 0000000d 'good idea'", "name an entry"),
    ("fork", " 00000005", "take the path to it into a session of its own"),
    ("context", "", "what a model would be sent"),
    ("show", " --usage", "what it took"),
    ("delete", " --yes", "enough"),
];

pub(crate) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    let store = home.store();
    let header = home.header(&*store, &home.cwd.to_string_lossy()).await?;
    let lines = lines(home.now())?;
    let opened = store.create(&header, &lines).await?;
    let mut out = Out::new();
    if args.quiet {
        out.line(&header.id)?;
        return out.done();
    }
    let what = match opened.file {
        Some(file) => {
            let file = plain(&file.to_string_lossy());
            out.line(&format!("A session of {} entries is now in\n  {file}\n", lines.len()))?;
            "It is a plain file, and it is a tree."
        }
        None => {
            out.line(&format!(
                "A session of {} entries is now in the store {}.\n",
                lines.len(),
                store.name()
            ))?;
            "It is a tree."
        }
    };
    out.line(&format!("{what} Try:\n"))?;
    let short = store.short_id(&header.id).await?;
    for (command, rest, what) in HINTS {
        let call = format!("osier sessions {command} {short}{rest}");
        out.line(&format!("  {} {}", left(&call, 52), out.paint(Style::Dim, what)))?;
    }
    out.done()
}

/// The entries, told as if the last of them was said just now.
fn lines(now: Millis) -> Result<Vec<Vec<u8>>> {
    let mut entries = LINES.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
    let time = |entry: &Value| entry["timestamp"].as_str().and_then(time::parse);
    let shift = now - entries.last().and_then(time).unwrap_or(now);
    for entry in &mut entries {
        entry["timestamp"] = json!(time(entry).map(|then| time::format(then + shift)));
        if let Some(then) = entry["message"]["timestamp"].as_i64() {
            entry["message"]["timestamp"] = json!(then + shift);
        }
    }
    Ok(entries.iter().map(|entry| entry.to_string().into_bytes()).collect())
}
