//! Results of tools, and commands that the user ran.

use maud::{Markup, PreEscaped, html};
use osier_protocol::entry_view::{ImageView, ToolResultView, UserCommandView};
use osier_protocol::{ResultDetails, Todo, TodoStatus};

use crate::diff::diff_block;
use crate::image::images;
use crate::output::{highlighted, plain_block};
use crate::text::{beginning, escaped, escaped_line};

/// Output of at most so many lines is open at first.
const MAX_OPEN_LINES: usize = 3;
const MAX_OPEN_BYTES: usize = 300;

pub(crate) fn tool_result(result: &ToolResultView, attached: &[ImageView<'_>]) -> Markup {
    let details = ResultDetails::read(&result.details);
    let body = match (&details.todos, &details.diff) {
        // The card of the batch shows the answers.
        _ if result.details.get("batchId").is_some() => {
            folded_output("What the model got", &result.text, false)
        }
        (Some(items), _) if !result.is_error && result.tool_name == "todo" => todo_list(items),
        (_, Some(diff)) if !result.is_error => diff_block(diff),
        _ => html! {
            (output(&result.text, result.is_error))
            (images(attached))
        },
    };
    html! {
        div.result.failed[result.is_error] data-call=(result.call_id) {
            (body)
            (ending(&details, result))
        }
    }
}

/// Output, folded unless it is short or an error.
fn output(text: &str, is_open: bool) -> Markup {
    let is_short = text.trim_end().lines().count() <= MAX_OPEN_LINES && text.len() <= MAX_OPEN_BYTES;
    folded_output("Output", text, is_open || is_short)
}

fn folded_output(title: &str, text: &str, is_open: bool) -> Markup {
    let text = text.trim_end();
    html! {
        @if !text.is_empty() {
            details.output open[is_open] {
                summary { (title) span.amount { (count(text.lines().count() as u64, "line")) } }
                (plain_block(text))
            }
        }
    }
}

fn todo_list(items: &[Todo]) -> Markup {
    if items.is_empty() {
        return html! { p.notice { "The list is empty" } };
    }
    html! {
        ul.todos {
            @for item in items {
                li class=(match item.status {
                    TodoStatus::Completed => "completed",
                    TodoStatus::InProgress => "in-progress",
                    TodoStatus::Pending => "pending",
                }) { (PreEscaped(escaped(item.content.trim()))) }
            }
        }
    }
}

/// How the tool ended.
fn ending(details: &ResultDetails, result: &ToolResultView) -> Markup {
    let mut parts = Vec::new();
    parts.extend(details.exit_code.map(|code| format!("exit {code}")));
    parts.extend(details.signal.map(|signal| format!("killed by signal {signal}")));
    parts.extend(details.timed_out.then(|| "timed out".to_owned()));
    parts.extend(details.cancelled.then(|| "stopped".to_owned()));
    if let (Some(added), Some(removed)) = (details.added, details.removed) {
        parts.push(format!("+{added} −{removed}"));
    }
    parts.extend(truncated(details));
    parts.extend((parts.is_empty() && result.is_error).then(|| "failed".to_owned()));
    html! {
        @if !parts.is_empty() { p.ending { (PreEscaped(escaped_line(&parts.join(" · ")))) } }
    }
}

fn truncated(details: &ResultDetails) -> Option<String> {
    let all = details.total_lines.map(|lines| format!(" from {}", count(lines, "line"))).unwrap_or_default();
    details.truncated.then(|| format!("truncated{all}"))
}

/// A command that the user ran.
pub(crate) fn user_command(run: &UserCommandView, in_context: bool) -> Markup {
    let ending = match run.exit_code {
        _ if run.cancelled => "stopped".to_owned(),
        Some(code) => format!("exit {code}"),
        None => "no exit code".to_owned(),
    };
    html! {
        div.call { div.call-title {
            span.tool { (if in_context { "!" } else { "!!" }) } " "
            code.command { (PreEscaped(highlighted(beginning(run.command.trim_end(), 8_000), "bash"))) }
        } }
        div.result.failed[run.exit_code.is_some_and(|code| code != 0)] {
            (output(&run.output, false))
            p.ending {
                (ending)
                @if run.truncated { " · truncated" }
                @if !in_context { " · hidden from the model" }
            }
        }
    }
}

/// `1 line`, `2 lines`.
pub(crate) fn count(number: u64, thing: &str) -> String {
    match number {
        1 => format!("1 {thing}"),
        _ => format!("{number} {thing}s"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn draw(text: &str, is_error: bool, details: Value) -> String {
        let result = ToolResultView {
            text: text.to_owned(),
            is_error,
            details,
            tool_name: "todo".to_owned(),
            ..ToolResultView::default()
        };
        tool_result(&result, &[]).into_string()
    }

    #[test]
    fn long_output_is_folded() {
        assert!(draw("a", false, Value::Null).contains("<details class=\"output\" open>"));
        let long = draw("a\nb\nc\nd", false, Value::Null);
        assert!(long.contains("<details class=\"output\">") && long.contains("4 lines"), "{long}");
        assert!(draw("a\nb\nc\nd", true, Value::Null).contains("open"), "an error is open");
    }

    #[test]
    fn a_change_shows_its_diff() {
        let markup =
            draw("edited", false, json!({ "diff": "@@ -1 +1 @@\n-a\n+b", "added": 1, "removed": 1 }));
        assert!(markup.contains("class=\"diff\"") && markup.contains("+1 −1"), "{markup}");
    }

    #[test]
    fn a_todo_list_shows_the_state_of_each_item() {
        let items = json!({ "items": [{ "content": "<b>Test", "status": "in_progress" }, { "content": "Build", "status": "completed" }] });
        let markup = draw("2 items", false, items);
        assert!(
            markup.contains("<li class=\"in-progress\">&lt;b&gt;Test</li><li class=\"completed\">Build</li>"),
            "{markup}"
        );
        assert!(draw("", false, json!({ "items": [] })).contains("The list is empty"));
    }

    #[test]
    fn a_command_shows_how_it_ended() {
        let run =
            UserCommandView { command: "ls".to_owned(), exit_code: Some(2), ..UserCommandView::default() };
        let markup = user_command(&run, false).into_string();
        assert!(
            markup.contains("exit 2")
                && markup.contains("hidden from the model")
                && markup.contains("failed")
        );
    }
}
