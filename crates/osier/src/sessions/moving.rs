//! `move`, `undo` and `redo`: where the leaf stands.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::{Outcome, Session};
use osier_tree::entry::read_entry;
use osier_tree::projection::preview;
use osier_tree::{Landing, Seq};
use serde_json::json;

use crate::home::Home;
use crate::out::{Out, Style};
use crate::reading;
use crate::target::Target;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions move 4f89da11 c55d6ff3           to say that message differently: prints its text
  osier sessions move 4f89da11 c55d6ff3 --exact   to go on below it
  osier sessions move 4f89da11 root               before the first entry

On a user's message the leaf goes to its parent; on anything else, to it. `undo` takes a move back.")]
pub(crate) struct MoveArgs {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// Where to: an entry's id, or `root`
    entry: String,
    /// Put the leaf on that very entry
    #[arg(long)]
    exact: bool,
    /// Label the entry as well
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Print {leafId, editorText?, moved} as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  osier sessions undo 4f89da11")]
pub(crate) struct UndoArgs {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// Print {leafId, moved} as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Direction {
    Back,
    Forward,
}

pub(crate) async fn run_move(args: MoveArgs, home: &Home) -> Result<ExitCode> {
    let session = Target::find(home, &args.session).await?.session(home).await?;
    let tree = session.tree();
    let landing = match reading::place(&tree, Some(&args.entry))? {
        Some(chosen) if !args.exact => tree.landing(chosen),
        place => Landing { place, text_of: None },
    };
    let text = match landing.text_of {
        Some(seq) => editor_text(&session, seq).await?,
        None => None,
    };
    let cursor = session.main();
    let outcome = match (&args.label, landing.place) {
        (Some(label), _) if args.entry != "root" => {
            cursor.move_and_label(landing.place, &args.entry, label).await?
        }
        _ => cursor.move_to(landing.place).await?,
    };
    tell(&session, &outcome, text, args.json).await
}

async fn editor_text(session: &Session, seq: Seq) -> Result<Option<String>> {
    let lines = reading::lines(session, &[seq]).await?;
    Ok(lines.get(&seq).and_then(|line| preview::editor_text(&read_entry(line).ok()?)))
}

pub(crate) async fn run_undo(args: UndoArgs, home: &Home, direction: Direction) -> Result<ExitCode> {
    let session = Target::find(home, &args.session).await?.session(home).await?;
    let cursor = session.main();
    let outcome = match direction {
        Direction::Back => cursor.undo().await?,
        Direction::Forward => cursor.redo().await?,
    };
    tell(&session, &outcome, None, args.json).await
}

async fn tell(session: &Session, outcome: &Outcome, text: Option<String>, json: bool) -> Result<ExitCode> {
    session.before_prompt().await?;
    let tree = session.tree();
    let leaf = tree.leaf().map(|seq| tree.id(seq).to_string());
    let moved = matches!(outcome, Outcome::Stored(_));
    let mut out = Out::new();
    if json {
        let mut value = json!({ "leafId": leaf, "moved": moved });
        if let Some(text) = text {
            value["editorText"] = json!(text);
        }
        out.json(&value)?;
        return out.done();
    }
    let place = leaf.unwrap_or_else(|| "before the first entry".to_owned());
    let told =
        if moved { format!("the leaf is at {place}") } else { format!("the leaf was at {place} already") };
    eprintln!("{told}");
    if let Some(text) = text {
        let shown = preview::inert(&text);
        out.line(&out.paint(Style::User, &shown))?;
    }
    out.done()
}
