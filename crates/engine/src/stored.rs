//! A session that is stored but not open. Reading it does not need the whole tree in memory.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use osier_protocol::SessionRef;
use osier_store::{OpenedLog, PagedHeads, Store, StoreError};
use osier_tree::Seq;
use osier_tree::projection::card::Card;

use crate::engine::Engine;
use crate::error::EngineError;

/// A session and the store that has it.
#[derive(Debug)]
pub struct StoredSession {
    pub store: Arc<dyn Store>,
    /// The key of the session in the store.
    pub key: String,
    pub opened: OpenedLog,
}

impl StoredSession {
    pub async fn read(store: Arc<dyn Store>, key: String) -> Result<StoredSession, StoreError> {
        let opened = store.open(&key).await?;
        Ok(StoredSession { store, key, opened })
    }

    /// The path of the log, if it is a file.
    pub fn file(&self) -> Option<&PathBuf> {
        self.opened.file.as_ref()
    }

    /// The file or, if it is not in a file, the id of the session. Hooks get this as the "session file".
    pub fn location(&self) -> String {
        self.file().map_or_else(|| self.opened.header.id.clone(), |file| file.to_string_lossy().into_owned())
    }

    /// The card, with a short id that is unique in the store.
    pub async fn card(&self) -> Result<Card, StoreError> {
        let card = self.store.card(&self.key).await?;
        Ok(Card { short_id: self.store.short_id(&card.id).await?, ..card })
    }

    /// The heads, read only as far as needed.
    pub fn heads(&self) -> PagedHeads<'_> {
        PagedHeads::new(&*self.store, &self.key, self.opened.version)
    }

    /// Reads lines in batches and calls `each` with each line.
    pub async fn for_each_line<E: From<StoreError>>(
        &self,
        seqs: &[Seq],
        each: impl FnMut(Seq, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        osier_store::for_each_line(&*self.store, &self.key, self.opened.version.generation, seqs, each).await
    }
}

impl Engine {
    /// The session of a card: exactly this copy, if there are several.
    pub async fn session_of_card(&self, card: &Card) -> Result<StoredSession, EngineError> {
        self.session_at(&card.store, card_key(card)).await
    }

    /// The session with this key in a store.
    pub async fn session_at(&self, store: &str, key: &str) -> Result<StoredSession, EngineError> {
        Ok(StoredSession::read(self.require_store(store, key)?, key.to_owned()).await?)
    }

    /// Whether a reference leads to exactly this session, and not to a copy with the same id.
    pub(crate) async fn leads_to(
        &self,
        session: &SessionRef,
        store: &str,
        file: Option<&Path>,
    ) -> Result<bool, StoreError> {
        let Some(own) = self.store(&session.store).filter(|_| *session.store == *store) else {
            return Ok(false);
        };
        let found = match own.card(&session.key).await {
            Ok(card) => card.file,
            Err(StoreError::NotFound { .. } | StoreError::Vanished { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        Ok(match (found, file) {
            (Some(found), Some(file)) => Path::new(&found)
                .canonicalize()
                .ok()
                .is_some_and(|found| Some(found) == file.canonicalize().ok()),
            (found, file) => found.is_none() && file.is_none(),
        })
    }
}

/// The key of the session of a card: the file, because its id can also be that of a copy.
pub(crate) fn card_key(card: &Card) -> &str {
    card.file.as_deref().unwrap_or(&card.id)
}
