//! Runs the agent: `osier [OPTIONS] [PROMPT]…`. Combines model, tools and session, and hands them to the terminal interface
//! or to the printer of `-p`.

mod args;
mod connect;
mod export;
mod frame_server;
mod gateway_token;
mod gateway_url;
#[cfg(test)]
mod hook_tests;
mod host;
mod interactive;
mod interface_config;
mod open_target;
mod print;
pub(crate) mod progress_lines;
mod prompt;
mod prompt_words;
mod resume_error;
mod rpc;
pub(crate) mod signals;
mod standard_input;
mod standard_output;
mod stdout_writer;
mod suggest;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::{Context, Result};
use osier_engine::KeepWhen;
use osier_local_engine::{LocalEngine, LocalEngineOptions};
use osier_protocol::Client;

pub(crate) use self::args::Args;
use self::args::{FrontEnd, OutputMode, RpcProtocol};
use crate::closing::close_sessions;
use crate::extensions::{self, RunExtensions};
use crate::failure::{local_engine_error, usage_error};
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::trust;

/// Checks the options and the prompt words before anything is opened. `line` is the command line without the program name.
pub(crate) fn check(args: &Args, line: &[OsString], osier: &clap::Command) -> Result<()> {
    args.check()?;
    let is_first = line.first().zip(args.words.first()).is_some_and(|(first, word)| *first == **word);
    let forced = args.print || args.mode.is_some() || line.iter().any(|word| word == "--");
    prompt_words::check(&args.words, is_first, forced, osier)
}

/// The error message for words that look like a mistyped command.
pub(crate) fn check_words(words: &[String], osier: &clap::Command) -> Option<String> {
    prompt_words::check(words, true, false, osier).err().map(|error| error.to_string())
}

/// Changes to the directory of `--cwd`. Call this first: the other steps read the current directory.
pub(crate) fn change_directory(args: &Args) -> Result<()> {
    // With a gateway, the directory is on its machine.
    let Some(cwd) = args.cwd.as_ref().filter(|_| args.connect.is_none()) else { return Ok(()) };
    let display_path = sanitize_line(&cwd.to_string_lossy());
    match cwd.is_dir() {
        true => std::env::set_current_dir(cwd)
            .with_context(|| format!("cannot change to the directory {display_path}")),
        false => Err(usage_error(format!("--cwd {display_path}: no such directory"))),
    }
}

pub(crate) async fn run(mut args: Args, home: Home) -> Result<ExitCode> {
    forbid_memory_dumps();
    if let Some(url) = args.connect.clone() {
        RunExtensions::default().set_flags(&args.flags, &mut args.words, &home.cwd).await?;
        return connect::run(args, home, &url).await;
    }
    let (home, extensions) = extensions::register(home, &args.extension_args(), args.extension_mode())?;
    extensions.set_flags(&args.flags, &mut args.words, &home.cwd).await?;
    match args.front_end() {
        FrontEnd::Terminal => interactive::run(args, trust::ask_if_undecided(home)?).await,
        FrontEnd::Print(mode) => run_print(args, home, mode, extensions).await,
        FrontEnd::Rpc => match args.protocol {
            RpcProtocol::Pi => rpc::run(args, home, extensions).await,
            RpcProtocol::Osier => frame_server::run(args, home).await,
        },
    }
}

/// Keeps the user's other processes, such as commands of a model, from reading the memory and environment of this process:
/// they may contain API keys.
pub(crate) fn forbid_memory_dumps() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Only an extra protection, so a failure is ignored.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

async fn run_print(args: Args, home: Home, mode: OutputMode, extensions: RunExtensions) -> Result<ExitCode> {
    trust::print_untrusted(&home);
    close_on_error(home, async move |home| print_session(args, home, mode, extensions).await).await
}

/// Runs work, and closes the stores if it fails.
async fn close_on_error<T>(home: Home, work: impl AsyncFnOnce(Home) -> Result<T>) -> Result<T> {
    let engine = home.engine.clone();
    let done = work(home).await;
    if done.is_err() {
        for store in engine.stores() {
            store.store().close().await;
        }
    }
    done
}

async fn print_session(
    args: Args,
    home: Home,
    mode: OutputMode,
    extensions: RunExtensions,
) -> Result<ExitCode> {
    let typed = args.words.join(" ");
    let keep = match args.no_session {
        true => KeepWhen::Never,
        // It may be refused, and then leaves nothing behind.
        false if typed.starts_with('/') => KeepWhen::Used,
        false => KeepWhen::Always,
    };
    let engine = LocalEngine::new(home, LocalEngineOptions { keep, ..args.engine_options(false) });
    let prepared = open_target::prepare(&args, &engine).await?;
    let prompt = prompt::compose_prompt(&args.words, &prepared.setup.workspace.tool_context).await?;
    if prompt.is_empty() {
        return Err(usage_error(
            "no prompt; give a PROMPT, or pipe one in: osier -p 'why is the sky blue?' (see `osier --help`)",
        ));
    }
    let session = prepared.open().await.map_err(local_engine_error)?;
    extensions.check(session.client.live().session()).await?;
    // Piped text before it makes it part of a text.
    if typed.starts_with('/') && prompt.text.starts_with('/') {
        let client: &dyn Client = &session.client;
        if let Some(problem) = osier_tui::command_problem(&typed, &client.commands().await?) {
            return Err(usage_error(problem));
        }
    }
    let terminal = std::io::stdout().is_terminal();
    let options = print::PrintOptions {
        mode,
        eager: terminal || !session.setup.workspace.has_tools(),
        terminal,
        progress: args.verbose || std::io::stderr().is_terminal(),
        home: session.setup.home.user.as_deref(),
    };
    let live = session.client.live().clone();
    let done = print::run(&session, prompt, options).await;
    match &done {
        Ok(end) if end.is_forced => live.session().store().close().await,
        _ => close_sessions(&engine.engine()).await,
    }
    done.map(|end| end.code)
}
