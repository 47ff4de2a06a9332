//! Draws tool calls as cards: the call, and a few lines of its result.

use osier_protocol::entry_view::{ToolCallView, ToolResultView, UserCommandView};
use osier_protocol::{ResultDetails, Todo, TodoStatus, visible, visible_line};

use super::RenderOptions;
use super::folding::{fold_end, fold_start, fold_with_key};
use crate::code::code_lines;
use crate::diff::{DiffCode, diff_lines};
use crate::rendered::RenderedCall;
use crate::text::{Line, Style, hard_wrap, sanitize, width, wrap};
use crate::theme::ColorRole;

/// The number of lines shown of a diff, of a command's output, of an error and of a command.
const MAX_DIFF_LINES: usize = 40;
const MAX_OUTPUT_LINES: usize = 8;
const MAX_ERROR_LINES: usize = 4;
const MAX_COMMAND_LINES: usize = 6;
/// The number of lines shown of the result of a tool that is not in `OWN_TOOLS`.
const MAX_OTHER_LINES: usize = 10;
/// Osier's tools whose results are shown only when they are expanded.
const OWN_TOOLS: &[&str] = &["read", "write", "edit", "grep", "find", "ls", "todo", "task", "backtrack"];

/// Draws a call with its result.
pub(crate) fn draw(call: &ToolCallView, result: &ToolResultView, options: RenderOptions<'_>) -> Vec<Line> {
    let mark = if result.is_error { ColorRole::Bad } else { ColorRole::Good };
    if let Some(rendered) = options.rendered.and_then(|rendered| rendered.call(&call.id)) {
        return draw_rendered(call, rendered, mark, options, || draw_result(call, result, options));
    }
    let details = ResultDetails::read(&result.details);
    if let Some(items) = details.todos.as_ref().filter(|_| call.name == "todo" && !result.is_error) {
        return draw_checklist(items, options);
    }
    let mut lines = card_header(call, mark, options);
    if let Some(count) = change_count(&details).filter(|_| !result.is_error)
        && let Some(title) = lines.pop()
    {
        let mut title = title.truncate(options.width.saturating_sub(count.width()));
        title.spans.extend(count.spans);
        lines.push(title);
    }
    lines.extend(draw_result(call, result, options));
    lines
}

/// The numbers of added and removed lines, for the title of a change.
fn change_count(details: &ResultDetails) -> Option<Line> {
    let (added, removed) = (details.added?, details.removed?);
    let count = Line::styled(ColorRole::Added, &format!("  +{added} "));
    Some(count.with(ColorRole::Removed, &format!("−{removed}")))
}

/// Draws a call of which an extension draws a part. `rest` is the result as Osier draws it.
pub(crate) fn draw_rendered(
    call: &ToolCallView,
    rendered: RenderedCall<'_>,
    mark: ColorRole,
    options: RenderOptions<'_>,
    rest: impl FnOnce() -> Vec<Line>,
) -> Vec<Line> {
    let mut lines = match rendered.call {
        Some(lines) if rendered.own_shell => lines.to_vec(),
        Some(lines) => super::hanging_indent(lines.to_vec(), mark, "● "),
        // Calls that draw their own surroundings may show a result alone.
        None if rendered.own_shell => Vec::new(),
        None => card_header(call, mark, options),
    };
    match rendered.result {
        Some(body) if rendered.own_shell => lines.extend_from_slice(body),
        Some(body) => {
            lines.extend(body.iter().map(|line| line.clone().prepend(ColorRole::Border, "  ")));
        }
        None => lines.extend(rest()),
    }
    lines
}

/// Draws a result below its call.
fn draw_result(call: &ToolCallView, result: &ToolResultView, options: RenderOptions<'_>) -> Vec<Line> {
    let (details, failed) = (ResultDetails::read(&result.details), result.is_error);
    let available_width = options.width.saturating_sub(2);
    let output = |role| output_lines(&result.text, role, available_width);
    let body = match (&details.diff, call.name.as_str()) {
        (Some(diff), _) if !failed => {
            let path = call.arguments["path"].as_str().unwrap_or_default();
            let code = DiffCode::of_file(path, options.code);
            fold_end(diff_lines(diff, available_width, code), MAX_DIFF_LINES, options.expanded)
        }
        (_, "bash") => fold_start(output(ColorRole::Dim), MAX_OUTPUT_LINES, options.expanded),
        _ if failed => fold_end(output(ColorRole::Bad), MAX_ERROR_LINES, options.expanded),
        _ if options.expanded => output(ColorRole::Dim),
        // What a tool of an extension returns is known only from its text.
        (_, name) if !OWN_TOOLS.contains(&name) => {
            fold_with_key(output(ColorRole::Dim), MAX_OTHER_LINES, false)
        }
        _ => Vec::new(),
    };
    let mut lines: Vec<Line> = body.into_iter().map(|line| line.prepend(ColorRole::Border, "  ")).collect();
    // The number of lines stands for text that is not shown.
    let hidden = if OWN_TOOLS.contains(&call.name.as_str()) { result.text.as_str() } else { "" };
    let end = ending_line(&details, hidden, failed);
    lines.extend(end.map(|line| line.prepend(ColorRole::Border, "  ")));
    lines
}

/// Draws the model's todo list.
fn draw_checklist(items: &[Todo], options: RenderOptions<'_>) -> Vec<Line> {
    let done = items.iter().filter(|item| item.status == TodoStatus::Completed).count();
    let count =
        if items.is_empty() { " cleared".to_owned() } else { format!(" {done}/{} done", items.len()) };
    let mut lines = vec![
        Line::styled(ColorRole::Good, "● ")
            .with(Style::default().bold(), "todo")
            .with(ColorRole::Dim, &count),
    ];
    for item in items {
        let (mark, style) = match item.status {
            TodoStatus::Completed => ("  ☑ ", Style { strike: true, ..ColorRole::Dim.into() }),
            TodoStatus::InProgress => ("  ▶ ", Style::from(ColorRole::Accent).bold()),
            TodoStatus::Pending => ("  ☐ ", ColorRole::Text.into()),
        };
        let text = wrap(&Line::styled(style, item.content.trim()), options.width.saturating_sub(width(mark)));
        lines.extend(super::hanging_indent(text, Style { strike: false, ..style }, mark));
    }
    lines
}

/// Draws a call that has no result.
pub(crate) fn interrupted(call: &ToolCallView, options: RenderOptions<'_>) -> Vec<Line> {
    let note = || vec![Line::styled(ColorRole::Warn, "  interrupted, no result")];
    if let Some(rendered) = options.rendered.and_then(|rendered| rendered.call(&call.id)) {
        return draw_rendered(call, rendered, ColorRole::Warn, options, note);
    }
    let mut lines = card_header(call, ColorRole::Warn, options);
    lines.extend(note());
    lines
}

/// The first lines of a card: the tool and its arguments.
pub(crate) fn card_header(call: &ToolCallView, mark: ColorRole, options: RenderOptions<'_>) -> Vec<Line> {
    let start = Line::styled(mark, "● ").with(Style::default().bold(), &visible_line(&call.name));
    if let ("bash", Some(command)) = (call.name.as_str(), call.arguments["command"].as_str()) {
        let available_width = options.width.saturating_sub(7);
        let code = code_lines("bash", &visible(command.trim_end()).replace('\t', "    "), options.code);
        let lines = code.iter().flat_map(|line| hard_wrap(line, available_width)).collect();
        let mut lines = fold_end(lines, MAX_COMMAND_LINES, options.expanded).into_iter();
        let mut first = start.with(ColorRole::Text, " ");
        first.spans.extend(lines.next().unwrap_or_default().spans);
        return std::iter::once(first)
            .chain(lines.map(|line| line.prepend(ColorRole::Text, "       ")))
            .collect();
    }
    if call.name == "todo" {
        return vec![start];
    }
    if let ("task", Some(tasks)) = (call.name.as_str(), call.arguments["tasks"].as_array()) {
        let count = if tasks.len() == 1 { "1 task".to_owned() } else { format!("{} tasks", tasks.len()) };
        return vec![start.with(ColorRole::Dim, &format!("  {count}"))];
    }
    let summary = call.summary(options.home);
    let space = if summary.is_empty() { "" } else { " " };
    vec![
        start
            .with(ColorRole::Text, space)
            .with(ColorRole::Text, &visible_line(&summary))
            .truncate(options.width),
    ]
}

/// The last lines of a tool's output so far.
pub(crate) fn output_tail(text: &str, max_lines: usize, options: RenderOptions<'_>) -> Vec<Line> {
    // Wrap only the end, because the output may be long.
    let text = text.trim_end();
    let start = text.rmatch_indices('\n').nth(max_lines).map_or(0, |(at, _)| at + 1);
    let lines = output_lines(&text[start..], ColorRole::Dim, options.width.saturating_sub(2));
    let from = lines.len().saturating_sub(max_lines);
    lines.into_iter().skip(from).map(|line| line.prepend(ColorRole::Border, "  ")).collect()
}

fn output_lines(text: &str, role: ColorRole, available_width: usize) -> Vec<Line> {
    let text = sanitize(text);
    let text = text.trim_end();
    if text.is_empty() {
        return Vec::new();
    }
    text.split('\n').flat_map(|line| hard_wrap(&Line::styled(role, line), available_width)).collect()
}

/// The last line: the exit status, and whether the output was truncated.
fn ending_line(details: &ResultDetails, text: &str, failed: bool) -> Option<Line> {
    let mut parts: Vec<(ColorRole, String)> = Vec::new();
    match details.exit_code {
        Some(0) => parts.push((ColorRole::Dim, "exit 0".to_owned())),
        Some(code) => parts.push((ColorRole::Bad, format!("exit {code}"))),
        None => {}
    }
    if let Some(signal) = details.signal {
        parts.push((ColorRole::Bad, format!("killed by signal {signal}")));
    }
    if details.timed_out {
        parts.push((ColorRole::Bad, "timed out".to_owned()));
    }
    if details.cancelled {
        parts.push((ColorRole::Warn, "stopped".to_owned()));
    }
    let is_change = details.added.is_some();
    if parts.is_empty() && !failed && !is_change && !text.trim().is_empty() {
        let count = text.trim_end().lines().count();
        parts.push((ColorRole::Dim, if count == 1 { "1 line".to_owned() } else { format!("{count} lines") }));
    }
    if details.truncated {
        let all = details.total_lines.map(|lines| format!(" from {lines} lines"));
        let kept = details.full_output_path.as_ref().map(|path| format!(", full output in {path}"));
        parts.push((
            ColorRole::Warn,
            format!("truncated{}{}", all.unwrap_or_default(), kept.unwrap_or_default()),
        ));
    }
    let mut line = Line::new();
    for (at, (role, text)) in parts.iter().enumerate() {
        line.push(ColorRole::Dim, if at > 0 { ", " } else { "" });
        line.push(*role, text);
    }
    (!line.is_empty()).then_some(line)
}

/// Draws a command that the user ran.
pub(super) fn draw_user_command(
    run: &UserCommandView,
    in_context: bool,
    options: RenderOptions<'_>,
) -> Vec<Line> {
    let mark = if in_context { "! " } else { "!! " };
    let available_width = options.width.saturating_sub(3);
    let code = code_lines("bash", sanitize(&run.command).trim_end(), options.code);
    let mut lines = super::hanging_indent(
        code.iter().flat_map(|line| hard_wrap(line, available_width)).collect(),
        ColorRole::User,
        mark,
    );
    let printed = output_lines(&run.output, ColorRole::Dim, options.width.saturating_sub(2));
    let printed = fold_start(printed, 2 * MAX_OUTPUT_LINES, options.expanded);
    lines.extend(printed.into_iter().map(|line| line.prepend(ColorRole::Border, "  ")));
    let mut end = match run.exit_code {
        _ if run.cancelled => Line::styled(ColorRole::Warn, "stopped"),
        Some(0) => Line::styled(ColorRole::Dim, "exit 0"),
        Some(code) => Line::styled(ColorRole::Bad, &format!("exit {code}")),
        None => Line::styled(ColorRole::Warn, "no exit code"),
    };
    if run.truncated {
        let kept = run.full_output_path.as_ref().map(|path| format!(", full output in {path}"));
        end.push(ColorRole::Warn, &format!(", truncated{}", kept.unwrap_or_default()));
    }
    if !in_context {
        end.push(ColorRole::Dim, ", hidden from the model");
    }
    lines.extend(wrap(&end, available_width).into_iter().map(|line| line.prepend(ColorRole::Border, "  ")));
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// A name must not look like another one, neither above an approval question nor later.
    #[test]
    fn hidden_characters_of_a_call_are_visible() {
        let draw = |name: &str, arguments: Value| {
            let call = ToolCallView { id: String::new(), name: name.to_owned(), arguments };
            let options = RenderOptions { width: 80, ..RenderOptions::default() };
            let lines = card_header(&call, ColorRole::Good, options);
            lines.iter().map(Line::plain).collect::<Vec<_>>().join("\n")
        };
        let path = "READ\u{200b}ME\u{3164}.md";
        assert_eq!(draw("write", json!({ "path": path })), "● write READ\u{fffd}ME\u{fffd}.md");
        assert_eq!(draw("wri\u{200b}te", json!({})), "● wri<U+200B>te");
        let command = "touch a\rtouch b\n\ttouch c\u{2800}";
        assert_eq!(
            draw("bash", json!({ "command": command })),
            "● bash touch a<U+000D>touch b\n           touch c<U+2800>"
        );
    }
}
