//! A transcript as Markdown, for reading and for pasting elsewhere.

use std::borrow::Cow;
use std::fmt::Write;

use super::item::{Assistant, Backtrack, Bash, Part, Subagents, ToolCall, ToolResult, TranscriptItem};
use crate::projection::preview::{inert, one_line};

/// Renders the whole transcript, with an optional title.
pub fn markdown(items: &[TranscriptItem], title: &str) -> String {
    let mut writer = MarkdownWriter::default();
    let mut page = writer.title(title);
    for item in items {
        page.push_str(&writer.item(item));
    }
    page
}

/// Writes a transcript in pieces.
#[derive(Debug, Default)]
pub struct MarkdownWriter {
    page: Page,
}

impl MarkdownWriter {
    pub fn title(&mut self, title: &str) -> String {
        let title = escaped(&one_line(title, 200));
        if !title.is_empty() {
            self.page.block(&format!("# {title}"));
        }
        std::mem::take(&mut self.page.text)
    }

    pub fn item(&mut self, item: &TranscriptItem) -> String {
        self.page.item(item);
        std::mem::take(&mut self.page.text)
    }
}

/// Blocks separated by empty lines.
#[derive(Debug, Default)]
struct Page {
    /// The text not returned yet.
    text: String,
    /// At least one block was written.
    begun: bool,
}

impl Page {
    fn block(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if std::mem::replace(&mut self.begun, true) {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn item(&mut self, item: &TranscriptItem) {
        match &item.part {
            Part::Assistant(assistant) => self.assistant(item, assistant),
            Part::ToolResult { tool_result } => self.tool_result(item, tool_result),
            Part::Bash { bash } => self.bash(item, bash),
            Part::Compaction { compaction } => {
                let tokens = compaction.tokens_before.map(|tokens| format!(" of {tokens} tokens"));
                self.said(item, &format!("Compaction{}", tokens.unwrap_or_default()));
            }
            Part::BranchSummary { .. } => self.said(item, "Summary of another branch"),
            Part::Backtrack { backtrack } => self.backtrack(item, backtrack),
            Part::Subagents { subagents } => self.subagents(item, subagents),
            Part::Custom { custom_type } => self.said(item, &escaped(&one_line(custom_type, 80))),
            Part::None {} => {
                let role = item.role.as_deref().unwrap_or(item.kind);
                self.said(item, &escaped(&capital(&one_line(role, 80))));
            }
        }
    }

    fn heading(&mut self, item: &TranscriptItem, what: &str) {
        let mut line = format!("## {what}");
        if let Some(label) = &item.label {
            write!(line, " [{}]", escaped(&one_line(label, 80))).expect("writing to a String cannot fail");
        }
        if let Some(time) = &item.time {
            write!(line, " · {}", minute(time)).expect("writing to a String cannot fail");
        }
        self.block(&line);
        if !item.in_context {
            self.block("*Not sent to the model.*");
        }
    }

    fn said(&mut self, item: &TranscriptItem, what: &str) {
        self.heading(item, what);
        self.text(&item.text);
        match item.images {
            0 => {}
            1 => self.block("*1 image*"),
            images => self.block(&format!("*{images} images*")),
        }
    }

    fn text(&mut self, text: &str) {
        self.block(&closed(inert(text).trim_matches('\n')));
    }

    fn assistant(&mut self, item: &TranscriptItem, assistant: &Assistant) {
        let model = assistant.model.as_deref().map(|model| format!(" ({})", escaped(&one_line(model, 80))));
        self.heading(item, &format!("Assistant{}", model.unwrap_or_default()));
        if let Some(thinking) = &assistant.thinking {
            self.block(&quoted(&inert(thinking)));
        }
        self.text(&item.text);
        for call in &assistant.tool_calls {
            self.call(call);
        }
        match (assistant.stop_reason.as_deref(), &assistant.error) {
            (_, Some(error)) => self.block(&format!("**Error:** {}", escaped(&one_line(error, 2000)))),
            (Some("aborted"), _) => self.block("*Aborted.*"),
            (Some("length"), _) => self.block("*Cut off: the reply reached its length limit.*"),
            _ => {}
        }
    }

    fn call(&mut self, call: &ToolCall) {
        let interrupted = if call.interrupted { " — interrupted, no result" } else { "" };
        self.block(&format!("**Call** {}{interrupted}", code(&call.name)));
        self.block(&fenced(call.arguments.get(), "json"));
    }

    fn tool_result(&mut self, item: &TranscriptItem, result: &ToolResult) {
        let word = if result.is_error { "Error" } else { "Result" };
        let label = item.label.as_ref().map(|label| format!(" [{}]", escaped(&one_line(label, 80))));
        self.block(&format!("**{word}** of {}{}", code(&result.tool_name), label.unwrap_or_default()));
        if !item.text.trim().is_empty() {
            self.block(&fenced(&item.text, ""));
        }
    }

    fn bash(&mut self, item: &TranscriptItem, bash: &Bash) {
        self.heading(item, "Command");
        let output = if bash.output.is_empty() { "(no output)" } else { &bash.output };
        self.block(&fenced(&format!("$ {}\n{output}", bash.command), "console"));
        match bash.exit_code {
            _ if bash.cancelled => self.block("*Canceled.*"),
            Some(code) if code != 0 => self.block(&format!("*Exit code {code}.*")),
            _ => {}
        }
    }

    fn backtrack(&mut self, item: &TranscriptItem, backtrack: &Backtrack) {
        let number = backtrack.checkpoint_id.map(|number| format!(" to checkpoint {number}"));
        self.heading(item, &format!("Backtracked{}", number.unwrap_or_default()));
        if backtrack.discarded > 0 {
            self.block(&format!("*{} messages left behind.*", backtrack.discarded));
        }
        self.text(&backtrack.note);
        self.text(&backtrack.addendum);
    }

    fn subagents(&mut self, item: &TranscriptItem, subagents: &Subagents) {
        let status =
            subagents.status.as_deref().map(|status| format!(": {}", escaped(&one_line(status, 80))));
        self.heading(item, &format!("Sub-agents{}", status.unwrap_or_default()));
        for list in [&subagents.tasks, &subagents.results].into_iter().flatten() {
            self.block(&fenced(list.get(), "json"));
        }
    }
}

/// A code block with a fence longer than any run of backticks in it.
fn fenced(text: &str, language: &str) -> String {
    let text = inert(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Inline code.
fn code(text: &str) -> String {
    let text = one_line(text, 200);
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|ch| ch != '`').map(str::len).max().unwrap_or(0)
}

/// Closes the last code block of a text, so that it does not swallow what follows.
fn closed(text: &str) -> Cow<'_, str> {
    let mut open: Option<&str> = None;
    for line in text.lines() {
        let line = line.trim_start_matches(' ');
        let mark = if line.starts_with('~') { '~' } else { '`' };
        let (fence, rest) = line.split_at(line.len() - line.trim_start_matches(mark).len());
        open = match open {
            None if fence.len() >= 3 && !(mark == '`' && rest.contains('`')) => Some(fence),
            Some(opening) if fence.starts_with(opening) && rest.trim().is_empty() => None,
            unchanged => unchanged,
        };
    }
    match open {
        Some(fence) => Cow::Owned(format!("{text}\n{fence}")),
        None => Cow::Borrowed(text),
    }
}

fn quoted(text: &str) -> String {
    let lines = text.trim_matches('\n').lines();
    lines.map(|line| format!("> {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Escapes Markdown syntax in a heading.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for ch in text.chars() {
        if matches!(ch, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '&') {
            out.push('\\');
        }
        out.push(ch);
    }
    out
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Formats an ISO time as `2026-01-01 00:00`.
fn minute(time: &str) -> String {
    time.get(..16).unwrap_or(time).replacen('T', " ", 1)
}
