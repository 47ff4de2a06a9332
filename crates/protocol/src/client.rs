//! The connection of a client to a session. Terminal, print mode, RPC, gateway and extensions use only this trait.

use std::fmt;
use std::pin::Pin;

use async_trait::async_trait;
use futures_core::Stream;
use osier_tree::time::Millis;
use osier_tree::{EntryId, ReplyDelta};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::command::ClientCommand;
use crate::error::ClientError;
use crate::event::{ClientEvent, TurnOutcome};
use crate::prompt::{Prompt, PromptQueue};
use crate::query::{QueryAnswer, SessionQuery};
use crate::question::OpenQuestion;
use crate::reply::CommandReply;

/// A connection to a session and its agent.
#[async_trait]
pub trait Client: Send + Sync + fmt::Debug {
    async fn send(&self, command: ClientCommand) -> Result<CommandReply, ClientError>;

    /// Reads something of the session. Changes nothing.
    async fn query(&self, query: SessionQuery) -> Result<QueryAnswer, ClientError>;

    /// Attaches to the session: returns its current state and a stream of all later events without gaps or duplicates.
    /// With `after`, the stream starts with the entries since that position; without, the client queries what it shows.
    async fn attach(&self, after: Option<LogPosition>) -> Result<Attached, ClientError>;
}

/// The events of a session. It ends when the session or the agent ends, and after [`ClientEvent::Lagged`].
pub type EventStream = Pin<Box<dyn Stream<Item = ClientEvent> + Send>>;

/// A session at the moment a client attaches.
pub struct Attached {
    pub state: AttachedState,
    pub events: EventStream,
}

impl fmt::Debug for Attached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attached").field("state", &self.state).finish_non_exhaustive()
    }
}

/// The state of a session and its agent at one position of the log.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AttachedState {
    /// Entries up to here are part of the state; later ones arrive as events.
    pub position: LogPosition,
    /// The log was replaced since the client's position: it must discard what it has.
    pub reset: bool,
    pub leaf_id: Option<EntryId>,
    /// Replies that are being written.
    pub drafts: Vec<OpenReply>,
    pub turn_running: bool,
    /// When the turn that runs started, in milliseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_started: Option<Millis>,
    /// The last turn that this agent has ended. A client whose position is before its end has missed that turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_turn: Option<EndedTurn>,
    /// What runs now and is not stored, as the events of a client that was there from the start: tools and their output so far, a
    /// command of the user, a summary. Apply them like events that arrive.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub running: Vec<ClientEvent>,
    pub open_questions: Vec<OpenQuestion>,
    pub queue: PromptQueue,
    /// Prompts that were queued when an earlier process died. The client puts them back into the editor;
    /// nothing sends them automatically.
    pub returned_prompts: Vec<Prompt>,
}

/// A turn that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EndedTurn {
    /// The number of entries in the log when it ended.
    pub revision: usize,
    /// `None` if it failed.
    pub finished: Option<TurnOutcome>,
    pub error: Option<String>,
}

/// A reply that is being written, with all its pieces so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OpenReply {
    pub id: EntryId,
    #[serde(default)]
    pub off_path: bool,
    pub deltas: Vec<ReplyDelta>,
}

/// A position in a log. Positions of different generations cannot be compared: the log was replaced in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
pub struct LogPosition {
    /// As text, because JSON numbers are not exact enough.
    #[serde(with = "hexadecimal")]
    #[schemars(with = "String")]
    pub generation: u64,
    pub entries: usize,
}

mod hexadecimal {
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(number: &u64, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&format_args!("{number:016x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
        let text = String::deserialize(deserializer)?;
        u64::from_str_radix(&text, 16).map_err(serde::de::Error::custom)
    }
}
