//! Other sessions: new, switched to, forked.

use std::sync::Arc;

use osier_engine::id_in_file_name;
use osier_protocol::{
    ClientCommand, ClientError, EntryId, ErrorCode, ForkOptions, ForkPosition, OpenRequest, OpenTarget,
    RequestedSession, SessionId,
};
use serde::Serialize;
use serde_json::json;

use crate::response::{CommandResult, response_data};
use crate::server::RpcServer;
use crate::session::RpcSession;

/// The session that took the place of another one.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Replaced {
    /// The message before which a fork starts.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// An extension refused. Nothing changed.
    cancelled: bool,
    /// Only for sessions that the client opened in addition.
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<SessionId>,
}

impl RpcServer {
    /// Without a path, the page is written to the working directory.
    pub(crate) async fn export_html(&self, session: &RpcSession, path: Option<String>) -> CommandResult {
        let id: String = session.info.id.chars().take(8).collect();
        let path = path.unwrap_or_else(|| format!("osier-{}.html", id_in_file_name(&id)));
        if !path.ends_with(".html") && !path.ends_with(".htm") {
            let error = format!("cannot export to {path}: the name of a page ends with .html");
            return Err(ClientError::new(ErrorCode::Usage, error));
        }
        let path = self.exporter.export_html(&session.info.session, &path).await?;
        response_data(&json!({ "path": path }))
    }

    /// Unlike in pi, the session does not record `parentSession`.
    pub(crate) async fn new_session(&self, old: &Arc<RpcSession>) -> CommandResult {
        let target = OpenTarget::New(self.new_session.clone());
        response_data(&Replaced { text: None, ..self.open_instead(old, target).await? })
    }

    pub(crate) async fn switch_session(&self, old: &Arc<RpcSession>, path: String) -> CommandResult {
        response_data(&Replaced {
            text: None,
            ..self.open_instead(old, OpenTarget::Named { name: path }).await?
        })
    }

    pub(crate) async fn fork(&self, old: &Arc<RpcSession>, entry_id: EntryId) -> CommandResult {
        response_data(&self.open_instead(old, fork_of(old, ForkPosition::Entry { entry_id })).await?)
    }

    pub(crate) async fn clone_session(&self, old: &Arc<RpcSession>) -> CommandResult {
        response_data(&Replaced {
            text: None,
            ..self.open_instead(old, fork_of(old, ForkPosition::Current)).await?
        })
    }

    /// Does what an extension asked for.
    pub(crate) async fn open_requested(&self, old: &Arc<RpcSession>, session: RequestedSession) {
        let target = match session {
            RequestedSession::New => OpenTarget::New(self.new_session.clone()),
            RequestedSession::Named { name } => OpenTarget::Named { name },
            RequestedSession::Fork { includes_entry: true, entry_id } => {
                fork_of(old, ForkPosition::Exactly { entry_id })
            }
            RequestedSession::Fork { entry_id, .. } => fork_of(old, ForkPosition::Entry { entry_id }),
        };
        if let Err(error) = self.open_instead(old, target).await {
            let text = format!("cannot open the session that an extension asked for: {error}");
            old.emit(|translator| translator.notify(&text, "error")).await;
        }
    }

    /// Opens a session in the place of another one, whose turn is canceled. Prompts that are queued there stay in that session.
    async fn open_instead(&self, old: &Arc<RpcSession>, target: OpenTarget) -> Result<Replaced, ClientError> {
        let _replacing = self.replacing.lock().await;
        // An extension and the client may both have asked for another session.
        self.session(Some(&old.info.id))?;
        let leaving = Some(old.info.session.clone());
        let Some(opened) = self.engine.open(OpenRequest { target, leaving }).await? else {
            return Ok(Replaced { text: None, cancelled: true, session_id: None });
        };
        // The end of the turn is announced before the other session takes its place.
        match opened.info.is_task_of_left {
            true => old.settle().await?,
            false => drop(old.abort().await?),
        }
        let (text, is_main) = (opened.info.editor_text.clone().unwrap_or_default(), self.is_main(old));
        let last_dialog = old.translator.lock().await.dialogs.last();
        // If this fails, the client keeps the old session and its events.
        let (output, requests) = (self.output.clone(), self.requests.clone());
        let new = RpcSession::attach(opened, !is_main, last_dialog, output, requests).await?;
        old.end_events().await;
        let session_id = (!is_main).then(|| new.session.info.id.clone());
        if self.replace(old, new.session.clone()) {
            new.start().await;
        }
        Ok(Replaced { text: Some(text), cancelled: false, session_id })
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
}
