//! What is looked for in the list. What a card tells is found at once; what was said is looked for beside the loop, and
//! counts only for the words that were typed last.

use osier_session::{SearchQuery, SessionError};
use osier_tree::projection::card::Card;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Search {
    text: String,
    /// Why nothing can be found.
    wrong: Option<String>,
    /// For each card how well it fits by what it tells.
    fits: Vec<Option<u32>>,
    /// Cards of sessions in which it was said.
    said: Vec<bool>,
    /// Conversations are being read.
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

    /// Looks at the cards, and forgets what was found before.
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

    /// How well a card fits; none if it does not. What only the conversation tells counts least.
    pub(super) fn score(&self, card: usize) -> Option<u32> {
        let said = || self.said.get(card).filter(|said| **said).map(|_| 0);
        self.fits.get(card).copied().flatten().map(|score| score + 1).or_else(said)
    }

    /// Whether only the conversation can tell.
    pub(super) fn is_open(&self, card: usize) -> bool {
        self.wrong.is_none() && self.score(card).is_none()
    }

    pub(super) fn found(&mut self, card: usize) {
        if let Some(said) = self.said.get_mut(card) {
            *said = true;
        }
    }
}

/// The last line of the complaint about a pattern says it shortest.
fn reason(error: &SessionError) -> String {
    match error {
        SessionError::InvalidPattern { why } => {
            let last = why.lines().next_back().unwrap_or_default();
            format!("no regular expression: {}", last.trim().trim_start_matches("error: "))
        }
        error => error.to_string(),
    }
}
