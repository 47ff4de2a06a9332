//! The engine for a client that may only read one session.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use osier_engine::{AllowedDirectories, Engine, SessionReader};
use osier_protocol::{
    Client, ClientError, EngineClient, EngineReply, EngineRequest, ErrorCode, OpenRequest, OpenTarget,
    OpenedSession, SessionInfo, SessionRef,
};

use crate::error::READ_ONLY;

fn read_only() -> ClientError {
    ClientError::new(ErrorCode::Forbidden, READ_ONLY)
}

/// The engine for a read-only token. It starts no agent, so nothing happens because somebody reads.
#[derive(Debug)]
pub(crate) struct ReadOnlyEngine {
    pub(crate) client: Arc<dyn EngineClient>,
    pub(crate) engine: Engine,
    pub(crate) directories: AllowedDirectories,
    /// The only session.
    pub(crate) session: SessionRef,
}

#[async_trait]
impl EngineClient for ReadOnlyEngine {
    async fn call(&self, request: EngineRequest) -> Result<EngineReply, ClientError> {
        match &request {
            EngineRequest::Snapshot { session, .. } | EngineRequest::ExportSession { session, .. }
                if *session == self.session =>
            {
                self.client.call(request).await
            }
            _ => Err(read_only()),
        }
    }

    async fn open(&self, request: OpenRequest) -> Result<Option<OpenedSession>, ClientError> {
        let stored = self.engine.session_at(&self.session.store, &self.session.key).await?;
        let is_meant = match &request.target {
            OpenTarget::Listed { session } => *session == self.session,
            OpenTarget::Named { name } => *name == stored.opened.header.id,
            OpenTarget::New(_) | OpenTarget::Latest { .. } | OpenTarget::Fork(_) => false,
        };
        if !is_meant {
            return Err(read_only());
        }
        self.directories.check(Path::new(&stored.opened.header.cwd))?;
        let reader = self.engine.follow(&stored).await?;
        let info = self.session_info(&reader).await?;
        Ok(Some(OpenedSession { info, client: Arc::new(reader) }))
    }
}

impl ReadOnlyEngine {
    async fn session_info(&self, reader: &SessionReader) -> Result<SessionInfo, ClientError> {
        let client: &dyn Client = reader;
        let (status, header) = (client.status().await?, reader.live().session().header());
        Ok(SessionInfo {
            session: self.session.clone(),
            id: status.id,
            short_id: status.short_id,
            cwd: header.cwd.clone(),
            agent_id: header.agent_id.clone().unwrap_or_else(|| "main".to_owned()),
            model: status.model,
            ..SessionInfo::default()
        })
    }
}
