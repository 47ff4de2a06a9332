//! Cards: the summary of a session that session lists show. Updated entry by entry, without reading the log again.

mod first_message;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::preview::display_text;
use super::usage::UsageTotals;
use crate::entry::{Entry, EntryKind, MessageRole};
use crate::header::Header;
use crate::heads::{Heads, Seq};
use crate::scan::RawJson;
use crate::short_ids::first_eight;
use crate::time::Millis;
use first_message::FirstMessageTracker;

/// Incremented whenever the same log gives a different card. Stored cards of other versions are rebuilt.
pub const CARD_VERSION: u32 = 3;

/// The maximum length of the first message in a card, in characters.
const FIRST_MESSAGE_CHARS: usize = 200;

/// Valid times in milliseconds: up to the year 9999, the last that the time format supports.
const VALID_TIMES: RangeInclusive<f64> = 0.0..=253_402_300_799_999.0;

/// The summary of a session for session lists. It has many fields because a list shows all of them without opening the session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    pub id: String,
    /// The first eight characters of `id`, or in a list as many as are needed to be unique.
    pub short_id: String,
    pub store: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub cwd: String,
    pub agent_id: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The session's setting `summary`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    pub first_message: String,
    pub message_count: u64,
    pub entry_count: u64,
    /// The number of branch tips in the conversation.
    pub branches: u64,
    #[serde(with = "iso")]
    #[schemars(with = "String")]
    pub created: Millis,
    /// The time of the last user or assistant message.
    #[serde(with = "iso")]
    #[schemars(with = "String")]
    pub modified: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// The call of the parent session that delegated a task to this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_tool_call_id: Option<String>,
    pub leaf_id: Option<String>,
    pub tokens: u64,
    pub cost: f64,
}

impl Card {
    pub fn new(header: &Header, store: &str) -> Card {
        let created = header.created.unwrap_or_default();
        Card {
            id: header.id.clone(),
            short_id: first_eight(&header.id).to_owned(),
            store: store.to_owned(),
            cwd: header.cwd.clone(),
            agent_id: header.agent_id.clone().unwrap_or_else(|| "main".to_owned()),
            created,
            modified: created,
            parent_session: header.parent_session.clone(),
            parent_session_id: header.parent_session_id.clone(),
            parent_tool_call_id: header.parent_tool_call_id.clone(),
            ..Card::default()
        }
    }

    /// Whether a model delegated a task to this session. A fork has a parent too, but no call.
    pub fn is_subagent(&self) -> bool {
        self.parent_session_id.is_some() && self.parent_tool_call_id.is_some()
    }

    /// Whether this is a sub-agent session of a session with the id of `parent`, in whatever store. The header tells which
    /// store the parent is in.
    pub fn is_subagent_of(&self, parent: &Card) -> bool {
        self.is_subagent() && self.parent_session_id.as_ref() == Some(&parent.id)
    }

    /// The title to show: the name, else the summary, else the first message.
    pub fn title(&self) -> &str {
        let given = [self.name.as_deref(), self.summary.as_deref(), Some(&*self.first_message)];
        given.into_iter().flatten().find(|title| !title.trim().is_empty()).unwrap_or("(no messages)")
    }
}

/// Updates a card as entries arrive.
#[derive(Debug, Clone)]
pub struct CardFold {
    card: Card,
    /// The agent named in the header.
    header_agent: String,
    /// For each anchor, whether the conversation already continues below it.
    continued: Vec<bool>,
    has_root: bool,
    /// There is a user or assistant message, so `modified` is no longer the header's time.
    has_messages: bool,
    /// `None` if the fold resumed from a card and did not see the beginning of the log.
    first_message: Option<FirstMessageTracker>,
    needs_rebuild: bool,
}

impl CardFold {
    pub fn new(card: Card) -> CardFold {
        CardFold {
            header_agent: card.agent_id.clone(),
            card,
            continued: Vec::new(),
            has_root: false,
            has_messages: false,
            first_message: Some(FirstMessageTracker::default()),
            needs_rebuild: false,
        }
    }

    /// Resumes from a card that covers the first entries of `heads`.
    pub fn resume(card: Card, heads: &Heads) -> CardFold {
        let covered = card.entry_count as usize;
        let mut fold = CardFold::new(card);
        fold.first_message = None;
        for (_, head) in heads.iter().take(covered).filter(|(_, head)| head.kind.reaches_context()) {
            fold.mark_continued(heads.anchor(head.parent));
            fold.has_messages |= matches!(head.role, MessageRole::User | MessageRole::Assistant);
        }
        fold
    }

    /// Records that the conversation continues below a place. Returns true if it already did, so a branch starts here.
    fn mark_continued(&mut self, position: Option<Seq>) -> bool {
        let Some(position) = position else { return std::mem::replace(&mut self.has_root, true) };
        if self.continued.len() <= position.index() {
            self.continued.resize(position.index() + 1, false);
        }
        std::mem::replace(&mut self.continued[position.index()], true)
    }

    /// Adds the entry that was just appended to `heads` as `seq`.
    pub fn feed(&mut self, entry: &Entry<'_>, seq: Seq, heads: &Heads) {
        let head = heads.get(seq);
        self.card.entry_count += 1;
        self.set_leaf(heads.leaf_after(seq), heads);
        if head.kind.reaches_context() {
            let is_branch = self.mark_continued(heads.anchor(head.parent));
            if is_branch || self.card.branches == 0 {
                self.card.branches += 1;
            }
        }
        self.feed_first_message(entry, seq, heads);
        match entry.kind {
            EntryKind::Message => self.feed_message(entry),
            EntryKind::SessionInfo => {
                let name = entry.get("name").and_then(RawJson::text);
                self.card.name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
            }
            EntryKind::Config => self.feed_settings(entry),
            EntryKind::Usage
            | EntryKind::Compaction
            | EntryKind::BranchSummary
            | EntryKind::SubagentResult => {
                self.add_usage(entry.get("usage"));
            }
            _ => {}
        }
    }

    fn set_leaf(&mut self, leaf: Option<Seq>, heads: &Heads) {
        let Some(leaf) = leaf else {
            self.card.leaf_id = None;
            return;
        };
        // Reuse the string, because every entry sets it.
        let leaf_id = self.card.leaf_id.get_or_insert_default();
        leaf_id.clear();
        leaf_id.push_str(heads.id(leaf).as_str());
    }

    fn feed_message(&mut self, entry: &Entry<'_>) {
        if entry.message.is_none() {
            return;
        }
        self.card.message_count += u64::from(entry.role != MessageRole::System);
        self.add_usage(entry.message_parts.usage);
        if !matches!(entry.role, MessageRole::User | MessageRole::Assistant) {
            return;
        }
        let said_at =
            entry.message_parts.timestamp.and_then(RawJson::number).filter(|time| VALID_TIMES.contains(time));
        let said_at = said_at.map(|time| time as Millis).or(entry.time);
        if let Some(said_at) = said_at {
            // A fork is created later than the messages copied into it.
            let before = if self.has_messages { self.card.modified } else { Millis::MIN };
            self.card.modified = before.max(said_at);
            self.has_messages = true;
        }
    }

    /// Deleting a branch may change the first message. A fold that has not seen the beginning of the log needs a rebuild.
    fn feed_first_message(&mut self, entry: &Entry<'_>, seq: Seq, heads: &Heads) {
        let words = (entry.role == MessageRole::User).then_some(|| first_message_text(entry));
        let changes_all = matches!(entry.kind, EntryKind::DeleteBranch | EntryKind::RestoreBranch);
        let Some(first) = &mut self.first_message else {
            self.needs_rebuild |= changes_all || words.is_some() && self.card.first_message.is_empty();
            return;
        };
        let is_user_message = words.is_some();
        first.add_entry(seq, heads, words);
        match (entry.kind, heads.get(seq).target) {
            (EntryKind::DeleteBranch, Some(branch)) => first.delete(branch),
            (EntryKind::RestoreBranch, Some(branch)) => first.restore(branch),
            _ => {}
        }
        if changes_all || is_user_message && self.card.first_message.is_empty() {
            self.card.first_message = first.text().to_owned();
        }
    }

    fn feed_settings(&mut self, entry: &Entry<'_>) {
        let Some(data) = entry.get("data") else { return };
        if let Some(summary) = data.get("set").and_then(|set| set.get("summary")) {
            self.card.summary = summary.text().map(String::from);
        }
        if let Some(agent) = data.get("set").and_then(|set| set.get("agentId")).and_then(RawJson::text) {
            self.card.agent_id = agent.into_owned();
        }
        if let Some(unset) = data.get("unset") {
            unset.each_item(|key| match key.text().as_deref() {
                Some("summary") => self.card.summary = None,
                // The original agent is in the header, which a resumed card does not have.
                Some("agentId") => match &self.first_message {
                    Some(_) => self.card.agent_id.clone_from(&self.header_agent),
                    None => self.needs_rebuild = true,
                },
                _ => {}
            });
        }
    }

    fn add_usage(&mut self, usage: Option<RawJson<'_>>) {
        let Some(usage) = usage.and_then(UsageTotals::parse) else { return };
        self.card.tokens = self.card.tokens.saturating_add(usage.total_tokens);
        self.card.cost = (self.card.cost + usage.cost).min(f64::MAX);
    }

    pub fn card(&self) -> &Card {
        &self.card
    }

    /// The fold resumed from a card and met an entry that needs the beginning of the log. Rebuild the card.
    pub fn needs_rebuild(&self) -> bool {
        self.needs_rebuild
    }
}

/// The beginning of a message's shown text, as one line.
fn first_message_text(entry: &Entry<'_>) -> String {
    let full_text = || entry.message.map(message_text).unwrap_or_default();
    let shown = display_text(entry).map_or_else(full_text, Cow::into_owned);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(FIRST_MESSAGE_CHARS).collect()
}

/// The text of a message: its text blocks joined with spaces.
pub fn message_text(message: RawJson<'_>) -> String {
    let Some(content) = message.get("content") else { return String::new() };
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    let mut parts = Vec::new();
    content.each_item(|block| {
        if block.get("type").and_then(RawJson::text).as_deref() == Some("text") {
            parts.extend(block.get("text").and_then(RawJson::text).map(String::from));
        }
    });
    parts.join(" ")
}

/// Serializes times as ISO 8601 text.
mod iso {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::time::{self, Millis};

    pub(super) fn serialize<S: Serializer>(millis: &Millis, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&time::format(*millis))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Millis, D::Error> {
        let text = String::deserialize(deserializer)?;
        time::parse(&text).ok_or_else(|| serde::de::Error::custom("not a time"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::parse_entry;

    fn card(lines: &[&str]) -> Card {
        let mut header = Header::new("4f89da11-5e7b", 5_000, "/code");
        header.parent_session_id = Some("parent".to_owned());
        let mut fold = CardFold::new(Card::new(&header, "file"));
        let mut heads = Heads::default();
        for line in lines {
            let entry = parse_entry(line.as_bytes()).unwrap();
            let seq = heads.append(&entry, 0, 0);
            fold.feed(&entry, seq, &heads);
        }
        fold.card().clone()
    }

    #[test]
    fn modified_is_the_time_of_the_last_message() {
        assert_eq!(card(&[]).modified, 5_000);
        let message = |id: &str, time: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","timestamp":"1970-01-01T00:00:02.000Z","message":{{"role":"user","timestamp":{time}}}}}"#
            )
        };
        assert_eq!(
            card(&[&message("1", "3000")]).modified,
            3_000,
            "a fork is created later than the messages copied into it"
        );
        assert_eq!(card(&[&message("1", "3000"), &message("2", "1000")]).modified, 3_000);
        assert_eq!(card(&[&message("1", "1e300")]).modified, 2_000, "an invalid time is ignored");
        let label =
            r#"{"type":"label","id":"2","timestamp":"1980-01-01T00:00:00.000Z","targetId":"1","label":"x"}"#;
        assert_eq!(card(&[&message("1", "3000"), label]).modified, 3_000);
    }

    #[test]
    fn a_system_prompt_is_not_counted_as_a_message() {
        let message = |id: &str, role: &str| {
            format!(r#"{{"type":"message","id":"{id}","message":{{"role":"{role}","content":"x"}}}}"#)
        };
        let card = card(&[&message("1", "system"), &message("2", "user"), &message("3", "assistant")]);
        assert_eq!((card.message_count, card.entry_count), (2, 3));
    }

    #[test]
    fn the_first_message_is_the_first_one_that_is_not_deleted() {
        let line = |id: &str, parent: &str, rest: &str| {
            format!(r#"{{"id":"{id}","parentId":{parent},"timestamp":"1970-01-01T00:00:00.000Z",{rest}}}"#)
        };
        let message = |id, parent: &str, text| {
            line(id, parent, &format!(r#""type":"message","message":{{"role":"user","content":"{text}"}}"#))
        };
        let mark = |id, kind: &str, target: &str| {
            line(
                id,
                "null",
                &format!(
                    r#""type":"custom","customType":"osier.{kind}_branch","data":{{"targetId":"{target}"}}"#
                ),
            )
        };
        let lines = [
            line("0", "null", r#""type":"custom","customType":"x""#),
            message("1", "\"0\"", ""),
            message("2", "\"1\"", "first"),
            message("3", "\"2\"", "below"),
            message("4", "null", "second"),
            mark("5", "delete", "2"),
            mark("6", "delete", "0"),
            mark("7", "restore", "2"),
            mark("8", "delete", "4"),
            message("9", "\"4\"", "below it"),
            mark("a", "restore", "0"),
        ];
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let first: Vec<String> = (0..=lines.len()).map(|count| card(&lines[..count]).first_message).collect();
        assert_eq!(
            first,
            ["", "", "", "first", "first", "first", "second", "second", "second", "", "", "first"]
        );
    }

    #[test]
    fn a_cycle_of_parents_is_walked_once() {
        let a = r#"{"type":"custom","id":"a","parentId":"b"}"#;
        let b = r#"{"type":"custom","id":"b","parentId":"a"}"#;
        let message =
            r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"hello"}}"#;
        assert_eq!(card(&[a, b, message]).first_message, "hello");
    }

    #[test]
    fn huge_numbers_leave_a_card_that_can_be_stored() {
        let usage = r#"{"type":"usage","id":"1","usage":{"totalTokens":1e30,"cost":{"total":1e308}}}"#;
        let card = card(&[usage, usage, usage]);
        let kept = serde_json::to_string(&card).unwrap();
        assert_eq!(serde_json::from_str::<Card>(&kept).unwrap(), card);
    }
}
