//! What every view of a session is given: commands go in, events come out. Terminal, print mode, RPC, gateway and
//! extensions use this and nothing else.

use std::fmt::Debug;
use std::sync::Arc;

use async_trait::async_trait;
use osier_model::{Image, ThinkingLevel};
use osier_session::{OpenDraft, State};
use osier_store::Version;
use osier_tools::approvals::Mode;
use osier_tools::user_bash::UserCommand;

use crate::asking::{Answer, Question};
use crate::attachments::mentions;
use crate::compaction::Compacted;
use crate::error::Error;
use crate::events::Events;
use crate::navigate::{Navigated, Navigation};
use crate::queue::Queue;
use crate::saying::Said;

/// See the module.
#[async_trait]
pub trait Client: Send + Sync + Debug {
    async fn send(&self, command: Command) -> Result<Reply, Error>;

    /// Joins: what came since `after`, what is open now, and all that happens from then on, without gap or duplicate.
    async fn attach(&self, after: Option<Version>) -> Result<Attached, Error>;
}

/// What a client can ask for.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Says something. Answered as soon as it is stored, not when the turn ends.
    Prompt {
        text: String,
        images: Vec<Image>,
        /// The files that go along, as the user's own words name them; see [`crate::attachments::mentions`].
        files: Vec<String>,
        when: When,
    },
    /// Goes on where the path asks for something: after a crash, a failure or a move. A reply that failed is asked for again
    /// on a branch beside it.
    Resume,
    /// Stops the turn and the user's command that run. Answered when they have ended, with the texts that still waited: they
    /// are not said any more.
    Cancel,
    /// Takes back what waits to be said.
    Unqueue,
    Answer {
        question: u64,
        answer: Answer,
    },
    /// By a name as the user writes it.
    SetModel(String),
    SetThinking(ThinkingLevel),
    /// For this session, from now on.
    SetApproval(Mode),
    /// Goes to another place of the tree.
    Navigate(Navigation),
    /// Walks back through moves, or forth again.
    Undo,
    Redo,
    /// Lets a summary stand for the older part of the path. A turn that runs is stopped first.
    Compact {
        focus: Option<String>,
    },
    /// Goes to before a compaction, the last one if none is named.
    UndoCompaction {
        entry: Option<String>,
    },
    /// Brings the conclusion of the branch that ends in this entry here, in the words of a model if it is to be summarized.
    Graft {
        tip: String,
        summarize: bool,
        instructions: Option<String>,
    },
    /// `!command` and `!!command`. Answered when it has ended.
    Bash(UserCommand),
}

impl Command {
    /// Sends a text now, with the files that it names.
    pub fn prompt(text: impl Into<String>) -> Command {
        let text = text.into();
        let files = mentions(&text);
        Command::Prompt { text, images: Vec::new(), files, when: When::Now }
    }
}

/// When something is said that comes while a turn runs. Without a turn it is said now.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum When {
    /// Refused while a turn runs.
    #[default]
    Now,
    /// Before the model is asked next.
    Steer,
    /// When the turn would end.
    FollowUp,
}

/// What a client hears at once.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    Done,
    /// A turn runs; this entry holds what was said.
    Started {
        entry: Arc<str>,
    },
    Queued,
    /// What was taken back.
    Returned(Vec<Said>),
    Navigated(Navigated),
    Compacted(Compacted),
    /// One entry was stored.
    Stored {
        entry: Arc<str>,
    },
    /// The command has ended; this entry holds what it printed.
    Ran {
        entry: Arc<str>,
    },
}

/// A session as a client finds it. Entries up to `state.version` are in `state`; all later ones come as events.
#[derive(Debug)]
pub struct Attached {
    pub state: Arc<State>,
    /// The place in the log from which on entries are new to the client.
    pub since: usize,
    /// What the client had is of another log: it starts from nothing.
    pub reset: bool,
    pub drafts: Vec<OpenDraft>,
    /// Whether a turn runs.
    pub running: bool,
    /// Questions that wait for an answer.
    pub asked: Vec<(u64, Question)>,
    pub queue: Queue,
    /// What waited to be said when a former process died. It belongs into the editor, and is said by nobody else.
    pub returned: Vec<Said>,
    pub events: Events,
}
