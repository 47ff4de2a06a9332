//! The search of the session list. Cards are matched at once. Conversations are searched in the background; only results for the
//! latest query count.

use osier_session::{SearchQuery, SessionError};
use osier_tree::projection::card::Card;

/// The query and its matches.
#[derive(Debug, Default)]
pub(super) struct Search {
    text: String,
    /// Why the query is invalid.
    wrong: Option<String>,
    /// The match score of each card.
    fits: Vec<Option<u32>>,
    /// Whether the conversation of each card matches.
    said: Vec<bool>,
    /// A search of conversations is running.
    pub(super) is_reading: bool,
}

impl Search {
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn wrong(&self) -> Option<&str> {
        self.wrong.as_deref()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.text.trim().is_empty()
    }

    pub(super) fn change(&mut self, text: String, cards: &[Card]) {
        self.text = text;
        self.begin(cards);
    }

    /// Matches the cards, and discards earlier results.
    pub(super) fn begin(&mut self, cards: &[Card]) {
        self.said = vec![false; cards.len()];
        let query = SearchQuery::parse(&self.text);
        self.wrong = query.as_ref().err().map(reason);
        self.fits = match query {
            Ok(query) if query.is_empty() => vec![Some(0); cards.len()],
            Ok(query) => query.score_cards(cards),
            Err(_) => vec![None; cards.len()],
        };
    }

    /// The score of a card, or `None` without a match. A match in the conversation alone has the lowest score.
    pub(super) fn score(&self, card: usize) -> Option<u32> {
        let said = || self.said.get(card).filter(|said| **said).map(|_| 0);
        self.fits.get(card).copied().flatten().map(|score| score + 1).or_else(said)
    }

    /// Whether only the conversation can still match.
    pub(super) fn is_open(&self, card: usize) -> bool {
        self.wrong.is_none() && self.score(card).is_none()
    }

    pub(super) fn found(&mut self, card: usize) {
        if let Some(said) = self.said.get_mut(card) {
            *said = true;
        }
    }
}

/// The last line of a regex error is its short form.
fn reason(error: &SessionError) -> String {
    match error {
        SessionError::InvalidPattern { why } => {
            let last = why.lines().next_back().unwrap_or_default();
            format!("invalid regular expression: {}", last.trim().trim_start_matches("error: "))
        }
        error => error.to_string(),
    }
}
