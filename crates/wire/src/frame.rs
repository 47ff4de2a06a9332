//! The frames of a connection.
//!
//! Every request has an id that the client chooses. The id of an `open` request names the session in later frames, and the id
//! of an `attach` request names the stream of its events.

use osier_protocol::client::AttachedState;
use osier_protocol::{
    ClientCommand, ClientError, ClientEvent, CommandReply, EngineReply, EngineRequest, LogPosition,
    OpenRequest, QueryAnswer, SessionId, SessionInfo, SessionQuery,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A frame from a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum ClientFrame {
    /// The first frame.
    Hello {
        /// The version of the protocol that the client speaks.
        version: u32,
        /// The name of the client, for logs.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        client: String,
    },
    /// Opens or creates a session.
    Open { id: u64, open: OpenRequest },
    /// Does something that needs no open session.
    Call { id: u64, request: EngineRequest },
    /// Sends a command to a session. Commands to one session start in the order of their frames.
    Send { id: u64, session: u64, command: ClientCommand },
    /// Reads something of a session.
    Query { id: u64, session: u64, query: SessionQuery },
    /// Subscribes to the events of a session. With `after`, the entries since that position come first.
    Attach {
        id: u64,
        session: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<LogPosition>,
    },
    /// Ends a stream of events. It has no reply.
    Detach { stream: u64 },
    /// Releases a session. What runs in it goes on. It has no reply.
    Close { session: u64 },
    /// Asks for a `pong`.
    Ping,
    /// The answer to a `ping`.
    Pong,
}

/// A frame from the engine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
#[allow(clippy::large_enum_variant, reason = "a frame is handled at once, never kept")]
pub enum ServerFrame {
    /// The answer to the `hello` of a client.
    Hello {
        version: u32,
        server: String,
    },
    /// The session is open; `null` if a hook refused.
    Opened {
        id: u64,
        session: Option<SessionInfo>,
    },
    Called {
        id: u64,
        reply: EngineReply,
    },
    Sent {
        id: u64,
        reply: CommandReply,
    },
    Answered {
        id: u64,
        answer: QueryAnswer,
    },
    /// The state of the session. Events of the stream follow.
    Attached {
        id: u64,
        state: AttachedState,
    },
    /// The request failed. Without an id, the error is about a frame that has none, or about the connection.
    Error {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        id: Option<u64>,
        error: ClientError,
    },
    Event(EventFrame),
    /// The stream has ended, because the session closed or the client was too slow.
    Ended {
        stream: u64,
    },
    Ping,
    Pong,
}

/// An event of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EventFrame {
    pub session_id: SessionId,
    pub stream: u64,
    /// The generation of the log. Revisions of different generations cannot be compared.
    pub generation: String,
    /// The number of entries in the log after this event, as far as the stream has reported them. A gap shows as an entry
    /// whose `seq` is not the previous revision.
    pub revision: usize,
    pub event: ClientEvent,
}

impl ClientFrame {
    /// The id of a request; `None` for a frame without a reply.
    pub fn id(&self) -> Option<u64> {
        match self {
            ClientFrame::Open { id, .. }
            | ClientFrame::Call { id, .. }
            | ClientFrame::Send { id, .. }
            | ClientFrame::Query { id, .. }
            | ClientFrame::Attach { id, .. } => Some(*id),
            ClientFrame::Hello { .. }
            | ClientFrame::Detach { .. }
            | ClientFrame::Close { .. }
            | ClientFrame::Ping
            | ClientFrame::Pong => None,
        }
    }

    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

impl ServerFrame {
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub(crate) fn error(id: impl Into<Option<u64>>, error: ClientError) -> ServerFrame {
        ServerFrame::Error { id: id.into(), error }
    }
}

impl EventFrame {
    /// The position of a client that has this event. `None` if the frame has an invalid generation.
    pub fn position(&self) -> Option<LogPosition> {
        let generation = u64::from_str_radix(&self.generation, 16).ok()?;
        Some(LogPosition { generation, entries: self.revision })
    }
}

/// The generation of a log as frames have it.
pub(crate) fn generation_text(position: LogPosition) -> String {
    format!("{:016x}", position.generation)
}
