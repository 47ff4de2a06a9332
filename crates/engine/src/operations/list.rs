//! Listing and searching the sessions of all stores.

use std::path::PathBuf;
use std::sync::Arc;

use osier_session::{ListResult, UnavailableStore, filter_cards, search_messages};
use osier_store::SessionFilter;
use osier_tree::projection::card::Card;
use osier_tree::search_query::{MessageHit, SearchDetail, SearchQuery};

use crate::engine::Engine;
use crate::error::EngineError;

/// Which sessions to list.
#[derive(Debug, Default)]
pub struct ListOptions {
    /// Only this store.
    pub store: Option<String>,
    /// Only sessions of this working directory.
    pub cwd: Option<PathBuf>,
    /// Only sessions of this agent.
    pub agent: Option<String>,
    /// Only sessions that match.
    pub query: Option<Arc<SearchQuery>>,
    /// Which matching messages of each session to return.
    pub detail: SearchDetail,
    /// Only sessions with a name.
    pub named: bool,
    /// Also the sessions of sub-agents.
    pub subagents: bool,
    pub limit: Option<usize>,
}

/// A list of sessions, most recently used first. For a query, the best matches come first.
#[derive(Debug, Default)]
pub struct SessionList {
    pub cards: Vec<Card>,
    /// The matching messages of each session, if they were asked for.
    pub hits: Vec<Vec<MessageHit>>,
    /// Whether the limit left sessions out.
    pub has_more: bool,
    /// Stores that did not answer.
    pub unavailable: Vec<UnavailableStore>,
    /// Files that are not readable as sessions.
    pub unreadable: Vec<String>,
    /// Why some sessions could not be searched.
    pub search_problem: Option<String>,
}

impl Engine {
    pub async fn list(&self, options: &ListOptions) -> Result<SessionList, EngineError> {
        let stores = self.listed_stores(options.store.as_deref());
        // A later filter may select any session, so the store must return all of them.
        let filters_later = options.query.is_some() || options.named || options.agent.is_some();
        let limit = options.limit.filter(|_| !filters_later);
        let mut filter = SessionFilter { cwd: options.cwd.clone(), limit, ..SessionFilter::default() };
        let is_wanted = |card: &Card| options.subagents || !card.is_subagent();
        let mut listed = stores.list(&filter).await?;
        let hides_some = listed.page.cards.iter().any(|card| !is_wanted(card));
        if limit.is_some() && listed.page.has_more && hides_some {
            filter.limit = None;
            listed = stores.list(&filter).await?;
        }
        let ListResult { page, unavailable } = listed;
        let (mut cards, mut search_problem) = (page.cards, None);
        cards.retain(is_wanted);
        cards.retain(|card| !options.named || card.name.is_some());
        cards.retain(|card| options.agent.as_ref().is_none_or(|agent| card.agent_id == *agent));
        if let Some(query) = &options.query {
            let (matches, errors) = filter_cards(query, cards, &stores).await;
            (cards, search_problem) = (matches, errors.summary());
        }
        let wanted = options.limit.unwrap_or(usize::MAX);
        let has_more = page.has_more || cards.len() > wanted;
        cards.truncate(wanted);
        let mut hits = Vec::new();
        if let Some(query) = options.query.as_ref().filter(|_| options.detail.max_hits > 0) {
            let (matches, errors) = search_messages(query, &cards, &stores, options.detail).await;
            search_problem = search_problem.or(errors.summary());
            hits.extend(matches.into_iter().map(|matches| matches.hits));
        }
        Ok(SessionList { cards, hits, has_more, unavailable, unreadable: page.unreadable, search_problem })
    }
}
