//! The engine as one client may use it: with a read-only token, only to read one session.

use std::sync::Arc;

use async_trait::async_trait;
use osier_protocol::{
    Attached, Client, ClientCommand, ClientError, CommandReply, EngineClient, EngineReply, EngineRequest,
    ErrorCode, LogPosition, OpenRequest, OpenTarget, OpenedSession, QueryAnswer, SessionQuery, SessionRef,
};

use crate::access::GrantedAccess;

/// The settings of the gateway itself. A client must not widen what it can reach.
const GATEWAY_SETTINGS: &str = "gateway";

/// See the module documentation.
#[derive(Debug)]
pub(crate) struct RestrictedEngine {
    pub(crate) engine: Arc<dyn EngineClient>,
    pub(crate) access: GrantedAccess,
}

fn forbidden(message: &str) -> ClientError {
    ClientError::new(ErrorCode::Forbidden, message)
}

fn read_only() -> ClientError {
    forbidden("the token only allows reading one session")
}

#[async_trait]
impl EngineClient for RestrictedEngine {
    async fn call(&self, request: EngineRequest) -> Result<EngineReply, ClientError> {
        match (&self.access, &request) {
            (GrantedAccess::Full, EngineRequest::SetSetting { key, .. })
                if key.starts_with(GATEWAY_SETTINGS) =>
            {
                Err(forbidden("change the settings of a gateway on its own machine"))
            }
            (GrantedAccess::Full, _) => self.engine.call(request).await,
            (
                GrantedAccess::ReadSession(only),
                EngineRequest::Snapshot { session, .. } | EngineRequest::SearchMessages { session, .. },
            ) if session == only => self.engine.call(request).await,
            (GrantedAccess::ReadSession(_), _) => Err(read_only()),
        }
    }

    async fn open(&self, request: OpenRequest) -> Result<Option<OpenedSession>, ClientError> {
        let GrantedAccess::ReadSession(only) = &self.access else { return self.engine.open(request).await };
        if !names(&request.target, only) {
            return Err(read_only());
        }
        let target = OpenTarget::Listed { session: only.clone() };
        let Some(opened) = self.engine.open(OpenRequest { target, leaving: None }).await? else {
            return Ok(None);
        };
        Ok(Some(OpenedSession { client: Arc::new(ReadOnlyClient(opened.client)), ..opened }))
    }
}

fn names(target: &OpenTarget, only: &SessionRef) -> bool {
    match target {
        OpenTarget::Listed { session } => session == only,
        OpenTarget::Named { name } => *name == only.key,
        OpenTarget::New(_) | OpenTarget::Latest { .. } | OpenTarget::Fork(_) => false,
    }
}

/// A client that can read a session, but not what is beside it on the machine.
#[derive(Debug)]
struct ReadOnlyClient(Arc<dyn Client>);

#[async_trait]
impl Client for ReadOnlyClient {
    async fn send(&self, _: ClientCommand) -> Result<CommandReply, ClientError> {
        Err(read_only())
    }

    async fn query(&self, query: SessionQuery) -> Result<QueryAnswer, ClientError> {
        match query {
            SessionQuery::Files { .. } | SessionQuery::Sandbox | SessionQuery::Commands => Err(read_only()),
            query => self.0.query(query).await,
        }
    }

    async fn attach(&self, after: Option<LogPosition>) -> Result<Attached, ClientError> {
        self.0.attach(after).await
    }
}
