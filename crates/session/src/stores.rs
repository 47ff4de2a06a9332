//! Several stores at once: which of them has a session, and one list of all. A store that does not answer is named, and
//! holds up nobody for long.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use osier_store::{Filter, Page, Store, StoreError};
use osier_tree::Header;
use osier_tree::projection::card::Card;
use osier_tree::short_ids::{SESSION_ID_LENGTH, ShortIds};

/// The longest that all others wait for one store.
const PATIENCE: Duration = Duration::from_secs(10);

/// See the module. Their names differ.
#[derive(Debug, Clone)]
pub struct Stores {
    all: Vec<Arc<dyn Store>>,
    patience: Duration,
}

/// A session, and the store that has it.
#[derive(Debug, Clone)]
pub struct Owned {
    pub store: Arc<dyn Store>,
    pub id: String,
}

/// A store that could not be asked.
#[derive(Debug)]
pub struct Down {
    pub store: String,
    pub why: StoreError,
}

/// The sessions that some first digits can mean.
#[derive(Debug, Default)]
pub struct Found {
    pub owned: Vec<Owned>,
    pub down: Vec<Down>,
}

/// A list over all stores. Its cards name their store.
#[derive(Debug, Default)]
pub struct Listed {
    pub page: Page,
    pub down: Vec<Down>,
}

#[derive(Debug, thiserror::Error)]
#[error("no answer for {0:?}")]
struct Silent(Duration);

impl Stores {
    pub fn new(all: Vec<Arc<dyn Store>>) -> Stores {
        Stores { all, patience: PATIENCE }
    }

    /// Waits no longer than this for any of them.
    pub fn with_patience(self, patience: Duration) -> Stores {
        Stores { patience, ..self }
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

    /// Who has sessions whose ids start with `prefix`, in the order of the stores. Fails if no store can be asked.
    pub async fn find(&self, prefix: &str) -> Result<Found, StoreError> {
        let asked = self.ask(|store| async move { (store.clone(), store.find(prefix).await) }).await;
        let (found, down) = self.answers(asked)?;
        let owned = found
            .into_iter()
            .flat_map(|(store, ids)| ids.into_iter().map(move |id| Owned { store: store.clone(), id }));
        Ok(Found { owned: owned.collect(), down })
    }

    /// The sessions of all stores, the one used last first, with short ids that no other session begins with. Fails if no
    /// store can be asked.
    pub async fn list(&self, filter: &Filter) -> Result<Listed, StoreError> {
        let wanted = filter.limit.map(|limit| limit.saturating_add(filter.skip));
        let each = match self.all.len() {
            1 => filter.clone(),
            _ => Filter { skip: 0, limit: wanted, ..filter.clone() },
        };
        let each = &each;
        let asked = self.ask(|store| async move { (store.clone(), page_and_ids(&*store, each).await) }).await;
        let (answers, down) = self.answers(asked)?;
        let (pages, ids): (Vec<Page>, Vec<Vec<String>>) =
            answers.into_iter().map(|(_, answer)| answer).unzip();
        let mut page = match self.all.len() {
            1 => pages.into_iter().next().unwrap_or_default(),
            _ => merged(pages, filter),
        };
        shorten(&mut page.cards, &ids.concat());
        Ok(Listed { page, down })
    }

    /// The sessions that work of these was done in: those of sub-agents in the same store, and of theirs, each behind the
    /// one it works for. Forks are not among them.
    pub async fn below(&self, cards: &[Card]) -> Result<(Vec<Card>, Vec<Down>), StoreError> {
        let Listed { page, down } = self.list(&Filter::default()).await?;
        let mut below: Vec<Card> = Vec::new();
        let mut open = cards.to_vec();
        while let Some(parent) = open.pop() {
            for card in page.cards.iter().filter(|card| card.is_subagent_of(&parent)) {
                let is_same = |known: &Card| known.id == card.id && known.store == card.store;
                if card.id != parent.id
                    && !below.iter().any(is_same)
                    && self.is_of_another_agent(card, &parent).await?
                {
                    below.push(card.clone());
                    open.push(card.clone());
                }
            }
        }
        Ok((below, down))
    }

    /// A session may be given to another agent later, and a fork keeps the one in the header; so the headers are compared.
    async fn is_of_another_agent(&self, card: &Card, parent: &Card) -> Result<bool, StoreError> {
        let (Some(card), Some(parent)) = (self.header(card).await?, self.header(parent).await?) else {
            return Ok(false);
        };
        let agent = |header: &Header| header.agent_id.clone().filter(|agent| agent != "main");
        Ok(agent(&card) != agent(&parent))
    }

    /// `None` if it is gone by now.
    async fn header(&self, card: &Card) -> Result<Option<Header>, StoreError> {
        let Some(store) = self.get(&card.store) else { return Ok(None) };
        match store.open(card.file.as_deref().unwrap_or(&card.id)).await {
            Ok(opened) => Ok(Some(opened.header)),
            Err(StoreError::NotFound { .. } | StoreError::Vanished { .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn ask<T, F: Future<Output = (Arc<dyn Store>, Result<T, StoreError>)>>(
        &self,
        ask: impl Fn(Arc<dyn Store>) -> F,
    ) -> Vec<(Arc<dyn Store>, Result<T, StoreError>)> {
        join_all(self.all.iter().map(|store| {
            let asked = tokio::time::timeout(self.patience, ask(store.clone()));
            async move { asked.await.unwrap_or_else(|_| (store.clone(), Err(self.silent(store.name())))) }
        }))
        .await
    }

    fn silent(&self, store: &str) -> StoreError {
        StoreError::Unavailable {
            store: store.to_owned(),
            why: Silent(self.patience).to_string(),
            advice: "is the server busy? try again later",
            source: Box::new(Silent(self.patience)),
        }
    }

    /// What was answered, and who did not answer. An error if that is everybody.
    #[expect(clippy::type_complexity, reason = "each answer with its store, and the stores without one")]
    fn answers<T>(
        &self,
        asked: Vec<(Arc<dyn Store>, Result<T, StoreError>)>,
    ) -> Result<(Vec<(Arc<dyn Store>, T)>, Vec<Down>), StoreError> {
        let (mut answers, mut down) = (Vec::new(), Vec::new());
        for (store, answer) in asked {
            match answer {
                Ok(answer) => answers.push((store, answer)),
                Err(why) => down.push(Down { store: store.name().to_owned(), why }),
            }
        }
        match (answers.is_empty(), down.is_empty()) {
            (true, false) => Err(down.remove(0).why),
            _ => Ok((answers, down)),
        }
    }
}

/// A page of a store, and the ids of all its sessions.
async fn page_and_ids(store: &dyn Store, filter: &Filter) -> Result<(Page, Vec<String>), StoreError> {
    let page = store.list(filter).await?;
    let ids = if page.cards.is_empty() { Vec::new() } else { store.find("").await? };
    Ok((page, ids))
}

/// One page of the pages of several stores.
fn merged(pages: Vec<Page>, filter: &Filter) -> Page {
    let more = pages.iter().any(|page| page.more);
    let (mut cards, mut unreadable) = (Vec::new(), Vec::new());
    for page in pages {
        cards.extend(page.cards);
        unreadable.extend(page.unreadable);
    }
    let page = filter.page(cards, unreadable);
    Page { more: page.more || more, ..page }
}

/// Gives cards short ids that differ from the beginning of all ids there are. A file may bear another name than the id in
/// its header, so the cards' own ids count too.
fn shorten(cards: &mut [Card], ids: &[String]) {
    let all = ShortIds::new(ids.iter().chain(cards.iter().map(|card| &card.id)));
    for card in cards {
        card.short_id = all.shorten(&card.id, SESSION_ID_LENGTH).to_owned();
    }
}
