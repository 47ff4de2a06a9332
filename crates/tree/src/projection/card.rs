//! The card: what a list of sessions shows of one. Kept up to date entry by entry, never by reading the log again.

mod first;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::preview::display_text;
use super::usage::Usage;
use crate::entry::{Entry, Kind, Role};
use crate::header::Header;
use crate::heads::{Heads, Seq};
use crate::scan::Raw;
use crate::short_ids::first_eight;
use crate::time::Millis;
use first::First;

/// Raised whenever the same log gives a different card. A stored card of another version is made again.
pub const CARD_VERSION: u32 = 2;

/// How much of the first message a card keeps.
const FIRST_WORDS: usize = 200;

/// Times in milliseconds that can be written down: up to the year 9999.
const TIMES: RangeInclusive<f64> = 0.0..=253_402_300_799_999.0;

/// See the module.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    pub id: String,
    /// The first eight characters of `id`. In a list, as many more as tell it apart from all other sessions.
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
    /// How many ends the conversation has.
    pub branches: u64,
    #[serde(with = "iso")]
    pub created: Millis,
    /// The last thing a user or an assistant said.
    #[serde(with = "iso")]
    pub modified: Millis,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
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
            ..Card::default()
        }
    }

    /// Whether it may belong to the work of another session of the same store: that of another agent. Whether it is a fork
    /// from before the agent was changed, only the headers tell.
    pub fn is_subagent_of(&self, parent: &Card) -> bool {
        self.store == parent.store
            && self.parent_session_id.as_ref() == Some(&parent.id)
            && self.agent_id != parent.agent_id
    }

    /// What a person calls the session: its name, else its summary, else its first words.
    pub fn title(&self) -> &str {
        let given = [self.name.as_deref(), self.summary.as_deref(), Some(&*self.first_message)];
        given.into_iter().flatten().find(|title| !title.trim().is_empty()).unwrap_or("(no messages)")
    }
}

/// Keeps a card while entries arrive.
#[derive(Debug, Clone)]
pub struct CardFold {
    card: Card,
    /// The agent that the header names.
    agent: String,
    /// Entries below which the conversation already goes on, by the first entry at or above them that is part of it.
    continued: Vec<bool>,
    from_the_start: bool,
    /// Somebody said something, so `modified` is more than the header's time.
    said: bool,
    /// `None` if the beginning of the log was not seen.
    first: Option<First>,
    is_doubtful: bool,
}

impl CardFold {
    pub fn new(card: Card) -> CardFold {
        CardFold {
            agent: card.agent_id.clone(),
            card,
            continued: Vec::new(),
            from_the_start: false,
            said: false,
            first: Some(First::default()),
            is_doubtful: false,
        }
    }

    /// Goes on from a card that covers the first entries of `heads`.
    pub fn resume(card: Card, heads: &Heads) -> CardFold {
        let covered = card.entry_count as usize;
        let mut fold = CardFold::new(card);
        fold.first = None;
        for (_, head) in heads.iter().take(covered).filter(|(_, head)| head.kind.reaches_context()) {
            fold.goes_on_from(heads.anchor(head.parent));
            fold.said |= matches!(head.role, Role::User | Role::Assistant);
        }
        fold
    }

    /// Notes that the conversation goes on from a place; tells whether it did so before, hence branches here.
    fn goes_on_from(&mut self, place: Option<Seq>) -> bool {
        let Some(place) = place else { return std::mem::replace(&mut self.from_the_start, true) };
        if self.continued.len() <= place.index() {
            self.continued.resize(place.index() + 1, false);
        }
        std::mem::replace(&mut self.continued[place.index()], true)
    }

    /// Takes in the entry that `heads` just took in as `seq`.
    pub fn feed(&mut self, entry: &Entry<'_>, seq: Seq, heads: &Heads) {
        let head = heads.get(seq);
        self.card.entry_count += 1;
        self.card.leaf_id = heads.leaf_after(seq).map(|leaf| heads.id(leaf).to_string());
        if head.kind.reaches_context() {
            let parts = self.goes_on_from(heads.anchor(head.parent));
            if parts || self.card.branches == 0 {
                self.card.branches += 1;
            }
        }
        self.feed_first(entry, seq, heads);
        match entry.kind {
            Kind::Message => self.feed_message(entry),
            Kind::SessionInfo => {
                let name = entry.get("name").and_then(Raw::text);
                self.card.name = name.map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
            }
            Kind::Config => self.feed_settings(entry),
            Kind::Usage | Kind::Compaction | Kind::BranchSummary => {
                self.spend(entry.get("usage"));
            }
            _ => {}
        }
    }

    fn feed_message(&mut self, entry: &Entry<'_>) {
        let Some(message) = entry.message else { return };
        self.card.message_count += u64::from(entry.role != Role::System);
        self.spend(message.get("usage"));
        if !matches!(entry.role, Role::User | Role::Assistant) {
            return;
        }
        let said_at = message.get("timestamp").and_then(Raw::number).filter(|time| TIMES.contains(time));
        let said_at = said_at.map(|time| time as Millis).or(entry.time);
        if let Some(said_at) = said_at {
            // A fork is younger than what was said in it.
            let before = if self.said { self.card.modified } else { Millis::MIN };
            self.card.modified = before.max(said_at);
            self.said = true;
        }
    }

    /// Who said the first words may change with what is deleted; without having seen the beginning nobody can tell.
    fn feed_first(&mut self, entry: &Entry<'_>, seq: Seq, heads: &Heads) {
        let words = (entry.role == Role::User).then_some(|| first_words(entry));
        let changes_all = matches!(entry.kind, Kind::DeleteBranch | Kind::RestoreBranch);
        let Some(first) = &mut self.first else {
            self.is_doubtful |= changes_all || words.is_some() && self.card.first_message.is_empty();
            return;
        };
        let speaks = words.is_some();
        first.take(seq, heads, words);
        match (entry.kind, heads.get(seq).target) {
            (Kind::DeleteBranch, Some(branch)) => first.delete(branch),
            (Kind::RestoreBranch, Some(branch)) => first.restore(branch),
            _ => {}
        }
        if changes_all || speaks && self.card.first_message.is_empty() {
            self.card.first_message = first.words().to_owned();
        }
    }

    fn feed_settings(&mut self, entry: &Entry<'_>) {
        let Some(data) = entry.get("data") else { return };
        if let Some(summary) = data.get("set").and_then(|set| set.get("summary")) {
            self.card.summary = summary.text().map(String::from);
        }
        if let Some(agent) = data.get("set").and_then(|set| set.get("agentId")).and_then(Raw::text) {
            self.card.agent_id = agent.into_owned();
        }
        if let Some(unset) = data.get("unset") {
            unset.each_item(|key| match key.text().as_deref() {
                Some("summary") => self.card.summary = None,
                // Who had it at first is in the header, which a card that is gone on from does not tell.
                Some("agentId") => match &self.first {
                    Some(_) => self.card.agent_id.clone_from(&self.agent),
                    None => self.is_doubtful = true,
                },
                _ => {}
            });
        }
    }

    fn spend(&mut self, usage: Option<Raw<'_>>) {
        let Some(usage) = usage.and_then(Usage::read) else { return };
        self.card.tokens = self.card.tokens.saturating_add(usage.total_tokens);
        self.card.cost = (self.card.cost + usage.cost).min(f64::MAX);
    }

    pub fn card(&self) -> &Card {
        &self.card
    }

    /// It went on from a card and met what only the beginning of the log could tell; then the card must be made anew.
    pub fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }
}

/// The beginning of what a message shows, as one line.
fn first_words(entry: &Entry<'_>) -> String {
    let said = || entry.message.map(text_of).unwrap_or_default();
    let shown = display_text(entry).map_or_else(said, Cow::into_owned);
    let words = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().take(FIRST_WORDS).collect()
}

/// What a message says, its text blocks joined by a blank.
pub fn text_of(message: Raw<'_>) -> String {
    let Some(content) = message.get("content") else { return String::new() };
    if let Some(text) = content.text() {
        return text.into_owned();
    }
    let mut parts = Vec::new();
    content.each_item(|block| {
        if block.get("type").and_then(Raw::text).as_deref() == Some("text") {
            parts.extend(block.get("text").and_then(Raw::text).map(String::from));
        }
    });
    parts.join(" ")
}

/// Times as ISO text.
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
    use crate::entry::read_entry;

    fn card(lines: &[&str]) -> Card {
        let mut header = Header::new("4f89da11-5e7b", 5_000, "/code");
        header.parent_session_id = Some("parent".to_owned());
        let mut fold = CardFold::new(Card::new(&header, "file"));
        let mut heads = Heads::default();
        for line in lines {
            let entry = read_entry(line.as_bytes()).unwrap();
            let seq = heads.append(&entry, 0, 0);
            fold.feed(&entry, seq, &heads);
        }
        fold.card().clone()
    }

    #[test]
    fn a_session_was_used_last_when_somebody_last_spoke_in_it() {
        assert_eq!(card(&[]).modified, 5_000);
        let said = |id: &str, time: &str| {
            format!(
                r#"{{"type":"message","id":"{id}","timestamp":"1970-01-01T00:00:02.000Z","message":{{"role":"user","timestamp":{time}}}}}"#
            )
        };
        assert_eq!(card(&[&said("1", "3000")]).modified, 3_000, "a fork is younger than what was said in it");
        assert_eq!(card(&[&said("1", "3000"), &said("2", "1000")]).modified, 3_000);
        assert_eq!(card(&[&said("1", "1e300")]).modified, 2_000, "what is no time is not taken for one");
        let label =
            r#"{"type":"label","id":"2","timestamp":"1980-01-01T00:00:00.000Z","targetId":"1","label":"x"}"#;
        assert_eq!(card(&[&said("1", "3000"), label]).modified, 3_000);
    }

    #[test]
    fn the_stored_system_prompt_does_not_count_as_a_message() {
        let said = |id: &str, role: &str| {
            format!(r#"{{"type":"message","id":"{id}","message":{{"role":"{role}","content":"x"}}}}"#)
        };
        let card = card(&[&said("1", "system"), &said("2", "user"), &said("3", "assistant")]);
        assert_eq!((card.message_count, card.entry_count), (2, 3));
    }

    #[test]
    fn the_first_words_are_those_that_are_not_deleted() {
        let line = |id: &str, parent: &str, rest: &str| {
            format!(r#"{{"id":"{id}","parentId":{parent},"timestamp":"1970-01-01T00:00:00.000Z",{rest}}}"#)
        };
        let said = |id, parent: &str, text| {
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
            said("1", "\"0\"", ""),
            said("2", "\"1\"", "first"),
            said("3", "\"2\"", "below"),
            said("4", "null", "second"),
            mark("5", "delete", "2"),
            mark("6", "delete", "0"),
            mark("7", "restore", "2"),
            mark("8", "delete", "4"),
            said("9", "\"4\"", "below it"),
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
    fn parents_that_run_in_a_circle_are_gone_round_once() {
        let a = r#"{"type":"custom","id":"a","parentId":"b"}"#;
        let b = r#"{"type":"custom","id":"b","parentId":"a"}"#;
        let said =
            r#"{"type":"message","id":"c","parentId":"b","message":{"role":"user","content":"hello"}}"#;
        assert_eq!(card(&[a, b, said]).first_message, "hello");
    }

    #[test]
    fn numbers_out_of_all_bounds_leave_a_card_that_can_be_kept() {
        let usage = r#"{"type":"usage","id":"1","usage":{"totalTokens":1e30,"cost":{"total":1e308}}}"#;
        let card = card(&[usage, usage, usage]);
        let kept = serde_json::to_string(&card).unwrap();
        assert_eq!(serde_json::from_str::<Card>(&kept).unwrap(), card);
    }
}
