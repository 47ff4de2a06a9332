//! Messages that the loop receives, and actions that it runs. [`update`](crate::update::update) turns one into the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_protocol::outline::OutlineFilter;
use osier_protocol::query::{PathAnswer, PromptCommand, SandboxStatus, SessionStatus};
use osier_protocol::search_query::MessageHit;
use osier_protocol::subagents::TaskPanel;
use osier_protocol::time::Millis;
use osier_protocol::{
    Card, ClientCommand, ClientEvent, CommandReply, EntryId, EntryLine, ForkPosition, Image, MoveReason,
    OpenQuestion, OpenReply, Prompt, PromptQueue, SessionRef, TreeSnapshot,
};

use crate::key::Input;
use crate::piece::Piece;
use crate::text::Line;
use osier_protocol::engine_request::SettingRow;

/// An event that may change the state.
#[derive(Debug)]
pub enum Msg {
    Input(Input),
    Event(ClientEvent),
    /// The interface has joined a session.
    Joined(Box<JoinedSession>),
    /// The interface has switched to another session.
    Switched(SessionSwitch),
    /// The current path, which replaces the one on the screen.
    Path(PathTail),
    /// The status of the session, and the git branch of the working directory.
    Status(Box<SessionStatus>),
    /// The connection to the engine was lost, with the text to show, or made again.
    Connection(Option<String>),
    Sandbox(SandboxStatus),
    Tree(Box<TreeSnapshot>),
    /// The tasks of the session, to open one.
    Tasks(Box<TaskList>),
    /// The changed tree, for overlays that show it.
    TreeChanged(Box<TreeSnapshot>),
    /// A page to show: its title and lines.
    Page(String, Vec<Line>),
    /// The list of sessions, and a description of what is missing in it.
    Sessions(Vec<Card>, Option<String>),
    /// The session search found a session; `None` when the search is done.
    SearchHit(Option<SearchHit>),
    /// Show this entry in the tree.
    ShowEntry(EntryId),
    Settings(Vec<SettingRow>),
    Files(Arc<Vec<String>>),
    /// The commands of extensions, templates and skills.
    Commands(Vec<PromptCommand>),
    Replied(CommandPurpose, Box<Result<CommandReply, String>>),
    /// Lines to print permanently.
    Lines(Vec<Line>),
    /// The new text of the editor.
    EditorText(String),
    /// The image at a pasted path; the path is empty for an image from the clipboard.
    Image(String, Image),
    /// A text to copy to the clipboard.
    CopyText(String),
    Failed(String),
    /// The requested tree could not be read.
    TreeFailed(String),
    /// The timer of the state is due, and no input arrived before it.
    Timer,
    /// Time passed; redraw.
    Tick,
}

/// A session at the time the interface joins it.
#[derive(Debug, Default)]
pub struct JoinedSession {
    pub turn_running: bool,
    /// When the turn that runs started.
    pub turn_started: Option<Millis>,
    pub drafts: Vec<OpenReply>,
    pub open_questions: Vec<OpenQuestion>,
    pub queue: PromptQueue,
    /// The tasks of sub-agents that run, each with the call that delegated it.
    pub tasks: Vec<(String, TaskPanel)>,
    /// Prompts that an earlier process queued but never sent.
    pub returned_prompts: Vec<Prompt>,
    /// The session's pasted texts and images, by marker.
    pub pastes: BTreeMap<String, String>,
    pub images: BTreeMap<String, Image>,
    /// The user's messages on the path, for the prompt history.
    pub path_prompts: Vec<String>,
    /// The prompts of other sessions, the newest last.
    pub history: Vec<String>,
    /// The last turn on the path did not finish.
    pub unfinished: bool,
    /// The names of the models that the session can use.
    pub models: Vec<String>,
    /// Templates and skills, which you run like commands.
    pub commands: Vec<PromptCommand>,
}

/// The tasks that sub-agents of a session do or did.
#[derive(Debug, Default)]
pub struct TaskList {
    /// The session that delegated a task to this one.
    pub parent: Option<String>,
    pub panels: Vec<TaskPanel>,
}

/// A switch between two sessions, each by name or short id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionSwitch {
    pub current: String,
    pub previous: String,
    /// The previous session has messages, so you may want to return to it.
    pub can_return: bool,
    pub kind: SwitchKind,
    /// A turn was running in the previous session and was stopped.
    pub turn_stopped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SwitchKind {
    #[default]
    Resumed,
    /// It has no messages yet.
    New,
    /// It is a copy of a path of the previous session.
    Forked,
    /// A sub-agent works there.
    Task,
}

/// The last entries of a path.
#[derive(Debug, Clone, Default)]
pub struct PathTail {
    pub lines: Vec<EntryLine>,
    /// The number of earlier entries that are not shown.
    pub hidden_entries: usize,
    /// A notice about the move that led here.
    pub notice: Option<String>,
    /// The number of entries in the log when the path was read. Events report later ones.
    pub log_entries: usize,
    /// How many tries of prompts the session has, if the path is empty.
    pub tries: usize,
}

impl PathTail {
    pub(crate) fn new(path: PathAnswer, notice: Option<String>) -> PathTail {
        PathTail {
            lines: path.entries,
            hidden_entries: path.hidden_entries,
            notice,
            log_entries: path.position.entries,
            tries: 0,
        }
    }
}

/// Why a command was sent. The reply comes back with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandPurpose {
    Prompt(String),
    RunShell,
    Cancel,
    ClearQueue,
    Answer,
    Navigate,
    Graft,
    /// With the typed text that starts tries. It returns to the editor if they are refused.
    Explore(Option<String>),
    Undo,
    Redo,
    Compact,
    UndoCompaction,
    ExtensionInput,
    /// A change that shows itself.
    Mark,
    /// A change with a notice for the user.
    Change(String),
}

/// A session whose conversation matches a search.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchHit {
    /// The index of its card.
    pub card: usize,
    /// The message that matches, if it is known.
    pub message: Option<MessageHit>,
}

/// A side effect for the loop to run.
#[derive(Debug)]
pub enum Action {
    /// Print finished pieces.
    Print(Vec<Piece>),
    /// Replace the printed pieces on the screen with these.
    Show(Vec<Piece>),
    /// Clear the screen and draw it again.
    Redraw,
    Send(ClientCommand, CommandPurpose),
    /// Read the path and show it.
    ShowPath {
        moved: Option<LeafMove>,
    },
    ReadTree,
    /// Read the tree with the texts of the rows that are shown first, around this entry or the leaf.
    ReadFirstRows {
        filter: OutlineFilter,
        around: Option<EntryId>,
    },
    /// Read the tree again, for overlays that show it.
    RefreshTree,
    /// Show a complete entry.
    ReadEntry(EntryId),
    /// Store pastes in the session.
    StorePastes(Vec<(String, String)>),
    StoreImages(Vec<(String, Image)>),
    /// Read the image at a pasted path.
    ReadImage(String),
    /// Paste an image from the clipboard.
    PasteImage,
    /// Copy the complete text of an entry to the clipboard.
    CopyEntry(EntryId),
    /// Copy the last answer on the path to the clipboard.
    CopyAnswer,
    ListSessions,
    /// Search the conversations of these cards. Replaces the current search.
    Search {
        query: String,
        cards: Arc<Vec<Card>>,
        among: Vec<usize>,
    },
    StopSearch,
    ListFiles,
    ReadCommands,
    Compare(EntryId, EntryId),
    PrintUsage,
    /// Print tokens and cost.
    PrintCost,
    /// List the tasks of this session, to open one.
    ListTasks,
    /// Print the agents that tasks can name, and the tasks of this session.
    PrintAgents,
    PrintExplores,
    /// Compare two tries of an explore; without an id, of the latest.
    CompareTries(Option<String>, u32, u32),
    /// Add a prompt to the history of all sessions.
    AddToHistory(String),
    /// Show what the last compaction left out.
    ShowCompaction,
    ReadSettings,
    /// Change a setting of the program.
    ChangeSetting {
        key: String,
        value: String,
    },
    Open(OpenTarget),
    RenameSession {
        target: SessionRef,
        name: String,
    },
    DeleteSession(SessionRef),
    Export(Option<String>),
    /// Edit a text in the user's external editor.
    Edit(String),
    Copy(String),
    /// Tell the user about an event while the window is in the background.
    Notify(String),
    /// Suspend the program and return to the shell.
    Suspend,
    /// Use another theme until the interface ends.
    UseTheme(String),
    Quit,
}

/// A move from one entry to another; `None` is the position before the first entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeafMove {
    pub reason: MoveReason,
    pub from: Option<EntryId>,
    pub to: Option<EntryId>,
}

/// The session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenTarget {
    New,
    /// A new demo session, for the tour.
    Demo,
    /// By a prefix of its id, or a path.
    Named(String),
    /// A session from the list.
    Listed(SessionRef),
    /// A session from the list, and the entry to show in it.
    Found(SessionRef, EntryId),
    /// A new session with the path up to a position.
    Fork {
        from: ForkPosition,
    },
}
