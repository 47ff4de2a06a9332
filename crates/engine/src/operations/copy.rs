//! Copying a session to another store, with the same id and the same lines.

use osier_session::{CopyReport, copy_session};

use crate::engine::Engine;
use crate::error::EngineError;
use crate::stored::StoredSession;

impl Engine {
    /// Copies a session to the store `to`. An interrupted copy is resumed, and an existing copy is not an error.
    pub async fn copy(&self, stored: &StoredSession, to: &str) -> Result<CopyReport, EngineError> {
        let target = self.configured_store(to);
        let target = target.ok_or_else(|| EngineError::StoreNotFound { store: to.to_owned() })?;
        let is_there = match stored.file() {
            Some(file) => target.contains(file),
            None => stored.store.name() == to,
        };
        if is_there {
            return Err(EngineError::AlreadyInStore { store: to.to_owned() });
        }
        if !stored.file().is_some_and(|file| self.is_own_file(file)) {
            self.mark_foreign(&stored.opened.header.id)?;
        }
        Ok(copy_session(&*stored.store, &stored.key, &*target.store()).await?)
    }
}
