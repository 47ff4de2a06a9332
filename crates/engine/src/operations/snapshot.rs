//! A snapshot: everything a client needs to show a session, from one state of it.

use osier_session::SnapshotOptions;

use crate::engine::Engine;
use crate::operations::reading::ReadError;
use crate::stored::StoredSession;

impl Engine {
    /// Writes a snapshot as one JSON object. `docs/json.md` lists its fields.
    pub async fn write_snapshot<E: ReadError>(
        &self,
        stored: &StoredSession,
        options: SnapshotOptions,
        write: impl FnMut(&[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open_to_read::<E>(stored).await?.session().write_snapshot(options, write).await
    }
}
