//! Requests to an engine that concern no open session, and the replies.

use osier_tree::projection::card::Card;
use osier_tree::search_query::MessageHit;
use osier_tree::{EntryId, JsonText, SessionId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::engine_client::ForkOptions;
use crate::explore::StoredExplore;
use crate::session_operation::{NewStoredSession, SessionOperation};
use crate::session_ref::SessionRef;

/// A request to an engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EngineRequest {
    ListSessions(ListSessions),
    /// Finds a session by a prefix of its id, or by a path.
    FindSession {
        name: String,
    },
    RenameSession {
        session: SessionRef,
        name: String,
    },
    /// Deletes a session and the sessions of its sub-agents. Fails if it is in use; a session of a sub-agent that is in use
    /// is kept.
    DeleteSession {
        session: SessionRef,
    },
    /// Creates a session without opening it.
    CreateSession(NewStoredSession),
    /// Reads or changes a stored session.
    SessionOperation {
        session: SessionRef,
        operation: SessionOperation,
    },
    /// Copies a path into a new session without opening it.
    ForkSession(ForkOptions),
    /// The session and its tree, with all entries or only those since a revision.
    Snapshot {
        session: SessionRef,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        since: Option<usize>,
        /// The generation of the log that `since` counts in.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        generation: Option<String>,
        /// Leave out what a model would get.
        #[serde(default)]
        without_context: bool,
    },
    /// A path, or a session as a page, as the text of a file.
    ExportSession {
        session: SessionRef,
        /// The extension of the file: `md`, `html`, `json` or `jsonl`.
        format: String,
        /// The end of the path: an entry, or `root`; the leaf if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<EntryId>,
    },
    /// The copies of projects that tries of all sessions left.
    ListExplores,
    /// The settings that a client can change.
    Settings,
    /// Changes a setting permanently.
    SetSetting {
        key: String,
        value: String,
    },
    /// The models that can be used now, the agents, the stores, and the directories where sessions can be started.
    Describe,
}

/// Which sessions to list.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ListSessions {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub store: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// Words, a `"phrase"`, or `re:` and a regular expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub query: Option<String>,
    /// For a query, how many matching messages of each session to return.
    #[serde(skip_serializing_if = "is_zero")]
    pub hits: usize,
    /// The number of lines around each matching line.
    #[serde(skip_serializing_if = "is_zero")]
    pub context: usize,
    /// Only sessions with a name.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub named: bool,
    /// Also the sessions of sub-agents.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub subagents: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<usize>,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// The reply to a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(clippy::large_enum_variant, reason = "a reply is handled at once, never kept")]
pub enum EngineReply {
    Done,
    /// A hook refused. Nothing changed.
    Cancelled,
    Sessions(SessionList),
    Found {
        card: Card,
    },
    Deleted(DeletedSession),
    Forked(ForkedSession),
    /// A new session, or the result of an operation.
    Operation {
        result: JsonText,
    },
    Snapshot {
        snapshot: JsonText,
    },
    Exported {
        text: String,
    },
    Explores {
        explores: Vec<StoredExplore>,
    },
    Settings {
        settings: Vec<SettingRow>,
    },
    /// The setting was changed; the text says when it applies.
    SettingChanged {
        notice: String,
    },
    Description(EngineDescription),
}

/// A list of sessions, most recently used first. For a query, the best matches come first.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SessionList {
    pub sessions: Vec<Card>,
    /// The matching messages of each session, if the request asks for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hits: Vec<Vec<MessageHit>>,
    /// The limit left sessions out.
    pub has_more: bool,
    /// What is missing in the list, and why, as texts for the user.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// What a deletion removed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DeletedSession {
    /// False if there was no such session.
    pub deleted: bool,
    /// The store that had it.
    pub store: String,
    /// The number of sessions, with those of sub-agents.
    pub sessions: usize,
    pub entries: usize,
}

/// A new session with a path of another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkedSession {
    pub session: SessionRef,
    pub id: SessionId,
    /// The message before which the path ends, for the editor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editor_text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leaf_id: Option<EntryId>,
}

/// A setting that a client can change.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SettingRow {
    pub key: String,
    /// Empty if the setting has no value.
    pub value: String,
    /// Where the value comes from: a file and line, or the default.
    pub source: String,
    pub help: String,
    /// The allowed values; empty if any text or number is allowed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub choices: Vec<String>,
}

/// What an engine offers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct EngineDescription {
    /// The version of the program.
    pub version: String,
    /// The full names of the models that can be used now.
    pub models: Vec<String>,
    pub agents: Vec<String>,
    pub stores: Vec<StoreDescription>,
    /// Where sessions can be started. The first is the default.
    pub directories: Vec<String>,
}

/// A configured store.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct StoreDescription {
    pub name: String,
    /// `file` or `mysql`.
    pub kind: String,
}
