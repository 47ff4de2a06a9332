//! The name of a session.

use osier_session::{CommitOutcome, Session};

use crate::engine::Engine;
use crate::error::EngineError;

impl Engine {
    /// Names an open session. An empty name removes the name.
    pub async fn rename(&self, session: &Session, name: &str) -> Result<CommitOutcome, EngineError> {
        let outcome = session.rename(name).await?;
        session.sync_if_configured().await?;
        Ok(outcome)
    }
}
