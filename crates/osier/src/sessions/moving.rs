//! `move`, `undo` and `redo`: change the current position.

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
  osier sessions move 4f89da11 c55d6ff3               to before that user message; prints its text to rephrase
  osier sessions move 4f89da11 c55d6ff3 --exact       to exactly that entry
  osier sessions move 4f89da11 root                   to before the first entry
  osier sessions move 4f89da11 root --expect 3781a861 only if the leaf is still 3781a861
  osier sessions move 4f89da11 3781a861 --summarize   with a summary of the branch you leave
  osier sessions move 4f89da11 3781a861 --summarize --instructions 'only what failed, and why'

For a user or extension message, the leaf moves to the parent of the message and its text is printed; otherwise it moves to the \
entry itself. Tool calls include their results, and a mark counts as the entry above it. The move is stored in the session; `osier \
sessions undo` reverts it.
The summary is written by the model of --model, else of the setting summary_model, else of the session. Ctrl-C cancels it; after \
a cancellation or a failure, nothing is changed.
Prints the text for the editor, if any, and the new position on standard error.")]
pub(crate) struct MoveArgs {
    /// Session: the first characters of its id, or a .jsonl file
    session: String,
    /// Destination: an entry id, or `root`
    entry: String,
    /// Move to exactly this entry, even a user message
    #[arg(long)]
    exact: bool,
    /// Summarize the branch you leave, as the first entry of the new branch
    #[arg(long)]
    summarize: bool,
    /// Extra instructions for the summary
    #[arg(long, value_name = "TEXT", requires = "summarize")]
    instructions: Option<String>,
    /// Use only the instructions, without the default summary prompt
    #[arg(long, requires = "instructions")]
    replace_instructions: bool,
    /// Label the summary or, without one, the entry
    #[arg(long, value_name = "TEXT")]
    label: Option<String>,
    /// Model that writes the summary
    #[arg(long, value_name = "NAME", requires = "summarize")]
    model: Option<String>,
    /// Move only if this is the current leaf: an entry id, or `root`
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

Goes back and forth through earlier positions, like the buttons of a browser.
Prints the new position on standard error.")]
pub(crate) struct UndoArgs {
    /// Session: the first characters of its id, or a .jsonl file
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

/// The result of a move, as JSON.
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
        return Err(usage("cannot label the root: it is not an entry"));
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
        remark("nothing to summarize: this move leaves no entries behind");
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

/// The id of the expected leaf. An unknown id is returned as is: the move then reports that it is not the leaf.
fn expected(tree: &SessionTree, leaf: &str) -> Result<String> {
    match tree.resolve(leaf) {
        Err(PlanError::NotFound { .. }) => Ok(leaf.to_owned()),
        resolved => Ok(tree.id(resolved?).to_string()),
    }
}

/// The place that choosing an entry leads to.
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

/// The text for the editor.
pub(super) async fn editor_text(session: &Session, landing: &Landing) -> Result<Option<String>> {
    let lines = reading::lines(session, landing.text_of.as_slice()).await?;
    Ok(landing.editor(&lines).map(|editor| editor.text))
}

/// Moves with an agent, which lets a model write the summary.
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
            let result = Went {
                moved: !cancelled,
                cancelled: Some(cancelled),
                editor_text: editor.map(|editor| editor.text),
                summary_entry: summary_entry.map(|id| id.to_string()),
                ..Went::default()
            };
            tell(session, result, args.json).await
        }
        Came::Of(_) => bail!("the agent sent no reply"),
        Came::Stopped(code) => stopped(session, args.json, code),
    }
}

/// Prints the JSON of a canceled command; the notice is already printed.
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

/// The entry of the current position. A mark, such as a label, is not a position: the entry above it is.
pub(super) fn place_id(tree: &SessionTree) -> Option<String> {
    let place = tree.heads().up(tree.leaf()).find(|seq| !tree.head(*seq).kind.is_mark());
    place.map(|seq| tree.id(seq).to_string())
}

/// Prints the new position.
pub(super) async fn tell(session: &Session, mut result: Went, json: bool) -> Result<ExitCode> {
    session.before_prompt().await?;
    result.leaf_id = place_id(&session.tree());
    let mut out = Out::new();
    if json {
        out.json(&result)?;
        return out.done();
    }
    let is_summary = result.summary_entry.is_some() && result.summary_entry == result.leaf_id;
    let place = result.leaf_id.map_or_else(|| "the beginning".to_owned(), |leaf| plain(&leaf));
    remark(&match (result.moved, result.summary_entry) {
        (true, Some(_)) if is_summary => format!("Moved to {place}, a summary of the branch you left"),
        (true, Some(summary)) => {
            format!("Moved to {place}, below {}, a summary of the branch you left", plain(&summary))
        }
        (true, None) => format!("Moved to {place}"),
        (false, _) => format!("Already at {place}"),
    });
    if let Some(text) = result.editor_text {
        let shown = preview::inert(&text);
        out.line(&out.paint(Style::User, &shown))?;
    }
    out.done()
}
