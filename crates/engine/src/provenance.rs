//! Where a session comes from: whether only this user can have written it. Approvals in any other session do not count.

use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

use osier_session::Session;
use osier_store::{MemoryStore, Store, StoreError};
use osier_tree::Header;
use osier_tree::header::is_valid_id;

use crate::engine::Engine;

impl Engine {
    /// Whether this user's Osier created a session. A file from elsewhere, a row of a database that others write to, and
    /// a copy of either can contain anything.
    pub fn is_own_session(&self, session: &Session) -> bool {
        let is_in_memory = || session.store().name() == MemoryStore::default().name();
        session
            .file()
            .map_or_else(is_in_memory, |file| self.is_own_file(file) && !self.is_foreign(session.id()))
    }

    /// Whether the directory in the header of a session is one that this user chose. A fork has it from its source.
    pub fn has_own_directory(&self, session: &Session) -> bool {
        let Header { parent_session, parent_session_id, .. } = session.header();
        session.file().is_some()
            && self.is_own_session(session)
            && parent_session.as_deref().is_none_or(|parent| self.is_own_file(Path::new(parent)))
            && parent_session_id.as_deref().is_none_or(|parent| !self.is_foreign(parent))
    }

    /// Whether a file is in one of the user's own stores. Any other file is untrusted input.
    pub(crate) fn is_own_file(&self, file: &Path) -> bool {
        is_private_file(file) && self.stores().iter().any(|store| store.is_own() && store.contains(file))
    }

    /// Remembers that a session came from a place where others can write. The mark is permanent and contains only an id.
    /// Call this before copying the first line, so that an interrupted copy is marked too.
    pub(crate) fn mark_foreign(&self, id: &str) -> Result<(), StoreError> {
        if !is_valid_id(id) {
            return Err(StoreError::InvalidId { id: id.to_owned() });
        }
        let Some(folder) = &self.config().foreign_marks else { return Ok(()) };
        let mark = folder.join(id);
        let create = || -> io::Result<()> {
            DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
            OpenOptions::new().create(true).append(true).mode(0o600).open(&mark)?.sync_all()?;
            fs::File::open(folder)?.sync_all()
        };
        create().map_err(|source| StoreError::Io { what: "write", path: mark.clone(), source })
    }

    /// Whether a session is marked. If this cannot be determined, it counts as marked.
    fn is_foreign(&self, id: &str) -> bool {
        let Some(folder) = &self.config().foreign_marks else { return false };
        !is_valid_id(id) || !matches!(folder.join(id).try_exists(), Ok(false))
    }
}

/// Whether only this user can have written a file: the user owns it, and it has no other hard link.
fn is_private_file(file: &Path) -> bool {
    match fs::symlink_metadata(file) {
        Ok(metadata) => metadata.is_file() && metadata.nlink() == 1 && !is_owned_by_another(&metadata),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

/// Whether a file belongs to neither this user nor root.
pub fn is_owned_by_another(metadata: &Metadata) -> bool {
    metadata.uid() != rustix::process::geteuid().as_raw() && metadata.uid() != 0
}
