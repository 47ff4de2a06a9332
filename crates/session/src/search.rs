//! Searches the messages of sessions for the words of a query that a session's card does not match.

use std::error::Error as _;
use std::sync::Arc;

use osier_store::{PagedHeads, Store, StoreError, for_each_line};
use osier_tree::entry::parse_entry;
use osier_tree::projection::card::Card;
use osier_tree::search_query::{
    CardMatcher, MessageMatches, MessageSearch, SearchDetail, SearchQuery, for_each_searched_text,
    is_searched,
};
use osier_tree::{EntryKind, Seq};
use rustc_hash::FxHashMap;

use crate::{Session, SessionEnv, SessionError, Stores};

/// Searches the messages of sessions. Returns the matches in the order of the cards. A deleted session does not match.
/// Leaves no log open.
pub async fn search_messages(
    query: &Arc<SearchQuery>,
    cards: &[Card],
    stores: &Stores,
    detail: SearchDetail,
) -> (Vec<MessageMatches>, SearchErrors) {
    let mut matches = vec![MessageMatches::default(); cards.len()];
    let mut errors = SearchErrors::default();
    let mut by_store: FxHashMap<&str, Vec<usize>> = FxHashMap::default();
    for (at, card) in cards.iter().enumerate() {
        by_store.entry(&card.store).or_default().push(at);
    }
    for (name, numbers) in by_store {
        let Some(store) = stores.get(name) else { continue };
        let cards: Vec<Card> = numbers.iter().map(|at| cards[*at].clone()).collect();
        let results = search_store(query, &cards, store, detail).await;
        for ((at, card), result) in numbers.into_iter().zip(&cards).zip(results) {
            matches[at] = errors.record(card, result);
        }
    }
    (matches, errors)
}

async fn search_store(
    query: &Arc<SearchQuery>,
    cards: &[Card],
    store: &Arc<dyn Store>,
    detail: SearchDetail,
) -> Vec<Result<MessageMatches, SessionError>> {
    if let Some(results) = store.search_messages(query, cards, detail).await {
        return results.into_iter().map(|result| Ok(result?)).collect();
    }
    let mut results = Vec::with_capacity(cards.len());
    for card in cards {
        let search = MessageSearch::new(query, card, detail, &mut CardMatcher::default());
        results.push(match search_session(search, store, card).await {
            Err(SessionError::Store(StoreError::NotFound { .. } | StoreError::Vanished { .. })) => {
                Ok(MessageMatches::default())
            }
            result => result,
        });
    }
    results
}

/// The sessions that match: matches of the card first, otherwise in the given order.
pub async fn filter_cards(
    query: &Arc<SearchQuery>,
    cards: Vec<Card>,
    stores: &Stores,
) -> (Vec<Card>, SearchErrors) {
    let scores = query.score_cards(&cards);
    let (mut by_card, mut others) = (Vec::new(), Vec::new());
    for (card, score) in cards.into_iter().zip(scores) {
        if score.is_some() { by_card.push(card) } else { others.push(card) }
    }
    let (matches, errors) = search_messages(query, &others, stores, SearchDetail::default()).await;
    let by_text = others.into_iter().zip(matches).filter(|(_, matches)| matches.is_match);
    by_card.extend(by_text.map(|(card, _)| card));
    (by_card, errors)
}

/// The sessions that could not be searched.
#[derive(Debug, Default)]
pub struct SearchErrors {
    count: usize,
    /// The first of them and its error.
    first: String,
}

impl SearchErrors {
    /// Returns the matches. Counts an error as no match.
    fn record(&mut self, card: &Card, result: Result<MessageMatches, SessionError>) -> MessageMatches {
        result.unwrap_or_else(|error| {
            if self.count == 0 {
                self.first = format!("{}: {}", card.short_id, error_chain(&error));
            }
            self.count += 1;
            MessageMatches::default()
        })
    }

    /// A message for the user, if there were errors.
    pub fn summary(&self) -> Option<String> {
        match self.count {
            0 => None,
            1 => Some(format!("cannot search 1 session: {}", self.first)),
            count => Some(format!("cannot search {count} sessions; the first error is {}", self.first)),
        }
    }
}

/// An error with its causes.
fn error_chain(error: &SessionError) -> String {
    let causes = std::iter::successors(error.source(), |&cause| cause.source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// Why reading a session stopped early.
enum ReadStop {
    Enough,
    Failed(SessionError),
}

impl From<StoreError> for ReadStop {
    fn from(error: StoreError) -> ReadStop {
        ReadStop::Failed(error.into())
    }
}

/// Searches every message and summary on branches that are not deleted, until enough is known.
async fn search_session(
    mut search: MessageSearch<'_>,
    store: &Arc<dyn Store>,
    card: &Card,
) -> Result<MessageMatches, SessionError> {
    let store = store.new_instance().unwrap_or_else(|| store.clone());
    let key = card.file.as_deref().unwrap_or(&card.id);
    let opened = store.open(key).await?;
    let mut heads = PagedHeads::new(&*store, key, opened.version);
    let (mut wanted, mut any_deleted) = (Vec::new(), false);
    for seq in (0..opened.version.entries).map(Seq::new) {
        let head = heads.get(seq).await?;
        any_deleted |= head.kind == EntryKind::DeleteBranch;
        if is_searched(head.kind, head.role, head.flags) {
            wanted.push(seq);
        }
    }
    if any_deleted {
        let env = SessionEnv { watch: false, ..SessionEnv::default() };
        let hidden = Session::open(store.clone(), key, env).await?.tree().hidden_entries();
        wanted.retain(|seq| !hidden.contains(seq));
    }
    let read = for_each_line(&*store, key, opened.version.generation, &wanted, |_, line| {
        if let Ok(entry) = parse_entry(line) {
            for_each_searched_text(&entry, |role, text| search.add(&entry.id, role, text));
        }
        if search.is_done() { Err(ReadStop::Enough) } else { Ok(()) }
    });
    match read.await {
        Ok(()) | Err(ReadStop::Enough) => Ok(search.finish()),
        Err(ReadStop::Failed(error)) => Err(error),
    }
}
