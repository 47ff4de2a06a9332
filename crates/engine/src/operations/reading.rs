//! What the reading operations share. They take a stored session, change nothing, and pass their output to a callback piece by
//! piece, so that a session of any size needs little memory. A session that is live is shared, not opened again.

use std::sync::Arc;

use osier_session::SessionError;
use osier_store::StoreError;

use crate::engine::Engine;
use crate::error::EngineError;
use crate::live_sessions::LiveSession;
use crate::stored::StoredSession;

/// An error of a reading operation: its own, or one that the callback returned.
pub trait ReadError: From<EngineError> + From<SessionError> + From<StoreError> {}

impl<E: From<EngineError> + From<SessionError> + From<StoreError>> ReadError for E {}

impl Engine {
    pub(super) async fn open_to_read<E: ReadError>(
        &self,
        stored: &StoredSession,
    ) -> Result<Arc<LiveSession>, E> {
        Ok(self.open_briefly(stored).await?)
    }
}
