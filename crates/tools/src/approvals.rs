//! Decides whether a tool call may run or needs the user's approval. Pure: the input is the session's settings and the call's
//! preview, the output is a decision. Allowances belong to one session.
//!
//! A command may run if its exact text is allowed, or if it consists only of commands from allowed families. `families`
//! determines the families of a command line. `docs/approvals.md` describes the model.

mod family;
mod git_repository;
mod scope;
mod shell_syntax;
#[cfg(test)]
mod tests;
mod word;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::builtin::bash;
use crate::context::ToolContext;
use crate::outcome::ToolOutcome;
use crate::tool::{Preview, ProposedChange, ToolKind, ToolSpec};
use scope::CommandScope;

/// Which calls run without asking, the strictest mode first.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalMode {
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

impl ApprovalMode {
    pub const ALL: [ApprovalMode; 4] =
        [ApprovalMode::Default, ApprovalMode::AutoEdit, ApprovalMode::Sandbox, ApprovalMode::Yolo];

    pub fn name(self) -> &'static str {
        match self {
            ApprovalMode::Default => "default",
            ApprovalMode::AutoEdit => "autoEdit",
            ApprovalMode::Sandbox => "sandbox",
            ApprovalMode::Yolo => "yolo",
        }
    }

    pub fn from_name(name: &str) -> Option<ApprovalMode> {
        ApprovalMode::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

/// Something the user allowed for the rest of the session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Allowance {
    /// Every call of a tool that stays inside the project.
    Tool(String),
    /// This exact command. If the text is the name of a family, all commands of the family.
    Command(String),
    /// This exact command, also outside the sandbox.
    Outside(String),
}

/// The prefix of an allowance for a command outside the sandbox.
const OUTSIDE_PREFIX: &str = "outside:";

impl Allowance {
    /// Parses `edit`, `bash:git status` or `outside:make`. Any other text is a tool name; the tool need not exist.
    pub fn parse(text: &str) -> Allowance {
        if let Some(command) = text.strip_prefix(OUTSIDE_PREFIX) {
            return Allowance::Outside(command.to_owned());
        }
        match text.strip_prefix(bash::NAME).and_then(|rest| rest.strip_prefix(':')) {
            Some(command) if !command.is_empty() => Allowance::Command(command.to_owned()),
            _ => Allowance::Tool(text.to_owned()),
        }
    }

    /// Whether this allows all commands of a family.
    pub fn is_family(&self) -> bool {
        matches!(self, Allowance::Command(text) if is_family_name(text))
    }
}

impl From<String> for Allowance {
    fn from(text: String) -> Allowance {
        Allowance::parse(&text)
    }
}

impl From<Allowance> for String {
    fn from(allowance: Allowance) -> String {
        allowance.to_string()
    }
}

impl fmt::Display for Allowance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Allowance::Tool(name) => f.write_str(name),
            Allowance::Command(text) => write!(f, "{}:{text}", bash::NAME),
            Allowance::Outside(command) => write!(f, "{OUTSIDE_PREFIX}{command}"),
        }
    }
}

/// The approval settings of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Approvals {
    pub mode: ApprovalMode,
    pub allowed: Vec<Allowance>,
    /// Whether the sandbox is active, so that `bash` commands run in it. Not stored.
    pub sandboxed: bool,
}

/// Why the user is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum AskReason {
    Writes,
    Runs,
    /// The call would change a file outside the project.
    Outside,
    /// The call would change a file that makes other programs run something, such as a git hook.
    Guarded,
    /// The command failed in the sandbox, and would now run outside of it.
    Sandbox,
}

impl AskReason {
    pub fn name(self) -> &'static str {
        match self {
            AskReason::Writes => "writes",
            AskReason::Runs => "runs",
            AskReason::Outside => "outside",
            AskReason::Guarded => "guarded",
            AskReason::Sandbox => "sandbox",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    Allow,
    Ask {
        /// Exactly what would run or change.
        change: ProposedChange,
        reason: AskReason,
        /// What the user can allow for the rest of the session, the narrowest first.
        offers: Vec<Allowance>,
    },
}

impl Approvals {
    /// Reads the settings of a session. An unknown mode becomes the strictest mode.
    pub fn from_settings(settings: &Map<String, Value>) -> Approvals {
        let mode = settings.get("approvalMode").and_then(Value::as_str).and_then(ApprovalMode::from_name);
        let tools = settings.get("approvalTools").and_then(Value::as_array);
        let allowed = tools.into_iter().flatten().filter_map(Value::as_str).map(Allowance::parse).collect();
        Approvals { mode: mode.unwrap_or_default(), allowed, sandboxed: false }
    }

    /// Forgets what allows commands without a question.
    pub fn forget_commands(&mut self) {
        self.allowed.retain(|allowance| match allowance {
            Allowance::Command(_) | Allowance::Outside(_) => false,
            Allowance::Tool(name) => name != bash::NAME,
        });
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
        let Some(reason) = self.ask_reason(tool, preview) else { return Decision::Allow };
        let offers = match reason {
            AskReason::Outside | AskReason::Guarded | AskReason::Sandbox => Vec::new(),
            AskReason::Writes | AskReason::Runs => self.offers(tool, preview),
        };
        Decision::Ask { change: preview.change.clone(), reason, offers }
    }

    fn ask_reason(&self, tool: &ToolSpec, preview: &Preview) -> Option<AskReason> {
        if self.mode == ApprovalMode::Yolo {
            return None;
        }
        let allowed = self.is_allowed(tool, preview);
        match tool.kind {
            ToolKind::Reads | ToolKind::Neutral | ToolKind::Delegates => None,
            ToolKind::Writes if preview.touches.any_outside() => Some(AskReason::Outside),
            ToolKind::Writes if preview.touches.any_guarded() => Some(AskReason::Guarded),
            ToolKind::Writes => (!allowed && self.mode == ApprovalMode::Default).then_some(AskReason::Writes),
            ToolKind::Runs
                if self.mode == ApprovalMode::Sandbox && self.sandboxed && tool.name == bash::NAME =>
            {
                None
            }
            ToolKind::Runs => (!allowed).then_some(AskReason::Runs),
        }
    }

    fn is_allowed(&self, tool: &ToolSpec, preview: &Preview) -> bool {
        let has = |allowance: &Allowance| self.allowed.contains(allowance);
        // All commands can be allowed at once only inside the sandbox.
        let is_limited = self.sandboxed || tool.name != bash::NAME;
        is_limited && has(&Allowance::Tool(tool.name.clone()))
            || bash_command(tool, preview).is_some_and(|command| {
                // The name of a family is no exact command: where the family does not apply, such as in a repository that
                // names programs in its settings, it allows nothing.
                !is_family_name(command) && has(&Allowance::Command(command.to_owned()))
                    || has(&Allowance::Outside(command.to_owned()))
                    || !preview.families.is_empty() && self.missing_families(preview).is_empty()
            })
    }

    fn missing_families(&self, preview: &Preview) -> Vec<Allowance> {
        let families = preview.families.iter().map(|name| Allowance::Command((*name).to_owned()));
        families.filter(|family| !self.allowed.contains(family)).collect()
    }

    /// For a command: the missing family if there is exactly one, otherwise the exact command, unless its text is the name of a
    /// family. Inside the sandbox also all
    /// commands, and this command outside, so that a command that needs the network asks only once. For other tools: the
    /// tool.
    fn offers(&self, tool: &ToolSpec, preview: &Preview) -> Vec<Allowance> {
        let whole_tool = Allowance::Tool(tool.name.clone());
        let Some(command) = bash_command(tool, preview) else { return vec![whole_tool] };
        let mut missing = self.missing_families(preview);
        let family = if missing.len() == 1 { missing.pop() } else { None };
        let exact = || (!is_family_name(command)).then(|| Allowance::Command(command.to_owned()));
        let mut offers: Vec<Allowance> = family.or_else(exact).into_iter().collect();
        if self.sandboxed {
            offers.extend([whole_tool, Allowance::Outside(command.to_owned())]);
        }
        offers
    }

    /// Whether a command may run outside the sandbox without asking.
    pub fn may_run_outside_sandbox(&self, change: &ProposedChange) -> bool {
        let is_allowed = |command: &String| self.allowed.contains(&Allowance::Outside(command.clone()));
        self.mode == ApprovalMode::Yolo
            || matches!(change, ProposedChange::Command { command } if is_allowed(command))
    }
}

fn is_family_name(text: &str) -> bool {
    family::names().any(|name| name == text)
}

fn bash_command<'p>(tool: &ToolSpec, preview: &'p Preview) -> Option<&'p str> {
    match &preview.change {
        ProposedChange::Command { command } if tool.name == bash::NAME => Some(command),
        _ => None,
    }
}

/// The distinct families of all commands in a command line. Empty if a command belongs to no family.
pub(crate) fn families(command: &str, ctx: &ToolContext) -> Vec<&'static str> {
    let find = || -> Option<Vec<&'static str>> {
        let commands = shell_syntax::parse(command)?;
        let project = CommandScope::new(ctx)?;
        commands.iter().map(|words| family::family_of(words, &project)).collect()
    };
    let mut families = find().unwrap_or_default();
    families.sort_unstable();
    families.dedup();
    families
}

/// The result that the model gets for a call that was not allowed.
///
/// The offline model recognizes this text as a failure: keep `looks_failed` in the `offline` crate in step.
pub fn denied_outcome(reason: &str) -> ToolOutcome {
    let reason = reason.trim();
    let because = if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let text = format!(
        "not allowed{because}\nNothing was run or changed. Do not look for a workaround: continue without it, or ask the \
         user what they want."
    );
    ToolOutcome::failed(text).with_detail("denied", json!(true))
}
