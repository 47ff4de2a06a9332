//! What the loop hears, and what it is asked to do. Between the two lies [`update`](crate::update::update) and nothing else.

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

/// Something happened.
#[derive(Debug)]
pub enum Msg {
    Input(Input),
    Event(Event),
    /// The interface has joined a session.
    Joined(Box<Joined>),
    /// One goes on in another session than before.
    Switched(Switched),
    /// The path as it is now, to be shown instead of what was.
    Path(Path),
    Facts(Box<Facts>),
    Tree(Box<Forest>),
    /// The tree as it is now, for whoever shows it already.
    Grown(Box<Forest>),
    /// A page to be read.
    Page(String, Vec<Line>),
    /// The list of sessions, and what is missing in it.
    Sessions(Vec<Card>, Option<String>),
    /// What is looked for was said in the session of this card. None: all have been read.
    Found(Option<usize>),
    Settings(Vec<SettingRow>),
    Files(Arc<Vec<String>>),
    Replied(Purpose, Box<Result<Reply, String>>),
    /// Lines to be read, and to be kept on the screen.
    Told(Vec<Line>),
    /// A text for the editor.
    Text(String),
    /// The image of a path that was pasted; the path is empty if it came from the clipboard.
    Image(String, Image),
    /// A text for the clipboard.
    Copied(String),
    Failed(String),
    /// The tree that was asked for cannot be read.
    NoTree(String),
    /// The moment that [`State::due`](crate::state::State::due) named has come, and nothing was typed before it.
    Timer,
    /// Time goes by.
    Tick,
}

/// A session as one finds it.
#[derive(Debug, Default)]
pub struct Joined {
    pub running: bool,
    pub drafts: Vec<OpenDraft>,
    pub asked: Vec<(u64, Question)>,
    pub queue: Queue,
    /// What a former process never said.
    pub returned: Vec<Said>,
    /// The session's pasted images, by marker.
    pub pictures: BTreeMap<String, Image>,
    /// What was said on the path, for the history.
    pub said: Vec<String>,
    /// What was typed in other sessions, the newest last.
    pub history: Vec<String>,
    /// The last turn on the path did not come to its end.
    pub unfinished: bool,
}

/// Two sessions, by name or short id: where one is, and where one was.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Switched {
    pub now: String,
    pub before: String,
    /// Something was said there.
    pub can_return: bool,
    pub how: Switch,
    /// A turn still ran there.
    pub stopped: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Switch {
    #[default]
    Resumed,
    /// Nothing was said in it yet.
    New,
    /// It is a copy of a path of the other.
    Forked,
}

/// The last lines of a path.
#[derive(Debug, Clone, Default)]
pub struct Path {
    pub lines: Vec<Vec<u8>>,
    /// How many entries before them are not shown.
    pub earlier: usize,
    /// A word about why it is shown.
    pub remark: Option<String>,
    /// How many entries the log had: what comes later is told by events.
    pub entries: usize,
}

/// What a tree view needs.
#[derive(Debug, Clone)]
pub struct Forest {
    pub tree: Arc<SessionTree>,
    pub leaf: Place,
    pub texts: Arc<Texts>,
}

/// Why a command was sent; the answer comes back with it.
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

/// Something to do.
#[derive(Debug)]
pub enum Action {
    /// These pieces are finished.
    Print(Vec<Piece>),
    /// These are what is finished, instead of what is on the screen.
    Show(Vec<Piece>),
    /// Clear the screen and draw it again.
    Redraw,
    Send(Command, Purpose),
    /// Read the path and show it.
    ShowPath {
        moved: Option<Moved>,
    },
    ReadTree,
    /// Read it again, for whoever shows it.
    RefreshTree,
    /// Show all of an entry.
    ReadEntry(String),
    /// Names an entry; without one, that where one is.
    Label {
        entry: Option<String>,
        label: Option<String>,
    },
    Rename(String),
    DeleteBranch(String),
    RestoreBranch(String),
    /// Keep pastes with the session.
    KeepPastes(Vec<(String, String)>),
    KeepImages(Vec<(String, Image)>),
    /// A path was pasted that may be an image's.
    ReadImage(String),
    /// Take an image from the clipboard.
    PasteImage,
    /// Put all of an entry's text into the clipboard.
    CopyEntry(String),
    /// The same with the last answer on the path.
    CopyAnswer,
    ListSessions,
    /// Look for something in what was said in the sessions of these cards, instead of what was looked for before.
    Search {
        query: String,
        cards: Arc<Vec<Card>>,
        among: Vec<usize>,
    },
    StopSearch,
    ListFiles,
    Compare(String, String),
    TellUsage,
    /// Show what the session cost.
    TellCost,
    /// Keep what was typed for other sessions.
    Remember(String),
    /// Show what the last compaction left out.
    TellCompaction,
    ReadSettings,
    /// Changes a setting of the program.
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
    /// Let the user's own editor change a text.
    Edit(String),
    Copy(String),
    /// Give the terminal to the shell for a while.
    Suspend,
    Quit,
}

/// Where a move came from and went to, by the ids of entries; none is before the first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moved {
    /// `move`, `undo` or `redo`.
    pub why: String,
    pub from: Option<String>,
    pub to: Option<String>,
}

/// Where a session of the list lies. Of its copies in several stores this very one is meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spot {
    pub store: String,
    /// The name by which the store knows it.
    pub key: String,
}

impl Spot {
    pub fn of(card: &Card) -> Spot {
        Spot { store: card.store.clone(), key: card.file.as_ref().unwrap_or(&card.id).clone() }
    }
}

/// Another session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Which {
    New,
    /// The one that a word means: the first digits of its id, or a path.
    There(String),
    /// One of the list.
    Listed(Spot),
    /// A new one with the path to before an entry, or with the whole path.
    Fork {
        before: Option<String>,
    },
}
