//! Commands that hooks add: `/name arguments`, typed by the user or sent by a client as a prompt.

use std::sync::Arc;

use osier_protocol::Prompt;
use osier_session::Session;
use osier_tools::Toolbox;

use super::{HookContext, Hooks};
use crate::config::AgentModels;
use crate::worker::Worker;

/// A command that a hook adds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HookCommand {
    /// Without the slash.
    pub name: String,
    pub description: String,
}

/// A command as the user typed it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// Without the slash.
    pub name: String,
    /// Everything after the name.
    pub arguments: String,
}

impl CommandLine {
    pub fn parse(text: &str) -> Option<CommandLine> {
        let rest = text.strip_prefix('/')?;
        let (name, arguments) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let (name, arguments) = (name.to_owned(), arguments.trim().to_owned());
        (!name.is_empty()).then_some(CommandLine { name, arguments })
    }
}

/// What a hook did with a command.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CommandDecision {
    /// The hook has no such command.
    #[default]
    Unknown,
    Done,
    /// Send this text as the prompt.
    Prompt(String),
}

impl Hooks {
    /// See [`super::Hook::extend_tools`].
    pub fn extend_tools(&self, session: &Session, tools: Arc<dyn Toolbox>) -> Arc<dyn Toolbox> {
        self.iter().fold(tools, |tools, hook| hook.hook.extend_tools(session, tools))
    }

    /// See [`super::Hook::extend_models`].
    pub fn extend_models(&self, session: &Session, models: AgentModels) -> AgentModels {
        self.iter().fold(models, |models, hook| hook.hook.extend_models(session, models))
    }

    /// The commands of all hooks.
    pub fn commands(&self, session: &Session) -> Vec<HookCommand> {
        self.iter().flat_map(|hook| hook.hook.commands(session)).collect()
    }

    async fn run_command(&self, command: &CommandLine, ctx: &HookContext<'_>) -> CommandDecision {
        for hook in self.iter() {
            match hook.hook.run_command(command, ctx).await {
                CommandDecision::Unknown => {}
                decision => return decision,
            }
        }
        CommandDecision::Unknown
    }
}

impl Worker {
    /// Runs the command that a prompt names. Returns the prompt to send, if any.
    pub(super) async fn run_hook_command(&self, prompt: Prompt) -> Option<Prompt> {
        let (Some(hooks), None) = (self.agent.hooks(), &prompt.message) else { return Some(prompt) };
        let Some(command) = CommandLine::parse(&prompt.text) else { return Some(prompt) };
        let (leaf, cancel) = (self.agent.leaf_id(), self.agent.state().cancel_commands.clone());
        let ctx = self.agent.hook_context(leaf.as_ref(), &cancel);
        match hooks.run_command(&command, &ctx).await {
            CommandDecision::Unknown => Some(prompt),
            CommandDecision::Done => None,
            CommandDecision::Prompt(text) => Some(Prompt::text(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_has_a_name_and_arguments() {
        let line = |name: &str, arguments: &str| {
            Some(CommandLine { name: name.to_owned(), arguments: arguments.to_owned() })
        };
        assert_eq!(CommandLine::parse("/a"), line("a", ""));
        assert_eq!(CommandLine::parse("/a:1  b c\n"), line("a:1", "b c"));
        assert_eq!(CommandLine::parse("a"), None);
        assert_eq!(CommandLine::parse("/"), None);
    }
}
