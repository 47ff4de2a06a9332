//! `move`, `undo` and `redo`: where the leaf stands.

use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_agent::{Command, Navigated, Navigation, Reply};
use osier_session::{Outcome, Session};
use osier_tree::projection::preview;
use osier_tree::{Choice, Chosen, Landing, Place, PlanError, SessionTree};
use serde::Serialize;

use crate::errand::{self, Came, Writer};
use crate::failure::usage;
use crate::home::Home;
use crate::layout::plain;
use crate::out::{Out, Style, remark};
use crate::{reading, target};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier sessions move 4f89da11 c55d6ff3               to say that message differently: prints its text
  osier sessions move 4f89da11 c55d6ff3 --exact       to go on below it
  osier sessions move 4f89da11 root                   before the first entry
  osier sessions move 4f89da11 root --expect 3781a861 if nobody went elsewhere meanwhile
  osier sessions move 4f89da11 3781a861 --summarize   with a summary of what is left
  osier sessions move 4f89da11 3781a861 --summarize --instructions 'only what failed, and why'

On a message of the user or of an extension the leaf goes to its parent, otherwise to the entry itself; calls of tools go \
with their results, and a mark stands for the entry above it. Where the leaf stands already it stays. The move is stored: \
whoever opens the session next stands there. `undo` takes it back. A message that nobody answered yet returns its text, too.
A summary is written by the model of the session, by the one that --model names, or by the setting summary_model. Ctrl-C \
stops it; then, as after any failure, nothing was changed.
Prints the text for the editor, if there is one; where the leaf stands is told on standard error.")]
pub(crate) struct MoveArgs {
    /// The session: first digits of its id, or a .jsonl file
    session: String,
    /// Where to: an entry's id, or `root`
    entry: String,
    /// Put the leaf on that very entry
    #[arg(long)]
    exact: bool,
    /// Leave a summary of what is left, as the first entry of the new branch
    #[arg(long)]
    summarize: bool,
    /// What the summary should heed besides
    #[arg(long, value_name = "TEXT", requires = "summarize")]
    instructions: Option<String>,
    /// The instructions are all that is asked of the summary
    #[arg(long, requires = "instructions")]
    replace_instructions: bool,
    /// Label the summary, or the entry if there is none
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// The model that writes the summary
    #[arg(long, value_name = "NAME", requires = "summarize")]
    model: Option<String>,
    /// Only if the leaf stands there: an entry's id, or `root`
    #[arg(long, value_name = "LEAF", conflicts_with = "summarize")]
    expect: Option<String>,
    /// Print {leafId, moved, cancelled, aborted?, editorText?, summaryEntry?} as JSON
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

/// What came of a move, as programs are told.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Went {
    leaf_id: Option<String>,
    pub(super) moved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cancelled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) aborted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    editor_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_entry: Option<String>,
}

pub(crate) async fn run_move(mut args: MoveArgs, home: &Home) -> Result<ExitCode> {
    if args.label.is_some() && args.entry == "root" && !args.summarize {
        return Err(usage("there is no entry at the root that could have a label"));
    }
    let session = target::session(home, &args.session).await?;
    let (state, at) = session.main().here();
    let tree = &state.tree;
    args.entry = reading::whole_id(tree, &args.entry)?;
    let landing = landing(tree, at, &args.entry, args.exact)?;
    if args.summarize {
        if landing.moves && !tree.leaving(at, landing.text_of.or(landing.place)).entries.is_empty() {
            return summarized(&session, &args, home).await;
        }
        remark("nothing is left behind there, so there is nothing to summarize");
    }
    let text = editor_text(&session, &landing).await?;
    let cursor = session.main();
    let outcome = match &args.expect {
        Some(leaf) => {
            let leaf = expected(tree, leaf)?;
            cursor.move_from(Some(leaf.as_str()).filter(|leaf| *leaf != "root"), landing.place).await?
        }
        None => cursor.move_to(landing.place).await?,
    };
    let label = args.label.as_ref().filter(|_| args.entry != "root" && outcome != Outcome::Cancelled);
    if let Some(label) = label {
        session.label(&args.entry, Some(label)).await?;
    }
    let cancelled = Some(outcome == Outcome::Cancelled);
    tell(&session, Went { cancelled, editor_text: text, ..went(&outcome) }, args.json).await
}

/// The place where the leaf is expected. An entry that is gone is no longer the leaf, which the move itself reports.
fn expected(tree: &SessionTree, leaf: &str) -> Result<String> {
    match tree.resolve(leaf) {
        Err(PlanError::NotFound { .. }) => Ok(leaf.to_owned()),
        resolved => Ok(tree.id(resolved?).to_string()),
    }
}

/// Where choosing an entry leads.
pub(super) fn landing(tree: &SessionTree, at: Place, entry: &str, exact: bool) -> Result<Landing> {
    let id = reading::whole_id(tree, entry)?;
    let chosen = match id.as_str() {
        "root" => Chosen::Root,
        id => Chosen::Entry(id),
    };
    if exact && let Chosen::Entry(id) = chosen {
        let place = Some(tree.require_shown(id)?);
        return Ok(Landing { place, moves: !tree.same_place(at, place), text_of: None });
    }
    Ok(tree.land(at, &Choice { chosen, ..Choice::default() })?)
}

/// What returns to the editor.
pub(super) async fn editor_text(session: &Session, landing: &Landing) -> Result<Option<String>> {
    let lines = reading::lines(session, landing.text_of.as_slice()).await?;
    Ok(landing.editor(&lines).map(|editor| editor.text))
}

/// Goes there through an agent, which asks a model.
async fn summarized(session: &Session, args: &MoveArgs, home: &Home) -> Result<ExitCode> {
    let navigation = Navigation {
        target: Some(args.entry.clone()).filter(|entry| entry != "root"),
        exact: args.exact,
        summarize: true,
        instructions: args.instructions.clone(),
        replace_instructions: args.replace_instructions,
        label: args.label.clone(),
        stop_turn: false,
    };
    let writer = Writer::Model(args.model.as_deref());
    match errand::run(session, home, writer, Command::Navigate(navigation)).await? {
        Came::Of(Reply::Navigated(Navigated { editor, cancelled, summary_entry, .. })) => {
            let went = Went {
                moved: !cancelled,
                cancelled: Some(cancelled),
                editor_text: editor.map(|editor| editor.text),
                summary_entry: summary_entry.map(|id| id.to_string()),
                ..Went::default()
            };
            tell(session, went, args.json).await
        }
        Came::Of(_) => bail!("the agent did not answer"),
        Came::Stopped(code) => stopped(session, args.json, code),
    }
}

/// Tells programs that nothing was changed; people heard it.
pub(super) fn stopped(session: &Session, json: bool, code: ExitCode) -> Result<ExitCode> {
    if json {
        let stopped = Went { cancelled: Some(true), aborted: Some(true), ..Went::default() };
        let mut out = Out::new();
        out.json(&Went { leaf_id: place_id(&session.tree()), ..stopped })?;
        out.done()?;
    }
    Ok(code)
}

pub(crate) async fn run_undo(args: UndoArgs, home: &Home, direction: Direction) -> Result<ExitCode> {
    let session = target::session(home, &args.session).await?;
    let cursor = session.main();
    let outcome = match direction {
        Direction::Back => cursor.undo().await?,
        Direction::Forward => cursor.redo().await?,
    };
    tell(&session, went(&outcome), args.json).await
}

pub(super) fn went(outcome: &Outcome) -> Went {
    Went { moved: matches!(outcome, Outcome::Stored(_)), ..Went::default() }
}

/// The entry where the session stands. A mark such as a label is not a place: it hangs below the one it was written at.
pub(super) fn place_id(tree: &SessionTree) -> Option<String> {
    let place = tree.heads().up(tree.leaf()).find(|seq| !tree.head(*seq).kind.is_mark());
    place.map(|seq| tree.id(seq).to_string())
}

/// Says where the leaf stands now.
pub(super) async fn tell(session: &Session, mut went: Went, json: bool) -> Result<ExitCode> {
    session.before_prompt().await?;
    went.leaf_id = place_id(&session.tree());
    let mut out = Out::new();
    if json {
        out.json(&went)?;
        return out.done();
    }
    let is_summary = went.summary_entry.is_some() && went.summary_entry == went.leaf_id;
    let place = went.leaf_id.map_or_else(|| "the beginning".to_owned(), |leaf| plain(&leaf));
    remark(&match (went.moved, went.summary_entry) {
        (true, Some(_)) if is_summary => format!("Moved to {place}, a summary of the branch you left"),
        (true, Some(summary)) => {
            format!("Moved to {place}, below {}, a summary of the branch you left", plain(&summary))
        }
        (true, None) => format!("Moved to {place}"),
        (false, _) => format!("Already at {place}"),
    });
    if let Some(text) = went.editor_text {
        let shown = preview::inert(&text);
        out.line(&out.paint(Style::User, &shown))?;
    }
    out.done()
}
