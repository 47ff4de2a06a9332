//! What lies over the editor: a stack of components. The top one gets the keys; it says what is to happen, and never does it.

mod approve;
mod ask;
mod choose;
mod fork;
mod list;
mod pick;
mod progress;
mod reader;
mod recall;
mod sessions;
mod settings;
mod tree;

use std::fmt::Debug;

use osier_agent::CommandReply;

pub(crate) use approve::Approve;
pub(crate) use ask::Ask;
pub(crate) use choose::Choose;
pub(crate) use fork::Fork;
pub(crate) use list::Row;
pub(crate) use pick::Pick;
pub(crate) use progress::Progress;
pub(crate) use reader::Reader;
pub(crate) use recall::Recall;
pub(crate) use sessions::Sessions;
pub(crate) use settings::Settings;
pub use tree::key_problem;
pub(crate) use tree::{Tree, key_words};

use crate::clock::LocalClock;
use crate::host::SettingRow;
use crate::key::Key;
use crate::msg::{Action, Purpose, TreeSnapshot};
use crate::screen::Frame;

/// An answer counts if no other key arrives within so many milliseconds before or after it.
pub(crate) const ALONE: u64 = 300;

/// The room there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Milliseconds since the start.
    pub(crate) now: u64,
    pub(crate) clock: LocalClock,
}

/// What a component wants.
#[derive(Debug)]
pub(crate) enum Outcome {
    Stay,
    Close,
    /// Something on top of it.
    Open(Box<dyn Overlay>),
    /// The same, and something to do.
    OpenAnd(Box<dyn Overlay>, Vec<Action>),
    Do(Vec<Action>),
    /// The same, and close.
    End(Vec<Action>),
    /// Close, and put a text into the editor.
    Write(String),
    /// The key means something to others.
    Pass,
}

/// News that a component may want to hear.
#[derive(Debug)]
pub(crate) enum News<'a> {
    Forest(&'a TreeSnapshot),
    Sessions(&'a [osier_tree::projection::card::Card]),
    /// What is looked for was said in the session of this card; none: all have been read.
    Found(Option<usize>),
    Settings(&'a [SettingRow]),
    /// Something was stored.
    Committed,
    /// A question is answered, here or elsewhere.
    Answered(u64),
    Replied(&'a Purpose, &'a Result<CommandReply, String>),
    /// Text of a summary.
    Summary(&'a str),
}

pub(crate) trait Overlay: Debug + Send {
    fn key(&mut self, key: Key, room: Room) -> Outcome;

    fn paste(&mut self, _text: &str) {}

    /// Whether the draft stays visible below it, and gets the keys and pastes that are not meant for it.
    fn shares_draft(&self) -> bool {
        false
    }

    /// Whether a key would be an answer. Such a key is held back until it is clear that it does not belong to a text that is
    /// being typed. Only asked if [`Overlay::shares_draft`].
    fn is_answer(&self, _key: Key, _now: u64, _draft_is_empty: bool) -> bool {
        false
    }

    /// All of what it drew is on the screen now.
    fn shown(&mut self, _room: Room) {}

    fn view(&self, room: Room) -> Frame;

    fn hear(&mut self, _news: &News<'_>) -> Outcome {
        Outcome::Stay
    }
}
