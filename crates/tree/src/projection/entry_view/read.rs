//! Reads the content of an entry.

use std::borrow::Cow;

use serde_json::Value;

use super::{
    AssistantView, BacktrackView, BranchSummaryView, ChangeView, CompactionView, CustomMessageView,
    EntryContent, EntryView, MessageView, OtherMessageView, ReplyBlockView, ToolCallView, ToolResultView,
    UserCommandView, UserMessageView,
};
use crate::entry::{Entry, EntryKind, MessageRole, flag};
use crate::projection::preview::{
    RawToolCall, content_text, count_images, each_block, full_text, message_field, shown_text,
};
use crate::projection::usage::UsageTotals;
use crate::scan::RawJson;

pub(super) fn entry_view(entry: &Entry<'_>) -> EntryView {
    let fields = Fields(entry);
    EntryView {
        id: (&*entry.id).into(),
        parent_id: entry.parent.as_deref().map(Into::into),
        kind: entry.kind,
        role: entry.role,
        reason: entry.reason,
        time: entry.time,
        in_context: in_context(entry, &fields),
        content: content(entry, &fields),
    }
}

/// The fields of the message, or of the entry if it has no message.
struct Fields<'e, 'a>(&'e Entry<'a>);

impl<'a> Fields<'_, 'a> {
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

    fn number(&self, key: &str) -> Option<f64> {
        self.get(key).and_then(RawJson::number)
    }

    fn images(&self) -> usize {
        count_images(self.get("content"))
    }
}

fn in_context(entry: &Entry<'_>, fields: &Fields<'_, '_>) -> bool {
    let never = matches!(entry.kind, EntryKind::SubagentBatch | EntryKind::SubagentResult);
    let excluded = entry.role == MessageRole::BashExecution && fields.is_true("excludeFromContext");
    !never && !excluded && entry.flags & flag::NOT_SENT == 0
}

fn content(entry: &Entry<'_>, fields: &Fields<'_, '_>) -> EntryContent {
    match entry.kind {
        EntryKind::Message => EntryContent::Message(message(entry, fields)),
        EntryKind::CustomMessage => EntryContent::Message(MessageView::Custom(custom(fields))),
        EntryKind::Compaction => EntryContent::Compaction(CompactionView {
            summary: fields.text("summary"),
            tokens_before: fields.number("tokensBefore").map(|tokens| tokens as u64),
        }),
        EntryKind::BranchSummary => EntryContent::BranchSummary(BranchSummaryView {
            summary: fields.text("summary"),
            from_id: fields.optional_text("fromId"),
            from_hook: fields.is_true("fromHook"),
        }),
        EntryKind::Backtrack => EntryContent::Backtrack(backtrack(fields)),
        EntryKind::SubagentBatch | EntryKind::SubagentResult => {
            EntryContent::Subagents(super::subagents::read(entry))
        }
        EntryKind::ModelChange => EntryContent::Change(ChangeView::Model {
            provider: fields.text("provider"),
            model: fields.text("modelId"),
        }),
        EntryKind::ThinkingLevelChange => {
            EntryContent::Change(ChangeView::ThinkingLevel(fields.text("thinkingLevel")))
        }
        EntryKind::Custom => EntryContent::Custom { custom_type: fields.text("customType") },
        EntryKind::EntryUpdate => {
            let status = fields.get("data").and_then(|data| data.get("status")).and_then(RawJson::text);
            EntryContent::Update { status: status.map(Cow::into_owned).unwrap_or_default() }
        }
        _ => EntryContent::Other,
    }
}

fn message(entry: &Entry<'_>, fields: &Fields<'_, '_>) -> MessageView {
    match entry.role {
        MessageRole::User => MessageView::User(UserMessageView {
            text: shown_text(entry).into_owned(),
            images: fields.images(),
        }),
        MessageRole::Assistant => MessageView::Assistant(assistant(fields)),
        MessageRole::ToolResult => MessageView::ToolResult(tool_result(fields)),
        MessageRole::BashExecution => MessageView::UserCommand(user_command(fields)),
        MessageRole::Custom => MessageView::Custom(custom(fields)),
        role => MessageView::Other(OtherMessageView {
            role_name: if role == MessageRole::Unknown {
                fields.text("role")
            } else {
                role.name().to_owned()
            },
            text: full_text(entry),
            images: fields.images(),
        }),
    }
}

fn assistant(fields: &Fields<'_, '_>) -> AssistantView {
    let mut blocks = Vec::new();
    if let Some(content) = fields.get("content") {
        match content.text() {
            Some(text) => blocks.push(ReplyBlockView::Text(text.into_owned())),
            None => each_block(content, |kind, block| blocks.extend(reply_block(kind, block))),
        }
    }
    AssistantView {
        blocks,
        provider: fields.optional_text("provider"),
        model: fields.optional_text("responseModel").or_else(|| fields.optional_text("model")),
        stop_reason: fields.optional_text("stopReason"),
        error: fields.optional_text("errorMessage"),
        usage: fields.get("usage").and_then(UsageTotals::parse),
    }
}

fn reply_block(kind: &str, block: RawJson<'_>) -> Option<ReplyBlockView> {
    let text = |key| block.get(key).and_then(RawJson::text).map(Cow::into_owned);
    match kind {
        "text" => text("text").map(ReplyBlockView::Text),
        "thinking" => text("thinking").map(ReplyBlockView::Thinking),
        _ => RawToolCall::parse_block(block).map(|(id, call)| {
            ReplyBlockView::Call(ToolCallView {
                id: id.into_owned(),
                name: call.name.into_owned(),
                arguments: json_value(call.arguments),
            })
        }),
    }
}

fn tool_result(fields: &Fields<'_, '_>) -> ToolResultView {
    ToolResultView {
        call_id: fields.text("toolCallId"),
        tool_name: fields.text("toolName"),
        is_error: fields.is_true("isError"),
        text: content_text(fields.get("content"), "\n"),
        images: fields.images(),
        details: fields.get("details").map(json_value).unwrap_or_default(),
    }
}

fn user_command(fields: &Fields<'_, '_>) -> UserCommandView {
    UserCommandView {
        command: fields.text("command"),
        output: fields.text("output"),
        exit_code: fields.number("exitCode").map(|code| code as i64),
        cancelled: fields.is_true("cancelled"),
        truncated: fields.is_true("truncated"),
        full_output_path: fields.optional_text("fullOutputPath"),
    }
}

fn custom(fields: &Fields<'_, '_>) -> CustomMessageView {
    CustomMessageView {
        custom_type: fields.text("customType"),
        text: content_text(fields.get("content"), "\n"),
        images: fields.images(),
        display: !fields.get("display").is_some_and(RawJson::is_false),
    }
}

fn backtrack(fields: &Fields<'_, '_>) -> BacktrackView {
    let details = fields.get("details");
    let detail = |key: &str| details.and_then(|details| details.get(key));
    let text = |key| detail(key).and_then(RawJson::text).map(Cow::into_owned);
    let number = |key| detail(key).and_then(RawJson::number).map(|number| number as u64);
    BacktrackView {
        checkpoint_id: number("checkpointId"),
        // Without details, use the text of the message.
        note: text("note").unwrap_or_else(|| full_text(fields.0)),
        addendum: text("addendum").unwrap_or_default(),
        from_id: text("fromId"),
        original_user_message: text("originalUserMessage").unwrap_or_default(),
        discarded: number("discarded").unwrap_or_default(),
    }
}

fn json_value(json: RawJson<'_>) -> Value {
    serde_json::from_str(&String::from_utf8_lossy(json.bytes())).unwrap_or_default()
}
