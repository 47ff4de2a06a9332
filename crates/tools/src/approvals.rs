//! Decides whether a tool call may run or needs the user's approval. Pure: the input is the session's settings and the call's
//! preview, the output is a decision. Allowances belong to one session.
//!
//! A command may run if its exact text is allowed, or if it consists only of commands from allowed families. `families`
//! determines the families of a command line. `docs/approvals.md` describes the model.

mod family;
mod git_repository;
mod project;
mod shell_syntax;
#[cfg(test)]
mod tests;
mod word;

use std::fmt;

use serde_json::{Map, Value, json};

use crate::builtin::bash;
use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::port::{Change, Kind, Preview, ToolSpec};
use project::Project;

/// Which calls run without asking.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// Asks before anything that writes or runs.
    #[default]
    Default,
    /// Asks before anything that runs.
    AutoEdit,
    /// Like `AutoEdit`, but does not ask about commands that run in the sandbox.
    Sandbox,
    /// Never asks, and does not use the sandbox.
    Yolo,
}

impl Mode {
    pub const ALL: [Mode; 4] = [Mode::Default, Mode::AutoEdit, Mode::Sandbox, Mode::Yolo];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Default => "default",
            Mode::AutoEdit => "autoEdit",
            Mode::Sandbox => "sandbox",
            Mode::Yolo => "yolo",
        }
    }

    pub fn named(name: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// Something the user allowed for the rest of the session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowance {
    /// Every call of a tool that stays inside the project.
    Tool(String),
    /// This exact command. If the text is the name of a family, all commands of the family.
    Command(String),
    /// This exact command, also outside the sandbox.
    Outside(String),
}

/// The prefix of an allowance for a command outside the sandbox.
const OUTSIDE: &str = "outside:";

impl Allowance {
    /// Parses `edit`, `bash:git status` or `outside:make`. Any other text is a tool name; the tool need not exist.
    pub fn parse(text: &str) -> Allowance {
        if let Some(command) = text.strip_prefix(OUTSIDE) {
            return Allowance::Outside(command.to_owned());
        }
        match text.strip_prefix(bash::NAME).and_then(|rest| rest.strip_prefix(':')) {
            Some(command) if !command.is_empty() => Allowance::Command(command.to_owned()),
            _ => Allowance::Tool(text.to_owned()),
        }
    }

    /// Whether this allows all commands of a family.
    pub fn is_family(&self) -> bool {
        matches!(self, Allowance::Command(text) if family::names().any(|name| name == text))
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowance::Tool(name) => f.write_str(name),
            Allowance::Command(text) => write!(f, "{}:{text}", bash::NAME),
            Allowance::Outside(command) => write!(f, "{OUTSIDE}{command}"),
        }
    }
}

/// The approval settings of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
    pub mode: Mode,
    pub allowed: Vec<Allowance>,
    /// Whether the sandbox is active, so that `bash` commands run in it. Not stored.
    pub confined: bool,
}

/// Why the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    Writes,
    Runs,
    /// The call would change a file outside the project.
    Outside,
    /// The call would change a file that makes other programs run something, such as a git hook.
    Guarded,
    /// The command failed in the sandbox, and would now run outside of it.
    Sandbox,
}

impl Why {
    pub fn name(self) -> &'static str {
        match self {
            Why::Writes => "writes",
            Why::Runs => "runs",
            Why::Outside => "outside",
            Why::Guarded => "guarded",
            Why::Sandbox => "sandbox",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Allow,
    Ask {
        /// Exactly what would run or change.
        what: Change,
        why: Why,
        /// What the user can allow for the rest of the session, the narrowest first.
        offers: Vec<Allowance>,
    },
}

impl Approvals {
    /// Reads the settings of a session. An unknown mode becomes the strictest mode.
    pub fn from_settings(settings: &Map<String, Value>) -> Approvals {
        let mode = settings.get("approvalMode").and_then(Value::as_str).and_then(Mode::named);
        let tools = settings.get("approvalTools").and_then(Value::as_array);
        let allowed = tools.into_iter().flatten().filter_map(Value::as_str).map(Allowance::parse).collect();
        Approvals { mode: mode.unwrap_or_default(), allowed, confined: false }
    }

    /// The settings as stored in a `config` entry.
    pub fn to_settings(&self) -> Map<String, Value> {
        let tools: Vec<String> = self.allowed.iter().map(ToString::to_string).collect();
        let settings = json!({ "approvalMode": self.mode.name(), "approvalTools": tools });
        settings.as_object().cloned().unwrap_or_default()
    }

    /// Adds an allowance unless it exists.
    pub fn allow(&mut self, allowance: Allowance) {
        if !self.allowed.contains(&allowance) {
            self.allowed.push(allowance);
        }
    }

    pub fn decide(&self, tool: &ToolSpec, preview: &Preview) -> Decision {
        let Some(why) = self.objection(tool, preview) else { return Decision::Allow };
        let offers = match why {
            Why::Outside | Why::Guarded | Why::Sandbox => Vec::new(),
            Why::Writes | Why::Runs => self.offers(tool, preview),
        };
        Decision::Ask { what: preview.change.clone(), why, offers }
    }

    fn objection(&self, tool: &ToolSpec, preview: &Preview) -> Option<Why> {
        if self.mode == Mode::Yolo {
            return None;
        }
        let allowed = self.covers(tool, preview);
        match tool.kind {
            Kind::Reads | Kind::Neutral => None,
            Kind::Writes if preview.touches.outside() => Some(Why::Outside),
            Kind::Writes if preview.touches.guarded() => Some(Why::Guarded),
            Kind::Writes => (!allowed && self.mode == Mode::Default).then_some(Why::Writes),
            Kind::Runs if self.mode == Mode::Sandbox && self.confined && tool.name == bash::NAME => None,
            Kind::Runs => (!allowed).then_some(Why::Runs),
        }
    }

    fn covers(&self, tool: &ToolSpec, preview: &Preview) -> bool {
        let has = |allowance: &Allowance| self.allowed.contains(allowance);
        has(&Allowance::Tool(tool.name.clone()))
            || command_of(tool, preview).is_some_and(|command| {
                has(&Allowance::Command(command.to_owned()))
                    || has(&Allowance::Outside(command.to_owned()))
                    || !preview.families.is_empty() && self.missing_families(preview).is_empty()
            })
    }

    fn missing_families(&self, preview: &Preview) -> Vec<Allowance> {
        let families = preview.families.iter().map(|name| Allowance::Command((*name).to_owned()));
        families.filter(|family| !self.allowed.contains(family)).collect()
    }

    /// If exactly one family is missing, that family, otherwise the exact command; then the tool.
    fn offers(&self, tool: &ToolSpec, preview: &Preview) -> Vec<Allowance> {
        let narrow = command_of(tool, preview).map(|command| {
            let mut missing = self.missing_families(preview);
            let family = if missing.len() == 1 { missing.pop() } else { None };
            family.unwrap_or_else(|| Allowance::Command(command.to_owned()))
        });
        narrow.into_iter().chain([Allowance::Tool(tool.name.clone())]).collect()
    }

    /// Whether a command may run outside the sandbox without asking.
    pub fn outside(&self, change: &Change) -> bool {
        let is_allowed = |command: &String| self.allowed.contains(&Allowance::Outside(command.clone()));
        self.mode == Mode::Yolo || matches!(change, Change::Command { command } if is_allowed(command))
    }
}

fn command_of<'p>(tool: &ToolSpec, preview: &'p Preview) -> Option<&'p str> {
    match &preview.change {
        Change::Command { command } if tool.name == bash::NAME => Some(command),
        _ => None,
    }
}

/// The distinct families of all commands in a command line. Empty if a command belongs to no family.
pub(crate) fn families(command: &str, ctx: &ToolContext) -> Vec<&'static str> {
    let find = || -> Option<Vec<&'static str>> {
        let commands = shell_syntax::parse(command)?;
        let project = Project::of(ctx)?;
        commands.iter().map(|words| family::of(words, &project)).collect()
    };
    let mut families = find().unwrap_or_default();
    families.sort_unstable();
    families.dedup();
    families
}

/// The result that the model gets for a call that was not allowed.
///
/// The offline model recognizes this text as a failure: keep `looks_failed` in the `model` crate in step.
pub fn denied(reason: &str) -> ToolOutcome {
    let reason = reason.trim();
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let text = format!(
        "not allowed{because}\nNothing was run or changed. Do not look for a workaround: continue without it, or ask the \
         user what they want."
    );
    ToolOutcome::failed(text).with("denied", json!(true))
}
