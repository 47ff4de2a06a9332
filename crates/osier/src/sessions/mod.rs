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

/// `osier sessions`, and which store is meant.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// The store for a new session, to list, or of several copies; a session is found wherever it is
    #[arg(long, global = true, value_name = "NAME")]
    pub(crate) store: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List sessions, the one used last first
    List(list::Args),
    /// Show a session: what is known of it, and its conversation
    Show(show::Args),
    /// Draw the tree of a session
    Tree(tree::Args),
    /// List the entries from the root to the leaf
    Path(path::Args),
    /// Show one entry
    Entry(entry::Args),
    /// Show what a model would be sent
    Context(context::Args),
    /// Print everything a client needs to show a session
    Snapshot(snapshot::Args),
    /// Name an entry, or take its name away
    Label(label::Args),
    /// Name a session, or take its name away
    Rename(rename::Args),
    /// Show or change the settings of a session
    Config(config::Args),
    /// Move the leaf to another entry
    Move(moving::MoveArgs),
    /// Go back to where the leaf was before the last move
    Undo(moving::UndoArgs),
    /// Go forward again after an undo
    Redo(moving::UndoArgs),
    /// Copy a session to another store
    Copy(copy::Args),
    /// Copy a path into a new session
    Fork(fork::Args),
    /// Let a summary stand for the older part of the path
    Compact(compact::Args),
    /// Show what a compaction dropped, or go to before it
    Compaction(compaction::Args),
    /// Show two branches side by side
    Compare(compare::Args),
    /// Bring what came of another branch to where the session stands
    Graft(graft::Args),
    /// Hide an entry and everything below it
    DeleteBranch(branches::Args),
    /// Show a deleted branch again
    RestoreBranch(branches::Args),
    /// Delete sessions for good
    Delete(delete::Args),
    /// Check a file and report everything odd about it
    Verify(verify::Args),
    /// Write a session anew without its deleted branches
    Gc(gc::Args),
    /// Write the path as JSONL, Markdown or JSON
    Export(export::Args),
    /// Append an entry, to a session or to a new one
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
