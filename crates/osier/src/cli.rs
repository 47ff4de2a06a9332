//! The command line: parses it and runs the command.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use osier_settings::logging::{self, LogGuard};
use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};

use crate::extensions::flags::{UnknownFlag, UnknownFlags};
use crate::home::{self, CliOverrides, Home};
use crate::output_writer::{OutputWriter, notice};
use crate::{
    agents, bench, config, demo, doctor, explore, extensions, failure, models, run, search, serve, sessions,
    trust,
};

const AFTER_HELP: &str = "\
Examples:
  osier                              start an interactive session
  osier -p 'list the files here'     print the answer and exit
  cat log.txt | osier -p 'explain'   add piped input to the prompt
  osier -c 'and now the tests'       continue the last session
  osier demo                         create a small session to explore
  osier sessions tree 4f89da11       show a session as a tree
  osier search 'json flag'           find sessions by what was said

Without an API key, a built-in offline model answers; it follows simple requests.
Name a session by the first characters of its id, or by the path of its .jsonl file.
Sessions are stored in $OSIER_HOME/sessions (default: ~/.osier/sessions).
Exit codes: 0 success, 1 failure, 2 usage error, 130 interrupted with Ctrl-C. With --json, errors are JSON too.";

/// How long threads may finish their work at exit, so that no line is half written. A thread that blocks on a dead mount is abandoned.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(1);

/// A coding agent and session engine whose conversation is a tree.
#[derive(Debug, Parser)]
#[command(name = "osier", version, about, after_help = AFTER_HELP, args_conflicts_with_subcommands = true)]
pub(crate) struct Cli {
    #[command(subcommand)]
    command: Option<CliCommand>,
    #[command(flatten)]
    run: run::Args,
}

#[derive(Debug, Subcommand)]
enum CliCommand {
    /// List, show and change sessions
    #[command(
        visible_alias = "s",
        after_help = "Examples:\n  osier sessions list\n  osier sessions tree --help\n\nPrints what each command describes in its own --help."
    )]
    Sessions(sessions::Args),
    /// Search the messages of all sessions
    Search(search::Args),
    /// Show the settings and where they come from, or change them
    Config(config::Args),
    /// List the available models
    Models(models::Args),
    /// List the agents that a model can delegate tasks to
    Agents(agents::Args),
    /// Try a prompt several times at once, then compare the tries and keep one
    Explore(explore::Args),
    /// List, add and remove extensions, and decide what they may do
    Extensions(extensions::command::Args),
    /// Serve sessions over HTTP and WebSockets
    Serve(serve::Args),
    /// Print links and tokens for a gateway
    Token(serve::token::Args),
    /// Check keys, servers, terminal and sessions, and suggest fixes
    Doctor(doctor::Args),
    /// Trust a project's folder, or revoke that trust
    Trust(trust::command::Args),
    /// Create a small example session and show what you can do with it
    Demo(demo::Args),
    /// Print the JSON schema of the protocol between engines and clients
    #[command(
        after_help = "Examples:\n  osier schema | jq .clientFrame\n\nPrints one JSON object: version, clientFrame, serverFrame, and the schemas of everything in frames."
    )]
    Schema,
    /// Print a completion script for a shell
    #[command(
        after_help = "Examples:\n  osier completions bash > ~/.local/share/bash-completion/completions/osier\n  osier completions zsh > ~/.zfunc/_osier\n\nPrints a completion script for that shell."
    )]
    Completions { shell: clap_complete::Shell },
    /// Print the manual page
    #[command(
        after_help = "Examples:\n  osier man | man -l -\n  osier man > ~/.local/share/man/man1/osier.1\n\nPrints the manual page in roff."
    )]
    Man,
    #[command(flatten)]
    Bench(bench::BenchCommand),
}

/// Parses the command line. For a mistyped command with extra words, the error is about the command, not about the extra words.
pub(crate) fn parse() -> Cli {
    parse_with_flags().unwrap_or_else(|error| exit_with_parse_error(&error))
}

/// Ends the program because its command line is wrong.
pub(crate) fn exit_with_parse_error(error: &clap::Error) -> ! {
    let words: Vec<String> = std::env::args().skip(1).take_while(|word| !word.starts_with('-')).collect();
    let osier = Cli::command();
    let is_command = words.first().is_some_and(|word| osier.find_subcommand(word).is_some());
    let may_be_slip = error.kind() == ErrorKind::UnknownArgument && !is_command;
    match run::check_words(&words, &osier).filter(|_| may_be_slip) {
        Some(meant) => failure::exit_with_usage_error(&clap::Error::raw(
            ErrorKind::InvalidSubcommand,
            format!("{meant}\n"),
        )),
        None => failure::exit_with_usage_error(error),
    }
}

/// Options that Osier does not have are set aside: extensions can add some. An extension that starts Osier again may pass the
/// path of the program, as it does with pi.
fn parse_with_flags() -> Result<Cli, clap::Error> {
    let mut line: Vec<OsString> = std::env::args_os().collect();
    remove_repeated_path(&mut line);
    let first_error = match Cli::try_parse_from(&line) {
        Ok(cli) => return Ok(cli),
        Err(error) => error,
    };
    let Some(mut words) = line.into_iter().map(|word| word.into_string().ok()).collect::<Option<Vec<_>>>()
    else {
        return Err(first_error);
    };
    let mut flags = Vec::new();
    let mut unknown = unknown_option(&first_error);
    while let Some(flag) = unknown.and_then(|option| UnknownFlag::take(&mut words, &option)) {
        flags.push(flag);
        match Cli::try_parse_from(&words) {
            Ok(mut cli) if cli.command.is_none() => {
                cli.run.flags = UnknownFlags { flags, error: Some(Arc::new(first_error)) };
                return Ok(cli);
            }
            Ok(_) => break,
            Err(error) => unknown = unknown_option(&error),
        }
    }
    Err(first_error)
}

/// Removes the path of the program if it is there twice. A word without a slash is a prompt.
fn remove_repeated_path(line: &mut Vec<OsString>) {
    if line.len() > 1 && line[0] == line[1] && line[1].as_encoded_bytes().contains(&b'/') {
        line.remove(1);
    }
}

/// The long option that an error is about.
fn unknown_option(error: &clap::Error) -> Option<String> {
    let option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) if error.kind() == ErrorKind::UnknownArgument => option,
        _ => return None,
    };
    option.starts_with("--").then(|| option.clone())
}

pub(crate) fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        None => run_agent(cli.run),
        Some(CliCommand::Completions { shell }) => print_completions(shell),
        Some(CliCommand::Man) => print_manual(),
        Some(CliCommand::Schema) => print_schema(),
        Some(CliCommand::Sessions(args)) => {
            let overrides = CliOverrides { store: args.store.clone(), agent: None };
            let home = home::find()?.with_overrides(&overrides)?;
            let _log = start_log(&home, false);
            block_on(sessions::run(args, home))
        }
        Some(CliCommand::Search(args)) => {
            let overrides = CliOverrides { store: args.store.clone(), agent: None };
            let home = home::find()?.with_overrides(&overrides)?;
            let _log = start_log(&home, false);
            block_on(search::run(args, home))
        }
        Some(CliCommand::Config(args)) => config::run(args),
        Some(CliCommand::Models(args)) => {
            let home = home::find()?;
            let _log = start_log(&home, false);
            block_on(models::run(args, &home))
        }
        Some(CliCommand::Agents(args)) => agents::run(&args, &home::find()?),
        Some(CliCommand::Explore(args)) => {
            let home = home::find()?;
            let _log = start_log(&home, false);
            block_on(explore::run(args, home))
        }
        Some(CliCommand::Extensions(args)) => block_on(extensions::command::run(args, home::find()?)),
        Some(CliCommand::Serve(args)) => {
            let home = home::find()?;
            let _log = start_log(&home, false);
            block_on_threads(serve::run(args, home))
        }
        Some(CliCommand::Token(args)) => block_on(serve::token::run(args, home::find()?)),
        Some(CliCommand::Doctor(args)) => block_on(doctor::run(args)),
        Some(CliCommand::Trust(args)) => trust::command::run(args),
        Some(CliCommand::Demo(args)) => block_on(demo::run(args, home::find()?)),
        Some(CliCommand::Bench(command)) => block_on(bench::run(command, home::find()?)),
    }
}

fn run_agent(args: run::Args) -> Result<ExitCode> {
    let line: Vec<_> = std::env::args_os().skip(1).collect();
    run::check(&args, &line, &Cli::command())?;
    run::change_directory(&args)?;
    let home = home::find()?.with_overrides(&args.overrides())?;
    let _log = start_log(&home, args.verbose());
    block_on(run::run(args, home))
}

fn start_log(home: &Home, verbose: bool) -> LogGuard {
    let log = logging::start(home, verbose);
    log.problem.iter().for_each(|problem| notice(&format!("osier: {problem}")));
    log
}

fn block_on(work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    run_on(tokio::runtime::Builder::new_current_thread(), work)
}

/// For a server: the work of one client does not delay that of others.
fn block_on_threads(work: impl Future<Output = Result<ExitCode>>) -> Result<ExitCode> {
    run_on(tokio::runtime::Builder::new_multi_thread(), work)
}

fn run_on(
    mut runtime: tokio::runtime::Builder,
    work: impl Future<Output = Result<ExitCode>>,
) -> Result<ExitCode> {
    tracing::debug!(version = env!("CARGO_PKG_VERSION"), process = std::process::id(), "osier starts");
    let runtime = runtime.enable_all().build()?;
    let done = runtime.block_on(async {
        // With a handler, a write beyond the limit on file sizes fails and is reported; without one it kills the program. Unlike
        // ignoring the signal, a handler is not passed on to commands that are run.
        let _handler = signal(SignalKind::from_raw(Signal::XFSZ.as_raw()));
        work.await
    });
    runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
    match &done {
        Ok(code) => tracing::debug!(?code, "osier ends"),
        Err(_) => tracing::debug!("osier ends with an error"),
    }
    done
}

fn print(text: &[u8]) -> Result<ExitCode> {
    let mut out = OutputWriter::new();
    out.raw(text)?;
    out.finish()
}

fn print_completions(shell: clap_complete::Shell) -> Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "osier", &mut script);
    print(&script)
}

fn print_schema() -> Result<ExitCode> {
    print(format!("{:#}\n", osier_wire::wire_schema()).as_bytes())
}

/// One page for the program, followed by its session commands: a page per subcommand would be too many.
fn print_manual() -> Result<ExitCode> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_repeated_path_is_left_out() {
        let words = |line: &[&str]| {
            let mut line: Vec<OsString> = line.iter().map(OsString::from).collect();
            remove_repeated_path(&mut line);
            line.len()
        };
        assert_eq!(words(&["/usr/bin/osier", "/usr/bin/osier", "-p"]), 2);
        assert_eq!(words(&["osier", "osier", "-p"]), 3, "it is a prompt");
    }
}
