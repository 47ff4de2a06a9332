//! The words of `osier [OPTIONS] [PROMPT]…`, and which wishes cannot go together.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use osier_model::ThinkingLevel;

use crate::failure::usage_error;
use crate::home::CliOverrides;

const SESSION: &str = "Which session";
const MODEL: &str = "Model and tools";

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// The prompt. `@FILE` attaches a text or an image, `-` is what standard input holds
    #[arg(value_name = "PROMPT")]
    pub(super) words: Vec<String>,
    /// Print the answer and end, instead of talking on
    #[arg(short, long)]
    pub(super) print: bool,
    /// Print only the answer, or every event as a line of JSON
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) mode: Option<Mode>,
    /// Tell on standard error what goes on, also when that is no terminal
    #[arg(long)]
    pub(super) verbose: bool,
    /// Work in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,

    /// Go on with the session used last in this directory
    #[arg(short = 'c', long = "continue", help_heading = SESSION)]
    pub(super) go_on: bool,
    /// Go on with a session: the first digits of its id; without them, choose from a list
    #[arg(short, long, value_name = "ID", num_args = 0..=1, help_heading = SESSION)]
    pub(super) resume: Option<Option<String>>,
    /// Go on with the session in this file, Osier's or pi's
    #[arg(long, value_name = "FILE", help_heading = SESSION)]
    pub(super) session: Option<String>,
    /// Begin with a copy of a session, up to its leaf or to ENTRY
    #[arg(long, value_name = "ID[@ENTRY]", help_heading = SESSION)]
    pub(super) fork: Option<String>,
    /// The store for a new session; a session that is there is found in all
    #[arg(long, value_name = "NAME", help_heading = SESSION)]
    pub(super) store: Option<String>,
    /// The agent that a new session belongs to, as `[agents.NAME]` of the settings describes it
    #[arg(long, value_name = "NAME", help_heading = SESSION)]
    pub(super) agent: Option<String>,
    /// Keep nothing
    #[arg(long, help_heading = SESSION)]
    pub(super) no_session: bool,
    /// Name the session
    #[arg(long, help_heading = SESSION)]
    pub(super) name: Option<String>,

    /// The model: PROVIDER/ID, or the end of its name; `osier models` lists them
    #[arg(long, help_heading = MODEL)]
    pub(super) model: Option<String>,
    /// How much the model thinks
    #[arg(long, value_name = "LEVEL", value_parser = levels(), help_heading = MODEL)]
    pub(super) thinking: Option<String>,
    /// The tools the model may use, with commas between them
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = MODEL)]
    pub(super) tools: Option<Vec<String>>,
    /// Give the model no tools
    #[arg(long, conflicts_with = "tools", help_heading = MODEL)]
    pub(super) no_tools: bool,
    /// What the model may do without asking: look; also change files (autoEdit); also run commands in a sandbox (sandbox); anything (yolo)
    #[arg(long, value_name = "MODE", value_parser = approvals(), help_heading = MODEL)]
    pub(super) approval: Option<String>,
    /// Say this to the model instead of Osier's own instructions
    #[arg(long, value_name = "TEXT", help_heading = MODEL)]
    pub(super) system_prompt: Option<String>,
    /// Say this to the model after all other instructions
    #[arg(long, value_name = "TEXT", help_heading = MODEL)]
    pub(super) append_system_prompt: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mode {
    Text,
    Json,
}

/// How a run shows itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Screen,
    Print(Mode),
}

fn levels() -> PossibleValuesParser {
    PossibleValuesParser::new(ThinkingLevel::ALL.map(ThinkingLevel::name))
}

fn approvals() -> PossibleValuesParser {
    PossibleValuesParser::new(osier_tools::Mode::ALL.map(osier_tools::Mode::name))
}

impl Args {
    pub(crate) fn said(&self) -> CliOverrides {
        CliOverrides { store: self.store.clone(), agent: self.agent.clone() }
    }

    /// Talking needs a person at both ends; anything else gets the answer and no more.
    pub(super) fn way(&self) -> Way {
        let person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        match self.mode {
            Some(mode) => Way::Print(mode),
            None if self.print || !person => Way::Print(Mode::Text),
            None => Way::Screen,
        }
    }

    /// Refuses what cannot be meant.
    pub(super) fn check(&self) -> Result<()> {
        let given = [
            (self.go_on, "--continue"),
            (self.resume.is_some(), "--resume"),
            (self.session.is_some(), "--session"),
            (self.fork.is_some(), "--fork"),
            (self.no_session, "--no-session"),
        ];
        let given: Vec<&str> = given.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        if given.len() > 1 {
            let all = given.join(" and ");
            return Err(usage_error(format!("{all} name different sessions; give one of them")));
        }
        if self.no_session && self.name.is_some() {
            return Err(usage_error(
                "--no-session keeps nothing, so there is nothing to name; leave out --name",
            ));
        }
        if self.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            return Err(usage_error("--name is empty; `osier sessions rename` takes a name away"));
        }
        Ok(())
    }
}
