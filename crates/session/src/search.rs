//! Searches the messages of sessions for the words of a query that a session's card does not match.

use std::error::Error as _;
use std::sync::Arc;

use osier_store::{PagedHeads, Store, StoreError, for_each_line};
use osier_tree::entry::{MessageRole, parse_entry};
use osier_tree::projection::card::{Card, message_text};
use osier_tree::projection::preview::display_text;
use osier_tree::search_query::SearchQuery;
use osier_tree::{EntryKind, Seq};

use crate::{Session, SessionEnv, SessionError, Stores};

/// Whether the messages of a session match the parts that its card does not match. A deleted session does not
/// match. Leaves no log open.
pub async fn matches_messages(
    query: &SearchQuery,
    card: &Card,
    stores: &Stores,
) -> Result<bool, SessionError> {
    let Some(store) = stores.get(&card.store) else { return Ok(false) };
    let store = store.new_instance().unwrap_or_else(|| store.clone());
    let mut query_match = query.match_card(card);
    let read = for_each_message_text(&store, card, |text| {
        query_match.match_text(text);
        query_match.is_complete()
    });
    match read.await {
        Ok(()) => Ok(query_match.is_complete()),
        Err(SessionError::Store(StoreError::NotFound { .. } | StoreError::Vanished { .. })) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The sessions that match: matches of the card first, otherwise in the given order.
pub async fn filter_cards(
    query: &SearchQuery,
    cards: Vec<Card>,
    stores: &Stores,
) -> (Vec<Card>, SearchErrors) {
    let mut unread = SearchErrors::default();
    let fits = query.score_cards(&cards);
    let (mut by_name, mut by_text) = (Vec::new(), Vec::new());
    for (card, fit) in cards.into_iter().zip(fits) {
        if fit.is_some() {
            by_name.push(card);
        } else if unread.record(&card, matches_messages(query, &card, stores).await) {
            by_text.push(card);
        }
    }
    by_name.append(&mut by_text);
    (by_name, unread)
}

/// The sessions that could not be searched.
#[derive(Debug, Default)]
pub struct SearchErrors {
    count: usize,
    /// The first of them and its error.
    first: String,
}

impl SearchErrors {
    /// Returns whether the session matches. Counts an error as no match.
    pub fn record(&mut self, card: &Card, matches: Result<bool, SessionError>) -> bool {
        matches.unwrap_or_else(|error| {
            if self.count == 0 {
                self.first = format!("{}: {}", card.short_id, error_chain(&error));
            }
            self.count += 1;
            false
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

/// Calls `each` with the text of every user and assistant message on branches that are not deleted, until it returns
/// `true`.
async fn for_each_message_text(
    store: &Arc<dyn Store>,
    card: &Card,
    mut each: impl FnMut(&str) -> bool,
) -> Result<(), SessionError> {
    let key = card.file.as_deref().unwrap_or(&card.id);
    let opened = store.open(key).await?;
    let mut heads = PagedHeads::new(&**store, key, opened.version);
    let (mut wanted, mut any_deleted) = (Vec::new(), false);
    for seq in (0..opened.version.entries).map(Seq::new) {
        let head = heads.get(seq).await?;
        any_deleted |= head.kind == EntryKind::DeleteBranch;
        if head.kind == EntryKind::Message && matches!(head.role, MessageRole::User | MessageRole::Assistant)
        {
            wanted.push(seq);
        }
    }
    if any_deleted {
        let env = SessionEnv { watch: false, ..SessionEnv::default() };
        let hidden = Session::open(store.clone(), key, env).await?.tree().hidden_entries();
        wanted.retain(|seq| !hidden.contains(seq));
    }
    let read =
        for_each_line(&**store, key, opened.version.generation, &wanted, |_, line| match parse_entry(line) {
            Ok(entry)
                if each(&display_text(&entry).unwrap_or_default())
                    || each(&entry.message.map(message_text).unwrap_or_default()) =>
            {
                Err(ReadStop::Enough)
            }
            _ => Ok(()),
        });
    match read.await {
        Ok(()) | Err(ReadStop::Enough) => Ok(()),
        Err(ReadStop::Failed(error)) => Err(error),
    }
}
