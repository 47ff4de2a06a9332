//! `osier agents`: lists the agents that a model can delegate tasks to.

use std::process::ExitCode;

use anyhow::Result;
use osier_engine::AgentDefinition;

use osier_settings::names::agent_problems;

use crate::home::Home;
use crate::layout::{pad_right, sanitize_line, width};
use crate::output_writer::{OutputWriter, TextStyle, notice};
use crate::trust;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  osier agents
  osier agents --json | jq -r '.[].name'

An agent is a Markdown file in $OSIER_HOME/agents, or in .osier/agents or .claude/agents of a trusted project.
Prints the name, the tools, the model and the file of each agent, and when a model should use it.")]
pub(crate) struct Args {
    /// Print as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, home: &Home) -> Result<ExitCode> {
    trust::print_untrusted(home);
    let (agents, problems) = home.agent_library().find_all();
    for problem in problems {
        let path = home.display_path(&problem.path);
        notice(&sanitize_line(&format!("osier: {path}: {}", problem.message)));
    }
    for agent in &agents {
        for problem in agent_problems(agent, home) {
            let path =
                agent.path.as_deref().map_or_else(|| agent.name.clone(), |path| home.display_path(path));
            notice(&sanitize_line(&format!("osier: {path}: {problem}")));
        }
    }
    let mut out = OutputWriter::new();
    if args.json {
        out.json(&agents)?;
        return out.finish();
    }
    let longest = agents.iter().map(|agent| width(&agent.name)).max().unwrap_or(0);
    for agent in &agents {
        out.line(&format!("{}  {}", pad_right(&agent.name, longest), sanitize_line(&agent.description)))?;
        let indent = " ".repeat(longest + 2);
        out.line(&out.paint(TextStyle::Dim, &format!("{indent}{}", facts(agent, home))))?;
    }
    out.finish()
}

fn facts(agent: &AgentDefinition, home: &Home) -> String {
    let tools = agent.tools.as_ref().map_or_else(|| "all tools".to_owned(), |tools| tools.join(" "));
    let model = agent.model.clone().unwrap_or_else(|| "the current model".to_owned());
    let source = agent.path.as_ref().map_or_else(|| "built in".to_owned(), |path| home.display_path(path));
    sanitize_line(&format!("{tools} · {model} · {source}"))
}
