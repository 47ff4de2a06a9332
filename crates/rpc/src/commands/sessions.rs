//! Other sessions: new, switched to, forked.

use std::sync::Arc;

use osier_protocol::{
    ClientCommand, ClientError, EntryId, ErrorCode, ForkOptions, ForkPosition, NewSessionOptions,
    OpenRequest, OpenTarget,
};
use serde_json::json;

use crate::response::{CommandResult, data};
use crate::server::Server;
use crate::session::RpcSession;

impl Server {
    pub(crate) async fn new_session(&self, old: &Arc<RpcSession>, parent: Option<String>) -> CommandResult {
        let options = NewSessionOptions { name: None, ..self.new_session.clone() };
        let _ = parent;
        let opened = self.open_instead(old, OpenTarget::New(options)).await?;
        data(&json!({ "cancelled": opened.is_none() }))
    }

    pub(crate) async fn switch_session(&self, old: &Arc<RpcSession>, path: String) -> CommandResult {
        let opened = self.open_instead(old, OpenTarget::Named { name: path }).await?;
        data(&json!({ "cancelled": opened.is_none() }))
    }

    pub(crate) async fn fork(&self, old: &Arc<RpcSession>, entry_id: EntryId) -> CommandResult {
        let text = self.open_instead(old, fork_of(old, ForkPosition::Entry { entry_id })).await?;
        match text {
            Some(text) => data(&json!({ "text": text.unwrap_or_default(), "cancelled": false })),
            None => data(&json!({ "cancelled": true })),
        }
    }

    pub(crate) async fn clone_session(&self, old: &Arc<RpcSession>) -> CommandResult {
        let opened = self.open_instead(old, fork_of(old, ForkPosition::Current)).await?;
        data(&json!({ "cancelled": opened.is_none() }))
    }

    /// Opens a session in the place of another one, whose turn is canceled. Returns the text for the editor; `None` if an
    /// extension refused.
    async fn open_instead(
        &self,
        old: &Arc<RpcSession>,
        target: OpenTarget,
    ) -> Result<Option<Option<String>>, ClientError> {
        let leaving = Some(old.info.session.clone());
        let Some(opened) = self.engine.open(OpenRequest { target, leaving }).await? else { return Ok(None) };
        // The end of the turn is announced before the other session takes its place.
        old.settle().await?;
        old.stop_events();
        let text = opened.info.editor_text.clone();
        let new = RpcSession::start(opened, !self.is_main(old), self.output.clone()).await?;
        self.replace(old, new);
        Ok(Some(text))
    }
}

fn fork_of(session: &RpcSession, from: ForkPosition) -> OpenTarget {
    OpenTarget::Fork(ForkOptions { session: session.info.session.clone(), from, store: None, name: None })
}

impl RpcSession {
    /// As in pi, a name is one line.
    pub(crate) async fn set_name(&self, name: &str) -> CommandResult {
        let name = name.split(['\n', '\r']).collect::<Vec<_>>().join(" ").trim().to_owned();
        if name.is_empty() {
            return Err(ClientError::new(ErrorCode::Empty, "Session name cannot be empty"));
        }
        self.client.send(ClientCommand::Rename { name }).await?;
        self.settle().await?;
        Ok(None)
    }

    pub(crate) async fn export_html(&self, path: Option<String>) -> CommandResult {
        let _ = path;
        Err(ClientError::new(ErrorCode::Usage, "cannot export to HTML yet"))
    }
}
