//! Counts the tokens of a message or a context: the usage that the last reply reported, plus an estimate for everything
//! after it.
//!
//! The estimate is a quarter of the characters, as in pi. No tokenizer is used, so a session has the same count everywhere.

use std::fmt::{self, Display, Formatter};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::entry::{Entry, EntryKind, EntryReason, MessageRole};
use crate::fold::{Place, SessionTree};
use crate::heads::Seq;
use crate::line_consumer::{Batches, ContextEntry, LineConsumer};
use crate::projection::preview::each_block;
use crate::projection::usage::{entry_usage, format_tokens};
use crate::projection::{Lines, context};
use crate::scan::RawJson;
use crate::serialize::{compact_json, role_name};

/// A number of tokens, and where it comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TokenCount {
    pub tokens: u64,
    /// At least a part is estimated. Otherwise a model reported the number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

impl TokenCount {
    pub fn measured(tokens: u64) -> TokenCount {
        TokenCount { tokens, estimated: false }
    }

    pub fn estimated(tokens: u64) -> TokenCount {
        TokenCount { tokens, estimated: true }
    }
}

/// Formats as `3.1k` if measured, `~3.1k` if estimated.
impl Display for TokenCount {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sign = if self.estimated { "~" } else { "" };
        write!(f, "{sign}{}", format_tokens(self.tokens))
    }
}

/// The estimated size of an image, in characters.
const IMAGE_UNITS: usize = 4800;

/// Estimates the tokens of one message of a context.
pub fn estimate_tokens(message: RawJson<'_>) -> u64 {
    let words = |key| message.get(key).and_then(RawJson::text).map_or(0, |text| utf16_len(&text));
    let content = || message.get("content").map_or(0, content_units);
    let units = match role_name(message) {
        "user" | "custom" | "toolResult" => content(),
        "assistant" => message.get("content").map_or(0, reply_units),
        "bashExecution" => words("command") + words("output"),
        "branchSummary" | "compactionSummary" => words("summary"),
        "system" => {
            let mut sections = 0;
            if let Some(list) = message.get("sections") {
                list.each_field(|_, section| {
                    sections += section.text().map_or(0, |text| self::utf16_len(&text));
                });
            }
            let tools = message.get("toolsAdded").map_or(0, |tools| self::utf16_len(&compact_json(tools)));
            content() + sections + tools
        }
        _ => 0,
    };
    units.div_ceil(4) as u64
}

/// The length of a text in UTF-16 units, as JavaScript counts.
pub(crate) fn utf16_len(text: &str) -> usize {
    if text.is_ascii() { text.len() } else { text.chars().map(char::len_utf16).sum() }
}

fn content_units(content: RawJson<'_>) -> usize {
    if let Some(text) = content.text() {
        return utf16_len(&text);
    }
    let mut sum = 0;
    each_block(content, |kind, block| match kind {
        "text" => sum += block.get("text").and_then(RawJson::text).map_or(0, |text| utf16_len(&text)),
        "image" => sum += IMAGE_UNITS,
        _ => {}
    });
    sum
}

fn reply_units(content: RawJson<'_>) -> usize {
    if let Some(text) = content.text() {
        return utf16_len(&text);
    }
    let mut sum = 0;
    each_block(content, |kind, block| {
        let words = |key| block.get(key).and_then(RawJson::text).map_or(0, |text| utf16_len(&text));
        sum += match kind {
            "text" => words("text"),
            "thinking" => words("thinking"),
            "toolCall" => {
                words("name") + block.get("arguments").map_or(0, |given| utf16_len(&compact_json(given)))
            }
            _ => 0,
        };
    });
    sum
}

/// The estimated tokens of an entry in a context. `None` if it has no message.
pub(crate) fn entry_tokens(entry: &Entry<'_>, edit: Option<&Entry<'_>>) -> Option<u64> {
    if is_excluded_from_context(entry) {
        return None;
    }
    let mut weight = None;
    context::emit_messages(entry, edit, &mut |message| {
        let tokens = RawJson::parse(message).map_or(0, estimate_tokens);
        weight = Some(weight.unwrap_or(0) + tokens);
    });
    weight
}

/// A user command that is excluded from the context: `!!` in pi.
pub(crate) fn is_excluded_from_context(entry: &Entry<'_>) -> bool {
    let excluded = || entry.message?.get("excludeFromContext");
    entry.role == MessageRole::BashExecution && excluded().is_some_and(RawJson::is_true)
}

/// Counts the tokens of a context from its end, until a reply reports the usage up to itself.
///
/// The usage of a reply is valid only while the context before it is unchanged: not after a compaction or a context edit.
#[derive(Debug)]
pub struct TokenCounter {
    /// Newest first. A compaction, if any, is the last.
    entries: Vec<ContextEntry>,
    tokens_per_entry: Vec<Option<u64>>,
    batches: Batches,
    /// Replies at this depth and above belong to a different context.
    stale_depth: Option<u32>,
    /// The total, once it is known.
    total: Option<TokenCount>,
    sum: u64,
}

impl SessionTree {
    /// Starts counting the tokens of the context at a place.
    pub fn token_counter(&self, at: Place) -> TokenCounter {
        let plan = self.context_entries(at);
        let changes =
            |seq: &Seq| matches!(self.head(*seq).kind, EntryKind::Compaction | EntryKind::ContextEdit);
        let changed = self.heads().ancestors(at).find(changes);
        let context_entries: Vec<ContextEntry> = plan
            .items
            .iter()
            .rev()
            .map(|item| ContextEntry { item: *item, head: *self.head(item.seq) })
            .collect();
        TokenCounter {
            total: context_entries.is_empty().then(TokenCount::default),
            tokens_per_entry: Vec::with_capacity(context_entries.len()),
            entries: context_entries,
            batches: Batches::new(),
            stale_depth: changed.map(|seq| self.head(seq).depth),
            sum: 0,
        }
    }
}

impl TokenCounter {
    /// The tokens of the context, or of the part counted so far.
    pub fn tokens(&self) -> u64 {
        self.count().tokens
    }

    /// The same, with whether a part is estimated.
    pub fn count(&self) -> TokenCount {
        self.total.unwrap_or(TokenCount::estimated(self.sum))
    }

    pub fn is_done(&self) -> bool {
        self.total.is_some()
    }

    /// All pieces, newest first.
    pub(crate) fn context_entries(&self) -> &[ContextEntry] {
        &self.entries
    }

    /// The tokens of the newest entries.
    pub(crate) fn tokens_per_entry(&self) -> &[Option<u64>] {
        &self.tokens_per_entry
    }

    pub(crate) fn next_lines(&self) -> Vec<Seq> {
        self.batches.needed_lines(&self.entries)
    }

    /// Counts the next batch, even if the total is already known.
    pub(crate) fn count_next_batch(&mut self, lines: &dyn Lines) {
        let batch = self.batches.next(&self.entries).to_vec();
        for context_entry in &batch {
            let entry = lines.entry(context_entry.item.seq);
            let edit = context_entry.item.edit.and_then(|edit| lines.entry(edit));
            let reported = entry.as_ref().and_then(|entry| self.reported_tokens(context_entry, entry));
            if self.total.is_none() {
                let count = |tokens: u64| TokenCount {
                    tokens: tokens.saturating_add(self.sum),
                    estimated: self.sum > 0,
                };
                self.total = reported.map(count);
            }
            let weight = entry.and_then(|entry| entry_tokens(&entry, edit.as_ref()));
            self.sum = self.sum.saturating_add(weight.unwrap_or(0));
            self.tokens_per_entry.push(weight);
        }
        self.batches.advance(batch.len());
        if self.tokens_per_entry.len() == self.entries.len() {
            self.total.get_or_insert(TokenCount::estimated(self.sum));
        }
    }

    /// The usage that a reply reports for itself and everything before it.
    fn reported_tokens(&self, context_entry: &ContextEntry, entry: &Entry<'_>) -> Option<u64> {
        let answered = entry.role == MessageRole::Assistant
            && !matches!(entry.reason, EntryReason::Error | EntryReason::Aborted);
        let trusted = self.stale_depth.is_none_or(|depth| context_entry.head.depth > depth);
        let usage = entry_usage(entry).filter(|_| answered && trusted)?.usage;
        Some(usage.total_tokens).filter(|tokens| *tokens > 0)
    }
}

impl LineConsumer for TokenCounter {
    fn needed_lines(&self) -> Vec<Seq> {
        if self.is_done() { Vec::new() } else { self.next_lines() }
    }

    fn feed(&mut self, lines: &dyn Lines) {
        self.count_next_batch(lines);
    }
}

#[cfg(test)]
mod tests {
    use super::TokenCount;

    #[test]
    fn an_estimate_is_marked() {
        assert_eq!(TokenCount::measured(3_100).to_string(), "3.1k");
        assert_eq!(TokenCount::estimated(3_100).to_string(), "~3.1k");
    }
}
