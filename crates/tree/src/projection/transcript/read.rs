//! Converts an entry to a transcript item.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::entry::{Entry, Kind, Role, flag};
use crate::scan::Raw;
use crate::time;

use super::item::{
    Assistant, Backtrack, Bash, BranchSummary, Compaction, Part, Subagents, ToolResult, TranscriptItem,
};
use crate::projection::preview::{each_block, field, full_text, images_in, said_field, shown_text, text_of};
use crate::projection::usage::Usage;

/// `None` for entries that are not part of the transcript.
pub(super) fn item(entry: &Entry<'_>) -> Option<TranscriptItem> {
    let body = Fields(entry);
    let (text, part) = match (entry.kind, entry.role) {
        (Kind::Message, Role::Assistant) => (text_of(body.get("content"), "\n\n"), assistant(&body)),
        (Kind::Message, Role::ToolResult) => (text_of(body.get("content"), "\n"), tool_result(&body)),
        (Kind::Message, Role::BashExecution) => (body.text("command"), bash(&body)),
        (Kind::Message, Role::Custom) => {
            let shown = !body.get("display").is_some_and(Raw::is_false);
            (shown.then(|| full_text(entry))?, custom(&body))
        }
        (Kind::Message, _) => (shown_text(entry).into_owned(), Part::None {}),
        (Kind::CustomMessage, _) => (full_text(entry), custom(&body)),
        (Kind::Compaction, _) => (full_text(entry), compaction(&body)),
        (Kind::BranchSummary, _) => (full_text(entry), branch_summary(&body)),
        (Kind::Backtrack, _) => backtrack(&body),
        (Kind::SubagentBatch | Kind::SubagentResult, _) => (String::new(), subagents(&body)),
        _ => return None,
    };
    Some(TranscriptItem {
        id: entry.id.to_string(),
        kind: entry.kind.name(),
        role: entry.message.map(|_| role(&body, entry.role)),
        time: entry.time.map(time::format),
        label: None,
        text,
        images: images_in(body.get("content")),
        in_context: in_context(entry, &body),
        part,
    })
}

/// The fields of the message, or of the entry if it has no message.
struct Fields<'e, 'a>(&'e Entry<'a>);

impl<'a> Fields<'_, 'a> {
    fn get(&self, key: &str) -> Option<Raw<'a>> {
        said_field(self.0, key).filter(|value| !value.is_null())
    }

    fn some(&self, key: &str) -> Option<String> {
        self.get(key).and_then(Raw::text).map(Cow::into_owned)
    }

    fn text(&self, key: &str) -> String {
        self.some(key).unwrap_or_default()
    }

    fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(Raw::is_true)
    }
}

fn role(body: &Fields<'_, '_>, role: Role) -> String {
    match role {
        Role::Unknown => body.text("role"),
        known => known.name().to_owned(),
    }
}

fn in_context(entry: &Entry<'_>, body: &Fields<'_, '_>) -> bool {
    let never = matches!(entry.kind, Kind::SubagentBatch | Kind::SubagentResult);
    let kept_out = entry.role == Role::BashExecution && body.is_true("excludeFromContext");
    !never && !kept_out && entry.flags & flag::NOT_SENT == 0
}

fn assistant(body: &Fields<'_, '_>) -> Part {
    let mut thinking = String::new();
    if let Some(content) = body.get("content") {
        each_block(content, |kind, block| {
            if let ("thinking", Some(text)) = (kind, block.get("thinking").and_then(Raw::text)) {
                thinking.push_str(if thinking.is_empty() { "" } else { "\n\n" });
                thinking.push_str(&text);
            }
        });
    }
    Part::Assistant(Assistant {
        thinking: Some(thinking).filter(|thinking| !thinking.is_empty()),
        tool_calls: Vec::new(),
        provider: body.some("provider"),
        model: body.some("responseModel").or_else(|| body.some("model")),
        stop_reason: body.some("stopReason"),
        error: body.some("errorMessage"),
        usage: body.get("usage").and_then(Usage::read),
    })
}

fn tool_result(body: &Fields<'_, '_>) -> Part {
    let tool_result = ToolResult {
        tool_call_id: body.text("toolCallId"),
        tool_name: body.text("toolName"),
        is_error: body.is_true("isError"),
    };
    Part::ToolResult { tool_result }
}

fn bash(body: &Fields<'_, '_>) -> Part {
    let bash = Bash {
        command: body.text("command"),
        output: body.text("output"),
        exit_code: body.get("exitCode").and_then(Raw::number).map(|code| code as i64),
        cancelled: body.is_true("cancelled"),
        truncated: body.is_true("truncated"),
        full_output_path: body.some("fullOutputPath"),
    };
    Part::Bash { bash }
}

fn custom(body: &Fields<'_, '_>) -> Part {
    Part::Custom { custom_type: body.text("customType") }
}

fn compaction(body: &Fields<'_, '_>) -> Part {
    let tokens_before = body.get("tokensBefore").and_then(Raw::number).map(|tokens| tokens as u64);
    Part::Compaction { compaction: Compaction { summary: body.text("summary"), tokens_before } }
}

fn branch_summary(body: &Fields<'_, '_>) -> Part {
    let branch_summary = BranchSummary { summary: body.text("summary"), from_id: body.some("fromId") };
    Part::BranchSummary { branch_summary }
}

fn backtrack(body: &Fields<'_, '_>) -> (String, Part) {
    let details = body.get("details");
    let detail = |key: &str| details.and_then(|details| details.get(key));
    let text = |key| detail(key).and_then(Raw::text).map(Cow::into_owned);
    let number = |key| detail(key).and_then(Raw::number).map(|number| number as u64);
    // Without details, use the text of the message.
    let note = text("note").unwrap_or_else(|| full_text(body.0));
    let backtrack = Backtrack {
        checkpoint_id: number("checkpointId"),
        note: note.clone(),
        addendum: text("addendum").unwrap_or_default(),
        from_id: text("fromId"),
        original_user_message: text("originalUserMessage").unwrap_or_default(),
        discarded: number("discarded").unwrap_or_default(),
    };
    (note, Part::Backtrack { backtrack })
}

fn subagents(body: &Fields<'_, '_>) -> Part {
    let content = field(body.0, "content");
    let part = |key: &str| content.and_then(|content| content.get(key));
    let text = |key| part(key).and_then(Raw::text).map(Cow::into_owned);
    let subagents = Subagents {
        batch_id: text("batchId"),
        status: text("status"),
        tasks: part("tasks").map(raw_value),
        results: part("results").map(raw_value),
    };
    Part::Subagents { subagents }
}

/// The value as stored. Invalid UTF-8 is replaced.
pub(super) fn raw_value(value: Raw<'_>) -> Box<RawValue> {
    let text = String::from_utf8_lossy(value.bytes()).into_owned();
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
