//! Commands that read the session.

use osier_engine::nested_tree_json;
use osier_protocol::entry_view::{EntryContent, MessageView, ReplyBlockView};
use osier_protocol::tokens::TokenCount;
use osier_protocol::{ClientError, EntryId, EntryLine, Seq};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::models::{model_json, supported_level};
use crate::response::{CommandResult, response_data};
use crate::session::RpcSession;
use crate::stored_entry::without_nulls;

impl RpcSession {
    pub(crate) async fn state(&self) -> CommandResult {
        let (details, status) = (self.client.model_details().await?, self.client.status().await?);
        let messages = self.client.message_count().await?;
        let is_running = self.client.attach(None).await?.state.turn_running;
        let translator = self.translator.lock().await;
        response_data(&without_nulls(json!({
            "model": model_json(&details.current),
            "thinkingLevel": supported_level(&details.current, status.thinking),
            "isStreaming": is_running,
            "isCompacting": translator.is_compacting(),
            "steeringMode": "one-at-a-time",
            "followUpMode": "one-at-a-time",
            "sessionFile": self.info.file,
            "sessionId": self.info.id,
            "sessionName": status.name,
            "autoCompactionEnabled": details.automatic_compaction,
            "messageCount": messages,
            "pendingMessageCount": translator.queue.len(),
        })))
    }

    pub(crate) async fn messages(&self) -> CommandResult {
        response_data(&json!({ "messages": self.client.context().await? }))
    }

    pub(crate) async fn entries(&self, since: Option<EntryId>) -> CommandResult {
        let mut entries: Vec<Box<RawValue>> = Vec::new();
        let leaf_id =
            self.for_each_page(since, |page| entries.extend(page.iter().filter_map(raw_entry))).await?;
        response_data(&EntryList { entries, leaf_id })
    }

    pub(crate) async fn tree(&self) -> CommandResult {
        let snapshot = self.client.tree().await?;
        let mut entries: Vec<Option<Box<RawValue>>> = Vec::new();
        let leaf_id = self.for_each_page(None, |page| entries.extend(page.iter().map(raw_entry))).await?;
        let json = |seq: Seq| match entries.get(seq.index()) {
            Some(Some(entry)) => entry.get().as_bytes(),
            _ => b"null",
        };
        let tree = String::from_utf8(nested_tree_json(&snapshot.tree, json)).unwrap_or_default();
        response_data(&NestedTree { tree: RawValue::from_string(tree).ok(), leaf_id })
    }

    /// Reads all entries, or those after `since`, page by page. Returns the leaf.
    async fn for_each_page(
        &self,
        mut since: Option<EntryId>,
        mut read: impl FnMut(&[EntryLine]),
    ) -> Result<Option<EntryId>, ClientError> {
        loop {
            let page = self.client.entries(since).await?;
            read(&page.entries);
            if page.next.is_none() {
                return Ok(page.leaf_id);
            }
            since = page.next;
        }
    }

    pub(crate) async fn last_assistant_text(&self) -> CommandResult {
        let text = self.last_reply_text().await?.filter(|text| !text.is_empty());
        response_data(&json!({ "text": text }))
    }

    /// The text of the last reply. Reads no more of the path than is needed to find it.
    async fn last_reply_text(&self) -> Result<Option<String>, ClientError> {
        let mut limit = 16;
        loop {
            let path = self.client.path(Some(limit)).await?;
            let found = path.entries.iter().rev().find_map(reply_text);
            if found.is_some() || path.hidden_entries == 0 {
                return Ok(found);
            }
            limit *= 4;
        }
    }

    pub(crate) async fn fork_messages(&self) -> CommandResult {
        let mut points = self.client.fork_points(false).await?;
        points.reverse();
        let message =
            |point: &osier_protocol::query::ForkPoint| json!({ "entryId": point.id, "text": point.text });
        response_data(&json!({ "messages": points.iter().map(message).collect::<Vec<_>>() }))
    }

    pub(crate) async fn commands(&self) -> CommandResult {
        let commands = self.client.commands().await?;
        let describe = |command: &osier_protocol::query::PromptCommand| json!({ "name": command.name, "description": command.description, "source": command.source });
        response_data(&json!({ "commands": commands.iter().map(describe).collect::<Vec<_>>() }))
    }

    pub(crate) async fn stats(&self) -> CommandResult {
        let (usage, status) = (self.client.usage().await?, self.client.status().await?);
        let mut counts = MessageCounts::default();
        self.for_each_page(None, |page| counts.add(page)).await?;
        let total = &usage.session;
        let context = match status.context {
            TokenCount { tokens, .. } if status.context_window > 0 => json!({
                "tokens": tokens,
                "contextWindow": status.context_window,
                "percent": tokens as f64 / status.context_window as f64 * 100.0,
            }),
            _ => Value::Null,
        };
        response_data(&without_nulls(json!({
            "sessionFile": self.info.file,
            "sessionId": self.info.id,
            "userMessages": counts.user,
            "assistantMessages": counts.assistant,
            "toolCalls": counts.calls,
            "toolResults": counts.results,
            "totalMessages": counts.total,
            "tokens": {
                "input": total.input,
                "output": total.output,
                "cacheRead": total.cache_read,
                "cacheWrite": total.cache_write,
                "total": total.input + total.output + total.cache_read + total.cache_write,
            },
            "cost": total.cost,
            "contextUsage": context,
        })))
    }
}

/// Entries as they are stored.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct EntryList {
    entries: Vec<Box<RawValue>>,
    leaf_id: Option<EntryId>,
}

/// A tree whose nodes contain their children. It is as deep as the session is long, so it must stay text: a [`Value`] can be
/// 128 levels deep.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct NestedTree {
    tree: Option<Box<RawValue>>,
    leaf_id: Option<EntryId>,
}

/// The messages of a session, by role.
#[derive(Debug, Default)]
struct MessageCounts {
    user: usize,
    assistant: usize,
    calls: usize,
    results: usize,
    total: usize,
}

impl MessageCounts {
    fn add(&mut self, entries: &[EntryLine]) {
        let messages = entries.iter().filter_map(|entry| match &entry.view()?.content {
            EntryContent::Message(message) => Some(message),
            _ => None,
        });
        for message in messages {
            self.total += 1;
            match message {
                MessageView::User(_) => self.user += 1,
                MessageView::Assistant(reply) => {
                    self.assistant += 1;
                    self.calls += reply.calls().count();
                }
                MessageView::ToolResult(_) => self.results += 1,
                _ => {}
            }
        }
    }
}

/// The text of an entry that is a reply. As in pi, one that was canceled before it began does not count.
fn reply_text(entry: &EntryLine) -> Option<String> {
    let EntryContent::Message(MessageView::Assistant(reply)) = &entry.view()?.content else { return None };
    let is_empty = reply.blocks.is_empty() && reply.stop_reason.as_deref() == Some("aborted");
    let texts = reply.blocks.iter().filter_map(|block| match block {
        ReplyBlockView::Text(text) => Some(text.as_str()),
        _ => None,
    });
    (!is_empty).then(|| texts.collect::<String>().trim().to_owned())
}

/// An entry as it is stored.
fn raw_entry(entry: &EntryLine) -> Option<Box<RawValue>> {
    RawValue::from_string(String::from_utf8_lossy(entry.bytes()).into_owned()).ok()
}
