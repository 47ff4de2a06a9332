//! A transcript as Markdown, for reading and for pasting elsewhere.

use std::borrow::Cow;
use std::fmt::Write;

use crate::projection::entry_view::{BacktrackView, SubagentView, UserCommandView};
use crate::projection::usage::format_tokens;

use super::item::{AssistantItem, ItemDetails, SubagentsItem, ToolCallItem, ToolResultItem, TranscriptItem};
use crate::projection::preview::{one_line, sanitize};

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
    page: MarkdownPage,
}

impl MarkdownWriter {
    pub fn title(&mut self, title: &str) -> String {
        let title = escape_markdown(&one_line(title, 200));
        if !title.is_empty() {
            self.page.push_block(&format!("# {title}"));
        }
        std::mem::take(&mut self.page.text)
    }

    pub fn item(&mut self, item: &TranscriptItem) -> String {
        self.page.push_item(item);
        std::mem::take(&mut self.page.text)
    }
}

/// Blocks separated by empty lines.
#[derive(Debug, Default)]
struct MarkdownPage {
    /// The text not returned yet.
    text: String,
    /// At least one block was written.
    has_blocks: bool,
}

impl MarkdownPage {
    fn push_block(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if std::mem::replace(&mut self.has_blocks, true) {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.text.push('\n');
    }

    fn push_item(&mut self, item: &TranscriptItem) {
        match &item.details {
            ItemDetails::Assistant(assistant) => self.push_assistant(item, assistant),
            ItemDetails::ToolResult { tool_result } => self.push_tool_result(item, tool_result),
            ItemDetails::Bash { bash } => self.push_bash(item, bash),
            ItemDetails::Compaction { compaction } => {
                let tokens = compaction.tokens_before.map(|tokens| format!(" of {tokens} tokens"));
                self.push_section(item, &format!("Compaction{}", tokens.unwrap_or_default()));
            }
            ItemDetails::BranchSummary { .. } => self.push_section(item, "Summary of another branch"),
            ItemDetails::Backtrack { backtrack } => self.push_backtrack(item, backtrack),
            ItemDetails::Subagents { subagents } => self.push_subagents(item, subagents),
            ItemDetails::Custom { custom_type, .. } => {
                self.push_section(item, &escape_markdown(&one_line(custom_type, 80)));
            }
            ItemDetails::None {} => {
                let role = item.role.as_deref().unwrap_or(item.kind);
                self.push_section(item, &escape_markdown(&capitalize(&one_line(role, 80))));
            }
        }
    }

    fn push_heading(&mut self, item: &TranscriptItem, what: &str) {
        let mut line = format!("## {what}");
        if let Some(label) = &item.label {
            write!(line, " [{}]", escape_markdown(&one_line(label, 80)))
                .expect("writing to a String cannot fail");
        }
        if let Some(time) = &item.time {
            write!(line, " · {}", format_minute(time)).expect("writing to a String cannot fail");
        }
        self.push_block(&line);
        if !item.in_context {
            self.push_block("*Not sent to the model.*");
        }
    }

    fn push_section(&mut self, item: &TranscriptItem, what: &str) {
        self.push_heading(item, what);
        self.push_text(&item.text);
        match item.images {
            0 => {}
            1 => self.push_block("*1 image*"),
            images => self.push_block(&format!("*{images} images*")),
        }
    }

    fn push_text(&mut self, text: &str) {
        self.push_block(&close_code_block(sanitize(text).trim_matches('\n')));
    }

    fn push_assistant(&mut self, item: &TranscriptItem, assistant: &AssistantItem) {
        let model =
            assistant.model.as_deref().map(|model| format!(" ({})", escape_markdown(&one_line(model, 80))));
        self.push_heading(item, &format!("Assistant{}", model.unwrap_or_default()));
        if let Some(thinking) = &assistant.thinking {
            self.push_block(&block_quote(&sanitize(thinking)));
        }
        self.push_text(&item.text);
        for call in &assistant.tool_calls {
            self.push_call(call);
        }
        match (assistant.stop_reason.as_deref(), &assistant.error) {
            (_, Some(error)) => {
                self.push_block(&format!("**Error:** {}", escape_markdown(&one_line(error, 2000))));
            }
            (Some("aborted"), _) => self.push_block("*Aborted.*"),
            (Some("length"), _) => self.push_block("*Cut off: the reply reached its length limit.*"),
            _ => {}
        }
    }

    fn push_call(&mut self, call: &ToolCallItem) {
        let interrupted = if call.interrupted { " — interrupted, no result" } else { "" };
        self.push_block(&format!("**Call** {}{interrupted}", inline_code(&call.name)));
        self.push_block(&code_block(call.arguments.get(), "json"));
    }

    fn push_tool_result(&mut self, item: &TranscriptItem, result: &ToolResultItem) {
        let word = if result.is_error { "Error" } else { "Result" };
        let label = item.label.as_ref().map(|label| format!(" [{}]", escape_markdown(&one_line(label, 80))));
        self.push_block(&format!(
            "**{word}** of {}{}",
            inline_code(&result.tool_name),
            label.unwrap_or_default()
        ));
        if !item.text.trim().is_empty() {
            self.push_block(&code_block(&item.text, ""));
        }
    }

    fn push_bash(&mut self, item: &TranscriptItem, bash: &UserCommandView) {
        self.push_heading(item, "Command");
        let output = if bash.output.is_empty() { "(no output)" } else { &bash.output };
        self.push_block(&code_block(&format!("$ {}\n{output}", bash.command), "console"));
        match bash.exit_code {
            _ if bash.cancelled => self.push_block("*Canceled.*"),
            Some(code) if code != 0 => self.push_block(&format!("*Exit code {code}.*")),
            _ => {}
        }
    }

    fn push_backtrack(&mut self, item: &TranscriptItem, backtrack: &BacktrackView) {
        let number = backtrack.checkpoint_id.map(|number| format!(" to checkpoint {number}"));
        self.push_heading(item, &format!("Backtracked{}", number.unwrap_or_default()));
        if backtrack.discarded > 0 {
            self.push_block(&format!("*{} messages left behind.*", backtrack.discarded));
        }
        self.push_text(&backtrack.note);
        self.push_text(&backtrack.addendum);
    }

    fn push_subagents(&mut self, item: &TranscriptItem, subagents: &SubagentsItem) {
        let tasks = match subagents.items.len() {
            1 => "1 task".to_owned(),
            tasks => format!("{tasks} tasks"),
        };
        let status = subagents.status.as_deref().map(|status| format!(", {}", status_word(status)));
        self.push_heading(item, &format!("Sub-agents: {tasks}{}", status.unwrap_or_default()));
        match &subagents.results {
            None => {
                let name = |(at, task)| format!("{}. {}", at + 1, task_name(task));
                let list: Vec<String> = subagents.items.iter().enumerate().map(name).collect();
                self.push_block(&list.join("\n"));
            }
            Some(_) => {
                for (at, result) in subagents.items.iter().enumerate() {
                    self.push_task_result(at + 1, result);
                }
            }
        }
    }

    fn push_task_result(&mut self, number: usize, result: &SubagentView) {
        let session = result.session_id.as_deref().map(|id| format!("session {}", one_line(id, 80)));
        let parts = [
            result.status.as_deref().map(status_word),
            (result.tokens > 0).then(|| format!("{} tokens", format_tokens(result.tokens))),
            session,
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        self.push_block(&format!("**{number}. {}**: {}", task_name(result), parts.join(", ")));
        if let Some(error) = &result.error {
            self.push_block(&format!("**Error:** {}", escape_markdown(&one_line(error, 2000))));
        }
        if !result.text.trim().is_empty() {
            self.push_block(&block_quote(&sanitize(&result.text)));
        }
    }
}

/// The agent and its task.
fn task_name(task: &SubagentView) -> String {
    let agent = task.agent.as_deref().map(|agent| format!("{}: ", one_line(agent, 80)));
    escape_markdown(&format!("{}{}", agent.unwrap_or_default(), one_line(&task.title, 200)))
}

fn status_word(status: &str) -> String {
    escape_markdown(&one_line(if status == "cancelled" { "canceled" } else { status }, 80))
}

/// A code block with a fence longer than any run of backticks in it.
fn code_block(text: &str, language: &str) -> String {
    let text = sanitize(text);
    let fence = "`".repeat(longest_run(&text).max(2) + 1);
    format!("{fence}{language}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Inline code.
fn inline_code(text: &str) -> String {
    let text = one_line(text, 200);
    let fence = "`".repeat(longest_run(&text) + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') || text.is_empty() { " " } else { "" };
    format!("{fence}{pad}{text}{pad}{fence}")
}

fn longest_run(text: &str) -> usize {
    text.split(|ch| ch != '`').map(str::len).max().unwrap_or(0)
}

/// Closes the last code block of a text, so that it does not swallow what follows.
fn close_code_block(text: &str) -> Cow<'_, str> {
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

fn block_quote(text: &str) -> String {
    let lines = text.trim_matches('\n').lines();
    lines.map(|line| format!("> {line}").trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Escapes Markdown syntax in a heading.
fn escape_markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for ch in text.chars() {
        if matches!(ch, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '#' | '|' | '&') {
            out.push('\\');
        }
        out.push(ch);
    }
    out
}

fn capitalize(word: &str) -> String {
    let mut chars = word.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Formats an ISO time as `2026-01-01 00:00`.
fn format_minute(time: &str) -> String {
    time.get(..16).unwrap_or(time).replacen('T', " ", 1)
}
