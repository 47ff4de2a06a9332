//! `osier sessions …`: one file per command.

mod append;
mod branches;
pub(crate) mod compact;
pub(crate) mod compaction;
pub(crate) mod compare;
mod config;
mod context;
mod copy;
mod delete;
mod entry;
mod export;
pub(crate) mod fork;
mod gc;
mod graft;
mod label;
pub(crate) mod list;
mod message_text;
mod moves;
mod path;
mod rename;
mod show;
mod snapshot;
pub(crate) mod tree;
mod verify;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use osier_extensions::ExtensionMode;

use crate::closing::close_sessions;
use crate::extensions::{self, ExtensionArgs, RunExtensions};
use crate::home::Home;

/// `osier sessions` and the options of all its commands.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: SessionsCommand,
    /// Store for a new session, to list, or to choose between copies; sessions are found in any store
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) store: Option<String>,
    /// Load an extension too; for commands that extensions take part in
    #[arg(short = 'e', long = "extension", global = true, value_name = "FILE", hide_short_help = true)]
    extensions: Vec<PathBuf>,
    /// Load no extensions except those of --extension
    #[arg(long, global = true, hide_short_help = true)]
    no_extensions: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, most recently used first
    List(list::Args),
    /// Show a session's details and its conversation
    Show(show::Args),
    /// Draw the tree of a session
    Tree(tree::Args),
    /// List the entries from the root to the leaf
    Path(path::Args),
    /// Show one entry
    Entry(entry::Args),
    /// Show the messages that a model would get
    Context(context::Args),
    /// Print everything a client needs to display a session
    Snapshot(snapshot::Args),
    /// List, set or clear labels of entries
    Label(label::Args),
    /// Set or clear the name of a session
    Rename(rename::Args),
    /// Show or change the settings of a session
    Config(config::Args),
    /// Move the leaf to another entry
    Move(moves::MoveArgs),
    /// Undo the last move
    Undo(moves::UndoArgs),
    /// Redo the last undone move
    Redo(moves::UndoArgs),
    /// Copy a session to another store
    Copy(copy::Args),
    /// Copy a path into a new session
    Fork(fork::Args),
    /// Replace the older part of the context with a summary
    Compact(compact::Args),
    /// Show what a compaction dropped, or move to before it
    Compaction(compaction::Args),
    /// Show two branches side by side
    Compare(compare::Args),
    /// Add the conclusion of another branch to the current one
    Graft(graft::Args),
    /// Hide an entry and everything below it
    DeleteBranch(branches::Args),
    /// Restore a deleted branch
    RestoreBranch(branches::Args),
    /// Delete sessions permanently
    Delete(delete::Args),
    /// Check a session file and report all problems
    Verify(verify::Args),
    /// Remove deleted branches from a session's file
    Gc(gc::Args),
    /// Export the path as Markdown, JSON or JSONL, or the session as HTML
    Export(export::Args),
    /// Append an entry to a session or to a new one
    Append(append::Args),
}

impl SessionsCommand {
    /// Whether extensions take part in it.
    fn asks_hooks(&self) -> bool {
        match self {
            SessionsCommand::Move(_)
            | SessionsCommand::Undo(_)
            | SessionsCommand::Redo(_)
            | SessionsCommand::Fork(_)
            | SessionsCommand::Compact(_)
            | SessionsCommand::Compaction(_)
            | SessionsCommand::Graft(_) => true,
            SessionsCommand::Context(args) => args.is_request(),
            _ => false,
        }
    }
}

pub(crate) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    let Args { command, extensions, no_extensions, .. } = args;
    let chosen = ExtensionArgs { extensions, no_extensions };
    let (home, extensions) = match command.asks_hooks() {
        true => extensions::register(home, &chosen, ExtensionMode::Print)?,
        false => (home, RunExtensions::default()),
    };
    let engine = home.engine.clone();
    let done = run_command(command, home).await;
    close_sessions(&engine).await;
    extensions.print_unshown();
    done
}

async fn run_command(command: SessionsCommand, home: Home) -> Result<ExitCode> {
    match command {
        SessionsCommand::List(args) => list::run(args, &home).await,
        SessionsCommand::Show(args) => show::run(args, &home).await,
        SessionsCommand::Tree(args) => tree::run(args, &home).await,
        SessionsCommand::Path(args) => path::run(args, &home).await,
        SessionsCommand::Entry(args) => entry::run(args, &home).await,
        SessionsCommand::Context(args) => context::run(args, &home).await,
        SessionsCommand::Snapshot(args) => snapshot::run(args, &home).await,
        SessionsCommand::Label(args) => label::run(args, &home).await,
        SessionsCommand::Rename(args) => rename::run(args, &home).await,
        SessionsCommand::Config(args) => config::run(args, &home).await,
        SessionsCommand::Move(args) => moves::run_move(args, &home).await,
        SessionsCommand::Undo(args) => moves::run_undo(args, &home, moves::UndoDirection::Back).await,
        SessionsCommand::Redo(args) => moves::run_undo(args, &home, moves::UndoDirection::Forward).await,
        SessionsCommand::Copy(args) => copy::run(args, &home).await,
        SessionsCommand::Fork(args) => fork::run(args, &home).await,
        SessionsCommand::Compact(args) => compact::run(args, &home).await,
        SessionsCommand::Compaction(args) => compaction::run(args, &home).await,
        SessionsCommand::Compare(args) => compare::run(args, &home).await,
        SessionsCommand::Graft(args) => graft::run(args, &home).await,
        SessionsCommand::DeleteBranch(args) => {
            branches::run(args, &home, branches::BranchAction::Delete).await
        }
        SessionsCommand::RestoreBranch(args) => {
            branches::run(args, &home, branches::BranchAction::Restore).await
        }
        SessionsCommand::Delete(args) => delete::run(args, &home).await,
        SessionsCommand::Verify(args) => verify::run(args, &home).await,
        SessionsCommand::Gc(args) => gc::run(args, &home).await,
        SessionsCommand::Export(args) => export::run(args, &home).await,
        SessionsCommand::Append(args) => append::run(args, &home).await,
    }
}
