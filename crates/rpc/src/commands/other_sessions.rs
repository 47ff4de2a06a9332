//! All sessions of the engine: several open ones, and those that are only stored.

use std::sync::Arc;

use osier_protocol::engine_request::DeletedSession;
use osier_protocol::session_operation::{NewStoredSession, SessionOperation};
use osier_protocol::{
    Card, ClientError, EngineReply, EngineRequest, ErrorCode, ListSessions, NewSessionOptions, OpenRequest,
    OpenTarget, SessionRef,
};
use serde_json::json;

use crate::response::{CommandResult, response_data};
use crate::server::RpcServer;
use crate::session::RpcSession;
use crate::stored_entry::without_nulls;

impl RpcServer {
    /// Opens one more session. Its events name it.
    pub(crate) async fn open_session(
        &self,
        name: Option<String>,
        options: NewSessionOptions,
    ) -> CommandResult {
        let target = match name {
            Some(name) => OpenTarget::Named { name },
            None => OpenTarget::New(options),
        };
        // An extension may switch a session to this one at the same time.
        let _replacing = self.replacing.lock().await;
        let Some(opened) = self.engine.open(OpenRequest { target, leaving: None }).await? else {
            return response_data(&json!({ "cancelled": true }));
        };
        let (info, is_open) = (opened.info.clone(), self.session(Some(&opened.info.id)).is_ok());
        if !is_open {
            let (output, requests) = (self.output.clone(), self.requests.clone());
            let added = RpcSession::attach(opened, true, 0, output, requests).await?;
            self.add(added.session.clone());
            added.start().await;
        }
        response_data(&without_nulls(json!({
            "cancelled": false,
            "sessionId": info.id,
            "sessionFile": info.file,
            "store": info.session.store,
            "cwd": info.cwd,
            "agentId": info.agent_id,
            "isNew": info.is_new,
        })))
    }

    /// Closes a session that was opened in addition. Its turn is canceled and stored. Queued prompts stay in the session.
    pub(crate) async fn close_session(&self, session: &Arc<RpcSession>) -> CommandResult {
        if self.is_main(session) {
            let error = "the main session cannot be closed; close the input instead";
            return Err(ClientError::new(ErrorCode::Usage, error));
        }
        session.abort().await?;
        session.end_events().await;
        self.remove(session);
        Ok(None)
    }

    pub(crate) async fn list_sessions(&self, options: ListSessions) -> CommandResult {
        match self.engine.call(EngineRequest::ListSessions(options)).await? {
            EngineReply::Sessions(list) => response_data(&list),
            _ => Err(unexpected_reply()),
        }
    }

    /// Sessions whose card or messages match, best matches first.
    pub(crate) async fn search_sessions(&self, options: ListSessions) -> CommandResult {
        match options.query {
            Some(_) => self.list_sessions(options).await,
            None => Err(ClientError::new(ErrorCode::Usage, "missing field `query`")),
        }
    }

    /// A session by a prefix of its id, or by a path.
    async fn find(&self, name: &str) -> Result<SessionRef, ClientError> {
        Ok(SessionRef::from_card(&self.find_card(name).await?))
    }

    async fn find_card(&self, name: &str) -> Result<Card, ClientError> {
        match self.engine.call(EngineRequest::FindSession { name: name.to_owned() }).await? {
            EngineReply::Found { card } => Ok(card),
            _ => Err(unexpected_reply()),
        }
    }

    pub(crate) async fn rename_session(&self, named: &str, name: String) -> CommandResult {
        let session = self.find(named).await?;
        self.engine.call(EngineRequest::RenameSession { session, name }).await?;
        Ok(None)
    }

    /// Deleting a session again succeeds, and says that nothing was deleted.
    pub(crate) async fn delete_session(&self, named: &str) -> CommandResult {
        let card = match self.find_card(named).await {
            Err(error) if error.code == ErrorCode::SessionNotFound => {
                return response_data(&DeletedSession::default());
            }
            found => found?,
        };
        let session = SessionRef::from_card(&card);
        let deleted = self.engine.call(EngineRequest::DeleteSession { session }).await;
        match deleted.map_err(|error| self.name_way_to_close(error, &card.id))? {
            EngineReply::Deleted(deleted) => response_data(&deleted),
            _ => Err(unexpected_reply()),
        }
    }

    /// Says how to close a session that is busy because it is open here.
    fn name_way_to_close(&self, mut error: ClientError, id: &str) -> ClientError {
        let open = self.session(Some(id)).ok().filter(|_| error.code == ErrorCode::SessionBusy);
        if let Some(open) = open {
            error.message = match self.is_main(&open) {
                true => format!(
                    "session {id} is the main session; leave it with new_session or switch_session first"
                ),
                false => format!("session {id} is open here; close it with close_session first"),
            };
        }
        error
    }

    pub(crate) async fn create_session(&self, new: NewStoredSession) -> CommandResult {
        self.call_operation(EngineRequest::CreateSession(new)).await
    }

    /// Runs an operation on the named session, or on an open one.
    pub(crate) async fn run_operation(
        &self,
        open: &RpcSession,
        named: Option<String>,
        operation: SessionOperation,
    ) -> CommandResult {
        let session = self.named_or_open(named, open).await?;
        self.call_operation(EngineRequest::SessionOperation { session, operation }).await
    }

    /// The session that a command names; without a name, the open one.
    pub(crate) async fn named_or_open(
        &self,
        named: Option<String>,
        open: &RpcSession,
    ) -> Result<SessionRef, ClientError> {
        match named {
            Some(name) => self.find(&name).await,
            None => Ok(open.info.session.clone()),
        }
    }

    async fn call_operation(&self, request: EngineRequest) -> CommandResult {
        match self.engine.call(request).await? {
            EngineReply::Operation { result } => response_data(&result),
            _ => Err(unexpected_reply()),
        }
    }

    pub(crate) async fn snapshot(
        &self,
        session: SessionRef,
        since: Option<usize>,
        generation: Option<String>,
        without_context: bool,
    ) -> CommandResult {
        let request = EngineRequest::Snapshot { session, since, generation, without_context };
        match self.engine.call(request).await? {
            EngineReply::Snapshot { snapshot } => response_data(&snapshot),
            _ => Err(unexpected_reply()),
        }
    }
}

fn unexpected_reply() -> ClientError {
    ClientError::new(ErrorCode::Failed, "unexpected reply from the engine")
}
