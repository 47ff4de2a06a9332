//! Turns a step into a tool call, with argument names from the tool's schema.

use osier_model::ToolSpec;
use serde_json::{Map, Value, json};

use super::intent::RequestedStep;

/// Runs the project's tests, for common languages and build tools.
const TEST_COMMAND: &str = "if [ -f Cargo.toml ]; then cargo test; elif [ -f package.json ]; then npm test; \
    elif [ -f go.mod ]; then go test ./...; elif [ -f Makefile ]; then make test; else python3 -m pytest; fi";

/// The tool and arguments for a step. The error is the name of a missing tool.
pub(super) fn tool_call(
    step: &RequestedStep,
    tools: &[ToolSpec],
) -> Result<(String, Map<String, Value>), &'static str> {
    let name = match step {
        RequestedStep::Read { .. } => "read",
        RequestedStep::List { .. } => "ls",
        RequestedStep::Search { .. } => "grep",
        RequestedStep::Find { .. } => "find",
        RequestedStep::Run { .. } | RequestedStep::Tests => "bash",
        RequestedStep::Write { .. } => "write",
        RequestedStep::Replace { .. } => "edit",
        RequestedStep::Delegate { .. } => "task",
    };
    let tool = tools.iter().find(|tool| tool.name == name).ok_or(name)?;
    let mut arguments = Map::new();
    let mut set = |keys: &[&str], value: Value| {
        arguments.insert(property(tool, keys).unwrap_or(keys[0]).to_owned(), value);
    };
    match step {
        RequestedStep::Read { path, lines } => {
            set(&["path", "file_path", "file"], json!(path));
            if let Some((from, to)) = lines {
                set(&["offset"], json!(from));
                set(&["limit"], json!(to - from + 1));
            }
        }
        RequestedStep::List { path } => {
            if let Some(path) = path {
                set(&["path", "directory"], json!(path));
            }
        }
        RequestedStep::Search { word, path } => {
            set(&["pattern", "query"], json!(word));
            if let Some(path) = path {
                set(&["path", "directory"], json!(path));
            }
            if property(tool, &["literal"]).is_some() {
                set(&["literal"], json!(true));
            }
        }
        RequestedStep::Find { pattern } => set(&["pattern", "glob"], json!(pattern)),
        RequestedStep::Run { command } => set(&["command", "cmd"], json!(command)),
        RequestedStep::Tests => set(&["command", "cmd"], json!(TEST_COMMAND)),
        RequestedStep::Write { path, content } => {
            set(&["path", "file_path", "file"], json!(path));
            set(&["content", "text"], json!(with_line_end(content)));
        }
        RequestedStep::Replace { path, old, new } => {
            let is_snake = tool.parameters.to_string().contains("\"old_text\"");
            let (old_key, new_key) = if is_snake { ("old_text", "new_text") } else { ("oldText", "newText") };
            set(&["path", "file_path", "file"], json!(path));
            set(&["edits"], json!([{ old_key: old, new_key: new }]));
        }
        RequestedStep::Delegate { tasks } => {
            let task = |prompt: &String| json!({ "prompt": prompt, "description": prompt });
            set(&["tasks"], tasks.iter().map(task).collect());
        }
    }
    Ok((name.to_owned(), arguments))
}

/// The first of these names that is a parameter of the tool.
fn property<'a>(tool: &ToolSpec, keys: &[&'a str]) -> Option<&'a str> {
    keys.iter().copied().find(|key| tool.parameters["properties"].get(key).is_some())
}

/// Adds the newline at the end of a text file.
fn with_line_end(content: &str) -> String {
    if content.is_empty() || content.ends_with('\n') { content.to_owned() } else { format!("{content}\n") }
}
