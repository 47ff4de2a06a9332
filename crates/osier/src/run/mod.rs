//! Running the agent: `osier [OPTIONS] [PROMPT]…`. Puts model, tools and session together, and hands them to a view.

mod answer;
mod args;
mod card;
mod choice;
mod clean;
mod desk;
mod follow;
mod git;
mod history;
mod host;
mod late;
mod nearest;
mod picker;
mod print;
mod prompt;
mod screen;
pub(crate) mod signals;
mod sink;
pub(crate) mod told;
mod words;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use anyhow::{Context, Result};

pub(crate) use self::args::Args;
use self::args::{Mode, Way};
use self::choice::Choice;
use self::desk::Desk;
use crate::failure::usage_error;
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::trust;

/// Refuses what cannot be meant, before anything is opened. `line` is the command line without the program's name.
pub(crate) fn check(args: &Args, line: &[OsString], osier: &clap::Command) -> Result<()> {
    args.check()?;
    let is_first = line.first().zip(args.words.first()).is_some_and(|(first, word)| *first == **word);
    let forced = args.print || args.mode.is_some() || line.iter().any(|word| word == "--");
    words::check(&args.words, is_first, forced, osier)
}

/// The complaint about words that look like a mistyped command.
pub(crate) fn check_words(words: &[String], osier: &clap::Command) -> Option<String> {
    words::check(words, true, false, osier).err().map(|error| error.to_string())
}

/// Goes where the work is. Must come before anything else looks around.
pub(crate) fn go_there(args: &Args) -> Result<()> {
    let Some(cwd) = &args.cwd else { return Ok(()) };
    let shown = sanitize_line(&cwd.to_string_lossy());
    match cwd.is_dir() {
        true => std::env::set_current_dir(cwd).with_context(|| format!("cannot work in {shown}")),
        false => Err(usage_error(format!("--cwd {shown}: there is no such directory"))),
    }
}

pub(crate) async fn run(args: Args, home: Home) -> Result<ExitCode> {
    keep_to_itself();
    match args.way() {
        Way::Screen => screen::run(args, trust::ask(home)?).await,
        Way::Print(mode) => print(args, home, mode).await,
    }
}

/// Lets no other process of the user look into this one, whose environment may hold keys: commands of a model are such.
fn keep_to_itself() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        // Without it everything works as well, only less guarded.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}

async fn print(args: Args, home: Home, mode: Mode) -> Result<ExitCode> {
    trust::tell(&home);
    let choice = Choice::make(&args, &home).await?;
    choice.used(async move |choice| print_in(choice, args, home, mode).await).await
}

async fn print_in(choice: Choice, args: Args, home: Home, mode: Mode) -> Result<ExitCode> {
    let desk = Desk::new(args, home, &choice, false).await?;
    desk.tell();
    let said = desk.first().await?;
    if said.is_empty() {
        return Err(usage_error(
            "there is nothing to say; give a PROMPT, or pipe one in: osier -p 'why is the sky blue?' \
             (`osier --help` tells more)",
        ));
    }
    let open = desk.open(choice).await?;
    let terminal = std::io::stdout().is_terminal();
    let form = print::Form {
        mode,
        eager: terminal || !desk.has_tools(),
        terminal,
        progress: desk.args.verbose || std::io::stderr().is_terminal(),
        home: desk.home.user.as_deref(),
    };
    let store = open.session.store().clone();
    let done = print::run(open, said, form).await;
    store.close().await;
    done
}
