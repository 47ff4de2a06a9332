//! What an editor completes: commands, agents and files.

use osier_agent::{AgentDefinition, Worker};
use osier_protocol::query::{AgentDescription, CommandSource, PromptCommand};

/// The commands of extensions, templates and skills. Reads the folders of the latter.
pub(super) async fn commands(worker: &Worker) -> Vec<PromptCommand> {
    let library = worker.config().prompt_library.clone();
    let found = tokio::task::spawn_blocking(move || library.find_all()).await;
    let (templates, skills, _) = found.unwrap_or_default();
    let extensions = worker.config().hooks.commands(worker.session()).into_iter();
    let extensions = extensions.map(|found| command(found.name, found.description, CommandSource::Extension));
    let templates =
        templates.into_iter().map(|found| command(found.name, found.description, CommandSource::Prompt));
    let skills = skills
        .into_iter()
        .map(|skill| command(format!("skill:{}", skill.name), skill.description, CommandSource::Skill));
    extensions.chain(templates).chain(skills).collect()
}

fn command(name: String, description: String, source: CommandSource) -> PromptCommand {
    PromptCommand { name, description, source }
}

/// The agents that the model can delegate tasks to. Reads their folders.
pub(super) async fn agents(worker: &Worker) -> Vec<AgentDescription> {
    let Some(library) = worker.config().agent_library.clone() else { return Vec::new() };
    let (agents, _) = tokio::task::spawn_blocking(move || library.find_all()).await.unwrap_or_default();
    let describe = |agent: AgentDefinition| AgentDescription {
        name: agent.name,
        description: agent.description,
        tools: agent.tools,
        model: agent.model,
        file: agent.path.map(|path| path.display().to_string()),
    };
    agents.into_iter().map(describe).collect()
}

/// The files below the working directory, without those that version control ignores.
pub(super) async fn files(worker: &Worker, limit: usize) -> Vec<String> {
    let folder = worker.config().tool_context.cwd.clone();
    let walk = move || {
        let files = osier_tools::unignored_files(&folder);
        let names = files.filter_map(|entry| {
            entry.path().strip_prefix(&folder).ok().map(|path| path.display().to_string())
        });
        names.take(limit).collect()
    };
    tokio::task::spawn_blocking(walk).await.unwrap_or_default()
}
