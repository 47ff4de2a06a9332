//! Components drawn over the editor, as a stack. The top one gets the keys. It returns what should happen, and never does it
//! itself.

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

/// A key counts as an answer if no other key arrives within this many milliseconds before or after it.
pub(crate) const ALONE: u64 = 300;

/// The space available to a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
    /// Milliseconds since the start.
    pub(crate) now: u64,
    pub(crate) clock: LocalClock,
}

/// What should happen after a component handled a key or an event.
#[derive(Debug)]
pub(crate) enum Outcome {
    Stay,
    Close,
    /// Open another component on top.
    Open(Box<dyn Overlay>),
    /// Open another component on top, and run actions.
    OpenAnd(Box<dyn Overlay>, Vec<Action>),
    Do(Vec<Action>),
    /// Close, and run actions.
    End(Vec<Action>),
    /// Close, and put text into the editor.
    Write(String),
    /// Not handled; the key goes to the editor.
    Pass,
}

/// An event that components may handle.
#[derive(Debug)]
pub(crate) enum News<'a> {
    Forest(&'a TreeSnapshot),
    Sessions(&'a [osier_tree::projection::card::Card]),
    /// The search matched the session of this card; `None`: the search is complete.
    Found(Option<usize>),
    Settings(&'a [SettingRow]),
    /// An entry was stored.
    Committed,
    /// A question was answered, here or in another client.
    Answered(u64),
    Replied(&'a Purpose, &'a Result<CommandReply, String>),
    /// More text of a summary.
    Summary(&'a str),
}

pub(crate) trait Overlay: Debug + Send {
    fn key(&mut self, key: Key, room: Room) -> Outcome;

    fn paste(&mut self, _text: &str) {}

    /// Whether the draft stays visible below it and gets the keys and pastes that this component does not handle.
    fn shares_draft(&self) -> bool {
        false
    }

    /// Whether a key would be an answer. Such a key is held back until it is clear that it is not part of text being typed.
    /// Only called if [`Overlay::shares_draft`].
    fn is_answer(&self, _key: Key, _now: u64, _draft_is_empty: bool) -> bool {
        false
    }

    /// Called when everything it drew is on the screen.
    fn shown(&mut self, _room: Room) {}

    fn view(&self, room: Room) -> Frame;

    fn hear(&mut self, _news: &News<'_>) -> Outcome {
        Outcome::Stay
    }
}
