//! Finds a session by the first characters of its id, or by the path of its file.

use std::path::Path;
use std::sync::Arc;

use osier_session::{FindResult, LocatedSession, UnavailableStore};
use osier_store::{FileStore, SessionFilter, Store, StoreError};
use osier_tree::projection::card::Card;
use osier_tree::short_ids::{SESSION_ID_LENGTH, ShortIds, has_prefix};

use crate::configured_store::ConfiguredStore;
use crate::engine::Engine;
use crate::error::{EngineError, similar_ids};
use crate::stored::StoredSession;

/// How to choose between several matches.
#[derive(Debug, Clone, Copy, Default)]
pub struct FindOptions<'a> {
    /// The store that the user named: its copy wins over others.
    pub store: Option<&'a str>,
    pub scope: FindScope<'a>,
}

/// Which matches count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FindScope<'a> {
    #[default]
    Any,
    /// Only a match that is certain, because the session will be deleted.
    ToDelete,
    /// A copy outside this store wins, unless the user named a store.
    Outside(&'a str),
}

/// A session that was found.
#[derive(Debug)]
pub struct FoundSession {
    pub store: Arc<dyn Store>,
    /// The key of the session in the store.
    pub key: String,
    /// The stores that did not answer.
    pub unavailable: Vec<UnavailableStore>,
}

impl FoundSession {
    pub async fn read(self) -> Result<StoredSession, StoreError> {
        StoredSession::read(self.store, self.key).await
    }
}

/// Whether the name of a session is a path.
pub fn is_path(name: &str) -> bool {
    name.contains('/') || name.ends_with(".jsonl")
}

impl Engine {
    /// Finds the session that a name means. Fails with [`EngineError::SessionNotFound`] if no store has it.
    pub async fn find(&self, name: &str, options: FindOptions<'_>) -> Result<FoundSession, EngineError> {
        if is_path(name) {
            return self.find_file(Path::new(name), Vec::new());
        }
        let FindResult { sessions, unavailable } = self.listed_stores(None).find(name).await?;
        let unavailable = options.check_named_store(unavailable)?;
        let matches = options.filter(sessions, |session| session.store.name());
        options.check_certain(name, &matches, &unavailable)?;
        // A store returns ids in order, so copies of a session are adjacent.
        let is_copy =
            |two: &[LocatedSession]| two[0].id == two[1].id && two[0].store.name() == two[1].store.name();
        if !matches.windows(2).any(is_copy)
            && let Some(LocatedSession { store, id }) = pick_match(name, matches)?
        {
            return Ok(FoundSession { store, key: id, unavailable });
        }
        if let Some(file) = self.find_file_by_header(name, options).await? {
            if options.scope == FindScope::ToDelete {
                check_no_other_store(name, &unavailable)?;
            }
            return self.find_file(Path::new(&file), unavailable);
        }
        match unavailable.into_iter().next() {
            Some(UnavailableStore { store, error }) => {
                Err(EngineError::NotInOtherStores { name: name.to_owned(), store, source: Box::new(error) })
            }
            None => Err(self.not_found(name).await?),
        }
    }

    /// The store of a file: the store whose folder contains it, else the one for files elsewhere.
    fn find_file(
        &self,
        path: &Path,
        unavailable: Vec<UnavailableStore>,
    ) -> Result<FoundSession, EngineError> {
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => return Err(EngineError::IsFolder { path: path.to_owned() }),
            Ok(_) => {}
            Err(_) => return Err(EngineError::FileNotFound { path: path.to_owned() }),
        }
        let key = FileStore::path_to_id(path).map_err(|source| StoreError::Io {
            what: "find",
            path: path.to_owned(),
            source,
        })?;
        let configured = self.stores().iter().find(|store| store.contains(Path::new(&key)));
        let store =
            configured.map_or_else(|| self.config().files.clone() as Arc<dyn Store>, ConfiguredStore::store);
        Ok(FoundSession { store, key, unavailable })
    }

    /// Finds a file by the id in its header, which survives copying and renaming.
    async fn find_file_by_header(
        &self,
        name: &str,
        options: FindOptions<'_>,
    ) -> Result<Option<String>, EngineError> {
        let cards = self.file_cards().await?;
        let matches = cards.into_iter().filter(|card| has_prefix(&card.id, name)).collect();
        let matches = options.filter(matches, |card: &Card| card.store.as_str());
        let mut files: Vec<String> = matches.into_iter().filter_map(|card| card.file).collect();
        match files.len() {
            0 | 1 => Ok(files.pop()),
            _ => Err(EngineError::AmbiguousFile { name: name.to_owned(), files }),
        }
    }

    /// The cards of all session files in the stores.
    async fn file_cards(&self) -> Result<Vec<Card>, StoreError> {
        let mut cards = Vec::new();
        for files in self.stores().iter().filter(|store| store.folder().is_some()) {
            cards.extend(files.store().list(&SessionFilter::default()).await?.cards);
        }
        Ok(cards)
    }

    async fn not_found(&self, name: &str) -> Result<EngineError, StoreError> {
        let known = self.listed_stores(None).find("").await?.sessions.into_iter().map(|session| session.id);
        let by_header = self.file_cards().await?.into_iter().map(|card| card.id);
        let known: Vec<String> = known.chain(by_header).collect();
        let short = ShortIds::new(&known);
        let similar = similar_ids(known.iter().map(|id| short.shorten(id, SESSION_ID_LENGTH)), name);
        Ok(EngineError::SessionNotFound { name: name.to_owned(), similar })
    }
}

impl FindOptions<'_> {
    /// Before a deletion, the named store must answer.
    fn check_named_store(
        self,
        mut unavailable: Vec<UnavailableStore>,
    ) -> Result<Vec<UnavailableStore>, StoreError> {
        let named = unavailable.iter().position(|away| self.store == Some(&away.store));
        match named.filter(|_| self.scope == FindScope::ToDelete) {
            Some(at) => Err(unavailable.swap_remove(at).error),
            None => Ok(unavailable),
        }
    }

    /// Before a deletion by a prefix, all stores must answer, unless the match is in the named store.
    fn check_certain(
        self,
        name: &str,
        matches: &[LocatedSession],
        unavailable: &[UnavailableStore],
    ) -> Result<(), EngineError> {
        let is_in_named = matches.iter().all(|session| self.store == Some(session.store.name()));
        let is_certain = is_in_named || matches.iter().any(|session| is_full_id(&session.id, name));
        if is_certain || self.scope != FindScope::ToDelete {
            return Ok(());
        }
        check_no_other_store(name, unavailable)
    }

    /// The matches that count.
    fn filter<T>(self, mut all: Vec<T>, store: impl Fn(&T) -> &str) -> Vec<T> {
        let Some(named) = self.store else {
            if let FindScope::Outside(other) = self.scope
                && all.iter().any(|one| store(one) != other)
            {
                all.retain(|one| store(one) != other);
            }
            return all;
        };
        if all.iter().any(|one| store(one) == named) {
            all.retain(|one| store(one) == named);
        }
        all
    }
}

/// Fails if a store is unavailable: a prefix that matches one session may match another one there.
fn check_no_other_store(name: &str, unavailable: &[UnavailableStore]) -> Result<(), EngineError> {
    match unavailable.first() {
        Some(UnavailableStore { store, error }) => Err(EngineError::MaybeInOtherStore {
            name: name.to_owned(),
            store: store.clone(),
            reason: error.to_string(),
        }),
        None => Ok(()),
    }
}

/// The only match. An exact id wins over a prefix.
fn pick_match(name: &str, matches: Vec<LocatedSession>) -> Result<Option<LocatedSession>, EngineError> {
    let select = |is_meant: &dyn Fn(&str) -> bool| -> Vec<LocatedSession> {
        matches.iter().filter(|session| is_meant(&session.id)).cloned().collect()
    };
    let candidates = [select(&|id| id == name), select(&|id| is_full_id(id, name)), matches.clone()];
    let mut sessions = candidates.into_iter().find(|meant| !meant.is_empty()).unwrap_or_default();
    if sessions.len() < 2 {
        return Ok(sessions.pop());
    }
    let stores: Vec<String> = sessions.iter().map(|session| session.store.name().to_owned()).collect();
    if sessions.iter().all(|other| other.id == sessions[0].id) {
        return Err(EngineError::InSeveralStores { id: sessions.swap_remove(0).id, stores });
    }
    let shows_store = stores.iter().any(|store| *store != stores[0]);
    let short = ShortIds::new(sessions.iter().map(|session| &session.id));
    let describe =
        |session: &LocatedSession| match (short.shorten(&session.id, SESSION_ID_LENGTH), shows_store) {
            (id, true) => format!("{id} ({})", session.store.name()),
            (id, false) => id.to_owned(),
        };
    Err(EngineError::AmbiguousSession { name: name.to_owned(), ids: sessions.iter().map(describe).collect() })
}

fn is_full_id(id: &str, name: &str) -> bool {
    id.eq_ignore_ascii_case(name)
}
