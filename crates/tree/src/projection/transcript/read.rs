//! Converts an entry to a transcript item.

use std::borrow::Cow;

use serde_json::value::RawValue;

use crate::entry::{Entry, EntryKind, MessageRole, flag};
use crate::scan::RawJson;
use crate::time;

use super::item::{
    AssistantItem, BacktrackItem, BashItem, BranchSummaryItem, CompactionItem, ItemDetails, SubagentsItem,
    ToolResultItem, TranscriptItem,
};
use crate::projection::preview::{
    content_text, count_images, each_block, field, full_text, message_field, shown_text,
};
use crate::projection::usage::UsageTotals;

/// `None` for entries that are not part of the transcript.
pub(super) fn item(entry: &Entry<'_>) -> Option<TranscriptItem> {
    let body = ItemFields(entry);
    let (text, part) = match (entry.kind, entry.role) {
        (EntryKind::Message, MessageRole::Assistant) => {
            (content_text(body.get("content"), "\n\n"), assistant(&body))
        }
        (EntryKind::Message, MessageRole::ToolResult) => {
            (content_text(body.get("content"), "\n"), tool_result(&body))
        }
        (EntryKind::Message, MessageRole::BashExecution) => (body.text("command"), bash(&body)),
        (EntryKind::Message, MessageRole::Custom) => {
            let shown = !body.get("display").is_some_and(RawJson::is_false);
            (shown.then(|| full_text(entry))?, custom(&body))
        }
        (EntryKind::Message, _) => (shown_text(entry).into_owned(), ItemDetails::None {}),
        (EntryKind::CustomMessage, _) => (full_text(entry), custom(&body)),
        (EntryKind::Compaction, _) => (full_text(entry), compaction(&body)),
        (EntryKind::BranchSummary, _) => (full_text(entry), branch_summary(&body)),
        (EntryKind::Backtrack, _) => backtrack(&body),
        (EntryKind::SubagentBatch | EntryKind::SubagentResult, _) => (String::new(), subagents(&body)),
        _ => return None,
    };
    Some(TranscriptItem {
        id: entry.id.to_string(),
        kind: entry.kind.name(),
        role: entry.message.map(|_| role(&body, entry.role)),
        time: entry.time.map(time::format),
        label: None,
        text,
        images: count_images(body.get("content")),
        in_context: in_context(entry, &body),
        details: part,
    })
}

/// The fields of the message, or of the entry if it has no message.
struct ItemFields<'e, 'a>(&'e Entry<'a>);

impl<'a> ItemFields<'_, 'a> {
    fn get(&self, key: &str) -> Option<RawJson<'a>> {
        message_field(self.0, key).filter(|value| !value.is_null())
    }

    fn optional_text(&self, key: &str) -> Option<String> {
        self.get(key).and_then(RawJson::text).map(Cow::into_owned)
    }

    fn text(&self, key: &str) -> String {
        self.optional_text(key).unwrap_or_default()
    }

    fn is_true(&self, key: &str) -> bool {
        self.get(key).is_some_and(RawJson::is_true)
    }
}

fn role(body: &ItemFields<'_, '_>, role: MessageRole) -> String {
    match role {
        MessageRole::Unknown => body.text("role"),
        known => known.name().to_owned(),
    }
}

fn in_context(entry: &Entry<'_>, body: &ItemFields<'_, '_>) -> bool {
    let never = matches!(entry.kind, EntryKind::SubagentBatch | EntryKind::SubagentResult);
    let kept_out = entry.role == MessageRole::BashExecution && body.is_true("excludeFromContext");
    !never && !kept_out && entry.flags & flag::NOT_SENT == 0
}

fn assistant(body: &ItemFields<'_, '_>) -> ItemDetails {
    let mut thinking = String::new();
    if let Some(content) = body.get("content") {
        each_block(content, |kind, block| {
            if let ("thinking", Some(text)) = (kind, block.get("thinking").and_then(RawJson::text)) {
                thinking.push_str(if thinking.is_empty() { "" } else { "\n\n" });
                thinking.push_str(&text);
            }
        });
    }
    ItemDetails::Assistant(AssistantItem {
        thinking: Some(thinking).filter(|thinking| !thinking.is_empty()),
        tool_calls: Vec::new(),
        provider: body.optional_text("provider"),
        model: body.optional_text("responseModel").or_else(|| body.optional_text("model")),
        stop_reason: body.optional_text("stopReason"),
        error: body.optional_text("errorMessage"),
        usage: body.get("usage").and_then(UsageTotals::parse),
    })
}

fn tool_result(body: &ItemFields<'_, '_>) -> ItemDetails {
    let tool_result = ToolResultItem {
        tool_call_id: body.text("toolCallId"),
        tool_name: body.text("toolName"),
        is_error: body.is_true("isError"),
    };
    ItemDetails::ToolResult { tool_result }
}

fn bash(body: &ItemFields<'_, '_>) -> ItemDetails {
    let bash = BashItem {
        command: body.text("command"),
        output: body.text("output"),
        exit_code: body.get("exitCode").and_then(RawJson::number).map(|code| code as i64),
        cancelled: body.is_true("cancelled"),
        truncated: body.is_true("truncated"),
        full_output_path: body.optional_text("fullOutputPath"),
    };
    ItemDetails::Bash { bash }
}

fn custom(body: &ItemFields<'_, '_>) -> ItemDetails {
    ItemDetails::Custom { custom_type: body.text("customType") }
}

fn compaction(body: &ItemFields<'_, '_>) -> ItemDetails {
    let tokens_before = body.get("tokensBefore").and_then(RawJson::number).map(|tokens| tokens as u64);
    ItemDetails::Compaction { compaction: CompactionItem { summary: body.text("summary"), tokens_before } }
}

fn branch_summary(body: &ItemFields<'_, '_>) -> ItemDetails {
    let branch_summary =
        BranchSummaryItem { summary: body.text("summary"), from_id: body.optional_text("fromId") };
    ItemDetails::BranchSummary { branch_summary }
}

fn backtrack(body: &ItemFields<'_, '_>) -> (String, ItemDetails) {
    let details = body.get("details");
    let detail = |key: &str| details.and_then(|details| details.get(key));
    let text = |key| detail(key).and_then(RawJson::text).map(Cow::into_owned);
    let number = |key| detail(key).and_then(RawJson::number).map(|number| number as u64);
    // Without details, use the text of the message.
    let note = text("note").unwrap_or_else(|| full_text(body.0));
    let backtrack = BacktrackItem {
        checkpoint_id: number("checkpointId"),
        note: note.clone(),
        addendum: text("addendum").unwrap_or_default(),
        from_id: text("fromId"),
        original_user_message: text("originalUserMessage").unwrap_or_default(),
        discarded: number("discarded").unwrap_or_default(),
    };
    (note, ItemDetails::Backtrack { backtrack })
}

fn subagents(body: &ItemFields<'_, '_>) -> ItemDetails {
    let content = field(body.0, "content");
    let part = |key: &str| content.and_then(|content| content.get(key));
    let text = |key| part(key).and_then(RawJson::text).map(Cow::into_owned);
    let subagents = SubagentsItem {
        batch_id: text("batchId"),
        status: text("status"),
        tasks: part("tasks").map(raw_value),
        results: part("results").map(raw_value),
    };
    ItemDetails::Subagents { subagents }
}

/// The value as stored. Invalid UTF-8 is replaced.
pub(super) fn raw_value(value: RawJson<'_>) -> Box<RawValue> {
    let text = String::from_utf8_lossy(value.bytes()).into_owned();
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
