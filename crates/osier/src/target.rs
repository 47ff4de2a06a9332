//! Finds the session that a command names: by the first characters of its id, or by the path of its file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Result;
use osier_session::{LocatedSession, Session, UnavailableStore};
use osier_store::{FileStore, OpenedLog, PagedHeads, SessionFilter, Store, StoreError};
use osier_tree::projection::card::Card;
use osier_tree::short_ids::{SESSION_ID_LENGTH, ShortIds, has_prefix};
use osier_tree::{ErrorCode, Seq};

use crate::failure::{coded_error, fail, usage_error};
use crate::home::Home;
use crate::layout::sanitize_line;
use crate::out::notice;
use crate::progress::show_progress;
use crate::stores::{self, StoreHandle};

/// How many ids an error message lists.
const MAX_LISTED: usize = 5;

/// A session and the store that holds it.
#[derive(Debug)]
pub(crate) struct SessionTarget {
    pub(crate) store: Arc<dyn Store>,
    /// The key of the session in the store.
    pub(crate) key: String,
    pub(crate) opened: OpenedLog,
}

/// Whether the argument for a session is a path.
pub(crate) fn is_path(word: &str) -> bool {
    word.contains('/') || word.ends_with(".jsonl")
}

impl SessionTarget {
    pub(crate) async fn find(home: &Home, word: &str) -> Result<SessionTarget> {
        SessionTarget::find_by(home, word, SearchScope::Any).await
    }

    /// Like `find`, but prefers a copy that is not in this store.
    pub(crate) async fn find_outside(home: &Home, word: &str, store: &str) -> Result<SessionTarget> {
        SessionTarget::find_by(home, word, SearchScope::Outside(store)).await
    }

    async fn find_by(home: &Home, word: &str, reach: SearchScope<'_>) -> Result<SessionTarget> {
        let _progress = show_progress(&format!("reading {word}"));
        match locate(home, word, reach).await? {
            SearchResult::Found(store, key) => SessionTarget::open(store, key).await,
            SearchResult::NotFound(error) => Err(error),
        }
    }

    /// Like `find`, for a session to delete. Returns `None` if it does not exist and `may_be_gone` is set.
    pub(crate) async fn find_to_delete(
        home: &Home,
        word: &str,
        may_be_gone: bool,
    ) -> Result<Option<SessionTarget>> {
        let _progress = show_progress(&format!("reading {word}"));
        match locate(home, word, SearchScope::ToDelete).await? {
            SearchResult::Found(store, key) => {
                if let Some(named) =
                    home.named_store().filter(|named| *named != store.name() && !is_path(word))
                {
                    notice(&format!("osier: {} is in {}, not in {named}", sanitize_line(word), store.name()));
                }
                SessionTarget::open(store, key).await.map(Some)
            }
            SearchResult::NotFound(_) if may_be_gone => Ok(None),
            SearchResult::NotFound(error) => Err(error),
        }
    }

    /// The session of a card: exactly this copy, if there are several.
    pub(crate) async fn from_card(home: &Home, card: &Card) -> Result<SessionTarget> {
        let key = card.file.as_deref().unwrap_or(&card.id);
        match home.store_handle(&card.store) {
            Some(handle) => SessionTarget::open(handle.store(), key.to_owned()).await,
            None => SessionTarget::find(home, key).await,
        }
    }

    async fn open(store: Arc<dyn Store>, key: String) -> Result<SessionTarget> {
        let opened = store.open(&key).await?;
        Ok(SessionTarget { store, key, opened })
    }

    /// The card, with a short id that is unique in the store.
    pub(crate) async fn card(&self) -> Result<Card> {
        let card = self.store.card(&self.key).await?;
        Ok(Card { short_id: self.store.short_id(&card.id).await?, ..card })
    }

    /// The heads, read only as far as needed.
    pub(crate) fn heads(&self) -> PagedHeads<'_> {
        PagedHeads::new(&*self.store, &self.key, self.opened.version)
    }

    /// Reads lines in batches and calls `each` with each line.
    pub(crate) async fn for_each_line<E: From<StoreError>>(
        &self,
        wanted: &[Seq],
        each: impl FnMut(Seq, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        osier_store::for_each_line(&*self.store, &self.key, self.opened.version.generation, wanted, each)
            .await
    }

    /// Opens the session, with its whole tree in memory.
    pub(crate) async fn open_session(&self, home: &Home) -> Result<Session> {
        let _progress = show_progress(&format!("reading {}", self.opened.header.id));
        Ok(Session::open(self.store.clone(), &self.key, home.session_env()).await?)
    }
}

/// Finds and opens a session.
pub(crate) async fn open_session(home: &Home, word: &str) -> Result<Session> {
    SessionTarget::find(home, word).await?.open_session(home).await
}

/// Where the log of a session is.
#[derive(Debug)]
pub(crate) enum LogPlace {
    File(PathBuf),
    Database(Box<SessionTarget>),
}

/// Finds the log of a session. A session named by its path is not opened.
pub(crate) async fn log_place(home: &Home, word: &str) -> Result<LogPlace> {
    let (store, key) = match locate(home, word, SearchScope::Any).await? {
        SearchResult::Found(store, key) => (store, key),
        SearchResult::NotFound(error) => return Err(error),
    };
    if is_path(&key) {
        return Ok(LogPlace::File(PathBuf::from(key)));
    }
    let target = SessionTarget::open(store, key).await?;
    Ok(match target.opened.file.clone() {
        Some(file) => LogPlace::File(file),
        None => LogPlace::Database(Box::new(target)),
    })
}

/// The result of looking for a session.
enum SearchResult {
    /// The store that has it, and its key in the store.
    Found(Arc<dyn Store>, String),
    /// No store has it.
    NotFound(anyhow::Error),
}

/// Which stores to search, and which copies count.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SearchScope<'a> {
    /// All stores. If several have it, the store of `--store` wins.
    Any,
    /// Like `Any`, but only if the match is certain, because it will be deleted.
    ToDelete,
    /// Like `Any`, but a copy outside this store wins.
    Outside(&'a str),
}

impl SearchScope<'_> {
    /// The matches that count.
    fn filter_matches<T>(self, mut all: Vec<T>, home: &Home, store: impl Fn(&T) -> &str) -> Vec<T> {
        if let SearchScope::Outside(other) = self
            && home.named_store().is_none()
            && all.iter().any(|one| store(one) != other)
        {
            all.retain(|one| store(one) != other);
        }
        let Some(named) = home.named_store() else { return all };
        let is_named = |one: &T| store(one) == named;
        match all.iter().any(is_named) {
            true => all.into_iter().filter(is_named).collect(),
            false => all,
        }
    }
}

async fn locate(home: &Home, word: &str, reach: SearchScope<'_>) -> Result<SearchResult> {
    if is_path(word) {
        return locate_path(home, Path::new(word)).map(|(store, key)| SearchResult::Found(store, key));
    }
    if word.is_empty() {
        return Err(usage_error("give a session: the first characters of its id, or a .jsonl file"));
    }
    let mut found = home.stores().find(word).await?;
    if reach == SearchScope::ToDelete
        && let Some(away) = found.unavailable.iter().position(|down| home.named_store() == Some(&down.store))
    {
        return Err(found.unavailable.swap_remove(away).error.into());
    }
    let owned = reach.filter_matches(found.sessions, home, |owned| owned.store.name());
    let is_in_named = owned.iter().all(|owned| home.named_store() == Some(owned.store.name()));
    if reach == SearchScope::ToDelete
        && !is_in_named
        && !owned.iter().any(|owned| is_full_id(&owned.id, word))
    {
        check_unavailable_stores(word, &found.unavailable)?;
    }
    // A store returns ids in order, so copies of a session are adjacent.
    let same = |two: &[LocatedSession]| two[0].id == two[1].id && two[0].store.name() == two[1].store.name();
    if !owned.windows(2).any(same)
        && let Some(LocatedSession { store, id }) = pick_match(word, owned)?
    {
        stores::show_unavailable(&found.unavailable);
        return Ok(SearchResult::Found(store, id));
    }
    if let Some(file) = find_file_by_header(home, word, reach).await? {
        if reach == SearchScope::ToDelete {
            check_unavailable_stores(word, &found.unavailable)?;
        }
        stores::show_unavailable(&found.unavailable);
        return locate_path(home, Path::new(&file)).map(|(store, key)| SearchResult::Found(store, key));
    }
    if let Some(UnavailableStore { store, error: why }) = found.unavailable.into_iter().next() {
        let missing = format!("no session {word} in the other stores, and {store} is unavailable");
        return Err(anyhow::Error::new(why).context(missing));
    }
    Ok(SearchResult::NotFound(not_found_error(home, word).await?))
}

/// Fails if a store is unavailable: a prefix that matches one session may match another one there.
fn check_unavailable_stores(word: &str, down: &[UnavailableStore]) -> Result<()> {
    match down.first() {
        Some(UnavailableStore { store, error: why }) => {
            let why = sanitize_line(&why.to_string());
            fail!(
                SessionAmbiguous,
                "{word} could also mean a session in {store}; give the full id, or choose a store with --store: {why}"
            )
        }
        None => Ok(()),
    }
}

/// The store of a file: the store whose folder contains it, else the store in the home folder.
fn locate_path(home: &Home, path: &Path) -> Result<(Arc<dyn Store>, String)> {
    let word = path.display();
    match path.metadata() {
        Ok(metadata) if metadata.is_dir() => {
            fail!(NotASession, "{word} is a folder; give a .jsonl file in it")
        }
        Ok(_) => {}
        Err(_) => fail!(SessionNotFound, "no file {word}"),
    }
    let key = FileStore::path_to_id(path)?;
    let handle = home.store_handles.iter().find(|handle| handle.contains(Path::new(&key)));
    Ok((handle.map_or_else(|| home.file_store() as Arc<dyn Store>, StoreHandle::store), key))
}

/// The only match. An exact id wins over a prefix.
fn pick_match(word: &str, owned: Vec<LocatedSession>) -> Result<Option<LocatedSession>> {
    let exact: Vec<LocatedSession> = owned.iter().filter(|owned| owned.id == word).cloned().collect();
    let whole: Vec<LocatedSession> =
        owned.iter().filter(|owned| is_full_id(&owned.id, word)).cloned().collect();
    let mut owned = [exact, whole, owned].into_iter().find(|meant| !meant.is_empty()).unwrap_or_default();
    if owned.len() < 2 {
        return Ok(owned.pop());
    }
    let stores: Vec<&str> = owned.iter().map(|owned| owned.store.name()).collect();
    if owned.iter().all(|other| other.id == owned[0].id) {
        let id = &owned[0].id;
        fail!(
            SessionAmbiguous,
            "session {id} is in the stores {}; choose one with --store",
            stores.join(" and ")
        );
    }
    let many = stores.iter().any(|store| *store != stores[0]);
    let short = ShortIds::new(owned.iter().map(|owned| &owned.id));
    let named = |owned: &LocatedSession| match (short.shorten(&owned.id, SESSION_ID_LENGTH), many) {
        (id, true) => format!("{id} ({})", owned.store.name()),
        (id, false) => id.to_owned(),
    };
    let ids: Vec<String> = owned.iter().map(named).collect();
    fail!(
        SessionAmbiguous,
        "{word} is ambiguous: it could mean {} sessions: {}; give more characters",
        ids.len(),
        join_some(&ids)
    )
}

fn is_full_id(id: &str, word: &str) -> bool {
    id.eq_ignore_ascii_case(word)
}

/// The error for a session that no store has.
async fn not_found_error(home: &Home, word: &str) -> Result<anyhow::Error> {
    let known = home.stores().find("").await?.sessions.into_iter().map(|owned| owned.id);
    let by_header = file_cards(home).await?.into_iter().map(|card| card.id);
    let known: Vec<String> = known.chain(by_header).collect();
    Ok(coded_error(
        ErrorCode::SessionNotFound,
        format!("no session {word}{}", suggest_sessions(&known, word)),
    ))
}

async fn file_cards(home: &Home) -> Result<Vec<Card>> {
    let mut cards = Vec::new();
    for files in home.store_handles.iter().filter_map(StoreHandle::file_store) {
        cards.extend(files.list(&SessionFilter::default()).await?.cards);
    }
    Ok(cards)
}

/// Finds a file by the id in its header, which survives copying and renaming.
async fn find_file_by_header(home: &Home, word: &str, reach: SearchScope<'_>) -> Result<Option<String>> {
    let cards = file_cards(home).await?;
    let named = cards.into_iter().filter(|card| has_prefix(&card.id, word)).collect();
    let named = reach.filter_matches(named, home, |card: &Card| card.store.as_str());
    let mut files: Vec<String> = named.into_iter().filter_map(|card| card.file).collect();
    match files.len() {
        0 | 1 => Ok(files.pop()),
        many => fail!(
            SessionAmbiguous,
            "{word} is ambiguous: it could mean {many} sessions: {}; give one of these files",
            join_some(&files)
        ),
    }
}

fn join_some(ids: &[String]) -> String {
    let shown: Vec<&str> = ids.iter().take(MAX_LISTED).map(String::as_str).collect();
    format!("{}{}", shown.join(", "), if ids.len() > MAX_LISTED { ", …" } else { "" })
}

/// The ids that share the longest prefix with `word`.
pub(crate) fn closest_ids<'a>(ids: impl Iterator<Item = &'a str>, word: &str) -> Vec<String> {
    let mut best = 1;
    let mut near: Vec<String> = Vec::new();
    for id in ids {
        let shared = id.bytes().zip(word.bytes()).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count();
        if shared > best {
            near.clear();
            best = shared;
        }
        if shared == best && near.len() <= MAX_LISTED {
            near.push(id.to_owned());
        }
    }
    near.sort();
    near.dedup();
    near
}

fn suggest_sessions(known: &[String], word: &str) -> String {
    let short = ShortIds::new(known);
    let near = closest_ids(known.iter().map(|id| short.shorten(id, SESSION_ID_LENGTH)), word);
    match near.is_empty() {
        true => "; `osier sessions list --all` lists the sessions".to_owned(),
        false => format!("; did you mean {}?", join_some(&near)),
    }
}

/// The hint for an unknown entry.
pub(crate) fn suggest_entries<'a>(ids: impl Iterator<Item = &'a str>, word: &str) -> String {
    let near = closest_ids(ids, word);
    match near.is_empty() {
        true => "`osier sessions tree --ids` lists the entries".to_owned(),
        false => format!("did you mean {}?", join_some(&near)),
    }
}
