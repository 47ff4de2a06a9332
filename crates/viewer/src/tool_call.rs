//! Calls of tools: the tool, its arguments in one line, and what it would do.

use maud::{Markup, PreEscaped, html};
use osier_highlight::Language;
use osier_protocol::entry_view::ToolCallView;
use serde_json::Value;

use crate::diff::replacement;
use crate::output::{code_block, highlighted};
use crate::text::{beginning, escaped_line};

/// The longest summary, and the longest arguments that are open at first, in bytes.
const MAX_SUMMARY: usize = 300;
const MAX_OPEN: usize = 400;

pub(crate) fn tool_call(call: &ToolCallView) -> Markup {
    html! {
        div.call.delegation[call.name == "task"] data-call=(call.id) {
            div.call-title { span.tool { (PreEscaped(escaped_line(beginning(&call.name, 100)))) } " " (title(call)) }
            (arguments(call))
        }
    }
}

fn argument<'a>(call: &'a ToolCallView, key: &str) -> Option<&'a str> {
    call.arguments.get(key).and_then(Value::as_str)
}

fn title(call: &ToolCallView) -> Markup {
    let is_short = |command: &&str| !command.trim_end().contains('\n') && command.len() <= MAX_SUMMARY;
    match argument(call, "command").filter(|_| call.name == "bash").filter(is_short) {
        Some(command) => html! { code.command { (PreEscaped(highlighted(command.trim_end(), "bash"))) } },
        None if call.name == "todo" => html! {},
        None if call.name == "bash" => html! {},
        None if call.name == "task" => {
            html! { span.summary { (PreEscaped(escaped_line(beginning(&tasks(call), MAX_SUMMARY)))) } }
        }
        None => {
            let summary = call.summary(None);
            html! { span.summary { (PreEscaped(escaped_line(beginning(&summary, MAX_SUMMARY)))) } }
        }
    }
}

/// What the call would do, as far as the title does not tell.
fn arguments(call: &ToolCallView) -> Markup {
    let text = |key| argument(call, key);
    match (call.name.as_str(), text("command"), text("content")) {
        ("bash", Some(command), _) if command.trim_end().contains('\n') || command.len() > MAX_SUMMARY => {
            html! { figure.code { (code_block(command, "bash")) } }
        }
        ("bash", Some(_), _) | ("read" | "grep" | "find" | "ls" | "todo", ..) => html! {},
        ("write", _, Some(content)) => folded(
            html! { figure.code { (code_block(content, Language::name_of_file(text("path").unwrap_or_default()))) } },
            content.len() <= MAX_OPEN,
        ),
        ("edit", ..) => edits(call),
        // Closed, because the batch of sub-agents shows its tasks.
        ("task", ..) => {
            folded(json_block(&serde_json::to_string_pretty(&call.arguments).unwrap_or_default()), false)
        }
        _ => other_arguments(&call.arguments),
    }
}

fn edits(call: &ToolCallView) -> Markup {
    let list = call.arguments.get("edits").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    // Other programs give one replacement without a list.
    let all = if list.is_empty() { std::slice::from_ref(&call.arguments) } else { list };
    let text = |edit: &Value, keys: [&str; 2]| {
        keys.iter().find_map(|key| edit.get(*key).and_then(Value::as_str)).unwrap_or_default().to_owned()
    };
    let pairs =
        all.iter().map(|edit| (text(edit, ["oldText", "old_string"]), text(edit, ["newText", "new_string"])));
    let pairs: Vec<(String, String)> =
        pairs.filter(|(old, new)| !(old.is_empty() && new.is_empty())).collect();
    match pairs.is_empty() {
        true => other_arguments(&call.arguments),
        // Closed, because the result shows the same as a diff.
        false => folded(html! { @for (old, new) in &pairs { (replacement(old, new)) } }, false),
    }
}

fn other_arguments(arguments: &Value) -> Markup {
    let is_empty = match arguments {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    };
    if is_empty {
        return html! {};
    }
    let json = serde_json::to_string_pretty(arguments).unwrap_or_default();
    folded(json_block(&json), json.len() <= MAX_OPEN)
}

fn json_block(json: &str) -> Markup {
    html! { figure.code { (code_block(json, "json")) } }
}

/// The descriptions of the tasks of a call, or their prompts.
fn tasks(call: &ToolCallView) -> String {
    let list = call.arguments.get("tasks").and_then(Value::as_array).map(Vec::as_slice);
    let all = list.unwrap_or(std::slice::from_ref(&call.arguments));
    let name = |task: &Value| {
        ["description", "prompt"].iter().find_map(|key| task.get(*key)?.as_str().map(str::to_owned))
    };
    all.iter().filter_map(name).collect::<Vec<_>>().join(" · ")
}

fn folded(content: Markup, is_open: bool) -> Markup {
    html! {
        details.arguments open[is_open] { summary { "Arguments" } (content) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draw(name: &str, arguments: Value) -> String {
        tool_call(&ToolCallView { id: "c1".to_owned(), name: name.to_owned(), arguments }).into_string()
    }

    #[test]
    fn a_command_is_highlighted_in_the_title() {
        let markup = draw("bash", json!({ "command": "if true; then ls; fi" }));
        assert!(markup.contains("<code class=\"command\"><span class=\"t-keyword\">if</span>"), "{markup}");
        assert!(draw("bash", json!({ "command": "a\nb" })).contains("<figure class=\"code\">"));
    }

    #[test]
    fn an_edit_shows_old_and_new_lines() {
        for arguments in [
            json!({ "path": "a", "edits": [{ "oldText": "x", "newText": "y" }] }),
            json!({ "old_string": "x", "new_string": "y" }),
        ] {
            let markup = draw("edit", arguments);
            assert!(markup.contains("class=\"removed\"") && markup.contains("class=\"added\""), "{markup}");
        }
    }

    #[test]
    fn a_written_file_is_highlighted_by_its_name() {
        assert!(draw("write", json!({ "path": "src/a.rs", "content": "fn a()" })).contains("t-keyword"));
    }

    #[test]
    fn a_delegation_names_its_tasks() {
        let task = json!({ "prompt": "Count all files", "description": "Count <files>" });
        let markup = draw("task", json!({ "tasks": [task, { "prompt": "Read main.rs" }] }));
        assert!(
            markup.contains("Count &lt;files&gt; · Read main.rs") && !markup.contains(" open"),
            "{markup}"
        );
    }

    #[test]
    fn names_and_arguments_are_escaped() {
        let markup = draw("<b>\u{202e}", json!({ "<script>": "</script>" }));
        assert!(!markup.contains("<b>") && !markup.contains("<script"), "{markup}");
        assert!(markup.contains("U+202E"));
    }
}
