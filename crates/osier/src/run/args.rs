//! The arguments of `osier [OPTIONS] [PROMPT]…`, and which of them cannot be combined.

use std::io::IsTerminal;
use std::path::PathBuf;

use anyhow::Result;
use clap::ValueEnum;
use clap::builder::PossibleValuesParser;
use osier_engine::KeepWhen;
use osier_extensions::ExtensionMode;
use osier_local_engine::LocalEngineOptions;
use osier_protocol::{ApprovalMode, ThinkingLevel};
use osier_settings::WorkspaceOptions;

use crate::extensions::ExtensionArgs;
use crate::extensions::flags::UnknownFlags;
use crate::failure::usage_error;
use crate::hints;
use crate::home::CliOverrides;

const SESSION_HEADING: &str = "Session";
const MODEL_HEADING: &str = "Model and tools";

// It has many fields because each is one option of the command line.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Args {
    /// The prompt. `@FILE` attaches a text or an image, `-` stands for standard input
    #[arg(value_name = "PROMPT")]
    pub(super) words: Vec<String>,
    /// Print the answer and exit
    #[arg(short, long)]
    pub(super) print: bool,
    /// Print only the answer, or every event as a line of JSON; or read commands from standard input (rpc)
    #[arg(long, value_enum, value_name = "MODE")]
    pub(super) mode: Option<OutputMode>,
    /// The protocol of `--mode rpc`: pi's commands and events, or the frames of Osier's own clients
    #[arg(long, value_enum, value_name = "NAME", default_value_t, hide_default_value = true)]
    pub(super) protocol: RpcProtocol,
    /// Use the sessions of a gateway, in the terminal interface; `--cwd` is a directory there
    #[arg(long, value_name = "URL")]
    pub(super) connect: Option<String>,
    /// The file with the token of the gateway; without it, OSIER_TOKEN or a question
    #[arg(long, value_name = "FILE", requires = "connect")]
    pub(super) token_file: Option<PathBuf>,
    /// Show progress on standard error even if it is not a terminal, and log more
    #[arg(long)]
    pub(super) verbose: bool,
    /// Work in this directory instead of the current one
    #[arg(long, value_name = "DIR")]
    pub(super) cwd: Option<PathBuf>,

    /// Continue the most recent session in this directory
    #[arg(short = 'c', long = "continue", help_heading = SESSION_HEADING)]
    pub(super) go_on: bool,
    /// Resume a session by the first characters of its id; without ID, choose from a list
    #[arg(short, long, value_name = "ID", num_args = 0..=1, help_heading = SESSION_HEADING)]
    pub(super) resume: Option<Option<String>>,
    /// Continue the session in this file, in Osier's or pi's format
    #[arg(long, value_name = "FILE", help_heading = SESSION_HEADING)]
    pub(super) session: Option<String>,
    /// Start with a copy of a session, up to its leaf or to ENTRY
    #[arg(long, value_name = "ID[@ENTRY]", help_heading = SESSION_HEADING)]
    pub(super) fork: Option<String>,
    /// The store for a new session; existing sessions are found in all stores
    #[arg(long, value_name = "NAME", help_heading = SESSION_HEADING)]
    pub(super) store: Option<String>,
    /// The agent that a new session belongs to, from `[agents.NAME]` in the settings
    #[arg(long, value_name = "NAME", help_heading = SESSION_HEADING)]
    pub(super) agent: Option<String>,
    /// Do not save the session
    #[arg(long, help_heading = SESSION_HEADING)]
    pub(super) no_session: bool,
    /// Set the name of the session
    #[arg(long, help_heading = SESSION_HEADING)]
    pub(super) name: Option<String>,

    /// The model: PROVIDER/ID, or the end of its name; `osier models` lists them
    #[arg(long, help_heading = MODEL_HEADING)]
    pub(super) model: Option<String>,
    /// The thinking level of the model
    #[arg(long, value_name = "LEVEL", value_parser = thinking_levels(), help_heading = MODEL_HEADING)]
    pub(super) thinking: Option<String>,
    /// The tools the model may use, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',', help_heading = MODEL_HEADING)]
    pub(super) tools: Option<Vec<String>>,
    /// Give the model no tools
    #[arg(long, conflicts_with = "tools", help_heading = MODEL_HEADING)]
    pub(super) no_tools: bool,
    /// What the model may do without asking: read (default), also change files (autoEdit), also run commands in a sandbox (sandbox), everything (yolo)
    #[arg(long, value_name = "MODE", value_parser = approval_modes(), help_heading = MODEL_HEADING)]
    pub(super) approval: Option<String>,
    /// Load an extension, a TypeScript or JavaScript file or a folder with one; can be repeated
    #[arg(short = 'e', long = "extension", value_name = "FILE", help_heading = MODEL_HEADING)]
    pub(super) extensions: Vec<PathBuf>,
    /// Load no extensions except those of --extension
    #[arg(long, help_heading = MODEL_HEADING)]
    pub(super) no_extensions: bool,
    /// Replace the built-in system prompt
    #[arg(long, value_name = "TEXT", help_heading = MODEL_HEADING)]
    pub(super) system_prompt: Option<String>,
    /// Append this text to the system prompt
    #[arg(long, value_name = "TEXT", help_heading = MODEL_HEADING)]
    pub(super) append_system_prompt: Option<String>,
    /// Options that only extensions may have.
    #[arg(skip)]
    pub(crate) flags: UnknownFlags,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum OutputMode {
    Text,
    Json,
    Rpc,
}

/// What `--mode rpc` speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum RpcProtocol {
    #[default]
    Pi,
    Osier,
}

/// The front end of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FrontEnd {
    Terminal,
    Print(OutputMode),
    Rpc,
}

fn thinking_levels() -> PossibleValuesParser {
    PossibleValuesParser::new(ThinkingLevel::ALL.map(ThinkingLevel::name))
}

fn approval_modes() -> PossibleValuesParser {
    PossibleValuesParser::new(ApprovalMode::ALL.map(ApprovalMode::name))
}

impl Args {
    pub(super) fn workspace_options(&self) -> WorkspaceOptions {
        WorkspaceOptions {
            tools: self.tools.clone(),
            no_tools: self.no_tools,
            system_prompt: self.system_prompt.clone(),
            append_system_prompt: self.append_system_prompt.clone(),
            unattended_hints: hints::unattended_hints(),
        }
    }

    /// How the engine of this process runs agents.
    pub(super) fn engine_options(&self, has_user: bool) -> LocalEngineOptions {
        LocalEngineOptions {
            model: self.model.clone(),
            thinking: self.thinking.as_deref().and_then(ThinkingLevel::parse),
            approval: self.approval.as_deref().and_then(ApprovalMode::from_name),
            workspace: self.workspace_options(),
            has_user,
            keep: if self.no_session { KeepWhen::Never } else { KeepWhen::Used },
            stays_in_directory: self.cwd.is_some(),
            ..LocalEngineOptions::default()
        }
    }

    pub(super) fn extension_args(&self) -> ExtensionArgs {
        ExtensionArgs { extensions: self.extensions.clone(), no_extensions: self.no_extensions }
    }

    /// What `ctx.mode` says to extensions.
    pub(super) fn extension_mode(&self) -> ExtensionMode {
        match self.front_end() {
            FrontEnd::Terminal => ExtensionMode::Terminal,
            FrontEnd::Rpc => ExtensionMode::Rpc,
            FrontEnd::Print(OutputMode::Json) => ExtensionMode::Json,
            FrontEnd::Print(_) => ExtensionMode::Print,
        }
    }

    /// The options that choose a session, as far as they are given.
    pub(super) fn session_options(&self) -> Vec<&'static str> {
        let given = [
            (self.go_on, "--continue"),
            (self.resume.is_some(), "--resume"),
            (self.session.is_some(), "--session"),
            (self.fork.is_some(), "--fork"),
            (self.no_session, "--no-session"),
        ];
        given.into_iter().filter(|(is, _)| *is).map(|(_, name)| name).collect()
    }

    /// The directory of `--cwd`, if it is on another machine.
    pub(super) fn remote_directory(&self) -> Option<String> {
        self.connect.as_ref().and(self.cwd.as_ref()).map(|cwd| cwd.to_string_lossy().into_owned())
    }

    pub(crate) fn verbose(&self) -> bool {
        self.verbose
    }

    pub(crate) fn overrides(&self) -> CliOverrides {
        // The stores and agents of a gateway are those of its own settings.
        if self.connect.is_some() {
            return CliOverrides::default();
        }
        CliOverrides { store: self.store.clone(), agent: self.agent.clone() }
    }

    /// The terminal interface needs a terminal for both input and output; otherwise only the answer is printed.
    pub(super) fn front_end(&self) -> FrontEnd {
        let person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        match self.mode {
            Some(OutputMode::Rpc) => FrontEnd::Rpc,
            Some(mode) => FrontEnd::Print(mode),
            None if self.print || !person => FrontEnd::Print(OutputMode::Text),
            None => FrontEnd::Terminal,
        }
    }

    /// Rejects options that cannot be combined.
    pub(super) fn check(&self) -> Result<()> {
        let given = self.session_options();
        if given.len() > 1 {
            let all = given.join(" and ");
            return Err(usage_error(format!("{all} cannot be combined; use only one of them")));
        }
        if self.connect.is_some() && self.front_end() != FrontEnd::Terminal {
            return Err(usage_error(
                "--connect needs a terminal, and cannot be combined with --print or --mode",
            ));
        }
        if self.protocol != RpcProtocol::default() && self.mode != Some(OutputMode::Rpc) {
            return Err(usage_error("--protocol needs --mode rpc"));
        }
        if self.no_session && self.name.is_some() {
            return Err(usage_error("--name cannot be combined with --no-session: the session is not saved"));
        }
        if self.name.as_ref().is_some_and(|name| name.trim().is_empty()) {
            return Err(usage_error("--name is empty; `osier sessions rename` can clear a name"));
        }
        Ok(())
    }
}
