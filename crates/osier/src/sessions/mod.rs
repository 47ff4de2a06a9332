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
mod list;
mod moving;
mod nodes;
mod path;
mod rename;
mod said;
mod show;
mod snapshot;
pub(crate) mod tree;
mod verify;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::home::Home;

/// `osier sessions` and the options of all its commands.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Store for a new session, to list, or to choose between copies; sessions are found in any store
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
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
    Move(moving::MoveArgs),
    /// Undo the last move
    Undo(moving::UndoArgs),
    /// Redo the last undone move
    Redo(moving::UndoArgs),
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
    /// Export the path as Markdown, JSON or JSONL
    Export(export::Args),
    /// Append an entry to a session or to a new one
    Append(append::Args),
}

pub(crate) async fn run(command: Command, home: Home) -> Result<ExitCode> {
    match command {
        Command::List(args) => list::run(args, &home).await,
        Command::Show(args) => show::run(args, &home).await,
        Command::Tree(args) => tree::run(args, &home).await,
        Command::Path(args) => path::run(args, &home).await,
        Command::Entry(args) => entry::run(args, &home).await,
        Command::Context(args) => context::run(args, &home).await,
        Command::Snapshot(args) => snapshot::run(args, &home).await,
        Command::Label(args) => label::run(args, &home).await,
        Command::Rename(args) => rename::run(args, &home).await,
        Command::Config(args) => config::run(args, &home).await,
        Command::Move(args) => moving::run_move(args, &home).await,
        Command::Undo(args) => moving::run_undo(args, &home, moving::Direction::Back).await,
        Command::Redo(args) => moving::run_undo(args, &home, moving::Direction::Forward).await,
        Command::Copy(args) => copy::run(args, &home).await,
        Command::Fork(args) => fork::run(args, &home).await,
        Command::Compact(args) => compact::run(args, &home).await,
        Command::Compaction(args) => compaction::run(args, &home).await,
        Command::Compare(args) => compare::run(args, &home).await,
        Command::Graft(args) => graft::run(args, &home).await,
        Command::DeleteBranch(args) => branches::run(args, &home, branches::Wish::Delete).await,
        Command::RestoreBranch(args) => branches::run(args, &home, branches::Wish::Restore).await,
        Command::Delete(args) => delete::run(args, &home).await,
        Command::Verify(args) => verify::run(args, &home).await,
        Command::Gc(args) => gc::run(args, &home).await,
        Command::Export(args) => export::run(args, &home).await,
        Command::Append(args) => append::run(args, &home).await,
    }
}
