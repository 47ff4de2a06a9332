//! `move`, `undo` and `redo`: where the leaf stands.

use std::process::ExitCode;

use anyhow::Result;
use osier_session::{Outcome, Session};
use osier_tree::projection::preview;
use osier_tree::{Choice, Chosen, Landing, Place, SessionTree};
use serde_json::json;

use crate::failure::usage;
use crate::home::Home;
use crate::layout::plain;
use crate::out::{Out, Style, remark};
use crate::{reading, target};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions move 4f89da11 c55d6ff3           to say that message differently: prints its text
  osier sessions move 4f89da11 c55d6ff3 --exact   to go on below it
  osier sessions move 4f89da11 root               before the first entry

On a message of the user or of an extension the leaf goes to its parent, otherwise to the entry itself; calls of tools go \
with their results, and a mark stands for the entry above it. Where the leaf stands already it stays. The move is stored: \
whoever opens the session next stands there. `undo` takes it back.
Prints the text for the editor, if there is one; where the leaf stands is told on standard error.")]
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
    /// Print {leafId, moved, editorText?} as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions undo 4f89da11
  osier sessions redo 4f89da11

Walks back and forth through the places the session stood at before its moves, as the buttons of a browser do.
Prints where the leaf stands, to standard error.")]
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
    if args.label.is_some() && args.entry == "root" {
        return Err(usage("there is no entry at the root that could have a label"));
    }
    let session = target::session(home, &args.session).await?;
    let cursor = session.main();
    let landing = landing(&session.tree(), cursor.place(), &args)?;
    let text = match landing.text_of {
        Some(seq) => landing.editor(&reading::lines(&session, &[seq]).await?).map(|editor| editor.text),
        None => None,
    };
    let outcome = match &args.label {
        Some(label) => cursor.move_and_label(landing.place, &args.entry, label).await?,
        None => cursor.move_to(landing.place).await?,
    };
    tell(&session, &outcome, text, args.json).await
}

/// What choosing the entry means.
fn landing(tree: &SessionTree, at: Place, args: &MoveArgs) -> Result<Landing> {
    let chosen = match reading::place(tree, Some(&args.entry))? {
        None => Chosen::Root,
        Some(_) => Chosen::Entry(&args.entry),
    };
    if args.exact
        && let Chosen::Entry(id) = chosen
    {
        return Ok(Landing { place: Some(tree.require_shown(id)?), moves: true, text_of: None });
    }
    Ok(tree.land(at, &Choice { chosen, ..Choice::default() })?)
}

pub(crate) async fn run_undo(args: UndoArgs, home: &Home, direction: Direction) -> Result<ExitCode> {
    let session = target::session(home, &args.session).await?;
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
    let place = leaf.map_or_else(|| "the beginning".to_owned(), |leaf| plain(&leaf));
    remark(&match moved {
        true => format!("the leaf is at {place}"),
        false => format!("the leaf was at {place} already"),
    });
    if let Some(text) = text {
        let shown = preview::inert(&text);
        out.line(&out.paint(Style::User, &shown))?;
    }
    out.done()
}
