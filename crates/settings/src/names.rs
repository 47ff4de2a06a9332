//! Checks the names of tools, models and themes in settings and options, and suggests similar ones.

use osier_engine::AgentDefinition;
use osier_tools::{ToolSet, Toolbox};
use osier_tree::projection::preview::sanitize_line;
use toml_edit::Value;

use crate::error::SettingsError;
use crate::home::Home;
use crate::settings::table::closest_name;
use crate::themes;

/// The tool that backtracks to a checkpoint; the agent implements it.
pub const BACKTRACK: &str = "backtrack";

/// The tool that delegates tasks to other agents; the engine implements it.
pub const TASK: &str = osier_engine::TASK_TOOL;

/// The error message for unknown tools.
pub fn unknown_tool(unknown: &[String]) -> String {
    let known = tool_names();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let near = unknown.iter().find_map(|word| closest_name(word, &known));
    let meant = near.map_or_else(|| "the".to_owned(), |near| format!("did you mean {near}? The"));
    format!("no tool {}; {meant} tools are {}", sanitize_line(&unknown.join(", ")), known.join(", "))
}

/// What an agent names that does not exist, or that it cannot use.
pub fn agent_problems(agent: &AgentDefinition, home: &Home) -> Vec<String> {
    let known = tool_names();
    let known: Vec<&str> = known.iter().map(String::as_str).collect();
    let unknown = agent.tools.iter().flatten().filter(|tool| !known.contains(&tool.as_str()));
    let tools = unknown.map(|tool| {
        let near = closest_name(tool, &known).map(|near| format!("did you mean {near}? "));
        format!("no tool {tool} is built in; {}only an extension can add it", near.unwrap_or_default())
    });
    let model = agent.model.as_ref().and_then(|model| {
        let problem = home.model_catalog().usable_model(model).err()?;
        Some(format!("cannot use the model {model}: {problem}"))
    });
    tools.chain(model).collect()
}

fn tool_names() -> Vec<String> {
    let names = ToolSet::standard().specs().into_iter().map(|spec| spec.name);
    names.chain([BACKTRACK.to_owned(), TASK.to_owned()]).collect()
}

/// Rejects a value that names an unknown tool, model or theme.
pub(crate) fn check_names(key: &str, value: &Value, home: &Home) -> Result<(), SettingsError> {
    match key {
        "tools" => {
            let known = tool_names();
            let named = value.as_array().into_iter().flatten().filter_map(Value::as_str);
            let unknown: Vec<String> =
                named.filter(|name| !known.iter().any(|tool| tool == name)).map(str::to_owned).collect();
            if unknown.is_empty() { Ok(()) } else { Err(SettingsError::Usage(unknown_tool(&unknown))) }
        }
        "model" | "summary_model" => {
            let found = value.as_str().map(|name| home.registry().find(name)).transpose();
            Ok(found.map(drop)?)
        }
        "theme" => {
            let name = value.as_str().unwrap_or_default();
            match themes::read_theme(name, home) {
                Err(problem) if name != themes::AUTO => Err(SettingsError::Usage(sanitize_line(&problem))),
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}
