//! `demo`: creates a new small session in this directory to explore.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::{KeepWhen, StoredSession};
use osier_tree::time::{self, Millis};
use serde_json::{Value, json};

use crate::home::Home;
use crate::layout::{pad_right, sanitize_line};
use crate::output_writer::{OutputWriter, TextStyle};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier demo
  osier sessions tree $(osier demo --quiet)

Prints the path of the session and commands to try on it. It is an ordinary session; `osier sessions delete` removes it.")]
pub(crate) struct Args {
    /// Print only the id of the session
    #[arg(long)]
    quiet: bool,
}

/// Two approaches to adding a flag, a dead end with its summary, and labels: enough to show what a tree is good for.
const DEMO_LINES: &str = include_str!("demo.jsonl");

/// Commands, their arguments after the session's id, and what they do.
const HINTS: [(&str, &str, &str); 10] = [
    ("tree", "", "show the whole tree; ← active marks the current position"),
    ("show", "", "show the conversation on the active branch"),
    ("move", " 0000000c", "go back to before a question; prints its text"),
    ("tree", " --ids", "show the new position, with entry ids"),
    ("undo", "", "undo the move"),
    ("label", " 0000000d 'good idea'", "label an entry"),
    ("fork", " 00000005", "copy the path to an entry into a new session"),
    ("context", "", "show what a model would get"),
    ("show", " --usage", "show tokens and cost"),
    ("delete", " --yes", "delete the session"),
];

/// Creates the demo session in the current directory.
pub(crate) async fn create(home: &Home) -> Result<StoredSession> {
    let lines = shifted_lines(home.now())?;
    Ok(home.engine.create_with(&home.new_session(KeepWhen::Always), &lines).await?)
}

pub(crate) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    let stored = create(&home).await?;
    let entries = DEMO_LINES.lines().count();
    let mut out = OutputWriter::new();
    if args.quiet {
        out.line(&stored.key)?;
        return out.finish();
    }
    let what = match stored.file() {
        Some(file) => {
            let file = sanitize_line(&file.to_string_lossy());
            out.line(&format!("Created a session with {entries} entries:\n  {file}\n"))?;
            "It is a plain file that holds a tree."
        }
        None => {
            out.line(&format!(
                "Created a session with {entries} entries in the store {}.\n",
                stored.store.name()
            ))?;
            "It holds a tree."
        }
    };
    out.line(&format!("{what} Try:\n"))?;
    let short = stored.store.short_id(&stored.key).await?;
    for (command, rest, what) in HINTS {
        let call = format!("osier sessions {command} {short}{rest}");
        out.line(&format!("  {} {}", pad_right(&call, 52), out.paint(TextStyle::Dim, what)))?;
    }
    out.finish()
}

/// The entries, with times shifted so that the last one is from now.
fn shifted_lines(now: Millis) -> Result<Vec<Vec<u8>>> {
    let mut entries = DEMO_LINES.lines().map(serde_json::from_str).collect::<Result<Vec<Value>, _>>()?;
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
