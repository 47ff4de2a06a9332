//! The connection of a client to an engine: all its sessions. [`Client`] is the connection to one of them.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use osier_model::Image;
use osier_tree::{EntryId, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::client::Client;
use crate::engine_request::{EngineReply, EngineRequest};
use crate::error::ClientError;
use crate::session_ref::SessionRef;

/// A connection to an engine, in this process or on another machine.
#[async_trait]
pub trait EngineClient: Send + Sync + fmt::Debug {
    /// Does something that needs no open session, such as listing or deleting sessions.
    async fn call(&self, request: EngineRequest) -> Result<EngineReply, ClientError>;

    /// Opens or creates a session and connects to its agent. `None` if a hook refused; then nothing changed.
    async fn open(&self, request: OpenRequest) -> Result<Option<OpenedSession>, ClientError>;
}

/// The session to open.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct OpenRequest {
    #[serde(flatten)]
    pub target: OpenTarget,
    /// The session that the client leaves for this one; hooks are asked whether it may. An engine with one client cancels
    /// the running turn of that session and returns its queued prompts. With several clients, the turn goes on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaving: Option<SessionRef>,
}

/// Which session to open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "target", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum OpenTarget {
    New(NewSessionOptions),
    /// By a prefix of its id, or a path.
    Named {
        name: String,
    },
    /// A session from a list.
    Listed {
        session: SessionRef,
    },
    /// The most recently used session of a directory; a new one if there is none.
    Latest {
        #[serde(default)]
        cwd: Option<String>,
    },
    /// A new session with a path of another one.
    Fork(ForkOptions),
}

impl Default for OpenTarget {
    fn default() -> OpenTarget {
        OpenTarget::New(NewSessionOptions::default())
    }
}

/// A session to create. What is absent has the value of the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NewSessionOptions {
    /// The working directory; by default, that of the engine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Keep the session only in memory.
    #[serde(skip_serializing_if = "is_false")]
    pub in_memory: bool,
}

/// A path to copy into a new session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkOptions {
    pub session: SessionRef,
    #[serde(flatten)]
    pub from: ForkPosition,
    /// The store of the new session; by default, that of the other session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// The end of the path to copy.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "position", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ForkPosition {
    #[default]
    Current,
    /// Up to and including exactly this entry.
    Exactly { entry_id: EntryId },
    /// Where a move to this entry would end: before a user message, whose text returns to the editor.
    Entry { entry_id: EntryId },
}

/// An open session.
#[derive(Debug)]
pub struct OpenedSession {
    pub info: SessionInfo,
    pub client: Arc<dyn Client>,
}

/// What a client learns when it opens a session. [`crate::SessionQuery::Status`] has what changes later.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionInfo {
    pub session: SessionRef,
    pub id: SessionId,
    /// The shortest prefix of the id that is unique in its store.
    pub short_id: String,
    /// The file of the session, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    pub cwd: String,
    pub agent_id: String,
    /// The full name of the model that the agent starts with.
    pub model: String,
    /// No model is configured, so the built-in one answers.
    #[serde(skip_serializing_if = "is_false")]
    pub is_offline_only: bool,
    /// What goes into the editor: the text of the message before which the session was forked, and the prompts that were
    /// queued in the session that the client left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub editor_images: Vec<Image>,
    /// A turn was running in the session that the client left, and was canceled.
    #[serde(skip_serializing_if = "is_false")]
    pub turn_stopped: bool,
    /// The session that the client left delegated a task to this one, or the other way around. Its turn goes on.
    #[serde(skip_serializing_if = "is_false")]
    pub is_task_of_left: bool,
    /// The session is new: there was none to continue.
    #[serde(skip_serializing_if = "is_false")]
    pub is_new: bool,
    /// Notices for the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notices: Vec<String>,
}

fn is_false(yes: &bool) -> bool {
    !*yes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_request_is_one_flat_object() {
        let read = |json: &str| serde_json::from_str::<OpenRequest>(json).unwrap().target;
        assert_eq!(read(r#"{"target":"new"}"#), OpenTarget::default());
        assert_eq!(
            read(r#"{"target":"named","name":"4f89"}"#),
            OpenTarget::Named { name: "4f89".to_owned() }
        );
        let session = SessionRef { store: "file".into(), key: "4f89da11".to_owned() };
        let from = ForkPosition::Entry { entry_id: "0000000c".into() };
        let fork = OpenTarget::Fork(ForkOptions { session, from, store: None, name: None });
        let json = r#"{"target":"fork","session":{"store":"file","key":"4f89da11"},"position":"entry","entryId":"0000000c"}"#;
        assert_eq!(read(json), fork);
        let request = OpenRequest { target: fork, leaving: None };
        assert_eq!(serde_json::to_string(&request).unwrap(), json);
    }
}
