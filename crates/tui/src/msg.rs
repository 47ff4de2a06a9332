//! Messages that the loop receives, and actions that it runs. [`update`](crate::update::update) turns one into the other.

use std::collections::BTreeMap;
use std::sync::Arc;

use osier_agent::{Command, Event, Question, Queue, Reply, Said};
use osier_model::Image;
use osier_session::OpenDraft;
use osier_store::Texts;
use osier_tree::projection::card::Card;
use osier_tree::{Place, SessionTree};

use crate::host::SettingRow;
use crate::key::Input;
use crate::piece::Piece;
use crate::state::Facts;
use crate::text::Line;

/// An event that may change the state.
#[derive(Debug)]
pub enum Msg {
    Input(Input),
    Event(Event),
    /// The interface has joined a session.
    Joined(Box<Joined>),
    /// The interface has switched to another session.
    Switched(Switched),
    /// The current path, which replaces the one on the screen.
    Path(Path),
    Facts(Box<Facts>),
    Tree(Box<Forest>),
    /// The changed tree, for overlays that show it.
    Grown(Box<Forest>),
    /// A page to show: its title and lines.
    Page(String, Vec<Line>),
    /// The list of sessions, and a description of what is missing in it.
    Sessions(Vec<Card>, Option<String>),
    /// The session search matched the card with this index; `None` when the search is done.
    Found(Option<usize>),
    Settings(Vec<SettingRow>),
    Files(Arc<Vec<String>>),
    Replied(Purpose, Box<Result<Reply, String>>),
    /// Lines to print permanently.
    Told(Vec<Line>),
    /// The new text of the editor.
    Text(String),
    /// The image at a pasted path; the path is empty for an image from the clipboard.
    Image(String, Image),
    /// A text to copy to the clipboard.
    Copied(String),
    Failed(String),
    /// The requested tree could not be read.
    NoTree(String),
    /// The timer of the state is due, and no input arrived before it.
    Timer,
    /// Time passed; redraw.
    Tick,
}

/// A session at the time the interface joins it.
#[derive(Debug, Default)]
pub struct Joined {
    pub running: bool,
    pub drafts: Vec<OpenDraft>,
    pub asked: Vec<(u64, Question)>,
    pub queue: Queue,
    /// Prompts that an earlier process queued but never sent.
    pub returned: Vec<Said>,
    /// The session's pasted images, by marker.
    pub pictures: BTreeMap<String, Image>,
    /// The user's messages on the path, for the prompt history.
    pub said: Vec<String>,
    /// The prompts of other sessions, the newest last.
    pub history: Vec<String>,
    /// The last turn on the path did not finish.
    pub unfinished: bool,
}

/// A switch between two sessions, each by name or short id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Switched {
    pub now: String,
    pub before: String,
    /// The previous session has messages, so you may want to return to it.
    pub can_return: bool,
    pub how: Switch,
    /// A turn was running in the previous session and was stopped.
    pub stopped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    #[default]
    Resumed,
    /// It has no messages yet.
    New,
    /// It is a copy of a path of the previous session.
    Forked,
}

/// The last entries of a path, as log lines.
#[derive(Debug, Clone, Default)]
pub struct Path {
    pub lines: Vec<Vec<u8>>,
    /// The number of earlier entries that are not shown.
    pub earlier: usize,
    /// A notice about the move that led here.
    pub remark: Option<String>,
    /// The number of entries in the log when the path was read. Events report later ones.
    pub entries: usize,
}

/// A snapshot of the session tree for a tree view.
#[derive(Debug, Clone)]
pub struct Forest {
    pub tree: Arc<SessionTree>,
    pub leaf: Place,
    pub texts: Arc<Texts>,
}

/// Why a command was sent. The reply comes back with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Purpose {
    Say(String),
    Bash,
    Cancel,
    Unqueue,
    Answer,
    Navigate,
    Graft,
    Undo,
    Redo,
    Compact,
    Uncompact,
    Change(String),
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
    Send(Command, Purpose),
    /// Read the path and show it.
    ShowPath {
        moved: Option<Moved>,
    },
    ReadTree,
    /// Read the tree again, for overlays that show it.
    RefreshTree,
    /// Show a complete entry.
    ReadEntry(String),
    /// Label an entry; without an id, the one at the current position.
    Label {
        entry: Option<String>,
        label: Option<String>,
    },
    Rename(String),
    DeleteBranch(String),
    RestoreBranch(String),
    /// Store pastes in the session.
    KeepPastes(Vec<(String, String)>),
    KeepImages(Vec<(String, Image)>),
    /// Read the image at a pasted path.
    ReadImage(String),
    /// Paste an image from the clipboard.
    PasteImage,
    /// Copy the complete text of an entry to the clipboard.
    CopyEntry(String),
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
    Compare(String, String),
    TellUsage,
    /// Print tokens and cost.
    TellCost,
    /// Add a prompt to the history of all sessions.
    Remember(String),
    /// Show what the last compaction left out.
    TellCompaction,
    ReadSettings,
    /// Change a setting of the program.
    Set {
        key: String,
        value: String,
    },
    Open(Which),
    RenameSession {
        spot: Spot,
        name: String,
    },
    DeleteSession(Spot),
    Export(Option<String>),
    /// Edit a text in the user's external editor.
    Edit(String),
    Copy(String),
    /// Suspend the program and return to the shell.
    Suspend,
    Quit,
}

/// A move from one entry to another; `None` is the position before the first entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// `move`, `undo` or `redo`.
    pub why: String,
    pub from: Option<String>,
    pub to: Option<String>,
}

/// A reference to a session in a certain store. Copies of it may exist in other stores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    pub store: String,
    /// The key of the session in its store.
    pub key: String,
}

impl Spot {
    pub fn of(card: &Card) -> Spot {
        Spot { store: card.store.clone(), key: card.file.as_ref().unwrap_or(&card.id).clone() }
    }
}

/// The session to open.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    New,
    /// By a prefix of its id, or a path.
    There(String),
    /// A session from the list.
    Listed(Spot),
    /// A new session with the path up to but excluding an entry, or with the whole path.
    Fork {
        before: Option<String>,
    },
}
