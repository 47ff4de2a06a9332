//! The client protocol: the commands a client sends and the events it receives. Commands, replies and events are plain values that
//! serialize to JSON and back, so a client may run in this process or at the end of a wire.
//!
//! | module | content |
//! |---|---|
//! | [`client`], `client_queries` | the trait [`Client`], what it returns when a client attaches, and its queries as methods |
//! | [`engine_client`], [`engine_request`] | the trait [`EngineClient`]: all sessions of an engine; its requests and replies |
//! | [`session_operation`] | operations on stored sessions |
//! | [`command`], [`reply`] | what a client asks for, and what it gets |
//! | [`query`], [`tree_snapshot`] | what a client reads, and the answers |
//! | [`event`], [`extension_event`] | the events that every attached client receives; what extensions show |
//! | [`extension_input`] | what a client with a screen tells extensions |
//! | [`explore`] | tries of one prompt: commands, reports, what keeping one did |
//! | [`prompt`], [`ready_message`], [`question`] | prompts and their queue; messages that a program builds; questions to the user and their answers |
//! | [`error`], `plain_error`, [`version`], [`schema`] | errors as a code and facts; errors of the JSON reader in plain words; the version of the protocol and its JSON schema |

pub mod client;
mod client_queries;
pub mod command;
pub mod engine_client;
pub mod engine_request;
pub mod error;
pub mod event;
pub mod explore;
pub mod extension_event;
pub mod extension_input;
mod plain_error;
pub mod prompt;
pub mod query;
pub mod question;
pub mod ready_message;
pub mod reply;
pub mod schema;
pub mod session_operation;
pub mod session_ref;
pub mod tree_snapshot;
pub mod version;

pub use client::{Attached, Client, EndedTurn, EventStream, LogPosition, OpenReply};
pub use command::{ClientCommand, MoveCommand};
pub use engine_client::{
    EngineClient, ForkOptions, ForkPosition, NewSessionOptions, OpenRequest, OpenTarget, OpenedSession,
    SessionInfo,
};
pub use engine_request::{EngineReply, EngineRequest, ListSessions};
pub use error::ClientError;
pub use event::{
    BacktrackEvent, ClientEvent, EntryEvent, MoveEvent, MoveReason, RequestedSession, SummarySubject,
    TurnOutcome,
};
pub use explore::{ExploreCommand, ExploreReply, ExploreReport};
pub use extension_event::{
    EditorCompletion, EditorView, ExtensionEvent, FloatPlace, NotifyType, RenderTarget, RenderedLines,
    THEME_TOKENS, WidgetPlacement,
};
pub use extension_input::{ExtensionInput, RenderRequest, RenderSubject};
pub use plain_error::plain_json_error;
pub use prompt::{Prompt, PromptQueue, PromptTiming, mentioned_files};
pub use query::{QueryAnswer, SessionQuery};
pub use question::{Dialog, DialogQuestion, OpenQuestion, Question, ToolQuestion, UserAnswer};
pub use ready_message::{CustomMessage, MessageBlock, MessageContent, ReadyMessage};
pub use reply::{CommandReply, CompactionReply, MoveReply};
pub use schema::protocol_schema;
pub use session_ref::SessionRef;
pub use tree_snapshot::{TreeRow, TreeSnapshot};
pub use version::PROTOCOL_VERSION;

// Value types of lower crates that commands, replies, answers and events contain, and pure functions over them. Clients use
// them from here, and depend on no lower crate.
pub use osier_model::{Image, ThinkingLevel};
pub use osier_tools::approvals::{Allowance, ApprovalMode, AskReason};
pub use osier_tools::user_bash::UserCommand;
pub use osier_tools::{
    ProposedChange, ResultDetails, Todo, TodoStatus, ToolCall, is_hidden, visible, visible_line,
};
pub use osier_tree::projection::card::Card;
pub use osier_tree::projection::preview::{one_line, sanitize, without_markdown};
pub use osier_tree::projection::{compare, entry_view, outline, subagents, usage};
pub use osier_tree::summary::without_file_lists;
pub use osier_tree::tokens::TokenCount;
pub use osier_tree::{EntryId, EntryLine, ErrorCode, JsonText, ReplyDelta, SessionId, StoreName, TokenUsage};
pub use osier_tree::{EntryKind, EntryReason, MessageRole, MoveRequest, Place, Seq, SessionTree};
pub use osier_tree::{graft, search_query, time, tokens};
