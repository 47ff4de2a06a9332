//! The client protocol: what a client of a session says and hears. Commands, replies and events are plain values that
//! serialize to JSON and back, so a client may run in this process or at the end of a wire.
//!
//! | module | content |
//! |---|---|
//! | [`client`] | the trait [`Client`], and what it returns when a client attaches |
//! | [`command`], [`reply`] | what a client asks for, and what it gets |
//! | [`query`], [`tree_snapshot`] | what a client reads, and the answers |
//! | [`event`] | what happens in the session, as every attached client hears it |
//! | [`prompt`], [`ready_message`], [`question`] | prompts and their queue; messages that a program builds; questions to the user and their answers |
//! | [`error`], [`version`], [`schema`] | errors as a code and facts; the version of the protocol and its JSON schema |

pub mod client;
pub mod command;
pub mod error;
pub mod event;
pub mod prompt;
pub mod query;
pub mod question;
pub mod ready_message;
pub mod reply;
pub mod schema;
pub mod session_ref;
pub mod tree_snapshot;
pub mod version;

pub use client::{Attached, Client, EventStream, LogPosition, OpenReply};
pub use command::{ClientCommand, MoveCommand};
pub use error::ClientError;
pub use event::{ClientEvent, EntryEvent, MoveEvent, MoveReason, SummarySubject, TurnOutcome};
pub use prompt::{Prompt, PromptQueue, PromptTiming, mentioned_files};
pub use query::{QueryAnswer, SessionQuery};
pub use question::{OpenQuestion, Question, ToolQuestion, UserAnswer};
pub use ready_message::{CustomMessage, MessageBlock, MessageContent, ReadyMessage};
pub use reply::{CommandReply, CompactionReply, MoveReply};
pub use schema::protocol_schema;
pub use session_ref::SessionRef;
pub use tree_snapshot::TreeSnapshot;
pub use version::PROTOCOL_VERSION;

// Value types of lower crates that commands, replies and events contain.
pub use osier_model::{Image, ThinkingLevel};
pub use osier_tools::approvals::{Allowance, ApprovalMode, AskReason};
pub use osier_tools::user_bash::UserCommand;
pub use osier_tools::{ProposedChange, ToolCall};
pub use osier_tree::{EntryId, EntryLine, ErrorCode, ReplyDelta, SessionId, StoreName};
