//! Several stores: finds the store of a session and lists the sessions of all stores. Stores that do not answer are
//! reported after a time-out.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use osier_store::{SessionFilter, SessionPage, Store, StoreError};
use osier_tree::Header;
use osier_tree::projection::card::Card;
use osier_tree::short_ids::{SESSION_ID_LENGTH, ShortIds};

/// How long to wait for one store.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// The configured stores. Their names are unique.
#[derive(Debug, Clone)]
pub struct Stores {
    all: Vec<Arc<dyn Store>>,
    timeout: Duration,
}

/// A session and its store.
#[derive(Debug, Clone)]
pub struct LocatedSession {
    pub store: Arc<dyn Store>,
    pub id: String,
}

/// A store that could not be queried.
#[derive(Debug)]
pub struct UnavailableStore {
    pub store: String,
    pub error: StoreError,
}

/// The sessions that match an id prefix.
#[derive(Debug, Default)]
pub struct FindResult {
    pub sessions: Vec<LocatedSession>,
    pub unavailable: Vec<UnavailableStore>,
}

/// A list of the sessions of all stores. Each card names its store.
#[derive(Debug, Default)]
pub struct ListResult {
    pub page: SessionPage,
    pub unavailable: Vec<UnavailableStore>,
}

#[derive(Debug, thiserror::Error)]
#[error("no answer within {0:?}")]
struct NoAnswer(Duration);

impl Stores {
    pub fn new(all: Vec<Arc<dyn Store>>) -> Stores {
        Stores { all, timeout: STORE_TIMEOUT }
    }

    /// Sets how long to wait for one store.
    pub fn with_timeout(self, patience: Duration) -> Stores {
        Stores { timeout: patience, ..self }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<dyn Store>> {
        self.all.iter()
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Store>> {
        self.all.iter().find(|store| store.name() == name)
    }

    /// Finds sessions whose ids start with `prefix`, in the order of the stores. Fails if no store answers.
    pub async fn find(&self, prefix: &str) -> Result<FindResult, StoreError> {
        let results =
            self.query_all(|store| async move { (store.clone(), store.find_ids(prefix).await) }).await;
        let (found, down) = self.split_answers(results)?;
        let owned = found.into_iter().flat_map(|(store, ids)| {
            ids.into_iter().map(move |id| LocatedSession { store: store.clone(), id })
        });
        Ok(FindResult { sessions: owned.collect(), unavailable: down })
    }

    /// Lists the sessions of all stores, most recently used first, with unique short ids. Fails if no store answers.
    pub async fn list(&self, filter: &SessionFilter) -> Result<ListResult, StoreError> {
        let wanted = filter.limit.map(|limit| limit.saturating_add(filter.skip));
        let each = match self.all.len() {
            1 => filter.clone(),
            _ => SessionFilter { skip: 0, limit: wanted, ..filter.clone() },
        };
        let each = &each;
        let results =
            self.query_all(|store| async move { (store.clone(), page_and_ids(&*store, each).await) }).await;
        let (answers, down) = self.split_answers(results)?;
        let (pages, ids): (Vec<SessionPage>, Vec<Vec<String>>) =
            answers.into_iter().map(|(_, answer)| answer).unzip();
        let mut page = match self.all.len() {
            1 => pages.into_iter().next().unwrap_or_default(),
            _ => merge_pages(pages, filter),
        };
        set_short_ids(&mut page.cards, &ids.concat());
        Ok(ListResult { page, unavailable: down })
    }

    /// The sessions of the sub-agents of these sessions, in whatever store, recursively, each after its parent. Does not
    /// include forks.
    pub async fn subagent_sessions(
        &self,
        cards: &[Card],
    ) -> Result<(Vec<Card>, Vec<UnavailableStore>), StoreError> {
        let ListResult { page, unavailable: down } = self.list(&SessionFilter::default()).await?;
        let mut below: Vec<Card> = Vec::new();
        let mut open = cards.to_vec();
        while let Some(parent) = open.pop() {
            for card in page.cards.iter().filter(|card| card.is_subagent_of(&parent)) {
                let is_same = |known: &Card| known.id == card.id && known.store == card.store;
                if card.id != parent.id
                    && !below.iter().any(is_same)
                    && self.parent_store(card).await?.is_some_and(|store| store == parent.store)
                {
                    below.push(card.clone());
                    open.push(card.clone());
                }
            }
        }
        Ok((below, down))
    }

    /// The store of a sub-agent's parent. A copy of the parent in another store has the same id, but no sub-agents.
    async fn parent_store(&self, card: &Card) -> Result<Option<String>, StoreError> {
        let header = self.header(card).await?;
        Ok(header.map(|header| header.parent_store.unwrap_or_else(|| card.store.clone())))
    }

    /// `None` if the session no longer exists.
    async fn header(&self, card: &Card) -> Result<Option<Header>, StoreError> {
        let Some(store) = self.get(&card.store) else { return Ok(None) };
        match store.open(card.file.as_deref().unwrap_or(&card.id)).await {
            Ok(opened) => Ok(Some(opened.header)),
            Err(StoreError::NotFound { .. } | StoreError::Vanished { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn query_all<T, F: Future<Output = (Arc<dyn Store>, Result<T, StoreError>)>>(
        &self,
        ask: impl Fn(Arc<dyn Store>) -> F,
    ) -> Vec<(Arc<dyn Store>, Result<T, StoreError>)> {
        join_all(
            self.all.iter().map(|store| {
                let results = tokio::time::timeout(self.timeout, ask(store.clone()));
                async move {
                    results.await.unwrap_or_else(|_| (store.clone(), Err(self.timeout_error(store.name()))))
                }
            }),
        )
        .await
    }

    fn timeout_error(&self, store: &str) -> StoreError {
        StoreError::Unavailable {
            store: store.to_owned(),
            reason: NoAnswer(self.timeout).to_string(),
            advice: "check whether the server is busy, then try again",
            source: Box::new(NoAnswer(self.timeout)),
        }
    }

    /// Separates the answers from the stores that failed. Fails if no store answered.
    #[expect(clippy::type_complexity, reason = "the answers with their stores, and the stores that failed")]
    fn split_answers<T>(
        &self,
        results: Vec<(Arc<dyn Store>, Result<T, StoreError>)>,
    ) -> Result<(Vec<(Arc<dyn Store>, T)>, Vec<UnavailableStore>), StoreError> {
        let (mut answers, mut down) = (Vec::new(), Vec::new());
        for (store, answer) in results {
            match answer {
                Ok(answer) => answers.push((store, answer)),
                Err(reason) => down.push(UnavailableStore { store: store.name().to_owned(), error: reason }),
            }
        }
        match (answers.is_empty(), down.is_empty()) {
            (true, false) => Err(down.remove(0).error),
            _ => Ok((answers, down)),
        }
    }
}

/// A page of a store, and the ids of all its sessions.
async fn page_and_ids(
    store: &dyn Store,
    filter: &SessionFilter,
) -> Result<(SessionPage, Vec<String>), StoreError> {
    let page = store.list(filter).await?;
    let ids = if page.cards.is_empty() { Vec::new() } else { store.find_ids("").await? };
    Ok((page, ids))
}

/// Merges the pages of several stores into one.
fn merge_pages(pages: Vec<SessionPage>, filter: &SessionFilter) -> SessionPage {
    let more = pages.iter().any(|page| page.has_more);
    let (mut cards, mut unreadable) = (Vec::new(), Vec::new());
    for page in pages {
        cards.extend(page.cards);
        unreadable.extend(page.unreadable);
    }
    let page = filter.paginate(cards, unreadable);
    SessionPage { has_more: page.has_more || more, ..page }
}

/// Sets short ids that are unique among all ids. The name of a file can differ from the id in its header, so the ids
/// of the cards are included.
fn set_short_ids(cards: &mut [Card], ids: &[String]) {
    let all = ShortIds::new(ids.iter().chain(cards.iter().map(|card| &card.id)));
    for card in cards {
        card.short_id = all.shorten(&card.id, SESSION_ID_LENGTH).to_owned();
    }
}
