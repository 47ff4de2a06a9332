//! The command line: what can be said, and who carries it out.

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};

use crate::home::Home;
use crate::out::Out;
use crate::{bench, demo, sessions};

const AFTER: &str = "\
Examples:
  osier demo                         a small session to explore
  osier sessions list                the sessions of this directory
  osier sessions tree 4f89da11       one of them as a tree
  osier sessions context x.jsonl     what a model would be sent

A session is named by the first digits of its id, or by the path of its .jsonl file.
Sessions lie in $OSIER_HOME/sessions, which is ~/.osier/sessions unless you say otherwise.
Exit codes: 0 done, 1 failed, 2 wrong usage.";

/// A coding agent and session engine whose conversation is a tree.
#[derive(Debug, Parser)]
#[command(name = "osier", version, about, after_help = AFTER)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Look at sessions, move in them, change them
    #[command(
        subcommand,
        visible_alias = "s",
        after_help = "Examples:\n  osier sessions list\n  osier sessions tree --help\n\nPrints what the command given says; its --help tells."
    )]
    Sessions(sessions::Command),
    /// Make a small example session and show what can be done with it
    Demo(demo::Args),
    /// Print completions for a shell
    #[command(
        after_help = "Examples:\n  osier completions bash > ~/.local/share/bash-completion/completions/osier\n  osier completions zsh > ~/.zfunc/_osier\n\nPrints a script for that shell."
    )]
    Completions { shell: clap_complete::Shell },
    /// Print the manual page
    #[command(
        after_help = "Examples:\n  osier man | man -l -\n  osier man > ~/.local/share/man/man1/osier.1\n\nPrints a page in roff."
    )]
    Man,
    #[command(flatten)]
    Bench(bench::Command),
}

pub(crate) fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        None => {
            Cli::command().print_help()?;
            Ok(ExitCode::SUCCESS)
        }
        Some(Command::Completions { shell }) => completions(shell),
        Some(Command::Man) => manual(),
        Some(Command::Sessions(command)) => block_on(sessions::run(command, Home::find()?)),
        Some(Command::Demo(args)) => block_on(demo::run(args, Home::find()?)),
        Some(Command::Bench(command)) => block_on(bench::run(command, Home::find()?)),
    }
}

fn block_on(work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work)
}

fn print(text: &[u8]) -> Result<ExitCode> {
    let mut out = Out::new();
    out.raw(text)?;
    out.done()
}

fn completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "osier", &mut script);
    print(&script)
}

/// One page for the program and, because pages per subcommand would be many, its session commands behind it.
fn manual() -> Result<ExitCode> {
    let mut page = Vec::new();
    let mut command = Cli::command();
    command.build();
    clap_mangen::Man::new(command.clone()).render(&mut page)?;
    let sessions = command.find_subcommand("sessions").into_iter().flat_map(clap::Command::get_subcommands);
    for sub in sessions.filter(|sub| !sub.is_hide_set()) {
        clap_mangen::Man::new(sub.clone()).render(&mut page)?;
    }
    print(&page)
}
