//! The search of the session list. Cards are matched at once. Conversations are searched in the background; only results for the
//! latest query count.

use osier_protocol::Card;
use osier_protocol::search_query::{InvalidPattern, MessageHit, SearchQuery};

use crate::msg::SearchHit;

/// The query and its matches.
#[derive(Debug, Default)]
pub(super) struct SessionSearch {
    query: String,
    /// Why the query is invalid.
    error: Option<String>,
    /// The match score of each card.
    card_scores: Vec<Option<u32>>,
    /// The cards whose conversations match, each with a message that matches, if it is known.
    conversation_matches: Vec<Option<Option<MessageHit>>>,
    /// A search of conversations is running.
    pub(super) is_running: bool,
}

impl SessionSearch {
    pub(super) fn query(&self) -> &str {
        &self.query
    }

    pub(super) fn error(&self) -> Option<&str> {
        self.error.as_deref()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.query.trim().is_empty()
    }

    pub(super) fn set_query(&mut self, text: String, cards: &[Card]) {
        self.query = text;
        self.match_cards(cards);
    }

    /// Matches the cards, and discards earlier results.
    pub(super) fn match_cards(&mut self, cards: &[Card]) {
        self.conversation_matches = vec![None; cards.len()];
        let query = SearchQuery::parse(&self.query);
        self.error = query.as_ref().err().map(error_text);
        self.card_scores = match query {
            Ok(query) if query.is_empty() => vec![Some(0); cards.len()],
            Ok(query) => query.score_cards(cards),
            Err(_) => vec![None; cards.len()],
        };
    }

    /// The score of a card, or `None` without a match. A match in the conversation alone has the lowest score.
    pub(super) fn score(&self, card: usize) -> Option<u32> {
        let of_text = || self.conversation_match(card).map(|_| 0);
        self.card_scores.get(card).copied().flatten().map(|score| score + 1).or_else(of_text)
    }

    /// Whether only the conversation can still match.
    pub(super) fn needs_conversation(&self, card: usize) -> bool {
        self.error.is_none() && self.score(card).is_none()
    }

    pub(super) fn add_match(&mut self, hit: &SearchHit) {
        if let Some(found) = self.conversation_matches.get_mut(hit.card) {
            *found = Some(hit.message.clone());
        }
    }

    fn conversation_match(&self, card: usize) -> Option<&Option<MessageHit>> {
        self.conversation_matches.get(card)?.as_ref()
    }

    /// The message of a conversation that matches.
    pub(super) fn message(&self, card: usize) -> Option<&MessageHit> {
        self.conversation_match(card)?.as_ref()
    }

    /// The first line of a conversation that matches.
    pub(super) fn matching_line(&self, card: usize) -> Option<&str> {
        let lines = &self.message(card)?.lines;
        let first = lines.iter().find(|line| line.is_match).or(lines.first());
        first.map(|line| line.text.as_str())
    }
}

/// The last line of a regex error is its short form.
fn error_text(error: &InvalidPattern) -> String {
    let last = error.reason.lines().next_back().unwrap_or_default();
    format!("invalid regular expression: {}", last.trim().trim_start_matches("error: "))
}
