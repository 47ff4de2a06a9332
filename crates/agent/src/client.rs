//! The interface of every view of a session: commands go in, events come out. Terminal, print mode, RPC,
//! gateway and extensions use only this trait.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use osier_model::{Image, ThinkingLevel};
use osier_session::{OpenDraft, SessionState};
use osier_store::LogVersion;
use osier_tools::approvals::ApprovalMode;
use osier_tools::user_bash::UserCommand;

use crate::attachments::mentions;
use crate::compaction::Compacted;
use crate::error::AgentError;
use crate::events::AgentEvents;
use crate::navigate::{Navigated, Navigation};
use crate::prompt::Prompt;
use crate::questions::{Question, UserAnswer};
use crate::queue::PromptQueue;

/// A connection to an agent.
#[async_trait]
pub trait Client: Send + Sync + Debug {
    async fn send(&self, command: ClientCommand) -> Result<CommandReply, AgentError>;

    /// Attaches to the session: returns the entries since `after`, the current state, and a stream of all
    /// later events without gaps or duplicates.
    async fn attach(&self, after: Option<LogVersion>) -> Result<Attached, AgentError>;
}

/// A command from a client.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientCommand {
    /// Sends a prompt. Replies when the prompt is stored, not when the turn ends.
    Prompt {
        text: String,
        images: Vec<Image>,
        /// The attached files, by the names that the user typed; see [`crate::attachments::mentions`].
        files: Vec<String>,
        when: PromptTiming,
    },
    /// Continues an unfinished path after a crash, a failure or a move. A failed reply stays on its own
    /// branch, and the model is called again next to it.
    Resume,
    /// Stops the running turn and the running shell command. Replies when both have ended, with the queued
    /// prompts, which are not sent.
    Cancel,
    /// Empties the queue and returns the queued prompts.
    ClearQueue,
    Answer {
        question: u64,
        answer: UserAnswer,
    },
    /// A model name as the user writes it.
    SetModel(String),
    SetThinking(ThinkingLevel),
    /// Applies to this session from now on.
    SetApproval(ApprovalMode),
    /// Moves to another position in the tree.
    Navigate(Navigation),
    /// Undoes or redoes a move.
    Undo,
    Redo,
    /// Replaces the older part of the path with a summary in the context. Stops a running turn first.
    Compact {
        focus: Option<String>,
    },
    /// Moves to the position before a compaction; `None` means the last one on the path.
    UndoCompaction {
        entry: Option<String>,
    },
    /// Adds the conclusion of the branch that ends in `tip` to the current position. With `summarize`, a
    /// model writes the conclusion.
    Graft {
        tip: String,
        summarize: bool,
        instructions: Option<String>,
    },
    /// `!command` and `!!command`. Replies when the command has ended.
    RunShell(UserCommand),
}

impl ClientCommand {
    /// A prompt to send now, with the files that it mentions.
    pub fn prompt(text: impl Into<String>) -> ClientCommand {
        let text = text.into();
        let files = mentions(&text);
        ClientCommand::Prompt { text, images: Vec::new(), files, when: PromptTiming::Now }
    }
}

/// When to send a prompt that arrives during a turn. Without a running turn, every prompt is sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptTiming {
    /// Refuse the prompt during a turn.
    #[default]
    Now,
    /// Before the next model call.
    Steer,
    /// When the turn would otherwise end.
    FollowUp,
}

/// The reply to a command.
#[derive(Debug, Clone, PartialEq)]
pub enum CommandReply {
    Done,
    /// The turn has started; `entry` holds the prompt.
    Started {
        entry: Arc<str>,
    },
    Queued,
    /// The prompts taken out of the queue.
    Returned(Vec<Prompt>),
    Navigated(Navigated),
    Compacted(Compacted),
    /// One entry was stored.
    Stored {
        entry: Arc<str>,
    },
    /// The shell command has ended; `entry` holds its output.
    Ran {
        entry: Arc<str>,
    },
}

/// A session at the moment a client attaches. `state` has the entries up to `state.version`; later entries
/// arrive as events.
#[derive(Debug)]
pub struct Attached {
    pub state: Arc<SessionState>,
    /// Entries from this log position on are new to the client.
    pub new_from: usize,
    /// The log was replaced; the client must discard what it has.
    pub reset: bool,
    pub drafts: Vec<OpenDraft>,
    /// Whether a turn is running.
    pub turn_running: bool,
    /// Open questions, by id.
    pub open_questions: Vec<(u64, Question)>,
    pub queue: PromptQueue,
    /// Prompts that were queued when an earlier process died. The client puts them back into the editor;
    /// nothing sends them automatically.
    pub returned_prompts: Vec<Prompt>,
    pub events: AgentEvents,
}
