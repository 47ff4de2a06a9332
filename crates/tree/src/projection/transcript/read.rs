//! Converts an entry to a transcript item.

use serde_json::value::RawValue;

use crate::entry::Entry;
use crate::projection::entry_view::{AssistantView, EntryContent, EntryView, MessageView};
use crate::projection::preview::field;
use crate::scan::RawJson;
use crate::time;

use super::item::{AssistantItem, ItemDetails, SubagentsItem, ToolResultItem, TranscriptItem};

/// `None` for entries that are not part of the transcript.
pub(super) fn item(entry: &Entry<'_>) -> Option<TranscriptItem> {
    let EntryView { kind, role, in_context, content, .. } = EntryView::read(entry);
    let mut item = TranscriptItem {
        id: entry.id.to_string(),
        kind: kind.name(),
        role: entry.message.map(|_| role.name().to_owned()),
        time: entry.time.map(time::format),
        label: None,
        text: String::new(),
        images: 0,
        in_context,
        details: ItemDetails::None {},
    };
    match content {
        EntryContent::Message(message) => add_message(&mut item, message)?,
        EntryContent::Compaction(view) => {
            item.text.clone_from(&view.summary);
            item.details = ItemDetails::Compaction { compaction: view };
        }
        EntryContent::BranchSummary(view) => {
            item.text.clone_from(&view.summary);
            item.details = ItemDetails::BranchSummary { branch_summary: view };
        }
        EntryContent::Backtrack(view) => {
            item.text.clone_from(&view.note);
            item.details = ItemDetails::Backtrack { backtrack: view };
        }
        EntryContent::Subagents(view) => {
            let part =
                |key: &str| field(entry, "content").and_then(|content| content.get(key)).map(raw_value);
            let subagents = SubagentsItem {
                batch_id: view.batch_id,
                status: view.status,
                tasks: part("tasks"),
                results: part("results"),
                items: view.items,
            };
            item.details = ItemDetails::Subagents { subagents };
        }
        EntryContent::Change(_)
        | EntryContent::Custom { .. }
        | EntryContent::Update { .. }
        | EntryContent::Other => return None,
    }
    Some(item)
}

/// `None` if people do not see the message.
fn add_message(item: &mut TranscriptItem, message: MessageView) -> Option<()> {
    match message {
        MessageView::User(user) => (item.text, item.images) = (user.text, user.images),
        MessageView::Assistant(reply) => {
            item.text = reply.text();
            item.details = ItemDetails::Assistant(assistant(reply));
        }
        MessageView::ToolResult(result) => {
            (item.text, item.images) = (result.text, result.images);
            let tool_result = ToolResultItem {
                tool_call_id: result.call_id,
                tool_name: result.tool_name,
                is_error: result.is_error,
            };
            item.details = ItemDetails::ToolResult { tool_result };
        }
        MessageView::UserCommand(run) => {
            item.text.clone_from(&run.command);
            item.details = ItemDetails::Bash { bash: run };
        }
        MessageView::Custom(custom) if !custom.display => return None,
        MessageView::Custom(custom) => {
            (item.text, item.images) = (custom.text, custom.images);
            item.details = ItemDetails::Custom { custom_type: custom.custom_type, is_hook_message: true };
        }
        MessageView::Other(other) => {
            (item.text, item.images) = (other.text, other.images);
            item.role = item.role.take().map(|_| other.role_name);
        }
    }
    Some(())
}

/// The calls are added later, when it is known which of them have a result.
fn assistant(reply: AssistantView) -> AssistantItem {
    AssistantItem {
        thinking: Some(reply.thinking()).filter(|thinking| !thinking.is_empty()),
        tool_calls: Vec::new(),
        provider: reply.provider,
        model: reply.model,
        stop_reason: reply.stop_reason,
        error: reply.error,
        usage: reply.usage,
    }
}

/// The value as stored. Invalid UTF-8 is replaced.
pub(super) fn raw_value(value: RawJson<'_>) -> Box<RawValue> {
    let text = String::from_utf8_lossy(value.bytes()).into_owned();
    RawValue::from_string(text).unwrap_or_else(|_| RawValue::NULL.to_owned())
}
