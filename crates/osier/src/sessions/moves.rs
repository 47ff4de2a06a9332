//! `move`, `undo` and `redo`: change the current position.

use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_engine::{SummaryModel, reading};
use osier_protocol::{ClientCommand, CommandReply, MoveCommand, MoveReply};
use osier_session::{CommitOutcome, Session};
use osier_tree::projection::preview;
use osier_tree::{MoveRequest, MoveTarget, Place, PlanError, Selection, SessionTree};
use serde::Serialize;

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::one_shot::{self, OneShotOutcome};
use crate::out::{Out, TextStyle, notice};
use crate::target;

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
pub(crate) enum UndoDirection {
    Back,
    Forward,
}

/// The result of a move, as JSON.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MoveOutcome {
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
        return Err(usage_error("cannot label the root: it is not an entry"));
    }
    let session = target::open_session(home, &args.session).await?;
    let (state, at) = session.main_cursor().state_and_place();
    let tree = &state.tree;
    args.entry = reading::resolve_id(tree, &args.entry)?;
    let landing = move_target(tree, at, &args.entry, args.exact)?;
    if args.summarize {
        if landing.needs_move
            && !tree.abandoned_branch(at, landing.editor_entry.or(landing.place)).entries.is_empty()
        {
            return move_with_summary(&session, &args, home).await;
        }
        notice("nothing to summarize: this move leaves no entries behind");
    }
    let text = editor_text(&session, &landing).await?;
    let cursor = session.main_cursor();
    let outcome = match &args.expect {
        Some(leaf) => {
            let leaf = expected_leaf(tree, leaf)?;
            cursor.move_if_at(Some(leaf.as_str()).filter(|leaf| *leaf != "root"), landing.place).await?
        }
        None => cursor.move_to(landing.place).await?,
    };
    let label = args.label.as_ref().filter(|_| args.entry != "root" && outcome != CommitOutcome::Cancelled);
    if let Some(label) = label {
        session.label(&args.entry, Some(label)).await?;
    }
    let cancelled = Some(outcome == CommitOutcome::Cancelled);
    print_outcome(&session, MoveOutcome { cancelled, editor_text: text, ..move_outcome(&outcome) }, args.json)
        .await
}

/// The id of the expected leaf. An unknown id is returned as is: the move then reports that it is not the leaf.
fn expected_leaf(tree: &SessionTree, leaf: &str) -> Result<String> {
    match tree.resolve(leaf) {
        Err(PlanError::NotFound { .. }) => Ok(leaf.to_owned()),
        resolved => Ok(tree.id(resolved?).to_string()),
    }
}

/// The place that choosing an entry leads to.
pub(super) fn move_target(tree: &SessionTree, at: Place, entry: &str, exact: bool) -> Result<MoveTarget> {
    let id = reading::resolve_id(tree, entry)?;
    let chosen = match id.as_str() {
        "root" => Selection::Root,
        id => Selection::Entry(id),
    };
    if exact && let Selection::Entry(id) = chosen {
        let place = Some(tree.require_visible(id)?);
        return Ok(MoveTarget { place, needs_move: !tree.same_place(at, place), editor_entry: None });
    }
    Ok(tree.resolve_move(at, &MoveRequest { selection: chosen, ..MoveRequest::default() })?)
}

/// The text for the editor.
pub(super) async fn editor_text(session: &Session, landing: &MoveTarget) -> Result<Option<String>> {
    let lines = reading::read_lines(session, landing.editor_entry.as_slice()).await?;
    Ok(landing.editor_content(&lines).map(|editor| editor.text))
}

/// Moves with an agent, which lets a model write the summary.
async fn move_with_summary(session: &Session, args: &MoveArgs, home: &Home) -> Result<ExitCode> {
    let navigation = MoveCommand {
        target_id: Some(args.entry.as_str()).filter(|entry| *entry != "root").map(Into::into),
        exact: args.exact,
        summarize: true,
        custom_instructions: args.instructions.clone(),
        replace_instructions: args.replace_instructions,
        label: args.label.clone(),
        stop_turn: false,
    };
    let writer = SummaryModel::from(args.model.clone());
    match one_shot::run(session, home, writer, ClientCommand::Move(navigation)).await? {
        OneShotOutcome::Reply(CommandReply::Moved(MoveReply {
            editor_text,
            cancelled,
            summary_entry,
            ..
        })) => {
            let result = MoveOutcome {
                moved: !cancelled,
                cancelled: Some(cancelled),
                editor_text,
                summary_entry: summary_entry.map(|id| id.to_string()),
                ..MoveOutcome::default()
            };
            print_outcome(session, result, args.json).await
        }
        OneShotOutcome::Reply(_) => bail!("the agent sent no reply"),
        OneShotOutcome::Stopped(code) => print_canceled(session, args.json, code),
    }
}

/// Prints the JSON of a canceled command; the notice is already printed.
pub(super) fn print_canceled(session: &Session, json: bool, code: ExitCode) -> Result<ExitCode> {
    if json {
        let stopped = MoveOutcome { cancelled: Some(true), aborted: Some(true), ..MoveOutcome::default() };
        let mut out = Out::new();
        out.json(&MoveOutcome { leaf_id: place_id(&session.tree()), ..stopped })?;
        out.finish()?;
    }
    Ok(code)
}

pub(crate) async fn run_undo(args: UndoArgs, home: &Home, direction: UndoDirection) -> Result<ExitCode> {
    let session = target::open_session(home, &args.session).await?;
    let cursor = session.main_cursor();
    let outcome = match direction {
        UndoDirection::Back => cursor.undo().await?,
        UndoDirection::Forward => cursor.redo().await?,
    };
    print_outcome(&session, move_outcome(&outcome), args.json).await
}

pub(super) fn move_outcome(outcome: &CommitOutcome) -> MoveOutcome {
    MoveOutcome { moved: matches!(outcome, CommitOutcome::Stored(_)), ..MoveOutcome::default() }
}

/// The entry of the current position. A mark, such as a label, is not a position: the entry above it is.
pub(super) fn place_id(tree: &SessionTree) -> Option<String> {
    let place = tree.heads().ancestors(tree.leaf()).find(|seq| !tree.head(*seq).kind.is_mark());
    place.map(|seq| tree.id(seq).to_string())
}

/// Prints the new position.
pub(super) async fn print_outcome(
    session: &Session,
    mut result: MoveOutcome,
    json: bool,
) -> Result<ExitCode> {
    session.sync_if_configured().await?;
    result.leaf_id = place_id(&session.tree());
    let mut out = Out::new();
    if json {
        out.json(&result)?;
        return out.finish();
    }
    let is_summary = result.summary_entry.is_some() && result.summary_entry == result.leaf_id;
    let place = result.leaf_id.map_or_else(|| "the beginning".to_owned(), |leaf| sanitize_line(&leaf));
    notice(&match (result.moved, result.summary_entry) {
        (true, Some(_)) if is_summary => format!("Moved to {place}, a summary of the branch you left"),
        (true, Some(summary)) => {
            format!("Moved to {place}, below {}, a summary of the branch you left", sanitize_line(&summary))
        }
        (true, None) => format!("Moved to {place}"),
        (false, _) => format!("Already at {place}"),
    });
    if let Some(text) = result.editor_text {
        let shown = preview::sanitize(&text);
        out.line(&out.paint(TextStyle::User, &shown))?;
    }
    out.finish()
}
