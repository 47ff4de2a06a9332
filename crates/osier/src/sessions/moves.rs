//! `move`, `undo` and `redo`: change the current position.

use std::process::ExitCode;

use anyhow::{Result, bail};
use osier_engine::reading::{self, ROOT};
use osier_engine::{Session, SummaryModel};
use osier_protocol::{ClientCommand, CommandReply, EntryId, MoveCommand};
use osier_tree::projection::preview;
use osier_tree::{Place, PlanError, SessionTree};
use serde::Serialize;

use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::one_shot::{OneShot, OneShotOutcome};
use crate::output_writer::{OutputWriter, TextStyle, notice};
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
    /// Print {leafId, moved, cancelled?} as JSON
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
struct MoveOutcome {
    leaf_id: Option<String>,
    moved: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aborted: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    editor_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary_entry: Option<String>,
}

pub(crate) async fn run_move(args: MoveArgs, home: &Home) -> Result<ExitCode> {
    if args.label.is_some() && args.entry == ROOT && !args.summarize {
        return Err(usage_error("cannot label the root: it is not an entry"));
    }
    let live = target::find_and_open(home, &args.session).await?;
    let (state, at) = live.session().main_cursor().state_and_place();
    let command = move_command(&args, &state.tree)?;
    let summarizes = args.summarize && leaves_entries(&state.tree, at, &command)?;
    if args.summarize && !summarizes {
        notice("nothing to summarize: this move leaves no entries behind");
    }
    let writer = if summarizes { SummaryModel::from(args.model) } else { SummaryModel::Unused };
    let one_shot = OneShot::connect(home, live, &writer).await?;
    match one_shot.run(ClientCommand::Move(command)).await? {
        OneShotOutcome::Reply(CommandReply::Moved(reply)) => {
            let result = MoveOutcome {
                cancelled: Some(reply.cancelled),
                editor_text: reply.editor_text,
                summary_entry: reply.summary_entry.map(|id| id.to_string()),
                ..moved_from(&one_shot, at)
            };
            print_outcome(one_shot.session(), result, args.json)
        }
        OneShotOutcome::Reply(_) => bail!("the agent sent no reply"),
        OneShotOutcome::Stopped(code) => print_canceled(one_shot.session(), args.json, code),
    }
}

fn move_command(args: &MoveArgs, tree: &SessionTree) -> Result<MoveCommand> {
    Ok(MoveCommand {
        target_id: entry_or_root(&reading::resolve_id(tree, &args.entry)?),
        exact: args.exact,
        summarize: args.summarize,
        custom_instructions: args.instructions.clone(),
        replace_instructions: args.replace_instructions,
        label: args.label.clone(),
        expected_leaf_id: match &args.expect {
            Some(leaf) => Some(entry_or_root(&expected_leaf(tree, leaf)?)),
            None => None,
        },
        stop_turn: false,
    })
}

fn entry_or_root(id: &str) -> Option<EntryId> {
    Some(id).filter(|id| *id != ROOT).map(Into::into)
}

/// The id of the expected leaf. An unknown id is returned as is: the move then reports that it is not the leaf.
fn expected_leaf(tree: &SessionTree, leaf: &str) -> Result<String> {
    match tree.resolve(leaf) {
        Err(PlanError::NotFound { .. }) => Ok(leaf.to_owned()),
        resolved => Ok(tree.id(resolved?).to_string()),
    }
}

/// Whether a move leaves entries that a summary could be about.
fn leaves_entries(tree: &SessionTree, at: Place, command: &MoveCommand) -> Result<bool> {
    let target = reading::move_target(tree, at, command)?;
    let left = tree.abandoned_branch(at, target.editor_entry.or(target.position));
    Ok(target.needs_move && !left.entries.is_empty())
}

/// Prints the JSON of a canceled command; the notice is already printed.
pub(super) fn print_canceled(session: &Session, json: bool, code: ExitCode) -> Result<ExitCode> {
    if json {
        let stopped = MoveOutcome { cancelled: Some(true), aborted: Some(true), ..MoveOutcome::default() };
        let mut out = OutputWriter::new();
        out.json(&MoveOutcome { leaf_id: leaf_id(&session.tree()), ..stopped })?;
        out.finish()?;
    }
    Ok(code)
}

pub(crate) async fn run_undo(args: UndoArgs, home: &Home, direction: UndoDirection) -> Result<ExitCode> {
    let command = match direction {
        UndoDirection::Back => ClientCommand::Undo,
        UndoDirection::Forward => ClientCommand::Redo,
    };
    let one_shot = OneShot::open(home, &args.session).await?;
    move_without_summary(&one_shot, command, args.json).await
}

/// Runs a command that moves the leaf, and prints the new position.
pub(super) async fn move_without_summary(
    one_shot: &OneShot,
    command: ClientCommand,
    json: bool,
) -> Result<ExitCode> {
    let from = one_shot.session().main_cursor().position();
    let reply = one_shot.send(command).await?;
    let cancelled = (reply == CommandReply::Cancelled).then_some(true);
    print_outcome(one_shot.session(), MoveOutcome { cancelled, ..moved_from(one_shot, from) }, json)
}

fn moved_from(one_shot: &OneShot, from: Place) -> MoveOutcome {
    let (state, at) = one_shot.session().main_cursor().state_and_place();
    MoveOutcome { moved: !state.tree.same_place(from, at), ..MoveOutcome::default() }
}

/// The entry of the current position.
pub(super) fn leaf_id(tree: &SessionTree) -> Option<String> {
    reading::position_id(tree, tree.leaf())
}

/// Prints that a hook refused a command.
pub(super) fn print_refused(session: &Session, json: bool) -> Result<ExitCode> {
    print_outcome(session, MoveOutcome { cancelled: Some(true), ..MoveOutcome::default() }, json)
}

/// The notice for a command that a hook refused.
pub(super) const REFUSED: &str = "An extension refused it; nothing changed";

/// Prints the new position.
fn print_outcome(session: &Session, mut result: MoveOutcome, json: bool) -> Result<ExitCode> {
    result.leaf_id = leaf_id(&session.tree());
    let mut out = OutputWriter::new();
    if json {
        out.json(&result)?;
        return out.finish();
    }
    let is_summary = result.summary_entry.is_some() && result.summary_entry == result.leaf_id;
    let position = result.leaf_id.map_or_else(|| "the beginning".to_owned(), |leaf| sanitize_line(&leaf));
    notice(&match (result.moved, result.summary_entry) {
        _ if result.cancelled == Some(true) => REFUSED.to_owned(),
        (true, Some(_)) if is_summary => format!("Moved to {position}, a summary of the branch you left"),
        (true, Some(summary)) => {
            format!(
                "Moved to {position}, below {}, a summary of the branch you left",
                sanitize_line(&summary)
            )
        }
        (true, None) => format!("Moved to {position}"),
        (false, _) => format!("Already at {position}"),
    });
    if let Some(text) = result.editor_text {
        let shown = preview::sanitize(&text);
        out.line(&out.paint(TextStyle::User, &shown))?;
    }
    out.finish()
}
