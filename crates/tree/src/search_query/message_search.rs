//! A search in the messages of one session, for what its card does not match.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CardMatcher, ExcerptLine, QueryMatch, SearchQuery};
use crate::entry::{Entry, EntryKind, MessageRole, flag};
use crate::ids::EntryId;
use crate::projection::card::{Card, message_text};
use crate::projection::preview::{display_text, full_text};

/// What a search returns of each session that matches.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SearchDetail {
    /// The maximum number of messages. With 0, the search of a session stops as soon as it is known to match.
    pub max_hits: usize,
    /// The number of lines around each matching line.
    pub context: usize,
}

/// The matches in the messages of one session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageMatches {
    /// Whether the messages match every part of the query that the card does not match.
    pub is_match: bool,
    /// The messages that match the most parts of the query, in log order.
    pub hits: Vec<MessageHit>,
}

/// A message that matches at least one part of a query.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageHit {
    pub entry_id: EntryId,
    /// `user`, `assistant`, `summary` of a compaction or a branch, or `custom` for a message of an extension.
    pub role: String,
    pub lines: Vec<ExcerptLine>,
}

/// Who wrote a text that a search reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum SearchedRole {
    User,
    Assistant,
    Summary,
    Custom,
}

impl SearchedRole {
    pub const ALL: [SearchedRole; 4] =
        [SearchedRole::User, SearchedRole::Assistant, SearchedRole::Summary, SearchedRole::Custom];

    /// The role of an entry, given the facts of its head. `None` if a search does not read it.
    pub fn from_head(kind: EntryKind, role: MessageRole, flags: u8) -> Option<SearchedRole> {
        match (kind, role) {
            (EntryKind::Message, MessageRole::User) => Some(SearchedRole::User),
            (EntryKind::Message, MessageRole::Assistant) => Some(SearchedRole::Assistant),
            (EntryKind::Compaction | EntryKind::BranchSummary, _) => Some(SearchedRole::Summary),
            (EntryKind::CustomMessage, _) if flags & flag::NOT_SHOWN == 0 => Some(SearchedRole::Custom),
            _ => None,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            SearchedRole::User => "user",
            SearchedRole::Assistant => "assistant",
            SearchedRole::Summary => "summary",
            SearchedRole::Custom => "custom",
        }
    }
}

/// Whether a search reads an entry: a message of the user or of the assistant, a summary, or a message of an extension that is
/// shown.
pub fn is_searched(kind: EntryKind, role: MessageRole, flags: u8) -> bool {
    SearchedRole::from_head(kind, role, flags).is_some()
}

/// Calls `f` with the texts of an entry that a search reads: what is shown of it, if that differs, and what a model gets.
pub fn for_each_searched_text(entry: &Entry<'_>, mut f: impl FnMut(SearchedRole, &str)) {
    let Some(role) = SearchedRole::from_head(entry.kind, entry.role, entry.flags) else { return };
    let text = match entry.kind {
        EntryKind::Message => entry.message.map(message_text).unwrap_or_default(),
        _ => full_text(entry),
    };
    for text in [display_text(entry).unwrap_or_default(), text.into()] {
        if !text.is_empty() {
            f(role, &text);
        }
    }
}

/// A search in the messages of one session. Add its messages in log order.
#[derive(Debug)]
pub struct MessageSearch<'q> {
    query: &'q SearchQuery,
    detail: SearchDetail,
    /// What the session still has to match.
    missing: QueryMatch<'q>,
    all_parts: QueryMatch<'q>,
    /// The number of matching parts, and the message.
    hits: Vec<(usize, MessageHit)>,
}

impl<'q> MessageSearch<'q> {
    pub fn new(
        query: &'q SearchQuery,
        card: &Card,
        detail: SearchDetail,
        matcher: &mut CardMatcher,
    ) -> MessageSearch<'q> {
        let missing = QueryMatch::with_card(query, card, &mut matcher.0);
        MessageSearch { query, detail, missing, all_parts: QueryMatch::new(query), hits: Vec::new() }
    }

    /// Whether messages in texts with these signatures may match.
    pub fn may_match<'s>(&self, signatures: impl Iterator<Item = &'s [u8]> + Clone) -> bool {
        self.missing.missing.iter().all(|part| signatures.clone().any(|signature| part.may_be_in(signature)))
    }

    /// Whether the messages in a text with this signature are worth adding.
    pub fn needs_text(&self, signature: &[u8]) -> bool {
        let parts = if self.detail.max_hits > 0 { &self.all_parts } else { &self.missing };
        parts.missing.iter().any(|part| part.may_be_in(signature))
    }

    /// Whether more messages cannot change the result.
    pub fn is_done(&self) -> bool {
        self.detail.max_hits == 0 && self.missing.is_complete()
    }

    pub fn add(&mut self, id: &str, role: SearchedRole, text: &str) {
        self.missing.match_text(text);
        if self.detail.max_hits > 0 {
            self.add_hit(id, role, text);
        }
    }

    fn add_hit(&mut self, id: &str, role: SearchedRole, text: &str) {
        let parts = self.query.count_matches(text);
        // A message can have two texts.
        let is_known = self.hits.last().is_some_and(|(_, hit)| *hit.entry_id == *id);
        if parts == 0 || is_known {
            return;
        }
        if self.hits.len() >= self.detail.max_hits {
            let (at, least) = self.weakest_hit();
            if least >= parts {
                return;
            }
            self.hits.remove(at);
        }
        let (role, lines) = (role.name().to_owned(), self.query.excerpt(text, self.detail.context));
        self.hits.push((parts, MessageHit { entry_id: id.into(), role, lines }));
    }

    /// The last of the hits with the fewest parts, and the number of its parts.
    fn weakest_hit(&self) -> (usize, usize) {
        let parts = self.hits.iter().map(|(parts, _)| *parts).enumerate();
        parts.min_by_key(|(at, parts)| (*parts, std::cmp::Reverse(*at))).unwrap_or_default()
    }

    pub fn finish(self) -> MessageMatches {
        let is_match = self.missing.is_complete();
        let hits = self.hits.into_iter().filter(|_| is_match).map(|(_, hit)| hit).collect();
        MessageMatches { is_match, hits }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(query: &str, max_hits: usize, messages: &[(&str, &str)]) -> Option<Vec<String>> {
        let query = SearchQuery::parse(query).unwrap();
        let card = Card { name: Some("parser".to_owned()), ..Card::default() };
        let detail = SearchDetail { max_hits, context: 0 };
        let mut search = MessageSearch::new(&query, &card, detail, &mut CardMatcher::default());
        messages.iter().for_each(|(id, text)| search.add(id, SearchedRole::User, text));
        let matches = search.finish();
        matches.is_match.then(|| matches.hits.iter().map(|hit| hit.entry_id.to_string()).collect())
    }

    #[test]
    fn the_messages_with_the_most_words_are_returned_in_log_order() {
        let messages = [
            ("1", "a cursor"),
            ("2", "no match"),
            ("3", "page a cursor"),
            ("3", "cursor"),
            ("4", "the page"),
            ("5", "page cursor"),
        ];
        assert_eq!(search("cursor page", 9, &messages).unwrap(), ["1", "3", "4", "5"]);
        assert_eq!(search("cursor page", 2, &messages).unwrap(), ["3", "5"]);
        assert_eq!(search("cursor page", 3, &messages).unwrap(), ["1", "3", "5"]);
        assert_eq!(search("cursor page", 0, &messages).unwrap(), [""; 0]);
        assert_eq!(search("cursor missing", 9, &messages), None);
    }

    #[test]
    fn words_in_the_card_need_not_be_in_a_message() {
        assert_eq!(search("parser cursor", 9, &[("1", "a cursor")]).unwrap(), ["1"]);
        assert_eq!(search("parser", 9, &[("1", "a cursor")]).unwrap(), [""; 0]);
    }
}
