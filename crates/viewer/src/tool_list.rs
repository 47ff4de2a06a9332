//! The tools that a model may call, as a system prompt in the log describes them.

use maud::{Markup, PreEscaped, html};
use osier_tree::entry::{Entry, MessageRole};
use osier_tree::scan::RawJson;
use serde_json::Value;

use crate::output::code_block;
use crate::text::{beginning, escaped, escaped_line};

/// The longest name and description that are shown, in bytes.
const MAX_NAME: usize = 100;
const MAX_DESCRIPTION: usize = 8_000;

/// What a system message says about tools: those that it adds, and those that it takes away.
pub(crate) fn tool_list(entry: &Entry<'_>) -> Markup {
    if entry.role != MessageRole::System {
        return html! {};
    }
    let [added, removed] = ["toolsAdded", "toolsRemoved"].map(|field| tools(entry, field));
    let names: Vec<&str> = removed.iter().map(|tool| text(tool, "name")).collect();
    html! {
        @if !added.is_empty() {
            details.output.tool-list {
                summary { "Tools" span.amount { (added.len()) } }
                @for tool in &added { (tool_description(tool)) }
            }
        }
        @if !names.is_empty() {
            p.notice { "No longer available: " (PreEscaped(escaped_line(beginning(&names.join(", "), MAX_DESCRIPTION)))) }
        }
    }
}

fn tools(entry: &Entry<'_>, field: &str) -> Vec<Value> {
    let list = entry.get("message").and_then(|message| message.get(field));
    let mut tools = Vec::new();
    if let Some(list) = list.filter(|list| list.is_array()) {
        list.each_item(|tool: RawJson<'_>| tools.extend(serde_json::from_slice(tool.bytes()).ok()));
    }
    tools
}

fn text<'a>(tool: &'a Value, key: &str) -> &'a str {
    tool.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn tool_description(tool: &Value) -> Markup {
    let parameters = tool.get("parameters").filter(|parameters| !parameters.is_null());
    let parameters = parameters.and_then(|parameters| serde_json::to_string_pretty(parameters).ok());
    html! {
        section.described-tool {
            p { span.tool { (PreEscaped(escaped_line(beginning(text(tool, "name"), MAX_NAME)))) } }
            p.description { (PreEscaped(escaped(beginning(text(tool, "description").trim(), MAX_DESCRIPTION)))) }
            @if let Some(parameters) = &parameters {
                details.parameters { summary { "Parameters" } figure.code { (code_block(parameters, "json")) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entry::render_line;

    #[test]
    fn a_system_prompt_shows_its_tools() {
        let line = br#"{"type":"message","id":"1","parentId":null,"message":{"role":"system","content":"You are","toolsAdded":[
            {"name":"read","description":"Reads a <file>","parameters":{"type":"object"}},{"name":"ls"}, 7],"toolsRemoved":[{"name":"bash"}]}}"#;
        let html = render_line(line).unwrap();
        for part in ["Tools", "read", "Reads a &lt;file&gt;", "Parameters", "No longer available: bash"] {
            assert!(html.contains(part), "{part}: {html}");
        }
        assert_eq!(html.matches("<details class=\"parameters\"").count(), 1, "ls has none");
    }

    #[test]
    fn other_messages_have_no_tools() {
        let line = br#"{"type":"message","id":"1","parentId":null,"message":{"role":"user","content":"a","toolsAdded":[{"name":"read"}]}}"#;
        assert!(!render_line(line).unwrap().contains("tool-list"));
    }
}
