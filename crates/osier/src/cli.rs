//! The command line: what can be said, and who carries it out.

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

use crate::home::Home;
use crate::{bench, demo, sessions};

const AFTER: &str = "\
Examples:
  osier demo                         a small session to explore
  osier sessions list                the sessions of this directory
  osier sessions tree 4f89da11       one of them as a tree
  osier sessions context x.jsonl     what a model would be sent

A session is named by the first digits of its id, or by the path of its .jsonl file.
Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// A coding agent and session engine whose conversation is a tree.
#[derive(Debug, Parser)]
#[command(name = "osier", version, about, after_help = AFTER, arg_required_else_help = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look at sessions, move in them, change them
    #[command(subcommand, visible_alias = "s")]
    Sessions(sessions::Command),
    /// Make a small example session and show what can be done with it
    Demo(demo::Args),
    /// Print completions for a shell
    #[command(
        after_help = "Example:\n  osier completions bash > ~/.local/share/bash-completion/completions/osier"
    )]
    Completions { shell: clap_complete::Shell },
    /// Print the manual page
    #[command(after_help = "Example:\n  osier man | man -l -")]
    Man,
    #[command(flatten)]
    Bench(bench::Command),
}

pub(crate) fn run(cli: Cli, home: Home) -> Result<ExitCode> {
    match cli.command {
        Command::Completions { shell } => {
            clap_complete::generate(shell, &mut Cli::command(), "osier", &mut std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
        Command::Man => manual(),
        Command::Sessions(command) => block_on(sessions::run(command, home)),
        Command::Demo(args) => block_on(demo::run(args, home)),
        Command::Bench(command) => block_on(bench::run(command, home)),
    }
}

fn block_on(work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

/// One page for the program and, because pages per subcommand would be many, its session commands behind it.
fn manual() -> Result<ExitCode> {
    let mut out = std::io::stdout();
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut out)?;
    let sessions = command.find_subcommand("sessions").cloned();
    for sub in
        sessions.iter().flat_map(|sessions| sessions.get_subcommands()).filter(|sub| !sub.is_hide_set())
    {
        clap_mangen::Man::new(sub.clone()).render(&mut out)?;
    }
    Ok(ExitCode::SUCCESS)
}
