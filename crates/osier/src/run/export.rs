//! Exporting an open session to a file.

use std::path::PathBuf;

use osier_engine::{AgentError, EngineError, ExportFolder};
use osier_local_engine::LocalEngine;
use osier_protocol::SessionRef;

/// Exports a session at its current position. The extension of the file decides the format.
pub(super) async fn export_session(
    local: &LocalEngine,
    session: &SessionRef,
    file: Option<&str>,
) -> Result<PathBuf, EngineError> {
    let (home, engine) = (local.home(), local.engine());
    let live = engine.open_at(&session.store, &session.key).await?;
    let Some(client) = engine.connect_if_running(&live).await else {
        return Err(EngineError::Agent(AgentError::Closed));
    };
    let folder = ExportFolder { cwd: home.cwd.clone(), home: home.user.as_ref().map(PathBuf::from) };
    engine.export_to(&client, file, &folder).await
}
